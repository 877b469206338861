r"""Primal-adjoint gap minimization (Pragam), Nesterov's excessive gap technique: Saha, Zhang and Vishwanathan, Alg. 1.

Solves :math:`\min_w J(w) = \tfrac\lambda2\|w\|^2 + R(Xw)` (with :math:`\min_b R(Xw + b)` where an intercept is free)
together with its dual :math:`D(\theta) = -\|X^T\theta\|^2/(2\lambda) - R^*(-\theta)` over :math:`\theta\in Q`.  With

.. math::
    J_\mu(w) = \tfrac\lambda2\|w\|^2 + \max_{\theta\in Q}\, -\theta\cdot Xw - R^*(-\theta) - \mu\,d(\theta - \theta_c)

the *excessive gap* :math:`J_{\mu_k}(w_k) \le D(\theta_k)` holds at every step, hence
:math:`J(w_k) - D(\theta_k) \le \mu_k D_2` with :math:`D_2 = \max_Q d(\theta - \theta_c)`.

1. :math:`\theta_c = 0` (or a dual point to start from), :math:`\theta_0 = v(\theta_c),\ w_0 = w(\theta_c)`.
   (A random start, as printed, does not satisfy the excessive gap condition.)
2. :math:`\hat\theta = \theta_{\mu_k}(w_k)` (23), :math:`\beta = (1-\tau)\theta_k + \tau\hat\theta`.
3. :math:`w_{k+1} = (1-\tau)w_k + \tau w(\beta)` (24), :math:`\theta_{k+1} = v(\beta)` (25), :math:`\mu_{k+1} =
   (1-\tau)\mu_k`.

:math:`w(\theta) = X^T\theta/\lambda`, and v is a proximal gradient step of curvature L with the exact :math:`R^*`, so
that epsilon-insensitive losses need no additional variables.  With a given L, or with the upper bound from the data,
:math:`\mu_0 = 2L,\ \tau_k = 2/(k+3)` and the gap is at most :math:`4LD_2/((k+1)(k+2))` (26).  ``lipschitz="adaptive"``
estimates L (Nesterov, Gradient methods for minimizing composite objective function, 2007); the proof requires only

.. math:: \|X^T(\theta_{k+1} - \beta)\|^2/\lambda \le L\,2d(\theta_{k+1} - \beta) \quad\text{and}\quad
          \tau^2/(1-\tau) \le \mu_k/L

so L doubles until the first inequality holds and is halved after every step, :math:`\tau` makes the second one an
equality, and :math:`\mu_0` is the first accepted L.

With an adaptive L the method restarts from :math:`\theta_k` as its centre (``restart``) when :math:`\mu` has decreased
by a factor of 1,000, then of 4,000, and so on, but not before :math:`\mu D_2` is a tenth of R(0): for larger
:math:`\mu` the smoothing hides the kinks of R.  The proof holds for any centre, and rounds whose length grows
geometrically change the rate by a constant factor only.  Near the solution restarts help, because the distance of D
from its maximum is at most :math:`\mu_k d(\theta^* - \theta_c)`.

The best intercepts of several classes are expensive.  Instead the multipliers of the equalities
:math:`\sum_i\theta_i = 0` in (23) are proposed, for which the bound on the gap holds as well (``class_intercepts``).

A step needs one product with X and one with its transpose; with an adaptive L one more with the transpose, and one of
each for every further trial.  The metric d and the steps are in ``dual_sets``.

The dual points of ordered classes are flows over all pairs of examples, whose dimension is too high.  There the method
of ``averaging`` is used, which needs only :math:`\theta_\mu(w)`, starts at zero and does not restart.

=======================  ==================================================
symbol                   here
=======================  ==================================================
:math:`\theta_c`         ``state.centre``
:math:`X^T\theta`        ``state.x_theta``
:math:`\mu, L, \tau`     ``state.mu``, ``state.lipschitz``, ``tau``
:math:`D_2`              ``dual_set.d_range``
=======================  ==================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import OrdinalHinge
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.reference import averaging
from fenchel.solvers.reference.averaging import Maximizer
from fenchel.solvers.reference.dual_sets import dual_set, has_dual_set
from fenchel.solvers.reference.excessive_gap import State, adaptive_move, gap_of, given_move, intercept_of, restart
from fenchel.validation import check_bool, is_positive

#: first L, relative to the bound from the data
_FIRST_SHARE = 2.0**-6
#: factor by which the ratio of mu at a restart to its first value decreases at each restart
_RESTART_FACTOR = 0.25
#: the method stalls when the bound on the gap is below this multiple of R(0)
_SMALLEST_GAP = 1e-16
#: the gap is recomputed when the number of steps has grown by this share
_GAP_INTERVAL = 0.05
#: d(theta - theta_c) is at most this multiple of D_2 for any centre in Q
_CENTRE_FACTOR = 4.0


def _is_not_separable(problem: Problem) -> bool:
    return problem.risk.separable() is None


@dataclass(frozen=True)
class Pragam(Solver):
    """Pragam: Nesterov's excessive gap technique, for comparison.

    Parameters
    ----------
    lipschitz : float or {"adaptive", "data"}, default="adaptive"
        A bound on the Lipschitz constant of the gradient of the dual; "data" computes one from the norms of the rows,
        "adaptive" estimates it.
    restart : bool, default=True
        Whether to restart from the current dual point; only with an adaptive constant.

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

    #: a bound on the Lipschitz constant of the gradient of D in the metric of ``dual_sets``; "data" for the bound from
    #: the norms of the rows, "adaptive" for an estimate
    lipschitz: float | str = "adaptive"
    #: whether to restart from the current dual point; only with an adaptive L
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
            ).unless(_is_not_separable),
            Need(
                lambda problem: not problem.intercept or problem.risk.outputs is None,
                "does not support free intercepts of several outputs",
            ).unless(_is_not_separable),
            Need(
                lambda problem: not problem.intercept or problem.mean_risk.loss.piecewise_quadratic() is not None,
                lambda problem: (
                    "requires a piecewise linear or quadratic loss with a free intercept, got "
                    f"{problem.mean_risk.loss.name!r}"
                ),
            ).unless(_is_not_separable),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State | averaging.State:
        risk, ordinal, design = problem.risk, problem.risk.ordinal(), problem.design
        # |x_i - x_j|^2 <= 2 |x_i|^2 + 2 |x_j|^2 for pairs
        shares = risk.shares if ordinal is None else 2.0 * ordinal.in_pairs
        lipschitz_bound = float(shares @ design.squared_row_norms) / problem.lam
        if not math.isfinite(lipschitz_bound):
            raise FenchelError("X holds NaN or infinity, or its norms overflow: repair or scale X")
        # if X is zero, any L is valid
        lipschitz_bound = lipschitz_bound or 1.0
        if ordinal is not None:
            given = None if self.lipschitz == "adaptive" else self._given_lipschitz(lipschitz_bound)
            return averaging.start(
                problem, _of_smoothed(ordinal), np.zeros(risk.examples), lipschitz_bound, ordinal.smoothing_range, given
            )
        found = dual_set(problem)
        centre = np.zeros(problem.theta_shape)
        if warm is not None and np.shape(warm.witness.theta) == problem.theta_shape:
            centre = found.feasible(np.array(warm.witness.theta, dtype=np.float64))
        # 1.
        x_theta = design.adjoint(centre) if np.any(centre) else np.zeros(problem.weights_shape)
        weights = x_theta / problem.lam
        scores = design.scores(weights) if np.any(weights) else np.zeros(problem.theta_shape)
        adaptive = self.lipschitz == "adaptive"
        L = lipschitz_bound * _FIRST_SHARE if adaptive else self._given_lipschitz(lipschitz_bound)
        state = State(problem, found, centre, centre, None, weights, scores, 2.0 * L, L, L, lipschitz_bound)
        if adaptive:
            restart(state, centre, x_theta, weights, scores)
        else:
            state.theta = found.step(centre, scores, L)
        return state

    def _given_lipschitz(self, lipschitz_bound: float) -> float:
        """Return L if it is not estimated."""
        return lipschitz_bound if self.lipschitz == "data" else float(self.lipschitz)

    def step(self, state: State | averaging.State, hint: Hint) -> float:
        if isinstance(state, averaging.State):
            return averaging.step(state, hint)
        if state.mu * _CENTRE_FACTOR * state.dual_set.d_range <= _SMALLEST_GAP * state.problem.risk.value_at_zero:
            return STALLED
        # 2.
        nearest = state.dual_set.step(state.centre, state.scores, state.mu)
        found = (
            given_move(state, nearest) if state.x_theta is None else adaptive_move(state, state.x_theta, nearest, hint)
        )
        move, passes = found
        if move is None:
            return passes
        tau = move.tau
        state.weights = (1.0 - tau) * state.weights + tau * move.weights
        state.scores = (1.0 - tau) * state.scores + tau * move.scores
        state.theta, state.x_theta, state.mu = move.theta, move.x_theta, (1.0 - tau) * state.mu
        state.steps += 1
        if self.restart and state.x_theta is not None and state.mu <= state.restart_mu:
            state.restart_ratio *= _RESTART_FACTOR
            weights = state.x_theta / state.problem.lam
            scores = state.problem.design.scores(weights)
            passes += 0.5 + restart(state, state.theta, state.x_theta, weights, scores)
        return passes

    def expected_gap(self, state: State | averaging.State) -> float:
        """Return J(w) - D(theta); NaN with a given L, where X^T theta is not stored."""
        if isinstance(state, averaging.State):
            return averaging.expected_gap(state)
        if state.x_theta is None:
            return math.nan
        if state.steps >= state.gap_due:
            state.gap, state.gap_due = gap_of(state, state.x_theta), (1.0 + _GAP_INTERVAL) * state.steps
        return state.gap

    def propose(self, state: State | averaging.State) -> tuple[Model, Witness]:
        if isinstance(state, averaging.State):
            return averaging.propose(state)
        return Model(state.weights.copy(), intercept_of(state)), Witness(state.theta.copy())


def _of_smoothed(risk: OrdinalHinge) -> averaging.Maximize:
    """Return the maximizer of a risk that has a smoothing."""

    def maximize(mu: float, scores: Floats) -> Maximizer:
        found = risk.smoothed(scores, mu)
        return Maximizer(found.value, found.theta, -found.conjugate(scores))

    return maximize
