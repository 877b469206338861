"""The minimum of a convex quadratic plus weighted absolute values, by coordinate descent and steps on faces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.primitives.example_sums import descend_coordinates
from fenchel.numerics.linear_algebra import factorized

#: rounds of sweeps and face steps at most
_ROUNDS = 200


def settle(
    matrix: NDArray, limits: NDArray, point: NDArray, slope: NDArray, rest: float, enough: float, sweeps: int = 1
) -> None:
    """Minimize a quadratic with this matrix plus ``limits . |point|``; ``slope`` is that of the quadratic.

    So many sweeps along coordinates, then a step on the face of their signs, until a sweep changes slopes by at most
    ``rest`` or the optimality conditions are violated by at most ``enough``.
    """
    for _ in range(_ROUNDS):
        for _ in range(sweeps):
            if descend_coordinates(matrix, limits, point, slope) <= rest:
                return
        if _face(matrix, limits, point, slope) and _violation(limits, point, slope) <= enough:
            return


def _face(matrix: NDArray, limits: NDArray, point: NDArray, slope: NDArray) -> bool:
    """Go to the minimum on the face of the present signs, or to where the first sign would change."""
    free = np.flatnonzero((point != 0.0) | (limits == 0.0))
    if free.size == 0:
        return True
    move = factorized(matrix[np.ix_(free, free)])(-(slope[free] + limits[free] * np.sign(point[free])))
    crossing = (np.sign(point[free] + move) != np.sign(point[free])) & (limits[free] > 0.0)
    step = 1.0
    if np.any(crossing):
        reaches = -point[free][crossing] / move[crossing]
        step = float(np.min(reaches))
    moved = point[free] + step * move
    if np.any(crossing):
        moved[np.flatnonzero(crossing)[int(np.argmin(reaches))]] = 0.0
    slope += matrix[:, free] @ (moved - point[free])
    point[free] = moved
    return step == 1.0


def _violation(limits: NDArray, point: NDArray, slope: NDArray) -> float:
    """How far zero is from the subdifferential of the model."""
    at_zero = np.maximum(np.abs(slope) - limits, 0.0)
    return float(np.max(np.where(point == 0.0, at_zero, np.abs(slope + limits * np.sign(point)))))
