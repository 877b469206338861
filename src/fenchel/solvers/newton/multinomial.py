r"""Truncated Newton method for multinomial logistic regression.

Solves :math:`\min_{W,b} \tfrac\lambda2\|W\|^2 + \sum_i c_i f(Wx_i + b)` for the multinomial risk.

1. The natural dual point is :math:`\theta_i = c_i(e_{y_i} - p_i)`, p the softmax of the scores.  It is feasible
   whatever W is, and certifies the gap :math:`\tfrac\lambda2\|W - X^T\theta/\lambda\|^2`, the squared length of the
   gradient over :math:`2\lambda` (when its columns add up to zero, with free intercepts).
2. A step minimizes the quadratic model by preconditioned conjugate gradients (``softmax_direction``), to a tenth of
   the gradient, or to what the gap asked for needs, and then the objective along this direction.
3. With many more rows than features the first steps use a sample of the rows, fourfold larger each time.

===================  ==========================================================
symbol               here
===================  ==========================================================
W                    ``weights``, transposed: (d, k)
b                    ``intercept``, of centred rows
:math:`\theta`, p    ``sample.theta``, ``sample.probabilities``
:math:`X^T\theta`    ``pull``, of centred rows
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.numerics.line_search import line_minimum
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.newton.multinomial_direction import Preconditioner, conjugate_gradients, preconditioner, unbalanced
from fenchel.solvers.newton.multinomial_sample import SoftmaxSample
from fenchel.validation import check_bool, check_seed

#: products with the Hessian in one step at most
_PRODUCTS = 100
#: a preconditioner is made anew when it needs so many times the products that it needed at first
_WORSE = 1.5
#: the line search ends when the derivative is down to this share
_LINE = 0.1
#: the first sample has at least so many rows, and so many per feature; the next ones are larger by the factor
_FIRST_ROWS, _ROWS_PER_FEATURE, _LARGER = 1000, 10, 4
#: a sample is used up when the gap on it is this many times features times classes / rows of the objective
_STATISTICAL = 0.3
#: a gap of this share of the objective is rounding
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
#: curvatures beyond this leave no bits for the weights
_STEEPEST = 1e100
#: steps without a gap below this share of the smallest so far, before the method says that it stalls
_PATIENCE, _SMALLER = 20, 0.9


@dataclass
class State:
    """The fixed parts of a problem and where the method stands."""

    problem: Problem
    order: NDArray[np.unsignedinteger]
    random: np.random.Generator
    #: of the rows, with free intercepts
    mean: NDArray[np.float64]
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    sample: SoftmaxSample
    risk: float = 0.0
    pull: NDArray[np.float64] | None = None
    total: NDArray[np.float64] | None = None
    gap: float = np.inf
    #: a preconditioner that is still good, and the rows that it visited when it was new
    known: Preconditioner | None = None
    fewest: int = 0
    #: half of what the last step promised to win
    promise: float = np.inf
    best: float = np.inf
    idle: int = 0
    stalled: bool = False

    @property
    def objective(self) -> float:
        """On the sample."""
        return 0.5 * self.problem.lam * float(np.vdot(self.weights, self.weights)) + self.risk

    @property
    def whole(self) -> bool:
        """Whether the sample is everything."""
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

    #: of the samples; None takes the seed that ``solve`` was given
    seed: int | None = None
    #: begin on samples of the rows where there are many more rows than features
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
        design, risk, lam = problem.design, problem.multiclass_risk, problem.lam
        if not (np.isfinite(design.largest_row_norm) and np.isfinite(design.mean_square)):
            raise FenchelError("X holds NaN or infinity, or its norms overflow: repair or scale X")
        if not design.mean_square / lam < _STEEPEST:
            raise FenchelError(f"lam={lam:.3g} is too small for the size of X: scale X, or raise lam (a smaller C)")
        random = np.random.default_rng(self.seed or 0)
        index = np.uint32 if design.shape[0] < 2**32 else np.uint64
        order: NDArray = random.permutation(np.flatnonzero(risk.shares > 0)).astype(index)
        mean = design.adjoint(risk.shares) if problem.intercept else np.zeros(design.shape[1])
        usable = warm is not None and problem.fits(warm.model)
        weights, intercept = np.zeros((design.shape[1], risk.outputs)), np.zeros(risk.outputs)
        if usable:
            assert warm is not None
            weights = np.ascontiguousarray(np.asarray(warm.model.weights, dtype=np.float64).T)
        if problem.intercept:
            known = warm.model.intercept if usable and warm is not None else None
            if known is None:
                known = problem.best_intercept(design.scores(weights.T) if usable else np.zeros(problem.theta_shape))
            intercept = np.asarray(known, dtype=np.float64) + mean @ weights
        # nothing depends on what all classes share
        weights, intercept = weights - np.mean(weights, axis=1, keepdims=True), intercept - np.mean(intercept)
        rows = len(order)
        if self.sampling and not usable:
            fewest = max(_FIRST_ROWS, _ROWS_PER_FEATURE * design.shape[1])
            while rows >= _LARGER * fewest:
                rows //= _LARGER
        sample = SoftmaxSample(problem, np.sort(order[:rows]), mean)
        state = State(problem, order, random, mean, weights, intercept, sample)
        with np.errstate(over="ignore", invalid="ignore"):
            sample.multiply(weights, intercept, sample.scores)
            self._look(state)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled:
            return STALLED
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            visited = self._advance(state, hint)
        return visited / state.problem.design.shape[0]

    def expected_gap(self, state: State) -> float:
        return state.gap if state.whole else np.inf

    def expected_objective(self, state: State) -> float:
        return state.objective

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, theta = state.problem, np.zeros(state.problem.theta_shape)
        if state.whole:
            theta[state.sample.selected] = state.sample.theta
        intercept = problem.no_intercept()
        if problem.intercept:
            intercept = state.intercept - state.mean @ state.weights
            intercept = intercept - np.mean(intercept)
        return Model(state.weights.copy().T, intercept), Witness(theta)

    def _look(self, state: State) -> None:
        """1. the dual point at the present scores, and the gap that it certifies."""
        lam, sample = state.problem.lam, state.sample
        state.risk = sample.look()
        state.pull, state.total = sample.pull()
        away = lam * state.weights - state.pull
        state.gap = float(np.vdot(away, away)) / (2.0 * lam)
        if state.problem.intercept:
            state.gap += unbalanced(state.total, lam)

    def _advance(self, state: State, hint: Hint) -> int:
        """Take a larger sample where that is due, else make one step; the rows visited."""
        target, sample = hint.target_gap, state.sample
        if not state.whole:
            worth = _STATISTICAL * state.weights.size / len(sample.selected)
            target = max(target, worth * state.objective)
            if min(state.gap, state.promise) <= target:
                return self._enlarge(state)
        visited = self._newton(state, target, hint)
        state.idle = 0 if state.gap < _SMALLER * state.best else state.idle + 1
        state.best = min(state.best, state.gap)
        if state.idle >= _PATIENCE or state.gap <= _ROUNDING * state.objective:
            state.stalled = True
        if state.stalled and not state.whole:
            # that was the sample, not the problem
            visited += self._enlarge(state)
        return visited

    def _enlarge(self, state: State) -> int:
        """3. a sample of more rows."""
        rows = len(state.sample.selected) * _LARGER
        rows = rows if rows * 2 <= len(state.order) else len(state.order)
        state.sample = sample = SoftmaxSample(state.problem, np.sort(state.order[:rows]), state.mean)
        sample.multiply(state.weights, state.intercept, sample.scores)
        state.promise, state.best, state.idle, state.stalled, state.known = np.inf, np.inf, 0, False, None
        self._look(state)
        return len(sample.selected)

    def _newton(self, state: State, target: float, hint: Hint) -> int:
        """2. minimize the quadratic model, then the objective along its minimizer; the rows visited."""
        problem, sample, lam = state.problem, state.sample, state.problem.lam
        assert state.pull is not None and state.total is not None
        gradient = lam * state.weights - state.pull, -state.total if problem.intercept else np.zeros_like(state.total)
        visited, known = 0, state.known
        if known is None:
            known = preconditioner(sample, lam, problem.intercept, state.random)
            visited += known.visited
        found = conjugate_gradients(sample, lam, gradient, known.apply, target, _PRODUCTS, hint.stop_requested)
        # a dear preconditioner is used until it needs more products than it did at first
        state.fewest = found.visited if state.known is None else state.fewest
        keep = known.dear and found.visited <= _WORSE * state.fewest + len(sample.selected)
        state.known = known if keep else None
        visited += found.visited + 2 * len(sample.selected)
        state.promise = 0.5 * found.promise
        if not (found.promise > 0.0 and np.all(np.isfinite(sample.change))):
            # beyond what floats hold: the present point is the best there is
            state.stalled = True
            return visited
        square, across = (float(np.vdot(found.weights, other)) for other in (found.weights, state.weights))

        def derivative(step: float) -> tuple[float, float]:
            first, second = sample.slope_along(step)
            return first + lam * (across + step * square), second + lam * square

        step = line_minimum(derivative, -found.promise, _LINE)
        moved, intercept = state.weights + step * found.weights, state.intercept + step * found.intercept
        state.stalled = bool(np.array_equal(moved, state.weights) and np.array_equal(intercept, state.intercept))
        state.weights, state.intercept = moved, intercept
        sample.change *= step
        sample.scores += sample.change
        self._look(state)
        return visited
