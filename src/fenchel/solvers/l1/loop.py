r"""Coordinate descent over the columns of X for a quadratic model plus the l1 norm.

.. math::
    \min_{w, \delta}\; \sum_i r_i\,(X w - Xw_0 + \delta)_i + \tfrac12 h_i\,(X w - Xw_0 + \delta)_i^2 + \lambda\|w\|_1

Each step minimizes over one weight exactly (soft thresholding; Friedman, Hastie and Tibshirani, Journal of Statistical
Software 33, 2010).  A free intercept :math:`\delta` stays optimal throughout: if the gradient in the scores sums to
zero, a step of weight k moves :math:`\delta` by :math:`-h\cdot x_k/\sum h` times that step.  This centres every column
by its weighted mean, at the cost of a few scalars.

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
from fenchel.compile.primitives.anderson import ANDERSON_DEPTH, anderson_coefficients, combined
from fenchel.compile.primitives.copying import copy

#: passes over nonzero weights end when their steps are this share of those of the last pass over all columns
PARTIAL_TOLERANCE = 0.1


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


@loop
def descend(columns: Any, weights: Any, model: Any, tolerance: float, max_passes: int) -> tuple[int, int]:
    """Alternate passes over all columns with passes over the columns of nonzero weights until both have converged.

    A pass has converged when no step changes a partial derivative by more than ``tolerance``.  Passes over the columns
    of nonzero weights end earlier while the last pass over all columns made much larger steps.  After every few passes
    the weights are extrapolated if that decreases the objective; the gradient is affine in the weights, and is
    extrapolated with them.  Returns the numbers of passes over all columns and over those of nonzero weights.
    """
    gradient, hess, shift, first, second, total, lam = model
    iterates = np.empty((ANDERSON_DEPTH + 1, len(weights)))
    gradients = np.empty((ANDERSON_DEPTH + 1, len(gradient)))
    shifts = np.empty(ANDERSON_DEPTH + 1)
    full, partial, everything, stored, end = 0, 0, True, 0, 0.0
    while full + partial < max_passes:
        if stored == 0:
            copy(weights, iterates[0])
            copy(gradient, gradients[0])
            shifts[0], stored = shift[0], 1
        worst = 0.0
        for k in range(np.uint64(len(weights))):
            old, curvature = weights[k], second[k]
            if old == 0.0 and not everything:
                continue
            target = old - (row_dot(columns, k, gradient) + shift[0] * first[k]) / curvature
            size = abs(target) - lam / curvature
            new = 0.0
            if size > 0.0:
                new = size if target > 0.0 else -size
            step = new - old
            if step == 0.0:
                continue
            worst = max(worst, abs(step) * curvature)
            weights[k] = new
            for t in range(row_begin(columns, k), row_end(columns, k)):
                i = row_column(columns, k, t)
                gradient[i] += step * hess[i] * row_entry(columns, k, t)
            if total > 0.0:
                shift[0] -= step * first[k] / total
        if everything:
            full += 1
            if worst <= tolerance:
                break
            everything, end = False, max(0.5 * tolerance, PARTIAL_TOLERANCE * worst)
        else:
            partial += 1
            everything = worst <= end
        copy(weights, iterates[stored])
        copy(gradient, gradients[stored])
        shifts[stored], stored = shift[0], stored + 1
        # a pass follows, which sets weights to zero that the extrapolation moved across it
        if stored > ANDERSON_DEPTH and full + partial < max_passes:
            _extrapolate(iterates, gradients, shifts, hess, lam, weights, gradient, shift)
            stored = 0
    return full, partial


@helper
def _extrapolate(
    iterates: Any, gradients: Any, shifts: Any, hess: Any, lam: float, weights: Any, gradient: Any, shift: Any
) -> None:
    """Replace the weights by the Anderson extrapolation of the iterates if the objective is smaller there."""
    coefficients = anderson_coefficients(iterates)
    (point, exists), (slopes, _), moved, change = (
        combined(coefficients, iterates), combined(coefficients, gradients), 0.0, 0.0
    )  # fmt: skip
    for k in range(len(shifts)):
        moved += coefficients[k] * shifts[k]
    for i in range(len(hess)):
        if hess[i] > 0.0:
            after, before = slopes[i] / hess[i] + moved, gradient[i] / hess[i] + shift[0]
            change += 0.5 * hess[i] * (after - before) * (after + before)
    for k in range(len(weights)):
        change += lam * (abs(point[k]) - abs(weights[k]))
    if exists and change < 0.0:
        copy(point, weights)
        copy(slopes, gradient)
        shift[0] = moved
