"""Margin losses for compiled loops: plain arithmetic of one example (``losses.margin`` has the formulas)."""

from __future__ import annotations

import math
from typing import NamedTuple


class CompiledMargin(NamedTuple):
    """The family for compiled loops: kappa and h."""

    kappa: float
    high: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """Minimize kappa/2 b^2 - b + m (b - beta) + q/2 (b - beta)^2 over 0 <= b <= h."""
        beta = label * alpha
        gradient = label * score - 1.0 + self.kappa * beta
        total = self.kappa + curvature
        if total > 0.0:
            beta -= gradient / total
        elif gradient != 0.0:
            beta = 0.0 if gradient > 0.0 else self.high
        return label * min(max(beta, 0.0), self.high)

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Positive: at rest on a bound, by this much; negative: the optimality condition is violated."""
        beta = label * alpha
        gradient = label * score - 1.0 + self.kappa * beta
        if beta <= 0.0:
            return gradient
        if beta >= self.high:
            return -gradient
        return -abs(gradient)

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """f + f* + beta m, from the best beta for this margin."""
        beta, z = label * alpha, 1.0 - label * score
        if z <= 0.0:
            return -beta * z + 0.5 * self.kappa * beta * beta
        best = min(z / self.kappa, self.high) if self.kappa > 0.0 else self.high
        return (best - beta) * (z - 0.5 * self.kappa * (best + beta))

    def hess_conjugate(self, label: float, alpha: float) -> float:
        """The second derivative of the conjugate: kappa between the bounds."""
        return self.kappa if 0.0 < label * alpha < self.high else math.inf


class CompiledHinge(NamedTuple):
    """The hinge alone, without the quadratic part: visits of short rows were measurably faster than in the family.

    One field, since a compiled tuple can't be empty.
    """

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

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Positive: at rest on a bound, by this much; negative: the optimality condition is violated."""
        gradient = label * score - self.margin
        beta = label * alpha
        if beta <= 0.0:
            return gradient
        if beta >= 1.0:
            return -gradient
        return -abs(gradient)

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """(1 - beta) [1 - y s]_+ + beta [y s - 1]_+"""
        gradient = label * score - self.margin
        beta = label * alpha
        return beta * gradient if gradient > 0.0 else (beta - 1.0) * gradient

    def hess_conjugate(self, label: float, alpha: float) -> float:
        """The second derivative of the conjugate: zero between the bounds."""
        return 0.0 if 0.0 < label * alpha < 1.0 else math.inf
