r"""The minimum of the objective between two points, from their scores alone: no product with X is needed.

Along :math:`w(t) = w_0 + t(w_1 - w_0)` the objective is convex, with curvature at least
:math:`q = \lambda\sigma\|w_1 - w_0\|^2` for a regularizer of strong convexity :math:`\sigma`.  The two parabolas of
this curvature that touch it at the ends of an interval are below it; the lowest point of their maximum is where to look
next, and its value says how much can still be won.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.solvers.plane_oracle import touch

#: evaluations of the risk at most
_LOOKS = 12
#: enough if no more than this share of what was won can still be won
_ENOUGH = 0.1
#: a new point keeps this share of the interval from its ends
_MARGIN = 0.02


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, their scores without the intercept, the intercept, and the objective."""

    weights: NDArray[np.float64]
    scores: NDArray[np.float64]
    intercept: Any
    value: float


@dataclass(frozen=True)
class _Look:
    """The objective and its slope at t."""

    at: float
    value: float
    slope: float


def between(start: Point, end: Point, t: float) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
    """Weights, scores and intercept at t."""
    if t == 1.0:
        return end.weights, end.scores, end.intercept
    parts = ((start.weights, end.weights), (start.scores, end.scores), (start.intercept, end.intercept))
    weights, scores, intercept = ((1.0 - t) * one + t * other for one, other in parts)
    return weights, scores, intercept


def lowest_between(problem: Problem, start: Point, end: Point, enough: float) -> tuple[float, float]:
    """The t in [0, 1] of the lowest objective and its value, up to ``enough`` or a tenth of what is won."""
    change, moved = end.weights - start.weights, (end.scores + end.intercept) - (start.scores + start.intercept)
    bend = problem.lam * problem.regularizer.strong_convexity * float(np.vdot(change, change))

    def look(t: float) -> _Look:
        weights, scores, intercept = between(start, end, t)
        plane = touch(problem.risk, scores, intercept)
        slope = problem.lam * float(np.vdot(problem.regularizer.gradient(weights), change))
        value = problem.lam * problem.regularizer.value(weights) + plane.value
        return _Look(t, value, slope + float(np.vdot(plane.slope, moved)))

    high = look(1.0)
    if high.slope <= 0.0:
        return 1.0, high.value
    low = look(0.0)
    if low.slope >= 0.0:
        return 0.0, low.value
    best = min(low, high, key=lambda found: found.value)
    for _ in range(_LOOKS):
        at, floor = _promising(low, high, bend)
        if best.value - floor <= max(enough, _ENOUGH * (start.value - best.value)):
            break
        margin = _MARGIN * (high.at - low.at)
        found = look(min(max(at, low.at + margin), high.at - margin))
        best = min(best, found, key=lambda found: found.value)
        low, high = (found, high) if found.slope < 0.0 else (low, found)
    return best.at, best.value


def _promising(low: _Look, high: _Look, bend: float) -> tuple[float, float]:
    """The lowest point of the maximum of two parabolas, and its value."""
    # low.value + low.slope x + bend/2 x^2 with x = t - low.at meets the other one, whose slope at low.at is
    width = high.at - low.at
    steep = high.slope - bend * width
    meet = (high.value - high.slope * width + 0.5 * bend * width**2) - low.value
    crossing = -meet / (steep - low.slope) if steep > low.slope else 0.5 * width
    x = crossing
    if bend > 0.0:
        x = min(x, -low.slope / bend)
        x = max(x, min(-steep / bend, width)) if -steep / bend > crossing else x
    x = min(max(x, 0.0), width)
    first = low.value + low.slope * x + 0.5 * bend * x**2
    second = low.value + meet + steep * x + 0.5 * bend * x**2
    return low.at + x, max(first, second)
