r"""Loops of smoothed performance measures: the sums of ``RocAUC.smoothed`` and ``CountedRisk.smoothed`` in few passes.

ROC AUC.  With the positives sorted by :math:`l_i = s_i - 1` and the negatives by :math:`h_j = s_j`, the negatives with
:math:`z_{ij} = h_j - l_i` between 0 and mu are a window that moves to the right with i, and likewise the positives for
each j.  The sums of :math:`b_j z_{ij}^k` over the window are relative to the origin :math:`l_i`.  First the terms that
leave the window are subtracted, then the origin moves (by at most mu, unless the window is empty and the sums are reset
to zero), then the terms that enter the window are added.  No large numbers are subtracted from each other.

Counts.  :math:`\sum_i \mathrm{clip}((g_i - \tau)/\mu, l_i, u_i)` decreases with :math:`\tau` and is linear between
kinks, so a bracketed Newton method finds the linear piece of the root.  ``projections.box_and_sum`` is used where
rounding errors are too large for it.

=====================  ======================================================
symbol                 argument
=====================  ======================================================
l, h                   ``low``, ``high``, sorted
a, b                   ``a``, ``b``: weights in that order, or a common one
g, :math:`\tau`        ``gains``, ``shift``
=====================  ======================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_add
from fenchel.compile.loop import helper, loop, summing_helper

#: terms per partial sum: blockwise summation reduces rounding errors
_BLOCK = 256
#: largest number of Newton steps and bisections, and the tolerance of a sum per entry
_MAX_STEPS, _SUM_TOLERANCE = 100, 1e-15


@helper
def _weight(weights: Any, k: Any) -> float:
    return weights[k] if len(weights) > 1 else weights[0]


@helper
def _add(total: float, lost: float, term: float) -> tuple[float, float]:
    """Compensated summation: return the sum with another term, and its rounding error."""
    term += lost
    result = total + term
    return result, term - (result - total)


@loop
def pairs_of_positives(low: Any, high: Any, a: Any, b: Any, mu: float, theta: Any) -> tuple[float, float, float]:
    """Write theta of the positives, in sorted order; return R_mu, R and the excess."""
    one, negatives = np.uint64(1), np.uint64(len(high))
    first, last = np.uint64(0), np.uint64(0)
    origin = low[0]
    beyond, beyond_sum, lost = 0.0, 0.0, 0.0
    for j in range(negatives):
        beyond += _weight(b, j)
        beyond_sum, lost = _add(beyond_sum, lost, _weight(b, j) * (high[j] - origin))
    inside, sums, squares = 0.0, 0.0, 0.0
    value, risk, excess = 0.0, 0.0, 0.0
    part_value, part_risk, part_excess, in_part = 0.0, 0.0, 0.0, 0
    for i in range(np.uint64(len(low))):
        # 1. negatives leave the window
        while first < last and high[first] < low[i]:
            z, weight = high[first] - origin, _weight(b, first)
            inside -= weight
            sums -= weight * z
            squares -= weight * z * z
            first += one
        if first == last:
            inside, sums, squares = 0.0, 0.0, 0.0
        # 2. the origin moves
        move = low[i] - origin
        origin = low[i]
        squares -= move * (2.0 * sums - move * inside)
        sums -= move * inside
        beyond_sum, lost = _add(beyond_sum, lost, -move * beyond)
        # 3. negatives enter the window, or are passed
        while last < negatives and high[last] <= origin + mu:
            z, weight = high[last] - origin, _weight(b, last)
            beyond -= weight
            beyond_sum, lost = _add(beyond_sum, lost, -weight * z)
            last += one
            if z < 0.0:
                first = last
            else:
                inside += weight
                sums += weight * z
                squares += weight * z * z
        if last == negatives:
            beyond, beyond_sum, lost = 0.0, 0.0, 0.0
        inside = max(inside, 0.0)
        sums = min(max(sums, 0.0), mu * inside)
        squares = min(max(squares, 0.0), mu * sums)
        weight = _weight(a, i)
        theta[i] = weight * (beyond + sums / mu)
        part_value += weight * (beyond_sum - 0.5 * mu * beyond + squares / (2.0 * mu))
        part_risk += weight * (beyond_sum + sums)
        part_excess += weight * (sums - squares / mu)
        in_part += 1
        if in_part == _BLOCK:
            value, risk, excess = value + part_value, risk + part_risk, excess + part_excess
            part_value, part_risk, part_excess, in_part = 0.0, 0.0, 0.0, 0
    return value + part_value, risk + part_risk, excess + part_excess


@loop
def pairs_of_negatives(low: Any, high: Any, a: Any, b: Any, mu: float, theta: Any) -> None:
    """Write theta of the negatives, in sorted order, with the same comparisons as ``pairs_of_positives``."""
    one, positives = np.uint64(1), np.uint64(len(low))
    first, last = np.uint64(0), np.uint64(0)
    origin = high[0]
    wrong, inside, sums = 0.0, 0.0, 0.0
    for j in range(np.uint64(len(high))):
        # 1. positives leave the window into the linear piece of the hinge
        while first < last and low[first] + mu < high[j]:
            weight = _weight(a, first)
            inside -= weight
            sums -= weight * (origin - low[first])
            wrong += weight
            first += one
        if first == last:
            inside, sums = 0.0, 0.0
        # 2. the origin moves
        sums += (high[j] - origin) * inside
        origin = high[j]
        # 3. positives enter the window, or are passed
        while last < positives and low[last] <= origin:
            weight = _weight(a, last)
            if low[last] + mu < origin:
                wrong += weight
                first = last + one
            else:
                inside += weight
                sums += weight * (origin - low[last])
            last += one
        inside = max(inside, 0.0)
        sums = min(max(sums, 0.0), mu * inside)
        theta[j] = -_weight(b, j) * (wrong + sums / mu)


@summing_helper
def _clipped_sum(gains: Any, labels: Any, mu: float, shift: float) -> tuple[float, float]:
    """Return the sum at this shift, and the number of entries strictly between their bounds."""
    total, moving = 0.0, 0.0
    for i in range(np.uint64(len(gains))):
        x, up, down = (gains[i] - shift) / mu, max(labels[i], 0.0), min(labels[i], 0.0)
        total += min(max(x, down), up)
        moving += 1.0 if (x > down) & (x < up) else 0.0
    return total, moving


@loop
def count_shift(gains: Any, labels: Any, mu: float, total: float, shift: float) -> float:
    """Return the shift at which the clipped gains have this sum, starting from a guess."""
    begin, end, reach = -np.inf, np.inf, mu
    for _ in range(_MAX_STEPS):
        found, moving = _clipped_sum(gains, labels, mu, shift)
        surplus = found - total
        if abs(surplus) <= _SUM_TOLERANCE * len(gains):
            break
        if surplus > 0.0:
            begin = shift
        else:
            end = shift
        following = shift + mu * surplus / moving if moving > 0.0 else np.inf
        if not begin < following < end:
            if begin == -np.inf or end == np.inf:
                following = shift + (reach if surplus > 0.0 else -reach)
                reach *= 4.0
            else:
                following = 0.5 * (begin + end)
        if following == shift or not begin < following < end:
            break
        shift = following
    return shift


@summing_helper
def _point_at(gains: Any, labels: Any, mu: float, shift: float, scale: float, theta: Any) -> tuple[float, float, float]:
    total, attained, square = 0.0, 0.0, 0.0
    for i in range(np.uint64(len(gains))):
        x = min(max((gains[i] - shift) / mu, min(labels[i], 0.0)), max(labels[i], 0.0))
        theta[i] = scale * x
        total += x
        attained += gains[i] * x
        square += x * x
    return total, attained, square


@loop
def count_point(
    gains: Any, labels: Any, mu: float, shift: float, scale: float, theta: Any
) -> tuple[float, float, float]:
    """Write the clipped gains at a shift, times ``scale``; return their sum, inner product and square, unscaled."""
    return _point_at(gains, labels, mu, shift, scale, theta)


@loop
def add_to_bins(rows: Any, selected: Any, bins: Any, weights: Any, result: Any) -> None:
    """Add each selected row, times its weight, to the row of ``result`` that is its bin."""
    for t in range(np.uint64(len(selected))):
        if weights[t] != 0.0:
            row_add(rows, np.uint64(selected[t]), weights[t], result[bins[t]])
