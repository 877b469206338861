"""The first dual point of a dual method, with or without a warm start."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array
from fenchel.problem import Problem
from fenchel.solvers.base import Warm


def first_dual(problem: Problem, warm: Warm | None) -> tuple[Array, Array, Array]:
    """Return the first dual point, v = X^T theta / lam, and the intercepts.

    The candidates are theta of the warm start (or minus the subgradient at its model, if theta has another shape), the
    multiple of it whose weights are those of the warm start, for a smaller lam, and zero.  The candidate with the
    largest dual objective is returned.
    """
    zero, centre = np.zeros(problem.theta_shape), np.zeros(problem.risk.outputs or 1)
    if problem.intercept:
        given = None if warm is None or not problem.fits(warm.model) else warm.model.intercept
        centre = centre + (problem.best_intercept(zero) if given is None else np.asarray(given))
    if warm is None or not problem.fits(warm.model):
        return zero, np.zeros(problem.weights_shape), centre
    weights = np.asarray(warm.model.weights, dtype=np.float64)
    theta = np.asarray(warm.witness.theta, dtype=np.float64)
    if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
        scores = problem.design.scores(weights)
        theta = -problem.risk.subgradient(scores + (centre if scores.ndim == 2 else centre[0]))
    known, ratio = warm.path_certificate, 1.0
    # a compressed path certificate, such as that of a point of a path, does not store the vector
    stored = known is not None and known.fits(problem) and not known.compressed
    if known is not None and stored:
        v, ratio, short = known.v, known.problem.lam / problem.lam, known.compress().v
    else:
        theta = problem.closed_form.project(theta)
        v = problem.design.adjoint(theta) / problem.lam
        short = problem.regularizer.compress(v)
    # the factor t with t v = w if both are parallel
    squared = ratio * (float(short @ short) if problem.regularizer.is_ridge else float(np.vdot(v, v)))
    same_weights = min(max(float(np.vdot(weights, v)) / squared, 0.0), 1.0) if squared > 0 else 0.0
    scales = dict.fromkeys((1.0, same_weights, 0.0))
    scale = max(scales, key=lambda scale: _dual_value(problem, theta, short, scale, ratio))
    # the solver changes v
    v = v if scale == 1.0 and not stored else (scale * ratio) * v
    return theta if scale == 1.0 else scale * theta, v, centre


def _dual_value(problem: Problem, theta: Array, v: Array, scale: float, ratio: float) -> float:
    """Return D(scale theta) with X^T theta / lam = ratio v, which selects a start: heuristic, not reported."""
    conjugate = problem.closed_form.conjugate(scale * theta, feasible=True)
    return -problem.lam * problem.regularizer.conjugate(v, scale * ratio) - conjugate
