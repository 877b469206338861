r"""Losses of the residual r = s - y that are piecewise quadratic: the squared error, Huber's, and their family.

Other members are in ``losses.quantile`` and ``losses.epsilon_insensitive``.  The conjugate is

.. math:: f^*(u, y) = u y + \epsilon|u| + \tfrac{\kappa}{2}u^2 \quad\text{for } u \in [-\ell, h]

===============================  ==================  ===============  ==========  ==========
loss                             :math:`\epsilon`    :math:`\kappa`   l           h
===============================  ==================  ===============  ==========  ==========
``squared``                      0                   1                infinity    infinity
``absolute``                     0                   0                1           1
``epsilon_insensitive``          epsilon             0                1           1
``squared_epsilon_insensitive``  epsilon             1/2              infinity    infinity
``huber``                        0                   1                width       width
``quantile``                     0                   0                quantile    1 - quantile
===============================  ==================  ===============  ==========  ==========

The exact steps of Zhang (2002), Sec. 5.2, are special cases of ``dual_step``.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from fenchel.arrays import Floats
from fenchel.losses.base import Loss, PiecewiseQuadratic, never_below
from fenchel.losses.enclosures import EnclosedResidual
from fenchel.losses.intercept import flat_or_root, weighted_quantile
from fenchel.numerics.balls import as_ball
from fenchel.validation import check_number


class CompiledResidual(NamedTuple):
    """The family for compiled loops: epsilon, kappa and the bounds l, h of u."""

    tube: float
    kappa: float
    low: float
    high: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """Minimize eps |a| + kappa/2 a^2 - a y + s (a - alpha) + q/2 (a - alpha)^2 over -h <= a <= l."""
        # the minimizer without the tube is push / total
        total = self.kappa + curvature
        push = curvature * alpha - (score - label)
        size = abs(push) - self.tube
        if size <= 0.0:
            if total > 0.0 or size < 0.0:
                return 0.0
            return alpha
        # no curvature: the minimizer is on a bound
        step = size / total if total > 0.0 else math.inf
        return min(step, self.low) if push > 0.0 else -min(step, self.high)

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Minus the KKT violation of alpha; positive at zero or on a bound where the condition holds strictly."""
        push = label - score - self.kappa * alpha
        if alpha == 0.0:
            return self.tube - abs(push)
        push -= math.copysign(self.tube, alpha)
        if alpha >= self.low:
            return push
        if alpha <= -self.high:
            return -push
        return -abs(push)

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """f + f* + alpha s, from the derivative of f at this residual."""
        push = label - score
        rest = self.tube * abs(alpha) + 0.5 * self.kappa * alpha * alpha - alpha * push
        size = abs(push) - self.tube
        if size <= 0.0:
            return rest
        bound = self.low if push > 0.0 else self.high
        best = min(size / self.kappa, bound) if self.kappa > 0.0 else bound
        return best * (size - 0.5 * self.kappa * best) + rest

    def hess_conjugate(self, label: float, alpha: float) -> float:
        """The second derivative of the conjugate: kappa between the bounds; infinite at the kink of a tube."""
        if not -self.high < alpha < self.low or (alpha == 0.0 and self.tube > 0.0):
            return math.inf
        return self.kappa


