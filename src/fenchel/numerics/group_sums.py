"""Orders and running sums within groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array


def group_sums(values: Array, sizes: Array, precision: Any = np.longdouble) -> Array:
    """Running sums within groups of these sizes.

    The error of a sum is at most that of as many additions as its group has terms, each a rounding of the sum of all
    values.
    """
    sums = np.zeros(len(values) + 1, dtype=precision)
    np.cumsum(values, dtype=precision, out=sums[1:])
    starts = np.cumsum(sizes) - sizes
    return sums[1:] - np.repeat(sums[starts], sizes)


def separate_group_sums(values: Array, sizes: Array) -> Array:
    """Running sums within groups in extended precision, each with the rounding of its own group alone."""
    sums, begin = np.empty(len(values), dtype=np.longdouble), 0
    for size in np.asarray(sizes).tolist():
        np.cumsum(values[begin : begin + size], out=sums[begin : begin + size])
        begin += size
    return sums


def order_in_groups(keys: Array, groups: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The order of the keys within each group: short integers are sorted in linear time, and keys fastest alone."""
    order = np.argsort(keys)
    return order[np.argsort(groups[order], kind="stable")]
