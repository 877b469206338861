"""The table of Must-show 3: seconds until the true relative suboptimality is at most 1e-3 and 1e-6.

    python -m benchmarks.speed.table                    everything (hours)
    python -m benchmarks.speed.table --quick            a9a, w8a and imdb, 3 rounds, 20 s cap
    python -m benchmarks.speed.table --intercept        also Fenchel with intercept against Fenchel without
    python -m benchmarks.speed.table --report-only --update-readme

Results are added to the JSON file data set by data set, so a long run may be done in parts (--data, --only).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python benchmarks/speed/table.py`

from benchmarks import report
from benchmarks.data import load
from benchmarks.speed.contenders import CONTENDERS, Fenchel, FenchelIntercept, Task
from benchmarks.speed.judging import REFERENCE_SECONDS, reference
from benchmarks.speed.measuring import measure
from benchmarks.speed.rendering import markdown
from benchmarks.speed.worker import Order, Worker

TARGETS = (1e-3, 1e-6)
SETS = ("a9a", "w8a", "20news.binary", "imdb", "covtype", "mnist", "covtype-dense", "mnist-dense")
QUICK_SETS = ("a9a", "w8a", "imdb")


def main() -> None:
    """Measure what was asked for, then make the table."""
    options = _options()
    file: Path = options.output / "speed.json"
    results = {} if options.fresh and not options.report_only else report.read_json(file)
    cells: list[dict[str, Any]] = results.get("cells", [])
    if not options.report_only:
        for name in options.data:
            for C in options.C:
                print(f"{name}, C = {C:g}", flush=True)
                found = _measured(name, C, options)
                cells = _merged(cells, found)
                settings = {"rounds": options.rounds, "cap": options.cap, "targets": TARGETS}
                report.write_json(file, {"settings": settings, "cells": cells})
    text = markdown(cells)
    (options.output / "speed.md").write_text(text + "\n", encoding="utf-8")
    if options.update_readme:
        report.update_readme("speed", text)
    print(text)


def _measured(name: str, C: float, options: argparse.Namespace) -> list[dict[str, Any]]:
    """All cells of one data set and C."""
    data = load(name)
    workers = []
    try:
        for contender in options.only:
            task = Task(data.matrix, data.labels, C, contender == FenchelIntercept.name)
            known = reference(name, task, options.reference_seconds)
            order = Order(contender, name, C, task.intercept, known, options.rehline_on_sparse)
            workers.append(Worker(order, options.cap))
        say = (lambda text: print(text, flush=True)) if options.verbose else (lambda text: None)
        cells = measure(workers, TARGETS, options.rounds, say)
    finally:
        for worker in workers:
            worker.close(at_once=True)
    return [{**cell, "sparse": data.sparse, "description": data.description} for cell in cells]


def _merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells measured anew replace old ones; the order is that of the first measurement."""
    cells = {_key(cell): cell for cell in old}
    cells.update({_key(cell): cell for cell in new})
    return list(cells.values())


def _key(cell: dict[str, Any]) -> tuple[str, float, float, str]:
    return cell["data"], cell["C"], cell["target"], cell["contender"]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sets, 3 rounds, 20 s cap")
    parser.add_argument("--data", nargs="+", help="names of data sets, see benchmarks/data.py")
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), help="these contenders instead of all")
    parser.add_argument("--intercept", action="store_true", help="add Fenchel with intercept")
    parser.add_argument("--rehline-on-sparse", action="store_true", help="rehline on sparse data too")
    parser.add_argument("--rounds", type=int, help="timed runs of each cell (default 5)")
    parser.add_argument("--cap", type=float, help="seconds that one run may take (default 120)")
    parser.add_argument("--reference-seconds", type=float, help=f"for each optimum (default {REFERENCE_SECONDS:g})")
    parser.add_argument("--output", type=Path, default=report.RESULTS, help="folder for speed.json and speed.md")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results instead of adding to them")
    parser.add_argument("--verbose", action="store_true", help="say which settings were found")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, make the table from speed.json")
    parser.add_argument("--update-readme", action="store_true", help="write the table into benchmarks/README.md")
    options = parser.parse_args()
    quick = options.quick
    options.data = options.data or list(QUICK_SETS if quick else SETS)
    options.rounds = options.rounds or (3 if quick else 5)
    options.cap = options.cap or (20.0 if quick else 120.0)
    options.reference_seconds = options.reference_seconds or (60.0 if quick else REFERENCE_SECONDS)
    everyone = [name for name in CONTENDERS if options.intercept or name != FenchelIntercept.name]
    options.only = options.only or everyone
    if Fenchel.name not in options.only:
        options.only = [Fenchel.name, *options.only]
    return options


if __name__ == "__main__":
    main()
