r"""The excessive gap technique over labellings, with the entropy: Zhang, Saha and Vishwanathan (2010), Sec. 5.1.

Solves :math:`\min_w J(w) = \tfrac\lambda2\|w\|^2 + \max_z\,[\Delta(z) - \theta(z)\cdot Xw]` for any measure of a
contingency table.  Its dual is over distributions :math:`\alpha` on the :math:`2^n` labellings,
:math:`D(\alpha) = E_\alpha\Delta - \|X^TE_\alpha\theta\|^2/(2\lambda)`, and the proximal function is the entropy
relative to the uniform distribution, whose range is :math:`D_2 = n\log 2`.  Only two kinds of distributions are ever
asked for, both of the form :math:`p(z)\propto\exp(c\,\Delta - \theta(z)\cdot s)` of (21), by their means
(``risks.labellings``):

1. :math:`\alpha_c` uniform, :math:`w_0 = w(\alpha_c)`, :math:`\mu_0 = L,\ \alpha_0 = \alpha_{\mu_0}(w_0)`.
2. :math:`\hat\alpha = \alpha_{\mu_k}(w_k)`, with :math:`c = 1/\mu_k, s = Xw_k/\mu_k`; :math:`\beta = (1-\tau)\alpha_k +
   \tau\hat\alpha`.
3. :math:`w_{k+1} = (1-\tau)w_k + \tau w(\beta)`.
4. The Bregman step starts from :math:`\hat\alpha` (from a mixture it would leave the form): :math:`\tilde\alpha \propto
   \hat\alpha\,e^{\kappa\nabla D(\beta)},\ \kappa = \tau/((1-\tau)\mu_k)`, that is :math:`c = 1/\mu_k + \kappa,\ s =
   Xw_k/\mu_k + \kappa Xw(\beta)`; :math:`\alpha_{k+1} = (1-\tau)\alpha_k + \tau\tilde\alpha`, :math:`\mu_{k+1} =
   (1-\tau)\mu_k`.

The excessive gap :math:`J_{\mu_k}(w_k) \le D(\alpha_k)` is kept if

.. math:: \|X^T(\theta_{k+1} - \theta_\beta)\|^2/(2\lambda) \le (1-\tau)\mu_k KL(\tilde\alpha, \hat\alpha)

which :math:`\tau^2/(1-\tau) \le \mu_k/L` implies for :math:`L = \max_z\|X^T\theta(z)\|^2/\lambda`.  L is found on the
way: it doubles until the inequality holds and is halved after every step.  Of a distribution that is a mixture only the
means of :math:`\theta` and :math:`\Delta` are kept: they are the witness.  A step takes two products of each kind and
two passes of :math:`O(n^2)`: for some thousand examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import L2
from fenchel.risks import ContingencyRisk
from fenchel.risks.labellings import Moments, moments
from fenchel.solvers.base import STALLED, Hint, Warm
from fenchel.solvers.dual_sets import largest_share

#: the first L that is tried, as a share of the bound from the data
_FIRST = 2.0**-6
#: what rounding may add to the test of L, relative to what is compared
_ROUNDING = 1e-9
#: a bound on the gap of this share of the objective is rounding
_DONE = 1e-14


@dataclass
class State:
    """Where the method stands: the means of alpha, the weights with their scores, mu and L."""

    problem: Problem
    theta: NDArray[np.float64]
    delta: float
    pull: NDArray[np.float64]
    weights: NDArray[np.float64]
    scores: NDArray[np.float64]
    mu: float
    steepness: float
    #: no L needs to be larger
    largest: float
    steps: int = 0


@dataclass(frozen=True)
class Bregman:
    """The excessive gap method over labellings."""

    name: ClassVar[str] = "bregman"

    def supports(self, problem: Problem) -> str | None:
        if not isinstance(problem.risk, ContingencyRisk):
            return "bregman is for measures of a contingency table"
        if not isinstance(problem.regularizer, L2):
            return "bregman needs the square regularizer"
        if problem.intercept:
            return "bregman has no free intercept"
        return None

    def start(self, problem: Problem, warm: Warm | None) -> State:
        design, risk = problem.design, problem.risk
        largest = float(np.mean(np.sqrt(design.squared_row_norms))) ** 2 / problem.lam or 1.0
        # 1.; labellings that are not allowed have no weight in the uniform distribution either
        centre = moments(risk, 0.0, np.zeros(risk.examples))
        pull = design.adjoint(centre.theta)
        weights = pull / problem.lam
        scores = design.scores(weights)
        L = largest * _FIRST
        while True:
            first = moments(risk, 1.0 / L, scores / L)
            pull_first = design.adjoint(first.theta)
            apart = _divergence(first, centre, 1.0 / L, scores / L)
            bend = float(np.vdot(pull_first - pull, pull_first - pull)) / (2.0 * problem.lam)
            if bend <= L * apart * (1.0 + _ROUNDING) or largest <= L:
                break
            L = min(2.0 * L, largest)
        return State(problem, first.theta, first.delta, pull_first, weights, scores, L, L, largest)

    def step(self, state: State, hint: Hint) -> float:
        problem, design, risk, mu = state.problem, state.problem.design, state.problem.risk, state.mu
        if mu * risk.examples * math.log(2.0) <= _DONE * risk.value_at_zero:
            return STALLED
        # 2.
        near = moments(risk, 1.0 / mu, state.scores / mu)
        pull_near, passes = design.adjoint(near.theta), 0.5
        while True:
            tau = largest_share(mu, state.steepness)
            # 3.
            pull_beta = (1.0 - tau) * state.pull + tau * pull_near
            weights = pull_beta / problem.lam
            scores = design.scores(weights)
            # 4.
            kappa = tau / ((1.0 - tau) * mu)
            found = moments(risk, 1.0 / mu + kappa, state.scores / mu + kappa * scores)
            pull = (1.0 - tau) * state.pull + tau * design.adjoint(found.theta)
            passes += 1.0
            apart = _divergence(found, near, kappa, kappa * scores)
            bend = float(np.vdot(pull - pull_beta, pull - pull_beta)) / (2.0 * problem.lam)
            if bend <= (1.0 - tau) * mu * apart * (1.0 + _ROUNDING) or state.steepness >= state.largest:
                break
            state.steepness = min(2.0 * state.steepness, state.largest)
            if hint.stop_requested():
                return passes
        state.weights = (1.0 - tau) * state.weights + tau * weights
        state.scores = (1.0 - tau) * state.scores + tau * scores
        state.theta = (1.0 - tau) * state.theta + tau * found.theta
        state.delta = (1.0 - tau) * state.delta + tau * found.delta
        state.pull, state.mu, state.steepness = pull, (1.0 - tau) * mu, 0.5 * state.steepness
        state.steps += 1
        return passes

    def propose(self, state: State) -> tuple[Model, Witness]:
        bound = None if hasattr(state.problem.risk, "conjugate") else -state.delta
        return Model(state.weights.copy(), 0.0), Witness(state.theta.copy(), bound)


def _divergence(one: Moments, other: Moments, scale: float, scores: NDArray) -> float:
    """KL(one, other), where one ~ other exp(scale Delta - theta . scores)."""
    tilt = scale * one.delta - float(one.theta @ scores)
    return max(0.0, tilt - (one.log_total - other.log_total))
