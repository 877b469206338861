"""The lasso (L1): processor seconds to a relative gap of 1e-4, against skglm, celer and LIBLINEAR -s 6.

    python benchmarks/l1.py --update-readme                   everything; goes on where it was interrupted
    python benchmarks/l1.py --data a9a --loss logistic        these cells
    python benchmarks/l1.py --data simulated --only fenchel liblinear --C 1     tiny

The problems are |w|_1 + C sum f(x.w, y) without an intercept, where every peer means the same; ``squared`` takes the
labels -1 and 1 as targets, ``logistic`` the targets of a regression as classes, those above the median and the others.
Fenchel is ``solve(problem, tol=1e-4)`` with all its certificates, on the CSR matrix as it is loaded.  celer and skglm
get a CSC matrix that is made before the clock starts; LIBLINEAR gets its own problem object made before, and transposes
it within the time.  Each peer runs at the loosest of its tolerances, tenfold apart, with which its weights have an
objective within 1e-4 (relative) of the lower bound of a certificate of 1e-7; the search is not timed.  Then everyone
runs in turn, round by round, in one process; medians of processor seconds with ranges.
"""

# ruff: noqa: E402, RUF001 (limits of threads before imports; typographic signs in tables for people)

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/l1.py`

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.cells import is_held_out
from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

SETS = ("a9a", "20news.binary")
LOSSES = ("logistic", "squared")
CS = (0.1, 1.0, 10.0)
CONTENDERS = ("fenchel", "celer", "skglm", "liblinear")
KEY = ("data", "loss", "C", "contender")
TARGET = 1e-4
#: of the peers, from the loosest on
TOLERANCES = tuple(10.0**-k for k in range(1, 10))
Fit = Callable[[], NDArray[np.float64]]


def problem_of(data: DataSet, loss: str, C: float) -> Any:
    """The problem in the form of the library."""
    from fenchel import Problem
    from fenchel.risks import MeanRisk

    return Problem(data.matrix, MeanRisk(loss, data.labels), 1.0 / (C * data.matrix.shape[0]), "l1")


def labelled(data: DataSet, loss: str) -> DataSet:
    """The data with labels that the loss takes: for the logistic loss -1 and 1."""
    if loss != "logistic" or not data.regression:
        return data
    labels = np.where(data.labels > np.median(data.labels), 1.0, -1.0)
    return dataclasses.replace(data, labels=labels)


def celer(columns: sp.csc_matrix, y: NDArray, loss: str, C: float, tol: float) -> Fit:
    """celer's estimators; its Lasso is 1/(2n) |r|^2 + alpha |w|_1."""
    import celer as library

    if loss == "logistic":
        model = library.LogisticRegression(C=C, tol=tol, max_iter=100, fit_intercept=False)
        return lambda: np.ravel(model.fit(columns, y).coef_)
    model = library.Lasso(alpha=1.0 / (C * len(y)), tol=tol, max_iter=100, fit_intercept=False)
    return lambda: np.ravel(model.fit(columns, y).coef_)


def skglm(columns: sp.csc_matrix, y: NDArray, loss: str, C: float, tol: float) -> Fit:
    """skglm's own choice: its estimators for both."""
    import skglm as library

    if loss == "logistic":
        model = library.SparseLogisticRegression(alpha=1.0 / (C * len(y)), tol=tol, fit_intercept=False)
        return lambda: np.ravel(model.fit(columns, y).coef_)
    model = library.Lasso(alpha=1.0 / (C * len(y)), tol=tol, fit_intercept=False)
    return lambda: np.ravel(model.fit(columns, y).coef_)


def liblinear(matrix: sp.csr_matrix, y: NDArray, C: float, tol: float) -> Fit:
    """LIBLINEAR -s 6, L1-regularized logistic regression."""
    from liblinear.liblinear import liblinear as library
    from liblinear.liblinear import parameter, problem, toPyModel

    given, options = problem(y, sp.csr_matrix(matrix)), parameter(f"-s 6 -c {C} -e {tol} -B -1 -q")

    def fit() -> NDArray[np.float64]:
        model = toPyModel(library.train(given, options))
        weights, sign = np.ctypeslib.as_array(model.w, (matrix.shape[1],)).copy(), model.get_labels()[0]
        return weights * (1.0 if sign == 1 else -1.0)

    return fit


def fit_of(contender: str, data: DataSet, columns: sp.csc_matrix, loss: str, C: float, tol: float) -> Fit:
    """What is timed."""
    if contender == "fenchel":
        from fenchel import solve

        return lambda: solve(problem_of(data, loss, C), tol=tol, max_iter=np.inf).model.weights
    if contender == "liblinear":
        return liblinear(data.matrix, data.labels, C, tol)
    return {"celer": celer, "skglm": skglm}[contender](columns, data.labels, loss, C, tol)


def timed(fit: Fit) -> tuple[NDArray[np.float64], float]:
    """The weights and processor seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = fit()
    return weights, time.process_time() - begin


def objective(data: DataSet, loss: str, C: float, weights: NDArray) -> float:
    """P(w), by formulas of this file."""
    scores = data.matrix @ weights
    losses = np.logaddexp(0.0, -data.labels * scores) if loss == "logistic" else 0.5 * (scores - data.labels) ** 2
    return float(np.mean(losses) + np.sum(np.abs(weights)) / (C * len(scores)))


def measured(data: DataSet, loss: str, C: float, names: list[str], rounds: int, cap: float) -> list[Cell]:
    """Find the settings of everyone, then time them in turn."""
    from fenchel import solve

    columns = sp.csc_matrix(data.matrix)
    best = solve(problem_of(data, loss, C), tol=1e-7, max_iter=np.inf, time_limit=10 * cap)
    lower, fits, cells = best.certificate.dual, {}, {}
    shared = {"data": data.name, "description": data.description, "loss": loss, "C": C}
    for name in names:
        if name == "skglm":
            # it compiles when it first has something to do: weak regularization, a tolerance that is not met at once
            some = slice(None, None, max(1, len(data.labels) // 300))
            timed(skglm(sp.csc_matrix(data.matrix[some]), data.labels[some], loss, 100.0 * C, TOLERANCES[5]))
        cell: Cell = {**shared, "contender": name, "reached": False, "reference_gap": best.certificate.relative_gap}
        for tol in (TARGET,) if name == "fenchel" else TOLERANCES:
            fit = fit_of(name, data, columns, loss, C, tol)
            weights, seconds = timed(fit)
            gap = 1.0 - lower / objective(data, loss, C, weights)
            if gap < cell.get("gap", np.inf):
                cell |= {"gap": gap, "tol": tol, "search_seconds": seconds, "weights": int(np.count_nonzero(weights))}
            if gap <= TARGET:
                fits[name], cell["reached"] = fit, True
                break
            if seconds > cap:
                break
        cells[name] = cell
    return in_turn(cells, fits, rounds)


def in_turn(cells: dict[str, Cell], fits: dict[str, Fit], rounds: int) -> list[Cell]:
    """The cells with the seconds of those who reached the target: everyone once a round, in an order that rotates."""
    times: dict[str, list[float]] = {name: [] for name in fits}
    loads = [os.getloadavg()[0]]
    # nobody may have reached the target
    for k in range(rounds if fits else 0):
        order = list(fits)
        for name in order[k % len(order) :] + order[: k % len(order)]:
            times[name].append(timed(fits[name])[1])
        loads.append(os.getloadavg()[0])
    return [{**cell, "seconds": times.get(name, []), "load": [min(loads), max(loads)]} for name, cell in cells.items()]


def markdown(cells: list[Cell]) -> str:
    """A line for each problem, a column for each contender."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    lines = []
    problems = {key[:3] for key in by_key}
    known = (*SETS, *sorted({data for data, _, _ in problems} - set(SETS)))
    for data, loss, C in sorted(problems, key=lambda key: (known.index(key[0]), LOSSES.index(key[1]), key[2])):
        row = [by_key.get((data, loss, C, name)) for name in CONTENDERS]
        own = row[0]
        count = f"{own['weights']:,}" if own else "–"
        description = next(cell["description"] for cell in row if cell)
        held_out = "yes" if is_held_out("L1", data, C) else "no"
        name = f"{data} ({description})"
        lines.append([name, f"`{loss}`", f"{C:g}", held_out, count, *(shown(cell, own) for cell in row)])
    table = markdown_table(["data set", "loss", "C", "held out", "weights", *CONTENDERS], lines)
    loads = [load for cell in cells for load in cell["load"]]
    return table + (
        f"\n\nProcessor seconds to a relative gap of {TARGET:g}, one thread: the median and the range of runs in turn, "
        "and in parentheses the median of the ratios to Fenchel's of the same round (above 1: Fenchel is faster). "
        "Nobody tuned on the cells that are held out. "
        "The logistic loss takes the targets of a regression as two classes, those above the median and the others. "
        "`weights` are the non-zero weights of Fenchel's model. A gap instead of seconds: no tolerance reached the "
        "target before a fit took longer than the cap. LIBLINEAR has no squared loss with L1. Fenchel's "
        f"seconds hold its certificates, which the peers do not make. The load average was {min(loads):.1f} to "
        f"{max(loads):.1f}."
    )


def shown(cell: Cell | None, own: Cell | None) -> str:
    """Median, range, and the ratio to one's own; or the gap that was reached."""
    if cell is None:
        return "–"
    if not cell["reached"]:
        return f"gap {cell['gap']:.1g} after {cell['search_seconds']:.3g}"
    seconds = cell["seconds"]
    text = f"{statistics.median(seconds):.3g} [{min(seconds):.3g}, {max(seconds):.3g}]"
    if own is None or own is cell or not own["reached"]:
        return text
    ratios = [a / b for a, b in zip(seconds, own["seconds"], strict=False)]
    return f"{text} ({statistics.median(ratios):.2g}×)"


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--loss", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--C", nargs="+", type=float, default=list(CS))
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of everyone")
    parser.add_argument("--cap", type=float, default=60.0, help="processor seconds after which a peer's search ends")
    add_common_options(parser, "l1.json and l1.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "l1.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        data = load(name)
        for loss in options.loss:
            for C in options.C:
                names = [one for one in options.only if one != "liblinear" or loss == "logistic"]
                if not options.again and all(ledger.has(data=name, loss=loss, C=C, contender=one) for one in names):
                    continue
                found = measured(labelled(data, loss), loss, C, names, options.rounds, options.cap)
                ledger.add(found)
                print(name, loss, C, *(f"{cell['contender']}: {shown(cell, found[0])};" for cell in found), flush=True)
    publish(options, "l1", markdown(ledger.cells))


if __name__ == "__main__":
    main()