@dataclass(frozen=True)
class ResidualLoss(Loss):
    """Base class of the family; subclasses define epsilon, kappa and the bounds."""

    task: ClassVar[str] = "regression"
    has_hess_conjugate: ClassVar[bool] = True
    has_second_derivative: ClassVar[bool] = True
    least_is_zero: ClassVar[bool] = True
    #: the rounding of each product, and of the two sums
    conjugate_roundings: ClassVar[tuple[float, float]] = (0.0, 3.0)

    @property
    def roundings(self) -> float:  # type: ignore[override]
        """As those of margins; a bound of the quantile loss is rounded too."""
        return 3.0 if self.shape.kappa == 0.0 else 6.0

    @property
    def score_roundings(self) -> float:
        """The rounding of s - y, which is relative unless epsilon is subtracted from it."""
        return 1.0 if self.shape.tube else 0.0

    @property
    @abc.abstractmethod
    def shape(self) -> CompiledResidual:
        """epsilon, kappa, l and h."""

    @property
    def smooth(self) -> bool:
        return self.shape.kappa > 0.0

    def piecewise_quadratic(self) -> PiecewiseQuadratic:
        return PiecewiseQuadratic(float(self.shape.kappa), float(self.shape.tube))

    def value(self, score: Floats, label: Floats) -> Floats:
        tube, kappa, low, high = self.shape
        if kappa == 0.0 and low == high:
            # the formula below to the last bit, in fewer passes
            return high * np.maximum(np.abs(score - label) - tube, 0.0)
        derivative, size = self._derivative(score, label)
        with np.errstate(over="ignore", invalid="ignore"):
            # at least half the size, even where the derivative overflows
            rest = np.maximum(size - 0.5 * kappa * np.abs(derivative), 0.5 * size)
            return np.where(size > 0.0, np.abs(derivative) * rest, 0.0)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return self._derivative(score, label)[0]

    def derivatives(self, score: Floats, label: Floats) -> tuple[Floats, Floats]:
        tube, kappa, low, high = self.shape
        first, size = self._derivative(score, label)
        if not tube and math.isinf(low) and math.isinf(high):
            return first, np.full_like(first, 1.0 / kappa)
        curved = (first > -low) & (first < high)
        if tube:
            curved &= size > 0.0
        return first, curved / kappa

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            found, square = u * label, u**2
            square *= 0.5 * self.shape.kappa
            found += square
            return never_below(found + self.shape.tube * np.abs(u) if self.shape.tube else found)

    def score_offset(self, label: Floats) -> Floats:
        return np.abs(label) + self.shape.tube

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        return np.abs(label) + self.shape.tube + self.shape.kappa * np.abs(u)

    @property
    def largest_conjugate_slope(self) -> float:
        # the largest label includes the tube
        return 1.0 if self.shape.kappa == 0.0 else math.inf

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return np.full_like(label, -self.shape.low), np.full_like(label, self.shape.high)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        def width(bound: float) -> Floats:
            # beyond the tube f is quadratic up to kappa bound, then linear
            if bound == 0.0:
                return np.full_like(level, np.inf)
            size = np.sqrt(2.0 * self.shape.kappa * level)
            if math.isfinite(bound):
                linear = level / bound + 0.5 * self.shape.kappa * bound
                size = np.where(size >= self.shape.kappa * bound, linear, size)
            return size + self.shape.tube

        return label - width(self.shape.low), label + width(self.shape.high)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        counted = share > 0
        centre, share = (label - score)[counted], share[counted]
        tube, kappa, low, high = self.shape
        if kappa == 0.0:
            # the derivative rises by l share where r = -eps and by h share where r = eps, from -l at b = -inf
            kinks = np.concatenate([centre - tube, centre + tube])
            return weighted_quantile(kinks, np.concatenate([low * share, high * share]), low * float(share.sum()))
        if tube == 0.0 and math.isinf(low) and math.isinf(high):
            # the squared loss
            return float(share @ centre) / float(share.sum())

        def derivative(b: float) -> tuple[float, float]:
            found, size = self._derivative(b, centre)
            inside = (size > 0) & (size < kappa * np.where(found > 0, high, low)) if tube else size < kappa * high
            return float(share @ found), float(share @ inside) / kappa

        # every residual is inside the tube between these
        return flat_or_root(float(np.max(centre - tube)), float(np.min(centre + tube)), derivative)

    @property
    def largest_curvature(self) -> float:
        return 1.0 / self.shape.kappa if self.shape.kappa > 0.0 else math.inf

    def enclosure(self) -> EnclosedResidual:
        tube, kappa, low, high = (float(number) for number in self.shape)
        bounds = (as_ball(bound) if math.isfinite(bound) else None for bound in (low, high))
        return EnclosedResidual(tube, kappa, *bounds)

    def compiled(self) -> CompiledResidual:
        return CompiledResidual(*(float(number) for number in self.shape))

    def _derivative(self, score: Floats | float, label: Floats) -> tuple[Floats, Floats]:
        """The derivative, and the distance of the residual from the tube."""
        tube, kappa, low, high = self.shape
        residual = score - label
        if tube == 0.0 and kappa > 0.0 and math.isinf(low) and math.isinf(high):
            # the squared loss
            return residual / kappa, np.abs(residual)
        size = np.abs(residual) - tube
        bound = np.where(residual > 0.0, high, low)
        derivative = (
            np.minimum(np.maximum(size, 0.0) / kappa, bound) if kappa > 0.0 else np.where(size > 0.0, bound, 0.0)
        )
        return np.copysign(derivative, residual), size


@dataclass(frozen=True)
class Squared(ResidualLoss):
    """Half the squared error, (s - y)^2 / 2.

    See Also
    --------
    Huber : Linear for large errors.
    Absolute : The absolute error.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Squared
    >>> Squared().value(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    array([0., 2.])
    """

    name: ClassVar[str] = "squared"

    def value(self, score: Floats, label: Floats) -> Floats:
        # the formula of the family to the last bit, in fewer passes
        residual = score - label
        with np.errstate(over="ignore"):
            return residual * (0.5 * residual)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return score - label

    @cached_property
    def shape(self) -> CompiledResidual:
        return CompiledResidual(0.0, 1.0, math.inf, math.inf)


@dataclass(frozen=True)
class Huber(ResidualLoss):
    """Huber loss: (s - y)^2 / 2 up to a width, linear beyond.

    Parameters
    ----------
    width : float, default=1.35
        The error from which the loss is linear; positive.

    See Also
    --------
    Squared : The limit of an infinite width.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Huber
    >>> Huber(width=1.0).value(np.array([1.5, 4.0]), np.array([1.0, 1.0]))
    array([0.125, 2.5  ])
    """

    name: ClassVar[str] = "huber"
    width: float = 1.35

    def __post_init__(self) -> None:
        check_number("width", self.width, above=0.0)

    @cached_property
    def shape(self) -> CompiledResidual:
        return CompiledResidual(0.0, 1.0, self.width, self.width)
