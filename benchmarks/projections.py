"""The projection onto a box with one equality against the method that sorts the kinks, and how both grow.

    python benchmarks/projections.py --update-readme     (about three minutes)
    python benchmarks/projections.py --quick             small sizes

Goals: at a million entries at least 3 times as fast as sorting; cost grows linearly from there to ten million.  The
second table is about other searches in the package that could be projections: they stay where they are faster.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# processor time is compared, so no second thread for BLAS
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/projections.py`

import numpy as np

from benchmarks.blocks import INNER, _many, instances
from benchmarks.report import RESULTS, markdown_table, update_readme, write_json

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
#: how many times as fast as sorting we want to be at a million entries
GOAL = 3.0
_ROUNDS = 5
_CLASSES = (8, 64, 512)
_ENTRIES = 1 << 16


def main() -> None:
    """Measure every size in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for projections.json")
    parser.add_argument("--update-readme", action="store_true", help="rewrite the section in benchmarks/README.md")
    options = parser.parse_args()
    cells = [cell for size in (SIZES[:2] if options.quick else SIZES) for cell in measured(size)]
    others = elsewhere(options.quick)
    write_json(options.output / "projections.json", {"cells": cells, "elsewhere": others})
    text = markdown(cells, others)
    print(text)
    if options.update_readme:
        update_readme("projections", text)


def by_sorting(target: np.ndarray, low: np.ndarray, high: np.ndarray, total: float) -> np.ndarray:
    """All kinks in order, the sum at each of them, and the line between the two around the total."""
    count = len(target)
    kinks = np.concatenate([target - high, target - low])
    order = np.argsort(kinks)
    kinks, slopes = kinks[order], np.cumsum(np.where(order < count, -1.0, 1.0))
    surplus = np.sum(high) - total + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(kinks))])
    place = min(max(int(np.searchsorted(-surplus, 0.0)), 1), len(kinks) - 1)
    fall = surplus[place - 1] - surplus[place]
    step = surplus[place - 1] / fall * (kinks[place] - kinks[place - 1]) if fall > 0.0 else 0.0
    return np.clip(target - (kinks[place - 1] + step), low, high)


def measured(size: int) -> list[dict[str, Any]]:
    """Processor seconds of each method, interleaved."""
    from fenchel.projections import onto_box_and_sum
    from fenchel.solvers.reference.dual_sets import project_blocks

    rng = np.random.default_rng(size)
    target, low, high, total = rng.standard_normal(size), np.zeros(size), np.ones(size), size / 4
    jobs: dict[str, Callable[[], Any]] = {
        "sorting": lambda: by_sorting(target, low, high, total),
        "NumPy search": lambda: onto_box_and_sum(target, low, high, total),
        "compiled search": lambda: project_blocks(target, low, high, total),
    }
    answers = [job() for job in jobs.values()]
    assert all(np.allclose(answer, answers[0], atol=1e-9) for answer in answers)
    return [{"size": size, "job": name, "seconds": run} for name, run in _in_turns(jobs, 200_000 // size).items()]


def elsewhere(quick: bool) -> list[dict[str, Any]]:
    """Other searches, against a projection that gives the same answer."""
    from fenchel.compile.primitives.projection import project_rows
    from fenchel.projections import onto_box_and_sum
    from fenchel.projections.zero_sum import zero_sum

    cells = []
    for classes in _CLASSES[:1] if quick else _CLASSES:
        v, starts, bounds = instances("again", classes, _ENTRIES // classes)
        # sum clip(v - t, 0, a) = t: one more entry, which is -t
        count, size = v.shape
        wide = np.column_stack([v, np.zeros(count)])
        low, high = np.zeros((1, size + 1)), np.append(bounds, np.inf)[None]
        low[0, -1] = -np.inf
        ones = np.ones((1, size + 1))
        # as solvers pass them
        parts = [np.broadcast_to(part, wide.shape)[:, ::-1] for part in (wide, ones, ones, low, high)]
        found, totals = np.empty(wide.shape), np.broadcast_to(0.0, count)
        jobs: dict[str, Callable[[], Any]] = {
            "there": lambda v=v, bounds=bounds, starts=starts, size=size: _many(
                INNER["root"], v, bounds, starts, np.zeros(size)
            ),
            "projection": lambda parts=parts, totals=totals, found=found: project_rows(*parts, totals, found[:, ::-1]),
        }
        job = f"{count:,} Weston–Watkins roots of {classes} classes"
        cells.append({"job": job, **_in_turns(jobs, 1)})
    size = 10_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    theta = np.where(rng.random(size) < 0.3, 1.0, -1.0) * rng.random(size)
    low, high = np.minimum(np.sign(theta), 0.0), np.maximum(np.sign(theta), 0.0)
    jobs = {"there": lambda: zero_sum(theta)[0], "projection": lambda: onto_box_and_sum(theta, low, high, 0.0)}
    cells.append({"job": f"a dual point of {size:,} examples made to add up to zero", **_in_turns(jobs, 1)})
    return cells


def _in_turns(jobs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Processor seconds of one call; the first round warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(_ROUNDS + 1):
        for name, job in jobs.items():
            begin = time.process_time()
            for _ in range(max(1, repeats)):
                job()
            if turn:
                seconds[name].append((time.process_time() - begin) / max(1, repeats))
    return seconds


def markdown(cells: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    """One line for each size with the verdict on the goals, and one for each other search."""
    runs = {(cell["job"], cell["size"]): cell["seconds"] for cell in cells}
    jobs, sizes = list(dict.fromkeys(job for job, _ in runs)), list(dict.fromkeys(size for _, size in runs))
    ratio = {size: _ratio(runs[jobs[0], size], runs[jobs[-1], size]) for size in sizes}
    rows = [
        [f"{size:,}", *(_shown(runs[job, size]) for job in jobs), f"{ratio[size]:.1f}×",
         f"{1e9 * statistics.median(runs[jobs[-1], size]) / size:.0f}"]
        for size in sizes
    ]  # fmt: skip
    table = markdown_table(["n", *(f"{job}, ms" for job in jobs), "sorting ÷ compiled", "compiled, ns an entry"], rows)
    goal = ""
    if 1_000_000 in sizes:
        verdict = "met" if ratio[1_000_000] >= GOAL else "missed"
        goal = f"At a million entries {ratio[1_000_000]:.1f} times as fast as sorting (goal: {GOAL:g}: {verdict})."
    lines = [
        [cell["job"], _shown(cell["there"]), _shown(cell["projection"]),
         f"{_ratio(cell['projection'], cell['there']):.1f}×"]
        for cell in others
    ]  # fmt: skip
    second = markdown_table(["search", "as it is, ms", "as a projection, ms", "projection ÷ as it is"], lines)
    legend = (
        f"Milliseconds of processor time, median [least–most] of {_ROUNDS} interleaved rounds; normal targets, unit "
        "box, a quarter of n as the sum. Weston–Watkins roots start from the last visit's answer, as in the solver."
    )
    return "\n\n".join(part for part in [goal, table, second, legend] if part)


def _ratio(one: list[float], other: list[float]) -> float:
    return statistics.median(one) / statistics.median(other)


def _shown(seconds: list[float]) -> str:
    return f"{1e3 * statistics.median(seconds):.3g} [{1e3 * min(seconds):.3g}–{1e3 * max(seconds):.3g}]"


if __name__ == "__main__":
    main()
