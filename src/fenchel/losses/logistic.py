r"""The logistic loss of logistic regression.

.. math::
    f(s, y) = \ln(1 + e^{-y s}), \qquad
    f^*(u, y) = \beta\ln\beta + (1-\beta)\ln(1-\beta), \quad \beta = -y u \in [0, 1]

Zhang (2002), Sec. 5.2.  The dual step solves :math:`\ln\frac{\beta}{1-\beta} + y s + q(\beta - \beta_0) = 0`.
In the variable :math:`t = \ln\frac{\beta}{1-\beta}` this is :math:`t + y s + q(\sigma(t) - \beta_0) = 0`, an increasing
equation whose derivative lies in [1, 1 + q/4] and whose root is bracketed by the two extremes of :math:`\sigma`:
Newton steps that leave the bracket, or that are not at most half of the step before the last one (Newton alone can
cycle here), are replaced by bisection.  Once a step is short, the rest of the equation is solved with the Taylor
polynomial of :math:`\sigma`, which needs no further exponential: near the optimum a step takes a logarithm and an
exponential, and it always ends at machine accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from fenchel.arrays import Floats
from fenchel.losses.base import Loss, margin_domain, margin_sublevel
from fenchel.losses.enclosures import EnclosedLogistic
from fenchel.losses.intercept import newton_root
from fenchel.numerics.rounding import FUNCTION

#: smallest beta or 1 - beta whose logarithm counts in the rounding bound
_SMALLEST_SHARE = 2.0**-54
#: the floats next to the ends of the domain, inside it
_LEAST_POSITIVE, _LARGEST_BELOW_ONE = 2.0**-1074, 1.0 - 2.0**-53
#: distance in t within which a Taylor polynomial of five terms has no error above rounding
_NEAR = 0.01


class CompiledLogistic(NamedTuple):
    """The logistic loss for compiled loops.  One field, since a compiled tuple can't be empty."""

    scale: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """Safeguarded Newton steps in t = logit(beta), the last ones with a Taylor polynomial of sigma."""
        beta = label * alpha
        margin = self.scale * label * score
        if curvature == 0.0:
            small = math.exp(-abs(margin))
            return label * (small / (1.0 + small) if margin >= 0.0 else 1.0 / (1.0 + small))
        low = -margin - curvature * (1.0 - beta)
        high = -margin + curvature * beta
        t = 0.5 * (low + high)
        if 0.0 < beta < 1.0:
            # the first step begins at the present dual variable, where sigma is known: it is beta
            logit = math.log(beta / (1.0 - beta))
            t = min(max(logit - (logit + margin) / (1.0 + curvature * beta * (1.0 - beta)), low), high)
        last, before = high - low, high - low
        for _ in range(100):
            small = math.exp(-abs(t))
            share = 1.0 / (1.0 + small)
            sigma, derivative = (share if t >= 0.0 else small * share), small * share * share
            residual = t + margin + curvature * (sigma - beta)
            if residual > 0.0:
                high = t
            else:
                low = t
            change = -residual / (1.0 + curvature * derivative)
            if abs(change) <= _NEAR:
                break
            following = t + change
            if not (low < following < high and abs(change) <= 0.5 * before):
                following = 0.5 * (low + high)
            before, last, t = last, abs(following - t), following
        # the rest in sigma itself: t is known to its last bit only, which is coarse where it is large
        skew = 1.0 - 2.0 * sigma
        second, third = 0.5 * derivative * skew, derivative * (1.0 - 6.0 * derivative) / 6.0
        fourth = derivative * skew * (1.0 - 12.0 * derivative) / 24.0
        fifth = derivative * (1.0 - 30.0 * derivative + 120.0 * derivative * derivative) / 120.0
        # an error e becomes e^2 / 2 at most
        for _ in range(2):
            grown = change * (derivative + change * (second + change * (third + change * (fourth + change * fifth))))
            rate = derivative + change * (2.0 * second + change * (3.0 * third + change * 4.0 * fourth))
            change -= (residual + change + curvature * grown) / (1.0 + curvature * rate)
        grown = change * (derivative + change * (second + change * (third + change * (fourth + change * fifth))))
        return label * min(max(sigma + grown, 0.0), 1.0)

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Zero: the dual variable is never on a bound, so no example is shrunk."""
        return 0.0

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """The relative entropy of beta and its optimum: f + f* + beta y s."""
        beta, margin = label * alpha, self.scale * label * score
        if not 0.0 < beta < 1.0:
            # one of f and f* is zero or both are
            return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0) + beta * margin
        # f at the score less its tangent at -logit(beta), from where the score is so far
        distance = math.log(beta / (1.0 - beta)) + margin
        if abs(distance) <= _NEAR:
            # its Taylor polynomial, without cancellation
            square, skew = beta * (1.0 - beta), 1.0 - 2.0 * beta
            fourth = (1.0 - 6.0 * square) / 24.0 - distance * skew * (1.0 - 12.0 * square) / 120.0
            return square * distance * distance * (0.5 - distance * (skew / 6.0 - distance * fourth))
        # f is log(1 + small) or that less the margin
        small = math.exp(-abs(margin))
        if margin >= 0.0:
            return math.log((1.0 - beta) * (1.0 + small)) + beta * distance
        return math.log(beta * (1.0 + small)) - (1.0 - beta) * distance

    def hess_conjugate(self, label: float, alpha: float) -> float:
        """The second derivative of the conjugate, 1 / (beta (1 - beta))."""
        derivative = label * alpha * (1.0 - label * alpha)
        return 1.0 / derivative if derivative > 0.0 else math.inf


@dataclass(frozen=True)
class Logistic(Loss):
    """Logistic loss, log(1 + exp(-y s)).

    See Also
    --------
    fenchel.risks.Multinomial : The logistic loss of several classes.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Logistic
    >>> Logistic().value(np.array([0.0, 10.0]), np.array([1.0, 1.0])).round(4)
    array([0.6931, 0.    ])
    """

    name: ClassVar[str] = "logistic"
    #: exp and log1p, of the margin itself, and a sum
    roundings: ClassVar[float] = 2.0 * FUNCTION + 2.0
    score_roundings: ClassVar[float] = 0.0
    #: a logarithm, 1 - beta, a product, and a sum of two terms of the same sign
    conjugate_roundings: ClassVar[tuple[float, float]] = (FUNCTION + 4.0, 0.0)
    task: ClassVar[str] = "classification"
    smooth: ClassVar[bool] = True
    has_hess_conjugate: ClassVar[bool] = True
    has_second_derivative: ClassVar[bool] = True

    def value(self, score: Floats, label: Floats) -> Floats:
        # logaddexp(0, -m), whose NumPy loop is of scalars
        margin = label * score
        return np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0.0)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return -label * expit(-label * score)

    def derivatives(self, score: Floats, label: Floats) -> tuple[Floats, Floats]:
        sigma = expit(-label * score)
        return -label * sigma, sigma * (1.0 - sigma)

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        beta = np.clip(-label * u, 0.0, 1.0)
        # 0 log 0 = 0, without the branches of SciPy's xlogy
        entropy = beta * np.log(np.maximum(beta, _LEAST_POSITIVE))
        return entropy + (1.0 - beta) * np.log1p(-np.minimum(beta, _LARGEST_BELOW_ONE))

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        # beta = 0 has no cost, and an error of 2^-53 of 1 - beta moves its logarithm by 1 at most
        beta = np.clip(-label * u, _SMALLEST_SHARE, 1.0)
        return 2.0 - np.log(beta) - np.log(np.maximum(1.0 - beta, _SMALLEST_SHARE))

    @property
    def largest_conjugate_slope(self) -> float:
        return 80.0

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return margin_domain(1.0, label)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        # log(1 + e^{-m}) <= L  <=>  m >= -log(e^L - 1) = -L - log(1 - e^{-L})
        with np.errstate(divide="ignore"):
            return margin_sublevel(-level - np.log(-np.expm1(-level)), label)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        def derivative(b: float) -> tuple[float, float]:
            sigma = expit(-label * (score + b))
            return float(-(share * label) @ sigma), float(share @ (sigma * (1.0 - sigma)))

        return newton_root(derivative, start=-float(np.median(score)))

    def constant_intercept(self, mixture: float) -> float | None:
        return 2.0 * math.atanh(mixture)

    @property
    def largest_curvature(self) -> float:
        return 0.25

    def enclosure(self) -> EnclosedLogistic:
        return EnclosedLogistic()

    def compiled(self) -> CompiledLogistic:
        return CompiledLogistic(1.0)
