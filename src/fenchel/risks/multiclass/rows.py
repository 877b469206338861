"""Sums and maxima of the rows of scores, and bounds on sums of shares."""

from __future__ import annotations

from functools import reduce

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import gamma, tree_depth

#: classes up to which the sums of rows are matrix products, and their maxima those of columns
_SHORT_ROW = 16


def row_sums(values: Array) -> Floats:
    """The sum of each row: of short ones by a matrix product, which is faster, of others by NumPy's pairwise sums."""
    k = values.shape[1]
    return values @ np.ones(k) if k <= _SHORT_ROW else np.sum(values, axis=1)


def row_maxima(values: Array) -> Floats:
    """The largest entry of each row: of short ones column by column, which is faster."""
    return reduce(np.maximum, values.T) if values.shape[1] <= _SHORT_ROW else np.max(values, axis=1)


def inwards(shares: Array, terms: int) -> Floats:
    """Numbers a few roundings below c_i: sums of ``terms`` numbers up to them are at most c_i in exact arithmetic."""
    # the weights of up to 2^40 examples were added up for c
    return shares * (1.0 - gamma(terms + tree_depth(1 << 40) + 16))
