"""How much of a gap may be rounding: what the products with X can add to P and D."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fenchel.certificate.equalities import free_rounding
from fenchel.certificate.trust import refute
from fenchel.problem import Model, Problem, Witness

if TYPE_CHECKING:
    from fenchel.certificate.dual import Bound
    from fenchel.certificate.primal import Primal

EPS = float(np.finfo(np.float64).eps)
#: roundings that the sums behind P and D are allowed, in units of the magnitudes that enter them
ROUNDINGS = 2.0
#: scores beyond so many (64 MB) are computed again where they are needed, and arrays of them are worked on in blocks
MANY = 1 << 23
#: gaps above this multiple of the rough rounding bound need no better one
_NEAR_FLOOR = 1e3


def rounding_floor(problem: Problem, primal: Primal, bound: Bound, witness: Witness) -> float:
    """How much of P - D may be rounding: a rough bound first, the one by rows where the gap is near it."""
    design, risk, intercept = problem.design, problem.risk, np.asarray(primal.model.intercept)
    # where the infimum is zero and not attained, nothing is lost below the square of the accuracy of floats
    at_zero = risk.value_at_zero
    magnitude = abs(primal.value) + bound.magnitude + (EPS * at_zero if math.isfinite(at_zero) else 0.0)
    sensitivity = dual_sensitivity(problem, bound.v, primal.penalty)
    reach = design.largest_row_norm * norm_of(primal.model.weights) + float(np.max(np.abs(intercept)))
    rough = primal.slopes * reach + _dual_noise(problem, bound, sensitivity)
    floor = ROUNDINGS * EPS * (magnitude + rough)
    if bound.trusted and math.isfinite(bound.value):
        scores = primal.scores
        scores = design.scores(primal.model.weights) + intercept if scores is None else scores
        refute(bound.conjugate, bound.theta, scores, primal.risk, magnitude + rough)
    if primal.value - bound.value <= _NEAR_FLOOR * floor:
        noise = product_noise(problem, primal.model, primal.scores, witness, sensitivity)
        floor = ROUNDINGS * EPS * (magnitude + noise)
    if problem.regularizer.free_directions() is not None and math.isfinite(bound.value):
        floor += min(bound.charge, free_rounding(problem, bound.theta, bound.value))
    return floor


def lone_bound_rounding(problem: Problem, primal: Primal, bound: Bound) -> float:
    """How much of D may be rounding where P is infinite."""
    noise = _dual_noise(problem, bound, dual_sensitivity(problem, bound.v, primal.penalty))
    return ROUNDINGS * EPS * (bound.magnitude + noise)


def _dual_noise(problem: Problem, bound: Bound, sensitivity: float) -> float:
    """What roundings in X^T theta and in theta y can add to D, with the largest row and label for all of them."""
    largest = problem.design.largest_row_norm * sensitivity + problem.risk.largest_label
    return absolute_sum(bound.theta) * largest


def dual_sensitivity(problem: Problem, dual: NDArray, penalty: float) -> float:
    """How much D may change with X^T theta: the length of the weights that belong to it.

    Where v is on the border of a bounded set it does not tell them, and scaling it back moves D by the largest error
    times Omega(w), of which the model's own is an example.
    """
    if math.isfinite(problem.regularizer.largest_scale(dual)):
        return problem.regularizer.radius(penalty)
    return norm_of(problem.regularizer.grad_conjugate(dual))


def product_noise(problem: Problem, model: Model, scores: NDArray | None, witness: Witness, pull: float) -> float:
    """What the roundings inside the products X w and X^T theta can add to P and D, in units of the accuracy.

    A score is off by up to |x_i| |w| + |b|, however small it is itself, and moves the risk by its slope;
    X^T theta is off by up to the sum of |theta_i| |x_i|, and moves the conjugate of the regularizer by its gradient;
    the terms theta_i y_i of the conjugate of the risk may cancel.  ``judge`` uses the largest row for all of them
    first, which is cheap and enough unless the gap is near the floor.
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
        # a score that rounds to a kink may lie beside it: the steeper side counts
        near = ROUNDINGS * EPS * (noise + labels)
        slopes = risk.subgradient_bounds(scores[rows], near)
        total += float(np.sum(slopes * noise) + np.sum(theta * (norms * pull + labels)))
    return total


def is_trivial(problem: Problem, level: float) -> bool:
    """Whether the model without weights has no objective above ``level`` either: then X explains nothing."""
    model = problem.zero_model()
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.design.scores(model.weights)
        scores += problem.best_intercept(scores)
        return bool(problem.lam * problem.regularizer.value(model.weights) + problem.risk.value(scores) <= level)


def absolute_sum(values: NDArray) -> float:
    """The sum of the absolute values, without an array of them all."""
    step = max(1, MANY // max(1, values[:1].size))
    return sum(float(np.sum(np.abs(values[begin : begin + step]))) for begin in range(0, len(values), step))


def norm_of(weights: NDArray) -> float:
    """The Euclidean norm."""
    flat = np.ravel(weights, order="K")
    return float(np.sqrt(flat @ flat))
