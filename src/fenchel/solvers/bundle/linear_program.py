r"""The inner problem of a bundle method for the absolute values: a linear program, solved by HiGHS.

.. math::
    \min_w\; \lambda\|w\|_1 + \max_j\,(g_j\cdot w + c_j) \quad\text{with } \|w\|_1 \le B
    \;=\; \max_{\alpha\in\Delta}\; c\cdot\alpha -
    B\,\Bigl[\max_i\bigl|\textstyle\sum_j\alpha_j g_j\bigr|_i - \lambda\Bigr]_+

Without the bound B there may be no minimum as long as there are few planes.  It cuts off no optimum: with J the best
objective so far, :math:`\lambda\|w^*\|_1 + \inf R \le J`, so :math:`B = (J - \inf R)/\lambda`.  The right-hand side
is a lower bound for every mixture, whatever HiGHS made of it: nothing rests on its tolerances.

Most weights are zero, so the program holds few features at first, and those whose
:math:`|\sum_j\alpha_j g_j|_i` turns out to be too large come in (columns are generated).

The program is solved for :math:`w = B u` and divided by :math:`\lambda B`, so that its numbers are about 1 where they
matter:  :math:`\min \|u\|_1 + \xi` with :math:`(g_j/\lambda)\cdot u + c_j/(\lambda B) \le \xi`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from fenchel.solvers.bundle.inner_problem import Optimum
from fenchel.solvers.bundle.planes import Planes

#: features in the program at first, and that come in at once
_FEATURES = 64
#: programs with more and more features at most
_ROUNDS = 50
#: a feature comes in if it is beyond its limit by this share
_BEYOND = 1e-9
#: of HiGHS, which takes nothing below 1e-10
_TOLERANCE = 1e-10


def lowest_model(planes: Planes, lam: float, most: float, start: NDArray, weights: NDArray) -> Optimum:
    """The minimum of the model in the ball of radius ``most``, from a mixture and the weights of the last one."""
    known = _judged(planes, lam, most, start, weights)
    if not most > 0.0:
        return known
    chosen = weights != 0.0
    pulls = np.abs(start @ planes.vectors)
    chosen[np.argsort(-pulls)[:_FEATURES]] = True
    for _ in range(_ROUNDS):
        solved = _solved(planes, lam, most, np.flatnonzero(chosen))
        if solved is None:
            break
        mixture, limit, weights = solved
        pulls = np.where(chosen, 0.0, np.abs(mixture @ planes.vectors))
        beyond = np.flatnonzero(pulls > (1.0 + _BEYOND) * limit)
        if beyond.size == 0:
            found = _judged(planes, lam, most, mixture, weights)
            # up to rounding the last mixture may be as good: the bound never falls
            return found if found.value >= known.value else _judged(planes, lam, most, start, weights)
        chosen[beyond[np.argsort(-pulls[beyond])[: max(_FEATURES, np.count_nonzero(chosen))]]] = True
    return known


def _solved(planes: Planes, lam: float, most: float, chosen: NDArray) -> tuple[NDArray, float, NDArray] | None:
    """The mixture, the limit of |sum alpha g| that it was given, and the weights; None if HiGHS gave up."""
    m, k = planes.count, len(chosen)
    vectors = planes.vectors[:, chosen] / lam
    # u = p - q with p, q >= 0, then xi; a row for each plane, and the ball
    rows = np.ones((m + 1, 2 * k + 1))
    rows[:m, :k], rows[:m, k : 2 * k], rows[:m, 2 * k], rows[m, 2 * k] = vectors, -vectors, -1.0, 0.0
    right = np.append(-planes.offsets / (lam * most), 1.0)
    options = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}
    bounds = [(0.0, None)] * (2 * k) + [(None, None)]
    found = linprog(np.ones(2 * k + 1), A_ub=rows, b_ub=right, bounds=bounds, method="highs", options=options)
    if found.status != 0:
        return None
    mixture = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
    if not np.sum(mixture[:m]) > 0.0:
        return None
    weights = np.zeros(planes.vectors.shape[1])
    weights[chosen] = most * (found.x[:k] - found.x[k : 2 * k])
    return mixture[:m] / np.sum(mixture[:m]), lam * (1.0 + mixture[m]), weights


def _judged(planes: Planes, lam: float, most: float, mixture: NDArray, weights: NDArray) -> Optimum:
    """What the mixture proves, and how far the model at these weights is above it."""
    mixture = mixture / np.sum(mixture)
    pull = float(np.max(np.abs(mixture @ planes.vectors), initial=0.0))
    value = float(planes.offsets @ mixture) - most * max(pull - lam, 0.0)
    model = lam * float(np.sum(np.abs(weights))) + float(np.max(planes.vectors @ weights + planes.offsets))
    return Optimum(mixture, weights, value, model - value)
