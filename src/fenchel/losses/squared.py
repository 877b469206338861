r"""The squared loss of ridge regression.

.. math:: f(s, y) = \tfrac12 (s - y)^2, \qquad f^*(u, y) = \tfrac12 u^2 + u y

Zhang (2002), Sec. 3.1 and eq. (18) with p = 2 and epsilon = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fenchel.losses.base import Array, Loss


class SquaredKernel(NamedTuple):
    """The squared loss for compiled loops.  One field, since a compiled tuple can't be empty."""

    scale: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """Minimize a^2/2 - a y + s (a - alpha) + q/2 (a - alpha)^2."""
        return alpha - (self.scale * alpha + score - label) / (self.scale + curvature)

    def slack(self, label: float, alpha: float, score: float) -> float:
        """The dual variable has no bounds to rest on."""
        return 0.0

    def excess(self, label: float, alpha: float, score: float) -> float:
        """Half the square of s - y + alpha."""
        residual = score - label + alpha
        return 0.5 * self.scale * residual * residual


@dataclass(frozen=True)
class Squared(Loss):
    """(s - y)^2 / 2."""

    name: ClassVar[str] = "squared"
    task: ClassVar[str] = "regression"
    smooth: ClassVar[bool] = True

    def value(self, score: Array, label: Array) -> Array:
        with np.errstate(over="ignore"):
            return 0.5 * (score - label) ** 2

    def derivative(self, score: Array, label: Array) -> Array:
        return score - label

    def conjugate(self, slope: Array, label: Array) -> Array:
        with np.errstate(over="ignore"):
            return 0.5 * slope**2 + slope * label

    def domain(self, label: Array) -> tuple[Array, Array]:
        return np.full_like(label, -np.inf), np.full_like(label, np.inf)

    def dual_step(self, label: Array, alpha: Array, score: Array, curvature: Array) -> Array:
        return alpha - (alpha + score - label) / (1.0 + curvature)

    def sublevel(self, level: Array, label: Array) -> tuple[Array, Array]:
        reach = np.sqrt(2.0 * level)
        return label - reach, label + reach

    def best_intercept(self, score: Array, label: Array, share: Array) -> float:
        return float(share @ (label - score) / share.sum())

    def kernel(self) -> SquaredKernel:
        return SquaredKernel(1.0)
