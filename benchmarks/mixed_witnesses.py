"""Witnesses of conditional random fields: one Gibbs distribution, or the best mixture of the last K of L-BFGS.

    python benchmarks/mixed_witnesses.py
    python benchmarks/mixed_witnesses.py --data made --C 1      quick

The certificate accepts mixtures: with ``v_k = X^T theta_k / lam`` of K past points and weights p of a simplex

    D >= -lam/2 |sum_k p_k v_k|^2 - sum_k p_k R*(-theta_k)

which a quadratic program of K variables maximizes; p_k = 1 at the last point is what solvers propose.  L-BFGS
(``smoothing``) runs on the problems of ``benchmarks.sequence_rules``; after each step the least P and the largest D so
far are compared, with a mixture after each step too, which is more than any schedule of certificates would do.  The
table has the first data pass at which the relative gap of float64 numbers is below each tolerance.  A certificate of a
mixture evaluates forward-backward K times, and holds K vectors of scores.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/mixed_witnesses.py`

import numpy as np
from scipy.optimize import minimize

from benchmarks.report import markdown_table
from benchmarks.sequence_rules import Place, problem_of
from fenchel import Problem
from fenchel.solvers import Smoothing
from fenchel.solvers.base import Hint

TOLS = (1e-1, 1e-2, 1e-3, 1e-4)
#: the numbers of past points of a mixture; 1 is the last point alone
SIZES = (1, 2, 5, 10)
PLACES = (
    *(Place("made", "log-loss", C) for C in (1.0, 100.0)),
    *(Place("made", "log-loss", C, 100) for C in (1.0, 100.0)),
    *(Place("conll-500", "log-loss", C) for C in (1.0, 100.0)),
    *(Place("letters", "log-loss", C) for C in (1.0, 100.0)),
)


def best_mixture(products: np.ndarray, conjugates: np.ndarray, lam: float) -> float:
    """The largest bound of the mixtures of witnesses with these products v_k . v_l and bounds R*(-theta_k)."""
    count = len(conjugates)
    singles = -0.5 * lam * np.diag(products) - conjugates
    if count == 1:
        return float(singles[0])
    scale = max(float(np.max(np.abs(singles))), 1e-300)

    def loss(p: np.ndarray) -> tuple[float, np.ndarray]:
        Gp = products @ p
        return float(0.5 * lam * p @ Gp + conjugates @ p) / scale, (lam * Gp + conjugates) / scale

    first = np.zeros(count)
    first[int(np.argmax(singles))] = 1.0
    simplex: Any = {"type": "eq", "fun": lambda p: np.sum(p) - 1.0, "jac": lambda p: np.ones(count)}
    found = minimize(loss, first, jac=True, bounds=[(0.0, 1.0)] * count, constraints=[simplex], method="SLSQP")
    p = np.maximum(found.x, 0.0)
    return max(float(singles.max()), -scale * loss(p / np.sum(p))[0])


def passes_to_proof(problem: Problem, most: int) -> dict[int, list[str]]:
    """For each size of a mixture, the first passes whose gap is below each tolerance."""
    solver, lam = Smoothing(n_jobs=1), problem.lam
    state = solver.start(problem, None)
    # of vectors that have the representation of the solver's, which is another one where X is wide
    dot = state.objective.space.dot
    past: list[tuple[np.ndarray, float]] = []
    products: dict[tuple[int, int], float] = {}
    upper, lower, found = np.inf, dict.fromkeys(SIZES, -np.inf), {size: ["–"] * len(TOLS) for size in SIZES}
    for step in range(most):
        point = state.point
        past.append((point.x_theta / lam, -float(np.vdot(point.at.theta, point.scores)) - point.at.value))
        for k in range(max(0, step - max(SIZES)), step + 1):
            products[k, step] = products[step, k] = dot(past[k][0], past[step][0])
        upper = min(upper, state.objective.unsmoothed(point))
        for size in SIZES:
            own = range(max(0, step + 1 - size), step + 1)
            table = np.array([[products[k, other] for other in own] for k in own])
            lower[size] = max(lower[size], best_mixture(table, np.array([past[k][1] for k in own]), lam))
            for at, tol in enumerate(TOLS):
                if found[size][at] == "–" and upper - lower[size] <= tol * upper:
                    found[size][at] = str(step)
        if found[1][-1] != "–":
            break
        if step >= max(SIZES):
            past[step - max(SIZES)] = (np.zeros(0), np.nan)
        solver.step(state, Hint(None, 0.0, lambda: False))
    return found


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(dict.fromkeys(place.data for place in PLACES)))
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0])
    parser.add_argument("--most", type=int, default=300, help="passes of a run")
    options = parser.parse_args()
    rows = []
    for place in PLACES:
        if place.data in options.data and place.C in options.C:
            found = passes_to_proof(problem_of(place), options.most)
            name = place.data + (f", {place.features} dense features" if place.features else "")
            cells = [" / ".join(found[size][at] for size in SIZES) for at in range(len(TOLS))]
            rows.append([name, f"{place.C:g}", *cells])
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print(markdown_table(["data", "C", *(f"passes to {tol:g}" for tol in TOLS)], rows))


if __name__ == "__main__":
    main()
