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

The dual points of labelled sequences (max-margin Markov networks, App. E.1) are marginals of cliques, of which
:math:`\theta` is a linear image (``chain_sets``); the same risk with the entropy instead of d is that of ``bregman``.

The dual points of ordered classes are flows over all pairs of examples, whose dimension is too high.  There the method
of ``averaging`` is used, which needs only :math:`\theta_\mu(w)`, starts at zero and does not restart.

=======================  ==================================================
symbol                   here
=======================  ==================================================
:math:`\theta_c`         ``centre``
:math:`X^T\theta`        ``x_theta``
:math:`\mu, L, \tau`     ``mu``, ``lipschitz``, ``tau``
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
from fenchel.problem import Problem
from fenchel.solvers import needs
from fenchel.solvers.base import Need, Warm
from fenchel.solvers.reference.averaging import Maximizer, first_averages
from fenchel.solvers.reference.excessive_gap import (
    FIRST_SHARE,
    ExcessiveGapSolver,
    Iterates,
    StoredPoints,
    dual_set,
    has_dual_set,
)
from fenchel.validation import check_bool, is_positive


def _is_not_separable(problem: Problem) -> bool:
    return problem.risk.separable() is None


@dataclass(frozen=True)
class Pragam(ExcessiveGapSolver):
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
                "requires a mean of losses, or the hinge risk of several classes, of several labels, of ordered "
                "classes or of labelled sequences",
            ),
            needs.ALIKE_PAIRS,
            Need(
                lambda problem: np.isfinite(problem.mean_risk.smoothing_range), "requires a loss with bounded slopes"
            ).unless(_is_not_separable),
            Need(
                lambda problem: not problem.intercept or problem.risk.outputs is None,
                "does not support free intercepts of several outputs",
            ).unless(_is_not_separable),
            Need(
                lambda problem: not problem.intercept or problem.risk.multilabel() is None,
                "does not support free intercepts of several labels",
            ),
            Need(
                lambda problem: not problem.intercept or problem.mean_risk.loss.piecewise_quadratic() is not None,
                lambda problem: (
                    "requires a piecewise linear or quadratic loss with a free intercept, got "
                    f"{problem.mean_risk.loss.name!r}"
                ),
            ).unless(_is_not_separable),
        )

    def start(self, problem: Problem, warm: Warm | None) -> Iterates:
        risk, ordinal, design = problem.risk, problem.risk.ordinal(), problem.design
        if ordinal is None:
            found = dual_set(problem)
            bound = found.squared_norm(design) / problem.lam
        else:
            # |x_i - x_j|^2 <= 2 |x_i|^2 + 2 |x_j|^2 for pairs
            bound = 2.0 * float(ordinal.in_pairs @ design.squared_row_norms) / problem.lam
        if not math.isfinite(bound):
            raise FenchelError("X holds NaN or infinity, or its norms overflow: repair or scale X")
        # if X is zero, any L is valid
        bound = bound or 1.0
        adaptive = self.lipschitz == "adaptive"
        given = None if adaptive else bound if self.lipschitz == "data" else float(self.lipschitz)
        if ordinal is not None:

            def maximize(mu: float, scores: Floats) -> Maximizer:
                found = ordinal.smoothed(scores, mu)
                assert found.decompose is not None
                return Maximizer(found.value, found.theta, -found.conjugate(scores), found.decompose())

            return first_averages(problem, maximize, np.zeros(risk.examples), bound, ordinal.smoothing_range, given)
        centre = found.zero() if warm is None else found.start(warm.witness)
        # 1.
        x_theta = design.adjoint(found.image(centre)) if np.any(centre) else np.zeros(problem.weights_shape)
        weights = x_theta / problem.lam
        scores = design.scores(weights) if np.any(weights) else np.zeros(problem.theta_shape)
        L = bound * FIRST_SHARE if given is None else given
        state = StoredPoints(problem, centre, None, weights, scores, 2.0 * L, L, bound, found, centre, self.restart, L)
        if adaptive:
            state.restart(centre, x_theta, weights, scores)
        else:
            state.theta = found.step(centre, scores, L)
        return state
