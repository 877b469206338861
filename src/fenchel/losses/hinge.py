r"""The hinge loss of support vector machines.

.. math::
    f(s, y) = \max(0, 1 - y s), \qquad
    f^*(u, y) = y u \quad\text{for } y u \in [-1, 0]

Zhang (2002), eq. (21) with p = 1: with :math:`\alpha = -u` the dual is :math:`-\alpha y` on
:math:`\alpha y \in [0, 1]`, and the exact step is eq. (25).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fenchel.losses.base import Array, Loss, from_margin
from fenchel.losses.intercept import weighted_quantile


class HingeKernel(NamedTuple):
    """The hinge loss for compiled loops.  One field, since a compiled tuple can't be empty."""

    margin: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """Eq. (25): clip an unconstrained step to 0 <= y alpha <= 1."""
        beta = label * alpha
        gradient = label * score - self.margin
        if curvature > 0.0:
            beta -= gradient / curvature
        elif gradient != 0.0:
            beta = 0.0 if gradient > 0.0 else 1.0
        return label * min(max(beta, 0.0), 1.0)

    def slack(self, label: float, alpha: float, score: float) -> float:
        """Positive: at rest on a bound, by this much; negative: the optimality condition is violated."""
        gradient = label * score - self.margin
        beta = label * alpha
        if beta <= 0.0:
            return gradient
        if beta >= 1.0:
            return -gradient
        return -abs(gradient)

    def excess(self, label: float, alpha: float, score: float) -> float:
        """(1 - beta) [1 - y s]_+ + beta [y s - 1]_+"""
        gradient = label * score - self.margin
        beta = label * alpha
        return beta * gradient if gradient > 0.0 else (beta - 1.0) * gradient


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y s)."""

    name: ClassVar[str] = "hinge"
    task: ClassVar[str] = "classification"
    smooth: ClassVar[bool] = False

    def value(self, score: Array, label: Array) -> Array:
        return np.maximum(0.0, 1.0 - label * score)

    def derivative(self, score: Array, label: Array) -> Array:
        return np.where(label * score < 1.0, -label, 0.0)

    def conjugate(self, slope: Array, label: Array) -> Array:
        return label * slope

    def domain(self, label: Array) -> tuple[Array, Array]:
        return from_margin(np.ones_like(label), label)

    def dual_step(self, label: Array, alpha: Array, score: Array, curvature: Array) -> Array:
        gradient = label * score - 1.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            move = np.where(gradient == 0.0, 0.0, gradient / curvature)
        return label * np.clip(label * alpha - move, 0.0, 1.0)

    def sublevel(self, level: Array, label: Array) -> tuple[Array, Array]:
        # y s >= 1 - level bounds the score from below for y = +1 and from above for y = -1.
        edge = label * (1.0 - level)
        return np.where(label > 0, edge, -np.inf), np.where(label > 0, np.inf, edge)

    def best_intercept(self, score: Array, label: Array, share: Array) -> float:
        # The risk has a kink at b = y - s for each example, where its slope grows by the example's share,
        # from minus the share of the positive class at b = -inf.
        return weighted_quantile(label - score, share, float(share[label > 0].sum()))

    def kernel(self) -> HingeKernel:
        return HingeKernel(1.0)
