r"""Losses of the margin m = y s: hinge, squared hinge and Huberized hinge.

They are one family.  With :math:`\beta = -y u` the conjugate is

.. math:: f^*(u, y) = -\beta + \tfrac{\kappa}{2}\beta^2 \quad\text{for } \beta \in [0, h]

===================  ===================  ==========  ===========================================
loss                 :math:`\kappa`       h           f as a function of z = 1 - m
===================  ===================  ==========  ===========================================
``hinge``            0                    1           :math:`[z]_+`
``squared_hinge``    1/2                  infinity    :math:`[z]_+^2`
``huber_hinge``      width                1           :math:`[z]_+^2/(2\,\text{width})` up to z = width, then linear
===================  ===================  ==========  ===========================================

Zhang (2002), eq. (21) with p = 1 is the hinge (exact step: eq. 25) and twice (21) with p = 2 is the squared hinge
(eq. 26); the Huberized hinge is the hinge smoothed with mu = width.  ``Hinge(power=p)`` is (21) itself, with its 1/p:
p = 2 has kappa = 1, other powers are in ``losses.power``.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.losses.base import CompiledLoss, Loss, PiecewiseQuadratic, margin_domain, margin_sublevel
from fenchel.losses.compiled_margin import CompiledHinge, CompiledMargin
from fenchel.losses.enclosures import EnclosedMargin
from fenchel.losses.intercept import feasible_interval, flat_or_root, weighted_quantile
from fenchel.losses.power import OfPower, PowerLoss
from fenchel.validation import check_number


@dataclass(frozen=True)
class MarginLoss(Loss):
    """Base class of the family; subclasses define kappa and h."""

    task: ClassVar[str] = "classification"
    has_hess_conjugate: ClassVar[bool] = True
    has_second_derivative: ClassVar[bool] = True
    least_is_zero: ClassVar[bool] = True
    #: 1 - y s has one rounding, which is relative
    score_roundings: ClassVar[float] = 0.0

    @property
    def roundings(self) -> float:  # type: ignore[override]
        """Those of z and of a product; of the quadratic part those of z twice, of kappa beta/2, z less it and beta."""
        return 2.0 if self.shape.kappa == 0.0 else 6.0

    @property
    def conjugate_roundings(self) -> tuple[float, float]:
        return (0.0, 0.0) if self.shape.kappa == 0.0 else (1.0, 1.0)

    @property
    @abc.abstractmethod
    def shape(self) -> CompiledMargin:
        """kappa and h."""

    @property
    def smooth(self) -> bool:
        return self.shape.kappa > 0.0

    def piecewise_quadratic(self) -> PiecewiseQuadratic:
        return PiecewiseQuadratic(float(self.shape.kappa), 0.0)

    def value(self, score: Floats, label: Floats) -> Floats:
        z = np.maximum(0.0, 1.0 - label * score)
        if self.shape.kappa == 0.0:
            return self.shape.high * z
        beta = self._beta(z)
        with np.errstate(over="ignore", invalid="ignore"):
            # z - kappa beta / 2 is at least z / 2, even where beta overflows
            return np.where(z > 0.0, beta * np.maximum(z - 0.5 * self.shape.kappa * beta, 0.5 * z), 0.0)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return -label * self._beta(np.maximum(0.0, 1.0 - label * score))

    def derivatives(self, score: Floats, label: Floats) -> tuple[Floats, Floats]:
        kappa, high = self.shape
        first = label * score
        first -= 1.0
        # minus beta
        np.minimum(first, 0.0, out=first)
        first /= kappa
        curved = first < 0.0
        if math.isfinite(high):
            curved &= first > -high
            np.maximum(first, -high, out=first)
        first *= label
        return first, curved / kappa

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        beta = -label * u
        with np.errstate(over="ignore"):
            return 0.5 * self.shape.kappa * beta**2 - beta

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        return 1.0 + self.shape.kappa * np.abs(u)

    @property
    def largest_conjugate_slope(self) -> float:
        return 1.0 if self.shape.kappa == 0.0 else math.inf

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return margin_domain(self.shape.high, label)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        # f(z) = level at z = sqrt(2 kappa level) where f is quadratic, at level/h + kappa h/2 beyond
        kappa, high = self.shape
        z = np.sqrt(2.0 * kappa * level)
        if math.isfinite(high):
            z = np.where(z >= kappa * high, level / high + 0.5 * kappa * high, z)
        return margin_sublevel(1.0 - z, label)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        counted = share > 0
        score, label, share = score[counted], label[counted], share[counted]
        if self.shape.kappa == 0.0:
            # a kink at b = y - s for each example, where the derivative grows by h share, from -h share of positives
            return weighted_quantile(label - score, share, float(share[label > 0].sum()))

        def derivative(b: float) -> tuple[float, float]:
            z = np.maximum(0.0, 1.0 - label * (score + b))
            inside = (z > 0) & (z < self.shape.kappa * self.shape.high)
            return float(-(share * label) @ self._beta(z)), float(share @ inside) / self.shape.kappa

        return flat_or_root(*feasible_interval(score, label), derivative)

    def constant_intercept(self, mixture: float) -> float | None:
        return mixture if self.shape.kappa > 0.0 and math.isinf(self.shape.high) else None

    @property
    def largest_curvature(self) -> float:
        return 1.0 / self.shape.kappa if self.shape.kappa > 0.0 else math.inf

    def enclosure(self) -> EnclosedMargin:
        return EnclosedMargin(float(self.shape.kappa), float(self.shape.high))

    def compiled(self) -> CompiledLoss:
        kappa, high = self.shape
        return CompiledMargin(float(kappa), float(high)) if kappa > 0.0 else CompiledHinge(1.0)

    def _beta(self, z: Floats) -> Floats:
        """Minus the derivative in the margin, for z = [1 - m]_+."""
        if self.shape.kappa == 0.0:
            return np.where(z > 0.0, self.shape.high, 0.0)
        return np.minimum(z / self.shape.kappa, self.shape.high)


@dataclass(frozen=True)
class _SimpleHinge(MarginLoss):
    """The hinge, or half its square."""

    name: ClassVar[str] = "hinge"
    squared: bool

    @cached_property
    def shape(self) -> CompiledMargin:
        return CompiledMargin(1.0, math.inf) if self.squared else CompiledMargin(0.0, 1.0)


@dataclass(frozen=True)
class Hinge(OfPower):
    """Hinge loss, max(0, 1 - y s), of support vector machines.

    Parameters
    ----------
    power : float, default=1.0
        The exponent p >= 1 of ``max(0, 1 - y s)^p / p``.

    See Also
    --------
    SquaredHinge : Twice ``Hinge(power=2)``.
    HuberHinge : A smooth hinge.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.  Eq. (21).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Hinge
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0]), np.array([1.0, 1.0, 1.0]))
    array([2. , 0.5, 0. ])
    """

    name: ClassVar[str] = "hinge"
    task: ClassVar[str] = "classification"
    power: float = 1.0

    def __post_init__(self) -> None:
        check_number("power", self.power, least=1.0)

    @cached_property
    def form(self) -> Loss:
        if self.power in (1.0, 2.0):
            return _SimpleHinge(self.power == 2.0)
        return PowerLoss(self.task, 0.0, float(self.power))


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """Squared hinge loss, max(0, 1 - y s)^2.

    See Also
    --------
    Hinge : The hinge and its powers.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0]), np.array([1.0, 1.0, 1.0]))
    array([4.  , 0.25, 0.  ])
    """

    name: ClassVar[str] = "squared_hinge"

    @cached_property
    def shape(self) -> CompiledMargin:
        return CompiledMargin(0.5, math.inf)


@dataclass(frozen=True)
class HuberHinge(MarginLoss):
    """Huberized hinge loss: quadratic over a width below the margin, linear beyond.

    Parameters
    ----------
    width : float, default=0.5
        The width of the quadratic part; positive.

    See Also
    --------
    Hinge : The limit of a width of zero.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import HuberHinge
    >>> HuberHinge(width=0.5).value(np.array([-1.0, 0.75, 2.0]), np.array([1.0, 1.0, 1.0]))
    array([1.75  , 0.0625, 0.    ])
    """

    name: ClassVar[str] = "huber_hinge"
    width: float = 0.5

    def __post_init__(self) -> None:
        check_number("width", self.width, above=0.0)

    @cached_property
    def shape(self) -> CompiledMargin:
        return CompiledMargin(self.width, 1.0)
