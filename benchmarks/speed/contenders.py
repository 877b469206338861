"""What a contender is, and Fenchel itself; the peers are in peers.py, those beside in extras.py, all in registry.py.

The classes are used by the benchopt solvers, by the table, and by the benchmarks of growth and of the path.  Each run
solves from scratch to the contender's own tolerance.  What is timed is ``run`` alone:

==================  ===========================================================================================
contender           inside the timed region
==================  ===========================================================================================
Fenchel             building the Problem (index checks), solving, and every certificate: solving to a tolerance
                    includes proving it
LIBLINEAR           the C function ``train``; the matrix is converted to its own format before
scikit-learn        ``fit``: input checks, conversion to LIBLINEAR's format where it is LIBLINEAR, solving
rehline             ``ReHLine_solver``: input checks, solving; its loss parameters are built before
skglm               hinge: ``LinearSVC.fit``; logistic: ``LBFGS.solve`` on a matrix that is converted to CSC before
snapml              ``fit``
==================  ===========================================================================================

Seeds are fixed, so the same tolerance gives the same weights in every run.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from benchmarks.speed.tasks import LOSSES, Task, fenchel_problem

#: stands for "no limit" where a contender wants a number of passes
MANY_PASSES = 10_000_000
#: a penalized intercept is another problem, which the objective would hold against it
_PENALIZED = "its intercept is regularized, so it solves another problem"


class Contender:
    """Prepared once for a task, then run to one tolerance after the other."""

    name: ClassVar[str]
    #: the losses that it can take
    losses: ClassVar[tuple[str, ...]]
    #: the module that must be installed
    module: ClassVar[str]
    #: the tolerance that a search begins with
    loosest: ClassVar[float] = 1.0
    #: whether it is one of the peers that "the fastest peer" is taken from
    counted: ClassVar[bool] = True
    weights: np.ndarray
    intercept: float = 0.0
    #: why it stopped by itself before its tolerance, if it did
    stopped: str | None = None

    def reason_to_skip(self, task: Task) -> str | None:
        """None, or why it does not take part."""
        if task.loss not in self.losses:
            return "it does not have this loss"
        if find_spec(self.module) is None:
            return f"{self.module} is not installed"
        return _PENALIZED if task.intercept else None

    def prepare(self, task: Task) -> None:
        """Whatever is not timed."""
        self.task = task

    def move_to(self, C: float) -> None:
        """Go on with another C; not timed."""
        self.task = replace(self.task, C=C)

    def warm_up(self) -> None:
        """Compile what must be compiled."""

    def run(self, tolerance: float) -> None:
        """Solve from scratch; this is what is timed."""
        raise NotImplementedError

    @classmethod
    def fixed_tolerance(cls, target: float) -> float | None:
        """The tolerance for a target if there is nothing to search for."""
        return None


class Fenchel(Contender):
    """``fenchel.solve`` with the solver "auto"; the tolerance is the proved relative duality gap."""

    name = "Fenchel"
    losses = tuple(LOSSES)
    module = "fenchel"
    counted = False

    def reason_to_skip(self, task: Task) -> str | None:
        return None

    def warm_up(self) -> None:
        # a loose solve to its end: "auto" may choose a method that has more than one compiled part
        self._solve(tolerance=0.5, max_iter=100)

    def run(self, tolerance: float) -> None:
        self._solve(tolerance, MANY_PASSES)

    def _solve(self, tolerance: float, max_iter: int) -> None:
        from fenchel import solve

        solution = solve(fenchel_problem(self.task), "auto", tol=tolerance, max_iter=max_iter, seed=0)
        self.weights, self.intercept = solution.model.weights, float(solution.model.intercept)
        self.stopped = None if solution.converged or max_iter < MANY_PASSES else solution.status.value


class FenchelIntercept(Fenchel):
    """The same with a free intercept; it is judged on the objective with intercept."""

    name = "Fenchel, intercept"


class FenchelProved(Fenchel):
    """The same at the tolerance that was asked for: a user who does not know the optimum gets this."""

    name = "Fenchel, proved"

    @classmethod
    def fixed_tolerance(cls, target: float) -> float | None:
        return target
