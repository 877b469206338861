"""Where a dual method starts: cold, or from the best that a warm start offers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.solvers.base import Warm


def first_dual(problem: Problem, warm: Warm | None) -> tuple[NDArray, NDArray, NDArray]:
    """The dual point to start from, u = X^T theta / lam, and the intercepts.

    A warm start offers its theta (or the subgradient at its model, if theta does not fit), and the same scaled back
    so that the weights stay what they were, for a lam that has become smaller.  The best of these and zero is taken.
    """
    zero, centre = np.zeros(problem.theta_shape), np.zeros(problem.risk.outputs or 1)
    if problem.intercept:
        known = None if warm is None or not problem.fits(warm.model) else warm.model.intercept
        centre = centre + (problem.best_intercept(zero) if known is None else np.asarray(known))
    if warm is None or not problem.fits(warm.model):
        return zero, np.zeros(problem.weights_shape), centre
    weights = np.asarray(warm.model.weights, dtype=np.float64)
    theta = np.asarray(warm.witness.theta, dtype=np.float64)
    if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
        scores = problem.design.scores(weights)
        theta = -problem.risk.subgradient(scores + (centre if scores.ndim == 2 else centre[0]))
    path_certificate = warm.path_certificate
    # a condensed path_certificate, as of a point of a path, has no vector to start from
    if (
        path_certificate is not None
        and path_certificate.fits(problem)
        and path_certificate.v.shape == problem.weights_shape
    ):
        u = path_certificate.v * (path_certificate.problem.lam / problem.lam)
    else:
        theta = problem.closed_form.project(theta)
        u = problem.design.adjoint(theta) / problem.lam
    # the factor t with t u = w, where the two are parallel
    squared = float(np.vdot(u, u))
    back = min(max(float(np.vdot(weights, u)) / squared, 0.0), 1.0) if squared > 0 else 0.0
    scale = max((1.0, back, 0.0), key=lambda scale: _dual_value(problem, theta, u, scale))
    return (theta, u, centre) if scale == 1.0 else (scale * theta, scale * u, centre)


def _dual_value(problem: Problem, theta: NDArray, u: NDArray, scale: float) -> float:
    """D(scale theta) to choose a start: heuristic, not reported."""
    conjugate = problem.closed_form.conjugate(scale * theta, feasible=True)
    return -problem.lam * problem.regularizer.conjugate(u, scale) - conjugate
