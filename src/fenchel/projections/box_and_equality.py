r"""Projection onto a box with one linear equality (continuous quadratic knapsack), in linear time.

.. math::
    \min_x\; \tfrac12\sum_i d_i^2 (x_i - m_i)^2 \quad\text{with } l \le x \le u,\ \sum_i\sigma_i x_i = z

With :math:`p_i = \sigma_i x_i`, whose bounds :math:`l', u'` are :math:`\sigma l, \sigma u` in order, the answer is

.. math::
    p_i(\tau) = \mathrm{clip}((v_i - \tau)/s_i,\ l'_i,\ u'_i), \qquad v_i = m_i d_i^2/\sigma_i,\ s_i = d_i^2/\sigma_i^2

for the :math:`\tau` where they add up to z.  Their sum falls with :math:`\tau` and is linear between the kinks
:math:`v - su'` and :math:`v - sl'`.  Saha, Zhang and Vishwanathan, App. B, Alg. 2 look for the two kinks around the
root by medians; the rule for stopping that is printed there does not end on ties.  Here a bracket low < tau < high is
kept, with a sum that is too large at its low end and too small at its high end, until no kink lies strictly inside.
The sum is linear there, so the mixture of both ends that has the right sum is the projection: exactly, for any ties
and any small s.

1. A Newton step from the last tau; when steps become short, twice as long, so that it passes the root.
2. Every third step, or if Newton leaves the bracket, the median of the kinks inside: it halves their number.
3. Entries that are on a bound throughout the bracket are dropped.

This is NumPy, for risks and certificates, which use no compiled loops; ``compile.primitives.projection`` is the same
search for solvers: several times faster, also for many small blocks.

====================  ==============================================
symbol                here
====================  ==============================================
m, d, :math:`\sigma`  ``target``, ``scales``, ``weights``
v, s                  ``centre``, ``slowness``
l, u, z               ``low``, ``high``, ``total``
:math:`\tau`          ``shift``
====================  ==============================================
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import DOMAIN_TOLERANCE

#: steps between two medians
_MEDIAN_EVERY = 3
#: a Newton step shorter than this share of the last one is doubled
_SHORT_STEP = 0.01
#: arrays are compacted when less than this share of the entries is free
_COMPACT_SHARE = 0.7


def onto_box_and_equality(
    target: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    total: float,
    *,
    weights: ArrayLike = 1.0,
    scales: ArrayLike = 1.0,
) -> Floats:
    """Project ``target`` onto the box from ``low`` to ``high`` (may be infinite) with the sum ``total``.

    ``weights`` are the coefficients of the equality, ``scales`` those of the distance; an entry of weight zero is
    clipped separately.
    """
    m, low, high, sigma, d = checked_parts(target, low, high, weights, scales)
    counted = sigma != 0.0
    if not np.all(counted):
        x = np.clip(m, low, high)
        m, low, high = m[counted], low[counted], high[counted]
        x[counted] = onto_box_and_equality(m, low, high, total, weights=sigma[counted], scales=d[counted])
        return x
    if not m.size:
        if abs(total) > 0.0:
            raise FenchelError(f"total={total} is infeasible: all weights are 0, so the sum is 0")
        return m.copy()
    ends = np.sort(np.stack([sigma * low, sigma * high]), axis=0)
    p = onto_box_and_sum(m * d**2 / sigma, ends[0], ends[1], float(total), d**2 / sigma**2)
    # bounds are met exactly
    x = np.where(p == sigma * low, low, np.where(p == sigma * high, high, p / sigma))
    return np.clip(x, low, high)


def checked_parts(
    target: ArrayLike, low: ArrayLike, high: ArrayLike, weights: ArrayLike, scales: ArrayLike
) -> tuple[Floats, ...]:
    """All as float64 of the target's shape; raise unless they are finite, ordered and of a fitting shape."""
    m, *parts = (np.asarray(part, dtype=np.float64) for part in (target, low, high, weights, scales))
    for name, part in (("target", m), ("weights", parts[2]), ("scales", parts[3])):
        if not np.all(np.isfinite(part)):
            raise FenchelError(f"{name} must be finite")
    if np.any(parts[3] == 0.0):
        raise FenchelError("scales must not be zero: the nearest point would not be unique")
    if not (np.all(parts[0] <= parts[1]) and np.all(parts[0] < np.inf) and np.all(parts[1] > -np.inf)):
        raise FenchelError("low must be at most high, in every entry")
    try:
        return (m, *(np.broadcast_to(part, m.shape) for part in parts))
    except ValueError as error:
        raise FenchelError(f"bounds, weights and scales must fit the target, of shape {m.shape}") from error


