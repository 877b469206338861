r"""The smoothed objective: its points, their duality gaps, and the schedule of the smoothing parameter mu.

.. math::
    J_\mu(w, b) = \tfrac\lambda2\|w\|^2 + R_\mu(Xw + b), \qquad \nabla_w J_\mu = \lambda w - X^T\hat\theta

The maximizer :math:`\hat\theta` in the definition of the smoothed risk (Zhang, Saha and Vishwanathan, JMLR 13, 2012) is
feasible for the dual of the *unsmoothed* problem, with the duality gap

.. math:: \underbrace{R(s) + R^*(-\hat\theta) + \hat\theta\cdot s}_{\text{excess}\;\le\;\mu D} +
          \underbrace{\|\lambda w - X^T\hat\theta\|^2/(2\lambda)}_{\text{distance}}

(and :math:`\sum\hat\theta = 0` when b is free).  A smaller mu reduces the excess and worsens the conditioning of the
objective, so mu decreases only when the excess dominates the gap and is too large for the target gap.  The paper keeps
:math:`\mu = c_\mu\varepsilon/D` throughout (Sec. 5.4): the option ``fixed``.  Its D is n/2 for PRBEP in its units,
which is 1/2 here: ``prox_bound=0.5``.  The D here is :math:`\min(n_+, n_-)/n`, so that at equal :math:`c_\mu` a fixed
mu is larger by half of the inverse, 2.1 times on a9a and 16.8 times on w8a.

=====================  ==========================================================
symbol                 here
=====================  ==========================================================
:math:`\hat\theta`     ``point.at.theta``
:math:`X^T\hat\theta`  ``point.x_theta``
D                      ``risk.smoothing_range``
=====================  ==========================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.problem import Model, Problem, Witness
from fenchel.risks.smoothing import Smoothed
from fenchel.solvers import needs
from fenchel.solvers.base import Hint, Need, Solver, Warm, with_present_intercept
from fenchel.solvers.smoothing.measures import Evaluate, evaluator
from fenchel.solvers.smoothing.spaces import Features, space_for
from fenchel.solvers.threads import Parts, in_parts
from fenchel.validation import check_bool, check_number, processors

#: mu D of the first mu, relative to R(0)
_FIRST_RANGE = 0.5
#: mu decreases when the distance is below this share of the excess
_DISTANCE_SHARE = 0.5
#: and when the excess is above this share of the target gap; the next mu aims at this excess
_EXCESS_SHARE = 0.5
#: smallest and largest factor of mu
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.2, 0.5
#: a fixed mu has converged when the distance is below this share of the excess
_FIXED_TOLERANCE = 1e-3
#: largest number of decreases of mu at a warm start
_MAX_WARM_DECREASES = 12


@dataclass
class Point:
    """Weights (represented as in ``spaces``), intercepts and scores, the smoothed risk there, and X^T theta."""

    weights: Floats
    #: one per output; zero if it is not free
    intercept: Floats
    scores: Floats
    at: Smoothed
    x_theta: Floats


@dataclass(frozen=True)
class SmoothedObjective:
    """The smoothed objective of a problem for one mu."""

    problem: Problem
    mu: float
    space: Features
    #: the smoothed risk as a function of scores and mu, see ``measures``
    evaluate: Evaluate
    parts: Parts

    def point(self, weights: Array, intercept: Array) -> Point:
        """Return the point of these weights: one product with X and one with its transpose."""
        scores = self.space.scores(weights)
        scores += intercept
        return self.from_scores(weights, intercept, scores)

    def from_scores(self, weights: Array, intercept: Array, scores: Array, at: Smoothed | None = None) -> Point:
        """Return the point of weights whose scores, and perhaps smoothed risk, are known: one product with X^T."""
        at = at or self.evaluate(scores, self.mu)
        return Point(weights, intercept, scores, at, self.space.adjoint(at.theta))

    def with_mu(self, mu: float, point: Point) -> tuple[SmoothedObjective, Point]:
        """Return the objective for another mu, and its point at the same scores: one product with X^T."""
        objective = replace(self, mu=mu)
        return objective, objective.from_scores(point.weights, point.intercept, point.scores)

    def value(self, point: Point) -> float:
        """Return J_mu."""
        return self._penalty(point) + point.at.value

    def unsmoothed(self, point: Point) -> float:
        """Return the unsmoothed objective."""
        return self._penalty(point) + point.at.risk

    def distance(self, point: Point) -> float:
        """Return |lam w - X^T theta|^2 / (2 lam)."""
        gradient = self.problem.lam * point.weights - point.x_theta
        return max(0.0, self.space.dot(gradient, gradient)) / (2.0 * self.problem.lam)

    def gap(self, point: Point) -> float:
        """Return the duality gap; with a free intercept an estimate, as theta need not sum to zero."""
        balance_cost = 0.0
        if self.problem.intercept:
            balance_cost = float(np.sum(np.abs(np.sum(point.at.theta, axis=0)) * (1.0 + np.abs(point.intercept))))
        return point.at.excess + self.distance(point) + balance_cost

    def next_mu(self, point: Point, hint: Hint, fixed: bool) -> float:
        """Return a smaller mu if the excess dominates the gap and is too large for the target, else mu."""
        excess, aim = point.at.excess, _EXCESS_SHARE * hint.target_gap
        if fixed or self.mu == 0.0 or excess <= aim or self.distance(point) > _DISTANCE_SHARE * excess:
            return self.mu
        return self.mu * min(max(aim / excess, _SMALLEST_FACTOR), _LARGEST_FACTOR)

    def has_converged(self, point: Point, fixed: bool) -> bool:
        """Return whether the gap is rounding error or, with a fixed mu, almost all of it is due to smoothing."""
        is_rounding = self.gap(point) <= OBJECTIVE_ROUNDING * self.unsmoothed(point)
        return is_rounding or (fixed and self.distance(point) <= _FIXED_TOLERANCE * point.at.excess)

    def _penalty(self, point: Point) -> float:
        return 0.5 * self.problem.lam * self.space.dot(point.weights, point.weights)


@dataclass
class SmoothedState:
    """State of a method on a smoothed objective."""

    objective: SmoothedObjective
    point: Point


@dataclass(frozen=True)
class SmoothedSolver(Solver):
    """Base class of the solvers on smoothed objectives: options, start, gap estimates and proposals."""

    #: whether mu = c_mu epsilon / D throughout, as in the paper
    fixed: bool = False
    epsilon: float = 1e-3
    c_mu: float = 10.0
    #: threads for the products with X and for sorting; None uses that of ``solve``
    n_jobs: int | None = None
    #: D of a fixed mu; None is the least one, ``risk.smoothing_range``
    prox_bound: float | None = None

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, above=0.0)
        check_number("c_mu", self.c_mu, above=0.0)
        check_bool("fixed", self.fixed)
        check_number("prox_bound", self.prox_bound, above=0.0, optional=True)
        processors(self.n_jobs)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(
                lambda problem: problem.risk.smoothable() is not None,
                lambda problem: f"requires a risk with a smoothing, which {problem.risk.name!r} does not have",
            ),
            needs.NO_OVERFLOW,
            Need(
                lambda problem: problem.risk.smooth or math.isfinite(problem.smoothable_risk.smoothing_range),
                "requires a smooth loss or one with bounded slopes",
            ),
            needs.RIDGE,
        )

    def expected_gap(self, state: SmoothedState) -> float:
        return state.objective.gap(state.point)

    def expected_objective(self, state: SmoothedState) -> float:
        return state.objective.unsmoothed(state.point)

    def propose(self, state: SmoothedState) -> tuple[Model, Witness]:
        """Return copies of the weights and of the maximizer."""
        objective, point = state.objective, state.point
        intercept = None if objective.problem.intercept else objective.problem.no_intercept()
        bound = point.at.conjugate(point.scores) if objective.problem.risk.closed_form() is None else None
        decomposition = None if point.at.decompose is None else point.at.decompose()
        model = Model(objective.space.weights(point.weights), intercept)
        return model, Witness(point.at.theta.copy(), bound, decomposition)

    def propose_after_stop(self, state: SmoothedState) -> tuple[Model, Witness]:
        model, witness = self.propose(state)
        return with_present_intercept(state.objective.problem, model, state.point.intercept), witness

    def first_mu(self, problem: Problem) -> float:
        """Return zero for smooth risks, the fixed mu, or the mu with mu D = R(0) / 2."""
        if problem.risk.smooth:
            return 0.0
        if self.fixed:
            return self.c_mu * self.epsilon / (self.prox_bound or problem.smoothable_risk.smoothing_range)
        return _FIRST_RANGE * problem.risk.value_at_zero / problem.smoothable_risk.smoothing_range

    def start_state(self, problem: Problem, warm: Warm | None) -> SmoothedState:
        """Return the objective and the point of the warm start, or of zero weights with the best intercept."""
        needs.check_scale(problem)
        problem, parts = in_parts(problem, self.n_jobs)
        evaluate = evaluator(problem.risk, parts.pool)
        objective = SmoothedObjective(problem, self.first_mu(problem), space_for(problem), evaluate, parts)
        weights, intercept = objective.space.start(problem, warm), np.zeros(problem.theta_shape[1:])
        scores = objective.space.scores(weights) if np.any(weights) else np.zeros(problem.theta_shape)
        if problem.intercept:
            known = warm.model.intercept if warm is not None and problem.fits(warm.model) else None
            intercept = np.array(problem.best_intercept(scores) if known is None else known, dtype=np.float64)
        scores += intercept
        point = objective.from_scores(weights, intercept, scores)
        if not self.fixed and np.any(scores):
            objective, point = _best_mu(objective, point)
        return SmoothedState(objective, point)


def _best_mu(objective: SmoothedObjective, point: Point) -> tuple[SmoothedObjective, Point]:
    """Decrease mu as long as the gap of the warm start decreases."""
    for _ in range(_MAX_WARM_DECREASES if objective.mu > 0.0 else 0):
        smaller, found = objective.with_mu(_SMALLEST_FACTOR * objective.mu, point)
        if not smaller.gap(found) < objective.gap(point):
            break
        objective, point = smaller, found
    return objective, point
