r"""Bounds on rounding errors in float64 that hold for any order of summation.

A sum of products with at most m additions on the way of each term has, in whatever order and with or without fused
multiply-add (Higham, "Accuracy and stability of numerical algorithms", 2002, Sec. 3.1 and 4.2),

.. math::
    |\mathrm{fl}(a^Tb) - a^Tb| \le \gamma_m\,|a|^T|b|, \qquad \gamma_m = \frac{mu}{1 - mu}, \qquad u = 2^{-53},

except for underflow, at most :math:`2^{-1074}` for each product, quotient or function (sums do not underflow).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.error_free import fsum

#: an array
T = TypeVar("T", bound=Any)
#: u, the largest relative error of one operation
UNIT = 2.0**-53
#: what underflow adds at most to a term of up to 64 products, quotients and functions
UNDERFLOW = 2.0**-1068
#: size of a number whose relative error of u is 2^-1074: added to the sizes of numbers that may underflow
SMALLEST_SIZE = 2.0**-1021
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


def tree_sum(values: Array, term: Callable[[Array], Array] = np.copy) -> float:
    """The sum of the term of each entry, itself by default; each takes part in at most ``tree_depth`` additions.

    ``term`` returns a new array; that of many entries is called for a few of them at a time, which needs no array of
    all terms.
    """
    flat = values.ravel() if isinstance(values, np.ndarray) else np.ravel(values)
    kind = flat.dtype.kind
    if kind in "biuf" and flat.dtype.itemsize < 8:
        # sums of float32 would be rounded to float32
        narrow, term = term, lambda part: narrow(part.astype(np.float64))
    # objects, with which tests count additions, have no exact sum
    most = _FEW_TERMS if kind in "biuf" else 1
    if len(flat) >= _MANY_TERMS:
        whole = len(flat) // _WIDTH
        rest = term(flat[whole * _WIDTH :])
        if term is np.copy:
            # one pass over the array: NumPy adds these rows one after the other
            flat = np.add.reduce(flat[: whole * _WIDTH].reshape(_WIDTH, whole), axis=0)
        elif term is np.square:
            # the same additions without arrays of squares
            rows = flat[: whole * _WIDTH].reshape(_WIDTH, whole)
            flat = np.einsum("ij,ij->j", rows, rows)
        else:
            rows = flat[: whole * _WIDTH].reshape(_WIDTH, whole)
            flat = np.empty(whole)
            for begin in range(0, whole, _SMALL_BLOCK):
                part = rows[:, begin : begin + _SMALL_BLOCK]
                total = term(part[0])
                for row in part[1:]:
                    total += term(row)
                flat[begin : begin + _SMALL_BLOCK] = total
        flat[: len(rest)] += rest
    elif term is not np.copy or len(flat) > most:
        flat = term(flat)
    count = len(flat)
    while count > most:
        half = (count + 1) // 2
        np.add(flat[: count - half], flat[half:count], out=flat[: count - half])
        count = half
    return fsum(flat[:count].tolist())


def tree_sums(values: Array) -> Floats:
    """``tree_sum`` of each column of an array of float64, which it overwrites, with the same additions."""
    count = len(values)
    if count >= _MANY_TERMS:
        whole = count // _WIDTH
        columns = values.T
        found = np.add.reduce(columns[:, : whole * _WIDTH].reshape(-1, _WIDTH, whole), axis=1)
        found[:, : count - whole * _WIDTH] += columns[:, whole * _WIDTH :]
        values, count = found.T, whole
    while count > _FEW_TERMS:
        half = (count + 1) // 2
        np.add(values[: count - half], values[half:count], out=values[: count - half])
        count = half
    return np.array([fsum(column) for column in values[:count].T.tolist()])


def tree_total(parts: Iterable[T]) -> T:
    """The sum of arrays, which it may overwrite, each of which takes part in at most ``count.bit_length()`` additions.

    Sums of 1, 2, 4, ... of them are kept, as the digits of a binary counter.
    """
    kept: list[T] = []
    for count, part in enumerate(parts, start=1):
        while not count & 1:
            part += kept.pop()
            count >>= 1
        kept.append(part)
    total = kept.pop()
    while kept:
        total += kept.pop()
    return total


def absolute_sum(values: Array) -> float:
    """A bound on the sum of the absolute values, in blocks of rows."""
    step = max(1, _SMALL_BLOCK // max(1, values[:1].size))
    blocks = (np.abs(values[begin : begin + step]) for begin in range(0, len(values), step))
    return (1.0 + 1e-6) * sum(float(np.sum(block, dtype=np.float64)) for block in blocks)


def output_norms(weights: Array) -> Floats:
    """The Euclidean norm of the weights of each output, rounded upwards."""
    # without an array of squares, which would be as long as the weights
    return (1.0 + 1e-6) * np.sqrt(np.einsum("...j,...j->...", weights, weights)) + 2.0**-500


def tree_depth(count: int) -> int:
    """The roundings on the way of one of ``count`` floats through ``tree_sum``: the last sum is rounded once."""
    if count < _MANY_TERMS:
        return _halvings(count) + (count > 1)
    # the rows and the rest, and the tree of their sums
    return _WIDTH + _halvings(count // _WIDTH) + 1


def _halvings(count: int) -> int:
    """How often a tree halves this many terms until they are few enough for an exact sum."""
    return max(0, -(-count // _FEW_TERMS) - 1).bit_length()
