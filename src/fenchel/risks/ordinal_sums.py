r"""Sums over the wrong pairs of examples with ordered labels, bit by bit.

Each example has two keys, its score less the margin as the upper one of a pair and its score as the lower one; one
sort of all keys shows for every pair which of its two comes first.  Two labels differ first in one bit of their
numbers: with the examples grouped by the bits above it, in the order of their keys, running sums count all wrong pairs
of that bit.  With k labels that is :math:`O(n\log n + n\log k)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array
from fenchel.numerics.group_sums import group_sums


class BitSums(NamedTuple):
    """Of one bit, the examples on the lower and on the upper side of its pairs, and their sums for each row of values:
    over those with higher labels that are too low, and over those with lower labels that are too high.
    """

    bit: int
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    before: list[Array]
    after: list[Array]


def sums_by_bit(
    codes: NDArray[np.integer[Any]], bits: int, lower: Array, upper: Array, margin: float, values: Array, precision: Any
) -> Iterator[BitSums]:
    """For each bit, sums of the rows of values over the other ones of the pairs with upper - margin <= lower."""
    count = len(codes)
    # 1. all keys in order, the upper one first where they are equal: a stable sort merges two sorted runs
    by_upper = np.argsort(upper)
    by_lower = by_upper if lower is upper else np.argsort(lower)
    merged = np.argsort(np.concatenate([upper[by_upper] - margin, lower[by_lower]]), kind="stable")
    order, is_lower = np.concatenate([by_upper, by_lower])[merged], merged >= count
    in_order = codes[order]
    for bit in range(bits):
        # 2. an example is on one side of all its pairs that differ first in this bit; groups keep the order of keys
        chosen = np.flatnonzero(is_lower == ((in_order >> bit) & 1 == 0))
        groups = in_order[chosen] >> (bit + 1)
        chosen = chosen[np.argsort(groups, kind="stable")]
        sizes = np.bincount(groups)
        # 3. upper ones before each lower one, lower ones after each upper one
        at, low = order[chosen], is_lower[chosen]
        before = [group_sums(np.where(low, 0.0, value[at]), sizes, precision)[low] for value in values]
        after = [
            group_sums(np.where(low, value[at], 0.0)[::-1], sizes[::-1], precision)[::-1][~low] for value in values
        ]
        yield BitSums(bit, at[low], at[~low], before, after)
