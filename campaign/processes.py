"""Signals at random moments, kill -9, memory limits, threads, fork and loky.

An interrupted command ends with status 130 and leaves no half of a file; a solve that kill -9 ends is resumed from its
checkpoint; results do not depend on who computes them.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from campaign.checkpoints import killed_solve, write_store
from campaign.children import ended_child, environment_of_children
from fenchel import LinearClassifier

#: a fit that Ctrl-C ends: the best model so far, or nothing at all
FIT = """
import json, sys
import numpy as np
from fenchel import LinearClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(4000, 20)), rng.integers(0, 2, 4000)
model = LinearClassifier({loss!r}, C=1e4, tol=0, max_iter=1e9, time_limit=30)
print("ready", flush=True)
try:
    model.fit(X, y)
    ended = "fitted"
except KeyboardInterrupt:
    ended = "interrupted"
if hasattr(model, "certificate_"):
    found = model.certificate_
    assert model.predict(X).shape == (4000,)
    print(json.dumps([ended, found.upper, found.lower]), flush=True)
else:
    assert not [name for name in vars(model) if name.endswith("_")], vars(model)
    print(json.dumps([ended, None, None]), flush=True)
"""
#: a fit of data that nearly fill the memory that it may use
LIMITED = """
import resource, sys
import numpy as np
from fenchel import LinearClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20000, 50)), rng.integers(0, 2, 20000)
# compiled loops and the buffers of BLAS first: OpenBLAS waits without end where it can't allocate its own
LinearClassifier(max_iter=20).fit(X[:500], y[:500])
resource.setrlimit(resource.RLIMIT_DATA, ({limit} << 20, {limit} << 20))
try:
    model = LinearClassifier(max_iter=20).fit(X, y)
    print("fitted", model.certificate_.lower <= model.certificate_.upper)
except MemoryError:
    print("MemoryError")
