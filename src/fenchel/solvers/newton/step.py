"""One step of the semismooth Newton method (``newton.solver``): dual point, direction and line search."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.line_search import line_search
from fenchel.numerics.linear_algebra import RIDGE
from fenchel.solvers.newton.direction import Quadratic
from fenchel.solvers.newton.loop_small import Small, newton_steps
from fenchel.solvers.newton.rules import CLEARLY_ABOVE_ROUNDING, LINE_SEARCH_TOLERANCE
from fenchel.solvers.newton.sample import Sample
from fenchel.solvers.newton.sampling import Iterate
from fenchel.solvers.newton.tiny import Point, TinySteps

#: multiplications for the Hessians of one compiled call, some hundredths of a second
_WORK_BETWEEN_STOP_POINTS = 1 << 27


@dataclass(kw_only=True)
class OutputState(Iterate):
    """State of one output."""

    labels: Floats
    sample: Sample
    #: smoothing parameter; zero for smooth losses
    mu: float
    #: X^T theta / lam
    v: Floats = field(default_factory=lambda: np.zeros(0))
    #: R(s) + R*(-theta) + theta . s on the sample
    risk_gap: float = np.inf
    #: lam (Omega(w) + Omega*(v) - w . v)
    regularizer_gap: float = np.inf
    theta_sum: float = 0.0
    #: root mean square change of the scores in the last step
    radius: float = 0.0

    #: the objective of ``weights``, where it is known
    known: tuple[Floats, float] | None = None
    #: the point of a tiny problem at ``weights``, where it is known
    point: tuple[Floats, Point] | None = None

    @property
    def objective(self) -> float:
        # weights are replaced, never changed
        if self.known is None or self.known[0] is not self.weights:
            sample, problem = self.sample, self.problem
            risk = float(sample.shares @ problem.mean_risk.loss.value(sample.scores, sample.labels))
            self.known = self.weights, problem.lam * problem.regularizer.value(self.weights) + risk
        return self.known[1]

    @property
    def gap(self) -> float:
        gap = self.risk_gap + self.regularizer_gap
        # the last term estimates the dual objective that a correction of theta to sum zero costs
        return gap + abs(self.theta_sum) * (1.0 + abs(self.intercept)) if self.problem.intercept else gap

    @property
    def is_solved(self) -> bool:
        if super().is_solved:
            return True
        gap = self.risk_gap + self.regularizer_gap
        if self.mu == 0.0 or gap > CLEARLY_ABOVE_ROUNDING * self.problem.risk.value_at_zero:
            return False
        # theta is the scores over mu, up to constants, so that its sum has their rounding errors over mu: a step that
        # follows these only moves the weights across a kink, and a smaller mu makes more of them
        size = float(self.sample.shares @ np.abs(self.sample.scores))
        return abs(self.theta_sum) <= OBJECTIVE_ROUNDING * size / self.mu and self.is_rounding(gap, size)

    @property
    def gap_in_reach(self) -> float:
        return self.risk_gap + min(self.regularizer_gap, self.predicted_decrease)

    @property
    def sampling_error(self) -> float:
        sample = self.sample
        curvature = float(np.sum(sample.hess))
        if self.mu > 0.0 or curvature == 0.0:
            return super().sampling_error
        # Takeuchi's trace of H^-1 Cov(gradient) / (2 n), with scalars in place of both matrices
        squares = float(np.sum(sample.theta**2 / sample.shares))
        return self.weights.size / (2.0 * len(sample.selected)) * squares / curvature

    def resample(self, selected: Array) -> None:
        """Continue with another sample, with the centre at the dual point of the smoothed loss."""
        self.sample = sample = Sample(self.problem, self.labels, selected, self.sample.parts.pool)
        self.known = self.point = None
        sample.multiply(self.weights, self.intercept, sample.scores)
        if self.mu > 0.0:
            sample.update_dual_point(self.mu)
            self.move_centre()

    def move_centre(self) -> None:
        """Move the centre of the smoothing to the dual point."""
        self.sample.centre[:] = self.sample.theta / self.sample.shares

    def begin(self) -> None:
        # the first step of a few examples computes the dual point
        if not self.sample.few:
            self.update_dual_point()

    def update_dual_point(self) -> int:
        """Update theta, the Hessian of the risk, v and both Fenchel-Young gaps; return the rows read."""
        problem, sample = self.problem, self.sample
        if sample.tiny is not None:
            self._adopt(sample.tiny, self._tiny_point(sample.tiny))
            return int(np.count_nonzero(sample.theta))
        if sample.small is not None:
            self.risk_gap = np.inf
            return self._compiled_steps(sample.small, np.inf, 0, 0)[1]
        self.risk_gap, self.theta_sum = sample.update_dual_point(self.mu)
        self.v = sample.adjoint() / problem.lam
        penalty = problem.regularizer.value(self.weights) + problem.regularizer.conjugate(self.v)
        self.regularizer_gap = problem.lam * max(0.0, penalty - float(self.weights @ self.v))
        return int(np.count_nonzero(sample.theta))

    def small_steps(self, target: float, most: int, rows: int) -> int:
        """Newton steps until the gap is at most ``target``; return the rows read, 0 for no step.

        There are at most ``most`` of them, the last of which reaches or exceeds ``rows`` rows read.
        """
        if self.sample.tiny is not None:
            return self._tiny_steps(self.sample.tiny, target, most, rows)
        assert self.sample.small is not None
        most = min(most, 1 + _WORK_BETWEEN_STOP_POINTS // self.sample.small.X.size // self.sample.features)
        steps, rows_read = self._compiled_steps(self.sample.small, target, most, rows)
        self.steps = max(1, steps)
        return rows_read if steps else 0

    def _tiny_steps(self, tiny: TinySteps, target: float, most: int, rows: int) -> int:
        """``small_steps`` of a tiny problem."""
        point, steps, read = self._tiny_point(tiny), 0, 0
        least = max(target, CLEARLY_ABOVE_ROUNDING * self.problem.risk.value_at_zero)
        while steps < most and (steps == 0 or read < rows) and not tiny.gaps(point)[0] <= least:
            found = tiny.step(point)
            if found is None:
                break
            point, steps, read = found[0], steps + 1, read + found[1][0]
        self._adopt(tiny, point)
        self.steps = max(1, steps)
        return read

    def _tiny_point(self, tiny: TinySteps) -> Point:
        if self.point is None or self.point[0] is not self.weights:
            unknowns = np.append(self.weights, self.intercept) if tiny.free else self.weights
            self.point = self.weights, tiny.evaluate(unknowns[None])
        return self.point[1]

    def _adopt(self, tiny: TinySteps, point: Point) -> None:
        """Make the point of a tiny problem the present one."""
        sample, lam, d = self.sample, self.problem.lam, self.weights.size
        self.weights, gradient = point.unknowns[0, :d].copy(), tiny.unit * point.gradient[0]
        self.intercept = float(point.unknowns[0, d]) if tiny.free else 0.0
        sample.scores[:], sample.theta[:], sample.hess[:] = point.scores, tiny.theta(point), tiny.unit * point.hess
        self.v = self.weights - gradient[:d] / lam
        self.risk_gap, self.regularizer_gap = 0.0, float(gradient[:d] @ gradient[:d]) / (2.0 * lam)
        self.theta_sum = -float(gradient[d]) if tiny.free else 0.0
        self.known, self.point = (self.weights, tiny.objectives(point)[0]), (self.weights, point)

    def _compiled_steps(self, small: Small, target: float, most: int, rows: int) -> tuple[int, int]:
        """Return the number of steps, and the rows read."""
        small.weights[:], small.v[:] = self.weights, self.v if self.v.size else 0.0
        small.numbers[:] = (
            *(self.intercept, self.mu, self.risk_gap, self.regularizer_gap),
            *(self.theta_sum, self.radius, self.predicted_decrease),
        )
        least = CLEARLY_ABOVE_ROUNDING * self.problem.risk.value_at_zero
        steps, rows_read = newton_steps(self.sample.loss, small, RIDGE, least, target, most, rows)
        self.weights, self.v = small.weights.copy(), small.v.copy()
        self.intercept, self.mu, self.risk_gap, self.regularizer_gap, *others = small.numbers.tolist()
        self.theta_sum, self.radius, self.predicted_decrease = others
        return steps, rows_read

    def newton_step(self, random: np.random.Generator) -> int:
        """2. minimize the quadratic model, then the smoothed objective along its minimizer; return the rows read."""
        problem, sample, free = self.problem, self.sample, self.problem.intercept
        threshold = problem.lam * (problem.regularizer.l1_ratio or 0.0)
        ridge: float | Array = problem.lam * problem.regularizer.strong_convexity
        rank_one, hess = None, problem.regularizer.hessian(self.weights, self.v)
        if hess is not None:
            ridge, rank_one = problem.lam * hess.diagonal, (hess.vector, problem.lam * hess.outer)
        gradient = self._penalty_gradient(self.weights) - problem.lam * self.v
        if free:
            gradient = np.append(gradient, -self.theta_sum)
        if sample.averaging * self.radius > 0.0:
            # 3. the Hessian, averaged over as far as the scores are expected to move
            sample.average_hess(self.mu, sample.averaging * self.radius)
        quadratic = Quadratic(sample, ridge, free, random, exact=threshold > 0.0, rank_one=rank_one)
        if threshold > 0.0:
            direction = quadratic.solve_with_l1(gradient, self.weights, threshold)
        else:
            direction = quadratic.solve(-gradient)
        change, shift = direction[: len(self.weights)], float(direction[-1]) if free else 0.0
        sample.multiply(change, shift, sample.change)
        if not np.all(np.isfinite(sample.change)):
            # the direction overflows: the current point is kept
            self.stalled = True
            return quadratic.rows_read + len(sample.selected)
        derivative = float(gradient @ direction)
        derivative += threshold * float(np.sum(np.abs(self.weights + change)) - np.sum(np.abs(self.weights)))
        self.predicted_decrease = max(0.0, -0.5 * derivative)
        step = self._step_length(change, threshold, ridge, derivative)
        weights, intercept = self.weights + step * change, self.intercept + step * shift
        if np.array_equal(weights, self.weights) and intercept == self.intercept:
            # only a new centre can change the weights now
            self.predicted_decrease, self.stalled = 0.0, self.mu == 0.0
        self.weights, self.intercept = weights, intercept
        sample.scores += step * sample.change
        self.radius = abs(step) * float(np.sqrt(np.mean(sample.change**2)))
        return quadratic.rows_read + len(sample.selected) + self.update_dual_point()

    def _penalty_gradient(self, weights: Array) -> Floats:
        """Return lam times the gradient of the regularizer without its l1 norm."""
        regularizer, lam = self.problem.regularizer, self.problem.lam
        if regularizer.singular_hess:
            return lam * regularizer.gradient(weights)
        return lam * regularizer.strong_convexity * weights

    def _step_length(self, change: Array, threshold: float, ridge: float | Array, initial_derivative: float) -> float:
        def derivatives(step: float) -> tuple[float, float]:
            first, second = self.sample.directional_derivatives(step, self.mu)
            weights = self.weights + step * change
            first += float((self._penalty_gradient(weights) + threshold * np.sign(weights)) @ change)
            # where weights are zero the subdifferential is an interval of this radius
            kink = threshold * float(np.sum(np.abs(change[weights == 0.0])))
            return np.sign(first) * max(0.0, abs(first) - kink), second + float((ridge * change) @ change)

        return line_search(derivatives, initial_derivative, LINE_SEARCH_TOLERANCE)
