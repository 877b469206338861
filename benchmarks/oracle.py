"""What one most violated labelling of a measure costs, beside np.argsort of the same scores, and how that grows.

    python benchmarks/oracle.py --update-readme     (under two minutes)
    python benchmarks/oracle.py --smoothed          smoothed values and gradients instead (two minutes)
    python benchmarks/oracle.py --quick             small sizes

Goals: F1 at a million examples costs at most 20 times np.argsort, and from 10,000 to a million examples its cost grows
no faster than n log n; one smoothed value with its gradient at ten million scores costs at most 20 times np.argsort,
for ROC area and break-even, whatever mu is.
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
SMOOTHED_SIZES, SMOOTHED_MUS = (10_000, 100_000, 1_000_000, 10_000_000), (1.0, 0.01)
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
    parser.add_argument("--smoothed", action="store_true", help="smoothed measures instead of labellings")
    options = parser.parse_args()
    name, sizes = ("smoothed", SMOOTHED_SIZES) if options.smoothed else ("oracle", SIZES)
    jobs = gradients if options.smoothed else planes
    cells = [cell for size in (sizes[:2] if options.quick else sizes) for cell in measured(size, jobs)]
    write_json(options.output / f"{name}.json", {"cells": cells})
    text = markdown(cells)
    print(text)
    if options.update_readme:
        update_readme(name, text)


def planes(labels: np.ndarray, scores: np.ndarray) -> dict[str, Callable[[], Any]]:
    """A most violated labelling of each measure."""
    from fenchel.risks import MEASURES

    positives = int(np.sum(labels > 0))
    arguments = {"fbeta": (2.0,), "precision_at_k": (positives // 2,), "recall_at_k": (2 * positives,)}
    jobs: dict[str, Callable[[], Any]] = {}
    for name, kind in MEASURES.items():
        risk = kind(labels, *arguments.get(name, ()))
        jobs[name] = lambda risk=risk: risk.cutting_plane(scores)
    return jobs


def gradients(labels: np.ndarray, scores: np.ndarray) -> dict[str, Callable[[], Any]]:
    """A smoothed value with its gradient, as the solvers compute it."""
    from fenchel.risks import BreakEven, RocAUC
    from fenchel.solvers.smoothing.measures import evaluator

    jobs: dict[str, Callable[[], Any]] = {}
    for risk in (RocAUC(labels), BreakEven(labels)):
        evaluate = evaluator(risk)
        for mu in SMOOTHED_MUS:
            jobs[f"{risk.name}, mu = {mu:g}"] = lambda evaluate=evaluate, mu=mu: evaluate(scores, mu)
    return jobs


def measured(size: int, make: Callable[[np.ndarray, np.ndarray], dict[str, Callable[[], Any]]]) -> list[dict[str, Any]]:
    """Seconds of np.argsort and of each job, interleaved; processor time too, for a busy machine."""
    rng = np.random.default_rng(size)
    labels = np.where(rng.random(size) < _POSITIVE, 1.0, -1.0)
    scores = rng.normal(size=size) + 0.5 * labels
    jobs: dict[str, Callable[[], Any]] = {"np.argsort": lambda: np.argsort(scores), **make(labels, scores)}
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
    # the goal is for the dearest of the smoothed measures, or for F1
    asked = ["f1"] if ("f1", last) in medians else [job for job, size in medians if size == last and "mu" in job]
    ratio, dearest = max((medians[job, last] / medians["np.argsort", last], job) for job in asked)
    growth, sorting = (
        max(medians[job, last] / medians[job, first] for job in jobs) for jobs in (asked, ["np.argsort"])
    )
    aim = (
        f"n log n: {steps:.0f}: {'met' if growth <= steps else 'missed'}"
        if asked == ["f1"]
        else f"n log n: {steps:.0f}"
    )
    goals = (
        f"`{dearest}` at n = {last:,}: {ratio:.1f} times np.argsort (goal: at most {GOAL:g}: "
        f"{'met' if ratio <= GOAL else 'missed'}); from n = {first:,} on cost grows {growth:.0f} times ({aim}; "
        f"np.argsort: {sorting:.0f})."
    )
    legend = (
        f"Milliseconds of processor time, median [least–most] of {_ROUNDS} interleaved rounds, and the ratio to "
        f"np.argsort; normal scores, {100 * _POSITIVE:.0f}% positives."
    )
    return "\n\n".join([goals, table, legend])


if __name__ == "__main__":
    main()
