"""Barriers, state, Newton direction and line search of ``constrained.barrier``, which has the formulas.

``theta``, ``labels`` and the derivatives of a barrier have one entry per constraint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Floats
from fenchel.numerics.line_search import line_search
from fenchel.problem import Problem
from fenchel.regularizers import Regularizer
from fenchel.regularizers.base import DiagonalPlusRankOne
from fenchel.solvers.constrained.barrier_system import System
from fenchel.solvers.farkas import INFEASIBLE_BOUND

#: relative size of the derivative at which the line search ends
_LINE_SEARCH_TOLERANCE = 0.3
#: largest growth of the step per evaluation, and the factor of a first step that is too long
_STEP_GROWTH, _STEP_SHRINKAGE = 10.0, 0.1


class Tube:
    """|s - y| <= tolerance."""

    #: whether theta has the sign of its label, and e' > 0
    signed = False

    def __init__(self, labels: Floats, tolerance: float) -> None:
        self.labels, self.tolerance = labels, tolerance

    def derivative(self, theta: Floats, mu: float) -> Floats:
        """Return e."""
        t = self.tolerance
        return -self.labels + t * (t * theta) / (mu + np.hypot(mu, t * theta))

    def hess(self, theta: Floats, mu: float) -> Floats:
        """Return e'."""
        root = np.hypot(mu, self.tolerance * theta)
        return self.tolerance * (self.tolerance / root) * (mu / (mu + root))

    def negative_conjugate(self, theta: Floats) -> float:
        """Return -R*(-theta)."""
        return float(theta @ self.labels) - self.tolerance * float(np.sum(np.abs(theta)))


class Margin:
    """y s >= 1."""

    signed = True

    def __init__(self, labels: Floats) -> None:
        self.labels = labels

    def derivative(self, theta: Floats, mu: float) -> Floats:
        """Return e; NaN where theta has the wrong sign, which is outside of the domain."""
        beta = self.labels * theta
        return np.where(beta > 0.0, -self.labels - mu / theta, np.nan)

    def hess(self, theta: Floats, mu: float) -> Floats:
        """Return e'."""
        return mu / theta / theta

    def negative_conjugate(self, theta: Floats) -> float:
        """Return -R*(-theta)."""
        return float(theta @ self.labels)


class Logarithm:
    """The loss -c ln(y s), which is its own barrier: mu is not used."""

    signed = True

    def __init__(self, labels: Floats, shares: Floats) -> None:
        self.labels, self.shares = labels, shares

    def derivative(self, theta: Floats, mu: float) -> Floats:
        """Return e; NaN where theta has the wrong sign."""
        return np.where(self.labels * theta > 0.0, -self.shares / theta, np.nan)

    def hess(self, theta: Floats, mu: float) -> Floats:
        """Return e'."""
        return self.shares / theta / theta

    def negative_conjugate(self, theta: Floats) -> float:
        """Return -R*(-theta)."""
        beta = self.labels * theta
        if not np.all(beta > 0.0):
            return -math.inf
        return float(self.shares @ (1.0 + np.log(beta / self.shares)))


class BallBarrier(NamedTuple):
    r"""The conjugate :math:`-\rho\sum\ln(1 - v_j^2)`, which keeps v strictly inside the dual ball of the lasso."""

    ratio: float

    def grad_conjugate(self, v: Floats) -> Floats:
        """Return 2 rho v / (1 - v^2); NaN outside of the ball."""
        return np.where(np.abs(v) < 1.0, 2.0 * self.ratio * v / ((1.0 - v) * (1.0 + v)), np.nan)

    def hess_conjugate(self, v: Floats) -> DiagonalPlusRankOne:
        """Return the diagonal 2 rho (1 + v^2) / (1 - v^2)^2."""
        return DiagonalPlusRankOne(2.0 * self.ratio * (1.0 + v**2) / ((1.0 - v) * (1.0 + v)) ** 2, 0.0, v)


