r"""Excessive gap method that stores only images of dual points, for dual sets of too high a dimension.

Solves :math:`\min_w J(w) = \tfrac\lambda2\|w\|^2 + R(Xw)` where only the maximizer :math:`\alpha_\mu(w)` of

.. math::
    R_\mu(s) = \max_\alpha\; g(\alpha) - \theta(\alpha)\cdot s - \mu\,d(\alpha), \qquad R = R_0

is available, through its image :math:`\theta` and the value g: :math:`\alpha` is a flow over all pairs of examples, or
a distribution over all labellings.  :math:`D(\alpha) = g(\alpha) - \|X^T\theta(\alpha)\|^2/(2\lambda)`,
:math:`w(\alpha) = X^T\theta(\alpha)/\lambda`, and :math:`\alpha_c` is the minimizer of d, with d = 0.  The method is
that of Zhang, Saha and Vishwanathan (Lower bounds on rate of convergence of cutting plane methods, NIPS 2010, Sec. 5.1)
with any d in place of the entropy:

1. :math:`w_0 = w(\alpha_c)`, :math:`\mu_0 = L,\ \alpha_0 = \hat\alpha = \alpha_{\mu_0}(w_0)`.
2. :math:`\beta = (1-\tau)\alpha_k + \tau\hat\alpha`.
3. :math:`w_{k+1} = (1-\tau)w_k + \tau w(\beta)`, :math:`\mu_{k+1} = (1-\tau)\mu_k`.
4. :math:`\tilde\alpha = \alpha_{\mu_{k+1}}(w_{k+1})`, :math:`\alpha_{k+1} = (1-\tau)\alpha_k + \tau\tilde\alpha`, and
   :math:`\tilde\alpha` is the next :math:`\hat\alpha`.

For the entropy step 4 is the paper's Bregman step from :math:`\hat\alpha`.  In general it is not, and the proof is by
Nesterov's sums of linear models (2005): the weighted sum of the
models at :math:`\beta_0, \dots, \beta_{k-1}` is at least :math:`J_{\mu_k}(w_k)`, by convexity of the squared norm.  The
excessive gap condition :math:`J_{\mu_k}(w_k) \le D(\alpha_k)` is preserved if

.. math::
    \tau^2\|X^T(\tilde\theta - \hat\theta)\|^2/(2\lambda) \le (1-\tau)R_{\mu_k}(Xw_k) - R_{\mu_{k+1}}(Xw_{k+1})
    + \tau\,[g(\tilde\alpha) - \tilde\theta\cdot Xw(\beta)]

where the right-hand side is at least :math:`(1-\tau)\mu_k` times the Bregman distance of :math:`\tilde\alpha` from
:math:`\hat\alpha` in d, so that :math:`\tau^2/(1-\tau) \le \mu_k/L` implies it if L is the Lipschitz constant of
:math:`\nabla D` with respect to d.  L is given or estimated: it doubles until the inequality holds and is halved after
every step.  Of a convex combination only :math:`\theta` and g are stored, which suffice for the certificate.  Each
trial needs one product with X, one with its transpose, and one maximizer.

=======================  ==================================================
symbol                   here
=======================  ==================================================
:math:`\hat\alpha`       ``state.hat``, with :math:`X^T\hat\theta` in ``x_theta_hat``
:math:`\theta, g`        ``state.theta``, ``state.negative_conjugate``
:math:`X^T\theta`        ``state.x_theta``
L                        ``state.lipschitz``
=======================  ==================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import STALLED, Hint
from fenchel.solvers.reference.dual_sets import largest_tau

#: first L, relative to the bound from the data
_FIRST_SHARE = 2.0**-6
#: rounding errors that the test of L allows: relative to the right-hand side, and to its terms
_ROUNDING, _EPS = 1e-9, 16.0 * float(np.finfo(np.float64).eps)
#: the method stalls when mu D_2, a bound on the gap, is below this multiple of R(0)
_SMALLEST_GAP = 1e-14


class Maximizer(NamedTuple):
    """R_mu, with the image theta of its maximizer and g = -R*(-theta) or a lower bound on it."""

    value: float
    theta: Floats
    negative_conjugate: float


#: returns the maximizer for mu and scores
Maximize = Callable[[float, Floats], Maximizer]


@dataclass
class State:
    """State of the method."""

    problem: Problem
    maximize: Maximize
    #: alpha_mu(w), and its X^T theta
    hat: Maximizer
    x_theta_hat: Floats
    theta: Floats
    negative_conjugate: float
    x_theta: Floats
    weights: Floats
    scores: Floats
    mu: float
    lipschitz: float
    #: upper bound on L
    lipschitz_bound: float
    #: D_2, the maximum of d
    d_range: float
    #: whether L is estimated
    adaptive: bool = True
    steps: int = 0


def start(
    problem: Problem,
    maximize: Maximize,
    centre: Floats,
    lipschitz_bound: float,
    d_range: float,
    given: float | None = None,
) -> State:
    """Step 1, with the image of alpha_c, an upper bound on L, D_2, and L unless it is estimated."""
    design, lam, adaptive = problem.design, problem.lam, given is None
    x_theta = design.adjoint(centre)
    weights = x_theta / lam
    scores = design.scores(weights)
    L = lipschitz_bound * _FIRST_SHARE if given is None else given
    while True:
        first = maximize(L, scores)
        x_theta_first = design.adjoint(first.theta)
        slack = first.negative_conjugate - float(np.vdot(first.theta, scores)) - first.value
        if (
            not adaptive
            or _preserves_gap(problem, x_theta_first - x_theta, slack, first.negative_conjugate)
            or lipschitz_bound <= L
        ):
            break
        L = min(2.0 * L, lipschitz_bound)
    kept = (first, x_theta_first, first.theta, first.negative_conjugate, x_theta_first, weights, scores)
    return State(problem, maximize, *kept, L, L, lipschitz_bound, d_range, adaptive)


def step(state: State, hint: Hint) -> float:
    """Steps 2 to 4; return the data passes."""
    problem, design, hat, mu = state.problem, state.problem.design, state.hat, state.mu
    if mu * state.d_range <= _SMALLEST_GAP * problem.risk.value_at_zero:
        return STALLED
    passes = 0.0
    while True:
        tau = largest_tau(mu, state.lipschitz)
        # 2. and 3.
        weights = ((1.0 - tau) * state.x_theta + tau * state.x_theta_hat) / problem.lam
        scores = design.scores(weights)
        next_scores = (1.0 - tau) * state.scores + tau * scores
        # 4.
        found = state.maximize((1.0 - tau) * mu, next_scores)
        x_theta = design.adjoint(found.theta)
        passes += 1.0
        attained = found.negative_conjugate - float(np.vdot(found.theta, scores))
        slack = (1.0 - tau) * hat.value - found.value + tau * attained
        change = tau * (x_theta - state.x_theta_hat)
        if (
            not state.adaptive
            or _preserves_gap(problem, change, slack, abs(hat.value) + abs(found.value))
            or state.lipschitz >= state.lipschitz_bound
        ):
            break
        state.lipschitz = min(2.0 * state.lipschitz, state.lipschitz_bound)
        if hint.stop_requested():
            return passes
    state.weights = (1.0 - tau) * state.weights + tau * weights
    state.scores, state.hat, state.x_theta_hat = next_scores, found, x_theta
    state.theta = (1.0 - tau) * state.theta + tau * found.theta
    state.negative_conjugate = (1.0 - tau) * state.negative_conjugate + tau * found.negative_conjugate
    state.x_theta = (1.0 - tau) * state.x_theta + tau * x_theta
    state.mu = (1.0 - tau) * mu
    if state.adaptive:
        state.lipschitz *= 0.5
    state.steps += 1
    return passes


def expected_gap(state: State) -> float:
    """Return J(w) - D(alpha)."""
    problem = state.problem
    squares = float(np.vdot(state.x_theta, state.x_theta)) / problem.lam
    squares += problem.lam * float(np.vdot(state.weights, state.weights))
    return 0.5 * squares + problem.risk.value(state.scores) - state.negative_conjugate


def propose(state: State) -> tuple[Model, Witness]:
    """Return copies of weights and theta, with a bound on the conjugate if that has no closed form."""
    problem = state.problem
    bound = -state.negative_conjugate if problem.risk.closed_form() is None else None
    return Model(state.weights.copy(), problem.no_intercept()), Witness(state.theta.copy(), bound)


def _preserves_gap(problem: Problem, x_theta: Array, slack: float, size: float) -> bool:
    """Return whether the excessive gap condition is preserved: the decrease of D is at most the slack."""
    decrease = float(np.vdot(x_theta, x_theta)) / (2.0 * problem.lam)
    return decrease <= slack * (1.0 + _ROUNDING) + _EPS * size
