"""One proximal Newton step on a working set: see ``prox_newton``.

The quadratic model of the risk plus the l1 norm is minimized (``working_set``), then the objective along the direction.
A working set is solved when its own gap is a tenth of the gap over all features or half of the target, or its KKT
violation a share of that over all features.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from fenchel.arrays import Array
from fenchel.compile.primitives.example_sums import directional_derivatives, smoothed_dual_point
from fenchel.numerics.line_search import line_search
from fenchel.problem import Problem
from fenchel.solvers.l1.loop_small import DAMPING, INTERCEPT, Small, newton_steps, small_of
from fenchel.solvers.l1.rules import (
    FEW_ENTRIES,
    FEW_FEATURES,
    LAST_TOLERANCE,
    LINE_SEARCH_TOLERANCE,
    MODEL_TOLERANCE,
    NEAR_COLUMNS,
    NEAR_MATRIX,
    SMALLEST_SCALE,
)
from fenchel.solvers.l1.working_set import (
    DualPoint,
    OutputState,
    damp,
    feasible_scale,
    step_by_columns,
    step_by_matrix,
    with_l1_derivative,
)
from fenchel.solvers.quadratic_l1 import kkt_violation

#: a working set is solved when its gap is this share of the gap over all features, or of the target
_WORKING_SET_GAP, _TARGET_GAP = 0.1, 0.5
#: largest change of the gap by a sum of theta that is not zero, beside a free intercept, as a share of the target
_IMBALANCE = 0.1
#: gap of a working set of all features, relative to the objective, above which no other one is selected
_GAP_OF_ALL = 1e-5
#: or when its KKT violation is this share of the violation over all features, as long as there are others; the second
#: share is for a relative gap below the third number, where most of the features of the optimum are in the set
_WORKING_SET_VIOLATION, _LAST_VIOLATION, _SMALL_GAP = 0.3, 0.03, 0.1
#: the quadratic model is minimized to no less than this share of the KKT violation at which the set is solved
_SOLVED_TOLERANCE = 0.5
#: data passes of a Newton step: half a pass for each of the gradient, the curvatures of the model, and the scores of
#: the direction; and steps of one call of the compiled loop, a few milliseconds
_STEP_PASSES, _MOST_SMALL_STEPS = 1.5, 8
#: halvings of a step at most
_MOST_HALVINGS = 30
_EPS = float(np.finfo(np.float64).eps)


def small_problem(problem: Problem) -> Small | None:
    """The arrays of the compiled loop, or None if the problem is not small and dense."""
    (n, d), risk = problem.design.shape, problem.mean_risk
    if d > FEW_FEATURES or n * d > FEW_ENTRIES or math.isinf(risk.loss.largest_curvature):
        return None
    blocks = problem.design.blocks(np.arange(n), n)
    if blocks is None:
        return None
    X = np.ascontiguousarray(next(blocks)[1]).view()
    X.setflags(write=False)
    return small_of(problem.lam, problem.intercept, risk.loss.largest_curvature, X, risk.labels, risk.shares)


def small_steps(output: OutputState, small: Small, target_gap: float, passes: float) -> float:
    """Make steps in the compiled loop, for about these data passes, and return how many they took."""
    problem = output.problem
    small.weights[:], small.scores[:] = output.weights, output.scores
    small.numbers[INTERCEPT], small.numbers[DAMPING] = output.intercept, output.damping
    most = max(1, min(_MOST_SMALL_STEPS, int(passes / _STEP_PASSES)))
    made = newton_steps(problem.mean_risk.loss.compiled(), small, _TARGET_GAP * target_gap, most)
    if made:
        output.weights, output.scores, output.x_theta = small.weights.copy(), small.scores.copy(), None
        output.intercept, output.damping = float(small.numbers[INTERCEPT]), float(small.numbers[DAMPING])
        output.dual_of_model = DualPoint(small.dual_of_model.copy(), small.x_theta_of_model.copy())
        output.update_objective()
    return _STEP_PASSES * made


def newton_step(output: OutputState, target_gap: float) -> float:
    """Make a step, or find that the working set is solved; return the data passes."""
    problem, lam = output.problem, output.problem.lam
    risk, n = problem.mean_risk, len(output.scores)
    # smooth losses need no centre of a smoothing
    centre, theta, hess = np.zeros((3, n))
    weights, share = output.weights[output.working_set], output.entries / problem.design.stored_entries
    smoothed_dual_point(risk.loss.compiled(), risk.labels, risk.shares, centre, output.scores, 0.0, theta, hess, 0, n)
    known, output.x_theta = output.x_theta, None
    x_theta = output.adjoint_of(theta) if known is None else known
    violation = kkt_violation(lam, weights, -x_theta)
    others = len(weights) < len(output.unscreened)
    part = _LAST_VIOLATION if output.gap <= _SMALL_GAP * output.objective else _WORKING_SET_VIOLATION
    enough = max(4.0 * _EPS * lam, part * output.violation if others else 0.0)
    share_of_gap = _WORKING_SET_GAP * output.gap
    if not others:
        # a new selection finds no other feature, only stalls
        share_of_gap = min(share_of_gap, _GAP_OF_ALL * output.objective)
    target = max(share_of_gap, _TARGET_GAP * target_gap)
    gap = _working_set_gap(output, weights, DualPoint(theta, x_theta), theta, hess, target)
    if gap > target and output.dual_of_model is not None:
        gap = _working_set_gap(output, weights, output.dual_of_model, theta, hess, target)
    if violation <= enough or gap <= target:
        output.select_next = True
        if not others and gap <= _TARGET_GAP * target_gap:
            # there is no other feature to look at before the certificate
            output.gap = gap
        return 0.5 * share
    damp(hess, risk, output.damping)
    minimize = step_by_matrix if output.columns is None else step_by_columns
    tolerance = max(MODEL_TOLERANCE * violation, _SOLVED_TOLERANCE * enough)
    last, near = tolerance, NEAR_MATRIX if output.columns is None else NEAR_COLUMNS
    if feasible_scale(lam, x_theta) >= 1.0 - near:
        # a violation of a share of lam adds that share of lam |w|_1 to the gap
        share_of_lam = LAST_TOLERANCE * target / max(lam * float(np.sum(np.abs(weights))), target)
        last = min(tolerance, max(share_of_lam, 4.0 * _EPS) * lam)
    change, shift, x_theta_of_model = minimize(output, weights, theta, hess, x_theta, tolerance, last)
    score_change = output.scores_of(change) + shift
    output.dual_of_model = DualPoint(theta - hess * score_change, x_theta_of_model)
    _move(output, theta, change, shift, score_change)
    return _STEP_PASSES * share


def _move(output: OutputState, theta: Array, change: Array, shift: float, score_change: Array) -> None:
    """Minimize the objective along a direction; one without descent ends the working set."""
    risk, lam, weights = output.problem.mean_risk, output.problem.lam, output.weights[output.working_set]
    data = (risk.loss.compiled(), risk.labels, risk.shares, np.zeros(len(theta)), output.scores)

    @cache
    def derivatives(step: float) -> tuple[float, float]:
        first, second = directional_derivatives(*data, score_change, step, 0.0, 0, len(theta))
        return with_l1_derivative(first, lam, weights + step * change, change), second

    initial = with_l1_derivative(-float(theta @ score_change), lam, weights, change, right=True)
    if not initial < 0.0:
        output.select_next = True
        return
    # a step beyond 1 would move the weights that the model sets to zero across it
    zeros = bool(np.any((change != 0.0) & (weights + change == 0.0)))
    enough_at_one = zeros and derivatives(1.0)[0] <= LINE_SEARCH_TOLERANCE * abs(initial)
    step = 1.0 if enough_at_one else line_search(derivatives, initial, LINE_SEARCH_TOLERANCE)
    if derivatives(step)[0] > 0.0:
        # beyond a minimum a small derivative does not imply a decrease
        step = _shortened(output, step, change, score_change)
    moved, before = weights + step * change, output.present_objective
    output.adapt_damping(step)
    output.weights[output.working_set] = moved
    output.scores += step * score_change
    output.intercept += step * shift
    output.update_objective()
    # steps that rounding errors hide
    output.select_next = bool(output.present_objective == before and np.array_equal(moved, weights))


def _shortened(output: OutputState, step: float, change: Array, score_change: Array) -> float:
    """Halve a step until the objective does not rise."""
    risk, lam, weights = output.problem.mean_risk, output.problem.lam, output.weights[output.working_set]

    def objective(step: float) -> float:
        penalty = lam * float(np.sum(np.abs(weights + step * change)))
        return risk.value(output.scores + step * score_change) + penalty

    before = objective(0.0)
    for _ in range(_MOST_HALVINGS):
        if objective(step) <= before * (1.0 + 4.0 * _EPS):
            break
        step *= 0.5
    return step


def _working_set_gap(
    output: OutputState, weights: Array, candidate: DualPoint, theta: Array, hess: Array, target: float
) -> float:
    """Return the gap of the working set with a dual point, which becomes the witness if it is small, or infinity."""
    lam, risk = output.problem.lam, output.problem.mean_risk
    output.witness, scale = None, feasible_scale(lam, candidate.x_theta)
    if scale < SMALLEST_SCALE:
        return np.inf
    # what is cheap first: the gap of the penalty, then the Fenchel-Young gap by its quadratic approximation at theta
    gap_of_penalty = lam * float(np.sum(np.abs(weights))) - scale * float(weights @ candidate.x_theta)
    if gap_of_penalty > target:
        return np.inf
    away = np.divide((theta - scale * candidate.theta) ** 2, hess, out=np.zeros_like(theta), where=hess > 0.0)
    if gap_of_penalty + 0.5 * float(np.sum(away)) > target:
        return np.inf
    inside = theta
    if candidate.theta is not theta:
        inside = risk.project(candidate.theta)
        if not np.array_equal(inside, candidate.theta):
            scale = feasible_scale(lam, output.adjoint_of(inside))
        if (
            output.problem.intercept
            and abs(float(np.sum(inside))) * (1.0 + abs(output.intercept)) > _IMBALANCE * target
        ):
            # beside a free intercept theta must sum to zero
            return np.inf
        output.witness = inside
    return output.present_objective + risk.conjugate(scale * inside, feasible=True)
