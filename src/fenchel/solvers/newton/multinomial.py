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

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.line_search import line_search
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.newton.multinomial_direction import (
    Preconditioner,
    balance_cost,
    newton_direction,
    preconditioner,
)
from fenchel.solvers.newton.multinomial_sample import SoftmaxSample
from fenchel.solvers.newton.sample_size import first_size, next_size, statistical_accuracy
from fenchel.validation import check_bool, check_seed

#: largest number of products with the Hessian in one step
_MAX_PRODUCTS = 100
#: a preconditioner is replaced when conjugate gradients read this many times the rows that they read with it at first
_REPLACE_FACTOR = 1.5
#: relative size of the derivative at which the line search ends
_LINE_SEARCH_TOLERANCE = 0.1
#: fewest rows per feature in the first sample
_ROWS_PER_FEATURE = 10
#: a gap below this multiple of the objective is rounding error
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
#: the method stalls after this many steps without a gap below _PROGRESS times the smallest gap so far
_MAX_STEPS_WITHOUT_PROGRESS, _PROGRESS = 20, 0.9


@dataclass
class State:
    """The constant parts of a problem and the state of the method."""

    problem: Problem
    #: random permutation of the rows with positive weight; samples are its beginnings
    order: NDArray[np.unsignedinteger]
    random: np.random.Generator
    #: mean row where intercepts are free, else zero
    mean: Floats
    weights: Floats
    intercept: Floats
    sample: SoftmaxSample
    risk: float = 0.0
    x_theta: Floats | None = None
    theta_sum: Floats | None = None
    gap: float = np.inf
    #: a preconditioner to reuse, and the rows that conjugate gradients read when it was new
    preconditioner: Preconditioner | None = None
    first_rows_read: int = 0
    #: half of minus the directional derivative along the last direction
    predicted_decrease: float = np.inf
    best_gap: float = np.inf
    steps_without_progress: int = 0
    stalled: bool = False

    @property
    def objective(self) -> float:
        """The objective on the sample."""
        return 0.5 * self.problem.lam * float(np.vdot(self.weights, self.weights)) + self.risk

    @property
    def uses_all_rows(self) -> bool:
        """Whether the sample contains all rows."""
        return len(self.sample.selected) == len(self.order)


