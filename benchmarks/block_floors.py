"""Floors of joint hinges: what the memory and the arithmetic of the epochs alone take, beside whole fits.

    python benchmarks/block_floors.py --update-readme
    python benchmarks/block_floors.py --data dna --part weston_watkins

An epoch of block coordinate descent reads the k weights of each feature of an example for its scores, and reads and
writes them for its step.  Its floor is the time of a compiled loop that does only this, with the products of the solver
itself (eight classes in a register, k padded to eight, the example's own entries in order): no subproblem, no choice of
examples, no dual variables.  The floor of a fit is that times its data passes, plus two products with X for each
certificate; what is above it are subproblems, shrinking, random order, and the rest of certificates.  A step that
changes few classes writes less, and examples that take no step write nothing, so a fit may beat this floor.

Beside the floor stands where the time of the fit goes: into the compiled epochs, with the nanoseconds of the turn of an
example, into certificates, and into the rest (the problem, the first state, and Python between the calls).

Bytes of an epoch are 12 for each entry of X and three times the weights of its feature, flops four for each entry and
class; beside them stand what a copy of 256 MB and a product of two 1024 x 1024 matrices reach.
"""

# ruff: noqa: E402 (limits of threads before imports; typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/block_floors.py`

import numba
import numpy as np

from benchmarks.cells import is_held_out
from benchmarks.classes import Split, load_split
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table
from fenchel.compile.lanes import padded
from fenchel.compile.primitives.class_lanes import add_class_row, add_class_scores

KEY = ("data", "part", "target")
PARTS = ("weston_watkins", "crammer_singer")
SETS = ("dna", "satimage", "letter", "sector")
TARGETS = (1e-2, 1e-3)


@numba.njit(error_model="numpy")
def epoch(rows: Any, count: int, weights: Any, scores: Any, change: Any) -> float:
    """The products of an epoch: the scores of each example, and a step of all of its classes."""
    total = 0.0
    for i in range(np.uint64(count)):
        scores[:] = 0.0
        add_class_scores(rows, i, weights, scores)
        total += scores[0]
        add_class_row(rows, i, change, weights)
    return total


def fastest(run: Callable[[], object], rounds: int) -> float:
    """The least processor seconds of some runs after one that compiles: a floor."""
    run()
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


@contextmanager
def clocked(owner: Any, name: str, found: list[float]) -> Iterator[None]:
    """The processor seconds of each call of a function are added to a list."""
    function = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        begin = time.process_time()
        try:
            return function(*arguments, **options)
        finally:
            found.append(time.process_time() - begin)

    with mock.patch.object(owner, name, call):
        yield


def measured(split: Split, part: str, target: float, rounds: int) -> Cell:
    """A fit, its parts, its floor, and the bytes and flops of an epoch."""
    from fenchel import Problem, solve
    from fenchel.designs import as_design
    from fenchel.risks import MULTICLASS
    from fenchel.solvers.block_coordinate import state
    from fenchel.solving.run import Run

    design = as_design(split.matrix)
    (count, features), entries, classes = design.shape, design.stored_entries, padded(split.count)
    weights, scores = np.zeros((features, classes), np.float32), np.zeros(classes)
    change = np.full(classes, 1e-20, np.float32)
    rows = design.rows()
    dense = np.zeros((split.count, features)), np.zeros((count, split.count))

    def fit() -> Any:
        risk = MULTICLASS[part](split.classes, split.count)
        return solve(Problem(split.matrix, risk, 1.0 / count), tol=target, max_iter=1e5)

    fit()
    seconds, floors, epochs, certifying = [], [], [], []
    for _ in range(rounds):
        in_epochs: list[float] = []
        in_certificates: list[float] = []
        with clocked(state, "run_epochs", in_epochs), clocked(Run, "_certify", in_certificates):
            begin = time.process_time()
            solution = fit()
            seconds.append(time.process_time() - begin)
        epochs.append(sum(in_epochs))
        certifying.append(sum(in_certificates))
        floors.append(fastest(lambda: epoch(rows, count, weights, scores, change), 3))
    products = fastest(lambda: (design.scores(dense[0]), design.adjoint(dense[1])), 3)
    floor = solution.passes * min(floors) + len(solution.trace) * products
    about = {"solver": solution.solver, "passes": solution.passes, "certificates": len(solution.trace)}
    sizes = {"bytes": entries * (12 + 3 * 4 * classes), "flops": 4 * entries * classes}
    shown = {"data": split.name, "description": split.description, "part": part, "target": target}
    shown |= {"examples": count, "epochs": epochs, "certifying": certifying}
    return {**shown, **about, **sizes, "seconds": seconds, "epoch": min(floors), "floor": floor, **machine()}


def machine() -> dict[str, float]:
    """Bytes of a copy and flops of a matrix product, a second."""
    source, square = np.ones(1 << 24), np.ones((1024, 1024))
    target = np.empty_like(source)
    return {
        "copied": 2 * source.nbytes / fastest(lambda: np.copyto(target, source), 3),
        "multiplied": 2 * 1024**3 / fastest(lambda: square @ square, 3),
    }


def markdown(cells: list[Cell]) -> str:
    """One line for each set and risk."""
    rows = []
    for cell in cells:
        names = ("seconds", "epochs", "certifying")
        seconds, epochs, certifying = (statistics.median(cell[name]) for name in names)
        rows.append(
            [
                f"{cell['data']} ({cell['description']})",
                cell["part"].replace("_", "-"),
                "yes" if is_held_out("several classes", cell["data"], 1.0) else "",
                f"{cell['target']:g}",
                f"{seconds:.3g}",
                f"{epochs:.3g} ({1e9 * epochs / cell['passes'] / cell['examples']:.0f})",
                f"{certifying:.3g} ({cell['certificates']})",
                f"{max(0.0, seconds - epochs - certifying):.2g}",
                f"{cell['passes']:.3g}",
                f"{1e3 * cell['epoch']:.3g}",
                f"{cell['bytes'] / cell['epoch'] / 1e9:.3g}",
                f"{cell['flops'] / cell['epoch'] / 1e9:.3g}",
                f"{cell['floor']:.3g}",
                f"{seconds / cell['floor']:.2f}",
            ]
        )
    head = ["data set", "risk", "held out", "within", "fit, s", "epochs, s (ns a turn)", "certificates, s", "rest, s"]
    head += ["passes", "floor of an epoch, ms", "GB/s", "GFlop/s", "floor, s", "fit ÷ floor"]
    copied, multiplied = (max((cell[name] for cell in cells), default=0.0) / 1e9 for name in ("copied", "multiplied"))
    legend = f"A copy reaches {copied:.3g} GB/s, a matrix product {multiplied:.3g} GFlop/s (float64)."
    return f"{markdown_table(head, rows)}\n\n{legend}"


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/classes.py")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--target", nargs="+", type=float, default=list(TARGETS))
    parser.add_argument("--rounds", type=int, default=3)
    add_common_options(parser, "block_floors.json and block_floors.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "block_floors.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        for part in options.part:
            for target in options.target:
                if options.again or not ledger.has(data=name, part=part, target=target):
                    ledger.add([measured(load_split(name), part, target, options.rounds)])
                    print(name, part, target, flush=True)
    publish(options, "block_floors", markdown(ledger.cells))


if __name__ == "__main__":
    main()
