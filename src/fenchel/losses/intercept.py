"""Exact minimization of a mean risk over the intercept, for a fixed weight vector."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel.losses.base import Array

#: relative difference of two partial sums of shares below which they count as equal
_TIE = 1e-12


def weighted_quantile(kinks: Array, jumps: Array, mass: float) -> float:
    """Where a piecewise linear convex function of b with these kinks turns from falling to rising.

    ``jumps`` are the increases of the slope at the kinks and ``-mass`` is the slope at b = -inf.  Where the
    minimizer is an interval its midpoint is returned, or its finite end if it has only one.
    """
    order = np.argsort(kinks, kind="stable")
    kinks, reached = kinks[order], np.cumsum(jumps[order])
    tie = _TIE * float(reached[-1])
    first = int(np.searchsorted(reached, mass - tie))
    if mass <= tie:
        # falls nowhere: minimal everywhere to the left of the first kink that counts
        return float(kinks[int(np.searchsorted(reached, tie, side="right"))])
    last = int(np.searchsorted(reached, mass + tie, side="right"))
    return float(kinks[first] if last >= len(kinks) else 0.5 * (kinks[first] + kinks[last]))


def newton_root(derivative: Callable[[float], tuple[float, float]], start: float = 0.0) -> float:
    """The root of an increasing function, by Newton steps inside a bracket.

    ``derivative(b)`` returns the value and the slope.  The bracket is widened by doubling until the sign changes;
    a function that has no root (one class only) gives the largest b that was tried.
    """
    low, high, b, width = -np.inf, np.inf, start, 1.0
    for _ in range(200):
        value, slope = derivative(b)
        if value == 0.0:
            return b
        low, high = (low, b) if value > 0 else (b, high)
        if abs(b) > 1e6:
            return b
        newton = b - value / slope if slope > 0 else np.nan
        if low < newton < high and abs(newton - b) <= width:
            following = newton
        elif np.isinf(low) or np.isinf(high):
            following = b - np.copysign(width, value)
            width *= 2
        else:
            following = 0.5 * (low + high)
        if following == b or abs(following - b) <= 4e-16 * abs(b):
            return following
        b = following
    return b
