r"""Proximal Newton steps on small dense problems, several in one compiled call.

The steps of ``newton_step`` on all features, with the Hessian formed: on small data the calls of NumPy there take
longer than its arithmetic.  Where this loop can't go on (the quadratic model is not minimized after some sweeps, or the
line search finds no step) it returns, and ``newton_step`` continues from the same state.

=====================  =====================================================================
symbol                 here
=====================  =====================================================================
w, s                   ``small.weights``, ``small.scores``, which are changed in place
p, r                   ``small.point`` less w, and its last entry
H                      ``small.matrix``
=====================  =====================================================================
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.loop import helper, loop, summing_helper
from fenchel.compile.primitives.coordinate_descent import sweeps_of_descent
from fenchel.compile.primitives.dense_gram import add_gram, dense_dot
from fenchel.compile.primitives.example_sums import sum_derivatives, sum_dual_points
from fenchel.compile.primitives.newton_root import following_step
from fenchel.solvers.l1.rules import (
    INNER_TOLERANCE,
    LAST_TOLERANCE,
    LEAST_DAMPING,
    LINE_SEARCH_TOLERANCE,
    MODEL_TOLERANCE,
    NEAR_MATRIX,
    SHORT_STEP,
    SMALLEST_SCALE,
)

#: positions in ``numbers``
INTERCEPT, DAMPING = range(2)
#: sweeps that minimize a quadratic model at most, and evaluations of a line search
_SWEEPS, _EVALUATIONS = 100, 20
_ROUNDING = 2.0**-50


class Small(NamedTuple):
    """A problem with few features, and the state of the method, as in ``OutputState``."""

    lam: float
    #: whether the intercept is free
    free: bool
    #: the largest second derivative of the loss
    curvature: float
    #: X in float64 and C order, read-only
    X: Floats
    labels: Array
    shares: Floats
    scores: Floats
    weights: Floats
    numbers: Floats
    #: zeros, theta, the second derivatives, the scores of p, and the dual point of the model
    centre: Floats
    theta: Floats
    hess: Floats
    change: Floats
    dual_of_model: Floats
    #: X^T theta, and that of the dual point of the model
    x_theta: Floats
    x_theta_of_model: Floats
    #: the model: H, lam for each weight, its minimizer w + p with r, and its gradient there
    matrix: Floats
    thresholds: Floats
    point: Floats
    gradient: Floats


def small_of(lam: float, free: bool, curvature: float, X: Floats, labels: Array, shares: Floats) -> Small:
    """The arrays of a problem; the scores and weights are those of zero."""
    (n, d), size = X.shape, X.shape[1] + free
    examples, features, model = np.zeros((6, n)), np.zeros((3, d)), np.zeros((3, size))
    scores, weights, numbers = examples[0], features[0], np.zeros(2)
    state = (*examples[1:], *features[1:], np.zeros((size, size)), *model)
    return Small(lam, free, curvature, X, labels, shares, scores, weights, numbers, *state)


@helper
def _l1_norm(w: Any) -> float:
    total = 0.0
    for value in w:
        total += abs(value)
    return total


@summing_helper
def _add_row(scale: float, x: Any, result: Any) -> None:
    for j in range(len(x)):
        result[j] += scale * x[j]


@helper
def _scale(lam: float, x_theta: Any) -> float:
    """``feasible_scale``."""
    largest = 0.0
    for value in x_theta:
        largest = max(largest, abs(value))
    return lam / largest if largest > lam else 1.0


@helper
def _estimated_gap(small: Any, dual: Any, x_theta: Any) -> float:
    """The gap of a dual point, with the Fenchel-Young gap by its quadratic approximation at theta."""
    scale = _scale(small.lam, x_theta)
    gap = small.lam * _l1_norm(small.weights) - scale * dense_dot(small.weights, x_theta)
    if scale < SMALLEST_SCALE:
        return math.inf
    for t in range(len(dual)):
        away = small.theta[t] - scale * dual[t]
        if small.hess[t] > 0.0:
            gap += 0.5 * away * away / small.hess[t]
    return gap


@helper
def _minimize_model(small: Any, share: float) -> bool:
    """Write the minimizer of the quadratic model and the gradient there; return whether it is accurate enough."""
    d, n, lam, size = len(small.weights), len(small.labels), small.lam, len(small.point)
    matrix, point, gradient, x_theta, weights = small.matrix, small.point, small.gradient, small.x_theta, small.weights
    least, violation = small.numbers[DAMPING] * small.curvature, 0.0
    for t in range(n):
        small.hess[t] = max(small.hess[t], least * small.shares[t])
    for j in range(size):
        for k in range(size):
            matrix[j, k] = 0.0
    add_gram(small.X, small.hess, matrix, size)
    for j in range(d):
        small.thresholds[j], point[j], gradient[j] = lam, weights[j], -x_theta[j]
        if weights[j] == 0.0:
            violation = max(violation, abs(x_theta[j]) - lam)
        else:
            violation = max(violation, abs(x_theta[j] - math.copysign(lam, weights[j])))
    if small.free:
        small.thresholds[d] = point[d] = gradient[d] = 0.0
        for t in range(n):
            gradient[d] -= small.theta[t]
            matrix[d, d] += small.hess[t]
    for j in range(size):
        for k in range(j):
            matrix[k, j] = matrix[j, k]
    tolerance = MODEL_TOLERANCE * violation
    if _scale(lam, x_theta) >= 1.0 - NEAR_MATRIX:
        tolerance = min(tolerance, max(LAST_TOLERANCE * share, _ROUNDING) * lam)
    tolerance *= INNER_TOLERANCE
    accuracy = INNER_TOLERANCE * tolerance
    return sweeps_of_descent(matrix, small.thresholds, point, gradient, accuracy, tolerance, _SWEEPS)


@helper
def _derivatives(loss: Any, small: Any, step: float) -> tuple[float, float]:
    """The derivatives of the objective at a step; the first is nearest to zero in the subdifferential."""
    first, second = sum_derivatives(
        loss, small.labels, small.shares, small.centre, small.scores, small.change, step, 0.0, 0, len(small.labels)
    )
    kinks = 0.0
    for j in range(len(small.weights)):
        move = small.point[j] - small.weights[j]
        at = small.weights[j] + step * move
        if at == 0.0:
            kinks += small.lam * abs(move)
        else:
            first += math.copysign(small.lam, at) * move
    return first - min(max(first, -kinks), kinks), second


@helper
def _line_search(loss: Any, small: Any, initial: float) -> float:
    """A step to which the objective falls all the way, with a small derivative at its end; zero if none is found."""
    low, high, step, zeros = 0.0, math.inf, 1.0, False
    for j in range(len(small.weights)):
        zeros = zeros or (small.point[j] == 0.0 and small.weights[j] != 0.0)
    for k in range(_EVALUATIONS):
        first, second = _derivatives(loss, small, step)
        # a step beyond 1 would move the weights that the model sets to zero across it
        if first <= 0.0 and (first >= -LINE_SEARCH_TOLERANCE * abs(initial) or (k == 0 and zeros)):
            return step
        if first > 0.0:
            high = step
        else:
            low = step
        step = following_step(step, first, second, low, high)
    return low


@helper
def _step(loss: Any, small: Any, share: float) -> bool:
    """One step from the dual point at the scores; False if there is none."""
    d, n, lam = len(small.weights), len(small.labels), small.lam
    point, change, direction = small.point, small.change, small.x_theta_of_model
    if not _minimize_model(small, share):
        return False
    shift, initial = point[d] if small.free else 0.0, 0.0
    for j in range(d):
        direction[j] = point[j] - small.weights[j]
        kink = small.weights[j] == 0.0
        initial += lam * abs(direction[j]) if kink else math.copysign(lam, small.weights[j]) * direction[j]
    for t in range(n):
        change[t] = dense_dot(small.X[t], direction) + shift
        initial -= small.theta[t] * change[t]
        small.dual_of_model[t] = small.theta[t] - small.hess[t] * change[t]
    for j in range(d):
        small.x_theta_of_model[j] = -small.gradient[j]
    step = _line_search(loss, small, initial) if initial < 0.0 else 0.0
    if not step > 0.0:
        return False
    for t in range(n):
        small.scores[t] += step * change[t]
    for j in range(d):
        # exactly zero after a whole step to zero
        small.weights[j] += step * (point[j] - small.weights[j])
    small.numbers[INTERCEPT] += step * shift
    damping = small.numbers[DAMPING]
    small.numbers[DAMPING] = min(10.0 * damping, 1.0) if step < SHORT_STEP else max(0.1 * damping, LEAST_DAMPING)
    return True


@loop
def newton_steps(loss: Any, small: Any, target: float, most: int) -> int:
    """Make steps until an estimate of the gap is at most ``target``, at most ``most``; return their number."""
    n, steps = len(small.labels), 0
    while steps < most:
        sum_dual_points(
            loss, small.labels, small.shares, small.centre, small.scores, 0.0, small.theta, small.hess, 0, n
        )
        for j in range(len(small.weights)):
            small.x_theta[j] = 0.0
        for t in range(n):
            _add_row(small.theta[t], small.X[t], small.x_theta)
        if _estimated_gap(small, small.theta, small.x_theta) <= target:
            break
        if steps and _estimated_gap(small, small.dual_of_model, small.x_theta_of_model) <= target:
            break
        if not _step(loss, small, target / max(small.lam * _l1_norm(small.weights), target)):
            break
        steps += 1
    return steps
