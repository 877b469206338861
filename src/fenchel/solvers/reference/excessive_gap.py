"""Iterates of excessive gap methods, and those with stored dual points: see ``reference.pragam`` for the formulas."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import STALLED, Hint, Solver
from fenchel.solvers.needs import dual_block, max_margin
from fenchel.solvers.reference.chain_sets import CliqueMarginals
from fenchel.solvers.reference.class_intercepts import BalancedClasses
from fenchel.solvers.reference.dual_sets import (
    Balanced,
    BoxesOfClasses,
    DualSet,
    Separate,
    SidesOfLabels,
    Simplices,
)

#: first L, relative to the bound from the data
FIRST_SHARE = 2.0**-6
#: mu at the first restart relative to its first value, and the factor of this ratio at each restart
_FIRST_RESTART, _RESTART_FACTOR = 1e-3, 0.25
#: largest mu D_2 at a restart, relative to R(0)
_RESTART_GAP = 0.1
#: relative rounding error that the test of L allows
_ROUNDING = 1e-12
#: the method stalls when the bound on the gap is below this multiple of R(0)
_SMALLEST_GAP = 1e-16
#: the gap is recomputed when the number of steps has grown by this share
_GAP_INTERVAL = 0.05
#: d(theta - theta_c) is at most this multiple of D_2 for any centre in Q
_CENTRE_FACTOR = 4.0


@dataclass
class Iterates(abc.ABC):
    """The iterates of an excessive gap method."""

    problem: Problem
    theta: Floats
    #: X^T theta; None if it is not stored
    x_theta: Floats | None
    weights: Floats
    scores: Floats
    mu: float
    lipschitz: float
    #: upper bound on L
    lipschitz_bound: float

    @abc.abstractmethod
    def step(self, hint: Hint) -> float:
        """Make a step; return the data passes, or STALLED."""

    @abc.abstractmethod
    def expected_gap(self) -> float:
        """Return J(w) - D(theta), or NaN."""

    @abc.abstractmethod
    def propose(self) -> tuple[Model, Witness]:
        """Return copies of the current model and dual point."""

    def average(self, tau: float, weights: Array, scores: Array) -> None:
        """Move w and its scores by the share tau towards these, and decrease mu."""
        self.weights = (1.0 - tau) * self.weights + tau * weights
        self.scores = (1.0 - tau) * self.scores + tau * scores
        self.mu = (1.0 - tau) * self.mu

    def gap(self, x_theta: Array, risk: float, negative_conjugate: float) -> float:
        """Return J(w) - D(theta) from the risk and -R*(-theta)."""
        lam = self.problem.lam
        squares = lam * float(np.vdot(self.weights, self.weights)) + float(np.vdot(x_theta, x_theta)) / lam
        return 0.5 * squares + risk - negative_conjugate


@dataclass(frozen=True)
class ExcessiveGapSolver(Solver):
    """Base class of the solvers whose state are iterates of an excessive gap method."""

    def step(self, state: Iterates, hint: Hint) -> float:
        return state.step(hint)

    def expected_gap(self, state: Iterates) -> float:
        return state.expected_gap()

    def propose(self, state: Iterates) -> tuple[Model, Witness]:
        return state.propose()


@dataclass
class StoredPoints(Iterates):
    """Iterates with theta, or the coordinates that ``dual_set`` stores, in a set Q of moderate dimension."""

    dual_set: DualSet
    #: centre of the proximal function
    centre: Floats
    #: whether to restart from the current dual point
    restarts: bool
    #: last accepted L
    accepted: float = 0.0
    steps: int = 0
    #: the mu of the next restart, and its ratio to the first mu
    restart_mu: float = 0.0
    restart_ratio: float = _FIRST_RESTART
    #: the last computed gap, and the step of the next computation
    last_gap: float = math.inf
    gap_due: float = 0.0

    def step(self, hint: Hint) -> float:
        if self.mu * _CENTRE_FACTOR * self.dual_set.d_range <= _SMALLEST_GAP * self.problem.risk.value_at_zero:
            return STALLED
        # 2.
        nearest = self.dual_set.step(self.centre, self.scores, self.mu)
        passes = self._given_step(nearest) if self.x_theta is None else self._adaptive_step(self.x_theta, nearest, hint)
        if self.restarts and self.x_theta is not None and self.mu <= self.restart_mu:
            self.restart_ratio *= _RESTART_FACTOR
            weights = self.x_theta / self.problem.lam
            scores = self.problem.design.scores(weights)
            passes += 0.5 + self.restart(self.theta, self.x_theta, weights, scores)
        return passes

    def expected_gap(self) -> float:
        """Return J(w) - D(theta); NaN with a given L, where X^T theta is not stored."""
        if self.x_theta is None:
            return math.nan
        if self.steps >= self.gap_due:
            problem, scores, intercept = self.problem, self.scores, self._intercept()
            risk = problem.risk.value(scores + (problem.best_intercept(scores) if intercept is None else intercept))
            self.last_gap = self.gap(self.x_theta, risk, -self.dual_set.conjugate(self.theta))
            self.gap_due = (1.0 + _GAP_INTERVAL) * self.steps
        return self.last_gap

    def propose(self) -> tuple[Model, Witness]:
        return Model(self.weights.copy(), self._intercept()), self.dual_set.witness(self.theta)

    def _adjoint(self, point: Array) -> Floats:
        """Return X^T theta of a stored point."""
        return self.problem.design.adjoint(self.dual_set.image(point))

    def _intercept(self) -> Any:
        """Return None for a single free intercept, which the certificate computes, or the multipliers of (23)."""
        if not self.problem.intercept:
            return self.problem.no_intercept()
        if isinstance(self.dual_set, BalancedClasses):
            return self.dual_set.intercepts(self.centre, self.scores, self.mu)
        return None

    def restart(self, centre: Array, x_theta: Array, weights: Array, scores: Array) -> float:
        """Step 1 with trials of L; return the data passes."""
        passes, lipschitz = 0.5, self.lipschitz
        while True:
            theta = self.dual_set.step(centre, scores, lipschitz)
            found = self._adjoint(theta)
            if self._is_large_enough(lipschitz, theta - centre, found - x_theta):
                break
            lipschitz, passes = min(2.0 * lipschitz, self.lipschitz_bound), passes + 0.5
        self.centre, self.theta, self.x_theta, self.weights, self.scores = centre, theta, found, weights, scores
        self.mu = self.lipschitz = self.accepted = lipschitz
        largest = _RESTART_GAP * self.problem.risk.value_at_zero / self.dual_set.d_range
        self.restart_mu = min(self.restart_ratio * lipschitz, largest)
        return passes

    def _given_step(self, nearest: Array) -> float:
        """Step 3 with a given L; return the data passes."""
        design, tau = self.problem.design, 2.0 / (self.steps + 3.0)
        beta = (1.0 - tau) * self.theta + tau * nearest
        weights = self._adjoint(beta) / self.problem.lam
        scores = design.scores(weights)
        self.average(tau, weights, scores)
        self.theta, self.steps = self.dual_set.step(beta, scores, self.lipschitz), self.steps + 1
        return 1.0

    def _adaptive_step(self, last_x_theta: Array, nearest: Array, hint: Hint) -> float:
        """Step 3 with trials of L, unless a stop is requested before one is accepted; return the data passes."""
        design, x_theta_nearest, passes = self.problem.design, self._adjoint(nearest), 0.5
        while True:
            tau = largest_tau(self.mu, self.lipschitz)
            beta = (1.0 - tau) * self.theta + tau * nearest
            x_theta_beta = (1.0 - tau) * last_x_theta + tau * x_theta_nearest
            weights = x_theta_beta / self.problem.lam
            scores = design.scores(weights)
            theta = self.dual_set.step(beta, scores, self.lipschitz)
            x_theta = self._adjoint(theta)
            passes += 1.0
            if self._is_large_enough(self.lipschitz, theta - beta, x_theta - x_theta_beta):
                self.average(tau, weights, scores)
                self.theta, self.x_theta, self.steps = theta, x_theta, self.steps + 1
                self.accepted, self.lipschitz = self.lipschitz, 0.5 * self.lipschitz
                return passes
            self.lipschitz = min(2.0 * self.lipschitz, self.lipschitz_bound)
            if hint.stop_requested():
                return passes

    def _is_large_enough(self, lipschitz: float, move: Array, x_theta: Array) -> bool:
        """Return whether L is at least the curvature of D along this move."""
        curvature = float(np.vdot(x_theta, x_theta)) / self.problem.lam
        allowed = lipschitz * self.dual_set.squared_length(move)
        return curvature <= (1.0 + _ROUNDING) * allowed or lipschitz >= self.lipschitz_bound


def has_dual_set(problem: Problem) -> bool:
    """Return whether the domain of the conjugate is one of the sets of ``dual_sets``."""
    risk = problem.risk
    joint = risk.multilabel() is not None or dual_block(problem) in ("box", "simplex")
    return risk.separable() is not None or joint or max_margin(problem) is not None


def dual_set(problem: Problem) -> DualSet:
    """Return Q for a problem that has one."""
    mean, multilabel = problem.risk.separable(), problem.risk.multilabel()
    if mean is not None:
        return Balanced(mean) if problem.intercept else Separate(mean, mean.smoothing_range)
    if multilabel is not None:
        # a mass of one for either sign of each example that has both kinds of labels
        return SidesOfLabels(multilabel, multilabel.value_at_zero)
    chains = max_margin(problem)
    if chains is not None:
        return CliqueMarginals(chains)
    risk = problem.multiclass_risk
    blocks = Simplices(risk) if risk.dual_block == "simplex" else BoxesOfClasses(risk)
    return BalancedClasses(blocks) if problem.intercept else blocks


def largest_tau(mu: float, lipschitz: float) -> float:
    """Return the tau with tau^2 / (1 - tau) = mu / L."""
    ratio = mu / lipschitz
    return 2.0 * ratio / (ratio + math.sqrt(ratio * ratio + 4.0 * ratio))
