r"""The inner problem of a bundle method for the lasso: a linear program, solved by HiGHS.

.. math::
    \min_w\; \lambda\|w\|_1 + \max_j\,(g_j\cdot w + c_j) \quad\text{with } \|w\|_1 \le B
    \;=\; \max_{\alpha\in\Delta}\; c\cdot\alpha -
    B\,\Bigl[\max_i\bigl|\textstyle\sum_j\alpha_j g_j\bigr|_i - \lambda\Bigr]_+

Without the bound B the minimum may not exist while there are few planes.  The bound does not exclude the optimum: with
J the best objective so far, :math:`\lambda\|w^*\|_1 + \inf R \le J`, so :math:`B = (J - \inf R)/\lambda`.  The
right-hand side is a lower bound for every :math:`\alpha` in the simplex, so its validity does not depend on the
tolerances of HiGHS.

Most weights are zero, so the program starts with few features, and features with too large
:math:`|\sum_j\alpha_j g_j|_i` are added (column generation).

The program is solved for :math:`w = B u` and divided by :math:`\lambda B`, so that its coefficients are of order 1:
:math:`\min \|u\|_1 + \xi` with :math:`(g_j/\lambda)\cdot u + c_j/(\lambda B) \le \xi`.

===================  ==========================================================
symbol               here
===================  ==========================================================
B                    ``radius``
:math:`\alpha`       ``combination``
===================  ==========================================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array
from fenchel.numerics.linear_program import solve_linear_program
from fenchel.solvers.bundle.inner_problem import Optimum
from fenchel.solvers.bundle.planes import Planes

#: features of the first program, and fewest that are added at a time
_FEATURES = 64
#: largest number of programs
_MAX_ROUNDS = 50
#: relative violation of its dual constraint above which a feature is added
_VIOLATION = 1e-9


def minimize_model_l1(planes: Planes, lam: float, radius: float, start: Array, weights: Array) -> Optimum:
    """Return the minimum of the model in the l1 ball, from the last combination of planes and the last weights."""
    known = _evaluated(planes, lam, radius, start, weights)
    if not radius > 0.0:
        return known
    features = weights != 0.0
    sizes = np.abs(start @ planes.vectors)
    features[np.argsort(-sizes)[:_FEATURES]] = True
    for _ in range(_MAX_ROUNDS):
        solved = _solve_program(planes, lam, radius, np.flatnonzero(features))
        if solved is None:
            break
        combination, limit, weights = solved
        sizes = np.where(features, 0.0, np.abs(combination @ planes.vectors))
        violated = np.flatnonzero(sizes > (1.0 + _VIOLATION) * limit)
        if violated.size == 0:
            found = _evaluated(planes, lam, radius, combination, weights)
            # the last combination may be better by rounding errors: the bound must not decrease
            return found if found.value >= known.value else _evaluated(planes, lam, radius, start, weights)
        features[violated[np.argsort(-sizes[violated])[: max(_FEATURES, np.count_nonzero(features))]]] = True
    return known


def _solve_program(planes: Planes, lam: float, radius: float, features: Array) -> tuple[Array, float, Array] | None:
    """Return alpha, the bound on |sum alpha g| and the weights; None if HiGHS fails."""
    m, k = planes.count, len(features)
    vectors = planes.vectors[:, features] / lam
    # variables p, q >= 0 with u = p - q, and xi; a row for each plane, and one for the ball
    rows = np.ones((m + 1, 2 * k + 1))
    rows[:m, :k], rows[:m, k : 2 * k], rows[:m, 2 * k], rows[m, 2 * k] = vectors, -vectors, -1.0, 0.0
    right = np.append(-planes.offsets / (lam * radius), 1.0)
    bounds = [(0.0, None)] * (2 * k) + [(None, None)]
    found = solve_linear_program(np.ones(2 * k + 1), bounds, A_ub=rows, b_ub=right)
    if found is None:
        return None
    combination = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
    if not np.sum(combination[:m]) > 0.0:
        return None
    weights = np.zeros(planes.vectors.shape[1])
    weights[features] = radius * (found.x[:k] - found.x[k : 2 * k])
    return combination[:m] / np.sum(combination[:m]), lam * (1.0 + combination[m]), weights


def _evaluated(planes: Planes, lam: float, radius: float, combination: Array, weights: Array) -> Optimum:
    """Return the lower bound of the combination, with the gap of the model at these weights."""
    combination = combination / np.sum(combination)
    size = float(np.max(np.abs(combination @ planes.vectors), initial=0.0))
    value = float(planes.offsets @ combination) - radius * max(size - lam, 0.0)
    model = lam * float(np.sum(np.abs(weights))) + float(np.max(planes.vectors @ weights + planes.offsets))
    return Optimum(combination, weights, value, model - value)
