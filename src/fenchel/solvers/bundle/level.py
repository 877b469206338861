r"""Projection onto a level set of the model: Lemarechal, Nemirovskii and Nesterov (1995).

.. math:: \min_w\; \tfrac12\|w - \hat w\|^2 \quad\text{with } J_k(w) \le J_k(w_k) + \ell\,\text{gap}

is solved approximately through :math:`\min_w J_k(w) + \tfrac\mu2\|w - \hat w\|^2`, by a search for a :math:`\mu` whose
minimizer has a level :math:`\ell` in an accepted interval.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`\hat w`       ``centre``, the best point
:math:`\mu`          ``proximity``
===================  ==========================================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.solvers.bundle.inner_problem import Penalty, best_combination
from fenchel.solvers.bundle.model import State, penalty_of

#: the level, and the interval of levels that are accepted, as shares of the gap above the bound
_LEVEL, _ACCEPTED_LEVELS = 0.6, (0.4, 0.8)
#: smallest proximal curvature relative to that of the regularizer; its reciprocal is the largest
_LEAST_PROXIMITY = 1e-9
#: largest number of proximal problems per step
_MAX_LEVEL_TRIALS = 4
#: accuracy of a proximal problem, as a share of the gap
_LEVEL_ACCURACY = 0.05


def level_point(state: State) -> Floats:
    """Return the projection of the best point onto the level set, or the minimizer of the model."""
    model, gap = state.model, state.gap
    problem, planes, centre = state.problem, state.planes, state.best.weights.ravel()

    def share(weights: Array) -> float:
        """Return J_k minus the bound, as a share of the gap."""
        value = problem.lam * problem.regularizer.value(weights)
        return (value + float(np.max(planes.vectors @ weights + planes.offsets)) - model.value) / gap

    if share(centre) <= _LEVEL:
        # the planes at the best point have been dropped
        return model.weights
    plain = penalty_of(problem)
    # without strong convexity, the curvature with which the step to the minimizer costs as much as the gap
    unit = plain.curvature or 2.0 * gap / float(np.sum((model.weights - centre) ** 2))
    low, high = 0.0, np.inf
    proximity, combination, weights = state.proximity or unit, planes.weights, model.weights
    for _ in range(_MAX_LEVEL_TRIALS):
        penalty = Penalty(plain.curvature + proximity, plain.threshold, proximity * centre)
        found = best_combination(planes, penalty, combination, _LEVEL_ACCURACY * gap)
        combination, weights = found.combination, found.weights
        reached = share(weights)
        if _ACCEPTED_LEVELS[0] <= reached <= _ACCEPTED_LEVELS[1]:
            break
        low, high = (proximity, high) if reached < _LEVEL else (low, proximity)
        proximity = 8.0 * low if np.isinf(high) else 0.125 * high if low == 0.0 else float(np.sqrt(low * high))
    state.proximity = float(np.clip(proximity, _LEAST_PROXIMITY * unit, unit / _LEAST_PROXIMITY))
    return weights
