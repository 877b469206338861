"""What one most violated labelling of a measure costs, beside np.argsort of the same scores, and how that grows.

    python benchmarks/oracle.py --update-readme     (under two minutes)
    python benchmarks/oracle.py --quick             small sizes

Goals: F1 at a million examples costs at most 20 times np.argsort, and from 10,000 to a million examples its cost grows
no faster than n log n.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# processor time is compared, so no second thread for BLAS
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/oracle.py`

import numpy as np

from benchmarks.report import RESULTS, markdown_table, update_readme, write_json

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
#: the largest ratio to np.argsort that we want for F1
GOAL = 20.0
_ROUNDS = 7
_POSITIVE = 0.3


def main() -> None:
    """Measure every size and measure in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for oracle.json")
    parser.add_argument("--update-readme", action="store_true", help="rewrite the section in benchmarks/README.md")
    options = parser.parse_args()
    cells = [cell for size in (SIZES[:2] if options.quick else SIZES) for cell in measured(size)]
    write_json(options.output / "oracle.json", {"cells": cells})
    text = markdown(cells)
    print(text)
    if options.update_readme:
        update_readme("oracle", text)


def measured(size: int) -> list[dict[str, Any]]:
    """Seconds of np.argsort and of a plane of each measure, interleaved; processor time too, for a busy machine."""
    from fenchel.risks import MEASURES

    rng = np.random.default_rng(size)
    labels = np.where(rng.random(size) < _POSITIVE, 1.0, -1.0)
    scores = rng.normal(size=size) + 0.5 * labels
    positives = int(np.sum(labels > 0))
    arguments = {"fbeta": (2.0,), "precision_at_k": (positives // 2,), "recall_at_k": (2 * positives,)}
    jobs: dict[str, Callable[[], Any]] = {"np.argsort": lambda: np.argsort(scores)}
    for name, kind in MEASURES.items():
        risk = kind(labels, *arguments.get(name, ()))
        jobs[name] = lambda risk=risk: risk.plane(scores)
    repeats = max(1, 200_000 // size)
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    processor: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(_ROUNDS + 1):
        for name, job in jobs.items():
            wall, busy = time.perf_counter(), time.process_time()
            for _ in range(repeats):
                job()
            if turn:  # the first round warms up
                seconds[name].append((time.perf_counter() - wall) / repeats)
                processor[name].append((time.process_time() - busy) / repeats)
    return [{"size": size, "job": name, "seconds": seconds[name], "processor": processor[name]} for name in jobs]


def markdown(cells: list[dict[str, Any]]) -> str:
    """One line for each measure, one column for each size, and the verdict on the goals."""
    sizes = list(dict.fromkeys(cell["size"] for cell in cells))
    runs = {(cell["job"], cell["size"]): cell["processor"] for cell in cells}
    medians = {key: statistics.median(run) for key, run in runs.items()}
    first, last = sizes[0], sizes[-1]
    steps = last * math.log(last) / (first * math.log(first))
    lines = []
    for job in dict.fromkeys(cell["job"] for cell in cells):
        row = [f"`{job}`"]
        for size in sizes:
            run = [1e3 * second for second in runs[job, size]]
            ratio = medians[job, size] / medians["np.argsort", size]
            shown = f"{statistics.median(run):.3g} [{min(run):.3g}–{max(run):.3g}]"
            row.append(shown if job == "np.argsort" else f"{shown}, {ratio:.1f}×")
        lines.append([*row, f"{medians[job, last] / medians[job, first]:.0f}"])
    table = markdown_table(["", *(f"n = {size:,}" for size in sizes), "last ÷ first"], lines)
    ratio, growth = medians["f1", last] / medians["np.argsort", last], medians["f1", last] / medians["f1", first]
    goals = (
        f"F1 at n = {last:,}: {ratio:.1f} times np.argsort (goal at a million: at most {GOAL:g}: "
        f"{'met' if ratio <= GOAL else 'missed'}); {growth:.0f} times its cost at n = {first:,} (n log n: {steps:.0f}: "
        f"{'met' if growth <= steps else 'missed'})."
    )
    legend = (
        f"Milliseconds of processor time, median [least–most] of {_ROUNDS} interleaved rounds, and the ratio to "
        f"np.argsort; normal scores, {100 * _POSITIVE:.0f}% positives."
    )
    return "\n\n".join([goals, table, legend])


if __name__ == "__main__":
    main()
