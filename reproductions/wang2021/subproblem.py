"""Tables 8 and 9: one subproblem (4), by Walrus and by a solver for convex programs, here Clarabel.

    python reproductions/wang2021/subproblem.py           writes results/subproblem.json and results/subproblem.md
    python reproductions/wang2021/subproblem.py --quick   small sizes, nothing is kept

Seconds of a single call, data in memory, median of 10 random instances (v standard normal).  Our
calls come from Python.  Clarabel gets the dense matrix I + 11' of (4) as a sparse triangle; above ``--dense`` classes
it gets the same program with the sum as a variable of its own, which is sparse, because the dense one would take more
memory and time than it is worth.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/wang2021/subproblem.py`

from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from fenchel.solvers.block_coordinate.loop_blocks import RootBlock, SortedBlock, solve_block
from reproductions.provenance import StampedLedger
from reproductions.wang2021 import paper
from reproductions.wang2021.runs import RESULTS

KEY = ("table", "value")
_INSTANCES = 10


def main() -> None:
    """Measure what is missing and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument(
        "--dense", type=int, default=2**10, help="up to this number of variables Clarabel gets (4) itself"
    )
    parser.add_argument("--again", action="store_true", help="make all runs again")
    parser.add_argument("--quick", action="store_true", help="up to 2^6 + 1 classes")
    options = parser.parse_args()
    from reproductions.wang2021.origin import SUBPROBLEM

    if options.quick and options.output == RESULTS:
        options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(SUBPROBLEM, options.output, options.again)
    sizes = [("8", power, 2**power, 1.0) for power in paper.BY_CLASSES if power <= 6 or not options.quick]
    sizes += [("9", power, 2 ** (4 if options.quick else 8), 10.0**power) for power in paper.BY_BOUND]
    measured(2, 1.0, options.dense)  # compiles
    for table, value, count, bound in sizes:
        if not ledger.has(table=table, value=value):
            ledger.add([{"table": table, "value": value, **measured(count, bound, options.dense)}])
            print(f"Table {table}, {value}", flush=True)
    text = markdown(ledger.cells)
    (options.output / "subproblem.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def measured(count: int, bound: float, dense: int) -> Cell:
    """Median seconds of each solver, and how far Clarabel is from the others, relative to the largest entry."""
    rng = np.random.default_rng(count)
    seconds: dict[str, list[float]] = {"walrus": [], "root": [], "clarabel": []}
    off = 0.0
    for _ in range(_INSTANCES):
        v = rng.standard_normal(count)
        answers = {}
        for name, inner in (("walrus", SortedBlock(bound)), ("root", RootBlock(np.inf))):
            answers[name], spent = _timed(lambda inner=inner, v=v: _own(inner, v, bound))
            seconds[name].append(spent)
        answers["clarabel"], spent = _timed(lambda v=v: conic(v, bound, count <= dense))
        seconds["clarabel"].append(spent)
        size = max(float(np.max(answers["root"])), np.finfo(float).tiny)
        off = max(off, float(np.max(np.abs(answers["clarabel"] - answers["root"]))) / size)
        np.testing.assert_allclose(answers["walrus"], answers["root"], rtol=0, atol=1e-12 * size)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {"variables": count, "C": bound, "dense": count <= dense, "seconds": medians, "difference": off}


def _own(inner: Any, v: np.ndarray, bound: float) -> np.ndarray:
    values, bounds, b = np.append(v, 0.0), np.append(np.full(len(v), bound), 0.0), np.zeros(len(v) + 1)
    solve_block(inner, values, bounds, b)
    return b[:-1]


def _timed(call: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    begin = time.process_time()
    answer = call()
    return answer, time.process_time() - begin


def conic(v: np.ndarray, bound: float, dense: bool) -> np.ndarray:
    """(4) by Clarabel: min b'(I + 11')b / 2 - v'b for b between 0 and the bound."""
    import clarabel

    count = len(v)
    eye = sp.identity(count, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if dense:
        square = sp.csc_matrix(np.triu(np.ones((count, count))) + np.eye(count))
        slope, rows = -v, sp.vstack([eye, -eye], format="csc")
        right = np.concatenate([np.full(count, bound), np.zeros(count)])
        cones = [clarabel.NonnegativeConeT(2 * count)]
    else:
        square, slope = sp.identity(count + 1, format="csc"), np.append(-v, 0.0)
        empty = sp.csc_matrix((count, 1))
        link = sp.hstack([sp.csc_matrix(np.ones((1, count))), sp.csc_matrix([[-1.0]])])
        rows = sp.vstack([link, sp.hstack([eye, empty]), sp.hstack([-eye, empty])], format="csc")
        right = np.concatenate([[0.0], np.full(count, bound), np.zeros(count)])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * count)]
    solution = clarabel.DefaultSolver(square, slope, rows, right, cones, settings).solve()
    return np.array(solution.x)[:count]


def markdown(cells: list[Cell]) -> str:
    """Both tables, with the paper's seconds."""
    parts = ["# Tables 8 and 9", _LEGEND]
    for table, printed, what in (("8", paper.BY_CLASSES, "log₂(k − 1)"), ("9", paper.BY_BOUND, "log₁₀ C")):
        rows = []
        for cell in sorted((cell for cell in cells if cell["table"] == table), key=lambda cell: cell["value"]):
            times = [f"{cell['seconds'][name]:.2g}" for name in ("walrus", "root", "clarabel")]
            form = "as it is" if cell["dense"] else "with the sum as a variable"
            walrus, mosek = (f"{value:g}" for value in printed[cell["value"]])
            ratio = f"{cell['seconds']['clarabel'] / cell['seconds']['walrus']:.0f}"
            rows.append([str(cell["value"]), *times, form, ratio, f"{cell['difference']:.1e}", walrus, mosek])
        head = [what, "walrus", "root", "Clarabel", "form", "Clarabel ÷ walrus", "Clarabel off"]
        parts.append(f"## Table {table}\n\n{markdown_table([*head, 'paper: Walrus', 'paper: MOSEK'], rows)}")
    return "\n\n".join(parts)


_LEGEND = (
    "Processor seconds of one call from Python, median of 10 instances (the paper: mean), since the machine was busy "
    "with other work; the paper's are of another machine. `Clarabel off` is its largest distance from the exact "
    "answer, at its default settings, relative to the largest entry; walrus and root agree to 1e-12."
)


if __name__ == "__main__":
    main()
