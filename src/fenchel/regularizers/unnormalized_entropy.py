r"""Unnormalized entropy: Zhang (2002), eq. (17), shifted so that its smallest value is zero.

.. math::
    \Omega(w) = \sum_j w_j\ln\frac{w_j}{\mu_j} - w_j + \mu_j \quad (w \ge 0), \qquad
    \Omega^*(v) = \sum_j \mu_j(e^{v_j} - 1), \qquad \nabla\Omega^*(v)_j = \mu_j e^{v_j}

Balanced, for weights of both signs: :math:`w = w^+ - w^-` with the entropies of both parts, as if every row were
:math:`[x, -x]`, without doubling X:

.. math::
    \Omega(w) = \sum_j w_j\operatorname{asinh}\frac{w_j}{2\mu_j} - \sqrt{w_j^2 + 4\mu_j^2} + 2\mu_j, \qquad
    \Omega^*(v) = \sum_j 2\mu_j(\cosh v_j - 1), \qquad \nabla\Omega^*(v)_j = 2\mu_j\sinh v_j
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import kl_div, xlogy

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import FUNCTION, RATIONAL, gamma
from fenchel.regularizers.base import DiagonalPlusRankOne, Regularizer, completed_separably
from fenchel.regularizers.enclosures import EnclosedUnnormalizedEntropy
from fenchel.regularizers.prior import (
    checked_prior,
    largest_in_level_set,
    relative_entropy,
    relative_entropy_error,
    spread_prior,
)

#: ratio of a weight to its prior from which the weight counts as unbounded, as scores do in ``problem``
_UNBOUNDED_RATIO = 1e7


class CompiledEntropy(NamedTuple):
    """Both entropies for compiled loops: the mass A (0 if it is not fixed), and whether weights have both signs."""

    mass: float
    balanced: float

    def coupled(self) -> bool:
        """True with a mass."""
        return self.mass > 0.0

    def rescale(self, top: float, bottom: float) -> tuple[float, float]:
        """With a mass only ratios matter: the largest component becomes 0."""
        if self.mass == 0.0:
            return 0.0, 1.0
        frame = max(top, -bottom) if self.balanced > 0.0 else top
        return frame, math.exp(-2.0 * frame) if frame > 0.0 else 1.0

    def grad_and_value(self, v: float, prior: float, frame: float, floor: float) -> tuple[float, float]:
        """mu e^(v - frame), twice; if balanced the difference and the sum of the terms of both signs."""
        if self.balanced == 0.0:
            value = prior * math.exp(v - frame)
            return value, value
        size = abs(v)
        large = math.exp(size - frame)
        small = floor / large if large > floor else large
        # the difference of the two would cancel near zero
        difference = large - small if size > 0.1 else -large * math.expm1(-2.0 * size)
        return math.copysign(prior * difference, v), prior * (large + small)

    def can_update(self, v: float, shift: float) -> bool:
        """Where the series of cosh and sinh are as accurate as floats."""
        return abs(shift) <= 0.1

    def update(self, grad: float, value: float, v: float, shift: float, frame: float) -> tuple[float, float]:
        """By the Taylor series of cosh and sinh of the shift."""
        s = shift * shift
        even = 1.0 + s * (1 / 2 + s * (1 / 24 + s * (1 / 720 + s * (1 / 40320))))
        odd = shift * (1.0 + s * (1 / 6 + s * (1 / 120 + s * (1 / 5040 + s * (1 / 362880)))))
        return grad * even + value * odd, value * even + grad * odd

    def outer_grad(self, total: float, frame: float) -> float:
        """A/z, or 1 without a mass."""
        return self.mass / total if self.mass > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class UnnormalizedEntropy(Regularizer):
    r"""Relative entropy to a prior, of weights without a fixed sum.

    .. math:: \Omega(w) = \sum_j w_j\ln\frac{w_j}{\mu_j} - w_j + \mu_j, \qquad w \ge 0

    Parameters
    ----------
    prior : float or array-like of shape (d,), default=0.01
        The prior :math:`\mu`, positive: the weights without data.
    balanced : bool, default=False
        Whether weights have both signs, :math:`w = w^+ - w^-`, as if every row were [x, -x].

    See Also
    --------
    Entropy : Weights that sum to a fixed mass.
    fenchel.WinnowClassifier : The estimator with these regularizers.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import UnnormalizedEntropy
    >>> bool(abs(UnnormalizedEntropy(prior=0.5).value(np.array([0.5, 0.5]))) < 1e-12)
    True
    """

    name: ClassVar[str] = "unnormalized_entropy"
    prior: float | Floats = 0.01
    balanced: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", checked_prior(self.prior))
        object.__setattr__(self, "balanced", bool(self.balanced))

    @property
    def finite(self) -> bool:
        return self.balanced

    def centre(self, shape: tuple[int, ...]) -> Floats:
        return np.zeros(shape) if self.balanced else np.broadcast_to(self.priors(shape[-1]), shape).copy()

    def value(self, weights: Array) -> float:
        weights = np.asarray(weights, dtype=np.float64)
        prior = self.priors(weights.shape[-1])
        if not self.balanced:
            return float(np.sum(relative_entropy(weights, prior)))
        ratio = weights / (2.0 * prior)
        # asinh r - (sqrt(1 + r^2) - 1)/r without cancellation, and without squares that overflow
        return float(np.sum(weights * (np.arcsinh(ratio) - ratio / (1.0 + np.hypot(1.0, ratio)))))

    def gradient(self, weights: Array) -> Floats:
        prior = self.priors(np.shape(weights)[-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.arcsinh(weights / (2.0 * prior)) if self.balanced else np.log(weights / prior)

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        v = scale * np.asarray(v, dtype=np.float64)
        with np.errstate(over="ignore"):
            terms = 4.0 * np.sinh(0.5 * v) ** 2 if self.balanced else np.expm1(v)
        return float(np.sum(self.priors(v.shape[-1]) * terms))

    def value_error(self, weights: Array, value: float) -> float:
        rows = np.abs(np.asarray(weights, dtype=np.float64))
        prior = self.priors(rows.shape[-1])
        if not self.balanced:
            return relative_entropy_error(rows, prior, value)
        terms = np.abs(xlogy(rows, rows / prior)) + 4.0 * (rows + prior)
        return gamma(rows.size + FUNCTION + RATIONAL) * float(np.sum(terms))

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        """Omega* grows with every abs(v_j), if balanced, or with every v_j."""
        v = np.asarray(v, dtype=np.float64)
        rounded = gamma(v.size + FUNCTION + 8.0 + RATIONAL)
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.exp((np.abs(v) if self.balanced else v) + largest)
            sizes = grown * (-math.expm1(-largest) + rounded * (1.0 + np.abs(v))) + rounded
            sizes = np.where(np.isfinite(sizes), sizes, np.inf)
            return (2.0 if self.balanced else 1.0) * (1.0 + 1e-6) * float(np.sum(self.priors(v.shape[-1]) * sizes))

    def grad_conjugate(self, v: Array) -> Floats:
        v = np.asarray(v, dtype=np.float64)
        with np.errstate(over="ignore"):
            return self.priors(v.shape[-1]) * (2.0 * np.sinh(v) if self.balanced else np.exp(v))

    def hess_conjugate(self, v: Array) -> DiagonalPlusRankOne:
        v = np.asarray(v, dtype=np.float64)
        with np.errstate(over="ignore"):
            return DiagonalPlusRankOne(self.priors(len(v)) * (2.0 * np.cosh(v) if self.balanced else np.exp(v)), 0.0, v)

    def level_bound(self, radius: float, features: int) -> float:
        """Omega of weights that are all ``radius``, or 1e7 times their prior if that is more."""
        prior = self.priors(features)
        return self.value(np.maximum(_UNBOUNDED_RATIO * prior, radius))

    def radius(self, level: float) -> float:
        return self.radius_of_features(level, np.size(self.prior))

    def radius_of_features(self, level: float, features: int) -> float:
        """Tight along one axis if balanced; else a bound on the sum of the weights, by the log-sum inequality."""
        if self.balanced:
            widest = UnnormalizedEntropy(float(np.max(self.prior)), balanced=True)
            return largest_in_level_set(lambda weight: widest.value(np.array([weight])), level, 0.0)
        mass = float(np.sum(self.priors(features)))
        return largest_in_level_set(lambda total: float(kl_div(total, mass)), level, mass)

    @property
    def strong_convexity(self) -> float:
        """The second derivative vanishes for large weights."""
        return 0.0

    def enclosure(self, features: int) -> EnclosedUnnormalizedEntropy:
        return EnclosedUnnormalizedEntropy(self.priors(features), self.balanced)

    def compiled_mirror_map(self, features: int) -> CompiledEntropy:
        return CompiledEntropy(0.0, float(self.balanced))

    def priors(self, features: int) -> Floats:
        return spread_prior(self.prior, features)

    def completed(self, weights: Array, free: NDArray[np.intp], slopes: Floats) -> Floats:
        return completed_separably(self, weights, free, slopes)

    def typical_hess_conjugate(self, features: int) -> float:
        return float(np.mean(self.prior)) * (2.0 if self.balanced else 1.0)

    def row_hess_bound(self, squared_norms: Array, largest: Array, features: int) -> Floats:
        return largest**2 * float(np.sum(self.priors(features))) * (2.0 if self.balanced else 1.0)
