"""A contender as a benchopt solver: each run solves from scratch to the next of a decreasing row of tolerances."""

from __future__ import annotations

from typing import Any

from benchopt import BaseSolver

from benchmarks.speed.contenders import Contender
from benchmarks.speed.registry import CONTENDERS
from benchmarks.speed.tasks import Task

#: the factor from each tolerance to the next, smaller one
_STEP = 10**0.5
_TIGHTEST = 1e-12


class TolerantSolver(BaseSolver):
    """Subclasses name their contenders as the parameter ``contender``."""

    sampling_strategy = "tolerance"

    @property
    def _class(self) -> type[Contender]:
        return CONTENDERS[self.contender]

    def skip(self, task: Task) -> tuple[bool, str | None]:
        reason = self._class().reason_to_skip(task)
        return reason is not None, reason

    def set_objective(self, task: Task) -> None:
        self._contender = self._class()
        self._contender.prepare(task)

    def warm_up(self) -> None:
        self._contender.warm_up()

    def get_next(self, stop_val: float) -> float:
        return max(_TIGHTEST, min(stop_val / _STEP, self._class.loosest))

    def run(self, tolerance: float) -> None:
        self._contender.run(min(tolerance, self._class.loosest))

    def get_result(self) -> dict[str, Any]:
        return {"weights": self._contender.weights, "intercept": self._contender.intercept}
