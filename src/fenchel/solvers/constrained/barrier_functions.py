r"""The barriers that ``solvers.barrier`` keeps scores inside their borders with: e, its derivative, and the gain.

The formulas are in the table there.  ``theta``, ``labels`` and what is returned have one entry for each constraint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Tube:
    """|s - y| <= tolerance."""

    def __init__(self, labels: Vector, tolerance: float) -> None:
        self.labels, self.tolerance = labels, tolerance

    def slope(self, theta: Vector, mu: float) -> Vector:
        """e."""
        t = self.tolerance
        return -self.labels + t * (t * theta) / (mu + np.hypot(mu, t * theta))

    def bend(self, theta: Vector, mu: float) -> Vector:
        """e'."""
        root = np.hypot(mu, self.tolerance * theta)
        return self.tolerance * (self.tolerance / root) * (mu / (mu + root))

    def gain(self, theta: Vector) -> float:
        """-R*(-theta)."""
        return float(theta @ self.labels) - self.tolerance * float(np.sum(np.abs(theta)))


class Margin:
    """y s >= 1."""

    def __init__(self, labels: Vector) -> None:
        self.labels = labels

    def slope(self, theta: Vector, mu: float) -> Vector:
        """e, infinite uphill where theta has the wrong sign."""
        beta = self.labels * theta
        return np.where(beta > 0.0, -self.labels - mu / theta, np.nan)

    def bend(self, theta: Vector, mu: float) -> Vector:
        """e'."""
        return mu / theta / theta

    def gain(self, theta: Vector) -> float:
        """-R*(-theta)."""
        return float(theta @ self.labels)
