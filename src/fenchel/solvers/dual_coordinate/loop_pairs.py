r"""Sequential minimal optimization with a Gram matrix in memory: pairs of dual variables chosen by second order.

With a free intercept a step on one dual variable changes :math:`\sum\theta`, which the augmented Lagrangian pays for
later.  A step on two, :math:`\theta_i/\lambda + d` and :math:`\theta_j/\lambda - d`, keeps the sum.  For a loss with
:math:`f^*(-\alpha, y) = -y\alpha + \epsilon|\alpha| + \tfrac\kappa2\alpha^2` on its domain the negative dual has the
slopes, from above and from below,

.. math:: u_i = s_i - y_i + \kappa\alpha_i \pm \epsilon, \qquad l_i = s_i - y_i + \kappa\alpha_i \pm \epsilon

(with the sign of :math:`\alpha_i` after an increase, a decrease; :math:`\infty` and :math:`-\infty` at a bound).  The
dual point is optimal if :math:`\min u \ge \max l`; the intercept is minus a number between them.  Each step takes i
with the smallest u, and the j that promises the largest gain (Fan, Chen and Lin, Working set selection using second
order information for training support vector machines, JMLR 6, 2005, WSS 2):

.. math:: \frac{(l_j - u_i)^2}{2 a_{ij}}, \qquad a_{ij} = K_{ii} + K_{jj} - 2K_{ij} + \kappa/D_i + \kappa/D_j

and :math:`d = (l_j - u_i)/a_{ij}`, cut at the first bound or kink.

=====================  ===============================================================================
symbol                 here
=====================  ===============================================================================
s                      ``v``, without the intercept
u, l                   ``upper``, ``lower``
:math:`D_i`            ``table[i, SCALE]``, :math:`c_i/\lambda`
=====================  ===============================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_add
from fenchel.compile.loop import helper, loop
from fenchel.solvers.dual_coordinate.loop import ALPHA, LABEL, OFFSET, SCALE

#: a curvature along a pair below this share of the diagonal of K counts as this one
_FLATTEST = 1e-12


@helper
def _slopes(table: Any, v: Any, bounds: Any, form: Any, i: Any, upper: Any, lower: Any) -> None:
    """The slopes of example i."""
    kappa, epsilon = form
    alpha = table[i, ALPHA]
    slope = v[i] - table[i, LABEL] + kappa * alpha
    upper[i] = slope + (epsilon if alpha >= 0.0 else -epsilon) if alpha < bounds[i, 1] else np.inf
    lower[i] = slope + (epsilon if alpha > 0.0 else -epsilon) if alpha > bounds[i, 0] else -np.inf


@helper
def _limit(alpha: float, bound: float, epsilon: float) -> float:
    """The first value at which the quadratic along this variable ends: the kink at zero, or the bound."""
    return 0.0 if epsilon > 0.0 and alpha * bound < 0.0 else bound


@loop
def optimize_pairs(
    rows: Any, table: Any, v: Any, intercept: Any, active: Any, bounds: Any, form: Any, rounds: int
) -> tuple[int, float, float]:
    """Make at most that many steps on pairs of the active examples.

    Returns the number of steps, and the smallest u and the largest l of these examples.
    """
    (state, projection, _), (kappa, epsilon), values, n = intercept, form, rows.values, len(table)
    upper, lower, curvatures = np.empty(n), np.empty(n), np.zeros(n)
    for i in range(n):
        _slopes(table, v, bounds, form, i, upper, lower)
    for t in range(np.uint64(len(active))):
        k = np.uint64(active[t])
        curvatures[k] = values[k, k] + kappa / table[k, SCALE]
    least, most, steps = np.inf, -np.inf, 0
    while True:
        # the smallest u, and the largest l
        i, least, most = np.uint64(active[0]), np.inf, -np.inf
        for t in range(np.uint64(len(active))):
            k = np.uint64(active[t])
            if upper[k] < least:
                i, least = k, upper[k]
            most = max(most, lower[k])
        if steps == rounds or not least < most:
            break
        # the largest gain
        j, largest, curvature = i, 0.0, 1.0
        row = values[i]
        for t in range(np.uint64(len(active))):
            k = np.uint64(active[t])
            difference = lower[k] - least
            if difference > 0.0:
                both = curvatures[i] + curvatures[k]
                along = max(both - 2.0 * row[k], _FLATTEST * both)
                if difference * difference > largest * along:
                    j, largest, curvature = k, difference * difference / along, along
        if largest == 0.0:
            break
        # the step, up to the first bound or kink
        highest, lowest = (
            _limit(table[i, ALPHA], bounds[i, 1], epsilon),
            _limit(table[j, ALPHA], bounds[j, 0], epsilon),
        )
        room = table[i, SCALE] * (highest - table[i, ALPHA])
        other = table[j, SCALE] * (table[j, ALPHA] - lowest)
        step = min((lower[j] - least) / curvature, room, other)
        new_i = highest if step == room else table[i, ALPHA] + step / table[i, SCALE]
        new_j = lowest if step == other else table[j, ALPHA] - step / table[j, SCALE]
        if new_i == table[i, ALPHA] or new_j == table[j, ALPHA]:
            break
        table[i, ALPHA], table[j, ALPHA] = new_i, new_j
        other_row = values[j]
        for k in range(np.uint64(n)):
            change = step * (row[k] - other_row[k])
            v[k] += change
            upper[k] += change
            lower[k] += change
        _slopes(table, v, bounds, form, i, upper, lower)
        _slopes(table, v, bounds, form, j, upper, lower)
        state[OFFSET] += step * (projection[i] - projection[j])
        steps += 1
    return steps, least, most


@loop
def add_rows(rows: Any, examples: Any, steps: Any, v: Any) -> None:
    """Add multiples of rows of K to the scores of all examples."""
    for a in range(len(examples)):
        if steps[a] != 0.0:
            row_add(rows, np.uint64(examples[a]), steps[a], v)
