"""Linear classification in processor seconds, for the sets that the speed table lacks; one process, one thread.

    python benchmarks/classification.py --update-readme                            everything; goes on where it ended
    python benchmarks/classification.py --data simulated --C 1 --rounds 1          tiny

The problems, the contenders and the judge are those of ``speed/``.  The lower bound of the optimum is that of a
certificate with a relative gap of 1e-4.  Fenchel is asked for a gap of 1e-3, which it proves; a peer runs at the
loosest of its tolerances, tenfold apart, at which its weights are within 1e-3 of the bound.  That search is not timed;
then all run in turn, round by round.  A peer that takes longer than the cap while settings are searched is not tried
further.
"""

# ruff: noqa: E402 (limits of threads before imports)

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/classification.py`

import numpy as np

from benchmarks.cells import is_held_out
from benchmarks.data import DataSet, load
from benchmarks.l1 import Fit, in_turn, shown, timed
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table
from benchmarks.speed.contenders import Contender
from benchmarks.speed.judging import Judge, Reference
from benchmarks.speed.registry import CONTENDERS
from benchmarks.speed.tasks import Task, fenchel_problem

#: losses of each set, the cheap ones first
SETS = {
    "mnist": ("hinge", "squared_hinge", "logistic"),
    "covtype": ("squared_hinge",),
    "covtype-dense": ("hinge", "squared_hinge", "logistic"),
    "mnist-dense": ("hinge", "squared_hinge", "logistic"),
    "simulated": ("hinge", "squared_hinge", "logistic"),
}
CS = (1.0, 10.0)
OWN = "Fenchel"
PEERS = ("LIBLINEAR", "LIBLINEAR primal", "scikit-learn newton-cholesky")
KEY = ("data", "loss", "C", "contender")
TARGET, BOUND = 1e-3, 1e-4
#: of peers, from the loosest on
TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)


def main() -> None:
    """Measure what is missing, and make the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(SETS), default=[name for name in SETS if name != "simulated"])
    parser.add_argument("--C", nargs="+", type=float, default=list(CS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cap", type=float, default=20.0, help="processor seconds of a run in the search of a setting")
    add_common_options(parser, "classification.json and classification.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "classification.json", KEY, options.fresh)
    for C in () if options.report_only else options.C:
        for name in options.data:
            data = load(name)
            for loss in SETS[name]:
                if options.again or not ledger.has(data=name, loss=loss, C=C, contender=OWN):
                    ledger.add(measured(data, loss, C, options.rounds, options.cap))
    publish(options, "classification", markdown(ledger.cells))


def measured(data: DataSet, loss: str, C: float, rounds: int, cap: float) -> list[Cell]:
    """The cells of one problem."""
    from fenchel import solve

    task = Task(data.matrix, data.labels, C, loss=loss)
    bound = solve(fenchel_problem(task), tol=BOUND, max_iter=np.inf).certificate
    judge = Judge(task, Reference(bound.primal, bound.dual, OWN, 0.0))
    fits: dict[str, Fit] = {}
    cells: dict[str, Cell] = {}
    about = {"data": data.name, "loss": loss, "C": C, "description": data.description}
    for name in (OWN, *PEERS):
        contender = CONTENDERS[name]()
        if contender.reason_to_skip(task) is not None:
            continue
        contender.prepare(task)
        contender.warm_up()
        own = {"contender": name, **about}
        cells[name], tolerance = searched(own, contender, judge, cap)
        print(cells[name], flush=True)
        if cells[name]["reached"]:
            fits[name] = fit_of(contender, tolerance)
    return in_turn(cells, fits, rounds)


def searched(cell: Cell, contender: Contender, judge: Judge, cap: float) -> tuple[Cell, float]:
    """The loosest tolerance that reaches the target, and what was reached on the way."""
    gap, spent = np.inf, 0.0
    # Fenchel's is the gap that it proves, in the unit of the objective
    tolerances = (None,) if contender.name == OWN else TOLERANCES
    for tolerance in tolerances:
        asked = TARGET if tolerance is None else tolerance
        begin = time.process_time()
        timed(fit_of(contender, asked))
        spent = time.process_time() - begin
        gap = min(gap, judge.suboptimality(contender.weights, contender.intercept))
        if gap <= TARGET or spent > cap:
            break
    return {**cell, "tolerance": asked, "gap": gap, "reached": gap <= TARGET, "search_seconds": spent}, asked


def fit_of(contender: Contender, tolerance: float) -> Fit:
    """What is timed."""

    def fit() -> np.ndarray:
        contender.run(tolerance)
        return contender.weights

    return fit


def markdown(cells: list[Cell]) -> str:
    """A line for each problem, a column for each contender."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    lines = []
    for data, losses in SETS.items():
        for loss in losses:
            for C in sorted({key[2] for key in by_key if key[:2] == (data, loss)}):
                row = [by_key.get((data, loss, C, name)) for name in (OWN, *PEERS)]
                own = row[0]
                description = next(cell["description"] for cell in row if cell)
                held_out = "yes" if is_held_out("classification", data, C) else "no"
                name = f"{data} ({description})"
                lines.append([name, f"`{loss}`", f"{C:g}", held_out, *(shown(cell, own) for cell in row)])
    loads = [load for cell in cells for load in cell["load"]]
    legend = (
        f"Processor seconds to a relative gap of {TARGET:g}, one thread: the median and the range of runs in turn, and "
        "in parentheses the median of the ratios to Fenchel's of the same round (above 1: Fenchel is faster). A gap in "
        "place of seconds: what the tightest tolerance that was tried reached, and its seconds. Fenchel's seconds hold "
        f"its certificates. The load average was {min(loads, default=0):.1f} to {max(loads, default=0):.1f}."
    )
    return "\n\n".join([markdown_table(["data set", "loss", "C", "held out", OWN, *PEERS], lines), legend])


if __name__ == "__main__":
    main()
