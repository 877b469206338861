"""Ridge regression: processor seconds to a relative gap of 1e-6, conjugate gradients on the dual and others.

    python benchmarks/ridge.py --update-readme            everything; goes on where it was interrupted
    python benchmarks/ridge.py --data simulated --C 1     tiny

The problems are |w|^2/2 + C/2 sum (x.w - y)^2 without an intercept; of 20news.binary the labels -1 and 1 are the
targets.  The solvers of Fenchel are ``solve(problem, solver, tol=1e-6)`` with all their certificates; ``plain`` is
``dual_conjugate_gradient`` without its preconditioner.  scikit-learn is Ridge(solver="sparse_cg") at the loosest of
its tolerances, tenfold apart, with which its weights have an objective within 1e-6 (relative) of the lower bound of a
certificate of 1e-8; the search is not timed.  Then everyone runs in turn, round by round, in one process.
"""

# ruff: noqa: E402 (limits of threads before imports)

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/ridge.py`

import numpy as np
from numpy.typing import NDArray

from benchmarks.cells import held_out_mark, question_of
from benchmarks.data import DataSet, load
from benchmarks.l1 import Fit, in_turn, shown, timed
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

SETS = ("cpusmall-dense", "cadata-dense", "20news.binary")
CS = (0.01, 1.0, 100.0)
PEER = "scikit-learn"
CONTENDERS = ("dual_conjugate_gradient", "plain", "dual_coordinate", "newton", PEER)
KEY = ("data", "C", "contender")
TARGET = 1e-6
#: of the peer, from the loosest on
TOLERANCES = tuple(10.0**-k for k in range(1, 13))


def fit_of(contender: str, data: DataSet, C: float, tol: float, cap: float) -> Fit:
    """What is timed."""
    from sklearn.linear_model import Ridge

    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk
    from fenchel.solvers import DualConjugateGradient

    if contender == PEER:
        model = Ridge(1.0 / C, solver="sparse_cg", tol=tol, max_iter=100_000, fit_intercept=False)
        return lambda: np.ravel(model.fit(data.matrix, data.labels).coef_)
    solver: Any = DualConjugateGradient(preconditioned=False) if contender == "plain" else contender

    def fit() -> NDArray[np.float64]:
        problem = Problem(data.matrix, MeanRisk("squared", data.labels), 1.0 / (C * len(data.labels)))
        return solve(problem, solver, tol=tol, max_iter=np.inf, time_limit=cap).model.weights

    return fit


def objective(data: DataSet, C: float, weights: NDArray) -> float:
    """P(w), by formulas of this file."""
    residuals = data.matrix @ weights - data.labels
    return float(0.5 * np.mean(residuals**2) + 0.5 * weights @ weights / (C * len(residuals)))


def measured(data: DataSet, C: float, rounds: int, cap: float) -> list[Cell]:
    """Find the settings of the peer, then time everyone in turn."""
    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk

    problem = Problem(data.matrix, MeanRisk("squared", data.labels), 1.0 / (C * len(data.labels)))
    best = solve(problem, tol=1e-8, max_iter=np.inf, time_limit=10 * cap).certificate
    fits: dict[str, Fit] = {}
    cells: dict[str, Cell] = {}
    for name in CONTENDERS:
        cell: Cell = {"data": data.name, "description": data.description, "C": C, "contender": name, "reached": False}
        cell["reference_gap"] = best.relative_gap
        for tol in TOLERANCES if name == PEER else (TARGET,):
            fit = fit_of(name, data, C, tol, cap)
            # the first run may compile
            timed(fit_of(name, data, C, 0.1, cap))
            weights, seconds = timed(fit)
            cell |= {"gap": 1.0 - best.dual / objective(data, C, weights), "tol": tol, "search_seconds": seconds}
            if cell["gap"] <= TARGET:
                fits[name], cell["reached"] = fit, True
            if cell["reached"] or seconds > cap:
                break
        cells[name] = cell
    return in_turn(cells, fits, rounds)


def markdown(cells: list[Cell]) -> str:
    """A line for each problem, a column for each contender."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    lines = []
    for data, C in dict.fromkeys(key[:2] for key in by_key):
        row = [by_key.get((data, C, name)) for name in CONTENDERS]
        description = next(cell["description"] for cell in row if cell)
        lines.append(
            [
                f"{data} ({description})",
                f"{C:g}",
                held_out_mark(question_of(data), data, C),
                *(shown(cell, row[0]) for cell in row),
            ]
        )
    heads = [name if name == PEER else f"`{name}`" for name in CONTENDERS]
    loads = [load for cell in cells for load in cell["load"]]
    return markdown_table(["data set", "C", "held out", *heads], lines) + (
        f"\n\nProcessor seconds to a relative gap of {TARGET:g}, one thread: the median and the range of runs in turn, "
        "and in parentheses the median of the ratios to `dual_conjugate_gradient` of the same round (above 1: that is "
        "faster). A gap instead of seconds: what was reached at the cap, which is in wall-clock seconds, and the "
        "processor seconds of it. Fenchel's seconds hold its certificates, which scikit-learn does not make. The load "
        f"average was {min(loads):.1f} to {max(loads):.1f}."
    )


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--C", nargs="+", type=float, default=list(CS))
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of everyone")
    parser.add_argument("--cap", type=float, default=10.0, help="seconds that one run may take")
    add_common_options(parser, "ridge.json and ridge.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "ridge.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        data = load(name)
        for C in options.C:
            if options.again or not all(ledger.has(data=name, C=C, contender=one) for one in CONTENDERS):
                found = measured(data, C, options.rounds, options.cap)
                ledger.add(found)
                print(name, C, *(f"{cell['contender']}: {shown(cell, found[0])};" for cell in found), flush=True)
    publish(options, "ridge", markdown(ledger.cells))


if __name__ == "__main__":
    main()
