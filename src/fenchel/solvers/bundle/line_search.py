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
from fenchel.solvers.bundle.oracle import Touch, touch

#: evaluations of the risk at most
_LOOKS = 12
#: enough if no more than this share of what was won can still be won
_ENOUGH = 0.3
#: a new point keeps this share of the interval from its ends
_MARGIN = 0.02


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, their scores without the intercept, the intercept, the slopes of the risk, and the objective."""

    weights: NDArray[np.float64]
    scores: NDArray[np.float64]
    intercept: Any
    slope: NDArray[np.float64]
    value: float


@dataclass(frozen=True, eq=False)
class _Look:
    """A point at t, and the slope of the objective there."""

    at: float
    point: Point
    slope: float

    @property
    def value(self) -> float:
        return self.point.value


def between(start: Point, end: Point, t: float) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
    """Weights, scores and intercept at t."""
    parts = ((start.weights, end.weights), (start.scores, end.scores), (start.intercept, end.intercept))
    weights, scores, intercept = ((1.0 - t) * one + t * other for one, other in parts)
    return weights, scores, intercept


def lowest_between(problem: Problem, start: Point, end: Point, enough: float) -> tuple[float, Point]:
    """The t in [0, 1] of the lowest objective and the point there, up to ``enough`` or a share of what is won."""
    change, moved = end.weights - start.weights, (end.scores + end.intercept) - (start.scores + start.intercept)
    bend = problem.lam * problem.regularizer.strong_convexity * float(np.vdot(change, change))

    def look(t: float, point: Point) -> _Look:
        slope = problem.lam * float(np.vdot(problem.regularizer.gradient(point.weights), change))
        return _Look(t, point, slope + float(np.vdot(point.slope, moved)))

    low, high = look(0.0, start), look(1.0, end)
    if high.slope <= 0.0:
        return 1.0, end
    if low.slope >= 0.0:
        return 0.0, start
    best = min(low, high, key=lambda found: found.value)
    for _ in range(_LOOKS):
        at, floor = _promising(low, high, bend)
        if best.value - floor <= max(enough, _ENOUGH * (start.value - best.value)):
            break
        margin = _MARGIN * (high.at - low.at)
        at = min(max(at, low.at + margin), high.at - margin)
        weights, scores, intercept = between(start, end, at)
        found = look(at, point_at(problem, weights, scores, touch(problem.risk, scores, intercept)))
        best = min(best, found, key=lambda found: found.value)
        low, high = (found, high) if found.slope < 0.0 else (low, found)
    return best.at, best.point


def point_at(problem: Problem, weights: NDArray, scores: NDArray, plane: Touch) -> Point:
    """The point where a plane touches."""
    value = problem.lam * problem.regularizer.value(weights) + plane.value
    return Point(weights, scores, plane.intercept, plane.slope, value)


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
