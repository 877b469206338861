"""One subproblem of the Weston-Watkins SVM: the root against the sorted solver (Walrus), for 2 to 4096 classes.

    python benchmarks/blocks.py --update-readme
    python benchmarks/blocks.py --quick             three numbers of classes

Both run inside one compiled loop over many instances of eq. (4) of Wang and Scott (2021) with C = 1.  Kinds:

- first: v is normal, and the block starts at zero, as in the first pass;
- again: the block starts at the solution for a v that has since changed by a tenth, as in later passes;
- rare: the same with v shifted by -1.3, so that a tenth of the classes have a dual variable, as near a solution.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/blocks.py`

from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table
from fenchel.compile.lanes import padded
from fenchel.solvers.block_coordinate.loop_blocks import RootBlock, SortedBlock, block, solve_block

KEY = ("kind", "classes")
KINDS = ("first", "again", "rare")
CLASSES = tuple(2**power for power in range(1, 13))
INNER = {"root": RootBlock(np.inf), "sorted": SortedBlock(1.0)}
_ENTRIES = 1 << 19


@numba.njit(error_model="numpy")
def _many(inner: Any, v: Any, bounds: Any, starts: Any, b: Any) -> float:
    total = 0.0
    for i in range(len(v)):
        b[:] = starts[i]
        block(inner, v[i], bounds, b, np.sum(b))
        total += b[1]
    return total


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2, 64 and 512 classes")
    parser.add_argument("--rounds", type=int, default=5)
    add_common_options(parser, "blocks.json and blocks.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "blocks.json", KEY, options.fresh and not options.report_only)
    for kind in () if options.report_only else KINDS:
        for classes in (2, 64, 512) if options.quick else CLASSES:
            if options.again or not ledger.has(kind=kind, classes=classes):
                ledger.add([measured(kind, classes, options.rounds)])
                print(kind, classes, flush=True)
    publish(options, "blocks", markdown(ledger.cells))


def instances(kind: str, classes: int, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random v of several blocks, where the blocks start, and the bounds; the label is class 0."""
    rng = np.random.default_rng([seed, classes])
    v, starts, bounds = rng.standard_normal((count, classes)), np.zeros((count, classes)), np.ones(classes)
    bounds[0] = 0.0
    if kind == "rare":
        v -= 1.3
    if kind != "first":
        for before, start in zip(v, starts, strict=True):
            solve_block(INNER["root"], np.where(bounds > 0.0, before, 0.0), bounds, start)
        v += 0.1 * rng.standard_normal(v.shape)
    v[:, 0] = 0.0
    # blocks have the length of whole vector registers, as in the solver; a class beyond the last has the bound zero
    beyond = padded(classes) - classes
    return np.pad(v, ((0, 0), (0, beyond))), np.pad(starts, ((0, 0), (0, beyond))), np.pad(bounds, (0, beyond))


def measured(kind: str, classes: int, rounds: int) -> Cell:
    """Seconds for one subproblem, in turns."""
    v, starts, bounds = instances(kind, classes, max(8, min(1024, _ENTRIES // classes)))
    repeats = max(1, _ENTRIES // v.size)
    seconds: dict[str, list[float]] = {name: [] for name in INNER}
    for turn in range(rounds + 1):
        for name, inner in INNER.items():
            begin = time.perf_counter()
            for _ in range(repeats):
                _many(inner, v, bounds, starts, np.zeros(len(bounds)))
            if turn > 0:  # the first one compiles
                seconds[name].append((time.perf_counter() - begin) / (repeats * len(v)))
    return {"kind": kind, "classes": classes, "seconds": seconds}


def markdown(cells: list[Cell]) -> str:
    """One line for each number of classes."""
    if not cells:
        return "(not measured yet)"
    rows = []
    for cell in sorted(cells, key=lambda cell: (KINDS.index(cell["kind"]), cell["classes"])):
        root, other = (cell["seconds"][name] for name in INNER)
        ratio = statistics.median(other) / statistics.median(root)
        rows.append([cell["kind"], str(cell["classes"]), _shown(root), _shown(other), f"{ratio:.2f}"])
    head = ["kind", "classes", "root, µs", "sorted, µs", "sorted ÷ root"]
    return "\n\n".join([markdown_table(head, rows), "Median [least–most] of the rounds, in turns, one thread."])


def _shown(seconds: list[float]) -> str:
    return f"{1e6 * statistics.median(seconds):.3g} [{1e6 * min(seconds):.3g}–{1e6 * max(seconds):.3g}]"


if __name__ == "__main__":
    main()
