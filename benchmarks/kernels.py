"""Kernel machines in and beyond memory: processor seconds to a relative gap of 1e-3 within a limit, against SVC, SVR.

    python benchmarks/kernels.py --update-readme                            everything; goes on where it was interrupted
    python benchmarks/kernels.py --data a9a@5000 abalone --limit 4096       matrices that fit in memory
    python benchmarks/kernels.py --data simulated --limit 0.5 --rounds 1    tiny

The problems are |w|^2/2 + C sum max(0, 1 - y (s + b)), and for regression C sum max(0, |s + b - y| - 0.1), with an RBF
kernel exp(-gamma |x - z|^2) and a free intercept, which is what SVC and SVR mean, too.  Fenchel is ``solve(problem,
tol=1e-3)``, the rows of the Gram matrix and all certificates included; the limit counts the rows that are kept, in
single precision, and those that are computed at once.  scikit-learn is SVC or SVR with cache_size of the same limit (in
single precision, too), at the loosest
of its tolerances, tenfold apart, with which its model has an objective within 1e-3 (relative) of the lower bound of a
certificate of 1e-4; the search is not timed.  Then both run in turn, round by round, in one process.
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
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/kernels.py`

import numpy as np
from numpy.typing import NDArray

from benchmarks.cells import held_out_mark
from benchmarks.data import DataSet, load
from benchmarks.l1 import Fit, in_turn, shown, timed
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

#: gamma = 1 / (features * variance), scikit-learn's "scale"
SCALE = 0.0
_WHOLE = ((1.0, SCALE), (10.0, SCALE), (100.0, SCALE))
#: with C and gamma
SETS = {
    "a9a@5000": _WHOLE,
    "abalone": _WHOLE,
    "w8a@5000": _WHOLE,
    "cpusmall": _WHOLE,
    "covtype@10000-dense": ((1.0, 1.0), (10.0, 1.0), (100.0, 1.0)),
    "covtype@20000-dense": ((1.0, 1.0), (10.0, 1.0), (100.0, 1.0)),
    "mnist@20000-dense": ((10.0, 0.02),),
    "simulated": ((1.0, 1.0),),
}
OWN, PEER = "fenchel", "SVC"
CONTENDERS = (OWN, PEER)
KEY = ("data", "C", "gamma", "limit", "contender")
TARGET, REFERENCE = 1e-3, 1e-4
#: of the peer, from the loosest on
TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)


def problem_of(data: DataSet, C: float, gamma: float, limit: float) -> Any:
    """The problem in the form of the library; beyond the limit rows are computed when they are needed."""
    from fenchel import Problem
    from fenchel.kernels import GramNorm
    from fenchel.kernels.kernel_rows import KernelRows
    from fenchel.kernels.lazy_gram import gram_of
    from fenchel.risks import MeanRisk

    n = len(data.labels)
    gram = gram_of(KernelRows(values_of(gamma), data.matrix, gamma), limit, named=True)
    loss = "epsilon_insensitive" if data.regression else "hinge"
    return Problem(gram, MeanRisk(loss, data.labels), 1.0 / (C * n), GramNorm(gram), True)


def matrix_megabytes(n: int) -> float:
    """The size of the Gram matrix of n examples."""
    return 8 * n * n / 2**20


def gamma_of(data: DataSet, gamma: float) -> float:
    """Gamma as a number."""
    if gamma != SCALE:
        return gamma
    values = data.matrix.toarray() if data.sparse else data.matrix
    return float(1.0 / (values.shape[1] * values.var()))


def values_of(gamma: float) -> Any:
    """The kernel by scikit-learn."""
    from sklearn.metrics.pairwise import rbf_kernel

    return lambda A, B: rbf_kernel(A, B, gamma=gamma)


def fit_of(contender: str, data: DataSet, C: float, gamma: float, limit: float, tol: float) -> Fit:
    """What is timed: coefficients of all examples, and the intercept behind them."""
    from sklearn.svm import SVC, SVR

    from fenchel import solve

    n = len(data.labels)

    def ours() -> NDArray[np.float64]:
        model = solve(problem_of(data, C, gamma, limit), tol=tol, max_iter=np.inf).model
        return np.append(model.weights, model.intercept)

    def theirs() -> NDArray[np.float64]:
        peer = SVR if data.regression else SVC
        model = peer(C=C, gamma=gamma, cache_size=limit, tol=tol).fit(data.matrix, data.labels)
        coefficients = np.zeros(n + 1)
        coefficients[model.support_] = np.ravel(model.dual_coef_.toarray() if data.sparse else model.dual_coef_)
        coefficients[n] = model.intercept_[0]
        return coefficients

    return ours if contender == OWN else theirs


def objective(data: DataSet, C: float, gamma: float, coefficients: NDArray) -> float:
    """P(w, b), by formulas of this file."""
    weights, n = coefficients[:-1], len(data.labels)
    used, scores = np.flatnonzero(weights), np.empty(n)
    for begin in range(0, n, 500):
        rows = slice(begin, begin + 500)
        scores[rows] = values_of(gamma)(data.matrix[rows], data.matrix[used]) @ weights[used]
    scores_and_intercept = scores + coefficients[-1]
    if data.regression:
        losses = np.maximum(0.0, np.abs(scores_and_intercept - data.labels) - 0.1)
    else:
        losses = np.maximum(0.0, 1.0 - data.labels * scores_and_intercept)
    return float(np.mean(losses) + 0.5 * weights @ scores / (C * n))


def measured(data: DataSet, C: float, gamma: float, limit: float, rounds: int, cap: float) -> list[Cell]:
    """Find the settings of the peer, then time both in turn."""
    from fenchel import solve

    reference = problem_of(data, C, gamma, limit)
    best = solve(reference, tol=REFERENCE, max_iter=np.inf, time_limit=10 * cap)
    fits: dict[str, Fit] = {}
    cells: dict[str, Cell] = {}
    for name in CONTENDERS:
        cell: Cell = dict(zip(KEY, (data.name, C, gamma, limit, name), strict=True))
        cell |= {"description": data.description, "reached": False, "reference_gap": best.certificate.relative_gap}
        whole = matrix_megabytes(len(data.labels)) <= limit
        cell |= {
            "capacity": len(data.labels) if whole else reference.design.capacity,
            "support": int(np.count_nonzero(best.witness.theta)),
        }
        for tol in TOLERANCES if name == PEER else (TARGET,):
            fit = fit_of(name, data, C, gamma, limit, tol)
            coefficients, seconds = timed(fit)
            gap = 1.0 - best.certificate.dual / objective(data, C, gamma, coefficients)
            cell |= {"gap": gap, "tol": tol, "search_seconds": seconds}
            if gap <= TARGET:
                fits[name], cell["reached"] = fit, True
            if cell["reached"] or seconds > cap:
                break
        cells[name] = cell
    return in_turn(cells, fits, rounds)


def markdown(cells: list[Cell]) -> str:
    """A line for each problem, a column for each contender."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    lines = []
    for key in dict.fromkeys(key[:-1] for key in by_key):
        data, C, gamma, limit = key
        row = [by_key.get((*key, name)) for name in CONTENDERS]
        own = next(cell for cell in row if cell)
        n = int(own["description"].split()[0].replace(",", ""))
        matrix = f"{matrix_megabytes(n):,.0f} MB, {limit:g} MB"
        rows = f"{own['capacity']:,}, {own['support']:,}"
        tol = f"{row[1]['tol']:g}" if row[1] else "–"
        problem = [
            f"{data} ({own['description']})",
            held_out_mark("kernels", data, C),
            f"{C:g}, {gamma:.3g}",
            matrix,
            rows,
        ]
        lines.append([*problem, *(shown(cell, row[0]) for cell in row), tol])
    loads = [load for cell in cells for load in cell["load"]]
    heads = ["data set", "held out", "C, gamma", "matrix, limit", "rows kept, support", *CONTENDERS, "tol of SVC"]
    return markdown_table(heads, lines) + (
        f"\n\nProcessor seconds to a relative gap of {TARGET:g}, one thread: the median and the range of runs in turn, "
        "and in parentheses the median of the ratios to Fenchel's of the same round (above 1: Fenchel is faster). A "
        "gap instead of seconds: no tolerance reached the target before a fit took longer than the cap. The matrix is "
        "in double precision; `rows kept` are Fenchel's, `support` the examples of the reference whose variables are "
        "not zero. Fenchel's seconds hold its certificates, which scikit-learn does not make. The load average was "
        f"{min(loads):.1f} to {max(loads):.1f}."
    )


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(SETS), default=[name for name in SETS if "@" in name])
    parser.add_argument("--limit", type=float, default=500.0, help="megabytes of kernel values that may be kept")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of everyone")
    parser.add_argument("--cap", type=float, default=200.0, help="seconds after which the search for a tolerance ends")
    add_common_options(parser, "kernels.json and kernels.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "kernels.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        data = load(name)
        for C, gamma in ((C, gamma_of(data, given)) for C, given in SETS[name]):
            identity = {"data": name, "C": C, "gamma": gamma, "limit": options.limit}
            if options.again or not all(ledger.has(**identity, contender=one) for one in CONTENDERS):
                found = measured(data, C, gamma, options.limit, options.rounds, options.cap)
                ledger.add(found)
                print(name, C, *(f"{cell['contender']}: {shown(cell, found[0])};" for cell in found), flush=True)
    publish(options, "kernels", markdown(ledger.cells))


if __name__ == "__main__":
    main()
