r"""The sets of dual points that an excessive gap method moves in, with their proximal steps.

For :math:`\theta \in Q`, the domain of :math:`R^*(-\theta)` with :math:`\sum_i\theta_i = 0` where intercepts are free,

.. math::
    \text{step}(\bar\theta, s, q) = \arg\min_{\theta\in Q}\; R^*(-\theta) + s\cdot\theta + q\,d(\theta - \bar\theta),
    \qquad d(\theta) = \tfrac12\sum_i \|\theta_i\|^2/c_i

is both maps of Saha, Zhang and Vishwanathan: (23) with :math:`q = \mu` from the centre, and (25) with :math:`q = L`.
Dual variables are weighed with what their examples count, so that :math:`D_2 = \max d` does not depend on n and
:math:`L = \sigma_{\max}(C^{1/2}X)^2/\lambda \le \sum_i c_i\|x_i\|^2/\lambda`; the paper's :math:`L, D_2` for equal
weights are n times as large and as small.

- without an intercept every example of a mean takes an exact dual step of its loss;
- with one, a loss with :math:`f^*(-a) = -ya + \epsilon|a| + \tfrac\kappa2a^2` is a projection onto a box with one
  equality; a tube makes two entries of an example, one for each sign;
- Crammer-Singer: :math:`\theta_i = c_i(e_y - \beta)` with :math:`\beta` in a simplex;
- Weston-Watkins: eq. (4) of Wang and Scott, a box with one more entry, minus the sum of all others;
- with intercepts of several classes, their multipliers are found first, and each example takes its step
  (``class_intercepts``);
- several labels: signs and one equality, and where the mass of an example is too large, a simplex on either side.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.projections.zero_sum import zero_sum
from fenchel.risks import MeanRisk, MulticlassRisk, MultilabelHinge, Risk
from fenchel.solvers.needs import dual_block
from fenchel.solvers.reference.class_intercepts import BalancedClasses
from fenchel.solvers.reference.projecting import project_blocks


class DualSet(Protocol):
    """Q, with its proximal step."""

    #: D_2 for steps from zero: the largest d of a point
    width: float

    def step(self, centre: NDArray, scores: NDArray, curvature: float) -> NDArray[np.float64]:
        """The minimizer."""
        ...

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        """A point of Q near theta."""
        ...


class Separate:
    """The mean of a loss, without an intercept."""

    def __init__(self, risk: MeanRisk) -> None:
        self.risk, self.width = risk, float(risk.smoothing_range)
        self._shares = risk.shares if risk.outputs is None else risk.shares[:, None]

    def step(self, centre: NDArray, scores: NDArray, curvature: float) -> NDArray[np.float64]:
        alpha = np.divide(centre, self._shares, out=np.zeros_like(scores), where=self._shares > 0.0)
        quadratic = np.full_like(scores, curvature)
        return self._shares * self.risk.loss.dual_step(self.risk.labels, alpha, scores, quadratic)

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        return self.risk.project(theta)


class Balanced:
    """The mean of a piecewise linear or quadratic loss, with an intercept."""

    def __init__(self, risk: MeanRisk) -> None:
        self.risk, self.width = risk, float(risk.smoothing_range)
        pieces = risk.loss.piecewise_quadratic()
        assert pieces is not None
        self._bend, self._tube = pieces
        self._counted = np.flatnonzero(risk.shares > 0.0)
        self._shares, self._labels = risk.shares[self._counted], risk.labels[self._counted]
        low, high = risk.loss.domain(self._labels)
        self._low, self._high = -high * self._shares, -low * self._shares

    def step(self, centre: NDArray, scores: NDArray, curvature: float) -> NDArray[np.float64]:
        total, shares = self._bend + curvature, self._shares
        push = curvature * centre[self._counted] - shares * (scores[self._counted] - self._labels)
        target, low, high = push / total, self._low, self._high
        scales = np.sqrt(total / shares)
        if self._tube > 0.0:
            tube = shares * (self._tube / total)
            target, scales = np.concatenate([target - tube, target + tube]), np.concatenate([scales, scales])
            low, high = np.append(np.zeros_like(low), low), np.append(high, np.zeros_like(high))
        found = project_blocks(target, low, high, 0.0, scales=scales)
        theta = np.zeros_like(centre)
        theta[self._counted] = found if self._tube == 0.0 else found[: len(shares)] + found[len(shares) :]
        return theta

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        return zero_sum(self.risk.project(theta))[0]


class Simplices:
    """Crammer-Singer; without intercepts unless in ``BalancedClasses``."""

    #: half the square of the edge of a simplex
    width = 1.0

    def __init__(self, risk: MulticlassRisk) -> None:
        self.risk = risk
        self._rows = np.arange(risk.examples)

    def step(self, centre: NDArray, scores: NDArray, curvature: float) -> NDArray[np.float64]:
        return self.moved(centre, scores, curvature)[0]

    def moved(
        self, centre: NDArray, scores: NDArray, curvature: float
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The minimizer, and which of its entries are at no bound."""
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

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        return self.risk.project(theta)


