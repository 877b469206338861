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
from fenchel.numerics.line_search import Tangent, tangent_minimum
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

    def tangent_at(t: float, point: Point) -> Tangent:
        slope = problem.lam * float(np.vdot(problem.regularizer.gradient(point.weights), change))
        return Tangent(t, point.value, slope + float(np.vdot(point.plane.slope, moved)))

    low, high = tangent_at(0.0, start), tangent_at(1.0, end)
    if high.slope <= 0.0:
        return 1.0, end
    if low.slope >= 0.0:
        return 0.0, start
    best, lowest = (0.0, start) if start.value <= end.value else (1.0, end)
    for _ in range(_MAX_EVALUATIONS):
        at, lower_bound = tangent_minimum(low, high, curvature)
        if lowest.value - lower_bound <= max(tolerance, _TOLERANCE * (start.value - lowest.value)):
            break
        margin = _MARGIN * (high.at - low.at)
        at = min(max(at, low.at + margin), high.at - margin)
        weights, scores, intercept = between(start, end, at)
        point = point_at(problem, weights, scores, cutting_plane(problem.risk, scores, intercept))
        best, lowest = (at, point) if point.value < lowest.value else (best, lowest)
        found = tangent_at(at, point)
        low, high = (found, high) if found.slope < 0.0 else (low, found)
    return best, lowest


def point_at(problem: Problem, weights: Array, scores: Array, plane: Plane) -> Point:
    """Return the point of a cutting plane."""
    return Point(weights, scores, plane, problem.lam * problem.regularizer.value(weights) + plane.value)
