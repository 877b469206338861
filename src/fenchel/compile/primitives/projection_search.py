r"""The search for the shift of a projection onto a box with one equality: see ``compile.primitives.projection``.

The arrays ``v, s, low, high`` of ``entries`` hold :math:`v_i, s_i` and the bounds of :math:`p_i =
\mathrm{clip}((v_i - \tau)/s_i, l'_i, u'_i)`; wanted is the :math:`\tau` at which the first ``count`` p add up to a
total.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, summing_helper

#: iterations between two median steps; a Newton step shorter than this share of the last one is doubled
_MEDIAN, _SHORT = 3, 0.01


@summing_helper
def look(entries: Any, count: int, shift: float) -> tuple[float, float]:
    """The sum of p at the shift, and how fast it falls there."""
    (v, s, low, high), total, slope = entries, 0.0, 0.0
    for i in range(np.uint64(count)):
        free = (v[i] - shift) / s[i]
        total += min(max(free, low[i]), high[i])
        slope += 1.0 / s[i] if (free > low[i]) & (free < high[i]) else 0.0
    return total, slope


@helper
def _compact(entries: Any, count: int, begin: float, end: float, shift: float) -> tuple[int, float, float, float]:
    """Keep the entries with a kink strictly inside the bracket; how many, and the sums of the others.

    These are the sum of those at a bound, and of the lines the sum at the shift and the slope.
    """
    (v, s, low, high), kept, fixed, linear, slope = entries, 0, 0.0, 0.0, 0.0
    for i in range(np.uint64(count)):
        first, last = v[i] - s[i] * high[i], v[i] - s[i] * low[i]
        if first >= end:
            fixed += high[i]
        elif last <= begin:
            fixed += low[i]
        elif first <= begin and last >= end:
            linear += (v[i] - shift) / s[i]
            slope += 1.0 / s[i]
        else:
            v[kept], s[kept], low[kept], high[kept] = v[i], s[i], low[i], high[i]
            kept += 1
    return kept, fixed, linear, slope


@helper
def _median_kink(entries: Any, count: int, begin: float, end: float) -> float:
    """The median of the kinks strictly inside the bracket."""
    (v, s, low, high), kinks, size = entries, np.empty(2 * count), 0
    for i in range(count):
        first, last = v[i] - s[i] * high[i], v[i] - s[i] * low[i]
        if begin < first < end:
            kinks[size] = first
            size += 1
        if begin < last < end:
            kinks[size] = last
            size += 1
    # Hoare's selection, which equal kinks do not slow down (np.partition takes seconds to compile)
    left, right, middle = 0, size - 1, size // 2
    while left < right:
        one, other, third = kinks[left], kinks[(left + right) // 2], kinks[right]
        pivot = max(min(one, other), min(max(one, other), third))
        i, j = left, right
        while i <= j:
            while kinks[i] < pivot:
                i += 1
            while kinks[j] > pivot:
                j -= 1
            if i <= j:
                kinks[i], kinks[j] = kinks[j], kinks[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            break
    return kinks[middle]


@helper
def bracket(
    entries: Any, count: int, total: float, shift: float, begin: float, end: float, lines: Any
) -> tuple[float, float, float]:
    """Two shifts without a kink strictly between them, the sum of p at the first >= total >= that at the second.

    And the root between them.  Lines are what ``_compact`` says of entries that were left out before, at the shift.
    The arrays are changed.
    """
    step, rounds, reference, (fixed, linear, slope) = np.inf, 0, shift, lines
    while True:
        present, moving = look(entries, count, shift)
        linear, reference = linear - slope * (shift - reference), shift
        excess, steep = fixed + linear + present - total, slope + moving
        if excess == 0.0 or not np.isfinite(excess):
            return shift, shift, shift
        if excess > 0.0:
            begin = shift
        else:
            end = shift
        length = excess / steep if steep > 0.0 else 0.0
        count, more, values, slopes = _compact(entries, count, begin, end, shift)
        fixed, linear, slope = fixed + more, linear + values, slope + slopes
        if count == 0:
            # a line up to infinity, or nothing moves any more: an end beyond the root
            if np.isinf(begin):
                begin = min(shift, shift + 2.0 * length)
            elif np.isinf(end):
                end = max(shift, shift + 2.0 * length)
            root = shift + (fixed + linear - total) / slope if slope > 0.0 else shift
            return begin, end, min(max(root, begin), end)
        rounds += 1
        candidate = np.nan
        if steep > 0.0 and rounds % _MEDIAN != 0:
            candidate = shift + (2.0 if abs(length) < _SHORT * abs(step) else 1.0) * length
            if candidate == shift:
                candidate = np.nextafter(shift, np.inf if excess > 0.0 else -np.inf)
            step = length
        if not begin < candidate < end:
            candidate = _median_kink(entries, count, begin, end)
        shift = candidate


@helper
def whole(entries: Any, count: int, total: float) -> tuple[float, float, float]:
    """The bracket and the root of all entries, from the mean of the kinks that are finite."""
    (v, s, low, high), kinks, size = entries, 0.0, 0.0
    for i in range(count):
        if np.isfinite(low[i]):
            kinks += v[i] - s[i] * low[i]
            size += 1.0
        if np.isfinite(high[i]):
            kinks += v[i] - s[i] * high[i]
            size += 1.0
    shift = kinks / size if size > 0.0 else v[0]
    return bracket(entries, count, total, shift, -np.inf, np.inf, (0.0, 0.0, 0.0))
