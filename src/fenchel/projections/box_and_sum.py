r"""The projection onto a box with one equality, in linear time.

.. math::
    \min_x\; \tfrac12\|x - v/\mu\|^2 \quad\text{with } l \le x \le u,\ \sum x = z
    \qquad\Longrightarrow\qquad x_i(\tau) = \mathrm{clip}((v_i - \tau)/\mu,\ l_i,\ u_i)

The sum of :math:`x(\tau)` falls with :math:`\tau` and is linear between the kinks :math:`v - \mu u` and
:math:`v - \mu l`.  Saha, Zhang and Vishwanathan, App. B, Alg. 2 look for the two kinks around the root by medians; the
rule for stopping that is printed there does not end on ties.  Here a bracket low < tau < high is kept, with a sum that
is too large at its low end and too small at its high end, until no kink lies strictly inside.  The sum is linear
there, so the mixture of both ends that has the right sum is the projection: exactly, whatever ties there are and
however small mu is.

1. Newton's step from the last tau; when the steps become short, twice as far, so that the root is between the two.
2. Every third time, or where that leaves the bracket, the median of the kinks inside: it halves them.
3. Entries that rest on a bound throughout the bracket are left out from then on.

====================  =====================================
symbol                here
====================  =====================================
v, :math:`\mu`        ``target``, ``scale``
l, u, z               ``low``, ``high``, ``total``
:math:`\tau`          ``shift``
====================  =====================================
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError

#: every so many times the median is taken
_MEDIAN = 3
#: a Newton step shorter than this share of the one before is made twice as long
_SHORT = 0.01
#: entries are left out when fewer than this share of them remain
_WORTH = 0.7
#: how far beyond what the box allows a sum may be asked for through rounding alone
_ROUNDING = 1e-12


def onto_box_and_sum(
    target: NDArray, low: NDArray, high: NDArray, total: float, scale: float = 1.0, guess: float = math.nan
) -> NDArray[np.float64]:
    """The point of the box from ``low`` to ``high`` with this sum that is nearest to ``target / scale``.

    A good ``guess`` of the shift saves looks at all entries.
    """
    lowest, highest = float(np.sum(low)), float(np.sum(high))
    slack = _ROUNDING * float(np.sum(np.abs(low)) + np.sum(np.abs(high)) + abs(total))
    if not lowest - slack <= total <= highest + slack:
        raise FenchelError(f"no point of the box has the sum {total}: it is between {lowest} and {highest}")
    first, last = target - scale * high, target - scale * low
    begin, end = _bracket(target, low, high, total, scale, first, last, guess)
    ulp = float(np.spacing(max(abs(begin), abs(end))))
    while True:
        # bounds are met exactly; ends that are equal up to rounding leave everything between the bounds open
        reach_high, reach_low = first >= end, last <= begin
        x, free = np.where(reach_high, high, low), reach_high == reach_low
        rest = total - float(np.sum(x[~free]))
        if float(np.sum(low[free])) - slack <= rest <= float(np.sum(high[free])) + slack:
            x[free] = _mixture(target[free], low[free], high[free], rest, scale, begin, end)
            return x
        # kinks closer together than the spacing of floats
        begin, end, ulp = begin - ulp, end + ulp, 2.0 * ulp


def _mixture(
    target: NDArray, low: NDArray, high: NDArray, total: float, scale: float, begin: float, end: float
) -> NDArray[np.float64]:
    """The mixture of x at both ends of the bracket that has this sum; of the bounds, if rounding leaves no other."""
    slack = _ROUNDING * float(np.sum(np.abs(low)) + np.sum(np.abs(high)))
    above, below = (_clipped(target, low, high, shift, scale) for shift in (begin, end))
    surplus, lack = float(np.sum(above)) - total, total - float(np.sum(below))
    if min(surplus, lack) < -slack:
        above, below = high, low
        surplus, lack = float(np.sum(above)) - total, total - float(np.sum(below))
    share = min(max(surplus / (surplus + lack), 0.0), 1.0) if surplus + lack > 0.0 else 0.0
    return np.clip(above + share * (below - above), low, high)


def _clipped(target: NDArray, low: NDArray, high: NDArray, shift: float, scale: float) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.clip((target - shift) / scale, low, high)


def _bracket(
    target: NDArray,
    low: NDArray,
    high: NDArray,
    total: float,
    scale: float,
    first: NDArray,
    last: NDArray,
    guess: float,
) -> tuple[float, float]:
    """Two shifts without a kink strictly between them, the sum of x at the first >= total >= that at the second."""
    begin, end, shift, step, rounds = float(np.min(first)), float(np.max(last)), guess, math.inf, 0
    if not begin < shift < end:
        shift = 0.5 * (float(np.mean(first)) + float(np.mean(last)))
    if not begin < shift < end:
        return begin, end
    while True:
        x = _clipped(target, low, high, shift, scale)
        excess = float(np.sum(x)) - total
        if excess == 0.0:
            return shift, shift
        begin, end = (shift, end) if excess > 0.0 else (begin, shift)
        moving = int(np.count_nonzero((first < shift) & (last > shift)))
        # 3. what rests on a bound between begin and end
        at_high, at_low = first >= end, last <= begin
        free = np.flatnonzero(~(at_high | at_low))
        if len(free) < _WORTH * len(target):
            total -= float(np.sum(high[at_high]) + np.sum(low[at_low]))
            target, low, high, first, last = (part[free] for part in (target, low, high, first, last))
        kinks = np.concatenate([first[(first > begin) & (first < end)], last[(last > begin) & (last < end)]])
        if not kinks.size:
            return begin, end
        # 1. and 2.
        rounds += 1
        candidate = math.nan
        if moving and rounds % _MEDIAN:
            length = scale * excess / moving
            candidate = shift + (2.0 if abs(length) < _SHORT * abs(step) else 1.0) * length
            if candidate == shift:
                candidate = float(np.nextafter(shift, math.inf if excess > 0.0 else -math.inf))
            step = length
        if not begin < candidate < end:
            candidate = float(np.partition(kinks, len(kinks) // 2)[len(kinks) // 2])
        shift = candidate
