"""How much of a gap may be rounding: what the products with X can add to P and D."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Model, Problem, Witness

EPS = float(np.finfo(np.float64).eps)
#: roundings that the sums behind P and D are allowed, in units of the magnitudes that enter them
ROUNDINGS = 2.0
#: scores beyond so many (64 MB) are computed again where they are needed, and arrays of them are worked on in blocks
MANY = 1 << 23


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
        slopes = risk.slopes_near(scores[rows], near)
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
