r"""The feasible sets of the dual for excessive gap methods, with their proximal steps.

For :math:`\theta \in Q`, the domain of :math:`R^*(-\theta)` with :math:`\sum_i\theta_i = 0` where intercepts are free,

.. math::
    \text{step}(\bar\theta, s, q) = \arg\min_{\theta\in Q}\; R^*(-\theta) + s\cdot\theta + q\,d(\theta - \bar\theta),
    \qquad d(\theta) = \tfrac12\sum_i \|\theta_i\|^2/c_i

is the map (23) of Saha, Zhang and Vishwanathan (2009) with :math:`q = \mu` from the centre, and (25) with
:math:`q = L`. The metric d weights dual variables by the shares of their examples, so that :math:`D_2 = \max d` does
not depend on n and :math:`L = \sigma_{\max}(C^{1/2}X)^2/\lambda \le \sum_i c_i\|x_i\|^2/\lambda`.  For equal weights
the paper's L is n times as large, and its :math:`D_2` is 1/n times as large.

- Mean of losses without intercept: an exact dual step of the loss for every example.
- Mean of losses with an intercept, for :math:`f^*(-a) = -ya + \epsilon|a| + \tfrac\kappa2a^2`: a projection onto a box
  with one equality; if :math:`\epsilon > 0` an example has two entries, one for each sign.
- Crammer-Singer: :math:`\theta_i = c_i(e_y - \beta)` with :math:`\beta` in a simplex.
- Weston-Watkins: eq. (4) of Wang and Scott, a box with one more entry, which is minus the sum of the others.
- Free intercepts of several classes: the multipliers of the equalities are computed first (``class_intercepts``).
- Several labels: sign constraints and one equality; a simplex for either sign if the mass of an example exceeds one.

==================  ==========================================
symbol              here
==================  ==========================================
:math:`\bar\theta`  ``centre``
q                   ``curvature``
:math:`D_2`         ``d_range``
==================  ==========================================
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.dual_steps import dual_steps
from fenchel.problem import Problem
from fenchel.projections.zero_sum import zero_sum
from fenchel.risks import MeanRisk, MulticlassRisk, MultilabelHinge, Risk
from fenchel.solvers.needs import dual_block
from fenchel.solvers.reference.class_intercepts import BalancedClasses
from fenchel.solvers.reference.projecting import project_blocks


class DualSet(Protocol):
    """The set Q with its proximal step."""

    #: D_2 for the centre zero: the maximum of d over Q
    d_range: float

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        """Return the minimizer."""
        ...

    def feasible(self, theta: Array) -> Floats:
        """Return a point of Q near theta."""
        ...


class Separate:
    """The mean of a loss, without an intercept."""

    def __init__(self, risk: MeanRisk) -> None:
        self.risk, self.d_range = risk, float(risk.smoothing_range)
        self._shares = risk.shares if risk.outputs is None else risk.shares[:, None]

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        alpha = np.divide(centre, self._shares, out=np.zeros_like(scores), where=self._shares > 0.0)
        return self._shares * dual_steps(self.risk.loss, self.risk.labels, alpha, scores, curvature)

    def feasible(self, theta: Array) -> Floats:
        return self.risk.project(theta)


class Balanced:
    """The mean of a piecewise linear or quadratic loss, with an intercept."""

    def __init__(self, risk: MeanRisk) -> None:
        self.risk, self.d_range = risk, float(risk.smoothing_range)
        pieces = risk.loss.piecewise_quadratic()
        assert pieces is not None
        self._kappa, self._tube = pieces
        self._weighted = np.flatnonzero(risk.shares > 0.0)
        self._shares, self._labels = risk.shares[self._weighted], risk.labels[self._weighted]
        low, high = risk.loss.domain(self._labels)
        self._low, self._high = -high * self._shares, -low * self._shares

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        total, shares = self._kappa + curvature, self._shares
        numerator = curvature * centre[self._weighted] - shares * (scores[self._weighted] - self._labels)
        target, low, high = numerator / total, self._low, self._high
        scales = np.sqrt(total / shares)
        if self._tube > 0.0:
            tube = shares * (self._tube / total)
            target, scales = np.concatenate([target - tube, target + tube]), np.concatenate([scales, scales])
            low, high = np.append(np.zeros_like(low), low), np.append(high, np.zeros_like(high))
        found = project_blocks(target, low, high, 0.0, scales=scales)
        theta = np.zeros_like(centre)
        theta[self._weighted] = found if self._tube == 0.0 else found[: len(shares)] + found[len(shares) :]
        return theta

    def feasible(self, theta: Array) -> Floats:
        return zero_sum(self.risk.project(theta))[0]


class Simplices:
    """Crammer-Singer; without intercepts unless in ``BalancedClasses``."""

    #: half of the squared length of an edge of the simplex
    d_range = 1.0

    def __init__(self, risk: MulticlassRisk) -> None:
        self.risk = risk
        self._rows = np.arange(risk.examples)

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        return self.step_and_free(centre, scores, curvature)[0]

    def step_and_free(self, centre: Array, scores: Array, curvature: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the minimizer, and whether its entries are strictly between their bounds."""
        shares, own = self.risk.shares[:, None], (self._rows, self.risk.classes)
        # 1 - beta at the label, -beta elsewhere; f* is minus the sum of beta elsewhere
        beta = -np.divide(centre, shares, out=np.zeros_like(scores), where=shares > 0.0)
        beta[own] += 1.0
        target = beta + (scores + 1.0) / curvature
        target[own] -= 1.0 / curvature
        beta = project_blocks(target, 0.0, np.inf, 1.0)
        alpha = -beta
        alpha[own] += 1.0
        return shares * alpha, beta > 0.0

    def feasible(self, theta: Array) -> Floats:
        return self.risk.project(theta)


