r"""Losses with a power: Zhang (2002), eqs. (18) and (21), the dual pairs 8 and 10 of Appendix E.

With :math:`z = [1 - ys]_+` for the margin or :math:`z = [|s - y| - \epsilon]_+` for the residual, and
:math:`1/p + 1/q = 1`,

.. math::
    f = \tfrac1p z^p, \qquad
    f^*(u, y) = \tfrac1q\beta^q - \beta \;(\beta = -yu \ge 0) \quad\text{or}\quad
    f^*(u, y) = uy + \epsilon|u| + \tfrac1q|u|^q

p = 1 and p = 2 are piecewise linear and quadratic, so they take the forms of ``losses.margin`` and
``losses.epsilon_insensitive``; this file has every other p.  The dual step (13) from :math:`\beta_0` with curvature c
solves

.. math:: z + c\beta = t, \qquad \beta = z^{p-1}, \qquad t = 1 - ys + c\beta_0

(for the residual the size of :math:`y - s + c\alpha_0` less :math:`\epsilon`), and is zero for :math:`t \le 0`.
Written for z if p > 2, and for :math:`\beta` if p < 2, this is :math:`ax + bx^r = t` with r > 1: convex and
increasing.  The smaller of :math:`t/a` and :math:`(t/b)^{1/r}` lies above the root, where the left side is at most 2t;
Newton's steps from there fall towards the root and can't pass it, so they need no safeguard but the end at which they
no longer fall.

For 1 < p < 2 the derivative exists but its own derivative grows like :math:`z^{p-2}` near the kink: such a loss is not
``smooth``, and methods that need a bounded second derivative smooth it.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fenchel.arrays import Floats
from fenchel.losses.base import CompiledLoss, Loss, PiecewiseQuadratic, margin_domain, margin_sublevel, never_below
from fenchel.losses.enclosures import EnclosedLoss, EnclosedPower
from fenchel.losses.intercept import feasible_interval, flat_or_root
from fenchel.numerics.rounding import FUNCTION


class CompiledPower(NamedTuple):
    """Both losses for compiled loops: 1 for the margin or 0 for the residual, epsilon and p."""

    margin: float
    tube: float
    power: float

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """The root of z + c beta = t, by Newton's steps from above."""
        sign, target = (label, 1.0) if self.margin > 0.0 else (1.0, label)
        push = target - sign * score + curvature * sign * alpha
        size = abs(push) - self.tube
        if size <= 0.0 or (self.margin > 0.0 and push < 0.0):
            return 0.0
        small = self.power < 2.0
        # a x + b x^r = size, for beta if p < 2, else for z
        r = 1.0 / (self.power - 1.0) if small else self.power - 1.0
        a, b = (curvature, 1.0) if small else (1.0, curvature)
        x = math.exp((math.log(size) - math.log(b)) / r) if b > 0.0 else math.inf
        x = min(x, size / a) if a > 0.0 else x
        if a > 0.0 and b > 0.0 and x > 0.0:
            for _ in range(100):
                term = b * math.exp((r - 1.0) * math.log(x))
                following = x - (a * x + term * x - size) / (a + r * term)
                if not 0.0 < following < x:
                    break
                x = following
        if not small:
            logarithm = r * math.log(x) if x > 0.0 else -math.inf
            x = math.exp(logarithm) if logarithm < 709.0 else math.inf
        return sign * math.copysign(x, push)

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Minus the KKT violation of alpha; positive at zero where the condition holds strictly."""
        sign, target = (label, 1.0) if self.margin > 0.0 else (1.0, label)
        push, beta = target - sign * score, sign * alpha
        if beta == 0.0:
            return -push if self.margin > 0.0 else self.tube - abs(push)
        logarithm = math.log(abs(beta)) / (self.power - 1.0)
        z = math.exp(logarithm) if logarithm < 709.0 else math.inf
        return -abs(push - math.copysign(z + self.tube, beta))

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """f + f* + alpha s = z^p/p + beta^q/q - beta z, with z below zero where f is zero."""
        sign, target = (label, 1.0) if self.margin > 0.0 else (1.0, label)
        push, beta = target - sign * score, sign * alpha
        size = push if self.margin > 0.0 else abs(push) - self.tube
        # beta z, with z below zero where the loss is zero
        pull = beta * push if self.margin > 0.0 else beta * push - abs(beta) * self.tube
        q = self.power / (self.power - 1.0)
        value = -pull
        if size > 0.0:
            logarithm = self.power * math.log(size)
            value += math.exp(logarithm) / self.power if logarithm < 709.0 else math.inf
        if beta != 0.0:
            logarithm = q * math.log(abs(beta))
            value += math.exp(logarithm) / q if logarithm < 709.0 else math.inf
        return max(value, 0.0)

    def hess_conjugate(self, label: float, alpha: float) -> float:
        """The second derivative of the conjugate, (q - 1) beta^(q - 2); infinite at zero."""
        if alpha == 0.0:
            return math.inf
        q = self.power / (self.power - 1.0)
        logarithm = (q - 2.0) * math.log(abs(alpha))
        return (q - 1.0) * math.exp(logarithm) if logarithm < 709.0 else math.inf


@dataclass(frozen=True)
class PowerLoss(Loss):
    """The vectorized functions for p other than 1 and 2; users see ``Hinge`` and ``EpsilonInsensitive``."""

    name: ClassVar[str] = "power"
    has_hess_conjugate: ClassVar[bool] = True
    #: the power, its quotient, q twice, and two sums
    conjugate_roundings: ClassVar[tuple[float, float]] = (0.0, FUNCTION + 6.0)
    task: str = "classification"  # type: ignore[misc]
    epsilon: float = 0.0
    power: float = 3.0

    @property
    def smooth(self) -> bool:
        return self.power >= 2.0

    @property
    def roundings(self) -> float:  # type: ignore[override]
        """Those of z, which the power multiplies, of the power and of the quotient."""
        return self.power + FUNCTION + 2.0

    @property
    def score_roundings(self) -> float:
        """The rounding of s - y, which is relative unless epsilon is subtracted from it."""
        return 1.0 if self.epsilon else 0.0

    @property
    def _of_margin(self) -> bool:
        return self.task == "classification"

    def value(self, score: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return self._size(score, label) ** self.power / self.power

    def derivative(self, score: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore"):
            derivative = self._size(score, label) ** (self.power - 1.0)
        return -label * derivative if self._of_margin else np.copysign(derivative, score - label)

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        q = self.power / (self.power - 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            curved = np.abs(u) ** q / q
            # where it overflows it outweighs the linear part
            return np.where(np.isinf(curved), curved, never_below(curved + u * label + self.epsilon * np.abs(u)))

    def score_offset(self, label: Floats) -> Floats:
        return np.abs(label) + self.epsilon

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            curved = np.abs(u) ** (1.0 / (self.power - 1.0))
            # q itself is rounded, which the logarithm of u multiplies
            return (
                np.abs(label) + self.epsilon + np.where(curved > 0.0, curved * (1.0 + np.abs(np.log(np.abs(u)))), 0.0)
            )

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        if self._of_margin:
            return margin_domain(math.inf, label)
        return np.full_like(label, -np.inf), np.full_like(label, np.inf)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        z = (self.power * level) ** (1.0 / self.power) + self.epsilon
        return margin_sublevel(1.0 - z, label) if self._of_margin else (label - z, label + z)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        counted = share > 0
        score, label, share = score[counted], label[counted], share[counted]

        def derivative(b: float) -> tuple[float, float]:
            z = self._size(score + b, label)
            with np.errstate(divide="ignore"):
                second = (self.power - 1.0) * np.where(z > 0.0, z ** (self.power - 2.0), 0.0)
            return float(share @ self.derivative(score + b, label)), float(share @ second)

        if self._of_margin:
            low, high = feasible_interval(score, label)
        else:
            low, high = float(np.max(label - score)) - self.epsilon, float(np.min(label - score)) + self.epsilon
        if low <= high or self.smooth:
            return flat_or_root(low, high, derivative)
        # rounding moves a score off its kink, where the derivative is steep: it may have the sign of the other side
        for end, outwards in ((high, 1.0), (low, -1.0)):
            if outwards * derivative(end)[0] >= 0.0:
                return end
        # here, since scipy.optimize takes longer to import than most fits
        from scipy.optimize import brentq

        # the second derivative has poles, where Newton steps would stop early; the minimizer is between the kinks
        return float(brentq(lambda b: derivative(b)[0], high, low, xtol=1e-300, rtol=8.9e-16, maxiter=1000))

    def enclosure(self) -> EnclosedPower:
        return EnclosedPower(self._of_margin, float(self.epsilon), float(self.power))

    def compiled(self) -> CompiledPower:
        return CompiledPower(1.0 if self._of_margin else 0.0, float(self.epsilon), float(self.power))

    def _size(self, score: Floats, label: Floats) -> Floats:
        """z, the size of the error."""
        push = 1.0 - label * score if self._of_margin else np.abs(score - label) - self.epsilon
        return np.maximum(push, 0.0)


@dataclass(frozen=True)
class OfPower(Loss):
    """Base class of losses with a parameter ``power``: delegates to the simplest form."""

    has_hess_conjugate: ClassVar[bool] = True
    least_is_zero: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def form(self) -> Loss:
        """The same function, without a choice."""

    @property
    def smooth(self) -> bool:
        return self.form.smooth

    @property
    def roundings(self) -> float:  # type: ignore[override]
        return self.form.roundings

    @property
    def score_roundings(self) -> float:
        return self.form.score_roundings

    @property
    def conjugate_roundings(self) -> tuple[float, float]:
        return self.form.conjugate_roundings

    def value(self, score: Floats, label: Floats) -> Floats:
        return self.form.value(score, label)

    def derivative(self, score: Floats, label: Floats) -> Floats:
        return self.form.derivative(score, label)

    def conjugate(self, u: Floats, label: Floats) -> Floats:
        return self.form.conjugate(u, label)

    def score_offset(self, label: Floats) -> Floats:
        return self.form.score_offset(label)

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        return self.form.conjugate_slope(u, label)

    @property
    def largest_conjugate_slope(self) -> float:
        return self.form.largest_conjugate_slope

    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        return self.form.domain(label)

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        return self.form.sublevel(level, label)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        return self.form.best_intercept(score, label, share)

    def piecewise_quadratic(self) -> PiecewiseQuadratic | None:
        return self.form.piecewise_quadratic()

    def enclosure(self) -> EnclosedLoss | None:
        return self.form.enclosure()

    def compiled(self) -> CompiledLoss:
        return self.form.compiled()
