"""Kill -9 at random moments of solves on a store that write checkpoints, and what is resumed from them."""

import json
import math
import signal
import subprocess
import sys
import time
from fractions import Fraction
from itertools import accumulate

import numpy as np

from campaign.children import ended_child, environment_of_children
from fenchel.io import StoreWriter

#: a solve on a store, with a checkpoint after every certificate; the rows and labels are whole numbers
CHECKPOINTED = """
import json, sys
from pathlib import Path
import numpy as np
from fenchel import Problem, solve
from fenchel.io import open_store
from fenchel.risks import F1, MeanRisk
from fenchel.solving import checkpoint
checkpoint.EVERY_SECONDS = 0.0
checkpoint.Checkpoint.__init__.__defaults__ = (0.0,)
folder, kind = Path(sys.argv[1]), sys.argv[2]
store = open_store(folder / "data.store")
risk = F1(store.y) if kind == "f1" else MeanRisk(kind, store.y)
problem = Problem(store.X, risk, 1e-4, intercept=True)
print("ready", flush=True)
found = solve(problem, tol=1e-8, max_iter=1e9, time_limit=float(sys.argv[3]), checkpoint=folder / f"{kind}.checkpoint")
weights, intercept = found.model.weights.tolist(), float(found.model.intercept)
print(json.dumps([found.certificate.upper, found.certificate.lower, weights, intercept]), flush=True)
"""


def write_store(folder):
    """The data of these solves."""
    with StoreWriter(folder / "data.store") as writer:
        writer.append(*_rows())


def killed_solve(rng, folder, defects):
    """SIGKILL at random moments of a solve on a store, which goes on from its checkpoint: no bound ever gets worse."""
    kind = ("hinge", "logistic", "f1")[int(rng.integers(3))]
    (folder / f"{kind}.checkpoint").unlink(missing_ok=True)
    best = [math.inf, -math.inf]
    for kills in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", CHECKPOINTED, str(folder), kind, "2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment_of_children(),
        )  # fmt: skip
        if kills < 2 and process.stdout.readline() == "ready\n":
            time.sleep(float(rng.uniform(0.0, 2.0)))
            process.kill()
        ended = ended_child(process)
        if ended is None:
            defects.append(f"{kind}: a solve with a checkpoint does not end")
            return
        if process.returncode not in (0, -signal.SIGKILL):
            defects.append(f"{kind}: after {kills} kills: status {process.returncode}, {ended[1][-300:]!r}")
            return
        lines = [line for line in ended[0].splitlines() if line.startswith("[")]
        if lines:
            upper, lower, weights, intercept = json.loads(lines[0])
            best = [min(best[0], upper), max(best[1], lower)]
            exact = _exact_objective(kind, weights, intercept)
            if not (exact <= Fraction(upper) and best[1] <= best[0]):
                defects.append(
                    f"{kind}: after {kills} kills: bounds {lower}, {upper}, and the objective {float(exact)}"
                )
    for left in folder.glob(f".{kind}.checkpoint.*"):
        left.unlink()


def _rows(count=600):
    """Small whole numbers, and labels that they explain in part."""
    rng = np.random.default_rng(5)
    X = rng.integers(-4, 5, size=(count, 8)).astype(np.float64)
    return X, np.where(X[:, 0] + rng.normal(size=count) * 3.0 > 0.0, 1, -1)


def _exact_objective(kind, weights, intercept):
    """P in rational numbers; of the logistic loss a lower bound by a little, its exponentials are floats."""
    X, y = _rows()
    w, b = [Fraction(entry) for entry in weights], Fraction(intercept)
    scores = [sum(Fraction(x) * own for x, own in zip(row, w, strict=True)) + b for row in X.tolist()]
    penalty = Fraction(1e-4) * sum(own * own for own in w) / 2
    n = len(scores)
    if kind == "hinge":
        return penalty + sum(max(1 - int(label) * s, 0) for s, label in zip(scores, y, strict=True)) / n
    if kind == "logistic":
        losses = np.logaddexp(0.0, [-int(label) * float(s) for s, label in zip(scores, y, strict=True)])
        return penalty + Fraction(math.fsum(losses.tolist()) / n * (1.0 - 1e-12))
    positives = sorted(s for s, label in zip(scores, y, strict=True) if label > 0)
    negatives = sorted((s for s, label in zip(scores, y, strict=True) if label < 0), reverse=True)
    missed, wrong = list(accumulate(positives, initial=Fraction(0))), list(accumulate(negatives, initial=Fraction(0)))
    # floats find the cell, up to ties, and its height is exact
    heights = -np.array([float(a) for a in missed])[:, None] / n + np.array([float(a) for a in wrong]) / n
    fn, fp = np.meshgrid(np.arange(len(missed)), np.arange(len(wrong)), indexing="ij")
    right = len(positives) - fn
    cell = np.unravel_index(int(np.argmax(heights + 1.0 - 2.0 * right / (2.0 * right + fn + fp))), heights.shape)
    fn, fp = (int(place) for place in cell)
    right = len(positives) - fn
    return penalty + 1 - Fraction(2 * right, 2 * right + fn + fp) + (wrong[fp] - missed[fn]) / n
