"""Hostile targets and archives: full disks, links, devices, directories, zip bombs, pickles and path traversal.

A command must end with a status of its own and one line, leave no half of a file, and keep what was there before.
"""

import io
import json
import os
import pickle
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

from campaign import PROJECT

DATA = "\n".join(f"{k % 2} 1:{k % 7 + 1} 2:{k % 3 + 1}" for k in range(60)) + "\n"
#: status of refused input
REFUSED = 2
#: megabytes of address space for a command that reads a bomb
MEGABYTES = 1_500


class Bomb:
    """A pickle that leaves a file behind if it is loaded."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (Path.write_text, (Path(self.path), "ran"))


def command(*arguments, folder, limit=None):
    """Run ``fenchel`` in a process of its own; returns status and what it said."""

    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20))

    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "fenchel", *map(str, arguments)],
        capture_output=True, text=True, timeout=300, cwd=folder, env=environment, preexec_fn=limited,
    )  # fmt: skip
    return done.returncode, done.stderr


class Attack:
    """A folder with data and a model, and the defects that were found."""

    def __init__(self, folder):
        self.folder, self.defects, self.done = folder, [], []
        self.data, self.model = folder / "data.svm", folder / "model.npz"
        self.data.write_text(DATA)
        status, said = command("train", self.data, "-o", self.model, "--loss", "squared_hinge", folder=folder)
        if status not in (0, 3):
            self.defects.append(f"training failed: {said}")

    def refused(self, what, *arguments, **options):
        """Expect status 2 and one line that begins with the name of the program, without a traceback."""
        status, said = command(*arguments, folder=self.folder, **options)
        self.done.append(what)
        lines = [line for line in said.splitlines() if line.startswith("fenchel: ") and "compiling" not in line]
        if status != REFUSED or "Traceback" in said or len(lines) != 1:
            self.defects.append(f"{what}: status {status}, said {said[-300:]!r}")

    def unchanged(self, what, path, content):
        """Expect that a file is as it was, and no other file was left."""
        if path.read_bytes() != content:
            self.defects.append(f"{what}: {path.name} was changed")
        left = [one.name for one in self.folder.rglob(".*") if one.is_file()]
        if left:
            self.defects.append(f"{what}: left {left}")


def _targets(attack):
    """Files that can't be written."""
    folder, before = attack.folder, attack.model.read_bytes()
    train = ("train", attack.data, "--loss", "squared_hinge", "--force", "-o")
    attack.refused("a directory as target", *train, folder)
    attack.refused("a device as target", *train, "/dev/full")
    attack.refused("a missing folder as target", *train, folder / "missing" / "model.npz")
    attack.refused("a file in place of a folder", *train, attack.data / "model.npz")
    attack.refused("a name that is too long", *train, folder / ("x" * 300))
    (folder / "loop").symlink_to(folder / "loop")
    attack.refused("a link to itself", *train, folder / "loop")
    os.mkfifo(folder / "pipe")
    attack.refused("a pipe as target", *train, folder / "pipe")
    attack.refused("predictions to a device", "predict", attack.model, attack.data, "--force", "-o", "/dev/full")
    attack.refused("predictions to a directory", "predict", attack.model, attack.data, "--force", "-o", folder)
    attack.unchanged("targets", attack.model, before)
    status, said = command("train", attack.data, "-o", attack.model, folder=folder)
    if status != REFUSED or "exists" not in said:
        attack.defects.append("a model was replaced without --force")
    link = folder / "link.npz"
    link.symlink_to(attack.model)
    status, _ = command(*train, link, folder=folder)
    if status not in (0, 3) or not link.is_symlink():
        attack.defects.append("a link was replaced by a file")


def _read_only(attack):
    """A folder that nobody may write to; root may, so then only the disk is full."""
    closed = attack.folder / "closed"
    closed.mkdir()
    closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.geteuid():
        attack.refused("a read-only folder", "train", attack.data, "-o", closed / "model.npz")
    closed.chmod(stat.S_IRWXU)


def _full_disk(attack):
    """A limit on the size of files, which fails in the middle of a write as a full disk does."""
    before = attack.model.read_bytes()
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200));"
        "from fenchel.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "NUMBA_DISABLE_JIT": "1"}
    for arguments in (
        ("train", attack.data, "--loss", "squared_hinge", "--force", "-o", attack.model),
        ("predict", attack.model, attack.data, "--scores", "--force", "-o", attack.folder / "scores.txt"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, *map(str, arguments)],
            capture_output=True, text=True, timeout=300, cwd=attack.folder, env=environment,
        )  # fmt: skip
        attack.done.append(f"a full disk: {arguments[0]}")
        if done.returncode != REFUSED or "Traceback" in done.stderr:
            attack.defects.append(f"a full disk, {arguments[0]}: status {done.returncode}, {done.stderr[-200:]!r}")
    attack.unchanged("a full disk", attack.model, before)


def _archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _saved(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def _archives(attack):
    """Model files that attack the process that loads them."""
    with zipfile.ZipFile(attack.model) as source:
        members = {name: source.read(name) for name in source.namelist()}
    evil, mark = attack.folder / "evil.npz", attack.folder / "mark"
    pickled = np.array([Bomb(mark)], dtype=object)
    zeros = _saved(np.zeros(1))
    begin = 10 + int.from_bytes(zeros[8:10], "little")
    huge = zeros[:begin].replace(b"(1,)", b"(99999999999,)") + zeros[begin:]
    attacks = {
        "a pickle as classes": {**members, "classes_.npy": _saved(pickled, allow_pickle=True)},
        "a pickle as text": {**members, "about.npy": _saved(pickled, allow_pickle=True)},
        "a bare pickle": None,
        "a zip bomb": {**members, "theta_.npy": _saved(np.zeros(100_000_000))},
        "an array that claims to be huge": {**members, "theta_.npy": huge},
        "deep text": {**members, "about.npy": _saved(np.array("[" * 100_000 + "]" * 100_000))},
        "path traversal": {**members, "../escaped.npy": zeros, "/tmp/../escaped.npy": zeros, "coef_.npy": b"x"},
        "text that is no object": {**members, "about.npy": _saved(np.array(json.dumps([1, 2])))},
    }
    for what, changed in attacks.items():
        if changed is None:
            evil.write_bytes(pickle.dumps(Bomb(mark)))
        else:
            _archive(evil, changed)
        attack.refused(what, "certify", evil, limit=MEGABYTES)
        if mark.exists():
            attack.defects.append(f"{what}: code was run")
            mark.unlink()
        escaped = [path for path in (attack.folder.parent / "escaped.npy", Path("/tmp/escaped.npy")) if path.exists()]
        if escaped:
            attack.defects.append(f"{what}: wrote {escaped}")


def run(seed, budget):
    """All attacks once; they are not random, and the budget ends them between two of them."""
    deadline = time.monotonic() + budget
    root = Path(tempfile.mkdtemp())
    folder = root / "inner"
    folder.mkdir()
    try:
        attack = Attack(folder)
        for part in (_targets, _read_only, _full_disk, _archives):
            if time.monotonic() < deadline:
                part(attack)
    finally:
        shutil.rmtree(root)
    return {"attacks": attack.done, "defects": attack.defects}