class BoxesOfClasses:
    """Weston-Watkins; without intercepts unless in ``BalancedClasses``."""

    def __init__(self, risk: MulticlassRisk) -> None:
        self.risk = risk
        self._rows = np.arange(risk.examples)
        self._high = risk.costs[risk.classes]
        sums = np.sum(self._high, axis=1)
        self.width = 0.5 * float(risk.shares @ (np.sum(self._high**2, axis=1) + sums**2))
        # the entry of the label is minus the sum of the others, whatever that is
        self._low = np.zeros(self._high.shape)
        self._low[self._rows, risk.classes] = -np.inf
        self._high[self._rows, risk.classes] = np.inf

    def step(self, centre: NDArray, scores: NDArray, curvature: float) -> NDArray[np.float64]:
        return self.moved(centre, scores, curvature)[0]

    def moved(
        self, centre: NDArray, scores: NDArray, curvature: float
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The minimizer, and which of its entries are at no bound."""
        shares, own = self.risk.shares[:, None], (self._rows, self.risk.classes)
        alpha = np.divide(centre, shares, out=np.zeros_like(scores), where=shares > 0.0)
        target = (1.0 - scores[own][:, None] + scores) / curvature - alpha + alpha[own][:, None]
        target[own] = 0.0
        beta = project_blocks(target, self._low, self._high, 0.0)
        moving = (beta > self._low) & (beta < self._high)
        beta[own] = 0.0
        alpha = -beta
        alpha[own] = np.sum(beta, axis=1)
        return shares * alpha, moving

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        return self.risk.project(theta)


class SidesOfLabels:
    """Several labels for an example, without intercepts."""

    def __init__(self, risk: MultilabelHinge) -> None:
        # a mass of one on either side of each example that has pairs
        self.risk, self.width = risk, risk.value_at_zero
        self._has = risk.labels > 0.0

    def step(self, centre: NDArray, scores: NDArray, curvature: float) -> NDArray[np.float64]:
        shares, has = self.risk.shares[:, None], self._has
        alpha = np.divide(centre, shares, out=np.zeros_like(scores), where=shares > 0.0)
        target = alpha + (has - scores) / curvature
        alpha = project_blocks(target, np.where(has, 0.0, -np.inf), np.where(has, np.inf, 0.0), 0.0)
        # if the mass may be at most one and would be more, it is one
        heavy = np.sum(np.maximum(alpha, 0.0), axis=1) > 1.0
        if np.any(heavy):
            target, has = target[heavy], has[heavy]
            up = project_blocks(target, 0.0, np.where(has, np.inf, 0.0), 1.0)
            alpha[heavy] = up + project_blocks(target, np.where(has, 0.0, -np.inf), 0.0, -1.0)
        return shares * alpha

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        return self.risk.project(theta)


def has_dual_set(problem: Problem) -> bool:
    """Whether the domain of the conjugate is one of the sets above."""
    risk = problem.risk
    return risk.separable() is not None or risk.multilabel() is not None or dual_block(problem) in ("box", "simplex")


def dual_set(problem: Problem) -> DualSet:
    """Q of a problem that has one."""
    mean, multilabel = problem.risk.separable(), problem.risk.multilabel()
    if mean is not None:
        return Balanced(mean) if problem.intercept else Separate(mean)
    if multilabel is not None:
        return SidesOfLabels(multilabel)
    risk = problem.multiclass_risk
    blocks = Simplices(risk) if risk.dual_block == "simplex" else BoxesOfClasses(risk)
    return BalancedClasses(blocks) if problem.intercept else blocks


def largest_share(mu: float, steepness: float) -> float:
    """The tau with tau^2 / (1 - tau) = mu / L."""
    ratio = mu / steepness
    return 2.0 * ratio / (ratio + math.sqrt(ratio * ratio + 4.0 * ratio))


def squared_length(risk: Risk, theta: NDArray) -> float:
    """2 d(theta)."""
    squares = theta * theta if theta.ndim == 1 else np.sum(theta * theta, axis=1)
    counted = risk.shares > 0.0
    return float(np.sum(squares[counted] / risk.shares[counted]))
