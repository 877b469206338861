r"""Error-free transformations: sums and products of floats together with their rounding errors.

.. math:: a + b = \mathrm{fl}(a + b) + e, \qquad a\,b = \mathrm{fl}(a\,b) + e

with e a float: Knuth's TwoSum, which is exact whatever the sizes unless it overflows, and Dekker's TwoProduct with
Veltkamp's splitting, since NumPy has no fused multiply-add, which is exact where :math:`|ab| \ge 2^{-960}`
(Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005).  Where something overflows, one
of the two results is infinite or NaN.
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError

#: Veltkamp's 2^27 + 1, and the size from which the splitting would overflow
_SPLITTER, _LARGE = 2.0**27 + 1.0, 2.0**990
#: factor that keeps the splitting of large numbers in range
_DOWN, _UP = 2.0**-60, 2.0**60
#: products above this size have a representable error
EXACT_PRODUCTS = 2.0**-960


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
