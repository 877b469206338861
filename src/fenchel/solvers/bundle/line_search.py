r"""Line search on the segment between two points, from their scores alone: no product with X is needed.

Along :math:`w(t) = w_0 + t(w_1 - w_0)` the objective is convex, with curvature at least
:math:`q = \lambda\sigma\|w_1 - w_0\|^2` for a regularizer of strong convexity :math:`\sigma`.  The two parabolas of
curvature q that are tangent to it at the ends of an interval are lower bounds.  The minimizer of their maximum is the
next trial point, and its value is a lower bound on the minimum, which ends the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.solvers.bundle.oracle import Plane, cutting_plane

#: largest number of evaluations of the risk
_MAX_EVALUATIONS = 12
#: the search ends when the possible further decrease is at most this share of the decrease so far
_TOLERANCE = 0.3
#: smallest distance of a trial point from the ends of the interval, relative to the interval
_MARGIN = 0.02


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, their scores without the intercept, the cutting plane there, and the objective."""

    weights: Floats
    scores: Floats
    plane: Plane
    value: float


@dataclass(frozen=True, eq=False)
class _Trial:
    """A point of the segment at t, and the derivative of the objective in t there."""

    at: float
    point: Point
    slope: float

    @property
    def value(self) -> float:
        return self.point.value


def between(start: Point, end: Point, t: float) -> tuple[Floats, Floats, Any]:
    """Return weights, scores and intercept at t."""
    intercepts = (start.plane.intercept, end.plane.intercept)
    parts = ((start.weights, end.weights), (start.scores, end.scores), intercepts)
    weights, scores, intercept = ((1.0 - t) * one + t * other for one, other in parts)
    return weights, scores, intercept


def segment_search(problem: Problem, start: Point, end: Point, tolerance: float) -> tuple[float, Point]:
    """Return t in [0, 1] and the point of the smallest objective, up to ``tolerance`` or a share of the decrease."""
    change = end.weights - start.weights
    moved = (end.scores + end.plane.intercept) - (start.scores + start.plane.intercept)
    curvature = problem.lam * problem.regularizer.strong_convexity * float(np.vdot(change, change))

    def trial_at(t: float, point: Point) -> _Trial:
        slope = problem.lam * float(np.vdot(problem.regularizer.gradient(point.weights), change))
        return _Trial(t, point, slope + float(np.vdot(point.plane.slope, moved)))

    low, high = trial_at(0.0, start), trial_at(1.0, end)
    if high.slope <= 0.0:
        return 1.0, end
    if low.slope >= 0.0:
        return 0.0, start
    best = min(low, high, key=lambda found: found.value)
    for _ in range(_MAX_EVALUATIONS):
        at, lower_bound = _next_trial(low, high, curvature)
        if best.value - lower_bound <= max(tolerance, _TOLERANCE * (start.value - best.value)):
            break
        margin = _MARGIN * (high.at - low.at)
        at = min(max(at, low.at + margin), high.at - margin)
        weights, scores, intercept = between(start, end, at)
        found = trial_at(at, point_at(problem, weights, scores, cutting_plane(problem.risk, scores, intercept)))
        best = min(best, found, key=lambda found: found.value)
        low, high = (found, high) if found.slope < 0.0 else (low, found)
    return best.at, best.point


def point_at(problem: Problem, weights: Array, scores: Array, plane: Plane) -> Point:
    """Return the point of a cutting plane."""
    return Point(weights, scores, plane, problem.lam * problem.regularizer.value(weights) + plane.value)


def _next_trial(low: _Trial, high: _Trial, curvature: float) -> tuple[float, float]:
    """Return the minimizer of the maximum of the two parabolas, and its value."""
    # in x = t - low.at the other parabola has this derivative and value at x = 0
    width = high.at - low.at
    derivative_at_low = high.slope - curvature * width
    value_difference = (high.value - high.slope * width + 0.5 * curvature * width**2) - low.value
    crossing = -value_difference / (derivative_at_low - low.slope) if derivative_at_low > low.slope else 0.5 * width
    x = crossing
    if curvature > 0.0:
        x = min(x, -low.slope / curvature)
        x = max(x, min(-derivative_at_low / curvature, width)) if -derivative_at_low / curvature > crossing else x
    x = min(max(x, 0.0), width)
    first = low.value + low.slope * x + 0.5 * curvature * x**2
    second = low.value + value_difference + derivative_at_low * x + 0.5 * curvature * x**2
    return low.at + x, max(first, second)
