"""Soak: partial_fit, warm refits and predictions for an hour; memory stays flat and results equal fresh ones."""

import gc
import time
from pathlib import Path

import numpy as np

from fenchel import LinearClassifier, LinearRegressor, OnlineClassifier

#: rounds between two looks at the memory, and growth that counts as a leak, in MB over the second half of the run
ROUNDS, LEAK = 20, 16.0


def resident():
    """Megabytes of anonymous memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024.0
    raise RuntimeError("the kernel does not say how much memory this process has")


def _round(rng, number, state, defects):
    """One round: new data for the online model, a warm and a fresh fit of the same problem, predictions."""
    X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300)
    online, again = state["online"], state["again"]
    for one in (online, again):
        one.partial_fit(X, y, classes=[0, 1])
    if not np.array_equal(online.coef_, again.coef_):
        defects.append(f"round {number}: two online models with the same data differ")
    loss = ("hinge", "logistic", "squared_hinge")[number % 3]
    warm = state.setdefault(loss, LinearClassifier(loss, warm_start=True, tol=1e-7, random_state=0))
    warm.set_params(C=float(10.0 ** rng.uniform(-2, 2)))
    warm.fit(state["X"], state["y"])
    fresh = LinearClassifier(loss, tol=1e-7, random_state=0, C=warm.C).fit(state["X"], state["y"])
    first, second = warm.certificate_, fresh.certificate_
    if not (first.lower <= second.upper and second.lower <= first.upper and warm.converged_ and fresh.converged_):
        defects.append(f"round {number}: a warm fit proves {first}, a fresh one {second}")
    # both contain the scores of every optimum; the scores themselves may differ by more than rounding at this tol
    ours, theirs = warm.certified_predictions(X), fresh.certified_predictions(X)
    if np.any(ours.lower > theirs.upper) or np.any(theirs.lower > ours.upper):
        defects.append(f"round {number}: a warm and a fresh fit prove intervals of scores that do not meet")
    regressor = LinearRegressor(tol=1e-6).fit(state["X"], state["X"][:, 0])
    if not np.array_equal(regressor.predict(X), state.setdefault("regressor", regressor).predict(X)):
        defects.append(f"round {number}: the same fit predicts other numbers")


def run(seed, budget):
    """Rounds until the budget is spent."""
    rng, defects = np.random.default_rng(seed), []
    state = {
        "X": rng.normal(size=(400, 8)),
        "y": rng.integers(0, 2, 400),
        "online": OnlineClassifier(random_state=0),
        "again": OnlineClassifier(random_state=0),
    }
    begin, memory, number = time.monotonic(), [], 0
    while time.monotonic() - begin < budget or not memory:
        _round(rng, number, state, defects)
        number += 1
        if number % ROUNDS == 0 or time.monotonic() - begin > budget:
            gc.collect()
            memory.append(round(resident(), 1))
    growth = memory[-1] - memory[len(memory) // 2]
    if growth > LEAK:
        defects.append(f"memory grew by {growth:.1f} MB in the second half: {memory}")
    return {
        "rounds": number,
        "seconds": round(time.monotonic() - begin, 1),
        "memory in MB": memory[:: max(1, len(memory) // 20)],
        "growth in the second half, MB": round(growth, 1),
        "defects": defects,
    }
