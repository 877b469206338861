"""Exact minimization of a mean risk over the intercept, for a fixed weight vector."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fenchel.arrays import Floats
from fenchel.stopping import stop_point

#: relative difference of two partial sums of shares below which they count as equal
_TIE = 1e-12
#: relative difference of two intercepts that are the same up to rounding
_SAME = 4e-16
#: kinks sorted to estimate a quantile, and the error of the estimate as a share of all kinks
_SAMPLE, _MARGIN = 2000, 0.05


def weighted_quantile(kinks: Floats, jumps: Floats, mass: float) -> float:
    """The minimizer b of a piecewise linear convex function with these kinks.

    ``jumps`` are the increases of the derivative at the kinks and ``-mass`` is the derivative at b = -inf.  Where the
    minimizer is an interval its midpoint is returned, or its finite end if it has only one.
    """
    total = float(np.sum(jumps))
    if total == 0.0:
        # a constant
        return 0.0
    below, kinks, jumps = _near_quantile(kinks, jumps, mass, total)
    tie = _TIE * total
    if np.all(jumps == jumps[0]):
        return _order_statistic(kinks, (mass - below) / float(jumps[0]), tie / float(jumps[0]))
    order = np.argsort(kinks, kind="stable")
    kinks, jumps = kinks[order], jumps[order]
    reached = below + np.cumsum(jumps)
    first = int(np.searchsorted(reached, mass - tie))
    if mass <= tie:
        # nowhere decreasing: minimal to the left of the first kink with a positive jump
        return float(kinks[int(np.searchsorted(reached, tie, side="right"))])
    last = int(np.searchsorted(reached, mass + tie, side="right"))
    return float(kinks[first] if last >= len(kinks) else 0.5 * kinks[first] + 0.5 * kinks[last])


def _order_statistic(kinks: Floats, rank: float, tie: float) -> float:
    """``weighted_quantile`` where all jumps are one: an order of all kinks takes several times as long."""
    first = max(0, math.ceil(rank - tie) - 1)
    last = first if rank <= tie else math.ceil(rank + tie) - 1
    if last == first or last >= len(kinks):
        return float(np.partition(kinks, first)[first])
    kinks = np.partition(kinks, last)
    return 0.5 * float(kinks[:last].max()) + 0.5 * float(kinks[last])


def _near_quantile(kinks: Floats, jumps: Floats, mass: float, total: float) -> tuple[float, Floats, Floats]:
    """The kinks around the quantile and the sum of the jumps below them, so that only a few kinks are sorted.

    A sample estimates their range; if the quantile or its neighbours are outside, all kinks are returned.
    """
    step = len(kinks) // _SAMPLE
    level = mass / total
    if step < 10 or not _MARGIN < level < 1.0 - _MARGIN:
        return 0.0, kinks, jumps
    sample = np.argsort(kinks[::step], kind="stable")
    reached = np.cumsum(jumps[::step][sample])
    ends = np.searchsorted(reached, reached[-1] * np.array([level - _MARGIN, level + _MARGIN]))
    low, high = kinks[::step][sample][np.minimum(ends, len(sample) - 1)]
    inside = (kinks >= low) & (kinks <= high)
    below, within = float(np.sum(jumps[kinks < low])), float(np.sum(jumps[inside]))
    if not below + 2 * _TIE * total < mass < below + within - 2 * _TIE * total:
        return 0.0, kinks, jumps
    return below, kinks[inside], jumps[inside]


def feasible_interval(score: Floats, label: Floats, margin: float = 1.0) -> tuple[float, float]:
    """The interval of b where every margin y (s + b) is at least this; its ends may be infinite, or in reverse."""
    low = float(np.max((margin - score)[label > 0], initial=-np.inf))
    return low, float(np.min((-margin - score)[label < 0], initial=np.inf))


def flat_or_root(low: float, high: float, derivative: Callable[[float], tuple[float, float]]) -> float:
    """The minimizer of a convex function whose derivative vanishes between low and high, if low <= high.

    The midpoint of that interval, or its finite end; elsewhere the root, or the middle of a flat stretch of roots.
    """
    if low <= high:
        if np.isinf(low) or np.isinf(high):
            return high if np.isinf(low) else low
        return 0.5 * low + 0.5 * high
    root = newton_root(derivative, start=0.5 * low + 0.5 * high)
    value, second = derivative(root)
    if second > 0.0 or value != 0.0:
        return root
    # all derivatives are at their bounds and cancel: the minimizer is an interval
    return 0.5 * (_end_of_roots(derivative, root, -1.0) + _end_of_roots(derivative, root, 1.0))


def _end_of_roots(derivative: Callable[[float], tuple[float, float]], root: float, sign: float) -> float:
    """The last b in this direction where the derivative is still zero, by doubling and bisection."""
    width = 1.0
    while derivative(root + sign * width)[0] == 0.0 and width < 1e300:
        stop_point()
        width *= 2.0
    near, far = root, root + sign * width
    for _ in range(200):
        stop_point()
        middle = 0.5 * (near + far)
        if middle in (near, far):
            break
        near, far = (middle, far) if derivative(middle)[0] == 0.0 else (near, middle)
    return near


def newton_root(derivative: Callable[[float], tuple[float, float]], start: float = 0.0) -> float:
    """The root of an increasing function, by Newton steps inside a bracket.

    ``derivative(b)`` returns the first and the second derivative.  The bracket is widened by doubling until the sign
    changes; a function that has no root (one class only) ends where its value underflows to zero.
    """
    low, high, b, width = -np.inf, np.inf, start, 1.0
    for _ in range(200):
        stop_point()
        value, second = derivative(b)
        if value == 0.0:
            return b
        low, high = (low, b) if value > 0 else (b, high)
        newton = b - value / second if second > 0 else np.nan
        if abs(newton - b) <= _SAME * abs(b):
            # where the step rounds to none it is not inside the bracket, which would be halved fifty times
            return float(newton)
        if low < newton < high and abs(newton - b) <= width:
            following = newton
        elif np.isinf(low) or np.isinf(high):
            following = b - np.copysign(width, value)
            width *= 2
        else:
            following = 0.5 * low + 0.5 * high
        if following == b or abs(following - b) <= _SAME * abs(b):
            return following
        b = following
    return b
