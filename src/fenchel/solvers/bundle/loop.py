r"""A concave quadratic over the simplex, by active sets: the inner problem of a bundle method.

.. math:: \max_\delta\; e\cdot\delta - \tfrac12\,\delta^T (H + \operatorname{diag} r)\,\delta, \qquad
    \alpha + \delta \ge 0,\ \ \textstyle\sum\delta = 0

On the support the stationary point is found by a Cholesky factor; a weight that would become negative leaves, and when
none does, the plane with the steepest slope enters, until no slope is above the common one by more than ``tolerance``.
The factor changes by one row at a time, so a pivot costs the square of the support.  The ridge r > 0 makes the
maximizer unique, whatever planes are repeated or depend on each other; the caller removes its effect by repeating.

==================  ==================  ===========================================
symbol              argument            meaning
==================  ==================  ===========================================
:math:`\alpha`      ``weights``         weights of the planes, changed in place
e                   ``slopes``          slopes of the objective at the first weights
H, r                ``hessian, ridge``  curvature
==================  ==================  ===========================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop


@helper
def _append(factor: Any, order: Any, size: int, hessian: Any, ridge: Any, j: int) -> None:
    """One more row of the Cholesky factor."""
    for k in range(size):
        total = hessian[order[k], j]
        for i in range(k):
            total -= factor[k, i] * factor[size, i]
        factor[size, k] = total / factor[k, k]
    pivot = hessian[j, j] + ridge[j]
    for i in range(size):
        pivot -= factor[size, i] * factor[size, i]
    # rounding may eat what the ridge adds
    factor[size, size] = np.sqrt(max(pivot, 0.5 * ridge[j]))
    order[size] = j


@helper
def _remove(factor: Any, order: Any, size: int, place: int) -> None:
    """The factor without one row: rotations make it triangular again."""
    for i in range(place + 1, size):
        order[i - 1] = order[i]
        for k in range(i + 1):
            factor[i - 1, k] = factor[i, k]
    for k in range(place, size - 1):
        a, b = factor[k, k], factor[k, k + 1]
        length = np.hypot(a, b)
        c, s = a / length, b / length
        for i in range(k, size - 1):
            a, b = factor[i, k], factor[i, k + 1]
            factor[i, k], factor[i, k + 1] = c * a + s * b, c * b - s * a
    # rotations keep lengths, so no diagonal entry can vanish


@helper
def _solve(factor: Any, size: int, right: Any) -> None:
    """Forward and backward substitution in place."""
    for i in range(size):
        total = right[i]
        for k in range(i):
            total -= factor[i, k] * right[k]
        right[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        right[i] /= factor[i, i]
        for k in range(i):
            right[k] -= factor[i, k] * right[i]


@loop
def climb(hessian: Any, slopes: Any, ridge: Any, weights: Any, tolerance: float, most: int) -> int:
    """Move ``weights`` to the maximizer in at most so many pivots, and ``slopes`` to the slopes there; the pivots."""
    count = len(weights)
    factor, order = np.empty((count, count)), np.empty(count, np.int64)
    first, ones = np.empty(count), np.empty(count)
    inside, banned = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    size, newest = 0, -1
    for j in range(count):
        if weights[j] > 0.0:
            _append(factor, order, size, hessian, ridge, j)
            inside[j] = True
            size += 1
    for pivot in range(most):
        # the stationary point on the support: M d = e - nu 1 with sum d = 0
        total, mass = 0.0, 0.0
        for i in range(size):
            first[i], ones[i] = slopes[order[i]], 1.0
        _solve(factor, size, first)
        _solve(factor, size, ones)
        for i in range(size):
            total += first[i]
            mass += ones[i]
        step, leaving = 1.0, -1
        for i in range(size):
            first[i] -= total / mass * ones[i]
            if first[i] < 0.0 and -first[i] * step > weights[order[i]]:
                step, leaving = weights[order[i]] / -first[i], i
        if newest >= 0 and first[size - 1] <= 0.0:
            # rounding alone let it in
            step, leaving, banned[newest] = 0.0, size - 1, True
        newest = -1
        for i in range(size):
            j, change = order[i], step * first[i]
            if change != 0.0:
                weights[j] = max(weights[j] + change, 0.0)
                slopes[j] -= ridge[j] * change
                for k in range(count):
                    slopes[k] -= hessian[j, k] * change
        if leaving >= 0:
            j = order[leaving]
            weights[j], inside[j] = 0.0, False
            _remove(factor, order, size, leaving)
            size -= 1
            continue
        level, best = 0.0, -1
        for i in range(size):
            level += weights[order[i]] * slopes[order[i]]
        for j in range(count):
            if not inside[j] and not banned[j] and (best < 0 or slopes[j] > slopes[best]):
                best = j
        if best < 0 or slopes[best] <= level + tolerance:
            return pivot + 1
        _append(factor, order, size, hessian, ridge, best)
        inside[best], newest = True, best
        size += 1
    return most
