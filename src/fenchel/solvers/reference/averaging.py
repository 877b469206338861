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
every step.  Of a convex combination only :math:`\theta`, g and a decomposition are stored, which suffice for the
certificate.  Each trial needs one product with X, one with its transpose, and one maximizer.

=======================  ==================================================
symbol                   here
=======================  ==================================================
:math:`\hat\alpha`       ``hat``, with :math:`X^T\hat\theta` in ``x_theta_hat``
:math:`\theta, g`        ``theta``, ``negative_conjugate``
:math:`X^T\theta`        ``x_theta``
L                        ``lipschitz``
=======================  ==================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import STALLED, Hint
from fenchel.solvers.reference.excessive_gap import FIRST_SHARE, Iterates, largest_tau

#: rounding errors that the test of L allows: relative to the right-hand side, and to its terms
_ROUNDING, _TERM_ROUNDING = 1e-9, 16.0 * EPS
#: the method stalls when mu D_2, a bound on the gap, is below this multiple of R(0)
_SMALLEST_GAP = 1e-14


class Maximizer(NamedTuple):
    """R_mu, with the image theta of its maximizer and g = -R*(-theta) or a lower bound on it."""

    value: float
    theta: Floats
    negative_conjugate: float
    #: the decomposition of theta, where the risk has them
    decomposition: Floats | None = None


#: returns the maximizer for mu and scores
Maximize = Callable[[float, Floats], Maximizer]


@dataclass
class Averages(Iterates):
    """Iterates with the images of averages of maximizers."""

    x_theta: Floats
    negative_conjugate: float
    maximize: Maximize
    #: alpha_mu(w), and its X^T theta
    hat: Maximizer
    x_theta_hat: Floats
    #: D_2, the maximum of d
    d_range: float
    #: whether L is estimated
    adaptive: bool
    #: the decomposition of theta, where the risk has them
    decomposition: Floats | None

    def step(self, hint: Hint) -> float:
        """Steps 2 to 4; return the data passes."""
        problem, design, hat = self.problem, self.problem.design, self.hat
        if self.mu * self.d_range <= _SMALLEST_GAP * problem.risk.value_at_zero:
            return STALLED
        passes = 0.0
        while True:
            tau = largest_tau(self.mu, self.lipschitz)
            # 2. and 3.
            weights = ((1.0 - tau) * self.x_theta + tau * self.x_theta_hat) / problem.lam
            scores = design.scores(weights)
            between = (1.0 - tau) * self.scores + tau * scores
            if not np.all(np.isfinite(between)):
                return STALLED
            # 4.
            found = self.maximize((1.0 - tau) * self.mu, between)
            x_theta = design.adjoint(found.theta)
            passes += 1.0
            attained = found.negative_conjugate - float(np.vdot(found.theta, scores))
            slack = (1.0 - tau) * hat.value - found.value + tau * attained
            change = tau * (x_theta - self.x_theta_hat)
            if (
                not self.adaptive
                or _preserves_gap(problem, change, slack, abs(hat.value) + abs(found.value))
                or self.lipschitz >= self.lipschitz_bound
            ):
                break
            self.lipschitz = min(2.0 * self.lipschitz, self.lipschitz_bound)
            if hint.stop_requested():
                return passes
        self.average(tau, weights, scores)
        self.hat, self.x_theta_hat = found, x_theta
        self.theta = (1.0 - tau) * self.theta + tau * found.theta
        parts = problem.risk.decomposable()
        if parts is not None and self.decomposition is not None and found.decomposition is not None:
            both = self.decomposition, found.decomposition
            self.decomposition = parts.mixed(np.array([1.0 - tau, tau]), both)
        self.negative_conjugate = (1.0 - tau) * self.negative_conjugate + tau * found.negative_conjugate
        self.x_theta = (1.0 - tau) * self.x_theta + tau * x_theta
        if self.adaptive:
            self.lipschitz *= 0.5
        return passes

    def expected_gap(self) -> float:
        if not np.all(np.isfinite(self.scores)):
            return math.inf
        return self.gap(self.x_theta, self.problem.risk.value(self.scores), self.negative_conjugate)

    def propose(self) -> tuple[Model, Witness]:
        """Return copies of weights and theta, with what bounds the conjugate if that has no closed form."""
        problem = self.problem
        bound = -self.negative_conjugate if problem.risk.closed_form() is None else None
        model = Model(self.weights.copy(), problem.no_intercept())
        return model, Witness(self.theta.copy(), bound, self.decomposition)


def first_averages(
    problem: Problem,
    maximize: Maximize,
    centre: Floats,
    lipschitz_bound: float,
    d_range: float,
    given: float | None = None,
) -> Averages:
    """Step 1, with the image of alpha_c, an upper bound on L, D_2, and L unless it is estimated."""
    design, lam, adaptive = problem.design, problem.lam, given is None
    x_theta = design.adjoint(centre)
    weights = x_theta / lam
    scores = design.scores(weights)
    L = lipschitz_bound * FIRST_SHARE if given is None else given
    while True:
        hat = maximize(L, scores)
        x_theta_hat = design.adjoint(hat.theta)
        slack = hat.negative_conjugate - float(np.vdot(hat.theta, scores)) - hat.value
        if (
            not adaptive
            or _preserves_gap(problem, x_theta_hat - x_theta, slack, hat.negative_conjugate)
            or lipschitz_bound <= L
        ):
            break
        L = min(2.0 * L, lipschitz_bound)
    iterates = (problem, hat.theta, x_theta_hat, weights, scores, L, L, lipschitz_bound)
    more = (hat.negative_conjugate, maximize, hat, x_theta_hat, d_range, adaptive, hat.decomposition)
    return Averages(*iterates, *more)


def _preserves_gap(problem: Problem, x_theta: Array, slack: float, size: float) -> bool:
    """Return whether the excessive gap condition is preserved: the decrease of D is at most the slack."""
    decrease = float(np.vdot(x_theta, x_theta)) / (2.0 * problem.lam)
    return decrease <= slack * (1.0 + _ROUNDING) + _TERM_ROUNDING * size
