"""What the bounds of distributions over labellings share: theta is derived from them, and has multiples."""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.numerics.rounding import absolute_sum
from fenchel.risks.decomposition import multiple_of


class DerivedForm:
    """A bound R*(-t theta) <= t c, 0 <= t <= 1, for the theta of given distributions.

    t theta is the dual point of the distributions with the weight 1 - t on the labelling of the data, whose theta and
    whose bound are zero.
    """

    def __init__(
        self, decomposition: Floats, theta: Floats, conjugate: float, conjugate_error: float, distance: float
    ) -> None:
        #: the distributions, and their dual point
        self.decomposition = decomposition
        self.theta, self._conjugate = theta, conjugate
        self._error, self._distance, self._size = conjugate_error, distance, absolute_sum(theta)

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """The bound on R*(-theta); infinite for a theta that is no multiple of that of the distributions."""
        t = self._multiple(theta)
        if not feasible:
            away = float(np.max(np.abs(theta - t * self.theta), initial=0.0))
            if away > DOMAIN_TOLERANCE * float(np.max(np.abs(self.theta), initial=0.0)):
                return math.inf
        return t * self._conjugate

    def project(self, theta: Array) -> Floats:
        """The multiple of the theta of the distributions with the 1-norm of theta."""
        t = self._multiple(theta)
        # an array of tokens times labels: no copy of it
        return self.theta if t == 1.0 else t * self.theta

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        return self._multiple(theta) * self._error

    def largest_scale(self, theta: Array) -> float:
        return 1.0

    def domain_distance(self, theta: Array) -> float:
        return self._multiple(theta) * self._distance

    def unbalanced(self, theta: Array) -> Floats:
        return np.zeros(1)

    def _multiple(self, theta: Array) -> float:
        """T, from 0 to 1."""
        return multiple_of(theta, self._size)
