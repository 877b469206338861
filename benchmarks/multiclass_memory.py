"""Peak memory and time of Weston-Watkins with many classes: 100,000 x 128 dense float32 features, 1,000 classes.

Each contender, ``root`` (the default inner solver) and ``walrus`` (the paper's), trains in a process of its own to the
paper's decay rule, gap <= 0.09 times the gap after one pass (C = 1), and reports the peak resident size
of the whole process, data and compiled code included.  The goal is 4 GB.

    python -m benchmarks.multiclass_memory
    python -m benchmarks.multiclass_memory --examples 10000 --classes 100     quick
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/multiclass_memory.py`

from benchmarks import report
from benchmarks.memory import process_status

FEATURES = 128
DECAY = 0.09
_MEGABYTE = 10**6
_BLOCK_ROWS = 10_000
_INNER = ("root", "walrus")
_MOST_PASSES = 1000


def data_of(examples: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Float32 rows of length about one around a centre for each class, as the features of ALOI's objects are."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((classes, FEATURES), dtype=np.float32)
    labels = np.arange(examples) % classes
    random.shuffle(labels)
    rows = np.empty((examples, FEATURES), dtype=np.float32)
    for begin in range(0, examples, _BLOCK_ROWS):
        block = slice(begin, begin + _BLOCK_ROWS)
        random.standard_normal(rows[block].shape, dtype=np.float32, out=rows[block])
        rows[block] += centres[labels[block]]
        rows[block] /= np.float32((2 * FEATURES) ** 0.5)
    return rows, labels


def train(rows: np.ndarray, labels: np.ndarray, classes: int, inner: str, intercept: bool) -> dict[str, Any]:
    """Train by the paper's rule: a certificate after every pass, until the gap is that share of the first one."""
    from fenchel import Problem
    from fenchel.certificate import best_of, judge
    from fenchel.risks import WestonWatkins
    from fenchel.solvers import BlockCoordinate, Hint

    begin = time.perf_counter()
    # C = 1 is lam = 1 / n
    problem = Problem(rows, WestonWatkins(labels, classes), 1.0 / len(rows), intercept=intercept)
    solver, best, first, passes, solving = BlockCoordinate(inner=inner), None, None, 0, 0.0
    state = solver.start(problem, None)
    while passes < _MOST_PASSES and (first is None or best.certificate.gap > DECAY * first):
        start = time.perf_counter()
        hint = Hint(None if best is None else best.certificate, DECAY * (first or 1.0), lambda: False)
        solver.step(state, hint)
        while state.active_set.position != 0:
            solver.step(state, hint)
        passes, solving = passes + 1, solving + time.perf_counter() - start
        # as fenchel.solve does: the best model and the best witness so far are kept
        best = best_of(best, judge(problem, *solver.propose(state)))
        first = first or best.certificate.gap
    return {
        "first_gap": first,
        "gap": best.certificate.gap,
        "relative_gap": best.certificate.relative_gap,
        "passes": passes,
        "seconds": time.perf_counter() - begin,
        "seconds_solving": solving,
        "precision": str(state.blocks.alpha.dtype),
    }


def measured_here(inner: str, examples: int, classes: int, intercept: bool) -> dict[str, Any]:
    """Measure one contender in this process, which must be a fresh one."""
    rows, labels = data_of(1000, 20)
    train(rows, labels, 20, inner, intercept)
    rows, labels = data_of(examples, classes)
    # compile for single precision, which is what many classes get
    from fenchel import Problem, solve
    from fenchel.risks import WestonWatkins
    from fenchel.solvers import BlockCoordinate

    few = Problem(rows[:100], WestonWatkins(labels[:100], classes), 0.01)
    solve(few, BlockCoordinate(inner=inner, single=True), max_iter=3)
    found = train(rows, labels, classes, inner, intercept)
    peak = process_status("VmHWM")
    size = {"examples": examples, "classes": classes, "features": FEATURES, "intercept": intercept}
    return {"inner": inner, "peak": peak, **size, **found}


def table(results: list[dict[str, Any]]) -> str:
    """The results in Markdown."""
    first = results[0]
    rows = [
        [
            f"`{result['inner']}`",
            f"{result['peak'] / _MEGABYTE:,.0f}",
            str(result["passes"]),
            f"{result['seconds_solving']:.0f}",
            f"{result['seconds']:.0f}",
            f"{result['gap'] / result['first_gap']:.3f}",
        ]
        for result in results
    ]
    head = ["inner solver", "peak resident, MB", "passes", "s solving", "s in all", "decay reached"]
    intro = (
        f"{first['examples']:,} x {first['features']} dense float32, {first['classes']:,} classes, C = 1, "
        f"{'with' if first['intercept'] else 'without'} intercepts, to decay {DECAY}. Goal: 4,000 MB."
    )
    return f"{intro}\n\n{report.markdown_table(head, rows)}"


def main() -> None:
    """Measure each contender in a process of its own and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--intercept", action="store_true", help="with free intercepts")
    parser.add_argument("--inner", choices=_INNER, action="append", help="one of the contenders only")
    parser.add_argument("--output", type=Path, default=report.RESULTS, help="folder for multiclass_memory.json")
    parser.add_argument("--measure-here", choices=_INNER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_here:
        print(json.dumps(measured_here(options.measure_here, options.examples, options.classes, options.intercept)))
        return
    results = []
    for inner in options.inner or _INNER:
        size = ["--examples", str(options.examples), "--classes", str(options.classes)]
        chosen = ["--measure-here", inner, *size, *["--intercept"] * options.intercept]
        command = [sys.executable, "-m", "benchmarks.multiclass_memory", *chosen]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=report.README.parents[1])
        results.append(json.loads(done.stdout.splitlines()[-1]))
    report.write_json(options.output / "multiclass_memory.json", {"results": results})
    print(table(results))


if __name__ == "__main__":
    main()
