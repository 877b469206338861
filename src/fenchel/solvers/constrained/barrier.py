r"""Newton's method on the dual of a barrier problem, for hard constraints and regularizers with a smooth conjugate.

Solves the hard-constraint limits of Zhang (Machine Learning 46, 2002), Sec. 2,

.. math::
    \min_{w,b}\; \lambda\,\Omega(w) \quad\text{with } |s_i - y_i| \le \tau \;\text{ (interpolation)}\quad\text{or}\quad
    y_i s_i \ge 1 \;\text{ (hard margin)}, \qquad s = Xw + b\mathbf 1

among them maximum entropy density estimation (Jaynes, 1957) and maximum entropy discrimination (Jaakkola, Meila and
Jebara, 2000).  A logarithmic barrier :math:`h_\mu` keeps the scores strictly feasible (Boyd and Vandenberghe, Convex
Optimization, 2004, Sec. 11.2): :math:`-\mu\ln(1 - (s-y)^2/\tau^2)`, or :math:`-\mu\ln(ys - 1)`.  Its conjugate is
smooth, and so is the dual:

.. math::
    \min_\theta\; F_\mu(\theta) = \lambda\,\Omega^*(X^T\theta/\lambda) + \sum_i h_\mu^*(-\theta_i), \qquad
    \textstyle\sum\theta = 0 \text{ when } b \text{ is free}, \qquad
    \nabla F_\mu = Xw + e(\theta), \quad w = \nabla\Omega^*(X^T\theta/\lambda)

==================  =====================================================  ===================================
constraint          :math:`e(\theta)`                                      :math:`e'(\theta)`
==================  =====================================================  ===================================
``interpolation``   :math:`-y + \tau^2\theta/(\mu + q)`,                   :math:`\tau^2\mu/(q(\mu + q))`
                    :math:`q = \sqrt{\mu^2 + \tau^2\theta^2}`
``hard_margin``     :math:`-y(1 + \mu/\beta)`, :math:`\beta = y\theta > 0`  :math:`\mu/\beta^2`
``negative_log``    :math:`-yc/\beta`: the loss is its own barrier          :math:`c/\beta^2`
==================  =====================================================  ===================================

Where the gradient vanishes, the scores are strictly feasible, the weights are in the domain of :math:`\Omega`, and
:math:`P(w) - D(\theta) \le n\mu`.  The weights :math:`\nabla\Omega^*(X^T\theta/\lambda)` are therefore a feasible
model, which becomes optimal as :math:`\mu` decreases.

The lasso with ``negative_log`` (the dual pair 6 of Appendix E).  The conjugate of the 1-norm is a constraint, so it
gets the barrier: :math:`\lambda\Omega_\mu^*(v) = -\mu\sum_j\ln(1 - v_j^2)`, with the weights :math:`w_j =
2(\mu/\lambda)v_j/(1 - v_j^2)`.  Where the gradient vanishes :math:`s_i = c_i/\theta_i`, and :math:`P(w) - D(\theta) =
\lambda\sum_j|w_j|(1 - |v_j|) \le d\mu`.  A dual point inside is known, a small multiple of y.

1. The Newton direction is computed from the Hessian
   :math:`X\,\Omega^{*\prime\prime}X^T/\lambda + \operatorname{diag}(e')`, with a free intercept as the multiplier of
   :math:`\sum\theta = 0` (``constrained.barrier_system``).
2. :math:`F_\mu` is minimized along it, at a cost of n + d per evaluation.
3. :math:`\mu` is divided by ten once the scores are feasible and the predicted decrease is small.

If the constraints are infeasible, :math:`F_\mu` is unbounded below.  The direction then approaches a ray along which
:math:`\theta\cdot y` grows faster than the conjugates, the line search of step 2 follows it up to overflow, and the
dual objective of that :math:`\theta` exceeds the objective of every admissible model.  For the normalized entropy the
ray separates y from the convex hull of the columns times the mass, for the unnormalized entropy from their cone, and
for the other regularizers from their span.  Cones and spans can require a very long ray; if the line search does not
find it, ``solvers.farkas`` computes one.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`\mu`          ``state.mu``
:math:`\theta`       ``state.theta``, of the rows with positive weight
v                    ``state.v``, :math:`X^T\theta/\lambda`
===================  ==========================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.losses import NegativeLog
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.constrained.barrier_step import (
    Logarithm,
    Margin,
    State,
    Tube,
    dual_objective,
    newton_direction,
    step_length,
)
from fenchel.solvers.constrained.barrier_system import TALL
from fenchel.solvers.farkas import INFEASIBLE_BOUND, infeasible_ray
from fenchel.solvers.whitening import in_features, whitened

#: largest order of the matrix that is formed: 4000^2 doubles take 128 MB
MOST = 4000
#: n mu as a share of the dual objective, as long as no feasible model is known
_FIRST_GAP = 0.01
#: divisor of mu; mu decreases once the predicted decrease is below _DECREASE times mu, or after _MAX_STEPS steps
_MU_DIVISOR, _DECREASE, _MAX_STEPS = 10.0, 0.1, 30
#: largest entry of a direction, relative to theta
_LONGEST_DIRECTION = 1e6
#: a gap below this share of the objective is rounding error
_ROUNDING = 1e-15
#: smallest entry of a warm start for margins, relative to the mean of |theta|: theta must be inside its domain
_WARM_FLOOR = 1e-3
#: largest |X^T theta| / lam of the first point for the lasso
_INSIDE = 0.5
#: share of nonzeros above which a design is converted to a dense array
_DENSE = 0.2


def _logarithm(problem: Problem) -> bool:
    mean = problem.risk.separable()
    return mean is not None and mean.loss == NegativeLog()


def _order(problem: Problem) -> int:
    """Return the order of the matrix that is factorized."""
    constraints, features = int(np.count_nonzero(problem.risk.shares)), problem.design.shape[1]
    tall = problem.mean_risk.loss.constraint != "residual" and constraints > TALL * features
    return features if tall else constraints


@dataclass(frozen=True)
class Barrier(Solver):
    """Newton's method on a dual with a barrier, for hard constraints and the negative logarithm.

    For the losses "interpolation" and "hard_margin" and regularizers with a smooth conjugate, such as the entropies.
    It proves infeasibility where no model meets the constraints.  For the loss "negative_log" it supports the lasso
    too.

    See Also
    --------
    BasisPursuit : The lasso with constraints.
    fenchel.losses.Interpolation : The constraint on residuals.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.
    .. [2] S. Boyd and L. Vandenberghe. "Convex Optimization." Cambridge, 2004.  Sec. 11.2.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.regularizers import UnnormalizedEntropy
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import Barrier
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = X @ [1.0, 2.0, 3.0]
    >>> solution = solve(Problem(X, MeanRisk("interpolation", y), 0.1, UnnormalizedEntropy(1.0)), Barrier())
    >>> solution.solver, solution.converged
    ('barrier', True)
    """

    name: ClassVar[str] = "barrier"

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(
                lambda problem: needs.CONSTRAINT.met(problem) or _logarithm(problem),
                "requires the loss 'hard_margin', 'interpolation' or 'negative_log'",
            ),
            needs.BOUNDED_INTERCEPT,
            needs.ONE_OUTPUT,
            needs.NO_KERNEL,
            Need(
                lambda problem: (
                    (_logarithm(problem) and problem.regularizer.l1_ratio == 1.0)
                    or problem.regularizer.quadratic_form() is not None
                    or problem.regularizer.hess_conjugate(np.zeros(problem.design.shape[1])) is not None
                ),
                lambda problem: (
                    f"requires a regularizer whose conjugate is twice differentiable, got {problem.regularizer.name!r}"
                ),
            ),
            Need(
                lambda problem: _order(problem) <= MOST,
                f"requires at most {MOST} examples, or features with losses of margins: it factorizes a matrix of that "
                "order",
            ),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        given = problem
        problem, warm, root = whitened(problem, warm)
        risk, (_, features) = problem.mean_risk, problem.design.shape
        weighted = np.flatnonzero(risk.shares > 0)
        labels = risk.labels[weighted]
        rows: Any = problem.design.sparse()[weighted]
        if rows.nnz > _DENSE * len(weighted) * features:
            rows = rows.toarray()
        barrier: Margin | Tube | Logarithm
        if risk.loss.constraint is None:
            barrier = Logarithm(labels, risk.shares[weighted])
        else:
            barrier = Margin(labels) if risk.loss.constraint == "margin" else Tube(labels, risk.loss.tolerance)
        theta = np.zeros(len(weighted))
        state = State(problem, root, weighted, rows, barrier, theta, np.zeros(features), problem.lam, given)
        centre_feasible = self._keep_if_feasible(state, problem.regularizer.centre((features,)))
        if centre_feasible and risk.loss.constraint is not None:
            # the minimizer of the regularizer is feasible
            state.stalled = True
            return state
        self._set_first_point(state, labels, warm)
        return state

    def _set_first_point(self, state: State, labels: Floats, warm: Warm | None) -> None:
        """Set the first dual point: that of the warm start, or one with |X^T theta| <= lam."""
        problem, margin = state.problem, state.barrier.signed
        theta = labels.copy() if margin else labels - state.rows @ problem.regularizer.grad_conjugate(state.v)
        if problem.intercept:
            if margin:
                # theta sums to zero: both classes have the same total
                theta[labels > 0] /= np.count_nonzero(labels > 0)
                theta[labels < 0] /= np.count_nonzero(labels < 0)
            else:
                theta -= np.mean(theta)
        largest = float(np.max(np.abs(state.rows.T @ theta), initial=0.0))
        # the lasso requires |X^T theta| < lam
        size = _INSIDE * problem.lam if problem.regularizer.l1_ratio == 1.0 else problem.lam
        theta *= size / largest if largest > 0.0 else size
        state.mu = float(np.mean(np.abs(theta)))
        if warm is not None and np.shape(warm.witness.theta) == problem.theta_shape:
            known = np.asarray(warm.witness.theta, dtype=np.float64)[state.weighted]
            if np.all(np.isfinite(known)) and np.any(known):
                floor = _WARM_FLOOR * float(np.mean(np.abs(known)))
                known = labels * np.maximum(labels * known, floor) if margin else known
                outside = float(np.max(np.abs(state.rows.T @ known), initial=0.0)) >= problem.lam
                theta = theta if outside and problem.regularizer.l1_ratio == 1.0 else known
        state.theta, state.v = theta, state.rows.T @ theta / problem.lam
        self._keep_if_feasible(state, state.regularizer.grad_conjugate(state.v))

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled:
            return STALLED
        state.steps += 1
        if state.feasible is None and not state.mu_decreased:
            # the dual objective has become large compared with n mu
            state.mu = max(state.mu, _FIRST_GAP * dual_objective(state) / len(state.theta))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # 1. the direction
            direction, gradient, intercept = newton_direction(state)
            length, limit = float(np.max(np.abs(direction))), _LONGEST_DIRECTION * float(np.max(np.abs(state.theta)))
            if length > limit:
                direction *= limit / length
            # 2. the line search
            decrease = -float(gradient @ direction)
            step = step_length(state, direction, intercept, decrease) if decrease > 0.0 else 0.0
            state.theta = state.theta + step * direction
            state.v = state.rows.T @ state.theta / state.problem.lam
            feasible = self._keep_if_feasible(state, state.regularizer.grad_conjugate(state.v))
        # 3. a smaller mu
        if step == 0.0 or (feasible and decrease <= _DECREASE * state.mu) or state.steps >= _MAX_STEPS:
            self._decrease_mu(state)
        if isinstance(state.barrier, Logarithm):
            return 2.0
        if dual_objective(state) > INFEASIBLE_BOUND * state.given.level_bound:
            state.stalled = True
        elif state.stalled and state.feasible is None and not state.problem.regularizer.fixes_mass:
            # a Farkas ray proves infeasibility
            ray = infeasible_ray(state.given)[state.weighted]
            state.theta = ray if np.any(ray) else state.theta
        return 2.0

    def expected_gap(self, state: State) -> float:
        return state.primal - dual_objective(state) if state.feasible is not None else math.nan

    def expected_objective(self, state: State) -> float:
        return state.primal

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem = state.problem
        with np.errstate(invalid="ignore", divide="ignore"):
            weights = state.regularizer.grad_conjugate(state.v) if state.feasible is None else state.feasible
        if not np.all(np.isfinite(weights)):
            # v has reached the dual ball of the lasso
            weights = problem.regularizer.centre(np.shape(state.v))
        theta = np.zeros(problem.theta_shape)
        theta[state.weighted] = state.theta
        intercept = None if problem.intercept else problem.no_intercept()
        return Model(in_features(weights, state.root), intercept), Witness(theta)

    def _keep_if_feasible(self, state: State, weights: Floats) -> bool:
        """Return whether weights are feasible, and keep them if they are the best feasible ones."""
        problem = state.problem
        if not np.all(np.isfinite(weights)):
            return False
        scores = problem.design.scores(weights)
        scores = scores + problem.best_intercept(scores)
        risk = problem.risk.value(scores)
        if not math.isfinite(risk):
            return False
        primal = problem.lam * problem.regularizer.value(weights) + risk
        if primal < state.primal or state.feasible is None:
            state.feasible, state.primal = weights, primal
        return True

    def _decrease_mu(self, state: State) -> None:
        """Decrease mu; stall once n mu is a rounding error of the objective."""
        state.mu, state.steps, state.mu_decreased = state.mu / _MU_DIVISOR, 0, True
        state.stalled = not len(state.theta) * state.mu > _ROUNDING * abs(dual_objective(state))
