"""Running sums within groups that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np

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
