r"""Active-set method for a concave quadratic over the simplex: the inner problem of a bundle method.

.. math:: \max_\delta\; e\cdot\delta - \tfrac12\,\delta^T (H + \operatorname{diag} r)\,\delta, \qquad
    \alpha + \delta \ge 0,\ \ \textstyle\sum\delta = 0

The stationary point on the support is computed from a Cholesky factor.  A weight that would become negative leaves the
support; if there is none, the plane with the largest partial derivative enters, until no derivative exceeds that of the
support by more than ``tolerance`` (Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, Sec. 16.5).  The factor
is updated by one row per pivot, at a cost of the squared size of the support.  The ridge r > 0 makes the maximizer
unique even if planes are repeated or linearly dependent; the caller removes its effect by iterating.

==================  ==================  ===========================================
symbol              argument            meaning
==================  ==================  ===========================================
:math:`\alpha`      ``weights``         weights of the planes, changed in place
e                   ``derivatives``          derivatives of the objective at the first weights
H, r                ``hessian, ridge``  curvature
==================  ==================  ===========================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop


@helper
def _append(factor: Any, order: Any, size: int, hessian: Any, ridge: Any, j: int) -> None:
    """Append a row to the Cholesky factor."""
    for k in range(size):
        total = hessian[order[k], j]
        for i in range(k):
            total -= factor[k, i] * factor[size, i]
        factor[size, k] = total / factor[k, k]
    pivot = hessian[j, j] + ridge[j]
    for i in range(size):
        pivot -= factor[size, i] * factor[size, i]
    # rounding errors may exceed the ridge
    factor[size, size] = np.sqrt(max(pivot, 0.5 * ridge[j]))
    order[size] = j


@helper
def _remove(factor: Any, order: Any, size: int, place: int) -> None:
    """Remove a row of the factor; Givens rotations restore the triangular form."""
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
    # rotations preserve norms, so the diagonal entries stay positive


@helper
def _solve(factor: Any, size: int, right: Any) -> None:
    """Solve by forward and backward substitution in place."""
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
def maximize_on_simplex(
    hessian: Any, derivatives: Any, ridge: Any, weights: Any, tolerance: float, max_pivots: int
) -> int:
    """Move ``weights`` to the maximizer, and ``derivatives`` to the derivatives there; return the number of pivots."""
    count = len(weights)
    factor, order = np.empty((count, count)), np.empty(count, np.int64)
    first, ones = np.empty(count), np.empty(count)
    in_support, excluded = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    size, newest = 0, -1
    for j in range(count):
        if weights[j] > 0.0:
            _append(factor, order, size, hessian, ridge, j)
            in_support[j] = True
            size += 1
    for pivot in range(max_pivots):
        # the stationary point on the support: M d = e - nu 1 with sum d = 0
        total, mass = 0.0, 0.0
        for i in range(size):
            first[i], ones[i] = derivatives[order[i]], 1.0
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
            # the newest plane entered by a rounding error only
            step, leaving, excluded[newest] = 0.0, size - 1, True
        newest = -1
        for i in range(size):
            j, change = order[i], step * first[i]
            if change != 0.0:
                weights[j] = max(weights[j] + change, 0.0)
                derivatives[j] -= ridge[j] * change
                for k in range(count):
                    derivatives[k] -= hessian[j, k] * change
        if leaving >= 0:
            j = order[leaving]
            weights[j], in_support[j] = 0.0, False
            _remove(factor, order, size, leaving)
            size -= 1
            continue
        level, best = 0.0, -1
        for i in range(size):
            level += weights[order[i]] * derivatives[order[i]]
        for j in range(count):
            if not in_support[j] and not excluded[j] and (best < 0 or derivatives[j] > derivatives[best]):
                best = j
        if best < 0 or derivatives[best] <= level + tolerance:
            return pivot + 1
        _append(factor, order, size, hessian, ridge, best)
        in_support[best], newest = True, best
        size += 1
    return max_pivots
