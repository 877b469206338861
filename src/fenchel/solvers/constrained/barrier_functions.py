r"""Conjugates of the logarithmic barriers of ``constrained.barrier``: first and second derivative, and the limit mu =
0.

The formulas are in the table there.  ``theta``, ``labels`` and the returned vectors have one entry per constraint.
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Floats

Vector = Floats


class Tube:
    """|s - y| <= tolerance."""

    def __init__(self, labels: Vector, tolerance: float) -> None:
        self.labels, self.tolerance = labels, tolerance

    def derivative(self, theta: Vector, mu: float) -> Vector:
        """Return e."""
        t = self.tolerance
        return -self.labels + t * (t * theta) / (mu + np.hypot(mu, t * theta))

    def hess(self, theta: Vector, mu: float) -> Vector:
        """Return e'."""
        root = np.hypot(mu, self.tolerance * theta)
        return self.tolerance * (self.tolerance / root) * (mu / (mu + root))

    def negative_conjugate(self, theta: Vector) -> float:
        """Return -R*(-theta)."""
        return float(theta @ self.labels) - self.tolerance * float(np.sum(np.abs(theta)))


class Margin:
    """y s >= 1."""

    def __init__(self, labels: Vector) -> None:
        self.labels = labels

    def derivative(self, theta: Vector, mu: float) -> Vector:
        """Return e; NaN where theta has the wrong sign, which is outside of the domain."""
        beta = self.labels * theta
        return np.where(beta > 0.0, -self.labels - mu / theta, np.nan)

    def hess(self, theta: Vector, mu: float) -> Vector:
        """Return e'."""
        return mu / theta / theta

    def negative_conjugate(self, theta: Vector) -> float:
        """Return -R*(-theta)."""
        return float(theta @ self.labels)
