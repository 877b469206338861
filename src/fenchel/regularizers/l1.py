r"""The absolute values alone: Zhang (2002), eq. (16) in the limit of no square.

.. math::
    \Omega(w) = \|w\|_1, \qquad
    \Omega^*(v) = 0 \;\text{ if } \max_j |v_j| \le 1, \text{ else } \infty

It is not strongly convex: a dual point does not tell the weights, only which of them are zero (wherever
:math:`|v_j| < 1`), and one outside the unit ball proves nothing.  ``largest_scale`` says which multiples of it do; the
certificate takes the best of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.regularizers.base import Regularizer

#: a multiple of v that ends on the border of the ball may be beyond it by the rounding of a product and a quotient
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


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

    @property
    def l1_ratio(self) -> float:
        return 1.0

    def value(self, weights: NDArray) -> float:
        return float(np.sum(np.abs(weights)))

    def gradient(self, weights: NDArray) -> NDArray[np.float64]:
        return np.sign(np.asarray(weights, dtype=np.float64))

    def conjugate(self, dual: NDArray, scale: float = 1.0) -> float:
        return 0.0 if abs(scale) * _largest(dual) <= 1.0 + _ROUNDING else math.inf

    def conjugate_slope(self, dual: NDArray, scale: float) -> float:
        """Zero inside the ball; there is none outside."""
        return 0.0 if abs(scale) * _largest(dual) <= 1.0 + _ROUNDING else math.inf

    def largest_scale(self, dual: NDArray) -> float:
        largest = _largest(dual)
        return 1.0 / largest if largest > 0.0 else math.inf

    def compress(self, dual: NDArray) -> NDArray[np.float64]:
        return np.array([_largest(dual)])

    def grad_conjugate(self, dual: NDArray) -> NDArray[np.float64]:
        """Zero is a subgradient of the conjugate everywhere in the ball: the weights are not told by v."""
        return np.zeros(np.shape(dual))

    def radius(self, level: float) -> float:
        # along an axis, where the 1-norm is the 2-norm
        return level

    @property
    def strong_convexity(self) -> float:
        return 0.0


def _largest(dual: NDArray) -> float:
    return float(np.max(np.abs(dual), initial=0.0))
