"""Multinomial logistic regression: seconds against scikit-learn's lbfgs and newton-cholesky to equal suboptimality.

python benchmarks/multinomial.py --update-readme        (one thread; leave the other core alone)

Fenchel runs to the relative gap, and its time includes every certificate.  A peer has no such promise: it runs at the
loosest of its ``tol`` (powers of ten) with which its objective is within that gap of the optimum, which Fenchel is
always and usually by far.  Both regularize the weights alone.  Beside ``solver="auto"`` its two methods run by name,
block steps on the dual and truncated Newton steps.  Runs are interleaved after one round to warm up; seconds are those
of the processor, of which everyone uses one.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/multinomial.py`

import numpy as np

from benchmarks import ledger
from benchmarks.cells import held_out_mark
from benchmarks.data import load
from benchmarks.report import markdown_table

SETS = (
    "dna.scale",
    "satimage.scale-dense",
    "letter.scale-dense",
    "mnist-classes",
    "20news",
    "banking77",
    "sector.scale",
)
STRENGTHS = (0.1, 1.0, 10.0)
GAPS = (1e-3, 1e-6)
PEERS = ("lbfgs", "newton-cholesky")
OWN = ("block_coordinate", "newton_cg")
#: the tolerances that a peer is tried with, loosest first
_TOLS = tuple(10.0**-power for power in range(1, 10))
#: weights above which newton-cholesky is left out: it factorizes a matrix of their square
_MOST_WEIGHTS = 1000
_KEY = ("data", "C", "gap", "who")


def fenchel_fit(X: Any, y: np.ndarray, C: float, gap: float, solver: str = "auto") -> tuple[float, dict[str, Any]]:
    """The objective, and what else there is to say."""
    from fenchel import Problem, solve
    from fenchel.risks import Multinomial

    problem = Problem(X, Multinomial(y), 1.0 / (C * len(y)), intercept=True)
    solution = solve(problem, solver, tol=gap, max_iter=10_000)
    found = solution.certificate
    about = {"relative_gap": found.relative_gap, "dual": found.dual, "passes": solution.passes}
    about["solver"] = solution.solver
    return found.primal, {**about, "certifying": solution.trace[-1].seconds_certifying}


def peer_fit(solver: str, X: Any, y: np.ndarray, C: float, tol: float) -> Any:
    """A fitted model of scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegression(C=C, solver=solver, tol=tol, max_iter=100_000).fit(X, y)


def objective(model: Any, X: Any, y: np.ndarray, C: float) -> float:
    """Of scikit-learn's model, as Fenchel counts."""
    from fenchel.risks import Multinomial

    scores = model.decision_function(X)
    return 0.5 * float(np.sum(model.coef_**2)) / (C * len(y)) + Multinomial(y).value(scores)


def loosest(solver: str, X: Any, y: np.ndarray, C: float, enough: float, patience: float) -> tuple[float | None, float]:
    """The first tolerance with an objective of at most ``enough``, and the seconds of the last try."""
    for tol in _TOLS:
        begin = time.process_time()
        model = peer_fit(solver, X, y, C, tol)
        seconds = time.process_time() - begin
        if objective(model, X, y, C) <= enough:
            return tol, seconds
        if seconds > patience:
            break
    return None, seconds


