r"""Elastic net: Zhang (2002), eq. (16), with scikit-learn's mixing.

.. math::
    \Omega(w) = \tfrac{1-\rho}{2}\|w\|^2 + \rho\|w\|_1, \qquad
    \Omega^*(v) = \tfrac{1}{2(1-\rho)}\sum_j [\,|v_j| - \rho\,]_+^2, \qquad
    \nabla\Omega^*(v)_j = \operatorname{sign}(v_j)\,\frac{[\,|v_j| - \rho\,]_+}{1-\rho}

The paper's :math:`\varepsilon` is :math:`\rho = \varepsilon/(1+\varepsilon)` with
:math:`\lambda' = \lambda(1+\varepsilon)`.  Weights of a dual point are exactly zero wherever
:math:`|v_j| \le \rho`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import RATIONAL, UNIT, tree_sum
from fenchel.regularizers.base import DiagonalPlusRankOne, Regularizer, completed_separably
from fenchel.regularizers.enclosures import EnclosedElasticNet
from fenchel.validation import check_number


class CompiledElasticNet(NamedTuple):
    """The elastic net for compiled loops: rho and 1/(1 - rho); a ``CompiledMirrorMap`` for other step rules as well."""

    threshold: float
    scale: float

    def linear(self) -> bool:
        """False: the gradient of the conjugate is the soft threshold."""
        return False

    def weight(self, v: float) -> float:
        """One component of the gradient of the conjugate."""
        size = abs(v) - self.threshold
        return math.copysign(size * self.scale, v) if size > 0.0 else 0.0

    def hess_bound(self, v: float, radius: float) -> float:
        """The largest second derivative of the conjugate within ``radius`` of v."""
        return self.scale if abs(v) + radius > self.threshold else 0.0

    def coupled(self) -> bool:
        """False: the conjugate is separable."""
        return False

    def rescale(self, top: float, bottom: float) -> tuple[float, float]:
        """No scaling is needed."""
        return 0.0, 0.0

    def grad_and_value(self, v: float, prior: float, frame: float, floor: float) -> tuple[float, float]:
        """The soft threshold of the component; the sum over features is not used."""
        size = abs(v) - self.threshold
        return (math.copysign(size * self.scale, v) if size > 0.0 else 0.0), 0.0

    def can_update(self, v: float, shift: float) -> bool:
        """False: ``grad_and_value`` is cheap."""
        return False

    def update(self, grad: float, value: float, v: float, shift: float, frame: float) -> tuple[float, float]:
        """Not used: ``can_update`` is false."""
        return grad, value

    def outer_grad(self, total: float, frame: float) -> float:
        """G' = 1."""
        return 1.0


@dataclass(frozen=True)
class ElasticNet(Regularizer):
    r"""Elastic net: a mixture of ridge (L2) and lasso (L1).

    .. math:: \Omega(w) = \tfrac{1-\rho}{2}\|w\|^2 + \rho\|w\|_1

    Parameters
    ----------
    l1_ratio : float, default=0.5
        The mixing parameter :math:`\rho`, at least 0 and below 1: 0 is ridge.  Use :class:`L1` for the lasso.

    See Also
    --------
    L1 : The lasso.
    L2 : Ridge.

    References
    ----------
    .. [1] H. Zou and T. Hastie. "Regularization and variable selection via the elastic net." JRSS B 67, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import ElasticNet
    >>> ElasticNet(l1_ratio=0.5).value(np.array([3.0, -4.0]))
    9.75
    """

    name: ClassVar[str] = "elastic_net"
    roundings: ClassVar[float] = RATIONAL
    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        ratio = self.l1_ratio
        check_number("l1_ratio", ratio, least=0.0, most=1.0)
        if ratio == 1:
            raise FenchelError("l1_ratio=1 is the lasso, not an elastic net: use the regularizer L1(), or 'l1'")
        object.__setattr__(self, "l1_ratio", float(ratio))

    def value(self, weights: Array) -> float:
        flat = np.ravel(weights, order="K")
        return 0.5 * (1.0 - self.l1_ratio) * tree_sum(flat, np.square) + self.l1_ratio * tree_sum(flat, np.abs)

    def gradient(self, weights: Array) -> Floats:
        return (1.0 - self.l1_ratio) * np.asarray(weights, dtype=np.float64) + self.l1_ratio * np.sign(weights)

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        def squared_excess(some: Array) -> Floats:
            return np.square(np.maximum(abs(scale) * np.abs(some) - self.l1_ratio, 0.0))

        return 0.5 * tree_sum(np.ravel(v, order="K"), squared_excess) / (1.0 - self.l1_ratio)

    def grad_conjugate(self, v: Array) -> Floats:
        excess = np.abs(v) - self.l1_ratio
        return np.where(excess > 0.0, np.copysign(excess / (1.0 - self.l1_ratio), v), 0.0)

    def grad_conjugate_error(self, v: Array, norm: float) -> float:
        """The soft threshold is 1/(1 - rho)-Lipschitz, and computed with four roundings at most."""
        size = math.sqrt(float(np.sum(np.square(self.grad_conjugate(v)))))
        return (1.0 + 1e-6) * (norm / (1.0 - self.l1_ratio) + 4.0 * UNIT * size)

    def hess_conjugate(self, v: Array) -> DiagonalPlusRankOne:
        return DiagonalPlusRankOne((np.abs(v) > self.l1_ratio) / (1.0 - self.l1_ratio), 0.0, v)

    def radius(self, level: float) -> float:
        # the 1-norm is at least the 2-norm r: (1 - rho)/2 r^2 + rho r <= level
        ratio = self.l1_ratio
        root = math.sqrt(ratio**2 + 2.0 * (1.0 - ratio) * level)
        return 2.0 * level / (ratio + root) if root > 0.0 else 0.0

    @property
    def strong_convexity(self) -> float:
        return 1.0 - self.l1_ratio

    def enclosure(self, features: int) -> EnclosedElasticNet:
        return EnclosedElasticNet(self.l1_ratio)

    def compiled(self) -> CompiledElasticNet:
        return CompiledElasticNet(self.l1_ratio, 1.0 / (1.0 - self.l1_ratio))

    def typical_hess_conjugate(self, features: int) -> float:
        return 1.0 / (1.0 - self.l1_ratio)

    def compiled_mirror_map(self, features: int) -> CompiledElasticNet:
        return self.compiled()

    def completed(self, weights: Array, free: NDArray[np.intp], slopes: Floats) -> Floats:
        return completed_separably(self, weights, free, slopes)
