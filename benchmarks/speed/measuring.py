"""How a cell of the table is measured: find the loosest setting that is good enough, then time it in rounds.

The search is not timed.  It changes a contender's own tolerance by decades until the judge finds the target just
reached, then goes back in halves of the decade (in the logarithm).  So everyone gets the setting that a user who knew
the outcome would have chosen, and nobody is punished for a tolerance that promises more than was asked.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed.contenders import Contender
from benchmarks.speed.registry import CONTENDERS
from benchmarks.speed.worker import Outcome, Worker

_TIGHTEST = 1e-13
#: decades that are tried above a contender's usual loosest tolerance if that is already enough
_LOOSER = 4.0
#: bisections within the last decade: settings are resolved to a factor of 10 ** (1/8)
_HALVINGS = 3
#: runs into the cap within one search before it is given up
_CAPS = 2
#: a contender that took this many times as long as the fastest peer while searching, and this many seconds, is timed
#: once only
_FAR = 5.0
_FAR_SECONDS = 1.0

Cell = dict[str, Any]


@dataclass
class Search:
    """Runs of one contender on one task, remembered by how many decades below its loosest tolerance they are."""

    contender: type[Contender]
    run: Callable[[float], Outcome]
    seen: dict[float, Outcome] = field(default_factory=dict)

    def setting(self, target: float) -> tuple[float | None, Outcome]:
        """The loosest tolerance that reaches the target with the outcome there; None if there is no such one."""
        fixed = self.contender.fixed_tolerance(target)
        if fixed is not None:
            outcome = self.run(fixed)
            proved = outcome.seconds is not None and outcome.stopped is None
            return (fixed if proved else None), outcome
        exponent, outcome = 0.0, self._at(0.0)
        while outcome.suboptimality <= target and exponent > -_LOOSER:
            looser = self._at(exponent - 1.0)
            if not looser.suboptimality <= target:
                break
            exponent, outcome = exponent - 1.0, looser
        while not outcome.suboptimality <= target and not self._at_end(exponent, outcome):
            exponent += 1.0
            outcome = self._at(exponent)
        reached = outcome.suboptimality <= target
        # a run that was ended at the cap may have been tighter than needed, by less than the last decade
        if exponent > -_LOOSER and (reached or outcome.seconds is None):
            return self._within_decade(exponent, outcome, target)
        return (self._tolerance(exponent) if reached else None), outcome

    def _within_decade(self, exponent: float, outcome: Outcome, target: float) -> tuple[float | None, Outcome]:
        """Bisect the decade before ``exponent``, which reaches the target or runs into the cap."""
        found = self._tolerance(exponent) if outcome.suboptimality <= target else None
        low, high = exponent - 1.0, exponent
        for _ in range(_HALVINGS):
            if found is None and sum(run.seconds is None for run in self.seen.values()) >= _CAPS:
                break
            middle = (low + high) / 2
            tried = self._at(middle)
            if tried.suboptimality <= target:
                high, found, outcome = middle, self._tolerance(middle), tried
            elif tried.seconds is None:
                high = middle
            else:
                low = middle
        return found, outcome

    def _at_end(self, exponent: float, outcome: Outcome) -> bool:
        """Whether a tighter tolerance can't help any more."""
        return outcome.seconds is None or outcome.stopped is not None or self._tolerance(exponent + 1.0) < _TIGHTEST

    def _tolerance(self, exponent: float) -> float:
        return float(self.contender.loosest * 10.0**-exponent)

    def _at(self, exponent: float) -> Outcome:
        if exponent not in self.seen:
            self.seen[exponent] = self.run(self._tolerance(exponent))
        return self.seen[exponent]


def measure(
    entries: Sequence[tuple[Worker, Sequence[float]]], rounds: int, say: Callable[[str], None] = lambda text: None
) -> list[Cell]:
    """The cells of one task, for workers with their targets: settings first, then rounds over all in turn."""
    cells = []
    for worker, _ in entries:
        worker.wait()
    for worker, targets in entries:
        search = Search(CONTENDERS[worker.order.contender], worker.run)
        for target in targets:
            cell = _searched(worker, search, target)
            cells.append((worker, cell))
            say(f"  {cell['contender']}, {target:g}: {cell['status']}, tolerance {cell['tolerance']}")
    timed = [(worker, cell) for worker, cell in cells if cell["status"] == "reached"]
    once = _far_behind([cell for _, cell in timed])
    for turn in range(rounds):
        # another one begins in each round, so that nobody always follows the same one
        begin = turn * len(timed) // max(1, rounds)
        for worker, cell in timed[begin:] + timed[:begin]:
            if turn == 0 or id(cell) not in once:
                _time(worker, cell)
    for _, cell in timed:
        summarize(cell)
    return [cell for _, cell in cells]


def _far_behind(cells: list[Cell]) -> set[int]:
    """The cells of those who can't be the fastest peer; Fenchel is never among them."""
    once: set[int] = set()
    for target in {cell["target"] for cell in cells}:
        peers = [cell for cell in cells if cell["target"] == target and cell["counted"]]
        fastest = min((cell["searched_seconds"] for cell in peers), default=float("inf"))
        beside = [cell for cell in cells if cell["target"] == target and not cell["contender"].startswith("Fenchel")]
        once |= {id(cell) for cell in beside if cell["searched_seconds"] > max(_FAR * fastest, _FAR_SECONDS)}
    return once


def blank(worker_order: Any, target: float, cap: float) -> Cell:
    """What every cell says about itself."""
    return {
        "loss": worker_order.loss,
        "data": worker_order.data,
        "C": worker_order.C,
        "target": target,
        "contender": worker_order.contender,
        "counted": CONTENDERS[worker_order.contender].counted,
        "reference_gap": worker_order.reference.relative_gap,
        "cap": cap,
        "tolerance": None,
    }


def _searched(worker: Worker, search: Search, target: float) -> Cell:
    """A cell with its setting, or with the reason why it has none."""
    cell = blank(worker.order, target, worker.cap)
    if worker.skipped is not None:
        return {**cell, "status": "skipped", "reason": worker.skipped}
    tolerance, outcome = search.setting(target)
    if tolerance is not None:
        found = {"tolerance": tolerance, "seconds": [], "suboptimality": outcome.suboptimality}
        return {**cell, "status": "reached", "searched_seconds": outcome.seconds, **found}
    if outcome.seconds is None:
        return {**cell, "status": "cap", "reason": f"not reached within {worker.cap:g} s"}
    if outcome.failed:
        return {**cell, "status": "failed", "reason": f"stopped by {outcome.stopped}"}
    reason = outcome.stopped or "its tightest tolerance"
    found = {"seconds": [outcome.seconds], "suboptimality": outcome.suboptimality}
    return {**cell, "status": "stopped", "reason": f"stopped by {reason}", **found}


def _time(worker: Worker, cell: Cell) -> None:
    """One more timed run of a cell; a run past the cap or short of the target is counted, not hidden."""
    outcome = worker.run(cell["tolerance"])
    if outcome.seconds is None or outcome.suboptimality > max(cell["target"], cell["suboptimality"]):
        cell["missed"] = cell.get("missed", 0) + 1
    cell["seconds"].append(worker.cap if outcome.seconds is None else outcome.seconds)


def summarize(cell: Cell) -> None:
    """Median and range of a cell's seconds."""
    seconds = cell["seconds"]
    cell.update(median=statistics.median(seconds), least=min(seconds), most=max(seconds))
