r"""The excessive gap by maximizers alone: for dual points that are too many to be kept.

Solves :math:`\min_w J(w) = \tfrac\lambda2\|w\|^2 + R(Xw)` where only the maximizer :math:`\alpha_\mu(w)` of

.. math::
    R_\mu(s) = \max_\alpha\; g(\alpha) - \theta(\alpha)\cdot s - \mu\,d(\alpha), \qquad R = R_0

is at hand, by its image :math:`\theta` and its gain g: flows of all pairs of examples, or distributions over all
labellings.  :math:`D(\alpha) = g(\alpha) - \|X^T\theta(\alpha)\|^2/(2\lambda)`, :math:`w(\alpha) =
X^T\theta(\alpha)/\lambda`, and :math:`\alpha_c` is where d is zero.  Zhang, Saha and Vishwanathan (2010, Sec. 5.1) with
any d in place of the entropy:

1. :math:`w_0 = w(\alpha_c)`, :math:`\mu_0 = L,\ \alpha_0 = \hat\alpha = \alpha_{\mu_0}(w_0)`.
2. :math:`\beta = (1-\tau)\alpha_k + \tau\hat\alpha`.
3. :math:`w_{k+1} = (1-\tau)w_k + \tau w(\beta)`, :math:`\mu_{k+1} = (1-\tau)\mu_k`.
4. :math:`\tilde\alpha = \alpha_{\mu_{k+1}}(w_{k+1})`, :math:`\alpha_{k+1} = (1-\tau)\alpha_k + \tau\tilde\alpha`, and
   :math:`\tilde\alpha` is the next :math:`\hat\alpha`.

For the entropy 4. is the paper's Bregman step from :math:`\hat\alpha`; in general it is not, and the proof is that of
Nesterov's sums of linear models (2005): what the models at :math:`\beta_0, \dots, \beta_{k-1}` make together is
at least :math:`J_{\mu_k}(w_k)`, by the convexity of squares.  The excessive gap :math:`J_{\mu_k}(w_k) \le
D(\alpha_k)` is kept if

.. math::
    \tau^2\|X^T(\tilde\theta - \hat\theta)\|^2/(2\lambda) \le (1-\tau)R_{\mu_k}(Xw_k) - R_{\mu_{k+1}}(Xw_{k+1})
    + \tau\,[g(\tilde\alpha) - \tilde\theta\cdot Xw(\beta)]

where the right side is at least :math:`(1-\tau)\mu_k` times the distance of :math:`\tilde\alpha` from
:math:`\hat\alpha` in d, so that :math:`\tau^2/(1-\tau) \le \mu_k/L` implies it for L the curvature of D in d.  L is
given, or found on the way: it doubles until the inequality holds and is halved after every step.  Of a mixture only
:math:`\theta` and g are kept: they are the witness.  A step takes one product with X and one with its transpose, and
one maximizer, for every trial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import STALLED, Hint
from fenchel.solvers.reference.dual_sets import largest_share

#: the first L that is tried, as a share of the bound from the data
_FIRST = 2.0**-6
#: what rounding may add to the test of L, relative to what is compared and to its parts
_ROUNDING, _EPS = 1e-9, 16.0 * float(np.finfo(np.float64).eps)
#: a bound on the gap of this share of the objective is rounding
_DONE = 1e-14


class Maximizer(NamedTuple):
    """R_mu at some scores, with the image and the gain of what attains it."""

    value: float
    theta: NDArray[np.float64]
    gain: float


#: of mu and scores
Maximize = Callable[[float, NDArray[np.float64]], Maximizer]


@dataclass
class State:
    """Where the method stands: the means of alpha, the weights with their scores, mu and L."""

    problem: Problem
    maximize: Maximize
    #: alpha_mu(w), and its X^T theta
    near: Maximizer
    pull_near: NDArray[np.float64]
    theta: NDArray[np.float64]
    gain: float
    pull: NDArray[np.float64]
    weights: NDArray[np.float64]
    scores: NDArray[np.float64]
    mu: float
    steepness: float
    #: no L needs to be larger
    largest: float
    #: the largest d
    width: float
    #: whether L is found on the way
    adaptive: bool = True
    steps: int = 0


def start(
    problem: Problem,
    maximize: Maximize,
    centre: NDArray[np.float64],
    largest: float,
    width: float,
    given: float | None = None,
) -> State:
    """1., with the image of alpha_c, a bound on L from the data, the range of d, and L if it is given."""
    design, lam, adaptive = problem.design, problem.lam, given is None
    pull = design.adjoint(centre)
    weights = pull / lam
    scores = design.scores(weights)
    L = largest * _FIRST if given is None else given
    while True:
        first = maximize(L, scores)
        pull_first = design.adjoint(first.theta)
        room = first.gain - float(np.vdot(first.theta, scores)) - first.value
        if not adaptive or _is_kept(problem, pull_first - pull, room, first.gain) or largest <= L:
            break
        L = min(2.0 * L, largest)
    kept = (first, pull_first, first.theta, first.gain, pull_first, weights, scores)
    return State(problem, maximize, *kept, L, L, largest, width, adaptive)


def step(state: State, hint: Hint) -> float:
    """2. to 4.; the data passes it took."""
    problem, design, near, mu = state.problem, state.problem.design, state.near, state.mu
    if mu * state.width <= _DONE * problem.risk.value_at_zero:
        return STALLED
    passes = 0.0
    while True:
        tau = largest_share(mu, state.steepness)
        # 2. and 3.
        weights = ((1.0 - tau) * state.pull + tau * state.pull_near) / problem.lam
        scores = design.scores(weights)
        next_scores = (1.0 - tau) * state.scores + tau * scores
        # 4.
        found = state.maximize((1.0 - tau) * mu, next_scores)
        pull = design.adjoint(found.theta)
        passes += 1.0
        attained = found.gain - float(np.vdot(found.theta, scores))
        room = (1.0 - tau) * near.value - found.value + tau * attained
        bend = tau * (pull - state.pull_near)
        if (
            not state.adaptive
            or _is_kept(problem, bend, room, abs(near.value) + abs(found.value))
            or state.steepness >= state.largest
        ):
            break
        state.steepness = min(2.0 * state.steepness, state.largest)
        if hint.stop_requested():
            return passes
    state.weights = (1.0 - tau) * state.weights + tau * weights
    state.scores, state.near, state.pull_near = next_scores, found, pull
    state.theta = (1.0 - tau) * state.theta + tau * found.theta
    state.gain = (1.0 - tau) * state.gain + tau * found.gain
    state.pull = (1.0 - tau) * state.pull + tau * pull
    state.mu = (1.0 - tau) * mu
    if state.adaptive:
        state.steepness *= 0.5
    state.steps += 1
    return passes


def expected_gap(state: State) -> float:
    """J(w) - D(alpha) of what is kept."""
    problem = state.problem
    squares = float(np.vdot(state.pull, state.pull)) / problem.lam
    squares += problem.lam * float(np.vdot(state.weights, state.weights))
    return 0.5 * squares + problem.risk.value(state.scores) - state.gain


def propose(state: State) -> tuple[Model, Witness]:
    """Copies of the present weights and of theta, with what bounds the conjugate where it has no closed form."""
    problem = state.problem
    bound = -state.gain if problem.risk.closed_form() is None else None
    return Model(state.weights.copy(), problem.no_intercept()), Witness(state.theta.copy(), bound)


def _is_kept(problem: Problem, pull: NDArray, room: float, size: float) -> bool:
    """Whether the gap stays excessive: the curvature of D along a move is no more than its room."""
    bend = float(np.vdot(pull, pull)) / (2.0 * problem.lam)
    return bend <= room * (1.0 + _ROUNDING) + _EPS * size
