r"""Bounds on rounding errors in float64 that hold for any order of summation.

A sum of products with at most m additions on the way of each term has, in whatever order and with or without fused
multiply-add (Higham, "Accuracy and stability of numerical algorithms", 2002, Sec. 3.1 and 4.2),

.. math::
    |\mathrm{fl}(a^Tb) - a^Tb| \le \gamma_m\,|a|^T|b|, \qquad \gamma_m = \frac{mu}{1 - mu}, \qquad u = 2^{-53},

except for underflow, at most :math:`2^{-1074}` for each product.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Array

#: u, the largest relative error of one operation
UNIT = 2.0**-53
#: errors of an elementary function, in units of u: NumPy and SciPy state 4 ulp or less for exp, expm1, log, log1p and
#: powers
FUNCTION = 8.0
#: errors of a formula of a few sums, products and quotients alone
RATIONAL = 4.0
#: errors of a formula with at most three elementary functions
ELEMENTARY = 3.0 * FUNCTION + RATIONAL
#: rows that are added one after the other before the tree of ``tree_sum`` begins, which is faster for many terms
_WIDTH, _MANY_TERMS = 16, 1 << 12
#: terms up to which an exact sum of Python floats takes less time than a tree of NumPy's sums
_FEW_TERMS = 128
#: entries of a temporary block (512 kB)
_SMALL_BLOCK = 1 << 16


def gamma(additions: float) -> float:
    r""":math:`\gamma_m` for m roundings on the way of each term; infinite where the bound says nothing."""
    rounded = additions * UNIT
    return rounded / (1.0 - rounded) if rounded < 1.0 else math.inf


def tree_sum(values: Array) -> float:
    """The sum of all entries, each of which takes part in at most ``tree_depth`` additions."""
    flat = np.ravel(values)
    # objects, with which tests count additions, have no exact sum
    most = _FEW_TERMS if flat.dtype == np.float64 else 1
    if len(flat) >= _MANY_TERMS:
        # one pass over the array: NumPy adds these rows one after the other
        whole = len(flat) // _WIDTH
        rest = flat[whole * _WIDTH :]
        flat = np.add.reduce(flat[: whole * _WIDTH].reshape(_WIDTH, whole), axis=0)
        flat[: len(rest)] += rest
    elif len(flat) > most:
        flat = flat.copy()
    count = len(flat)
    while count > most:
        half = (count + 1) // 2
        np.add(flat[: count - half], flat[half:count], out=flat[: count - half])
        count = half
    return _exact_sum(flat[:count])


def _exact_sum(few: Array) -> float:
    """The sum, rounded once."""
    try:
        return math.fsum(few.tolist())
    except (OverflowError, ValueError):
        # the sum overflows, or has infinities of both signs
        return float(np.sum(few))


def absolute_sum(values: Array) -> float:
    """A bound on the sum of the absolute values, in blocks of rows."""
    step = max(1, _SMALL_BLOCK // max(1, values[:1].size))
    total = sum(float(np.sum(np.abs(values[begin : begin + step]))) for begin in range(0, len(values), step))
    return (1.0 + 1e-6) * total


def tree_depth(count: int) -> int:
    """The additions on the way of one of ``count`` terms through ``tree_sum``."""
    if count < _MANY_TERMS:
        return max(0, count - 1).bit_length()
    # the rows and the rest, and the tree of their sums
    return _WIDTH + (count // _WIDTH - 1).bit_length()
