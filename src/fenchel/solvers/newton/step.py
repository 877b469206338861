"""One step of the semismooth Newton method (``newton.solver``): dual point, direction and line search."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array
from fenchel.numerics.line_search import line_search
from fenchel.problem import Problem
from fenchel.solvers.newton.direction import Quadratic
from fenchel.solvers.newton.penalty import gradient_of, hess_of, l1_ratio_of
from fenchel.solvers.newton.state import OutputState, State

#: the Hessian is averaged over this share of the root mean square change of the scores in the last step
_AVERAGING_RADIUS = 0.3
#: relative size of the derivative at which the line search ends
_LINE_SEARCH_TOLERANCE = 0.1
#: a gap below this multiple of the objective is rounding error
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
#: a gap above this multiple of R(0) is no rounding error, which saves an evaluation of the objective
_CLEARLY_ABOVE_ROUNDING = 1e-10


def objective_of(problem: Problem, output: OutputState) -> float:
    """Return the unsmoothed objective on the sample."""
    sample = output.sample
    risk = float(sample.shares @ problem.mean_risk.loss.value(sample.scores, sample.labels))
    return problem.lam * problem.regularizer.value(output.weights) + risk


def balance_cost(problem: Problem, output: OutputState) -> float:
    """Return an estimate of the dual objective that a correction of theta to sum zero costs."""
    return abs(output.theta_sum) * (1.0 + abs(output.intercept)) if problem.intercept else 0.0


def is_rounding(problem: Problem, output: OutputState, gap: float, at_kinks: bool = False) -> bool:
    """Return whether a gap is of the size of rounding errors.

    ``at_kinks`` allows for scores at kinks of the loss, where the gap of the risk is the rounding error of the scores.
    """
    if gap > _CLEARLY_ABOVE_ROUNDING * problem.risk.value_at_zero:
        return False
    scores = float(output.sample.shares @ np.abs(output.sample.scores)) if at_kinks else 0.0
    return gap <= _ROUNDING * (objective_of(problem, output) + scores)


def update_dual_point(problem: Problem, output: OutputState) -> int:
    """Update theta, the Hessian of the risk, v and both Fenchel-Young gaps; return the rows read."""
    sample = output.sample
    output.risk_gap, output.theta_sum = sample.update_dual_point(output.mu)
    output.v = sample.adjoint() / problem.lam
    penalty = problem.regularizer.value(output.weights) + problem.regularizer.conjugate(output.v)
    output.regularizer_gap = problem.lam * max(0.0, penalty - float(output.weights @ output.v))
    return int(np.count_nonzero(sample.theta))


def newton_step(state: State, output: OutputState) -> int:
    """2. minimize the quadratic model, then the smoothed objective along its minimizer; return the rows read."""
    problem, sample, free = state.problem, output.sample, state.problem.intercept
    threshold, ridge, rank_one = problem.lam * l1_ratio_of(problem), *hess_of(problem, output.weights, output.v)
    gradient = gradient_of(problem, output.weights) - problem.lam * output.v
    if free:
        gradient = np.append(gradient, -output.theta_sum)
    if output.mu > 0.0 and output.radius > 0.0:
        # 3. the Hessian, averaged over as far as the scores are expected to move
        sample.average_hess(output.mu, _AVERAGING_RADIUS * output.radius)
    quadratic = Quadratic(sample, ridge, free, state.random, exact=threshold > 0.0, rank_one=rank_one)
    if threshold > 0.0:
        direction = quadratic.solve_with_l1(gradient, output.weights, threshold)
    else:
        direction = quadratic.solve(-gradient)
    change, shift = direction[: len(output.weights)], float(direction[-1]) if free else 0.0
    sample.multiply(change, shift, sample.change)
    if not np.all(np.isfinite(sample.change)):
        # the direction overflows: the current point is kept
        output.stalled = True
        return quadratic.rows_read + len(sample.selected)
    derivative = float(gradient @ direction)
    derivative += threshold * float(np.sum(np.abs(output.weights + change)) - np.sum(np.abs(output.weights)))
    output.predicted_decrease = max(0.0, -0.5 * derivative)
    step = _step_length(problem, output, change, threshold, ridge, derivative)
    weights, intercept = output.weights + step * change, output.intercept + step * shift
    if np.array_equal(weights, output.weights) and intercept == output.intercept:
        # only a new centre can change the weights now
        output.predicted_decrease, output.stalled = 0.0, output.mu == 0.0
    output.weights, output.intercept = weights, intercept
    sample.scores += step * sample.change
    output.radius = abs(step) * float(np.sqrt(np.mean(sample.change**2)))
    return quadratic.rows_read + len(sample.selected) + update_dual_point(problem, output)


def _step_length(
    problem: Problem,
    output: OutputState,
    change: Array,
    threshold: float,
    ridge: float | Array,
    initial_derivative: float,
) -> float:
    def derivatives(step: float) -> tuple[float, float]:
        first, second = output.sample.directional_derivatives(step, output.mu)
        weights = output.weights + step * change
        first += float((gradient_of(problem, weights) + threshold * np.sign(weights)) @ change)
        # where weights are zero the subdifferential is an interval of this radius
        kink = threshold * float(np.sum(np.abs(change[weights == 0.0])))
        return np.sign(first) * max(0.0, abs(first) - kink), second + float((ridge * change) @ change)

    return line_search(derivatives, initial_derivative, _LINE_SEARCH_TOLERANCE)