@dataclass(frozen=True)
class NewtonCG(Solver):
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

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_bool("sampling", self.sampling)

    @property
    def needs(self) -> tuple[Need, ...]:
        multinomial = Need(lambda problem: needs.dual_block(problem) == "entropy", "requires the multinomial risk")
        return (multinomial, needs.RIDGE)

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        design, risk = problem.design, problem.multiclass_risk
        random = np.random.default_rng(self.seed or 0)
        index = np.uint32 if design.shape[0] < 2**32 else np.uint64
        order: Array = random.permutation(np.flatnonzero(risk.shares > 0)).astype(index)
        mean = design.adjoint(risk.shares) if problem.intercept else np.zeros(design.shape[1])
        usable = warm if warm is not None and problem.fits(warm.model) else None
        weights, intercept = self._start_point(problem, usable, mean)
        rows = len(order)
        if self.sampling and usable is None:
            rows = first_size(rows, design.shape[1], _ROWS_PER_FEATURE)
        sample = SoftmaxSample(problem, np.sort(order[:rows]), mean)
        state = State(problem, order, random, mean, weights, intercept, sample)
        with np.errstate(over="ignore", invalid="ignore"):
            sample.multiply(weights, intercept, sample.scores)
            self._update_dual_point(state)
        return state

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

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled:
            return STALLED
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rows_read = self._advance(state, hint)
        return rows_read / state.problem.design.shape[0]

    def expected_gap(self, state: State) -> float:
        return state.gap if state.uses_all_rows else np.inf

    def expected_objective(self, state: State) -> float:
        return state.objective

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, theta = state.problem, np.zeros(state.problem.theta_shape)
        if state.uses_all_rows:
            theta[state.sample.selected] = state.sample.theta
        intercept = problem.no_intercept()
        if problem.intercept:
            intercept = state.intercept - state.mean @ state.weights
            intercept = intercept - np.mean(intercept)
        return Model(state.weights.copy().T, intercept), Witness(theta)

    def _update_dual_point(self, state: State) -> None:
        """1. the dual point at the scores, and its duality gap."""
        lam, sample = state.problem.lam, state.sample
        state.risk = sample.update_dual_point()
        state.x_theta, state.theta_sum = sample.adjoint()
        gradient = lam * state.weights - state.x_theta
        state.gap = float(np.vdot(gradient, gradient)) / (2.0 * lam)
        if state.problem.intercept:
            state.gap += balance_cost(state.theta_sum, lam)

    def _advance(self, state: State, hint: Hint) -> int:
        """Enlarge the sample if it is solved, else make one Newton step; return the rows read."""
        target, sample = hint.target_gap, state.sample
        if not state.uses_all_rows:
            target = max(target, statistical_accuracy(state.weights.size, len(sample.selected)) * state.objective)
            if min(state.gap, state.predicted_decrease) <= target:
                return self._enlarge(state)
        rows_read = self._newton_step(state, target, hint)
        state.steps_without_progress = 0 if state.gap < _PROGRESS * state.best_gap else state.steps_without_progress + 1
        state.best_gap = min(state.best_gap, state.gap)
        if state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS or state.gap <= _ROUNDING * state.objective:
            state.stalled = True
        if state.stalled and not state.uses_all_rows:
            # the sample is solved, not the problem
            rows_read += self._enlarge(state)
        return rows_read

    def _enlarge(self, state: State) -> int:
        """3. enlarge the sample; return the rows read."""
        rows = next_size(len(state.sample.selected), len(state.order))
        state.sample = sample = SoftmaxSample(state.problem, np.sort(state.order[:rows]), state.mean)
        sample.multiply(state.weights, state.intercept, sample.scores)
        state.predicted_decrease, state.best_gap, state.steps_without_progress = np.inf, np.inf, 0
        state.stalled, state.preconditioner = False, None
        self._update_dual_point(state)
        return len(sample.selected)

    def _newton_step(self, state: State, target: float, hint: Hint) -> int:
        """2. minimize the quadratic model, then the objective along its minimizer; return the rows read."""
        problem, sample, lam = state.problem, state.sample, state.problem.lam
        assert state.x_theta is not None and state.theta_sum is not None
        intercept_gradient = -state.theta_sum if problem.intercept else np.zeros_like(state.theta_sum)
        gradient = np.vstack([lam * state.weights - state.x_theta, intercept_gradient])
        rows_read, inverse = 0, state.preconditioner
        if inverse is None:
            inverse = preconditioner(sample, lam, problem.intercept, state.random)
            rows_read += inverse.rows_read
        found = newton_direction(
            sample,
            lam,
            gradient,
            inverse.apply,
            target,
            _MAX_PRODUCTS,
            hint.stop_requested,
            free=problem.intercept,
        )
        # an expensive preconditioner is reused until it needs many more products than at first
        state.first_rows_read = found.rows_read if state.preconditioner is None else state.first_rows_read
        most = _REPLACE_FACTOR * state.first_rows_read + len(sample.selected)
        state.preconditioner = inverse if inverse.reusable and found.rows_read <= most else None
        rows_read += found.rows_read + 2 * len(sample.selected)
        state.predicted_decrease = 0.5 * found.decrease
        if not (found.decrease > 0.0 and np.all(np.isfinite(sample.change))):
            # no descent direction in double precision: the current point is kept
            state.stalled = True
            return rows_read
        square, product = (float(np.vdot(found.weights, other)) for other in (found.weights, state.weights))

        def derivatives(step: float) -> tuple[float, float]:
            first, second = sample.directional_derivatives(step)
            return first + lam * (product + step * square), second + lam * square

        step = line_search(derivatives, -found.decrease, _LINE_SEARCH_TOLERANCE)
        weights, intercept = state.weights + step * found.weights, state.intercept + step * found.intercept
        state.stalled = bool(np.array_equal(weights, state.weights) and np.array_equal(intercept, state.intercept))
        state.weights, state.intercept = weights, intercept
        sample.change *= step
        sample.scores += sample.change
        self._update_dual_point(state)
        return rows_read