@dataclass
class State:
    """State of the method, for the rows with positive weight."""

    problem: Problem
    #: root of a dense quadratic form that was whitened
    root: Floats | None
    weighted: NDArray[np.intp]
    rows: Any
    barrier: Tube | Margin | Logarithm
    theta: Floats
    #: X^T theta / lam
    v: Floats
    mu: float
    #: the problem before whitening, which determines the level bound
    given: Problem
    #: the best feasible weights, and P of them
    feasible: Floats | None = None
    primal: float = math.inf
    #: steps since the last change of mu, and whether mu has been decreased
    steps: int = 0
    mu_decreased: bool = False
    stalled: bool = False

    @property
    def regularizer(self) -> Regularizer | BallBarrier:
        """Omega, or for the lasso what approaches it as mu decreases."""
        regularizer = self.problem.regularizer
        return BallBarrier(self.mu / self.problem.lam) if regularizer.l1_ratio == 1.0 else regularizer


def step_length(state: State, direction: Floats, intercept: float, decrease: float) -> float:
    """Return a step where F is almost minimal along a direction; zero if rounding errors hide the decrease.

    If F is unbounded below, the step grows until the dual objective exceeds that of every admissible model.
    """
    regularizer, lam, mu, barrier = state.regularizer, state.problem.lam, state.mu, state.barrier
    limit, v_change = INFEASIBLE_BOUND * state.given.level_bound, state.rows.T @ direction / lam
    total = intercept * float(np.sum(direction))

    def derivatives(step: float) -> tuple[float, float]:
        theta, v = state.theta + step * direction, state.v + step * v_change
        first = lam * float(regularizer.grad_conjugate(v) @ v_change)
        first = first + float(barrier.derivative(theta, mu) @ direction)
        first = first + total if math.isfinite(first) else math.inf
        if first < 0.0 and dual_value(state, theta, v) > limit:
            # a proof of infeasibility ends the search
            return 0.0, 0.0
        hess = regularizer.hess_conjugate(v)
        assert hess is not None
        second = float(hess.diagonal @ v_change**2) + hess.outer * float(np.square(hess.vector @ v_change))
        second = lam * second + float(barrier.hess(theta, mu) @ direction**2)
        return first, second if first <= decrease else math.nan

    return line_search(derivatives, -decrease, _LINE_SEARCH_TOLERANCE, longest=_STEP_GROWTH, shrinkage=_STEP_SHRINKAGE)


def newton_direction(state: State) -> tuple[Floats, Floats, float]:
    """Return the Newton direction, the gradient and the multiplier of sum theta = 0 if the intercept is free.

    The gradient includes the multiplier.  A full step makes the sum of theta zero.
    """
    problem, theta, rows = state.problem, state.theta, state.rows
    hess = state.regularizer.hess_conjugate(state.v)
    assert hess is not None
    barrier_hess = state.barrier.hess(theta, state.mu)
    system = System(
        rows, hess, problem.lam, barrier_hess, intercept=problem.intercept, all_positive=state.barrier.signed
    )
    gradient = rows @ state.regularizer.grad_conjugate(state.v) + state.barrier.derivative(theta, state.mu)
    if not system.finite:
        return np.zeros(len(theta)), gradient, 0.0
    if not problem.intercept:
        return -system.solve(gradient), gradient, 0.0
    one, other, total = system.solve(np.ones(len(theta))), system.solve(gradient), float(np.sum(theta))
    shift = (total - float(np.sum(other))) / float(np.sum(one))
    intercept = shift - system.level * total
    return -other - shift * one, gradient + intercept, intercept


def dual_objective(state: State) -> float:
    """Return D(theta): heuristic, not reported."""
    return dual_value(state, state.theta, state.v)


def dual_value(state: State, theta: Floats, v: Floats) -> float:
    """Return D(theta) for theta and v = X^T theta / lam."""
    return state.barrier.negative_conjugate(theta) - state.problem.lam * state.problem.regularizer.conjugate(v)
