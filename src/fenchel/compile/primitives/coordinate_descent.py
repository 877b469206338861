"""Coordinate descent with Anderson extrapolation for a convex quadratic plus a weighted l1 norm, in matrix form."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.anderson import ANDERSON_DEPTH, anderson_coefficients, combined
from fenchel.compile.primitives.copying import copy


@helper
def sweep(matrix: Any, thresholds: Any, point: Any, gradient: Any) -> float:
    """One step along each coordinate; return the largest change of a partial derivative by its own step."""
    worst = 0.0
    for j in range(np.uint64(len(point))):
        curvature = matrix[j, j]
        if not curvature > 0.0:
            continue
        target = point[j] - gradient[j] / curvature
        size = abs(target) - thresholds[j] / curvature
        new = 0.0
        if size > 0.0:
            new = size if target > 0.0 else -size
        change = new - point[j]
        if change != 0.0:
            worst = max(worst, abs(change) * curvature)
            for k in range(np.uint64(len(point))):
                gradient[k] += matrix[j, k] * change
            point[j] = new
    return worst


@helper
def extrapolate(iterates: Any, gradients: Any, thresholds: Any, point: Any, gradient: Any) -> None:
    """Replace the point by the Anderson extrapolation of the iterates if the objective is smaller there."""
    coefficients, change = anderson_coefficients(iterates), 0.0
    (new, exists), (slopes, _) = combined(coefficients, iterates), combined(coefficients, gradients)
    for j in range(len(point)):
        change += 0.5 * (new[j] - point[j]) * (slopes[j] + gradient[j])
        change += thresholds[j] * (abs(new[j]) - abs(point[j]))
    if exists and change < 0.0:
        copy(new, point)
        copy(slopes, gradient)


@helper
def sweeps_of_descent(
    matrix: Any, thresholds: Any, point: Any, gradient: Any, step_tolerance: float, tolerance: float, sweeps: int
) -> bool:
    """Minimize a quadratic plus ``thresholds . |point|`` along each coordinate in turn, in at most ``sweeps`` sweeps.

    ``gradient`` is that of the quadratic at ``point`` and is kept up to date.  After every few sweeps the point is
    extrapolated if that decreases the objective.  Ends after a sweep that changes no partial derivative by more than
    ``step_tolerance`` by its own step, ``|H_jj step_j|``, or after which the KKT violation is at most ``tolerance``;
    returns whether one of them holds.
    """
    iterates = np.empty((ANDERSON_DEPTH + 1, len(point)))
    gradients = np.empty((ANDERSON_DEPTH + 1, len(point)))
    stored = 0
    for k in range(sweeps):
        if stored == 0:
            copy(point, iterates[0])
            copy(gradient, gradients[0])
            stored = 1
        worst = sweep(matrix, thresholds, point, gradient)
        if worst <= step_tolerance:
            return True
        violation = 0.0
        for j in range(len(point)):
            slope = gradient[j] + (thresholds[j] if point[j] > 0.0 else -thresholds[j])
            if point[j] == 0.0:
                slope = max(abs(gradient[j]) - thresholds[j], 0.0)
            violation = max(violation, abs(slope))
        if violation <= tolerance:
            return True
        copy(point, iterates[stored])
        copy(gradient, gradients[stored])
        stored += 1
        # a sweep follows, which sets coordinates to zero that the extrapolation moved across it
        if stored > ANDERSON_DEPTH and k + 1 < sweeps:
            extrapolate(iterates, gradients, thresholds, point, gradient)
            stored = 0
    return False


descend_coordinates = loop(sweeps_of_descent)
