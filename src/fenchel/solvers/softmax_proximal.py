r"""Accelerated proximal gradients for multinomial logistic regression with absolute values in the regularization.

.. math:: \min_{W, b}\; \lambda\sum_{kj}\Big(\rho|W_{kj}| + \tfrac{1-\rho}2 W_{kj}^2\Big) + R(XW^T + b)

is a smooth R, in W and b, with a term for each weight: Beck and Teboulle (2009), FISTA with backtracking, eqs. (4.1) to
(4.3), restarted where the momentum points uphill (O'Donoghue and Candès 2015, the gradient scheme).  What was chosen
where the papers leave a choice:

- features are centred by the intercepts, :math:`s = (X - 1\mu^T)W^T + b'`, which changes the path and not the problem,
  and lengths are measured feature by feature, :math:`m_j = \sum_i c_i (x_{ij} - \mu_j)^2`: sizes and offsets of the
  features don't matter;
- the curvature L of the steps begins at one half, which is enough for uncorrelated features (the Hessian of the softmax
  is at most one half), doubles where a step promised too much, and falls a little with every step.

Dual points are those of the gradient, :math:`\theta_i = c_i (e_{y_i} - p_i)`, with the intercepts that are best for the
weights; the certificate scales them into the domain of the conjugate.

==============  ==============================================
symbol          here
==============  ==============================================
:math:`\mu`     ``mean``
m               ``lengths``
L               ``curvature``
t               ``momentum``
==============  ==============================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.risks import Multinomial
from fenchel.solvers.base import STALLED, Hint, Warm

#: the curvature that one step takes off, and trials of one step
_EASE, _TRIALS = 0.95, 60
#: steps that no longer change the weights, relative to their size, before the solver says that it stalls
_STILL, _IDLE = 1e-15, 20


@dataclass
class _Point:
    """Weights and intercepts of the centred features, as (outputs, features + 1)."""

    values: NDArray[np.float64]
    scores: NDArray[np.float64]


@dataclass
class State:
    """The fixed parts of a problem and where the method stands."""

    problem: Problem
    mean: NDArray[np.float64]
    #: of the features and, last, of the constant
    lengths: NDArray[np.float64]
    #: lam times the weights of the absolute values and of the squares
    absolute: float
    square: float
    now: _Point
    ahead: _Point
    momentum: float = 1.0
    curvature: float = 0.5
    idle: int = 0


@dataclass(frozen=True)
class SoftmaxProximal:
    """Accelerated proximal gradients; without options."""

    name: ClassVar[str] = "softmax_proximal"

    def supports(self, problem: Problem) -> str | None:
        if not isinstance(problem.risk, Multinomial):
            return "softmax_proximal needs the multinomial risk"
        if not isinstance(problem.regularizer, (L1, L2, ElasticNet)):
            return f"softmax_proximal has no step for the regularizer {problem.regularizer.name!r}"
        return None

    def start(self, problem: Problem, warm: Warm | None) -> State:
        design, shares, outputs = problem.design, problem.risk.shares, problem.risk.outputs
        mean = design.adjoint(shares) if problem.intercept else np.zeros(design.shape[1])
        squares = design.column_squares(shares)
        if not np.all(np.isfinite(squares)):
            raise FenchelError("X holds NaN or infinity, or its squared norms overflow: repair or scale X")
        # a constant feature has no length beside an intercept, but for rounding
        spread = np.where(squares - mean**2 > 1e-12 * squares, squares - mean**2, 0.0)
        ratio = {L1: 1.0, L2: 0.0}.get(type(problem.regularizer), getattr(problem.regularizer, "l1_ratio", 0.0))
        weights, usable = np.zeros((outputs, design.shape[1])), warm is not None and problem.fits(warm.model)
        if warm is not None and usable:
            weights = np.array(warm.model.weights, dtype=np.float64)
        scores = design.scores(weights)
        intercept = problem.risk.best_intercept(scores) if problem.intercept else np.zeros(outputs)
        begin = _Point(np.column_stack([weights, intercept + weights @ mean]), scores + intercept)
        lengths, lam = np.append(spread, 1.0), problem.lam
        return State(problem, mean, lengths, lam * ratio, lam * (1.0 - ratio), begin, begin)

    def step(self, state: State, hint: Hint) -> float:
        if state.idle >= _IDLE:
            return STALLED
        risk, ahead = state.problem.risk, state.ahead
        slopes = risk.subgradient(ahead.scores)
        gradient = self._gradient(state, slopes)
        value, used = risk.value(ahead.scores), 1.0
        for _ in range(_TRIALS):
            values = self._proximal(state, ahead.values, gradient)
            found = _Point(values, self._scores(state, values))
            move = values - ahead.values
            promised = value + float(np.vdot(gradient, move))
            bend = 0.5 * state.curvature * float(np.sum(move**2 * state.lengths))
            if risk.value(found.scores) <= promised + bend + 1e-14 * abs(value):
                break
            state.curvature *= 2.0
            used += 0.5
        step = found.values - state.now.values
        size = float(np.sum(found.values**2 * state.lengths))
        state.idle = state.idle + 1 if float(np.sum(step**2 * state.lengths)) <= _STILL**2 * size else 0
        if float(np.sum((ahead.values - found.values) * step * state.lengths)) > 0.0:
            # the momentum points uphill
            state.momentum = 1.0
        momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * state.momentum**2))
        share = (state.momentum - 1.0) / momentum
        scores = found.scores + share * (found.scores - state.now.scores)
        state.ahead, state.now, state.momentum = _Point(found.values + share * step, scores), found, momentum
        state.curvature *= _EASE
        return used

    def expected_gap(self, state: State) -> float:
        """It can't tell: certificates are made on schedule."""
        return math.nan

    def propose(self, state: State) -> tuple[Model, Witness]:
        weights = state.now.values[:, :-1].copy()
        scores = state.problem.design.scores(weights)
        intercept = np.zeros(len(weights))
        if state.problem.intercept:
            intercept = state.problem.risk.best_intercept(scores)
        return Model(weights, intercept), Witness(-state.problem.risk.subgradient(scores + intercept))

    def _scores(self, state: State, values: NDArray) -> NDArray[np.float64]:
        weights = np.ascontiguousarray(values[:, :-1])
        return state.problem.design.scores(weights) + (values[:, -1] - weights @ state.mean)

    def _gradient(self, state: State, slopes: NDArray) -> NDArray[np.float64]:
        total = np.sum(slopes, axis=0)
        pull = state.problem.design.adjoint(slopes) - np.outer(total, state.mean)
        return np.column_stack([pull, total if state.problem.intercept else np.zeros(len(total))])

    def _proximal(self, state: State, values: NDArray, gradient: NDArray) -> NDArray[np.float64]:
        """The minimizer of the gradient's plane with a square on it, and the regularization."""
        with np.errstate(divide="ignore"):
            rate = np.where(state.lengths > 0.0, 1.0 / (state.curvature * state.lengths), 0.0)
        moved = values - rate * gradient
        weights, rate = moved[:, :-1], rate[:-1]
        shrunk = np.sign(weights) * np.maximum(np.abs(weights) - state.absolute * rate, 0.0)
        moved[:, :-1] = np.where(rate > 0.0, shrunk / (1.0 + state.square * rate), 0.0)
        return moved
