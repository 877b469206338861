r"""Minimum of a convex quadratic plus a weighted l1 norm, by coordinate descent and Newton steps on faces.

.. math:: \min_z\; \tfrac12 z^T H z + q\cdot z + \sum_j t_j |z_j|

Sweeps of coordinate descent find the signs of z; the quadratic is then minimized on the face of these signs by one
linear system; compare feature-sign search (Lee, Battle, Raina and Ng, NIPS 2006).  ``quadratic_l1_interior`` helps
where H is ill-conditioned.

===================  ==========================================================
symbol               argument
===================  ==========================================================
H, z                 ``matrix``, ``point``
t                    ``thresholds``; zero for a coordinate without penalty
:math:`Hz + q`       ``gradient``, kept up to date
===================  ==========================================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array
from fenchel.compile.primitives.coordinate_descent import descend_coordinates
from fenchel.numerics.linear_algebra import cholesky_solver
from fenchel.solvers.quadratic_l1_interior import interior_minimizer

#: largest number of rounds of sweeps and face steps
_MAX_ROUNDS = 200
#: rounds before the interior-point method, which takes the time of several of them
FIRST_ROUNDS = 3


def minimize_quadratic_l1(
    matrix: Array,
    thresholds: Array,
    point: Array,
    gradient: Array,
    *,
    step_tolerance: float,
    tolerance: float,
    sweeps: int = 1,
    rounds: int | None = None,
) -> None:
    """Minimize the quadratic plus the weighted l1 norm in place, from ``point``.

    Each round makes ``sweeps`` sweeps of coordinate descent and a step on the face of the signs.  If a few rounds are
    not enough, H is ill-conditioned, and the next one begins at the point of an interior-point method.  The method ends
    when a sweep changes no partial derivative by more than ``step_tolerance``, or when the KKT violation is at most
    ``tolerance``, or after ``rounds`` rounds.
    """
    for k in range(rounds or _MAX_ROUNDS):
        if k == FIRST_ROUNDS:
            _interior_step(matrix, thresholds, point, gradient)
        if descend_coordinates(matrix, thresholds, point, gradient, step_tolerance, tolerance, sweeps):
            return
        if _face_step(matrix, thresholds, point, gradient) and kkt_violation(thresholds, point, gradient) <= tolerance:
            return


def _interior_step(matrix: Array, thresholds: Array, point: Array, gradient: Array) -> None:
    """Move to the point of the interior-point method if the objective is smaller there."""
    linear = gradient - matrix @ point
    found = interior_minimizer(matrix, linear, thresholds, point)
    slopes = matrix @ found + linear
    change = 0.5 * float((found - point) @ (slopes + gradient)) + float(thresholds @ (np.abs(found) - np.abs(point)))
    if change < 0.0:
        point[:], gradient[:] = found, slopes


def _face_step(matrix: Array, thresholds: Array, point: Array, gradient: Array) -> bool:
    """Move to the minimum on the face of the signs, or to the first sign change; return whether it was a full step."""
    free = np.flatnonzero((point != 0.0) | (thresholds == 0.0))
    if free.size == 0:
        return True
    move = cholesky_solver(matrix[np.ix_(free, free)])(-(gradient[free] + thresholds[free] * np.sign(point[free])))
    crossing = (np.sign(point[free] + move) != np.sign(point[free])) & (thresholds[free] > 0.0)
    step = 1.0
    if np.any(crossing):
        steps_to_zero = -point[free][crossing] / move[crossing]
        step = float(np.min(steps_to_zero))
    moved = point[free] + step * move
    if np.any(crossing):
        moved[np.flatnonzero(crossing)[int(np.argmin(steps_to_zero))]] = 0.0
    gradient += matrix[:, free] @ (moved - point[free])
    point[free] = moved
    return step == 1.0


def kkt_violation(thresholds: Array | float, point: Array, gradient: Array) -> float:
    """Return the KKT violation: the largest distance of zero from a partial subdifferential."""
    at_zero = np.maximum(np.abs(gradient) - thresholds, 0.0)
    return float(np.max(np.where(point == 0.0, at_zero, np.abs(gradient + thresholds * np.sign(point))), initial=0.0))
