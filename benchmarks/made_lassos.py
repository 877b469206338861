"""Two lassos of made-up data that users compared: L1 quantile regression beside HiGHS, and a lasso of 10,000 x 100.

    python benchmarks/made_lassos.py --update-readme            about two minutes
    python benchmarks/made_lassos.py --only quantile            one of them

Quantile regression at 0.5 is |w|_1 / n plus the mean pinball loss, without an intercept, on 500 x 600 (d > n) and on
5,000 x 60 Gaussian rows with ten weights; scikit-learn's ``QuantileRegressor(solver="highs")`` solves the same linear
program.  The lasso is that of benchopt's simulated data, lam = 0.1 of the largest one with a weight, to relative gaps
of 1e-3 and 1e-6, where scikit-learn and celer run at the loosest of their tolerances, tenfold apart, with which their
objective is so near a certified lower bound.  Everyone runs in turn; processor seconds of one thread.
"""

# ruff: noqa: E402, RUF001 (limits of threads before imports; typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/made_lassos.py`

import numpy as np
from numpy.typing import NDArray

from benchmarks.l1 import Fit, in_turn, shown, timed
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("model", "shape", "target", "contender")
#: rows and columns of the two models
SHAPES = {"quantile": ((500, 600), (5000, 60)), "lasso": ((10000, 100),)}
TARGETS = {"quantile": (1e-6,), "lasso": (1e-3, 1e-6)}
CONTENDERS = ("fenchel", "HiGHS", "scikit-learn", "celer")
TOLERANCES = tuple(10.0**-k for k in range(1, 11))


def made(n: int, d: int, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Gaussian rows, and targets of ten weights with noise of a tenth of their size."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), np.zeros(d)
    w[: min(10, d)] = 1.0
    signal = X @ w
    return X, signal + 0.1 * signal.std() * rng.standard_normal(n)


def strength(model: str, X: NDArray, y: NDArray) -> float:
    """Lam of a model."""
    return (1.0 if model == "quantile" else 0.1 * float(np.max(np.abs(X.T @ y)))) / len(y)


def problem_of(model: str, X: NDArray, y: NDArray, lam: float) -> Any:
    """The problem in the form of the library."""
    from fenchel import Problem
    from fenchel.losses import Quantile
    from fenchel.risks import MeanRisk

    return Problem(X, MeanRisk(Quantile(0.5) if model == "quantile" else "squared", y), lam, "l1")


def fit_of(contender: str, model: str, X: NDArray, y: NDArray, tol: float) -> Fit:
    """What is timed."""
    from sklearn.linear_model import Lasso, QuantileRegressor

    lam = strength(model, X, y)
    if contender == "fenchel":
        from fenchel import solve

        return lambda: solve(problem_of(model, X, y, lam), tol=tol, max_iter=np.inf).model.weights
    if contender == "HiGHS":
        # alpha |w|_1 plus the mean pinball loss
        machine = QuantileRegressor(quantile=0.5, alpha=lam, fit_intercept=False, solver="highs")
        return lambda: np.ravel(machine.fit(X, y).coef_)
    if contender == "celer":
        import celer

        other = celer.Lasso(alpha=lam, tol=tol, max_iter=1000, fit_intercept=False)
        return lambda: np.ravel(other.fit(X, y).coef_)
    own = Lasso(alpha=lam, tol=tol, max_iter=100_000, fit_intercept=False)
    return lambda: np.ravel(own.fit(X, y).coef_)


def objective(model: str, X: NDArray, y: NDArray, lam: float, weights: NDArray) -> float:
    """P(w), by formulas of this file."""
    residuals = y - X @ weights
    losses = 0.5 * np.abs(residuals) if model == "quantile" else 0.5 * residuals**2
    return float(np.mean(losses) + lam * np.sum(np.abs(weights)))


def measured(model: str, shape: tuple[int, int], target: float, names: list[str], rounds: int) -> list[Cell]:
    """Find the settings of everyone, then time them in turn."""
    from fenchel import solve

    X, y = made(*shape)
    lam = strength(model, X, y)
    best = solve(problem_of(model, X, y, lam), tol=1e-8, max_iter=np.inf)
    lower, fits, cells = best.certificate.lower, {}, {}
    for name in names:
        cell: Cell = {"model": model, "shape": f"{shape[0]:,} × {shape[1]:,}", "target": target, "contender": name}
        cell["reached"] = False
        for tol in (target,) if name in ("fenchel", "HiGHS") else TOLERANCES:
            fit = fit_of(name, model, X, y, tol)
            weights, seconds = timed(fit)
            gap = 1.0 - lower / objective(model, X, y, lam, weights)
            cell |= {"gap": gap, "search_seconds": seconds, "weights": int(np.count_nonzero(weights))}
            if gap <= target:
                fits[name], cell["reached"] = fit, True
                break
        cells[name] = cell
    return in_turn(cells, fits, rounds)


def markdown(cells: list[Cell]) -> str:
    """A line for each problem and target, a column for each contender."""
    rows, by_key = [], {tuple(cell[field] for field in KEY): cell for cell in cells}
    for place in dict.fromkeys(key[:3] for key in by_key):
        row = [by_key.get((*place, name)) for name in CONTENDERS]
        rows.append([place[0], place[1], f"{place[2]:g}", *(shown(cell, row[0]) for cell in row)])
    loads = [load for cell in cells for load in cell["load"]]
    return markdown_table(["model", "data", "target", *CONTENDERS], rows) + (
        "\n\nProcessor seconds of one thread, median [least, most]; in parentheses the median of the ratios to "
        "Fenchel's of the same round (above 1: Fenchel is faster). "
        f"The load average was {min(loads):.1f} to {max(loads):.1f}."
    )


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(SHAPES), default=list(SHAPES))
    parser.add_argument("--without", nargs="+", choices=CONTENDERS, default=[], help="contenders that are left out")
    parser.add_argument("--rows", type=int, default=None, help="rows of all data, for a tiny run")
    parser.add_argument("--rounds", type=int, default=5)
    add_common_options(parser, "made_lassos.json and made_lassos.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "made_lassos.json", KEY, options.fresh and not options.report_only)
    for model in [] if options.report_only else options.only:
        peers = ("HiGHS",) if model == "quantile" else ("scikit-learn", "celer")
        names = [name for name in ("fenchel", *peers) if name not in options.without]
        for n, d in SHAPES[model]:
            for target in TARGETS[model]:
                shape = (options.rows or n, d)
                label = f"{shape[0]:,} × {shape[1]:,}"
                place = {"model": model, "shape": label, "target": target}
                if options.again or not all(ledger.has(**place, contender=name) for name in names):
                    ledger.add(measured(model, shape, target, names, options.rounds))
    publish(options, "made_lassos", markdown(ledger.cells))


if __name__ == "__main__":
    main()