"""


def interrupted_fit(rng, defects):
    """SIGINT at a random moment of a fit."""
    script = FIT.format(loss=("hinge", "logistic", "squared_hinge")[int(rng.integers(3))])
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment_of_children(),
    )
    assert process.stdout.readline() == "ready\n"
    wait = float(rng.uniform(0.0, 2.0))
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    ended = ended_child(process)
    if ended is None:
        defects.append(f"a fit went on after SIGINT at {wait:.3f} s")
        return
    out, err = ended
    # a fit may end before the signal, which then ends the process on its way out
    after_the_fit = bool(out) and process.returncode == -signal.SIGINT
    if (process.returncode and not after_the_fit) or "Traceback" in err:
        # a signal within the import of a module may end the process before fit begins
        if "KeyboardInterrupt" in err and "fenchel/" not in err.rsplit("Traceback", 1)[-1]:
            return
        defects.append(f"SIGINT at {wait:.3f} s: status {process.returncode}, {err[-300:]!r}")
        return
    _, upper, lower = json.loads(out)
    if upper is not None and not lower <= upper:
        defects.append(f"SIGINT at {wait:.3f} s: lower {lower} > upper {upper}")


def interrupted_command(rng, folder, defects, number):
    """SIGINT or SIGKILL at a random moment of ``fenchel train``: the old model file, or a whole new one."""
    from fenchel.io.model_file import load

    data, model = folder / "data.svm", folder / "model.npz"
    before = model.read_bytes()
    arguments = ["train", str(data), "--loss", "logistic", "-C", "100", "--tol", "1e-9", "--force", "-o", str(model)]
    process = subprocess.Popen(
        [sys.executable, "-m", "fenchel", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment_of_children(), cwd=folder,
    )  # fmt: skip
    wait = float(rng.uniform(0.0, 4.0))
    try:
        process.wait(timeout=wait)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    ended = ended_child(process)
    if ended is None:
        defects.append(f"fenchel train went on after signal {number} at {wait:.2f} s")
        return
    _, err = ended
    try:
        load(model)
    except Exception as error:
        defects.append(f"signal {number} at {wait:.2f} s: the model file is damaged: {error}")
        model.write_bytes(before)
    allowed = (0, 1, 130, -signal.SIGINT) if number == signal.SIGINT else (0, 1, -signal.SIGKILL)
    early = "KeyboardInterrupt" in err and process.returncode in (1, -signal.SIGINT)
    if process.returncode not in allowed or ("Traceback" in err and not early):
        defects.append(f"signal {number} at {wait:.2f} s: status {process.returncode}, {err[-200:]!r}")
    for left in folder.glob(".model.npz.*"):
        if number != signal.SIGKILL:
            defects.append(f"signal {number} at {wait:.2f} s left {left.name}")
        left.unlink()


def limited_memory(rng, defects):
    """RLIMIT_DATA: a fit, or a MemoryError."""
    limit = int(rng.integers(20, 400))
    try:
        done = subprocess.run(
            [sys.executable, "-c", LIMITED.format(limit=limit)],
            capture_output=True, text=True, timeout=180, env=environment_of_children(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        defects.append(f"{limit} MB: the fit does not end")
        return
    if done.stdout.strip() not in ("fitted True", "MemoryError"):
        defects.append(f"{limit} MB: status {done.returncode}, {done.stdout!r}, {done.stderr[-200:]!r}")


def _data(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(80, 5)), rng.integers(0, 3, 80)


def fitted(seed):
    """The weights of a fit, as bytes."""
    X, y = _data(seed)
    model = LinearClassifier(("hinge", "logistic")[seed % 2], tol=1e-6, random_state=0).fit(X, y)
    return model.coef_.tobytes()


def same_everywhere(rng, defects):
    """The same fits in threads, in forked processes and by loky, bit by bit."""
    from joblib import Parallel, delayed

    seeds = [int(rng.integers(1000)) for _ in range(4)]
    expected = [fitted(seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        if list(pool.map(fitted, seeds)) != expected:
            defects.append(f"threads give other weights for {seeds}")
    for seed, own in zip(seeds, expected, strict=True):
        if _in_a_fork(seed) != own:
            defects.append(f"a forked process gives other weights for {seed}")
    if Parallel(n_jobs=2)(delayed(fitted)(seed) for seed in seeds) != expected:
        defects.append(f"loky gives other weights for {seeds}")
    one = LinearClassifier("hinge", tol=1e-6, random_state=0, n_jobs=2).fit(*_data(seeds[0]))
    if one.coef_.tobytes() != LinearClassifier("hinge", tol=1e-6, random_state=0).fit(*_data(seeds[0])).coef_.tobytes():
        defects.append(f"n_jobs=2 gives other weights for {seeds[0]}")


def _in_a_fork(seed):
    """The weights from a child of fork, through a pipe."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, fitted(seed))
        finally:
            os._exit(0)
    os.close(write)
    # a child that hangs is ended
    watch = threading.Timer(120.0, os.kill, (child, signal.SIGKILL))
    watch.start()
    with os.fdopen(read, "rb") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    watch.cancel()
    return found


def run(seed, budget):
    """All of them in turn with random moments, until the budget is spent."""
    deadline, rng, defects = time.monotonic() + budget, np.random.default_rng(seed), []
    names = ("SIGINT to a fit", "SIGINT to train", "SIGKILL to train", "SIGKILL and resume", "memory limits", "places")
    counts = dict.fromkeys(names, 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (f"{k % 2} 1:{k % 7 + 1} 2:{k % 3 + 1} 3:{k % 11}" for k in range(3000))
        (folder / "data.svm").write_text("\n".join(lines) + "\n")
        train = [sys.executable, "-m", "fenchel", "train", "data.svm", "-o", "model.npz", "--loss", "logistic"]
        subprocess.run(train, cwd=folder, env=environment_of_children(), capture_output=True, check=False, timeout=300)
        write_store(folder)
        steps = {
            "SIGINT to a fit": lambda: interrupted_fit(rng, defects),
            "SIGINT to train": lambda: interrupted_command(rng, folder, defects, signal.SIGINT),
            "SIGKILL to train": lambda: interrupted_command(rng, folder, defects, signal.SIGKILL),
            "SIGKILL and resume": lambda: killed_solve(rng, folder, defects),
            "memory limits": lambda: limited_memory(rng, defects),
            "places": lambda: same_everywhere(rng, defects),
        }
        while time.monotonic() < deadline:
            for what, step in steps.items():
                if time.monotonic() > deadline:
                    break
                step()
                counts[what] += 1
    return {"runs": counts, "defects": defects}
