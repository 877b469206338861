r"""Coordinate descent over the columns of X for a quadratic model plus the l1 norm.

.. math::
    \min_{w, \delta}\; \sum_i r_i\,(X w - Xw_0 + \delta)_i + \tfrac12 h_i\,(X w - Xw_0 + \delta)_i^2 + \lambda\|w\|_1

Each step minimizes over one weight exactly (soft thresholding; Friedman, Hastie and Tibshirani, Journal of Statistical
Software 33, 2010).  A free intercept :math:`\delta` stays optimal throughout: if the gradient in the scores sums to
zero, a step of weight k moves :math:`\delta` by :math:`-h\cdot x_k/\sum h` times that step.  This centres every column
by its weighted mean, at the cost of a few scalars.

Correlated columns take many passes.  Between them the quadratic model is minimized on the face of the present signs by
conjugate gradients, scaled by the diagonal of the Hessian, as in the subspace steps of Chen, Curtis and Robinson (SIAM
J. Optimization 27, 2017).  Their number doubles as long as no weight reaches zero.

==========================  ==============================================================
symbol                      argument
==========================  ==============================================================
columns of X                ``columns``, each a row of a transposed design
:math:`r + h\,(Xw - Xw_0)`  ``model.gradient``, with respect to the scores
:math:`h_i, \sum h`         ``model.hess``, ``model.total``, which is zero without an intercept
:math:`\delta`              ``model.shift[0]``
:math:`h\cdot x_k`          ``model.first[k]``; zero without an intercept
curvature of weight k       ``model.second[k]``, :math:`h\cdot x_k^2 - (h\cdot x_k)^2/\sum h`
==========================  ==============================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import row_begin, row_column, row_dot, row_end, row_entry
from fenchel.compile.loop import helper, loop

#: passes over nonzero weights end when their steps are this share of those of the last pass over all columns
PARTIAL_TOLERANCE = 0.1
#: passes over nonzero weights before conjugate gradients, and most iterations of the first of these
_PASSES_BEFORE_FACE, _FIRST_ITERATIONS = 5, 10


class QuadraticModel(NamedTuple):
    """The quadratic model in the symbols above; the descent changes ``gradient`` and ``shift``."""

    gradient: Any
    hess: Any
    shift: Any
    first: Any
    second: Any
    total: float
    lam: float


@loop
def moments(columns: Any, hess: Any, first: Any, second: Any) -> None:
    """Write h . x_k and h . x_k^2 of every column into ``first`` and ``second``."""
    for k in range(np.uint64(len(first))):
        mean, square = 0.0, 0.0
        for t in range(row_begin(columns, k), row_end(columns, k)):
            value = row_entry(columns, k, t)
            weighted = hess[row_column(columns, k, t)] * value
            mean += weighted
            square += weighted * value
        first[k], second[k] = mean, square


class Schedule(NamedTuple):
    """What the next pass does, which a call of ``descend`` leaves to the next one; arrays of one number."""

    #: whether it is over all columns; passes over nonzero weights since the last conjugate gradients, and the most
    #: iterations of the next ones
    everything: Any
    since: Any
    length: Any
    #: largest change of a partial derivative with which passes over nonzero weights end
    end: Any


def new_schedule() -> Schedule:
    """The schedule of the first pass."""
    return Schedule(np.array([True]), np.array([0]), np.array([_FIRST_ITERATIONS]), np.array([0.0]))


@loop
def descend(
    columns: Any, weights: Any, model: Any, schedule: Any, tolerance: float, max_passes: int
) -> tuple[int, int, bool]:
    """Alternate passes over all columns with passes over the columns of nonzero weights until both have converged.

    A pass has converged when no step changes a partial derivative by more than ``tolerance``.  Passes over the columns
    of nonzero weights end earlier while the last pass over all columns made much larger steps.  After every few of them
    conjugate gradients minimize the model on the face of the present signs.  Returns the numbers of passes over all
    columns and over those of nonzero weights, and whether they have converged; an iteration of conjugate gradients
    counts as one of the latter, and the last ones may exceed ``max_passes`` by as many.
    """
    full, partial = 0, 0
    while full + partial < max_passes:
        worst = _pass(columns, weights, model, schedule.everything[0])
        if schedule.everything[0]:
            full += 1
            if worst <= tolerance:
                return full, partial, True
            schedule.everything[0], schedule.since[0] = False, 0
            schedule.end[0] = max(0.5 * tolerance, PARTIAL_TOLERANCE * worst)
            continue
        partial += 1
        schedule.since[0] += 1
        schedule.everything[0] = worst <= schedule.end[0]
        if schedule.since[0] >= _PASSES_BEFORE_FACE and not schedule.everything[0]:
            end, length = 0.5 * schedule.end[0], min(schedule.length[0], max_passes)
            used, schedule.length[0] = _face_step(columns, weights, model, end, length, max_passes)
            partial, schedule.since[0] = partial + used, 0
    return full, partial, False


@helper
def _pass(columns: Any, weights: Any, model: Any, everything: bool) -> float:
    """Minimize over one weight after the other; return the largest change of a partial derivative by its own step."""
    worst = 0.0
    for k in range(np.uint64(len(weights))):
        old, curvature = weights[k], model.second[k]
        if old == 0.0 and not everything:
            continue
        target = old - (row_dot(columns, k, model.gradient) + model.shift[0] * model.first[k]) / curvature
        size = abs(target) - model.lam / curvature
        new = 0.0
        if size > 0.0:
            new = size if target > 0.0 else -size
        step = new - old
        if step == 0.0:
            continue
        worst = max(worst, abs(step) * curvature)
        weights[k] = new
        _move_weight(columns, k, step, model, model.gradient, model.shift)
    return worst


@helper
def _move_weight(columns: Any, k: Any, step: float, model: Any, gradient: Any, shift: Any) -> None:
    """Update the gradient in the scores and the intercept after a step of weight k."""
    for t in range(row_begin(columns, k), row_end(columns, k)):
        i = row_column(columns, k, t)
        gradient[i] += step * model.hess[i] * row_entry(columns, k, t)
    if model.total > 0.0:
        shift[0] -= step * model.first[k] / model.total


@helper
def _face_step(columns: Any, weights: Any, model: Any, tolerance: float, length: int, most: int) -> tuple[int, int]:
    """Minimize on the face of the present signs; return the iterations of conjugate gradients.

    Weights that would change their signs become zero, and the others are minimized once more.  The step is made if the
    objective falls.
    """
    point, gradient, shift = weights.copy(), model.gradient.copy(), model.shift.copy()
    count, crossed = 0, True
    while crossed and count < most:
        used = _conjugate_gradients(
            columns, point, weights, model, gradient, shift, tolerance, min(most - count, length)
        )
        count, crossed = count + used, False
        for k in range(np.uint64(len(point))):
            if point[k] * weights[k] < 0.0:
                _move_weight(columns, k, -point[k], model, gradient, shift)
                point[k], crossed = 0.0, True
        if not crossed and used >= length:
            length *= 2
    change = 0.0
    for i in range(len(gradient)):
        if model.hess[i] > 0.0:
            after, before = gradient[i] / model.hess[i] + shift[0], model.gradient[i] / model.hess[i] + model.shift[0]
            change += 0.5 * model.hess[i] * (after - before) * (after + before)
    for k in range(len(weights)):
        change += model.lam * (abs(point[k]) - abs(weights[k]))
    if change < 0.0:
        weights[:], model.gradient[:], model.shift[0] = point, gradient, shift[0]
    return count, length


@helper
def _conjugate_gradients(
    columns: Any, point: Any, signs: Any, model: Any, gradient: Any, shift: Any, tolerance: float, most: int
) -> int:
    """Minimize over the nonzero entries of ``point`` with the slopes of fixed signs, scaled by the diagonal."""
    face = np.flatnonzero(point).astype(np.uint64)
    residual, direction, product = np.zeros((3, len(face)))
    scores, norm, largest, count = np.zeros(len(gradient)), 0.0, 0.0, 0
    for a in range(len(face)):
        k = face[a]
        slope = row_dot(columns, k, gradient) + shift[0] * model.first[k] + np.copysign(model.lam, signs[k])
        residual[a], direction[a] = -slope, -slope / model.second[k]
        norm += slope * slope / model.second[k]
        largest = max(largest, abs(slope))
    while count < most and largest > tolerance:
        count += 1
        scores[:], intercept, curvature = 0.0, 0.0, 0.0
        for a in range(len(face)):
            k, step = face[a], direction[a]
            for t in range(row_begin(columns, k), row_end(columns, k)):
                scores[row_column(columns, k, t)] += step * row_entry(columns, k, t)
            if model.total > 0.0:
                intercept -= step * model.first[k] / model.total
        scores *= model.hess
        for a in range(len(face)):
            product[a] = row_dot(columns, face[a], scores) + intercept * model.first[face[a]]
            curvature += product[a] * direction[a]
        if not curvature > 0.0:
            break
        step, last, norm, largest = norm / curvature, norm, 0.0, 0.0
        for a in range(len(face)):
            k = face[a]
            point[k] += step * direction[a]
            residual[a] -= step * product[a]
            norm += residual[a] * residual[a] / model.second[k]
            largest = max(largest, abs(residual[a]))
        gradient += step * scores
        shift[0] += step * intercept
        for a in range(len(face)):
            direction[a] = residual[a] / model.second[face[a]] + norm / last * direction[a]
    return max(count, 1)
