r"""Losses with infinite values: constraints (limits of Sec. 2 of Zhang 2002) and the negative logarithm.

=================  ====================================  =====================================  ==============
loss               f(s, y)                               f*(u, y)                               domain
=================  ====================================  =====================================  ==============
``hard_margin``    0 if ys >= 1, else infinite           :math:`-\beta`                         beta >= 0
``interpolation``  0 if \|s - y\| <= tolerance, else     :math:`uy + \text{tolerance}\,|u|`     all u
                   infinite
``negative_log``   :math:`-\ln(ys)` if ys > 0, else      :math:`-1 - \ln\beta`                  beta > 0
                   infinite
=================  ====================================  =====================================  ==============

with :math:`\beta = -yu`; the last is the dual pair 6 of Appendix E.  The dual steps (13) with curvature c are

.. math:: \beta = \Big[\beta_0 + \frac{1 - ys}{c}\Big]_+, \qquad
    \alpha = \operatorname{soft}_{\text{tolerance}/c}\Big(\alpha_0 + \frac{y - s}{c}\Big), \qquad
    c\beta^2 + (ys - c\beta_0)\beta = 1

For an example without features (c = 0) the step is unbounded.  It is cut off at 1e30, whose square and sums do not
overflow and which proves that the example can't meet the constraint.  Rounding makes s = y undecidable, hence the
tolerance, which is part of the problem and of its certificate.  Dual ascent meets constraints in the limit only:
``solvers.feasibility`` makes feasible models, and ``solvers.farkas`` proves that there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from fenchel.arrays import Floats
from fenchel.losses.base import Loss, margin_domain, margin_sublevel, never_below
from fenchel.losses.enclosures import EnclosedMarginConstraint, EnclosedNegativeLog, EnclosedResidualConstraint
from fenchel.losses.intercept import feasible_interval
from fenchel.validation import check_number

#: distance to a one-sided bound on the intercept, relative to the scores: a few hundred roundings
_CLEARANCE = 1e-12
#: length of an interval of intercepts below which derivatives near its ends overflow
_SHORT_INTERVAL = 1e-290


class CompiledConstraint(NamedTuple):
    """Both constraints for compiled loops: 1 for the margin or 0 for the residual, and the tolerance."""

    margin: float
    tube: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """The step that makes the constraint active, or 0 if it holds strictly."""
        if not curvature > 0.0:
            push = 1.0 - label * score if self.margin > 0.0 else label - score
            if abs(push) <= self.tube or (self.margin > 0.0 and push < 0.0):
                return 0.0
            return label * 1e30 if self.margin > 0.0 else math.copysign(1e30, push)
        if self.margin > 0.0:
            return label * max(0.0, label * alpha + (1.0 - label * score) / curvature)
        push = alpha + (label - score) / curvature
        return math.copysign(max(0.0, abs(push) - self.tube / curvature), push)

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Minus the KKT violation of alpha; positive at zero where the condition holds strictly."""
        if self.margin > 0.0:
            gradient = label * score - 1.0
            return gradient if alpha == 0.0 else -abs(gradient)
        push = label - score
        return self.tube - abs(push) if alpha == 0.0 else -abs(push - math.copysign(self.tube, alpha))

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """|alpha| times the distance of the score from its bound (f is not counted where it is infinite)."""
        if self.margin > 0.0:
            return abs(alpha * (label * score - 1.0))
        return abs(alpha * (label - score) - self.tube * abs(alpha))


@dataclass(frozen=True)
class _InfiniteLoss(Loss):
    """Base class of losses that are infinite for some scores."""

    smooth: ClassVar[bool] = False
    overflows: ClassVar[bool] = True
    infinite: ClassVar[bool] = True


@dataclass(frozen=True)
class HardMargin(_InfiniteLoss):
    """Hard margin: zero if y s >= 1, infinite otherwise.

    It is the limit of the hinge for an infinite C.

    See Also
    --------
    Hinge : The soft margin.
    Interpolation : Constraints on residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import HardMargin
    >>> HardMargin().value(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    array([inf,  0.])
    """

    name: ClassVar[str] = "hard_margin"
    constraint: ClassVar[Literal["margin", "residual"] | None] = "margin"
    task: ClassVar[str] = "classification"

    def value(self, score: Floats, label: Floats) -> Floats:
        return np.where(label * score >= 1.0, 0.0, np.inf)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return np.zeros_like(label * score)

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        return u * label

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return margin_domain(math.inf, label)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        return margin_sublevel(1.0, label)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        """The b that maximizes the smallest margin."""
        low, high = feasible_interval(score[share > 0], label[share > 0])
        if math.isfinite(low) and math.isfinite(high):
            return 0.5 * (low + high)
        clearance = _CLEARANCE * (1.0 + float(np.max(np.abs(score))))
        return low + clearance if math.isfinite(low) else high - clearance

    def enclosure(self) -> EnclosedMarginConstraint:
        return EnclosedMarginConstraint()

    def compiled(self) -> Any:
        return CompiledConstraint(1.0, 0.0)