def measure(name: str, C: float, gap: float, rounds: int, patience: float, tell: Any) -> list[dict[str, Any]]:
    """The cells of one problem, measured side by side."""
    data = load(name)
    X, y = data.matrix, data.labels.astype(np.int64)
    best, _ = fenchel_fit(X, y, C, 1e-10)
    primal, about = fenchel_fit(X, y, C, gap)
    enough = best * (1.0 + gap)
    runs: dict[str, Callable[[], Any]] = {"fenchel": lambda: fenchel_fit(X, y, C, gap)}
    cells: dict[str, dict[str, Any]] = {"fenchel": {**about, "suboptimality": primal / best - 1.0}}
    for solver in OWN:
        _, cells[solver] = fenchel_fit(X, y, C, gap, solver)
        runs[solver] = lambda solver=solver: fenchel_fit(X, y, C, gap, solver)
    for solver in PEERS:
        if solver == "newton-cholesky" and X.shape[1] * len(np.unique(y)) > _MOST_WEIGHTS:
            continue
        tol, seconds = loosest(solver, X, y, C, enough, patience)
        tell(f"{name} C={C:g} gap={gap:g} {solver}: tol={tol}, {seconds:.3g} s")
        cells[solver] = {"tol": tol, "seconds": [seconds]}
        if tol is not None and seconds <= patience:
            runs[solver] = lambda solver=solver, tol=tol: peer_fit(solver, X, y, C, tol)
    seconds_of: dict[str, list[float]] = {who: [] for who in runs}
    for turn in range(rounds):
        for who in list(runs)[:: 1 if turn % 2 else -1]:
            begin = time.process_time()
            runs[who]()
            seconds_of[who].append(time.process_time() - begin)
    place = {"data": name, "description": data.description, "classes": int(y.max()) + 1, "C": C, "gap": gap}
    return [
        {**place, "who": who, **cell, "seconds": seconds_of.get(who, cell.get("seconds"))}
        for who, cell in cells.items()
    ]


def markdown(cells: list[dict[str, Any]]) -> str:
    """One line for each problem."""
    problems = list(dict.fromkeys((cell["data"], cell["C"], cell["gap"]) for cell in cells))
    by_key = {tuple(cell[field] for field in _KEY): cell for cell in cells}
    lines, ratios = [], []
    for problem in problems:
        own = by_key[(*problem, "fenchel")]
        median = statistics.median(own["seconds"])
        line = [f"{own['data']} ({own['description']}, {own['classes']} classes)", f"{own['C']:g}"]
        line += [held_out_mark("several classes", own["data"], own["C"]), f"{own['gap']:g}"]
        line += [f"{own['suboptimality']:.1e}", _shown(own["seconds"])]
        for peer in (*OWN, *PEERS):
            cell = by_key.get((*problem, peer))
            if cell is None:
                line += ["–"]
            elif cell.get("tol", 0.0) is None:
                line += [f"> {cell['seconds'][0]:.3g}: not there yet"]
            else:
                ratio = statistics.median(cell["seconds"]) / median
                ratios += [ratio] if peer == "lbfgs" else []
                line += [f"{_shown(cell['seconds'])}: {ratio:.1f}×"]
        lines.append(line)
    head = ["data set", "C", "held out", "gap", "suboptimality", "Fenchel", *(f"`{solver}`" for solver in OWN), *PEERS]
    legend = (
        "Processor seconds: median [least–most], certificates included for Fenchel; × is how many times as long "
        "another one takes."
    )
    if ratios:
        legend += f" Against lbfgs the median is {statistics.median(ratios):.1f}× over {len(ratios)} problems."
    return "\n\n".join([markdown_table(head, lines), legend])


def _shown(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3g} [{min(seconds):.3g}–{max(seconds):.3g}]"


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ledger.add_common_options(parser, "multinomial.json and multinomial.md")
    parser.add_argument("--data", nargs="*", default=list(SETS))
    parser.add_argument("--C", nargs="*", type=float, default=list(STRENGTHS))
    parser.add_argument("--gap", nargs="*", type=float, default=list(GAPS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=float, default=120.0, help="seconds after which a peer is not run again")
    options = parser.parse_args()
    book = ledger.Ledger(options.output / "multinomial.json", _KEY, options.fresh)
    problems = [(name, C, gap) for name in options.data for C in options.C for gap in options.gap]
    for name, C, gap in [] if options.report_only else problems:
        if options.again or not book.has(data=name, C=C, gap=gap, who="fenchel"):
            book.add(measure(name, C, gap, options.rounds, options.patience, ledger.teller(options.verbose)))
    ledger.publish(options, "multinomial", markdown(book.cells))


if __name__ == "__main__":
    main()
