"""How a cell of the table is measured: find the loosest setting that is good enough, then time it in rounds.

The search is not timed.  It tightens a contender's own tolerance by decades until the judge finds the target
reached, then goes back in halves of the decade (in the logarithm).  So everyone gets the setting that a user who knew
the outcome would have chosen, and nobody is punished for a tolerance that promises more than was asked.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed.contenders import CONTENDERS
from benchmarks.speed.worker import Outcome, Worker

_TIGHTEST = 1e-13
#: bisections within the last decade: settings are told apart to a factor of 10 ** (1/8)
_HALVINGS = 3


@dataclass
class Search:
    """Runs of one contender on one task, remembered by how many decades below its loosest tolerance they are."""

    worker: Worker
    seen: dict[float, Outcome] = field(default_factory=dict)

    def setting(self, target: float) -> tuple[float | None, Outcome]:
        """The loosest tolerance that reaches the target with the outcome there; None if there is no such one."""
        exponent, outcome = 0.0, self._at(0.0)
        while not outcome.suboptimality <= target and not self._at_end(exponent, outcome):
            exponent += 1.0
            outcome = self._at(exponent)
        reached = outcome.suboptimality <= target
        # a run that was ended at the cap may have been tighter than needed, by less than the last decade
        if exponent > 0.0 and (reached or outcome.seconds is None):
            return self._within_decade(exponent, outcome, target)
        return (self._tolerance(exponent) if reached else None), outcome

    def _within_decade(self, exponent: float, outcome: Outcome, target: float) -> tuple[float | None, Outcome]:
        """Bisect the decade before ``exponent``, which reaches the target or runs into the cap."""
        found = self._tolerance(exponent) if outcome.suboptimality <= target else None
        low, high = exponent - 1.0, exponent
        for _ in range(_HALVINGS):
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
        return float(CONTENDERS[self.worker.order.contender].loosest * 10.0**-exponent)

    def _at(self, exponent: float) -> Outcome:
        if exponent not in self.seen:
            self.seen[exponent] = self.worker.run(self._tolerance(exponent))
        return self.seen[exponent]


def measure(
    workers: list[Worker], targets: tuple[float, ...], rounds: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The cells of one data set and C: settings first, then rounds over all contenders in turn."""
    cells = []
    for worker in workers:
        worker.wait()
    for worker in workers:
        search = Search(worker)
        for target in targets:
            cell = _searched(search, target)
            cells.append((worker, cell))
            say(f"  {cell['contender']}, {target:g}: {cell['status']}, tolerance {cell['tolerance']}")
    timed = [(worker, cell) for worker, cell in cells if cell["status"] == "reached"]
    for turn in range(rounds):
        # another one begins in each round, so that nobody always follows the same one
        begin = turn * len(timed) // max(1, rounds)
        for worker, cell in timed[begin:] + timed[:begin]:
            _time(worker, cell)
    for _, cell in timed:
        _summarize(cell)
    return [cell for _, cell in cells]


def _searched(search: Search, target: float) -> dict[str, Any]:
    """A cell with its setting, or with the reason why it has none."""
    order = search.worker.order
    cell: dict[str, Any] = {
        "data": order.data,
        "C": order.C,
        "target": target,
        "contender": order.contender,
        "reference_gap": order.reference.relative_gap,
        "cap": search.worker.cap,
        "tolerance": None,
    }
    if search.worker.skipped is not None:
        return {**cell, "status": "skipped", "reason": search.worker.skipped}
    tolerance, outcome = search.setting(target)
    if tolerance is not None:
        found = {"tolerance": tolerance, "seconds": [], "suboptimality": outcome.suboptimality}
        return {**cell, "status": "reached", **found}
    if outcome.seconds is None:
        return {**cell, "status": "cap", "reason": f"not reached within {search.worker.cap:g} s"}
    reason = outcome.stopped or "its tightest tolerance"
    found = {"seconds": [outcome.seconds], "suboptimality": outcome.suboptimality}
    return {**cell, "status": "stopped", "reason": f"stopped by {reason}", **found}


def _time(worker: Worker, cell: dict[str, Any]) -> None:
    """One more timed run of a cell; a run past the cap or short of the target is counted, not hidden."""
    outcome = worker.run(cell["tolerance"])
    if outcome.seconds is None or outcome.suboptimality > cell["target"]:
        cell["missed"] = cell.get("missed", 0) + 1
    cell["seconds"].append(worker.cap if outcome.seconds is None else outcome.seconds)


def _summarize(cell: dict[str, Any]) -> None:
    seconds = cell["seconds"]
    cell.update(median=statistics.median(seconds), least=min(seconds), most=max(seconds))
