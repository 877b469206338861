r"""Primal-adjoint gap minimization (Pragam), Nesterov's excessive gap technique: Saha, Zhang and Vishwanathan, Alg. 1.

Solves :math:`\min_w J(w) = \tfrac\lambda2\|w\|^2 + R(Xw)` (with :math:`\min_b R(Xw + b)` where an intercept is free)
together with its dual :math:`D(\theta) = -\|X^T\theta\|^2/(2\lambda) - R^*(-\theta)` over :math:`\theta\in Q`.  With

.. math::
    J_\mu(w) = \tfrac\lambda2\|w\|^2 + \max_{\theta\in Q}\, -\theta\cdot Xw - R^*(-\theta) - \mu\,d(\theta - \theta_c)

the *excessive gap* :math:`J_{\mu_k}(w_k) \le D(\theta_k)` holds at every step, hence
:math:`J(w_k) - D(\theta_k) \le \mu_k D_2` with :math:`D_2 = \max_Q d(\theta - \theta_c)`.

1. :math:`\theta_c = 0` (or a dual point to start from), :math:`\theta_0 = v(\theta_c),\ w_0 = w(\theta_c)`.
   (From a random start, as printed, there is no excessive gap.)
2. :math:`\hat\theta = \theta_{\mu_k}(w_k)` (23), :math:`\beta = (1-\tau)\theta_k + \tau\hat\theta`.
3. :math:`w_{k+1} = (1-\tau)w_k + \tau w(\beta)` (24), :math:`\theta_{k+1} = v(\beta)` (25), :math:`\mu_{k+1} =
   (1-\tau)\mu_k`.

:math:`w(\theta) = X^T\theta/\lambda`, and v is a proximal gradient step of curvature L, in which :math:`R^*` is kept as
it is, so that losses with a tube need no more variables.  With a given L, or with the bound that the data allow,
:math:`\mu_0 = 2L,\ \tau_k = 2/(k+3)` and the gap is at most :math:`4LD_2/((k+1)(k+2))` (26).  ``lipschitz="adaptive"``
finds L on the way (Nesterov 2007): all that the proof asks of it is

.. math:: \|X^T(\theta_{k+1} - \beta)\|^2/\lambda \le L\,2d(\theta_{k+1} - \beta) \quad\text{and}\quad
          \tau^2/(1-\tau) \le \mu_k/L

so L doubles until the first holds and is halved after every step, :math:`\tau` makes the second an equality, and
:math:`\mu_0` is the first L that is accepted.

With an adaptive L the method begins anew from :math:`\theta_k` as its centre (``restart``) when :math:`\mu` has
fallen to a thousandth, then to a quarter of that, and so on, but not before :math:`\mu D_2` is a tenth of R(0): while
:math:`\mu` is larger, nothing of the kinks of R has been seen.  The proof holds from any centre, and rounds that become
longer by a constant factor cost no more than a constant factor of the rate; near the solution they help much, because
the distance of D from its maximum is at most :math:`\mu_k d(\theta^* - \theta_c)`.

Intercepts of several classes have no exact minimizer that is cheap: those that are proposed are the multipliers of the
equalities :math:`\sum_i\theta_i = 0` in (23), for which the bound on the gap holds as well (``class_intercepts``).

A step takes one product with X and one with its transpose; with an adaptive L one more with the transpose, and a pair
for every further trial.  The metric d and the steps are in ``dual_sets``.

The dual points of ordered classes are flows of all pairs of examples, too many to be kept: there the method is that of
``averaging``, which asks for nothing but :math:`\theta_\mu(w)`, begins at zero and never anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import OrdinalHinge
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.reference import averaging
from fenchel.solvers.reference.averaging import Maximizer
from fenchel.solvers.reference.class_intercepts import BalancedClasses
from fenchel.solvers.reference.dual_sets import DualSet, dual_set, has_dual_set, largest_share, squared_length
from fenchel.validation import check_bool, is_positive

#: the first L that is tried, as a share of the bound from the data
_FIRST = 2.0**-6
#: the share of its first value to which mu falls before the first new beginning, and how much that shrinks each time
_FIRST_ROUND, _LONGER = 1e-3, 0.25
#: and the share of R(0) to which the bound on the gap must have fallen as well
_SEEN = 0.1
#: what rounding may add to the test of L, relative to what is compared
_ROUNDING = 1e-12
#: a bound on the gap of this share of the objective is rounding
_DONE = 1e-16
#: the gap is computed again after this share of steps more
_LOOK = 0.05
#: how much wider the dual points may be seen from another one than from zero
_WIDEST = 4.0


@dataclass
class State:
    """Where the method stands."""

    problem: Problem
    dual_set: DualSet
    #: of the proximal function
    centre: NDArray[np.float64]
    theta: NDArray[np.float64]
    #: X^T theta; only with an adaptive L
    pull: NDArray[np.float64] | None
    weights: NDArray[np.float64]
    scores: NDArray[np.float64]
    mu: float
    steepness: float
    #: the L that was accepted last
    accepted: float
    #: no L needs to be larger
    largest: float
    steps: int = 0
    #: the mu at which the method begins anew, and the share of its first value that this is
    last_mu: float = 0.0
    round: float = _FIRST_ROUND
    #: the gap that was computed last, and the step after which it is due again
    gap: float = math.inf
    gap_due: float = 0.0


def _is_no_mean(problem: Problem) -> bool:
    return problem.risk.separable() is None


@dataclass(frozen=True)
class Pragam(Solver):
    """Pragam: Nesterov's excessive gap technique, for comparison.

    Parameters
    ----------
    lipschitz : float or {"adaptive", "data"}, default="adaptive"
        A bound on the Lipschitz constant of the gradient of the dual; "data" computes one from the lengths of the rows,
        "adaptive" estimates it on the way.
    restart : bool, default=True
        Whether to restart from the present dual point now and then; only with an adaptive constant.

    See Also
    --------
    Bregman : Measures of a contingency table.
    DualCoordinate : The default.

    References
    ----------
    .. [1] A. Saha, X. Zhang and S. V. N. Vishwanathan. "Regularized risk minimization by Nesterov's accelerated
           gradient methods: algorithmic extensions and empirical studies." 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import Pragam
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, MeanRisk("hinge", y), 0.1), Pragam(lipschitz="adaptive"))
    >>> solution.solver, solution.converged
    ('pragam', True)
    """

    #: a bound on the Lipschitz constant of the gradient of D in the metric of ``dual_sets``; "data" for the one that
    #: the lengths of the rows give, "adaptive" to find it on the way
    lipschitz: float | str = "adaptive"
    #: begin anew from the present point now and then; only with an adaptive L
    restart: bool = True
    name: ClassVar[str] = "pragam"

    def __post_init__(self) -> None:
        if not is_positive(self.lipschitz) and self.lipschitz not in ("data", "adaptive"):
            raise FenchelError(f"lipschitz must be a positive number, 'data' or 'adaptive', got {self.lipschitz!r}")
        check_bool("restart", self.restart)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            needs.RIDGE,
            Need(
                lambda problem: has_dual_set(problem) or problem.risk.ordinal() is not None,
                "requires a mean of losses, or the hinge risk of several classes, of several labels or of ordered "
                "classes",
            ),
            Need(
                lambda problem: np.isfinite(problem.mean_risk.smoothing_range), "requires a loss with bounded slopes"
            ).unless(_is_no_mean),
            Need(
                lambda problem: not problem.intercept or problem.risk.outputs is None,
                "does not support free intercepts of several outputs",
            ).unless(_is_no_mean),
            Need(
                lambda problem: not problem.intercept or problem.mean_risk.loss.piecewise_quadratic() is not None,
                lambda problem: (
                    "requires a piecewise linear or quadratic loss with a free intercept, got "
                    f"{problem.mean_risk.loss.name!r}"
                ),
            ).unless(_is_no_mean),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State | averaging.State:
        risk, ordinal, design = problem.risk, problem.risk.ordinal(), problem.design
        # |x_i - x_j|^2 <= 2 |x_i|^2 + 2 |x_j|^2 for pairs
        shares = risk.shares if ordinal is None else 2.0 * ordinal.in_pairs
        largest = float(shares @ design.squared_row_norms) / problem.lam
        if not math.isfinite(largest):
            raise FenchelError("X holds NaN or infinity, or its norms overflow: repair or scale X")
        # without any features every L will do
        largest = largest or 1.0
        if ordinal is not None:
            given = None if self.lipschitz == "adaptive" else self._given(largest)
            return averaging.start(
                problem, _of_smoothed(ordinal), np.zeros(risk.examples), largest, ordinal.smoothing_range, given
            )
        found = dual_set(problem)
        centre = np.zeros(problem.theta_shape)
        if warm is not None and np.shape(warm.witness.theta) == problem.theta_shape:
            centre = found.feasible(np.array(warm.witness.theta, dtype=np.float64))
        # 1.
        pull = design.adjoint(centre) if np.any(centre) else np.zeros(problem.weights_shape)
        weights = pull / problem.lam
        scores = design.scores(weights) if np.any(weights) else np.zeros(problem.theta_shape)
        adaptive = self.lipschitz == "adaptive"
        L = largest * _FIRST if adaptive else self._given(largest)
        state = State(problem, found, centre, centre, None, weights, scores, 2.0 * L, L, L, largest)
        if adaptive:
            _begin(state, centre, pull, weights, scores)
        else:
            state.theta = found.step(centre, scores, L)
        return state

    def _given(self, largest: float) -> float:
        """L that is not found on the way."""
        return largest if self.lipschitz == "data" else float(self.lipschitz)

    def step(self, state: State | averaging.State, hint: Hint) -> float:
        if isinstance(state, averaging.State):
            return averaging.step(state, hint)
        if state.mu * _WIDEST * state.dual_set.width <= _DONE * state.problem.risk.value_at_zero:
            return STALLED
        # 2.
        nearest = state.dual_set.step(state.centre, state.scores, state.mu)
        found = _given(state, nearest) if state.pull is None else _searched(state, state.pull, nearest, hint)
        move, passes = found
        if move is None:
            return passes
        tau = move.share
        state.weights = (1.0 - tau) * state.weights + tau * move.weights
        state.scores = (1.0 - tau) * state.scores + tau * move.scores
        state.theta, state.pull, state.mu = move.theta, move.pull, (1.0 - tau) * state.mu
        state.steps += 1
        if self.restart and state.pull is not None and state.mu <= state.last_mu:
            state.round *= _LONGER
            weights = state.pull / state.problem.lam
            scores = state.problem.design.scores(weights)
            passes += 0.5 + _begin(state, state.theta, state.pull, weights, scores)
        return passes

    def expected_gap(self, state: State | averaging.State) -> float:
        """J(w) - D(theta) of what is kept; NaN with a given L, where X^T theta is not."""
        if isinstance(state, averaging.State):
            return averaging.expected_gap(state)
        if state.pull is None:
            return math.nan
        if state.steps >= state.gap_due:
            state.gap, state.gap_due = _gap(state, state.pull), (1.0 + _LOOK) * state.steps
        return state.gap

    def propose(self, state: State | averaging.State) -> tuple[Model, Witness]:
        if isinstance(state, averaging.State):
            return averaging.propose(state)
        return Model(state.weights.copy(), _intercept(state)), Witness(state.theta.copy())


class _Move(NamedTuple):
    """tau, w(beta) with its scores, v(beta) with its X^T theta."""

    share: float
    weights: NDArray[np.float64]
    scores: NDArray[np.float64]
    theta: NDArray[np.float64]
    pull: NDArray[np.float64] | None


def _of_smoothed(risk: OrdinalHinge) -> averaging.Maximize:
    """R_mu of a risk that smooths itself."""

    def maximize(mu: float, scores: NDArray[np.float64]) -> Maximizer:
        found = risk.smoothed(scores, mu)
        return Maximizer(found.value, found.theta, -found.conjugate(scores))

    return maximize


def _gap(state: State, pull: NDArray) -> float:
    """J(w) - D(theta), with the best intercept where one is free, or good ones of several classes."""
    problem, risk, scores = state.problem, state.problem.risk, state.scores
    squares = problem.lam * float(np.vdot(state.weights, state.weights)) + float(np.vdot(pull, pull)) / problem.lam
    intercept = _intercept(state)
    value = risk.value(scores + (problem.best_intercept(scores) if intercept is None else intercept))
    return 0.5 * squares + value + problem.closed_form.conjugate(state.theta, feasible=True)


def _intercept(state: State) -> Any:
    """None for a single free one, which the certificate finds; those of several classes are the multipliers of (23)."""
    if not state.problem.intercept:
        return state.problem.no_intercept()
    if isinstance(state.dual_set, BalancedClasses):
        return state.dual_set.intercepts(state.centre, state.scores, state.mu)
    return None


def _begin(state: State, centre: NDArray, pull: NDArray, weights: NDArray, scores: NDArray) -> float:
    """1. with trials of L; the data passes it took."""
    passes, steepness = 0.5, state.steepness
    while True:
        theta = state.dual_set.step(centre, scores, steepness)
        found = state.problem.design.adjoint(theta)
        if _is_steep_enough(state, steepness, theta - centre, found - pull):
            break
        steepness, passes = min(2.0 * steepness, state.largest), passes + 0.5
    state.centre, state.theta, state.pull, state.weights, state.scores = centre, theta, found, weights, scores
    state.mu = state.steepness = state.accepted = steepness
    state.last_mu = min(state.round * steepness, _SEEN * state.problem.risk.value_at_zero / state.dual_set.width)
    return passes


def _given(state: State, nearest: NDArray) -> tuple[_Move, float]:
    """3. with a given L."""
    design, tau = state.problem.design, 2.0 / (state.steps + 3.0)
    beta = (1.0 - tau) * state.theta + tau * nearest
    weights = design.adjoint(beta) / state.problem.lam
    scores = design.scores(weights)
    return _Move(tau, weights, scores, state.dual_set.step(beta, scores, state.steepness), None), 1.0


def _searched(state: State, last_pull: NDArray, nearest: NDArray, hint: Hint) -> tuple[_Move | None, float]:
    """3. with trials of L; nothing if the user wants to stop before one is accepted."""
    design, pull_nearest, passes = state.problem.design, state.problem.design.adjoint(nearest), 0.5
    while True:
        tau = largest_share(state.mu, state.steepness)
        beta = (1.0 - tau) * state.theta + tau * nearest
        pull_beta = (1.0 - tau) * last_pull + tau * pull_nearest
        weights = pull_beta / state.problem.lam
        scores = design.scores(weights)
        theta = state.dual_set.step(beta, scores, state.steepness)
        pull = design.adjoint(theta)
        passes += 1.0
        if _is_steep_enough(state, state.steepness, theta - beta, pull - pull_beta):
            state.accepted, state.steepness = state.steepness, 0.5 * state.steepness
            return _Move(tau, weights, scores, theta, pull), passes
        state.steepness = min(2.0 * state.steepness, state.largest)
        if hint.stop_requested():
            return None, passes


def _is_steep_enough(state: State, steepness: float, move: NDArray, pull: NDArray) -> bool:
    """Whether L is at least the curvature of D along this move."""
    bend = float(np.vdot(pull, pull)) / state.problem.lam
    allowed = steepness * squared_length(state.problem.risk, move)
    return bend <= (1.0 + _ROUNDING) * allowed or steepness >= state.largest
