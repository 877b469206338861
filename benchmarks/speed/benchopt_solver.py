"""A contender as a benchopt solver: each run solves from scratch to the next of a decreasing row of tolerances."""

from __future__ import annotations

from typing import Any, ClassVar

from benchopt import BaseSolver

from benchmarks.speed.contenders import Contender, Task

#: each tolerance is so many times smaller than the one before
_STEP = 10**0.5
_TIGHTEST = 1e-12


class TolerantSolver(BaseSolver):
    """Subclasses name their contender."""

    sampling_strategy = "tolerance"
    contender_class: ClassVar[type[Contender]]

    def skip(self, task: Task) -> tuple[bool, str | None]:
        reason = self.contender_class().reason_to_skip(task)
        return reason is not None, reason

    def set_objective(self, task: Task) -> None:
        self.contender = self.contender_class()
        self.contender.prepare(task)

    def warm_up(self) -> None:
        self.contender.warm_up()

    def get_next(self, stop_val: float) -> float:
        return max(_TIGHTEST, min(stop_val / _STEP, self.contender_class.loosest))

    def run(self, tolerance: float) -> None:
        self.contender.run(min(tolerance, self.contender_class.loosest))

    def get_result(self) -> dict[str, Any]:
        return {"weights": self.contender.weights, "intercept": self.contender.intercept}
