r"""Error-free transformations: sums and products of floats together with their rounding errors.

.. math:: a + b = \mathrm{fl}(a + b) + e, \qquad a\,b = \mathrm{fl}(a\,b) + e

with e a float: Knuth's TwoSum, which is exact whatever the sizes unless it overflows, and Dekker's TwoProduct with
Veltkamp's splitting, since NumPy has no fused multiply-add, which is exact where :math:`|ab| \ge 2^{-960}`
(Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005).  Where something overflows, one
of the two results is infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError

#: Veltkamp's 2^27 + 1, and the size from which the splitting would overflow
_SPLITTER, _LARGE = 2.0**27 + 1.0, 2.0**990
#: factor that keeps the splitting of large numbers in range
_DOWN, _UP = 2.0**-60, 2.0**60
#: products above this size have a representable error
EXACT_PRODUCTS = 2.0**-960
#: terms from which ``exact_sum`` is faster than ``math.fsum``, terms of a block (512 kB), and parts of a block at most
_MANY_TERMS, _BLOCK, _MOST_PARTS = 1 << 10, 1 << 16, 8
#: parts that leave nothing of entries of about one size, and terms that ``math.fsum`` adds in the time of another part
_PARTS_OF_MOST, _FEW_TERMS = 2, 128
#: entries of larger size are left to ``math.fsum``
_LARGEST_TERM = 2.0**900


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """fl(a + b) and its error, exactly."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """fl(a b) and its error, exactly unless the product is below ``EXACT_PRODUCTS``: then within 2^-1071."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = (((a_high * b_high - product) + a_high * b_low) + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Floats) -> tuple[Floats, Floats]:
    """Two floats of 26 bits each with the sum a."""
    large = np.abs(a) > _LARGE
    if not np.any(large):
        shifted = _SPLITTER * a
        high = shifted - (shifted - a)
        return high, a - high
    scaled = np.where(large, _DOWN * a, a)
    shifted = _SPLITTER * scaled
    high = shifted - (shifted - scaled)
    high = np.where(large, _UP * high, high)
    return high, a - high


def exact_sum(values: Array) -> float:
    """The sum of all entries, rounded once: the result of ``math.fsum``, several times as fast for long arrays.

    Each block is split into parts whose sums are exact (ExtractVector of Rump, Ogita and Oishi, "Accurate
    floating-point summation, part I", SIAM J. Sci. Comput. 31, 2008): with a power of two sigma of at least twice the
    number of terms times the largest of them, fl(fl(sigma + x) - sigma) is a multiple of 2 sigma u, of which that many
    add up to less than sigma, and what it leaves of x is a float again.
    """
    return fsum(_terms(values))


def expansion(values: Array) -> list[float]:
    """Few numbers that add up to the sum of all entries exactly; that of Python's floats where it overflows."""
    terms: list[float] = _terms(values)
    found: list[float] = []
    while (rest := fsum(terms)) != 0.0:
        found.append(rest)
        if not math.isfinite(rest):
            break
        # rounded once, so that what is left is below the last digit
        terms.append(-rest)
    return found


def _terms(values: Array) -> list[float]:
    """Numbers with the same sum as all entries, few of them for long arrays."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    if len(flat) < _MANY_TERMS:
        return flat.tolist()
    blocks = (flat[begin : begin + _BLOCK] for begin in range(0, len(flat), _BLOCK))
    return [part for block in blocks for part in _exact_parts(block)]


def fsum(terms: Iterable[float]) -> float:
    """``math.fsum``, which raises where a sum overflows or has infinities of both signs: infinite or NaN instead."""
    terms = terms if isinstance(terms, list) else list(terms)
    try:
        return math.fsum(terms)
    except OverflowError:
        # of smaller terms, since a sum of this size may overflow on the way only
        with np.errstate(over="ignore"):
            return float(np.float64(math.fsum(_DOWN * term for term in terms)) * _UP)
    except ValueError:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(terms))


def _exact_parts(block: Floats) -> Iterator[float]:
    """Numbers with the same sum as this block, few unless its entries have very different sizes."""
    bits = len(block).bit_length() + 1
    for part in range(_MOST_PARTS):
        if part >= _PARTS_OF_MOST:
            block = block[block != 0.0]
            if len(block) <= _FEW_TERMS:
                break
        largest = max(float(np.max(block)), -float(np.min(block)))
        if largest == 0.0:
            return
        if not largest < _LARGEST_TERM:
            break
        # 1.5 sigma keeps sums with negative entries in the same binade
        cut = math.ldexp(1.5, math.frexp(largest)[1] + bits)
        upper = block + cut
        upper -= cut
        yield float(np.sum(upper))
        block = np.subtract(block, upper, out=upper)
    yield from block.tolist()


def check_arithmetic() -> None:
    """Raise unless sums are rounded to nearest and underflow is gradual, as every enclosure assumes."""
    tiny, half = np.array([2.0**-1022, 2.0**-1074]), np.array([0.5, 1.0])
    if np.any(tiny * half == 0.0) or np.any(tiny[:1] - 1.5 * tiny[:1] == 0.0):
        raise FenchelError(
            "rigorous=True needs gradual underflow, but this process flushes small numbers to zero: some library was "
            "compiled with -ffast-math. Find it, or start a new process without it"
        )
    one, unit = np.array([1.0, -1.0]), 2.0**-53
    if np.any(one + unit * one != one) or np.any(one + 1.5 * unit * one == one):
        raise FenchelError("rigorous=True needs rounding to nearest, but this process rounds in another direction")
