r"""What methods on a smoothed objective share: a point, what it proves, and when mu gets smaller.

.. math::
    J_\mu(w, b) = \tfrac\lambda2\|w\|^2 + R_\mu(Xw + b), \qquad \nabla_w J_\mu = \lambda w - X^T\hat\theta

The maximizer :math:`\hat\theta` behind the smoothed risk certifies the *unsmoothed* problem, with the gap

.. math:: \underbrace{R(s) + R^*(-\hat\theta) + \hat\theta\cdot s}_{\text{excess}\;\le\;\mu D} +
          \underbrace{\|\lambda w - X^T\hat\theta\|^2/(2\lambda)}_{\text{distance}}

(and :math:`\sum\hat\theta = 0` when b is free).  Smaller mu makes the first part smaller and the objective harder, so
mu shrinks only when the first part dominates and is too large for the gap that is asked for.  The paper keeps
:math:`\mu = c_\mu\varepsilon/D` throughout (Zhang, Saha and Vishwanathan 2012, Sec. 5.4): the option ``fixed``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.risks.smoothing import Smoothed
from fenchel.solvers import needs
from fenchel.solvers.base import Hint, Need, Solver, Warm
from fenchel.solvers.smoothing.measures import Evaluate, evaluator
from fenchel.solvers.smoothing.spaces import Features, space_for
from fenchel.solvers.threads import Parts, in_parts
from fenchel.validation import check_bool, check_number, processors

#: the first mu makes mu D this share of R(0)
_FIRST = 0.5
#: mu shrinks when the distance is less than this share of the excess
_DOMINATED = 0.5
#: and the excess more than this share of the gap that is asked for, which is what the next one aims at
_ROOM = 0.5
#: by this factor at most, and at least
_FASTEST, _SLOWEST = 0.2, 0.5
#: with a fixed mu nothing is left to win when the distance is less than this share of the excess
_DONE = 1e-3
#: how often mu may shrink at once for a warm start
_WARM_MUS = 12
#: a gap of this share of the objective is rounding
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
#: curvatures beyond this leave no bits for the weights
_STEEPEST = 1e100


@dataclass
class Point:
    """Weights and intercepts with their scores, the smoothed risk there, and X^T theta; see ``spaces``."""

    weights: NDArray[np.float64]
    #: one for each output, zero if it is not free
    intercept: NDArray[np.float64]
    scores: NDArray[np.float64]
    at: Smoothed
    pull: NDArray[np.float64]


@dataclass(frozen=True)
class SmoothedObjective:
    """The objective of a problem with a mu of its own."""

    problem: Problem
    mu: float
    space: Features
    #: the smoothed risk at some scores, see ``measure_values``
    evaluate: Evaluate
    parts: Parts

    def point(self, weights: NDArray, intercept: NDArray) -> Point:
        """Everything at some weights: one pair of products with X."""
        scores = self.space.scores(weights)
        scores += intercept
        return self.from_scores(weights, intercept, scores)

    def from_scores(self, weights: NDArray, intercept: NDArray, scores: NDArray, at: Smoothed | None = None) -> Point:
        """The same where the scores are known already, and the risk if it is: one product."""
        at = at or self.evaluate(scores, self.mu)
        return Point(weights, intercept, scores, at, self.space.pulled(at.theta))

    def value(self, point: Point) -> float:
        """J_mu."""
        return self._penalty(point) + point.at.value

    def unsmoothed(self, point: Point) -> float:
        """The objective of the problem itself."""
        return self._penalty(point) + point.at.risk

    def distance(self, point: Point) -> float:
        """|lam w - X^T theta|^2 / (2 lam)."""
        apart = self.problem.lam * point.weights - point.pull
        return max(0.0, self.space.dot(apart, apart)) / (2.0 * self.problem.lam)

    def gap(self, point: Point) -> float:
        """What the point and its maximizer are expected to prove, roughly with a free intercept."""
        left = 0.0
        if self.problem.intercept:
            left = float(np.sum(np.abs(np.sum(point.at.theta, axis=0)) * (1.0 + np.abs(point.intercept))))
        return point.at.excess + self.distance(point) + left

    def is_rounding(self, point: Point) -> bool:
        """Whether the gap can't be told from rounding."""
        return self.gap(point) <= _ROUNDING * self.unsmoothed(point)

    def next_mu(self, point: Point, hint: Hint, fixed: bool) -> float:
        """A smaller mu if that is due."""
        excess, target = point.at.excess, hint.target_gap
        if fixed or self.mu == 0.0 or excess <= _ROOM * target or self.distance(point) > _DOMINATED * excess:
            return self.mu
        return self.mu * min(max(_ROOM * target / excess, _FASTEST), _SLOWEST)

    def is_done(self, point: Point, fixed: bool) -> bool:
        """Whether nothing is left to win: up to rounding, or up to what a fixed mu leaves."""
        return self.is_rounding(point) or (fixed and self.distance(point) <= _DONE * point.at.excess)

    def _penalty(self, point: Point) -> float:
        return 0.5 * self.problem.lam * self.space.dot(point.weights, point.weights)


