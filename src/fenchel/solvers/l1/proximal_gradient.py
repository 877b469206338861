r"""Accelerated proximal gradient method for multinomial logistic regression with an elastic net or a lasso penalty.

.. math:: \min_{W, b}\; \lambda\sum_{kj}\Big(\rho|W_{kj}| + \tfrac{1-\rho}2 W_{kj}^2\Big) + R(XW^T + b)

FISTA with backtracking (Beck and Teboulle 2009, eqs. 4.1 to 4.3), restarted where the momentum is not a descent
direction (O'Donoghue and Candès 2015, the gradient scheme).  The papers leave two choices open:

- The features are centred implicitly, :math:`s = (X - \mathbf 1\mu^T)W^T + b'`, and steps are measured in the diagonal
  metric :math:`m_j = \sum_i c_i (x_{ij} - \mu_j)^2`, so that neither offsets nor scales of features matter.
- The Lipschitz estimate L starts at one half, a bound on the Hessian of the softmax, which is enough for uncorrelated
  features; backtracking doubles it, and every step multiplies it by 0.95.

The dual point of a model is minus the gradient of the risk, :math:`\theta_i = c_i (e_{y_i} - p_i)`; the certificate
scales it into the domain of the conjugate.

==============  ==============================================
symbol          here
==============  ==============================================
:math:`\mu`     ``State.mean``
m               ``State.metric``, 1 for the intercept
L               ``State.lipschitz``
t               ``State.momentum``
y               ``State.extrapolated``
==============  ==============================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.needs import NO_KERNEL, check_norms, dual_block, unsupported_regularizer

#: factor by which L falls with every step, and backtracking steps at most
_RELAX, _BACKTRACKS = 0.95, 60
#: relative length below which a step is idle, and consecutive idle steps after which the method has stalled
_IDLE_STEP, _IDLE_STEPS = 1e-15, 20


@dataclass
class Point:
    """Weights of the centred features with their intercepts as last column, (k, d + 1), and scores (n, k)."""

    values: Floats
    scores: Floats


@dataclass
class State:
    """The constant parts of a problem, and the iterates."""

    problem: Problem
    mean: Floats
    metric: Floats
    #: lam rho and lam (1 - rho)
    l1: float
    l2: float
    current: Point
    extrapolated: Point
    momentum: float = 1.0
    lipschitz: float = 0.5
    idle: int = 0


@dataclass(frozen=True)
class ProximalGradient(Solver):
    """Accelerated proximal gradient method for the multinomial risk with a lasso or an elastic net penalty.

    See Also
    --------
    ProxNewton : The lasso penalty for means of smooth losses.
    NewtonCG : The multinomial risk with ridge regularization.

    References
    ----------
    .. [1] A. Beck and M. Teboulle. "A fast iterative shrinkage-thresholding algorithm for linear inverse problems."
           SIAM J. Imaging Sciences 2, 2009.
    .. [2] B. O'Donoghue and E. Candès. "Adaptive restart for accelerated gradient schemes." Found. Comput. Math.
           15, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import Multinomial
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> problem = Problem(X, Multinomial(X[:, :3].argmax(axis=1)), 0.02, "l1")
    >>> solution = solve(problem, "proximal_gradient")
    >>> solution.converged, int(np.count_nonzero(solution.model.weights[:, 3]))
    (True, 0)
    """

    name: ClassVar[str] = "proximal_gradient"
    needs: ClassVar[tuple[Need, ...]] = (
        Need(lambda problem: dual_block(problem) == "entropy", "requires the multinomial risk"),
        Need(lambda problem: problem.regularizer.l1_ratio is not None, unsupported_regularizer),
        NO_KERNEL,
    )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        design, risk = problem.design, problem.multiclass_risk
        mean = design.adjoint(risk.shares) if problem.intercept else np.zeros(design.shape[1])
        squares = design.column_squares(risk.shares)
        check_norms(squares)
        # beside an intercept a constant feature has zero variance, up to rounding
        variance = np.where(squares - mean**2 > 1e-12 * squares, squares - mean**2, 0.0)
        weights = np.zeros(problem.weights_shape)
        if warm is not None and problem.fits(warm.model):
            weights = np.array(warm.model.weights, dtype=np.float64)
        scores = design.scores(weights)
        intercept = problem.best_intercept(scores)
        first = Point(np.column_stack([weights, intercept + weights @ mean]), scores + intercept)
        ratio = problem.regularizer.l1_ratio or 0.0
        return State(
            problem, mean, np.append(variance, 1.0), problem.lam * ratio, problem.lam * (1.0 - ratio), first, first
        )

    def step(self, state: State, hint: Hint) -> float:
        if state.idle >= _IDLE_STEPS:
            return STALLED
        at = state.extrapolated
        found, used = self._backtrack(state, at)
        move = found.values - state.current.values
        size = float(np.sum(found.values**2 * state.metric))
        state.idle = state.idle + 1 if float(np.sum(move**2 * state.metric)) <= _IDLE_STEP**2 * size else 0
        if float(np.sum((at.values - found.values) * move * state.metric)) > 0.0:
            # adaptive restart: the momentum is not a descent direction
            state.momentum = 1.0
        # (4.2), (4.3)
        momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * state.momentum**2))
        share = (state.momentum - 1.0) / momentum
        scores = found.scores + share * (found.scores - state.current.scores)
        state.extrapolated, state.current = Point(found.values + share * move, scores), found
        state.momentum, state.lipschitz = momentum, _RELAX * state.lipschitz
        return used

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, weights = state.problem, state.current.values[:, :-1].copy()
        scores = problem.design.scores(weights)
        intercept = problem.best_intercept(scores)
        return Model(weights, intercept), Witness(-problem.risk.subgradient(scores + intercept))

    def propose_after_stop(self, state: State) -> tuple[Model, Witness]:
        """The current point with its own intercept and scores: the best intercept takes several passes."""
        weights = state.current.values[:, :-1].copy()
        intercept = state.current.values[:, -1] - weights @ state.mean
        intercept = intercept - np.mean(intercept) if state.problem.intercept else state.problem.no_intercept()
        return Model(weights, intercept), Witness(-state.problem.risk.subgradient(state.current.scores))

    def _backtrack(self, state: State, at: Point) -> tuple[Point, float]:
        """(4.1): the proximal step from a point with an L that is large enough, and the data passes it took."""
        risk = state.problem.risk
        gradient, value, used = self._gradient(state, at), risk.value(at.scores), 1.0
        for _ in range(_BACKTRACKS):
            values = self._proximal(state, at.values, gradient)
            found = Point(values, self._scores(state, values))
            move = values - at.values
            model = (
                value + float(np.vdot(gradient, move)) + 0.5 * state.lipschitz * float(np.sum(move**2 * state.metric))
            )
            if risk.value(found.scores) <= model + 1e-14 * abs(value):
                break
            state.lipschitz *= 2.0
            used += 0.5
        return found, used

    def _scores(self, state: State, values: Array) -> Floats:
        weights = np.ascontiguousarray(values[:, :-1])
        return state.problem.design.scores(weights) + (values[:, -1] - weights @ state.mean)

    def _gradient(self, state: State, at: Point) -> Floats:
        slopes = state.problem.risk.subgradient(at.scores)
        total = np.sum(slopes, axis=0)
        by_weights = state.problem.design.adjoint(slopes) - np.outer(total, state.mean)
        return np.column_stack([by_weights, total if state.problem.intercept else np.zeros(len(total))])

    def _proximal(self, state: State, values: Array, gradient: Array) -> Floats:
        """The proximal operator of the penalty after a gradient step in the metric; constant features get zero."""
        with np.errstate(divide="ignore"):
            rate = np.where(state.metric > 0.0, 1.0 / (state.lipschitz * state.metric), 0.0)
        moved = values - rate * gradient
        weights, rate = moved[:, :-1], rate[:-1]
        shrunk = np.sign(weights) * np.maximum(np.abs(weights) - state.l1 * rate, 0.0)
        moved[:, :-1] = np.where(rate > 0.0, shrunk / (1.0 + state.l2 * rate), 0.0)
        return moved
