r"""The inner problem of a bundle method: the best convex combination of planes.

.. math::
    \min_w\; \tfrac\kappa2\|w\|^2 + \tau\|w\|_1 - p\cdot w + \max_j\,(g_j\cdot w + c_j) \;=\;
    \max_{\alpha\in\Delta}\; c\cdot\alpha - \tfrac\kappa2\|w(\alpha)\|^2, \qquad
    w(\alpha) = \tfrac1\kappa S_\tau\bigl(p - \textstyle\sum_j\alpha_j g_j\bigr)

with the soft threshold :math:`S_\tau`.  Ridge has :math:`\kappa = \lambda, \tau = 0`; the elastic net
:math:`\kappa = \lambda(1-\rho), \tau = \lambda\rho`; a proximal term :math:`\tfrac\mu2\|w - \hat w\|^2` adds
:math:`\mu` to :math:`\kappa` and :math:`\mu\hat w` to p.

The dual is quadratic (piecewise quadratic with a threshold).  Its partial derivatives are the values of the planes,
:math:`e_j = g_j\cdot w + c_j`.  They are computed from the planes themselves and not from their Gram matrix, so that
cancellation in :math:`\sum\alpha_j g_j` does not limit the accuracy.  Each round maximizes a quadratic with these
derivatives over the simplex exactly (``bundle.loop``), followed by a line search towards its maximizer: a semismooth
Newton method.  The dual value never decreases, so a start from the last :math:`\alpha` never lowers the bound.  The
duality gap of the inner problem is :math:`\max e - \alpha\cdot e`.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`\kappa, \tau` ``penalty.curvature``, ``penalty.threshold``
p                    ``penalty.linear``
:math:`\alpha`       ``combination``
e                    ``derivatives``
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.line_search import illinois
from fenchel.solvers.bundle.loop import maximize_on_simplex
from fenchel.solvers.bundle.planes import Planes
from fenchel.stopping import stop_point

#: largest number of rounds, without and with a threshold: degenerate planes need many, others a handful
_MAX_ROUNDS, _MAX_THRESHOLD_ROUNDS = 20, 100
#: ridge that makes the quadratic strictly concave, relative to the curvature of each plane
_RIDGE = 1e-12
#: ridge relative to the inner gap: first, and largest; multiplied by 100 after a round without progress
_GAP_RIDGE, _LARGEST_GAP_RIDGE = 1e-6, 1e-2
#: largest number of pivots in one round: a constant, and a number per plane
_PIVOTS, _PIVOTS_PER_PLANE = 100, 4
#: relative size of the derivative at which the line search ends
_LINE_SEARCH_TOLERANCE = 1e-7
#: share of the curvature of zero weights that is added to the Hessian: first and smallest
_DAMPING, _LEAST_DAMPING = 1e-4, 1e-9
#: line searches that end below this step increase the damping
_SHORT_STEP = 0.3


@dataclass(frozen=True, eq=False)
class Penalty:
    """kappa, tau and p."""

    curvature: float
    threshold: float
    linear: Floats | float = 0.0

    def weights(self, dual: Array) -> Floats:
        """Return w for p - sum alpha g."""
        if self.threshold == 0.0:
            return dual / self.curvature
        return np.copysign(np.maximum(np.abs(dual) - self.threshold, 0.0), dual) / self.curvature


@dataclass(frozen=True, eq=False)
class Optimum:
    """alpha, w, the dual value and the duality gap of the inner problem."""

    combination: Floats
    weights: Floats
    value: float
    gap: float


def best_combination(planes: Planes, penalty: Penalty, start: Array, tolerance: float) -> Optimum:
    """Maximize the dual from ``start``, up to a gap of ``tolerance`` or rounding errors."""
    vectors, offsets = planes.vectors, planes.offsets
    best, damping, gap_ridge = _evaluated(planes, penalty, start), _DAMPING, _GAP_RIDGE
    rounding = OBJECTIVE_ROUNDING * float(np.max(np.abs(offsets)))
    for _ in range(_MAX_THRESHOLD_ROUNDS if penalty.threshold > 0.0 else _MAX_ROUNDS):
        if best.gap <= tolerance:
            break
        combination = best.combination.copy()
        dual = penalty.linear - combination @ vectors
        # changes sum to zero, so constants do not matter; the heaviest plane balances the sum of a change that is below
        # the rounding error of its weight
        heaviest = int(np.argmax(combination))
        derivatives = vectors @ best.weights + offsets
        derivatives -= derivatives[heaviest]
        # the maximizer of the quadratic approximation, whose terms are all multiplied by kappa
        gram, gap = _curvature(planes, penalty, dual, damping), penalty.curvature * best.gap
        ridge = _RIDGE * np.diagonal(gram) + gap_ridge * gap + np.finfo(np.float64).tiny
        pivots, accuracy = _PIVOTS + _PIVOTS_PER_PLANE * planes.count, 1e-3 * gap * _LINE_SEARCH_TOLERANCE
        maximize_on_simplex(gram, penalty.curvature * derivatives, ridge, combination, accuracy, pivots)
        # nearly dependent planes cause rounding errors, first in the sum
        combination /= np.sum(combination)
        change = combination - best.combination
        change[heaviest] = 0.0
        change[heaviest] = -np.sum(change)
        size = _step(penalty, dual, best.weights, change @ vectors, float(derivatives @ change))
        if size < 1.0:
            combination = best.combination + size * change
        found = _evaluated(planes, penalty, np.maximum(combination, 0.0))
        noise = rounding
        if tolerance == 0.0:
            # full accuracy is requested: the rounding error of the quadratic term matters as well
            noise += OBJECTIVE_ROUNDING * penalty.curvature * float(found.weights @ found.weights)
        closer = found.gap < 0.5 * best.gap and found.value >= best.value - noise
        if not closer and not found.value > best.value + rounding:
            best = found if found.value > best.value else best
            if gap_ridge >= _LARGEST_GAP_RIDGE:
                # no progress beyond rounding errors
                break
            # shorter steps have smaller rounding errors
            damping, gap_ridge = 1.0, 100.0 * gap_ridge
            continue
        damping = min(10.0 * damping, 1.0) if size < _SHORT_STEP else max(0.1 * damping, _LEAST_DAMPING)
        best = found
    return best


def _evaluated(planes: Planes, penalty: Penalty, combination: Array) -> Optimum:
    # the planes of many features and classes take as long to read as the data
    stop_point()
    combination = combination / np.sum(combination)
    weights = penalty.weights(penalty.linear - combination @ planes.vectors)
    values = planes.vectors @ weights + planes.offsets
    gap = float(np.max(values) - combination @ values)
    value = float(planes.offsets @ combination) - 0.5 * penalty.curvature * float(weights @ weights)
    return Optimum(combination, weights, value, gap)


def _curvature(planes: Planes, penalty: Penalty, dual: Array, damping: float) -> Floats:
    """Return minus the Hessian of the dual in alpha, times kappa."""
    if penalty.threshold == 0.0:
        return planes.gram
    nonzero = planes.vectors[:, np.abs(dual) > penalty.threshold]
    return nonzero @ nonzero.T + damping * planes.gram


def _step(penalty: Penalty, dual: Array, weights: Array, change: Array, start: float) -> float:
    """Return the step, at most 1, along a change of sum alpha g where the derivative, ``start`` at zero, vanishes."""

    def derivative(size: float) -> float:
        return start + float((penalty.weights(dual - size * change) - weights) @ change)

    if start <= 0.0:
        return 0.0
    end = derivative(1.0)
    if end >= -_LINE_SEARCH_TOLERANCE * start:
        return 1.0
    return illinois(derivative, start, end, _LINE_SEARCH_TOLERANCE * start)
