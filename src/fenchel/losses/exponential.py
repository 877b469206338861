r"""Losses that grow exponentially: Poisson deviance and the exponential loss of boosting.

With :math:`v = e^t` both are :math:`v` minus a line: t is the score for counts y >= 0, and minus the margin :math:`ys`
for classes.

.. math::
    \text{poisson: } f = e^s - ys + y\ln y - y, \qquad f^*(u, y) = v\ln v - v - y\ln y + y, \quad v = u + y \ge 0

    \text{exponential: } f = e^{-ys}, \qquad f^*(u, y) = v\ln v - v, \quad v = -yu \ge 0

(the dual pair 3 of Appendix E of Zhang 2002, with f and f* exchanged).  The dual step (13) from :math:`v_0` with
curvature c solves :math:`\ln v + cv = k`, :math:`k = t + cv_0`.  Where :math:`k + \ln c \le 1` Newton's steps are made
for :math:`\tau = \ln v`: :math:`\tau + ce^\tau - k` is convex and not negative at :math:`\tau = k`, so they fall
towards the root.  Elsewhere they are made for x = cv: :math:`x + \ln x - m` with :math:`m = k + \ln c` is concave and
not positive at :math:`m - \ln m`, so they rise towards it.

The exponential overflows for scores of a few hundred: values are infinite there, never NaN, and so are the gaps of such
models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp, xlog1py, xlogy

from fenchel.arrays import Floats
from fenchel.losses.base import Loss, margin_domain, margin_sublevel, never_below
from fenchel.losses.enclosures import EnclosedExponential, EnclosedPoisson
from fenchel.numerics.rounding import FUNCTION, RATIONAL

#: e^-t underflows to zero for larger t
_LARGEST_EXPONENT = 745.0
#: smallest number whose logarithm counts in a rounding bound, absolute and relative to what it was subtracted from
_SMALLEST, _ROUNDING = 1e-300, 2.0**-53
#: |u| / y below which log(1 + u/y) is u/y
_SMALL_RATIO = 1e-100


class CompiledExponential(NamedTuple):
    """Both losses for compiled loops: 1 for the exponential loss, 0 for Poisson."""

    margin: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """The root of ln v + c v = k by Newton's steps from one side."""
        v = label * alpha if self.margin > 0.0 else label - alpha
        t = -label * score if self.margin > 0.0 else score
        k = t + curvature * v
        if curvature == 0.0 or k + math.log(curvature) <= 1.0:
            tau = k
            if curvature > 0.0:
                for _ in range(100):
                    term = curvature * math.exp(tau)
                    following = tau - (tau + term - k) / (1.0 + term)
                    if not following < tau:
                        break
                    tau = following
            v = math.exp(tau) if tau < 709.0 else math.inf
        else:
            m = k + math.log(curvature)
            x = m - math.log(m)
            for _ in range(100):
                following = x - (x + math.log(x) - m) * x / (1.0 + x)
                if not following > x:
                    break
                x = following
            v = x / curvature
        return label * v if self.margin > 0.0 else label - v

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Zero: the dual variable is never on a bound, so no example is shrunk."""
        return 0.0

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """f + f* + alpha s = v (e^d - 1 - d) with d = t - ln v."""
        v = label * alpha if self.margin > 0.0 else label - alpha
        t = -label * score if self.margin > 0.0 else score
        if v <= 0.0:
            return math.exp(t) if t < 709.0 else math.inf
        d = t - math.log(v)
        return v * (math.expm1(d) - d) if d < 709.0 else math.inf

    def hess_conjugate(self, label: float, alpha: float) -> float:
        """The second derivative of the conjugate, 1/v."""
        v = label * alpha if self.margin > 0.0 else label - alpha
        return 1.0 / v if v > 1e-308 else math.inf


@dataclass(frozen=True)
class _ExponentialLoss(Loss):
    """Base class of both losses."""

    smooth: ClassVar[bool] = True
    overflows: ClassVar[bool] = True
    has_hess_conjugate: ClassVar[bool] = True


def _entropy(v: Floats) -> Floats:
    """v ln v - v; infinite where v is."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(np.isinf(v), np.inf, xlogy(v, v) - v)


