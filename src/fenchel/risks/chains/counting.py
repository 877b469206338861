"""Weighted counts, in sums that are short enough for small rounding errors."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats

#: terms that are added one after the other before their sums are added: short sums have small rounding errors
_CHUNK = 1 << 12


def weighted_counts(places: Array, weights: Array, size: int) -> Floats:
    """The sums of the weights at each place, with at most ``sum_length`` additions in a row."""
    found = np.zeros(size)
    for begin in range(0, len(places), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        found += np.bincount(places[part], weights[part], size)
    return found


def sum_length(terms: int) -> float:
    """The additions on the way of one of the terms into a sum of ``weighted_counts``."""
    return min(terms, _CHUNK) + terms / _CHUNK + 1.0