@dataclass(frozen=True)
class Interpolation(_InfiniteLoss):
    """Interpolation: zero if abs(s - y) <= tolerance, infinite otherwise.

    Parameters
    ----------
    tolerance : float, default=1e-9
        The largest error allowed; positive.

    See Also
    --------
    HardMargin : Constraints on margins.
    EpsilonInsensitive : Larger errors are allowed at a cost.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Interpolation
    >>> Interpolation(tolerance=0.1).value(np.array([1.05, 2.0]), np.array([1.0, 1.0]))
    array([ 0., inf])
    """

    name: ClassVar[str] = "interpolation"
    constraint: ClassVar[Literal["margin", "residual"] | None] = "residual"
    task: ClassVar[str] = "regression"
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        check_number("tolerance", self.tolerance, above=0.0)

    def value(self, score: Floats, label: Floats) -> Floats:
        residual = score - label
        # the rounding error of the residual, exactly (Knuth's two-sum), decides where it equals the tolerance
        back = residual - score
        error = (score - (residual - back)) - (label + back)
        size, beyond = np.abs(residual), np.where(residual > 0.0, error, -error) > 0.0
        return np.where((size < self.tolerance) | ((size == self.tolerance) & ~beyond), 0.0, np.inf)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return np.zeros_like(score - label)

    def score_offset(self, label: Floats) -> Floats:
        return np.abs(label) + self.tolerance

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        return np.abs(label) + self.tolerance

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return never_below(u * label + self.tolerance * np.abs(u))

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return np.full_like(label, -np.inf), np.full_like(label, np.inf)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        return label - self.tolerance, label + self.tolerance

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        """The b that minimizes the largest absolute residual."""
        residual = (label - score)[share > 0]
        return 0.5 * float(np.max(residual) + np.min(residual))

    def enclosure(self) -> EnclosedResidualConstraint:
        return EnclosedResidualConstraint(float(self.tolerance))

    def compiled(self) -> Any:
        return CompiledConstraint(0.0, float(self.tolerance))


class CompiledNegativeLog(NamedTuple):
    """The logarithm for compiled loops.  One field, since a compiled tuple can't be empty."""

    scale: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """The positive root of a quadratic equation."""
        middle = label * score - curvature * label * alpha
        root = math.sqrt(middle * middle + 4.0 * curvature)
        if middle > 0.0:
            return label * 2.0 / (middle + root)
        return label * ((root - middle) / (2.0 * curvature) if curvature > 0.0 else 1e30)

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Zero: the dual variable is never on a bound, so no example is shrunk."""
        return 0.0

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """beta m - 1 - ln(beta m)."""
        product = alpha * score
        return product - 1.0 - math.log(product) if product > 0.0 and label * alpha > 0.0 else math.inf


@dataclass(frozen=True)
class NegativeLog(_InfiniteLoss):
    """Negative logarithm: -log(y s) if y s > 0, infinite otherwise.

    The objective is infinite unless all margins are positive, so a problem has a finite optimum only where some model
    separates the classes, with a free intercept only if both occur.  Dual coordinate descent needs no feasible start;
    on other data it ends at its limit with an infinite objective.

    See Also
    --------
    HardMargin : A constraint on the margins.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import NegativeLog
    >>> NegativeLog().value(np.array([-1.0, 1.0]), np.array([1.0, 1.0])) + 0.0
    array([inf,  0.])
    """

    name: ClassVar[str] = "negative_log"
    bounded_below: ClassVar[bool] = False
    task: ClassVar[str] = "classification"

    def value(self, score: Floats, label: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(label * score > 0.0, -np.log(np.abs(score)), np.inf)

    def score_offset(self, label: Floats) -> Floats:
        """One: the slope times one bounds every positive term, and with R the negative ones that cancel it."""
        return np.ones_like(label)

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        """The terms are 1 and a logarithm, whatever the size of u."""
        with np.errstate(divide="ignore"):
            return 2.0 / np.abs(u)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(label * score > 0.0, -1.0 / score, -label * np.inf)

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(label * u < 0.0, -1.0 - np.log(np.abs(u)), np.inf)

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return margin_domain(math.inf, label)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        with np.errstate(over="ignore"):
            return margin_sublevel(np.exp(-level), label)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        counted = share > 0
        score, label, share = score[counted], label[counted], share[counted]
        low, high = feasible_interval(score, label, 0.0)
        if not (math.isfinite(low) and math.isfinite(high)):
            return low + 1.0 if math.isfinite(low) else high - 1.0
        inside = 1e-14 * (high - low)
        if high - low < _SHORT_INTERVAL or not low < low + inside < high - inside < high:
            return 0.5 * (low + high)

        def derivative(b: float) -> float:
            return float(np.sum(-share / (score + b)))

        if derivative(low + inside) >= 0.0 or derivative(high - inside) <= 0.0:
            return 0.5 * (low + high)
        # here, since scipy.optimize takes longer to import than most fits
        from scipy.optimize import brentq

        return float(brentq(derivative, low + inside, high - inside, xtol=1e-300, rtol=8.9e-16, maxiter=1000))

    def enclosure(self) -> EnclosedNegativeLog:
        return EnclosedNegativeLog()

    def compiled(self) -> Any:
        return CompiledNegativeLog(1.0)
