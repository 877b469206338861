"""Descent on a smooth objective on groups of rows: a direction, and a step along it that satisfies Wolfe's conditions.

Nocedal and Wright, Numerical Optimization (2nd ed., 2006), Sec. 3.1; each evaluation is one task a group
(``objective``).  Solvers differ in their directions.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.dask.design import sharded
from fenchel.dask.objective import Objective, Point
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.line_search import wolfe_step
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm, with_present_intercept

#: the method stalls after this many steps without a smaller objective
_MAX_STEPS_WITHOUT_PROGRESS = 10

SHARDED = Need(lambda problem: sharded(problem) is not None, "requires rows on workers: use fenchel.dask")


@dataclass
class State:
    """The present point, and what a solver keeps beside it."""

    objective: Objective
    point: Point
    #: of the solver
    own: Any
    steps_without_progress: int = 0
    stalled: bool = field(default=False)


class Direction(NamedTuple):
    """A direction in w and, if it is free, b; the first length to try; and the passes over the data that it took."""

    vector: Floats
    length: float
    passes: float = 0.0


@dataclass(frozen=True)
class Descent(Solver):
    """Base class of descent methods for smooth sums of losses whose rows lie on workers; requires ridge (L2)."""

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            SHARDED,
            Need(lambda problem: problem.risk.smooth, "requires a smooth risk; use cocoa, smoothing or bundle"),
            Need(lambda problem: problem.risk.part(slice(0, 1)) is not None, "requires a risk that sums over examples"),
            needs.NO_OVERFLOW,
            needs.RIDGE,
        )

    @abc.abstractmethod
    def memory_at_start(self) -> Any:
        """What the solver keeps between steps."""

    @abc.abstractmethod
    def direction(self, state: State, gradient: Array, hint: Hint) -> Direction:
        """Return a direction of descent."""

    def after(self, state: State, change: Array, gradient_change: Array) -> None:
        """Take notice of a step."""

    def can_reset(self, state: State) -> bool:
        """Forget what led to a direction along which the objective does not decrease; whether there was anything."""
        return False

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        objective, shape = Objective.of(problem), problem.theta_shape[1:]
        weights, intercept = np.zeros(problem.weights_shape), np.zeros(shape)
        fits = warm is not None and problem.fits(warm.model)
        if warm is not None and fits:
            weights = np.array(warm.model.weights, dtype=np.float64)
        if problem.intercept:
            known = warm.model.intercept if warm is not None and fits else problem.risk.constant_intercept
            known = problem.best_intercept(problem.design.scores(weights)) if known is None else known
            intercept = np.array(known, dtype=np.float64)
        return State(objective, objective.point(weights, intercept), self.memory_at_start())

    def step(self, state: State, hint: Hint) -> float:
        objective, point = state.objective, state.point
        before = objective.value(point)
        if state.stalled or objective.gap(point) <= OBJECTIVE_ROUNDING * abs(before):
            return STALLED
        gradient = objective.gradient(point)
        direction, first, passes = self.direction(state, gradient, hint)
        evaluations = 0

        def at_step(length: float) -> tuple[float, float, Point]:
            nonlocal evaluations
            evaluations += 1
            there = objective.moved(point, length * direction)
            return dot(objective.gradient(there), direction), objective.value(there) - before, there

        derivative = dot(gradient, direction)
        found = wolfe_step(at_step, derivative, first) if derivative < 0.0 else None
        if found is None:
            # not a descent direction: reset; stall if repeated
            state.stalled = not self.can_reset(state)
            return passes + max(1, evaluations)
        length, state.point = found
        self.after(state, length * direction, objective.gradient(state.point) - gradient)
        progress = objective.value(state.point) < before - OBJECTIVE_ROUNDING * abs(before)
        state.steps_without_progress = 0 if progress else state.steps_without_progress + 1
        state.stalled = state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS
        return passes + evaluations

    def expected_gap(self, state: State) -> float:
        return state.objective.gap(state.point)

    def expected_objective(self, state: State) -> float:
        return state.objective.value(state.point)

    def propose(self, state: State) -> tuple[Model, Witness]:
        """Return copies of the weights and of theta, the only n numbers that leave the workers."""
        problem, point = state.objective.problem, state.point
        scores = problem.design.scores(point.weights) + point.intercept
        model = with_present_intercept(problem, Model(point.weights.copy(), problem.no_intercept()), point.intercept)
        return model, Witness(-problem.risk.subgradient(scores))


def dot(first: Array, second: Array) -> float:
    """The inner product of two vectors."""
    return float(np.dot(first, second))
