r"""Rounding floor: a bound on the rounding errors of P - D, in units of the accuracy of float64.

A product x . w of floats has an error of at most about :math:`d\,\epsilon\|x\|\|w\|`; with random signs it is far less,
and :math:`2\epsilon` times the sum of all magnitudes is used.  P depends on the scores through a subgradient of R, D on
:math:`v = X^T\theta/\lambda` through :math:`\nabla\Omega^*(v)`, the weights of the dual point.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate.equalities import free_rounding
from fenchel.certificate.trust import refute
from fenchel.numerics.limits import EPS
from fenchel.problem import Model, Problem, Witness

if TYPE_CHECKING:
    from fenchel.certificate.dual import Bound
    from fenchel.certificate.primal import Primal

#: roundings that the sums behind P and D are allowed, in units of the magnitudes that enter them
ROUNDINGS = 2.0
#: scores that are kept at most (64 MB); more are computed again when they are needed
MANY_SCORES = 1 << 23
#: gap, in units of the rough rounding bound, above which the finer bound is not computed
_NEAR_FLOOR = 1e3


def rounding_floor(problem: Problem, primal: Primal, bound: Bound, witness: Witness) -> float:
    """A bound on the rounding error of P - D: a rough one first, by rows if the gap is near it."""
    design, risk, intercept = problem.design, problem.risk, np.asarray(primal.model.intercept)
    # an infimum of zero that is not attained is known to eps R(0) at best
    at_zero = risk.value_at_zero
    magnitude = abs(primal.value) + bound.magnitude + (EPS * at_zero if math.isfinite(at_zero) else 0.0)
    sensitivity = dual_sensitivity(problem, bound.v, primal.penalty)
    scores_bound = design.largest_row_norm * norm_of(primal.model.weights) + float(np.max(np.abs(intercept)))
    rough = primal.subgradient_norm * scores_bound + _dual_noise(problem, bound, sensitivity)
    floor = ROUNDINGS * EPS * (magnitude + rough)
    if bound.trusted and math.isfinite(bound.value):
        scores = primal.scores
        scores = design.scores(primal.model.weights) + intercept if scores is None else scores
        refute(bound.conjugate, bound.theta, scores, primal.risk, magnitude + rough)
    if primal.value - bound.value <= _NEAR_FLOOR * floor:
        noise = product_noise(problem, primal.model, primal.scores, witness, sensitivity)
        floor = ROUNDINGS * EPS * (magnitude + noise)
    floor += conjugate_curvature(problem, design.largest_row_norm * absolute_sum(bound.theta))
    if problem.regularizer.free_directions() is not None and math.isfinite(bound.value):
        floor += min(bound.charge, free_rounding(problem, bound.theta, bound.value))
    return floor


def lone_bound_rounding(problem: Problem, primal: Primal, bound: Bound) -> float:
    """A bound on the rounding error of D, where P is infinite."""
    noise = _dual_noise(problem, bound, dual_sensitivity(problem, bound.v, primal.penalty))
    return ROUNDINGS * EPS * (bound.magnitude + noise)


def conjugate_curvature(problem: Problem, spread: float) -> float:
    r"""What an error of X^T theta moves lam Omega* beyond its gradient: delta^2 / (2 sigma lam).

    ``spread`` is the sum of abs(theta_i) times the norm of x_i, so that delta is a few roundings of it; Omega* has
    1/sigma-Lipschitz gradients for a sigma-strongly convex Omega.  The elastic net needs it where v rounds to the flat
    part of its conjugate, whose gradient says nothing of the other side of the threshold.
    """
    sigma = problem.regularizer.strong_convexity
    return (ROUNDINGS * EPS * spread) ** 2 / (2.0 * sigma * problem.lam) if sigma > 0.0 else 0.0


def _dual_noise(problem: Problem, bound: Bound, sensitivity: float) -> float:
    """A bound on the error of D from X^T theta and theta y, in units of EPS, by the largest row and label."""
    largest = problem.design.largest_row_norm * sensitivity + problem.risk.largest_label
    return absolute_sum(bound.theta) * largest


def dual_sensitivity(problem: Problem, v: Array, penalty: float) -> float:
    """The derivative of D in X^T theta: the norm of the weights of the dual point.

    If Omega* is finite on a bounded set only, v does not determine the weights; scaling v back to that set changes D by
    the largest error times Omega(w), estimated by that of the model.
    """
    if math.isfinite(problem.regularizer.largest_scale(v)):
        return problem.regularizer.radius(penalty)
    return norm_of(problem.regularizer.grad_conjugate(v))


def product_noise(problem: Problem, model: Model, scores: Array | None, witness: Witness, sensitivity: float) -> float:
    """A bound on the errors of P and D from the products X w and X^T theta, in units of EPS, by rows.

    A score has an error of |x_i| |w| + |b|, which changes the risk by its subgradient; X^T theta has an error of
    sum |theta_i| |x_i|, which changes the conjugate of the regularizer by its gradient; the terms theta_i y_i of the
    conjugate of the risk may cancel.
    """
    if scores is None:
        scores = problem.design.scores(model.weights)
        scores += np.asarray(model.intercept)
    every, total, size = np.sqrt(problem.design.squared_row_norms), 0.0, norm_of(model.weights)
    for rows, risk in problem.risk.parts():
        norms, labels = every[rows], risk.label_sizes()
        if risk.outputs is not None:
            norms = norms[:, None]
        theta, noise = np.abs(witness.theta[rows]), norms * size + np.abs(np.asarray(model.intercept))
        # a score may round to a kink: take the larger subgradient of both sides
        near = ROUNDINGS * EPS * (noise + labels)
        slopes = risk.subgradient_bounds(scores[rows], near)
        total += float(np.sum(slopes * noise) + np.sum(theta * (norms * sensitivity + labels)))
    return total


def is_trivial(problem: Problem, level: float) -> bool:
    """Whether the objective of the zero model is at most ``level``."""
    model = problem.zero_model()
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.design.scores(model.weights)
        scores += problem.best_intercept(scores)
        return bool(problem.lam * problem.regularizer.value(model.weights) + problem.risk.value(scores) <= level)


def absolute_sum(values: Array) -> float:
    """The sum of the absolute values, in blocks."""
    step = max(1, MANY_SCORES // max(1, values[:1].size))
    return sum(float(np.sum(np.abs(values[begin : begin + step]))) for begin in range(0, len(values), step))


def norm_of(weights: Array) -> float:
    """The Euclidean norm."""
    flat = np.ravel(weights, order="K")
    return float(np.sqrt(flat @ flat))