class BoxesOfClasses:
    """Weston-Watkins; without intercepts unless in ``BalancedClasses``."""

    def __init__(self, risk: MulticlassRisk) -> None:
        self.risk = risk
        self._rows = np.arange(risk.examples)
        self._high = risk.costs[risk.classes]
        sums = np.sum(self._high, axis=1)
        self.d_range = 0.5 * float(risk.shares @ (np.sum(self._high**2, axis=1) + sums**2))
        # the entry of the label, minus the sum of the others, is unbounded
        self._low = np.zeros(self._high.shape)
        self._low[self._rows, risk.classes] = -np.inf
        self._high[self._rows, risk.classes] = np.inf

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        return self.step_and_free(centre, scores, curvature)[0]

    def step_and_free(self, centre: Array, scores: Array, curvature: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the minimizer, and whether its entries are strictly between their bounds."""
        shares, own = self.risk.shares[:, None], (self._rows, self.risk.classes)
        alpha = np.divide(centre, shares, out=np.zeros_like(scores), where=shares > 0.0)
        target = (1.0 - scores[own][:, None] + scores) / curvature - alpha + alpha[own][:, None]
        target[own] = 0.0
        beta = project_blocks(target, self._low, self._high, 0.0)
        free = (beta > self._low) & (beta < self._high)
        beta[own] = 0.0
        alpha = -beta
        alpha[own] = np.sum(beta, axis=1)
        return shares * alpha, free

    def feasible(self, theta: Array) -> Floats:
        return self.risk.project(theta)


class SidesOfLabels:
    """Several labels for an example, without intercepts."""

    def __init__(self, risk: MultilabelHinge) -> None:
        # a mass of one for either sign of each example that has both kinds of labels
        self.risk, self.d_range = risk, risk.value_at_zero
        self._has = risk.labels > 0.0

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        shares, has = self.risk.shares[:, None], self._has
        alpha = np.divide(centre, shares, out=np.zeros_like(scores), where=shares > 0.0)
        target = alpha + (has - scores) / curvature
        alpha = project_blocks(target, np.where(has, 0.0, -np.inf), np.where(has, np.inf, 0.0), 0.0)
        # a mass that would exceed one is one
        heavy = np.sum(np.maximum(alpha, 0.0), axis=1) > 1.0
        if np.any(heavy):
            target, has = target[heavy], has[heavy]
            up = project_blocks(target, 0.0, np.where(has, np.inf, 0.0), 1.0)
            alpha[heavy] = up + project_blocks(target, np.where(has, 0.0, -np.inf), 0.0, -1.0)
        return shares * alpha

    def feasible(self, theta: Array) -> Floats:
        return self.risk.project(theta)


def has_dual_set(problem: Problem) -> bool:
    """Return whether the domain of the conjugate is one of the sets above."""
    risk = problem.risk
    return risk.separable() is not None or risk.multilabel() is not None or dual_block(problem) in ("box", "simplex")


def dual_set(problem: Problem) -> DualSet:
    """Return Q for a problem that has one."""
    mean, multilabel = problem.risk.separable(), problem.risk.multilabel()
    if mean is not None:
        return Balanced(mean) if problem.intercept else Separate(mean)
    if multilabel is not None:
        return SidesOfLabels(multilabel)
    risk = problem.multiclass_risk
    blocks = Simplices(risk) if risk.dual_block == "simplex" else BoxesOfClasses(risk)
    return BalancedClasses(blocks) if problem.intercept else blocks


def largest_tau(mu: float, lipschitz: float) -> float:
    """Return the tau with tau^2 / (1 - tau) = mu / L."""
    ratio = mu / lipschitz
    return 2.0 * ratio / (ratio + math.sqrt(ratio * ratio + 4.0 * ratio))


def squared_length(risk: Risk, theta: Array) -> float:
    """Return 2 d(theta)."""
    squares = theta * theta if theta.ndim == 1 else np.sum(theta * theta, axis=1)
    weighted = risk.shares > 0.0
    return float(np.sum(squares[weighted] / risk.shares[weighted]))