def onto_box_and_sum(
    centre: Array, low: Array, high: Array, total: float, slowness: float | Array = 1.0, guess: float = math.nan
) -> Floats:
    """The point of the box from ``low`` to ``high`` with this sum that is nearest to ``centre / slowness``: p(tau).

    A good ``guess`` of tau saves passes over the entries.
    """
    lowest, highest = float(np.sum(low)), float(np.sum(high))
    slack = DOMAIN_TOLERANCE * (_size(low) + _size(high) + abs(total))
    if not lowest - slack <= total <= highest + slack:
        raise FenchelError(f"total={total} is infeasible: sums of points of the box lie between {lowest} and {highest}")
    first, last = centre - slowness * high, centre - slowness * low
    begin, end = _bracket(centre, low, high, total, slowness, first, last, guess)
    ulp = float(np.spacing(max(abs(begin), abs(end))))
    while True:
        # bounds are met exactly; where the ends are equal up to rounding all entries are free
        reach_high, reach_low = first >= end, last <= begin
        p, free = np.where(reach_high, high, low), reach_high == reach_low
        rest = total - float(np.sum(p[~free]))
        if float(np.sum(low[free])) - slack <= rest <= float(np.sum(high[free])) + slack:
            slow = slowness[free] if isinstance(slowness, np.ndarray) else slowness
            p[free] = _mixture(centre[free], low[free], high[free], rest, slow, begin, end)
            return p
        # kinks closer together than the spacing of floats
        begin, end, ulp = begin - ulp, end + ulp, 2.0 * ulp


def _size(bounds: Array) -> float:
    """The sum of the absolute values of the finite bounds."""
    sizes = np.abs(bounds)
    total = float(np.sum(sizes))
    return total if math.isfinite(total) else float(np.sum(sizes[np.isfinite(sizes)]))


def _mixture(
    centre: Array,
    low: Array,
    high: Array,
    total: float,
    slowness: float | Array,
    begin: float,
    end: float,
) -> Floats:
    """The mixture of p at both ends of the bracket that has this sum; of the bounds, if rounding leaves no other."""
    slack = DOMAIN_TOLERANCE * (_size(low) + _size(high))
    above, below = (_clipped(centre, low, high, shift, slowness) for shift in (begin, end))
    surplus, lack = float(np.sum(above)) - total, total - float(np.sum(below))
    if min(surplus, lack) < -slack and np.all(np.isfinite(low)) and np.all(np.isfinite(high)):
        above, below = high, low
        surplus, lack = float(np.sum(above)) - total, total - float(np.sum(below))
    share = min(max(surplus / (surplus + lack), 0.0), 1.0) if surplus + lack > 0.0 else 0.0
    return np.clip(above + share * (below - above), low, high)


def _clipped(centre: Array, low: Array, high: Array, shift: float, slowness: float | Array) -> Floats:
    with np.errstate(over="ignore"):
        return np.clip((centre - shift) / slowness, low, high)


def _first_shift(centre: Array, first: Array, last: Array) -> float:
    """The mean of the finite kinks."""
    middle = 0.5 * (float(np.mean(first)) + float(np.mean(last)))
    if math.isfinite(middle):
        return middle
    kinks = np.concatenate([first, last])
    kinks = kinks[np.isfinite(kinks)]
    return float(np.mean(kinks if kinks.size else centre))


def _bracket(
    centre: Array,
    low: Array,
    high: Array,
    total: float,
    slowness: float | Array,
    first: Array,
    last: Array,
    guess: float,
) -> tuple[float, float]:
    """Two shifts without a kink strictly between them, the sum of p at the first >= total >= that at the second."""
    begin, end, shift, step, rounds = float(np.min(first)), float(np.max(last)), guess, math.inf, 0
    if not begin < shift < end:
        shift = _first_shift(centre, first, last)
    if not begin < shift < end:
        return begin, end
    while True:
        p = _clipped(centre, low, high, shift, slowness)
        excess = float(np.sum(p)) - total
        if excess == 0.0:
            return shift, shift
        begin, end = (shift, end) if excess > 0.0 else (begin, shift)
        moving = (first < shift) & (last > shift)
        length = _newton_step(excess, moving, slowness)
        # 3. entries on a bound between begin and end
        at_high, at_low = first >= end, last <= begin
        free = np.flatnonzero(~(at_high | at_low))
        if len(free) < _COMPACT_SHARE * len(centre):
            total -= float(np.sum(high[at_high]) + np.sum(low[at_low]))
            slowness = slowness[free] if isinstance(slowness, np.ndarray) else slowness
            centre, low, high, first, last = (part[free] for part in (centre, low, high, first, last))
        kinks = np.concatenate([first[(first > begin) & (first < end)], last[(last > begin) & (last < end)]])
        if not kinks.size:
            # linear up to infinity: an end beyond the root
            beyond = shift + 2.0 * length if math.isfinite(length) else shift
            return (beyond if math.isinf(begin) else begin), (beyond if math.isinf(end) else end)
        # 1. and 2.
        rounds += 1
        candidate = math.nan
        if math.isfinite(length) and rounds % _MEDIAN_EVERY:
            candidate = shift + (2.0 if abs(length) < _SHORT_STEP * abs(step) else 1.0) * length
            if candidate == shift:
                candidate = float(np.nextafter(shift, math.inf if excess > 0.0 else -math.inf))
            step = length
        if not begin < candidate < end:
            candidate = float(np.partition(kinks, len(kinks) // 2)[len(kinks) // 2])
        shift = candidate


def _newton_step(excess: float, moving: Array, slowness: float | Array) -> float:
    """The Newton step for the shift; infinite if no entry is inside its bounds."""
    if isinstance(slowness, np.ndarray):
        derivative = float(np.sum(1.0 / slowness[moving]))
        return excess / derivative if derivative > 0.0 else math.inf
    count = int(np.count_nonzero(moving))
    return slowness * excess / count if count else math.inf
