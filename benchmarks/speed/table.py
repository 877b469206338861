"""The speed table: seconds until the true relative suboptimality is at most 1e-3 and 1e-6.

    python benchmarks/speed/table.py                    everything (hours); goes on where an earlier run ended
    python benchmarks/speed/table.py --quick            three small sets, C = 1 and 10, 3 rounds, 10 s cap, no extras
    python benchmarks/speed/table.py --loss logistic --data a9a w8a --C 1 --again     these cells again
    python benchmarks/speed/table.py --intercept        also Fenchel with intercept against Fenchel without
    python benchmarks/speed/table.py --report-only --update-readme

Cheap cells come first.  Results are added to the JSON file cell by cell.  A peer that did not reach a target within
the cap is not tried again at a larger C on the same set.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python benchmarks/speed/table.py`

from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish, teller
from benchmarks.speed.contenders import Fenchel, FenchelIntercept, FenchelProved
from benchmarks.speed.extras import EXTRAS
from benchmarks.speed.measuring import blank, measure
from benchmarks.speed.peers import Rehline
from benchmarks.speed.references import REFERENCE_SECONDS, reference
from benchmarks.speed.registry import CONTENDERS
from benchmarks.speed.rendering import markdown
from benchmarks.speed.tasks import LOSSES, Task
from benchmarks.speed.worker import Order, Worker

TARGETS = (1e-3, 1e-6)
CS = (0.1, 1.0, 10.0, 100.0)
QUICK_CS = (1.0, 10.0)
CLASSIFICATION = ("a9a", "w8a", "20news.binary", "imdb", "covtype", "mnist", "covtype-dense", "mnist-dense")
REGRESSION = (
    "abalone-dense",
    "cpusmall-dense",
    "cadata-dense",
    "abalone-unit-dense",
    "cpusmall-unit-dense",
    "cadata-unit-dense",
)
QUICK_SETS = ("a9a", "imdb", "abalone-dense")
KEY = ("loss", "data", "C", "target", "contender")


@dataclass(frozen=True)
class Place:
    """A loss, a data set and a C: the cells that are measured side by side."""

    loss: str
    data: str
    C: float


def main() -> None:
    """Measure what was asked for, then make the table."""
    options = _options()
    ledger = Ledger(options.output / "speed.json", KEY, options.fresh and not options.report_only)
    if not options.report_only:
        loaded: DataSet | None = None
        places = _places(options)
        for count, place in enumerate(places, 1):
            contenders = [name for name in options.only if place.loss in CONTENDERS[name].losses]
            if not options.again and _complete(ledger, place, contenders):
                continue
            print(f"[{count}/{len(places)}] {place.loss}, {place.data}, C = {place.C:g}", flush=True)
            loaded = loaded if loaded is not None and loaded.name == place.data else load(place.data)
            ledger.add(_measured(place, loaded, contenders, ledger, options))
    publish(options, "speed", markdown(ledger.cells))


def _places(options: argparse.Namespace) -> list[Place]:
    """What was asked for, the cheap ones first; work grows with the data and, more slowly, with C."""
    sizes = {name: _size(name) for name in options.data}
    places = [
        Place(loss, name, C)
        for loss in options.loss
        for name, (_, regression) in sizes.items()
        for C in options.C
        if regression == LOSSES[loss].regression
    ]
    return sorted(places, key=lambda place: sizes[place.data][0] * place.C**0.5)


def _size(name: str) -> tuple[int, bool]:
    data = load(name)
    return data.stored, data.regression


def _complete(ledger: Ledger, place: Place, contenders: list[str]) -> bool:
    known = {"loss": place.loss, "data": place.data, "C": place.C}
    return all(ledger.has(**known, target=target, contender=name) for name in contenders for target in TARGETS)


def _measured(
    place: Place, data: DataSet, contenders: list[str], ledger: Ledger, options: argparse.Namespace
) -> list[Cell]:
    """All cells of one place."""
    entries: list[tuple[Worker, list[float]]] = []
    cells: list[Cell] = []
    try:
        for name in contenders:
            task = Task(data.matrix, data.labels, place.C, name == FenchelIntercept.name, place.loss)
            known = reference(place.data, task, options.reference_seconds)
            order = Order(name, place.data, place.C, task.intercept, known, place.loss, options.rehline_on_sparse)
            excused = _excused(order, task, ledger, options.cap)
            cells += [{**blank(order, target, options.cap), **why} for target, why in excused.items()]
            if targets := [target for target in TARGETS if target not in excused]:
                entries.append((Worker(order, options.cap), targets))
        cells += measure(entries, options.rounds, teller(options.verbose))
    finally:
        for worker, _ in entries:
            worker.close(at_once=True)
    about = {"sparse": data.sparse, "stored": data.stored, "description": data.description}
    return [{**cell, **about} for cell in cells]


def _excused(order: Order, task: Task, ledger: Ledger, cap: float) -> dict[float, dict[str, str]]:
    """The targets that need not be tried, with the status and the reason."""
    Rehline.on_sparse = order.rehline_on_sparse
    reason = CONTENDERS[order.contender]().reason_to_skip(task)
    if reason is not None:
        return {target: {"status": "skipped", "reason": reason} for target in TARGETS}
    smaller = {target: C for target in TARGETS if (C := _capped_before(ledger, order, target, cap)) is not None}
    why = {target: f"not tried: already above {cap:g} s at C = {C:g}" for target, C in smaller.items()}
    return {target: {"status": "cap", "reason": reason} for target, reason in why.items()}


def _capped_before(ledger: Ledger, order: Order, target: float, cap: float) -> float | None:
    """The smaller C at which this peer already did not get there within as much time; Fenchel is always tried."""
    if CONTENDERS[order.contender].module == Fenchel.module:
        return None
    same = {"loss": order.loss, "data": order.data, "contender": order.contender, "status": "cap"}
    alike = [cell for cell in ledger.cells if all(cell[key] == value for key, value in same.items())]
    found = [cell["C"] for cell in alike if cell["C"] < order.C and cell["target"] >= target and cell["cap"] >= cap]
    return min(found, default=None)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sets and C, 3 rounds, 10 s cap, no extras")
    parser.add_argument("--loss", nargs="+", choices=list(LOSSES), default=list(LOSSES))
    parser.add_argument("--data", nargs="+", help="names of data sets, see benchmarks/data.py")
    parser.add_argument("--C", nargs="+", type=float)
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), help="these contenders (and Fenchel)")
    parser.add_argument("--intercept", action="store_true", help="add Fenchel with intercept")
    parser.add_argument("--rehline-on-sparse", action="store_true", help="rehline on sparse data too")
    parser.add_argument("--rounds", type=int, help="timed runs of each cell (default 5)")
    parser.add_argument("--cap", type=float, help="seconds that one run may take (default 30)")
    parser.add_argument("--reference-seconds", type=float, help=f"for each optimum (default {REFERENCE_SECONDS:g})")
    add_common_options(parser, "speed.json and speed.md")
    options = parser.parse_args()
    _fill_in(options, options.quick)
    return options


def _fill_in(options: argparse.Namespace, quick: bool) -> None:
    """What was left open, by the form of the benchmark."""
    defaults: dict[str, Any] = {
        "data": QUICK_SETS if quick else CLASSIFICATION + REGRESSION,
        "C": QUICK_CS if quick else CS,
        "rounds": 3 if quick else 5,
        "cap": 10.0 if quick else 30.0,
        "reference_seconds": 30.0 if quick else REFERENCE_SECONDS,
    }
    for option, value in defaults.items():
        if getattr(options, option) is None:
            setattr(options, option, value)
    left_out = {FenchelProved.name}
    left_out |= set() if options.intercept else {FenchelIntercept.name}
    left_out |= {extra.name for extra in EXTRAS} if quick else set()
    options.only = options.only or [name for name in CONTENDERS if name not in left_out]
    if Fenchel.name not in options.only:
        options.only = [Fenchel.name, *options.only]


if __name__ == "__main__":
    main()
