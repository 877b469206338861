r"""L-BFGS on groups of rows: one evaluation of the risk and its gradient is one task a group.

Solves :math:`\min_{w,b} J(w, b) = \tfrac\lambda2\|w\|^2 + R(Xw + b)` for smooth risks that are sums over examples.  One
task a group gets (w, b) and returns the group's terms of

.. math:: R(Xw + b), \qquad X^T\theta, \qquad \textstyle\sum\theta, \qquad \theta = -\nabla R,

so that d numbers travel each way, and never n.  The tasks keep no state: one that was lost with its worker is run
again.  The method is that of Nocedal and Wright (Numerical Optimization, 2nd ed., 2006, Sec. 7.2 with the line search
of Sec. 3.1), and its evaluations the ones that Teo, Vishwanathan, Smola and Le (Bundle methods for regularized risk
minimization, JMLR 11, 2010, Sec. 5.2) distribute.  :math:`\theta` is dual feasible, with the duality gap
:math:`\|\lambda w - X^T\theta\|^2/(2\lambda)` for a b with :math:`\sum\theta = 0`.

=====================  ==========================================================
symbol                 here
=====================  ==========================================================
w, b                   ``point.weights``, ``point.intercept``
:math:`X^T\theta`      ``point.x_theta``
:math:`\sum\theta`     ``point.balance``
=====================  ==========================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.dask import shard as on_shard
from fenchel.dask.design import ShardedDesign, sharded
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.line_search import wolfe_step
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm, with_present_intercept
from fenchel.solvers.smoothing.lbfgs import Pairs
from fenchel.validation import check_integer

#: the method stalls after this many steps without a smaller objective
_MAX_STEPS_WITHOUT_PROGRESS = 10

SHARDED = Need(lambda problem: sharded(problem) is not None, "requires rows on workers: use fenchel.dask")


@dataclass
class Point:
    """Weights and intercepts with the risk, X^T theta and sum theta there."""

    weights: Floats
    intercept: Floats
    risk: float
    x_theta: Floats
    balance: Floats


@dataclass
class Objective:
    """J, evaluated on the groups of a design."""

    problem: Problem
    design: ShardedDesign
    #: the term of the risk of each group, held on its worker
    parts: Sequence[Any]

    @classmethod
    def of(cls, problem: Problem) -> Objective:
        """Return the objective of a problem, its labels and weights on the workers."""
        design = sharded(problem)
        assert design is not None
        parts = design.groups.place(on_shard.beside, [problem.risk.part(span) for span in design.spans])
        return cls(problem, design, parts)

    def point(self, weights: Array, intercept: Array) -> Point:
        """Return the point of these weights: one broadcast and one ordered sum."""
        terms = self.design.groups.map(on_shard.evaluate, self.parts, weights=weights, intercept=intercept)
        x_theta = self.design.ordered_sum([term.x_theta for term in terms])
        balance = self.design.ordered_sum([term.balance for term in terms])
        return Point(weights, intercept, math.fsum(term.value for term in terms), x_theta, balance)

    def moved(self, point: Point, change: Array) -> Point:
        """Return the point at some distance in w and, if it is free, b."""
        size, intercept = point.weights.size, point.intercept
        weights = point.weights + change[:size].reshape(point.weights.shape)
        if self.problem.intercept:
            intercept = intercept + change[size:].reshape(intercept.shape)
        return self.point(weights, intercept)

    def value(self, point: Point) -> float:
        """Return J."""
        return 0.5 * self.problem.lam * float(np.vdot(point.weights, point.weights)) + point.risk

    def gradient(self, point: Point) -> Floats:
        """Return the gradient of J in w and, if it is free, b."""
        gradient = (self.problem.lam * point.weights - point.x_theta).ravel()
        return np.append(gradient, -point.balance) if self.problem.intercept else gradient

    def gap(self, point: Point) -> float:
        """Return the duality gap; with a free intercept an estimate, as theta need not sum to zero."""
        residual = self.problem.lam * point.weights - point.x_theta
        cost = float(np.sum(np.abs(point.balance) * (1.0 + np.abs(point.intercept)))) if self.problem.intercept else 0.0
        return float(np.vdot(residual, residual)) / (2.0 * self.problem.lam) + cost


@dataclass
class State:
    """State of the method."""

    objective: Objective
    point: Point
    pairs: Pairs
    steps_without_progress: int = 0
    stalled: bool = field(default=False)


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS for smooth sums of losses whose rows lie on workers.

    Each evaluation sends the weights to the workers and adds up their gradients: d numbers each way for each group of
    partitions.  Requires ridge (L2).

    Parameters
    ----------
    memory : int, default=20
        The number of pairs of L-BFGS.

    See Also
    --------
    CoCoA : Losses with kinks.
    fenchel.solvers.Smoothing : L-BFGS with rows in memory, also for measures.

    References
    ----------
    .. [1] C. H. Teo, S. V. N. Vishwanathan, A. J. Smola and Q. V. Le. "Bundle methods for regularized risk
           minimization." JMLR 11, 2010.

    Examples
    --------
    >>> from fenchel.dask import LBFGS
    >>> LBFGS(memory=10).name
    'lbfgs'
    """

    memory: int = 20
    name: ClassVar[str] = "lbfgs"

    def __post_init__(self) -> None:
        check_integer("memory", self.memory, least=1)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            SHARDED,
            Need(lambda problem: problem.risk.smooth, "requires a smooth risk; use cocoa, smoothing or bundle"),
            Need(lambda problem: problem.risk.part(slice(0, 1)) is not None, "requires a risk that sums over examples"),
            needs.NO_OVERFLOW,
            needs.RIDGE,
        )

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
        return State(objective, objective.point(weights, intercept), Pairs(self.memory))

    def step(self, state: State, hint: Hint) -> float:
        objective, point = state.objective, state.point
        before = objective.value(point)
        if state.stalled or objective.gap(point) <= OBJECTIVE_ROUNDING * abs(before):
            return STALLED
        gradient = objective.gradient(point)
        direction = -state.pairs.times(gradient, _dot, None)
        evaluations = 0

        def at_step(length: float) -> tuple[float, float, Point]:
            nonlocal evaluations
            evaluations += 1
            there = objective.moved(point, length * direction)
            return _dot(objective.gradient(there), direction), objective.value(there) - before, there

        derivative = _dot(gradient, direction)
        found = wolfe_step(at_step, derivative, self._first_length(state, direction)) if derivative < 0.0 else None
        if found is None:
            # not a descent direction: reset L-BFGS; stall if repeated
            state.stalled = not len(state.pairs)
            state.pairs.stored.clear()
            return float(max(1, evaluations))
        length, state.point = found
        state.pairs.append(length * direction, objective.gradient(state.point) - gradient, _dot)
        progress = objective.value(state.point) < before - OBJECTIVE_ROUNDING * abs(before)
        state.steps_without_progress = 0 if progress else state.steps_without_progress + 1
        state.stalled = state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS
        return float(evaluations)

    def _first_length(self, state: State, direction: Array) -> float:
        """Return 1; without pairs the length that moves no score by more than one margin."""
        if len(state.pairs):
            return 1.0
        size = state.point.weights.size
        norms = np.linalg.norm(direction[:size]) * state.objective.design.largest_row_norm
        return 1.0 / float((norms + np.max(np.abs(direction[size:]), initial=0.0)) or 1.0)

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


def _dot(first: Array, second: Array) -> float:
    return float(np.dot(first, second))
