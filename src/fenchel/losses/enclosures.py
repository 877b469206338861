r"""Losses and their conjugates in ball arithmetic, for rigorous certificates.

The formulas are those of the definitions (the tables of the other files of this folder): in twice the precision nothing
has to be rearranged.  A conjugate has an infinite radius wherever u is not proved to lie in its domain, and a
constraint an infinite value wherever it is not proved to hold.

==============================  =======================================================
class                           losses
==============================  =======================================================
``EnclosedMargin``              hinge, squared hinge, Huberized hinge
``EnclosedResidual``            squared, absolute, epsilon-insensitive, Huber, quantile
``EnclosedPower``               other powers of both
``EnclosedLogistic``            logistic
``EnclosedExponential``         exponential
``EnclosedPoisson``             Poisson
``EnclosedMarginConstraint``    hard margin
``EnclosedResidualConstraint``  interpolation
``EnclosedNegativeLog``         negative logarithm
==============================  =======================================================
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Floats
from fenchel.numerics.ball_functions import exp, log, log1p, power, xlogx
from fenchel.numerics.balls import Ball, as_ball, unknown, where


class EnclosedLoss(Protocol):
    """A loss f(s, y) and its conjugate in ball arithmetic."""

    def value(self, score: Ball, label: Floats) -> Ball:
        """f(s, y)."""
        ...

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        """f*(u, y), with an infinite radius where u is not proved to lie in its domain."""
        ...


def _within(inside: NDArray[np.bool_], found: Ball) -> Ball:
    return where(inside, found, unknown(found.shape))


class EnclosedMargin(NamedTuple):
    """f = beta (z - kappa beta/2), beta = min(z/kappa, h), z = [1 - ys]_+; f* = kappa beta^2/2 - beta up to h."""

    kappa: float
    high: float

    def value(self, score: Ball, label: Floats) -> Ball:
        z = (1.0 - score * label).maximum(0.0)
        if self.kappa == 0.0:
            return z * self.high
        beta = z / self.kappa
        beta = beta.minimum(self.high) if np.isfinite(self.high) else beta
        return beta * (z - beta * (0.5 * self.kappa))

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        beta = -u * label
        inside = beta.nonnegative()
        if np.isfinite(self.high):
            inside &= (self.high - beta).nonnegative()
        return _within(inside, beta * beta * (0.5 * self.kappa) - beta)


class EnclosedResidual(NamedTuple):
    """f* = uy + eps |u| + kappa u^2/2 for -l <= u <= h, as in ``losses.residual``; None is no bound."""

    tube: float
    kappa: float
    low: Ball | None
    high: Ball | None

    def value(self, score: Ball, label: Floats) -> Ball:
        residual = score - label
        above, below = (residual - self.tube).maximum(0.0), (-residual - self.tube).maximum(0.0)
        return self._side(above, self.high) + self._side(below, self.low)

    def _side(self, size: Ball, bound: Ball | None) -> Ball:
        """f at this distance from the tube, zero at zero."""
        if self.kappa == 0.0:
            return size * as_ball(1.0 if bound is None else bound)
        slope = size / self.kappa
        slope = slope if bound is None else slope.minimum(bound)
        return slope * (size - slope * (0.5 * self.kappa))

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        inside = np.isfinite(u.radius)
        if self.low is not None:
            inside &= (u + self.low).nonnegative()
        if self.high is not None:
            inside &= (self.high - u).nonnegative()
        return _within(inside, u * label + abs(u) * self.tube + u * u * (0.5 * self.kappa))


class EnclosedPower(NamedTuple):
    """f = z^p/p and f* = |u|^q/q + uy + eps |u|, of the margin or of the residual."""

    of_margin: bool
    tube: float
    exponent: float

    def value(self, score: Ball, label: Floats) -> Ball:
        size = 1.0 - score * label if self.of_margin else abs(score - label) - self.tube
        return power(size.maximum(0.0), self.exponent) / self.exponent

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        q = as_ball(self.exponent) / (as_ball(self.exponent) - 1.0)
        found = power(abs(u), q) / q + u * label + abs(u) * self.tube
        return _within((-u * label).nonnegative(), found) if self.of_margin else found


class EnclosedLogistic(NamedTuple):
    """f = ln(1 + e^-m), f* = beta ln beta + (1 - beta) ln(1 - beta)."""

    def value(self, score: Ball, label: Floats) -> Ball:
        margin = score * label
        return log1p(exp(-abs(margin))) + (-margin).maximum(0.0)

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        beta = -u * label
        rest = 1.0 - beta
        inside = beta.nonnegative() & rest.nonnegative()
        # ln(1 - beta) by log1p, so that a small beta counts
        ended = ~rest.positive()
        second = where(ended, xlogx(rest), rest * log1p(where(ended, 0.0, -beta)))
        return _within(inside, xlogx(beta) + second)


class EnclosedExponential(NamedTuple):
    """f = e^-m, f* = beta ln beta - beta."""

    def value(self, score: Ball, label: Floats) -> Ball:
        return exp(-score * label)

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        beta = -u * label
        return xlogx(beta) - beta


class EnclosedPoisson(NamedTuple):
    """f = e^s - ys + y ln y - y, f* = v ln v - v - y ln y + y with v = u + y."""

    def value(self, score: Ball, label: Floats) -> Ball:
        return exp(score) - score * label + (xlogx(as_ball(label)) - label)

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        mean = u + label
        return (xlogx(mean) - xlogx(as_ball(label))) - u


class EnclosedMarginConstraint(NamedTuple):
    """f = 0 where ys >= 1; f* = -beta."""

    def value(self, score: Ball, label: Floats) -> Ball:
        return _within((score * label - 1.0).nonnegative(), as_ball(np.zeros(score.shape)))

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        return _within((-u * label).nonnegative(), u * label)


class EnclosedResidualConstraint(NamedTuple):
    """f = 0 where |s - y| <= tolerance; f* = uy + tolerance |u|."""

    tolerance: float

    def value(self, score: Ball, label: Floats) -> Ball:
        return _within((self.tolerance - abs(score - label)).nonnegative(), as_ball(np.zeros(score.shape)))

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        return u * label + abs(u) * self.tolerance


class EnclosedNegativeLog(NamedTuple):
    """f = -ln(ys), f* = -1 - ln beta."""

    def value(self, score: Ball, label: Floats) -> Ball:
        return -log(score * label)

    def conjugate(self, u: Ball, label: Floats) -> Ball:
        return -1.0 - log(-u * label)
