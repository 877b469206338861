r"""Ridge (L2): :math:`\Omega(w) = \tfrac12\|w\|^2 = \Omega^*(w)`; Zhang (2002), eq. (12) with K = I."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import ELEMENTARY, gamma, tree_depth, tree_sum
from fenchel.regularizers.base import DiagonalPlusRankOne, Regularizer
from fenchel.regularizers.enclosures import EnclosedElasticNet


class CompiledL2(NamedTuple):
    """Ridge for compiled loops.  One field, since a compiled tuple can't be empty."""

    scale: float

    def linear(self) -> bool:
        """True: the weights are v itself."""
        return True

    def weight(self, v: float) -> float:
        """One component of the gradient of the conjugate."""
        return v

    def hess_bound(self, v: float, radius: float) -> float:
        """The largest second derivative of the conjugate within ``radius`` of v."""
        return 1.0


@dataclass(frozen=True)
class L2(Regularizer):
    """Ridge (L2) regularizer, half the squared Euclidean norm.

    See Also
    --------
    QuadraticForm : Half of :math:`w^T K w`.
    ElasticNet : A mixture of ridge and lasso.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import L2
    >>> L2().value(np.array([3.0, -4.0]))
    12.5
    """

    name: ClassVar[str] = "l2"
    #: that of a square
    roundings: ClassVar[float] = 1.0
    is_ridge: ClassVar[bool] = True

    @property
    def l1_ratio(self) -> float:
        return 0.0

    def value(self, weights: Array) -> float:
        return 0.5 * tree_sum(np.asarray(weights).ravel(order="K"), np.square)

    def gradient(self, weights: Array) -> Floats:
        return np.asarray(weights, dtype=np.float64)

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        return scale**2 * self.value(v)

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        size = math.sqrt(2.0 * conjugate)
        return gamma(tree_depth(np.size(v)) + 16.0 + self.roundings) * conjugate + (1.0 + 1e-6) * norm * (
            size + 0.5 * norm
        )

    def enclosure(self, features: int) -> EnclosedElasticNet:
        return EnclosedElasticNet(0.0)

    def compress(self, v: Array) -> Floats:
        return np.array([math.sqrt(2.0 * self.value(v))])

    def compress_roundings(self, count: int) -> float:
        return tree_depth(count) + ELEMENTARY

    def grad_conjugate(self, v: Array) -> Floats:
        return np.asarray(v, dtype=np.float64)

    def grad_conjugate_error(self, v: Array, norm: float) -> float:
        return norm

    def hess_conjugate(self, v: Array) -> DiagonalPlusRankOne:
        return DiagonalPlusRankOne(np.ones(len(v)), 0.0, v)

    def radius(self, level: float) -> float:
        return math.sqrt(2.0 * level)

    @property
    def strong_convexity(self) -> float:
        return 1.0

    def compiled(self) -> CompiledL2:
        return CompiledL2(1.0)