@dataclass
class Standing:
    """Where a method stands."""

    objective: SmoothedObjective
    point: Point


@dataclass(frozen=True)
class SmoothedSolver(Solver):
    """What the solvers on smoothed objectives have in common: options, the start, and what they tell."""

    #: keep mu = c_mu epsilon / D, as the paper does
    fixed: bool = False
    epsilon: float = 1e-3
    c_mu: float = 10.0
    #: threads for the products with X and the sorts; None takes that of ``solve``
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, above=0.0)
        check_number("c_mu", self.c_mu, above=0.0)
        check_bool("fixed", self.fixed)
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

    def expected_gap(self, state: Standing) -> float:
        return state.objective.gap(state.point)

    def expected_objective(self, state: Standing) -> float:
        return state.objective.unsmoothed(state.point)

    def propose(self, state: Standing) -> tuple[Model, Witness]:
        """Copies of the present weights and of the maximizer."""
        objective, point = state.objective, state.point
        intercept = None if objective.problem.intercept else objective.problem.no_intercept()
        bound = point.at.conjugate(point.scores) if objective.problem.risk.closed_form() is None else None
        return Model(objective.space.weights(point.weights), intercept), Witness(point.at.theta.copy(), bound)

    def first_mu(self, problem: Problem) -> float:
        """None for smooth risks; the fixed one, or one that leaves about half of R(0)."""
        if problem.risk.smooth:
            return 0.0
        share = self.c_mu * self.epsilon if self.fixed else _FIRST * problem.risk.value_at_zero
        return share / problem.smoothable_risk.smoothing_range

    def beginning(self, problem: Problem, warm: Warm | None) -> Standing:
        """The objective and a point on it: that of a warm start, or zero with the best intercept for it."""
        design, lam = problem.design, problem.lam
        if not (np.isfinite(design.largest_row_norm) and np.isfinite(design.mean_square)):
            raise FenchelError("X holds NaN or infinity, or its norms overflow: repair or scale X")
        if not design.mean_square / lam < _STEEPEST:
            raise FenchelError(f"lam={lam:.3g} is too small for the size of X: scale X, or raise lam (a smaller C)")
        problem, parts = in_parts(problem, self.n_jobs)
        evaluate = evaluator(problem, parts.pool)
        objective = SmoothedObjective(problem, self.first_mu(problem), space_for(problem), evaluate, parts)
        weights, intercept = objective.space.start(problem, warm), np.zeros(problem.theta_shape[1:])
        scores = objective.space.scores(weights) if np.any(weights) else np.zeros(problem.theta_shape)
        if problem.intercept:
            known = warm.model.intercept if warm is not None and problem.fits(warm.model) else None
            intercept = np.array(problem.best_intercept(scores) if known is None else known, dtype=np.float64)
        scores += intercept
        point = objective.from_scores(weights, intercept, scores)
        if not self.fixed and np.any(scores):
            objective, point = _nearest(objective, point)
        return Standing(objective, point)


def _nearest(objective: SmoothedObjective, point: Point) -> tuple[SmoothedObjective, Point]:
    """The mu with which a warm start proves most: it need not begin with a large one."""
    for _ in range(_WARM_MUS if objective.mu > 0.0 else 0):
        smaller = replace(objective, mu=_FASTEST * objective.mu)
        found = smaller.from_scores(point.weights, point.intercept, point.scores)
        if not smaller.gap(found) < objective.gap(point):
            break
        objective, point = smaller, found
    return objective, point
