r"""Elementary functions of balls: exp, expm1, log, log1p, powers and asinh, with proved remainders.

Nothing is assumed about NumPy's functions: a logarithm starts from NumPy's, whatever its error, and encloses the
difference.

.. math::
    e^x - 1 = \Bigl(1 + E_m\Bigr)2^k - 1, \qquad E_0 = \sum_{j\le N} \frac{t^j}{j!} + \rho, \quad
    t = \frac{x - k\ln 2}{2^m}, \quad |\rho| \le \frac{2|t|^{N+1}}{(N+1)!}, \qquad E_{i+1} = E_i(2 + E_i)

    \ln(1 + w) = y + \ln(1 + z), \qquad z = \frac{w - (e^y - 1)}{e^y}, \quad y \approx \ln(1 + w), \quad
    \Bigl|\ln(1 + z) - z + \tfrac{z^2}{2} - \tfrac{z^3}{3}\Bigr| \le \frac{z^4}{2}

The radius of an argument is not part of these formulas: they are evaluated at the centre, and the result is widened by
the largest slope of the function over the ball.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fenchel.numerics.balls import TINY, Ball, as_ball, unknown, where

#: ln 2 as a sum of two floats; the rest is 5.7e-34
LN2 = Ball(np.array(0.6931471805599453), np.array(2.3190468138462996e-17), np.array(6e-34))
#: m halvings of the argument, and the degree N of Taylor's polynomial
_HALVINGS, _DEGREE = 7, 11
_COEFFICIENTS = [as_ball(1.0) / float(math.factorial(j)) for j in range(_DEGREE + 1)]
_REMAINDER = 2.0 / math.factorial(_DEGREE + 1)
#: exponents beyond which e^x is below 2^-1100 or overflows
_SMALLEST, _LARGEST = -770.0, 720.0
#: |z| above which the guess of a logarithm was wrong
_WRONG_GUESS = 2.0**-10


def exp(x: Ball) -> Ball:
    """e^x; infinite radius where it overflows."""
    grown, exponent = _reduced(x)
    result = (grown + 1.0).ldexp(exponent)
    small = x.high < _SMALLEST
    result = where(small, Ball(*(np.zeros_like(x.high),) * 2, np.full_like(x.high, TINY)), result)
    return _widened_exp(x, result)


def expm1(x: Ball) -> Ball:
    """e^x - 1, accurate near zero."""
    grown, exponent = _reduced(x)
    result = where(exponent == 0, grown, (grown + 1.0).ldexp(exponent) - 1.0)
    below = Ball(np.full_like(x.high, -1.0), np.zeros_like(x.high), np.full_like(x.high, TINY))
    return _widened_exp(x, where(x.high < _SMALLEST, below, result), 1.0)


def log(x: Ball) -> Ball:
    """The logarithm of positive numbers; infinite radius where a number may be <= 0."""
    return _log(x, as_ball(np.zeros_like(x.high)), np.zeros(x.shape, dtype=bool))


def log1p(w: Ball) -> Ball:
    """log(1 + w), accurate near zero, for w > -1."""
    return _log(w + 1.0, w, np.abs(w.high) < 0.25)


def _log(x: Ball, rest: Ball, near: NDArray[np.bool_]) -> Ball:
    """log(x), with x = 1 + ``rest`` where x is ``near`` one."""
    with np.errstate(all="ignore"):
        usable = x.positive()
        mantissa, exponent = np.frexp(np.where(usable, x.high, 1.0))
        # between sqrt(1/2) and sqrt(2)
        exponent = np.where(near, 0, exponent - (mantissa < math.sqrt(0.5)))
        reduced = where(usable, x.centre(), 1.0).ldexp(-exponent) - 1.0
        reduced = where(near & usable, rest.centre(), reduced)
        result = _log1p_near(reduced) + LN2 * exponent.astype(np.float64)
        # the radius of the argument, over the smallest number of the ball
        radius = np.where(near, rest.radius, x.radius)
        error = np.where(radius > 0.0, radius / x.lower() * (1.0 + 2.0**-40) + TINY, 0.0)
        return result.widened(np.where(usable, error, np.inf))


def power(x: Ball, exponent: Ball | float) -> Ball:
    """x^p for x >= 0 and p > 0; zero at zero."""
    zero, exponent = x.is_zero(), as_ball(exponent)
    found = exp(log(where(zero, 1.0, x)) * exponent)
    # for a number that may be zero the power is between zero and that of the upper bound
    unclear = ~x.positive() & ~zero & np.isfinite(x.upper())
    if np.any(unclear):
        top = as_ball(np.where(unclear, np.maximum(x.upper(), 2.0**-1000), 1.0))
        bound = exp(log(top) * exponent).upper()
        found = where(unclear, Ball(0.0 * bound, 0.0 * bound, bound), found)
    return where(zero, 0.0, found)


def xlogx(x: Ball, *, nonnegative: bool = False) -> Ball:
    """x ln x for x >= 0, zero at zero; infinite radius where x may be negative, unless it is known not to be."""
    zero, positive = x.is_zero(), x.positive()
    found = x * log(where(positive, x, 1.0))
    # |x ln x| rises up to 1/e: over [0, r] it is largest at r
    unclear = ~positive & ~zero & (x.nonnegative() | nonnegative) & (x.upper() < 0.25)
    if np.any(unclear):
        top = as_ball(np.where(unclear, np.maximum(x.upper(), 2.0**-1000), 1.0))
        bound = (top * log(top)).magnitude()
        found = where(unclear, Ball(0.0 * bound, 0.0 * bound, bound), found)
    return where(zero, 0.0, where(positive | unclear, found, unknown(x.shape)))


def asinh(x: Ball) -> Ball:
    """The inverse hyperbolic sine."""
    size = abs(x)
    # sqrt(1 + x^2) - 1 = x^2 / (1 + sqrt(1 + x^2)), with x^2 avoided where it overflows
    inverse = 1.0 / size.maximum(1.0)
    above = (size.high > 1.0) | ((size.high == 1.0) & (size.low > 0.0))
    root = where(above, size.maximum(1.0) * (inverse * inverse + 1.0).sqrt(), (_square_below(size) + 1.0).sqrt())
    found = log1p(size + size * (size / (root + 1.0)))
    negative = x.centre_sign() < 0.0
    return where(negative, -found, found)


def _square_below(size: Ball) -> Ball:
    """The squares of numbers up to one; of one elsewhere."""
    bounded = size.minimum(1.0)
    return bounded * bounded


def _reduced(x: Ball) -> tuple[Ball, NDArray[np.int64]]:
    """E and k with e^x = (1 + E) 2^k, at the centre of x."""
    with np.errstate(all="ignore"):
        inside = np.clip(x.high, _SMALLEST, _LARGEST)
        exponent = np.rint(inside / LN2.high)
        centre = Ball(inside, np.where(inside == x.high, x.low, 0.0), np.zeros_like(inside))
        t = (centre - LN2 * exponent) * 2.0**-_HALVINGS
        total = as_ball(np.zeros_like(inside)) + _COEFFICIENTS[_DEGREE]
        for coefficient in reversed(_COEFFICIENTS[1:_DEGREE]):
            total = total * t + coefficient
        size = t.magnitude()
        grown = (total * t).widened(np.where(size > 0.0, 2.0 * _REMAINDER * size ** (_DEGREE + 1) + TINY, 0.0))
        for _ in range(_HALVINGS):
            grown = grown * (grown + 2.0)
        grown = where(x.high > _LARGEST, grown.widened(np.inf), grown)
    return grown, exponent.astype(np.int64)


def _widened_exp(x: Ball, found: Ball, shift: float = 0.0) -> Ball:
    """The exponential (less ``shift``) over the whole ball: e^r - 1 <= r + r^2 for r <= 1."""
    with np.errstate(all="ignore"):
        growth = np.where(x.radius <= 1.0, x.radius * (1.0 + x.radius), np.inf)
        size = (found + shift).magnitude()
        return found.widened(np.where(x.radius > 0.0, growth * size * (1.0 + 2.0**-40) + TINY, 0.0))


def _log1p_near(w: Ball) -> Ball:
    """log(1 + w) of exact w between -0.3 and 0.5."""
    start = np.log1p(w.high)
    grown = expm1(as_ball(start))
    z = (w - grown) / (grown + 1.0)
    square = z * z
    found = (z - square * 0.5) + square * z * (as_ball(1.0) / 3.0)
    size = z.magnitude()
    remainder = np.where(size < _WRONG_GUESS, np.where(size > 0.0, size**4 + TINY, 0.0), np.inf)
    return found.widened(remainder) + start
