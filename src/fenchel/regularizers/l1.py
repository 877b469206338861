r"""Lasso (L1): Zhang (2002), eq. (16) without its quadratic term.

.. math::
    \Omega(w) = \|w\|_1, \qquad
    \Omega^*(v) = 0 \;\text{ if } \max_j |v_j| \le 1, \text{ else } \infty

It is not strongly convex: a dual point does not determine the weights, only which of them are zero (wherever
:math:`|v_j| < 1`), and one outside the unit ball is infeasible.  ``largest_scale`` bounds the feasible multiples; the
certificate takes the best of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.numerics.rounding import UNIT, tree_sum
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.enclosures import EnclosedElasticNet

#: excess of max |t v_j| over 1 that counts as feasible: the rounding of a product and a quotient
_BALL_TOLERANCE = 4.0 * EPS


@dataclass(frozen=True)
class L1(Regularizer):
    """Lasso (L1) regularizer, the sum of the absolute values.

    It is not strongly convex: a dual point determines which weights are zero, not their values.

    See Also
    --------
    ElasticNet : A mixture of ridge and lasso.
    fenchel.solvers.ProxNewton : The proximal Newton solver for smooth losses.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import L1
    >>> L1().value(np.array([3.0, -4.0]))
    7.0
    """

    name: ClassVar[str] = "l1"
    roundings: ClassVar[float] = 0.0

    @property
    def l1_ratio(self) -> float:
        return 1.0

    def value(self, weights: Array) -> float:
        return tree_sum(np.ravel(weights, order="K"), np.abs)

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        """Zero: ``largest_scale`` leaves room for the error of v."""
        return 0.0

    def gradient(self, weights: Array) -> Floats:
        return np.sign(np.asarray(weights, dtype=np.float64))

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        return 0.0 if abs(scale) * _largest(v) <= 1.0 + _BALL_TOLERANCE else math.inf

    def conjugate_derivative(self, v: Array, scale: float) -> float:
        """Zero inside the unit ball, infinite outside."""
        return self.conjugate(v, scale)

    def largest_scale(self, v: Array, error: float = 0.0) -> float:
        largest = _largest(v) + error
        return (1.0 - 24.0 * UNIT) / largest if largest > 0.0 else math.inf

    def enclosure(self, features: int) -> EnclosedElasticNet:
        return EnclosedElasticNet(1.0)

    def compress(self, v: Array) -> Floats:
        return np.array([_largest(v)])

    def grad_conjugate(self, v: Array) -> Floats:
        """Zero, a subgradient everywhere in the unit ball: v does not determine the weights."""
        return np.zeros(np.shape(v))

    def radius(self, level: float) -> float:
        # along an axis, where the 1-norm is the 2-norm
        return level

    @property
    def strong_convexity(self) -> float:
        return 0.0


def _largest(v: Array) -> float:
    return float(np.abs(v).max(initial=0.0))
