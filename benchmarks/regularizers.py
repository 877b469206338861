"""What an epoch of dual coordinate descent costs with entropies and q-norms, against the square.

    python benchmarks/regularizers.py --update-readme
    python benchmarks/regularizers.py --data a9a --loss hinge

Every regularizer goes through the same number of passes over all examples (no shrinking, C = 1, no intercept), one
epoch of each in turn, so that all see the machine in the same state; times are the processor's. The ratio is the
median over the epochs of an epoch's time over that of the square in the same turn. Nanoseconds for an updated non-
zero are the time of all epochs over the non-zeros of the rows whose dual variable moved: visits that move nothing are
in the time and not in the count.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/regularizers.py`

from benchmarks.data import load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table
from fenchel import Problem
from fenchel.regularizers import L2, ElasticNet, Entropy, QNorm, Regularizer, UnnormalizedEntropy
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate, Hint

KEY = ("data", "loss", "regularizer")
DATA = ("a9a", "20news.binary")
LOSSES = ("hinge", "logistic")
#: mu = 0.01 as in Zhang (2002)
REGULARIZERS: dict[str, Regularizer] = {
    "l2": L2(),
    "elastic net, ρ = 0.5": ElasticNet(0.5),
    "unnormalized entropy": UnnormalizedEntropy(0.01),
    "unnormalized entropy, balanced": UnnormalizedEntropy(0.01, balanced=True),
    "entropy": Entropy(prior=0.01),
    "entropy, balanced": Entropy(prior=0.01, balanced=True),
    "q-norm, q = 1.5": QNorm(1.5),
    "q-norm, q = 3": QNorm(3.0),
    "q-norm, q = 1.37": QNorm(1.37),
}


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--loss", nargs="+", default=LOSSES, choices=LOSSES)
    parser.add_argument("--epochs", type=int, default=15)
    add_common_options(parser, "regularizers.json and regularizers.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "regularizers.json", KEY, options.fresh and not options.report_only)
    for data in () if options.report_only else options.data:
        for loss in options.loss:
            if options.again or not all(ledger.has(data=data, loss=loss, regularizer=name) for name in REGULARIZERS):
                ledger.add(measured(data, loss, options.epochs))
                print(data, loss, flush=True)
    publish(options, "regularizers", markdown(ledger.cells))


def measured(data: str, loss: str, epochs: int) -> list[Cell]:
    """Seconds of every epoch and updated non-zeros, in turns."""
    known, solver, hint = load(data), DualCoordinate(shrinking=False, seed=0), Hint(None, 0.0, lambda: False)
    risk, lengths = MeanRisk(loss, known.labels), np.diff(known.matrix.indptr)
    problems = {
        name: Problem(known.matrix, risk, 1.0 / len(known.labels), regularizer)
        for name, regularizer in REGULARIZERS.items()
    }
    for problem in problems.values():
        # compiles
        solver.step(solver.start(problem, None), hint)
    states = {name: solver.start(problem, None) for name, problem in problems.items()}
    seconds: dict[str, list[float]] = {name: [] for name in states}
    moved = dict.fromkeys(states, 0)
    for _ in range(epochs):
        for name, state in states.items():
            before = state.outputs[0].table[:, 1].copy()
            begin = time.process_time()
            solver.step(state, hint)
            seconds[name].append(time.process_time() - begin)
            moved[name] += int(np.sum(lengths[state.outputs[0].table[:, 1] != before]))
    return [
        {"data": data, "loss": loss, "regularizer": name, "seconds": seconds[name], "moved": moved[name]}
        for name in states
    ]


def markdown(cells: list[Cell]) -> str:
    """One line for each regularizer and data set."""
    if not cells:
        return "(not measured yet)"
    plain = {(cell["data"], cell["loss"]): cell for cell in cells if cell["regularizer"] == "l2"}
    rows = []
    for cell in cells:
        base = plain[cell["data"], cell["loss"]]
        ratios = [own / other for own, other in zip(cell["seconds"], base["seconds"], strict=True)]
        rows.append(
            [
                cell["data"],
                cell["loss"],
                cell["regularizer"],
                f"{1e3 * statistics.median(cell['seconds']):.3g}",
                f"{statistics.median(ratios):.2f} [{min(ratios):.2f}–{max(ratios):.2f}]",
                f"{1e9 * sum(cell['seconds']) / max(1, cell['moved']):.3g}",
            ]
        )
    head = ["data", "loss", "regularizer", "epoch, ms", "÷ l2", "ns an updated non-zero"]
    note = "Medians [least–most] over the epochs, in turns, one thread."
    return "\n\n".join([markdown_table(head, rows), note])


if __name__ == "__main__":
    main()