@dataclass(frozen=True)
class Exponential(_ExponentialLoss):
    """Exponential loss, exp(-y s), of boosting.

    See Also
    --------
    Logistic : Grows linearly instead.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Exponential
    >>> Exponential().value(np.array([0.0, 1.0]), np.array([1.0, -1.0])).round(4)
    array([1.    , 2.7183])
    """

    name: ClassVar[str] = "exponential"
    #: exp of the margin itself
    roundings: ClassVar[float] = FUNCTION + 1.0
    score_roundings: ClassVar[float] = 0.0
    #: a difference; a logarithm and a product
    conjugate_roundings: ClassVar[tuple[float, float]] = (1.0, FUNCTION + 2.0)
    task: ClassVar[str] = "classification"

    def value(self, score: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(-label * score)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return -label * self.value(score, label)

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        return _entropy(np.maximum(-label * u, 0.0))

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        return 1.0 + np.abs(np.log(np.maximum(np.abs(u), _SMALLEST)))

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return margin_domain(math.inf, label)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore"):
            return margin_sublevel(-np.log(level), label)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        # e^{-b} A + e^b B is least at e^{2b} = A/B
        sums = [_log_sum(-sign * score, np.where(label == sign, share, 0.0)) for sign in (1.0, -1.0)]
        if math.isinf(sums[0]) or math.isinf(sums[1]):
            # one class only: so far that the loss underflows to zero
            return _LARGEST_EXPONENT + sums[0] if math.isinf(sums[1]) else -_LARGEST_EXPONENT - sums[1]
        return 0.5 * (sums[0] - sums[1])

    def constant_intercept(self, mixture: float) -> float | None:
        return math.atanh(mixture)

    def enclosure(self) -> EnclosedExponential:
        return EnclosedExponential()

    def compiled(self) -> CompiledExponential:
        return CompiledExponential(1.0)


@dataclass(frozen=True)
class Poisson(_ExponentialLoss):
    """Half the Poisson deviance of counts y >= 0 with the mean exp(s).

    The loss is exp(s) - y s + y log y - y; estimators predict exp(s).

    See Also
    --------
    Squared : Half the Gaussian deviance.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Poisson
    >>> Poisson().value(np.log([1.0, 4.0]), np.array([1.0, 2.0])).round(4)
    array([0.    , 0.6137])
    """

    name: ClassVar[str] = "poisson"
    #: differences and a product
    roundings: ClassVar[float] = RATIONAL
    #: log y and s - ln y; exp and, for d > 1, its multiple by f'/e^s and y (1 + d)
    score_roundings: ClassVar[float] = 2.0 * FUNCTION
    conjugate_roundings: ClassVar[tuple[float, float]] = (2.0, 2.0 * FUNCTION)
    task: ClassVar[str] = "regression"

    def refusal(self, labels: Floats) -> str | None:
        return None if np.all(labels >= 0.0) else "takes labels >= 0, such as counts"

    def prediction(self, score: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(score)

    def value(self, score: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            # with d = s - ln y it is y (e^d - 1 - d): no cancellation near the optimum
            d, grown = score - np.log(label), np.exp(score)
            # far from it e^s, which may be moderate where e^d overflows, dominates
            far = np.where(np.isinf(grown), grown, grown - label * (1.0 + d))
            return np.where(label > 0.0, np.where(d > 1.0, far, label * (np.expm1(d) - d)), grown)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(score) - label

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        # entropy(u + y) - entropy(y) without the terms that cancel where u is small
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            v, ratio = np.maximum(u + label, 0.0), u / label
            # v log(1 + u/y) is u where the ratio would underflow
            logarithm = np.where(np.abs(ratio) < _SMALL_RATIO, u, xlog1py(v, np.maximum(ratio, -1.0)))
            near, plain = logarithm + u * np.log(label) - u, _entropy(v) - _entropy(label)
        return never_below(np.where(np.isfinite(ratio) & (label > 0.0), near, plain))

    def score_offset(self, label: Floats) -> Floats:
        return 1.0 + _log_size(label)

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        # the logarithms of u + y, of y and of their ratio
        return 2.0 + 2.0 * _log_size(label) + np.abs(np.log(np.maximum(u + label, _ROUNDING * label + _SMALLEST)))

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return -label + 0.0, np.full_like(label, np.inf)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        # e^d - 1 - d = level / y on both sides of zero, each from a bound beyond the root
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.asarray(level / label, dtype=np.float64)
            above = np.minimum(np.sqrt(2.0 * ratio), np.log(2.0) + np.log1p(ratio))
            below = np.where(ratio < 0.3, -np.sqrt(3.0 * ratio), -1.0 - ratio)
            for _ in range(30):
                above = above - (np.expm1(above) - above - ratio) / np.expm1(above)
                below = below - (np.expm1(below) - below - ratio) / np.expm1(below)
            # where the difference cancels, both are sqrt(2 ratio)
            tiny = ratio < 1e-12
            above, below = np.where(tiny, np.sqrt(2.0 * ratio), above), np.where(tiny, -np.sqrt(2.0 * ratio), below)
            centre = np.log(label)
            return np.where(label > 0.0, centre + below, -np.inf), np.where(label > 0.0, centre + above, np.log(level))

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        # e^b sum c e^s = sum c y
        total, counts = _log_sum(score, share), float(share @ label)
        return math.log(counts) - total if counts > 0.0 else -_LARGEST_EXPONENT - total

    def enclosure(self) -> EnclosedPoisson:
        return EnclosedPoisson()

    def compiled(self) -> CompiledExponential:
        return CompiledExponential(0.0)


def _log_size(label: Floats) -> Floats:
    """The size of ln y, which does not occur for y = 0."""
    return np.where(label > 0.0, np.abs(np.log(np.maximum(label, _SMALLEST))), 0.0)


def _log_sum(exponents: Floats, shares: Floats) -> float:
    """ln sum c e^t; minus infinity if all c are zero."""
    counted = shares > 0
    return float(logsumexp(exponents[counted], b=shares[counted])) if np.any(counted) else -math.inf
