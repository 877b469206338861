r"""Truncated Newton method for multinomial logistic regression.

Solves :math:`\min_{W,b} \tfrac\lambda2\|W\|^2 + \sum_i c_i f(Wx_i + b)` for the multinomial risk, by the line-search
Newton-CG method of Nocedal and Wright, Numerical Optimization (2nd ed., 2006), algorithm 7.1, with preconditioning.

1. The dual point is :math:`\theta_i = c_i(e_{y_i} - p_i)` with p the softmax of the scores, minus the gradient of the
   risk.  It is feasible for every W (with free intercepts, if it sums to zero over the examples), and its duality gap
   is :math:`\tfrac\lambda2\|W - X^T\theta/\lambda\|^2`, the squared norm of the gradient over :math:`2\lambda`.
2. Each step minimizes the quadratic model by preconditioned conjugate gradients (``newton.multinomial_direction``), to
   a tenth of the gradient or to the accuracy that the target gap needs, and then the objective along the direction.
3. With many more rows than features the first steps use a sample of the rows, which grows by a factor of four.

===================  ==========================================================
symbol               here
===================  ==========================================================
W                    ``weights``, transposed: (d, k)
b                    ``intercept``, of centred rows
:math:`\theta`, p    ``sample.theta``, ``sample.probabilities``
:math:`X^T\theta`    ``x_theta``, of centred rows
===================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.line_search import line_search
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import Hint, Need, SolvedOutputs, Warm
from fenchel.solvers.newton.multinomial_direction import (
    Preconditioner,
    balance_cost,
    newton_direction,
    preconditioner,
)
from fenchel.solvers.newton.multinomial_sample import SoftmaxSample
from fenchel.solvers.newton.rules import LINE_SEARCH_TOLERANCE
from fenchel.solvers.newton.sample import dense_rows
from fenchel.solvers.newton.sampling import Iterate, SampledNewton, State
from fenchel.solvers.newton.tiny_classes import TinyClasses, are_tiny, solve_tiny_classes
from fenchel.validation import check_bool, check_seed

#: a preconditioner is replaced when conjugate gradients read this many times the rows that they read with it at first
_REPLACE_FACTOR = 1.5


@dataclass(kw_only=True)
class ClassesState(Iterate):
    """State of all classes."""

    sample: SoftmaxSample
    risk: float = 0.0
    #: X^T theta of centred rows, and the sums of theta over the rows
    x_theta: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    theta_sum: Floats = field(default_factory=lambda: np.zeros(0))
    #: a preconditioner to reuse, and the rows that conjugate gradients read when it was new
    preconditioner: Preconditioner | None = None
    first_rows_read: int = 0

    @property
    def objective(self) -> float:
        return 0.5 * self.problem.lam * float(np.vdot(self.weights, self.weights)) + self.risk

    @property
    def gap(self) -> float:
        lam = self.problem.lam
        gradient = lam * self.weights - self.x_theta
        gap = float(np.vdot(gradient, gradient)) / (2.0 * lam)
        return gap + balance_cost(self.theta_sum, lam) if self.problem.intercept else gap

    def resample(self, selected: Array) -> None:
        self.sample, self.preconditioner = SoftmaxSample(self.problem, selected, self.sample.mean), None
        self.sample.multiply(self.weights, self.intercept, self.sample.scores)

    def update_dual_point(self) -> int:
        """1. the dual point at the scores; return the rows read."""
        self.risk = self.sample.update_dual_point()
        self.x_theta, self.theta_sum = self.sample.adjoint()
        return len(self.sample.selected)

    def newton_step(self, random: np.random.Generator, target: float, hint: Hint) -> int:
        """2. minimize the quadratic model, then the objective along its minimizer; return the rows read."""
        sample, lam, d = self.sample, self.problem.lam, self.sample.features
        gradient = np.vstack([lam * self.weights - self.x_theta, -self.theta_sum[None, :][: sample.free]])
        rows_read, inverse = 0, self.preconditioner
        if inverse is None:
            inverse = preconditioner(sample, lam, random)
            rows_read += inverse.rows_read
        direction, used = newton_direction(sample, lam, gradient, inverse.apply, target, hint.stop_requested)
        decrease = -float(np.vdot(gradient, direction))
        # an expensive preconditioner is reused until it needs many more products than at first
        self.first_rows_read = used if self.preconditioner is None else self.first_rows_read
        most = _REPLACE_FACTOR * self.first_rows_read + len(sample.selected)
        self.preconditioner = inverse if inverse.reusable and used <= most else None
        rows_read += used + len(sample.selected)
        self.predicted_decrease = 0.5 * decrease
        if not (decrease > 0.0 and np.all(np.isfinite(sample.change))):
            # no descent direction in double precision: the current point is kept
            self.stalled = True
            return rows_read + len(sample.selected)
        change, shift = direction[:d], np.sum(direction[d:], axis=0)
        square, product = float(np.vdot(change, change)), float(np.vdot(change, self.weights))

        def derivatives(step: float) -> tuple[float, float]:
            first, second = sample.directional_derivatives(step)
            return first + lam * (product + step * square), second + lam * square

        step = line_search(derivatives, -decrease, LINE_SEARCH_TOLERANCE)
        weights, intercept = self.weights + step * change, self.intercept + step * shift
        self.stalled = bool(np.array_equal(weights, self.weights) and np.array_equal(intercept, self.intercept))
        self.weights, self.intercept = weights, intercept
        sample.change *= step
        sample.scores += sample.change
        return rows_read + self.update_dual_point()


@dataclass(frozen=True)
class NewtonCG(SampledNewton):
    """Truncated Newton method (Newton-CG) for multinomial logistic regression.

    Each step minimizes the quadratic model by preconditioned conjugate gradients, then the objective along the
    direction.

    Parameters
    ----------
    seed : int, default=None
        Seed of the samples; None uses the ``seed`` of :func:`fenchel.solve`.
    sampling : bool, default=True
        Whether the first steps use samples of the rows where there are many more rows than features.

    See Also
    --------
    Newton : Means of losses of one score.
    BlockCoordinate : Block coordinate descent on the dual.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import Multinomial
    >>> from fenchel.solvers import NewtonCG
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.argmax(X, axis=1)
    >>> solution = solve(Problem(X, Multinomial(y), 0.1), NewtonCG())
    >>> solution.solver, solution.converged
    ('newton_cg', True)
    """

    #: seed of the samples; None uses that of ``solve``
    seed: int | None = None
    #: whether the first steps use samples of the rows
    sampling: bool = True
    name: ClassVar[str] = "newton_cg"
    rows_per_feature: ClassVar[int] = 10
    max_steps_without_progress: ClassVar[int] = 20
    progress: ClassVar[float] = 0.9

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_bool("sampling", self.sampling)

    @property
    def needs(self) -> tuple[Need, ...]:
        multinomial = Need(lambda problem: needs.dual_block(problem) == "entropy", "requires the multinomial risk")
        return (multinomial, needs.RIDGE)

    def first_iterates(self, problem: Problem, selected: Array, warm: Warm | None) -> Iterator[ClassesState]:
        design = problem.design
        mean = design.adjoint(problem.risk.shares) if problem.intercept else np.zeros(design.shape[1])
        weights, intercept = self._start_point(problem, warm, mean)
        sample = SoftmaxSample(problem, selected, mean)
        sample.multiply(weights, intercept, sample.scores)
        yield ClassesState(problem, weights, intercept, sample=sample)

    def _start_point(self, problem: Problem, warm: Warm | None, mean: Array) -> tuple[Array, Array]:
        """Return the weights (d, k) and intercepts of centred rows, with zero sums over the classes."""
        design, outputs = problem.design, problem.multiclass_risk.outputs
        weights, intercept = np.zeros((design.shape[1], outputs)), np.zeros(outputs)
        if warm is not None:
            weights = np.ascontiguousarray(np.asarray(warm.model.weights, dtype=np.float64).T)
        if problem.intercept:
            known = None if warm is None else warm.model.intercept
            if known is None:
                scores = np.zeros(problem.theta_shape) if warm is None else design.scores(weights.T)
                known = problem.best_intercept(scores)
            intercept = np.asarray(known, dtype=np.float64) + mean @ weights
        return weights - np.mean(weights, axis=1, keepdims=True), intercept - np.mean(intercept)

    def improve(self, state: State, output: ClassesState, target: float, hint: Hint) -> int:
        return output.newton_step(state.random, target, hint)

    def solve_outputs(self, problem: Problem, tol: float, max_iter: float) -> SolvedOutputs | None:
        if not are_tiny(problem):
            return None
        needs.check_scale(problem)
        selected = np.flatnonzero(problem.risk.shares > 0)
        steps = TinyClasses(problem, dense_rows(problem.design, selected), selected)
        return solve_tiny_classes(steps, problem, selected, tol, max_iter)

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, theta, (output,) = state.problem, np.zeros(state.problem.theta_shape), state.outputs
        if state.uses_all_rows(output):
            theta[output.sample.selected] = output.sample.theta
        intercept = problem.no_intercept()
        if problem.intercept:
            intercept = output.intercept - output.sample.mean @ output.weights
            intercept = intercept - np.mean(intercept)
        return Model(output.weights.copy().T, intercept), Witness(theta)
