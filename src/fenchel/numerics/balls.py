r"""Ball arithmetic in about twice the precision of float64: arrays of enclosures of real numbers.

A :class:`Ball` holds two floats and a radius for each number x,

.. math:: |x - (h + l)| \le r, \qquad h = \mathrm{fl}(h + l),

so that a number is known to about 32 digits (an unevaluated sum of two floats, "double-double").  Each operation
computes its own error from the residuals of error-free transformations and rounds the radius upwards; nothing is
assumed but IEEE 754 arithmetic, rounded to nearest, with gradual underflow (``error_free.check_arithmetic``).  An
operation without rounding has the radius zero.  Where something overflows, or a divisor may be zero, the radius is
infinite: the ball then says nothing.

====================  ==================================================================
symbol                here
====================  ==================================================================
:math:`h, l, r`       ``high``, ``low``, ``radius``
:math:`2u = 2^{-52}`  ``EPS``: twice the relative error of one operation
====================  ==================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.error_free import EXACT_PRODUCTS, two_product, two_sum
from fenchel.numerics.limits import EPS

Operation = TypeVar("Operation", bound=Callable[..., Any])

#: covers the rounding of a radius, a sum of up to 2^10 non-negative terms
_UPWARDS = 1.0 + 2.0**-42
#: more than the absolute errors that underflow adds to one operation
TINY = 2.0**-1068


def _quiet(operation: Operation) -> Operation:
    """Without warnings of overflow, which the radius reports."""

    @wraps(operation)
    def silent(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return operation(*args)

    return cast(Operation, silent)


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """An array of enclosures, each of the numbers within ``radius`` of ``high + low``."""

    high: Floats
    low: Floats
    radius: Floats

    # NumPy must not take the operators of arrays on the left
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.high.shape

    @property
    def size(self) -> int:
        return int(self.high.size)

    def map(self, function: Callable[[Floats], Any]) -> Ball:
        """A selection or a change of shape, of the three arrays alike."""
        return Ball(np.asarray(function(self.high)), np.asarray(function(self.low)), np.asarray(function(self.radius)))

    def __getitem__(self, index: Any) -> Ball:
        return self.map(lambda values: values[index])

    def put(self, index: Any, found: Ball) -> None:
        """Replace some balls by others."""
        self.high[index], self.low[index], self.radius[index] = found.high, found.low, found.radius

    def __neg__(self) -> Ball:
        return Ball(-self.high, -self.low, self.radius)

    @_quiet
    def __add__(self, other: Ball | ArrayLike) -> Ball:
        other = as_ball(other)
        total, first = two_sum(self.high, other.high)
        lower, second = two_sum(self.low, other.low)
        middle, third = two_sum(first, lower)
        high, low = two_sum(total, middle)
        low, fourth = two_sum(low, second)
        low, fifth = two_sum(low, third)
        high, low = two_sum(high, low)
        return _made(high, low, np.abs(fourth) + np.abs(fifth) + (self.radius + other.radius))

    def __sub__(self, other: Ball | ArrayLike) -> Ball:
        return self + (-as_ball(other))

    def __radd__(self, other: ArrayLike) -> Ball:
        return self + other

    def __rsub__(self, other: ArrayLike) -> Ball:
        return (-self) + other

    @_quiet
    def __mul__(self, other: Ball | ArrayLike) -> Ball:
        other = as_ball(other)
        product, error = two_product(self.high, other.high)
        first, second = self.high * other.low, self.low * other.high
        crossed, third = two_sum(first, second)
        low, fourth = two_sum(error, crossed)
        high, low = two_sum(product, low)
        lost = EPS * (np.abs(first) + np.abs(second)) + np.abs(self.low * other.low) + np.abs(third) + np.abs(fourth)
        spread = self.radius * (other.size_bound() + other.radius) + other.radius * self.size_bound()
        inexact = (first != 0.0) | (second != 0.0) | (spread != 0.0) | (self.radius != 0.0) | (other.radius != 0.0)
        inexact |= (self.low != 0.0) | (other.low != 0.0)
        inexact |= (np.abs(product) < EXACT_PRODUCTS) & (self.high != 0.0) & (other.high != 0.0)
        return _made(high, low, lost + spread + TINY * inexact)

    def __rmul__(self, other: ArrayLike) -> Ball:
        return self * other

    @_quiet
    def __truediv__(self, other: Ball | ArrayLike) -> Ball:
        other = as_ball(other)
        first = self.high / other.high
        rest = self - other * first
        second = rest.high / other.high
        rest = rest - other * second
        high, low = two_sum(first, second)
        error = rest.magnitude()
        return _made(high, low, np.where(error > 0.0, error / other.mignitude() + TINY, 0.0))

    def __rtruediv__(self, other: ArrayLike) -> Ball:
        return as_ball(other) / self

    def __abs__(self) -> Ball:
        negative = (self.high < 0.0) | ((self.high == 0.0) & (self.low < 0.0))
        return Ball(np.where(negative, -self.high, self.high), np.where(negative, -self.low, self.low), self.radius)

    @_quiet
    def maximum(self, other: Ball | ArrayLike) -> Ball:
        """The larger of the two, which is within the larger radius of the larger centre."""
        other = as_ball(other)
        # high is the rounded sum of both, so that pairs are ordered like their sums
        first = (self.high > other.high) | ((self.high == other.high) & (self.low >= other.low))
        radius = np.where(
            first,
            np.where((self - other).nonnegative(), self.radius, np.maximum(self.radius, other.radius)),
            np.where((other - self).nonnegative(), other.radius, np.maximum(self.radius, other.radius)),
        )
        return Ball(np.where(first, self.high, other.high), np.where(first, self.low, other.low), radius)

    def minimum(self, other: Ball | ArrayLike) -> Ball:
        return -((-self).maximum(-as_ball(other)))

    @_quiet
    def sqrt(self) -> Ball:
        """The square roots of numbers that are not negative."""
        start = np.sqrt(np.maximum(self.high, 0.0))
        safe = np.where(start > 0.0, start, 1.0)
        rest = self - as_ball(start) * start
        high, low = two_sum(start, np.where(start > 0.0, rest.high / (2.0 * safe), 0.0))
        found = Ball(high, low, np.zeros_like(high))
        # sqrt(x) - y = (x - y^2) / (sqrt(x) + y)
        error = (self - found * found).magnitude()
        near = np.where(error > 0.0, error / found.mignitude() + TINY, 0.0)
        at_zero = np.where(self.magnitude() > 0.0, np.sqrt(self.magnitude()) + TINY, 0.0)
        return _made(high, low, np.where(start > 0.0, near, at_zero))

    @_quiet
    def ldexp(self, exponent: NDArray[np.integer[Any]] | int) -> Ball:
        """The numbers times powers of two."""
        high, low, radius = (np.ldexp(part, exponent) for part in (self.high, self.low, self.radius))
        lost = ((np.abs(high) < EXACT_PRODUCTS) & (self.high != 0.0)) | (self.low != 0.0) | (self.radius != 0.0)
        return _made(high, low, radius + TINY * lost)

    def sum(self, axis: int | None = None) -> Ball:
        """The sum over an axis, or of all numbers, by a tree of additions."""
        found = self.map(np.ravel) if axis is None else self.map(lambda values: np.moveaxis(values, axis, 0))
        count = found.shape[0]
        if not count:
            return zeros(found.shape[1:])
        while count > 1:
            half = (count + 1) // 2
            pairs = found[: count - half] + found[half:count]
            found = pairs if count % 2 == 0 else concatenate([pairs, found[count - half : half]])
            count = half
        return found[0]

    def size_bound(self) -> Floats:
        """|h| + |l| in floats: the size of the centre up to one rounding."""
        return np.abs(self.high) + np.abs(self.low)

    def magnitude(self) -> Floats:
        """Upper bounds on the absolute values."""
        return abs(self).upper()

    def mignitude(self) -> Floats:
        """Lower bounds on the absolute values, at least zero."""
        return np.maximum(abs(self).lower(), 0.0)

    def upper(self) -> Floats:
        """Floats that no number exceeds."""
        with np.errstate(all="ignore"):
            rest = np.nextafter(self.low + self.radius, np.inf)
            above = np.nextafter(self.high + rest, np.inf)
            above = np.where((self.low == 0.0) & (self.radius == 0.0), self.high, above)
        return np.where(np.isinf(self.radius), np.inf, above)

    def lower(self) -> Floats:
        """Floats that no number is below."""
        return -(-self).upper()

    def centre_sign(self) -> Floats:
        """The sign of the centre."""
        return np.where(self.high == 0.0, np.sign(self.low), np.sign(self.high))

    def nonnegative(self) -> NDArray[np.bool_]:
        """Whether the numbers are proved to be >= 0."""
        exact = (self.radius == 0.0) & (self.centre_sign() >= 0.0)
        with np.errstate(invalid="ignore"):
            return exact | (np.nextafter(self.radius - self.low, np.inf) <= self.high)

    def positive(self) -> NDArray[np.bool_]:
        """Whether the numbers are proved to be > 0."""
        return self.nonnegative() & (self.mignitude() > 0.0)

    def is_zero(self) -> NDArray[np.bool_]:
        """Whether the numbers are known to be exactly zero."""
        return (self.high == 0.0) & (self.low == 0.0) & (self.radius == 0.0)

    def widened(self, error: Floats | float) -> Ball:
        """The same centres with a larger radius."""
        with np.errstate(all="ignore"):
            return _made(self.high, self.low, self.radius + error)

    def centre(self) -> Ball:
        """The centres as exact numbers, of balls with a finite radius."""
        return Ball(self.high, self.low, np.zeros_like(self.high))


def _made(high: Floats, low: Floats, radius: Floats) -> Ball:
    """The ball with its radius rounded upwards, which is infinite where something overflowed."""
    radius = _UPWARDS * radius
    known = np.isfinite(high) & np.isfinite(low) & np.isfinite(radius)
    if not np.all(known):
        high, low, radius = np.where(known, high, 0.0), np.where(known, low, 0.0), np.where(known, radius, np.inf)
    return Ball(np.asarray(high), np.asarray(low), np.asarray(radius))


def as_ball(values: Ball | ArrayLike) -> Ball:
    """Floats as exact numbers; a ball as it is."""
    if isinstance(values, Ball):
        return values
    found = np.asarray(values, dtype=np.float64)
    return Ball(found, np.zeros_like(found), np.zeros_like(found))


def from_fraction(number: Fraction) -> Ball:
    """A rational number."""
    high = float(number)
    low = float(number - Fraction(high))
    rest = abs(number - Fraction(high) - Fraction(low))
    return Ball(np.array(high), np.array(low), np.array(math.nextafter(float(rest), math.inf) if rest else 0.0))


def zeros(shape: tuple[int, ...]) -> Ball:
    """Exact zeros."""
    return as_ball(np.zeros(shape))


def unknown(shape: tuple[int, ...] = ()) -> Ball:
    """Balls that say nothing."""
    return Ball(np.zeros(shape), np.zeros(shape), np.full(shape, np.inf))


def where(condition: Array, first: Ball | ArrayLike, second: Ball | ArrayLike) -> Ball:
    """The balls of the first where the condition holds, of the second elsewhere."""
    first, second = as_ball(first), as_ball(second)
    pairs = ((first.high, second.high), (first.low, second.low), (first.radius, second.radius))
    return Ball(*(np.where(condition, one, other) for one, other in pairs))


def _joined(join: Callable[[Sequence[Floats]], Floats], parts: Sequence[Ball]) -> Ball:
    return Ball(
        join([part.high for part in parts]), join([part.low for part in parts]), join([part.radius for part in parts])
    )


def concatenate(parts: Sequence[Ball]) -> Ball:
    """The balls one after the other."""
    return _joined(np.concatenate, parts)


def stack(parts: Sequence[Ball], axis: int = 0) -> Ball:
    """The balls along a new axis."""
    return _joined(lambda values: np.stack(values, axis=axis), parts)
