r"""State of a bundle method, and the model: the regularizer plus the maximum of the cutting planes.

The next plane may be taken at a projection onto a level set of the model: Lemarechal, Nemirovskii and Nesterov (1995).

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

import math
from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.risks.protocols import ClosedForm
from fenchel.solvers.base import Warm
from fenchel.solvers.bundle.inner_problem import Optimum, Penalty, best_combination
from fenchel.solvers.bundle.line_search import Point, point_at
from fenchel.solvers.bundle.linear_program import minimize_model_l1
from fenchel.solvers.bundle.oracle import PlaneOracle
from fenchel.solvers.bundle.planes import Planes
from fenchel.stopping import stop_point

#: a sum of theta below this multiple of the sum of |theta| is zero up to rounding
_BALANCE_TOLERANCE = 1e-13
#: the level, and the interval of levels that are accepted, as shares of the gap above the bound
_LEVEL, _ACCEPTED_LEVELS = 0.6, (0.4, 0.8)
#: smallest proximal curvature relative to that of the regularizer; its reciprocal is the largest
_LEAST_PROXIMITY = 1e-9
#: largest number of proximal problems per step
_MAX_LEVEL_TRIALS = 4
#: accuracy of a proximal problem, as a share of the gap
_LEVEL_ACCURACY = 0.05


@dataclass
class State:
    """State of a bundle method."""

    problem: Problem
    oracle: PlaneOracle
    planes: Planes
    best: Point
    #: the solution of the inner problem with the current planes
    model: Optimum
    #: curvature of the last proximal term
    proximity: float = 0.0
    #: consecutive steps without progress, and consecutive steps with little progress of the bound
    steps_without_progress: float = 0.0
    steps_with_static_bound: int = 0

    @property
    def gap(self) -> float:
        """The best objective minus the lower bound."""
        return self.best.value - self.model.value

    def point(self, weights: Array, scores: Array | None = None) -> Point:
        """Return the point of these weights, with a new cutting plane."""
        scores = self.problem.design.scores(weights) if scores is None else scores
        return point_at(self.problem, weights, scores, self.oracle.plane(scores))


def penalty_of(problem: Problem) -> Penalty:
    """Return lam Omega in the form of the inner problem."""
    ratio = problem.regularizer.l1_ratio or 0.0
    return Penalty(problem.lam * (1.0 - ratio), problem.lam * ratio)


def minimize_model(
    problem: Problem, planes: Planes, best: Point, combination: Array, weights: Array, tolerance: float
) -> Optimum:
    """Line 5: minimize the model, from a combination of planes and the last weights."""
    if problem.regularizer.l1_ratio != 1.0:
        return best_combination(planes, penalty_of(problem), combination, tolerance)
    # a risk of unknown infimum is assumed to be nonnegative
    infimum = -problem.risk.conjugate_at_zero if math.isfinite(problem.risk.conjugate_at_zero) else 0.0
    return minimize_model_l1(planes, problem.lam, (best.value - infimum) / problem.lam, combination, weights)


def add_plane(problem: Problem, planes: Planes, point: Point) -> None:
    """Add the plane of a point."""
    parts, plane = problem.risk.decomposable(), point.plane
    decomposition = None if parts is None else plane.decomposed(parts, point.scores)
    planes.add(plane.slope, plane.offset, problem.design.adjoint(plane.slope).ravel(), decomposition=decomposition)


def add_dual_point(problem: Problem, planes: Planes, warm: Warm) -> None:
    """Add the plane R(s) >= -theta . s - R*(-theta) of the dual point of a warm start, if R* is known."""
    theta = np.array(warm.witness.theta, dtype=np.float64)
    if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
        return
    known, decomposition, parts = warm.path_certificate, warm.witness.decomposition, problem.risk.decomposable()
    form: ClosedForm | None = problem.risk.closed_form()
    if parts is not None and decomposition is not None:
        form = decomposed = parts.decomposed_form(theta, decomposition, balanced=problem.intercept)
        decomposition = None if decomposed is None else decomposed.decomposition
    if form is not None:
        theta = form.project(theta)
        conjugate = form.conjugate(theta, feasible=True)
    elif parts is None and known is not None and known.fits(problem) and warm.witness.conjugate_bound is not None:
        conjugate = warm.witness.conjugate_bound
    else:
        return
    sums, sizes = np.abs(np.sum(theta, axis=0)), np.sum(np.abs(theta), axis=0)
    balanced = not problem.intercept or bool(np.all(sums <= _BALANCE_TOLERANCE * sizes))
    if balanced and np.isfinite(conjugate):
        vector = problem.design.adjoint(-theta).ravel()
        planes.add(-theta, -conjugate, vector, decomposition=None if parts is None else decomposition)


def level_point(state: State) -> Floats:
    """Return the projection of the best point onto the level set, or the minimizer of the model."""
    model, gap = state.model, state.gap
    problem, planes, centre = state.problem, state.planes, state.best.weights.ravel()

    def share(weights: Array) -> float:
        """Return J_k minus the bound, as a share of the gap."""
        # the planes of many features and classes take as long to read as the data
        stop_point()
        value = problem.lam * problem.regularizer.value(weights)
        return (value + float(np.max(planes.vectors @ weights + planes.offsets)) - model.value) / gap

    plain, apart = penalty_of(problem), float(np.sum((model.weights - centre) ** 2))
    if share(centre) <= _LEVEL or not (plain.curvature or apart):
        # the planes at the best point have been dropped, or it is the minimizer up to rounding
        return model.weights
    # without strong convexity, the curvature with which the step to the minimizer costs as much as the gap
    unit = plain.curvature or 2.0 * gap / apart
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
