"""State of a bundle method, and the model: the regularizer plus the maximum of the cutting planes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Array
from fenchel.problem import Problem
from fenchel.solvers.base import Warm
from fenchel.solvers.bundle.inner_problem import Optimum, Penalty, best_combination
from fenchel.solvers.bundle.line_search import Point
from fenchel.solvers.bundle.linear_program import minimize_model_l1
from fenchel.solvers.bundle.oracle import PlaneOracle
from fenchel.solvers.bundle.planes import Planes

#: a sum of theta below this multiple of the sum of |theta| is zero up to rounding
_BALANCE_TOLERANCE = 1e-13


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


def add_plane(problem: Problem, planes: Planes, slope: Array, offset: float) -> None:
    """Add the plane R(s) >= slope . s + offset."""
    planes.add(slope, offset, problem.design.adjoint(slope).ravel())


def add_dual_point(problem: Problem, planes: Planes, warm: Warm) -> None:
    """Add the plane R(s) >= -theta . s - R*(-theta) of the dual point of a warm start, if R* is known."""
    theta = np.array(warm.witness.theta, dtype=np.float64)
    if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
        return
    form, known, bound = problem.risk.closed_form(), warm.path_certificate, warm.witness.conjugate_bound
    if form is not None:
        theta = form.project(theta)
        conjugate = form.conjugate(theta, feasible=True)
    elif known is not None and known.fits(problem) and bound is not None:
        conjugate = bound
    else:
        return
    sums, sizes = np.abs(np.sum(theta, axis=0)), np.sum(np.abs(theta), axis=0)
    balanced = not problem.intercept or bool(np.all(sums <= _BALANCE_TOLERANCE * sizes))
    if balanced and np.isfinite(conjugate):
        add_plane(problem, planes, -theta, -conjugate)
