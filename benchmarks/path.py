"""A whole path of C, every point proved to 1e-3, against cold fits by the peers: hinge loss, no intercept.

    python benchmarks/path.py --update-readme       20news.binary and a9a, 50 values of C from 0.01 to 100
    python benchmarks/path.py --quick               a9a, 8 values of C from 0.01 to 1

Fenchel is ``fenchel.regularization_path(X, y, Cs=Cs, loss="hinge", fit_intercept=False, tol=1e-3)``.  LIBLINEAR and
scikit-learn's LinearSVC fit each C from scratch, each at the loosest tolerance that reaches a true relative
suboptimality of 1e-3 there, found by a search that is not timed.  In each round everyone goes through the whole grid
once, and another one begins.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/path.py`

from benchmarks.cells import held_out_mark, question_of
from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish, teller
from benchmarks.report import markdown_table
from benchmarks.speed.contenders import Fenchel
from benchmarks.speed.judging import Judge, Reference
from benchmarks.speed.measuring import Search
from benchmarks.speed.peers import Liblinear, ScikitLearn
from benchmarks.speed.references import reference
from benchmarks.speed.registry import CONTENDERS
from benchmarks.speed.tasks import Task
from benchmarks.speed.worker import Order, Worker

PEERS = (Liblinear.name, ScikitLearn.name)
KEY = ("data", "contender")
_TARGET = 1e-3
_FASTEST = "the fastest peer at each C"


def grid(quick: bool) -> list[float]:
    """Logarithmic; the first and the last are powers of ten."""
    return [float(C) for C in (np.logspace(-2, 0, 8) if quick else np.logspace(-2, 2, 50))]


def main() -> None:
    """Find the peers' settings, run the rounds that are missing, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a9a, 8 values of C")
    parser.add_argument("--data", nargs="+", help="names of data sets, see benchmarks/data.py")
    parser.add_argument("--largest", type=float, default=math.inf, help="leave out larger values of C of the grid")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS), help="these peers")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of the whole path")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds that one fit of a peer may take")
    parser.add_argument("--reference-seconds", type=float, default=60.0, help="for the optimum at each C")
    add_common_options(parser, "path.json and path.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "path.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data or (["a9a"] if options.quick else ["20news.binary", "a9a"]):
        print(f"{name}", flush=True)
        Cs = [C for C in grid(options.quick) if options.largest >= C]
        _Measurement(load(name), Cs, ledger, options).go()
    publish(options, "path", markdown(ledger.cells))


class _Measurement:
    """One data set: everyone goes through the same grid."""

    def __init__(self, data: DataSet, Cs: list[float], ledger: Ledger, options: argparse.Namespace) -> None:
        self.data, self.Cs, self.ledger, self.options = data, Cs, ledger, options
        self.references = [self._reference(C) for C in Cs]
        self.workers: dict[str, Worker] = {}
        here = [cell for cell in ledger.cells if cell["data"] == data.name and cell["Cs"] == Cs]
        known = {cell["contender"]: cell for cell in here if cell["contender"] in (Fenchel.name, *options.only)}
        #: cells by contender; those of an interrupted run are gone on with
        self.cells: dict[str, Cell] = {} if options.again else known

    def _reference(self, C: float) -> Reference:
        task = Task(self.data.matrix, self.data.labels, C)
        return reference(self.data.name, task, self.options.reference_seconds, _TARGET / 100)

    def go(self) -> None:
        try:
            for name in self.options.only:
                order = Order(name, self.data.name, self.Cs[0], False, self.references[0])
                self.workers[name] = Worker(order, self.options.cap)
            for name in self.options.only:
                if name not in self.cells:
                    self._keep(self._settings(name))
            if Fenchel.name not in self.cells:
                self._keep({**self._blank(Fenchel.name), "worst": math.nan, "worst_judged": math.nan})
            self._path(self.Cs[:2], 0.5)  # compiles
            while (turn := min(len(cell["rounds"]) for cell in self.cells.values())) < self.options.rounds:
                names = [name for name in self.cells if len(self.cells[name]["rounds"]) == turn]
                for name in names[turn % len(names) :] + names[: turn % len(names)]:
                    self._round(name)
        finally:
            for worker in self.workers.values():
                worker.close(at_once=True)

    def _blank(self, name: str) -> Cell:
        about = {"description": self.data.description, "cap": self.options.cap}
        return {"data": self.data.name, "contender": name, **about, "Cs": self.Cs, "rounds": []}

    def _keep(self, cell: Cell) -> None:
        self.cells[cell["contender"]] = cell
        self.ledger.add([cell])

    def _settings(self, name: str) -> Cell:
        """A peer's tolerance for each C; None where it does not get there."""
        say, tolerances, reasons = teller(self.options.verbose), [], []
        for C, known in zip(self.Cs, self.references, strict=True):
            self.workers[name].move_to(C, known)
            tolerance, outcome = Search(CONTENDERS[name], self.workers[name].run).setting(_TARGET)
            capped = f"the cap of {self.options.cap:g} s" if outcome.seconds is None else None
            tolerances.append(tolerance)
            reasons.append(None if tolerance is not None else outcome.stopped or capped or "its tightest tolerance")
            say(f"  {name}, C = {C:.3g}: tolerance {tolerance}")
        return {**self._blank(name), "tolerances": tolerances, "reasons": reasons}

    def _round(self, name: str) -> None:
        """Once through the grid: seconds at each C for a peer, seconds of the whole path for Fenchel."""
        cell = self.cells[name]
        if name == Fenchel.name:
            # processor seconds, as those of the peers are
            begin = time.process_time()
            path = self._path(self.Cs, _TARGET)
            cell["rounds"].append([time.process_time() - begin])
            cell["worst"] = max(float(certificate.relative_gap) for certificate in path.certificates)
            cell["worst_judged"] = max(map(self._judged, range(len(self.Cs)), np.asarray(path.coefs)))
        else:
            cell["rounds"].append([self._fit(name, place) for place in range(len(self.Cs))])
        self._keep(cell)

    def _judged(self, place: int, weights: np.ndarray) -> float:
        task = Task(self.data.matrix, self.data.labels, self.Cs[place])
        return Judge(task, self.references[place]).suboptimality(weights)

    def _fit(self, name: str, place: int) -> float | None:
        tolerance = self.cells[name]["tolerances"][place]
        if tolerance is None:
            return None
        self.workers[name].move_to(self.Cs[place], self.references[place])
        seconds = self.workers[name].run(tolerance).seconds
        return self.options.cap if seconds is None else seconds

    def _path(self, Cs: list[float], tolerance: float) -> Any:
        import fenchel

        options: dict[str, Any] = {"loss": "hinge", "fit_intercept": False, "tol": tolerance}
        return fenchel.regularization_path(self.data.matrix, self.data.labels, Cs=np.array(Cs), **options)


def totals(cells: dict[str, Cell]) -> dict[str, list[float]]:
    """Seconds of each round for the whole grid: Fenchel, those peers that reach every C, and the fastest at each C."""
    found = {name: [sum(turn) for turn in cell["rounds"]] for name, cell in cells.items() if _complete(cell)}
    peers = [cell for name, cell in cells.items() if name != Fenchel.name]
    chosen = [_fastest(peers, place) for place in range(len(cells[Fenchel.name]["Cs"]))]
    if peers and all(cell is not None for cell in chosen):
        rounds = range(min(len(cell["rounds"]) for cell in peers))
        found[_FASTEST] = [sum(cell["rounds"][turn][place] for place, cell in enumerate(chosen)) for turn in rounds]
    return found


def _complete(cell: Cell) -> bool:
    return bool(cell["rounds"]) and all(seconds is not None for turn in cell["rounds"] for seconds in turn)


def _fastest(peers: list[Cell], place: int) -> Any:
    """The peer with the least median at a C, if any gets there."""
    able = [cell for cell in peers if cell["tolerances"][place] is not None and cell["rounds"]]
    return min(able, key=lambda cell: statistics.median(turn[place] for turn in cell["rounds"]), default=None)


def markdown(cells: list[Cell]) -> str:
    """One line for each data set and contender, and notes."""
    sets: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        sets.setdefault(cell["data"], {})[cell["contender"]] = cell
    measured = {name: found for name, found in sets.items() if found.get(Fenchel.name, {}).get("rounds")}
    if not measured:
        return "(not measured yet)"
    lines, notes = [], []
    for data, found in measured.items():
        own = found[Fenchel.name]
        seconds = totals(found)
        label, held_out = f"{data} ({own['description']})", held_out_mark(question_of(data), data)
        lines += [
            [label, held_out, name, _spread(seconds.get(name)), _ratio(seconds.get(name), seconds[Fenchel.name])]
            for name in [Fenchel.name, *(peer for peer in PEERS if peer in found), _FASTEST]
        ]
        Cs = own["Cs"]
        notes.append(
            f"{data}: {len(Cs)} values of C from {Cs[0]:g} to {Cs[-1]:g}, each {Cs[1] / Cs[0]:.3f} times the one "
            f"before; Fenchel's largest certified relative gap on the path is {own['worst']:.2e}, its largest judged "
            f"suboptimality {own['worst_judged']:.2e}. {_unreached(found)}".rstrip()
        )
    head = ["data set", "held out", "contender", "processor seconds for all C", "÷ Fenchel"]
    legend = "Processor seconds: median [least–most] of the rounds; everyone goes through the grid once in each round. "
    legend += "A data set is held out as a whole."
    return "\n\n".join([markdown_table(head, lines), legend, *notes])


def _spread(seconds: list[float] | None) -> str:
    if not seconds:
        return "not at every C"
    return f"{statistics.median(seconds):.3g} [{min(seconds):.3g}–{max(seconds):.3g}] ({len(seconds)} rounds)"


def _ratio(seconds: list[float] | None, own: list[float]) -> str:
    return f"{statistics.median(seconds) / statistics.median(own):.2f}" if seconds else "–"


def _unreached(found: dict[str, Cell]) -> str:
    """At which C a peer does not get to the target, and why."""
    sentences = []
    for name, cell in found.items():
        missing = [C for C, reason in zip(cell["Cs"], cell.get("reasons", cell["Cs"]), strict=True) if reason]
        if name != Fenchel.name and missing:
            why = ", ".join(sorted({reason for reason in cell["reasons"] if reason}))
            reached = len(cell["Cs"]) - len(missing)
            part = sum(statistics.median(turn) for turn in _by_place(cell)) if reached else math.nan
            sentences.append(
                f"{name} reaches {_TARGET:g} at {reached} values of C, in {part:.3g} s altogether, and not at "
                f"{len(missing)} from C = {missing[0]:.3g} on ({why})."
            )
    return " ".join(sentences)


def _by_place(cell: Cell) -> list[list[float]]:
    """Seconds of all rounds at each C that was reached."""
    reached = [place for place, tolerance in enumerate(cell["tolerances"]) if tolerance is not None]
    return [[turn[place] for turn in cell["rounds"]] for place in reached] if cell["rounds"] else []


if __name__ == "__main__":
    main()
