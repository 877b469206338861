r"""Constraints instead of losses, for regularizers with a smooth conjugate: Newton's method on a dual with a barrier.

Solves the hard-constraint limits of Zhang (2002), Sec. 2,

.. math::
    \min_{w,b}\; \lambda\,\Omega(w) \quad\text{with } |s_i - y_i| \le \tau \;\text{ (interpolation)}\quad\text{or}\quad
    y_i s_i \ge 1 \;\text{ (hard margin)}, \qquad s = Xw + b\mathbf 1

among them maximum entropy density estimation (Jaynes, 1957) and its classification version (Jaakkola, Meila & Jebara,
2000).  A barrier :math:`h_\mu` keeps the scores away from the borders (Boyd & Vandenberghe, Convex Optimization, Sec.
11.2): :math:`-\mu\ln(1 - (s-y)^2/\tau^2)`, or :math:`-\mu\ln(ys - 1)`.  Its conjugate makes the dual smooth:

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
==================  =====================================================  ===================================

Where the gradient vanishes the scores are inside their borders, the weights are positive and have their mass, and
:math:`P(w) - D(\theta) \le n\mu`: so the weights of the dual point are a model that meets all constraints, and a
smaller :math:`\mu` makes it optimal.

1. Newton's direction, from the Hessian :math:`X\,\Omega^{*\prime\prime}X^T/\lambda + \operatorname{diag}(e')`, with a
   free intercept as one more unknown (``solvers.barrier_system``);
2. a minimum of :math:`F_\mu` along it, at the cost of the features and constraints;
3. :math:`\mu` is divided by ten once the scores are inside the borders and the step promised little.

Where nothing meets the constraints F has no minimum.  The direction then runs along a ray on which
:math:`\theta\cdot y` outgrows the conjugates, the search in 2 follows it as far as floats go, and the certificate of
that :math:`\theta` is beyond what any model has.  For the normalized entropy such a ray separates y from the hull of
the columns times the mass, for the unnormalized one from their cone, for the others from their span.  The last two
have to be met by equalities, so that a long way may be needed: where it is not gone, ``solvers.rays`` looks for a ray.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.constrained.barrier_functions import Margin, Tube
from fenchel.solvers.constrained.barrier_system import TALL, System
from fenchel.solvers.farkas import infeasible_ray
from fenchel.solvers.whitening import whitened

Vector = NDArray[np.float64]
#: constraints, or features, of which a matrix is formed
MOST = 4000
#: the search along a direction ends at this share of the first slope, or after so many looks
_LINE, _LOOKS = 0.3, 100
#: the gap that mu asks for, as a share of the objective, as long as no model is known
_FIRST = 0.01
#: mu is divided by this once a step promises less than this share of it, or after so many steps
_SMALLER, _PROMISE, _PATIENCE = 10.0, 0.1, 30
#: a direction is at most so many times as long as theta is
_LONGEST = 1e6
#: a bound that exceeds that of all reasonable models so many times ends the search for one
_BEYOND = 4.0
#: a gap of this share of the objective is nothing but rounding
_NOTHING = 1e-15
#: a design with more non-zeros than this share is multiplied as a dense one
_DENSE = 0.2


@dataclass
class State:
    """Where the method stands; rows without weight are left out."""

    problem: Problem
    #: R of a dense square that was whitened
    root: Vector | None
    chosen: NDArray[np.intp]
    rows: Any
    barrier: Tube | Margin
    theta: Vector
    #: X^T theta / lam
    dual: Vector
    mu: float
    #: as it was given, with the square that it has: how far is too far depends on it
    given: Problem
    #: weights that met the constraints, and lam Omega of them
    met: Vector | None = None
    primal: float = math.inf
    #: since mu was changed, and whether it has become smaller
    steps: int = 0
    sharpened: bool = False
    stalled: bool = False


def _order(problem: Problem) -> int:
    """Rows of the matrix that is factorized."""
    constraints, features = int(np.count_nonzero(problem.risk.shares)), problem.design.shape[1]
    tall = problem.mean_risk.loss.constraint == "margin" and constraints > TALL * features
    return features if tall else constraints


@dataclass(frozen=True)
class Barrier(Solver):
    """Newton's method on a dual with a barrier, for hard constraints.

    For the losses "interpolation" and "hard_margin" and regularizers with a smooth conjugate, such as the entropies.
    It proves infeasibility where no model meets the constraints.

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
            needs.CONSTRAINT,
            needs.ONE_OUTPUT,
            needs.NO_KERNEL,
            Need(
                lambda problem: (
                    problem.regularizer.quadratic_form() is not None
                    or problem.regularizer.hess_conjugate(np.zeros(problem.design.shape[1])) is not None
                ),
                lambda problem: (
                    f"requires a regularizer whose conjugate is twice differentiable, got {problem.regularizer.name!r}"
                ),
            ),
            Need(
                lambda problem: _order(problem) <= MOST,
                f"requires at most {MOST} constraints, or features with the loss 'hard_margin': it factorizes a matrix "
                "of that order",
            ),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        given = problem
        problem, warm, root = whitened(problem, warm)
        risk, (_, features) = problem.mean_risk, problem.design.shape
        chosen = np.flatnonzero(risk.shares > 0)
        labels = risk.labels[chosen]
        rows: Any = problem.design.sparse()[chosen]
        if rows.nnz > _DENSE * len(chosen) * features:
            rows = rows.toarray()
        margin = risk.loss.constraint == "margin"
        barrier = Margin(labels) if margin else Tube(labels, risk.loss.tolerance)
        theta = np.zeros(len(chosen))
        state = State(problem, root, chosen, rows, barrier, theta, np.zeros(features), problem.lam, given)
        if self._look(state, problem.regularizer.centre((features,))):
            # the best weights of all meet the constraints
            state.stalled = True
            return state
        self._first(state, labels, warm)
        return state

    def _first(self, state: State, labels: Vector, warm: Warm | None) -> None:
        """A dual point to start from: the one that is given, or one so short that the weights hardly move."""
        problem, margin = state.problem, isinstance(state.barrier, Margin)
        theta = labels.copy() if margin else labels - state.rows @ problem.regularizer.grad_conjugate(state.dual)
        if problem.intercept:
            if margin:
                # the two classes have the same weight
                theta[labels > 0] /= np.count_nonzero(labels > 0)
                theta[labels < 0] /= np.count_nonzero(labels < 0)
            else:
                theta -= np.mean(theta)
        pull = float(np.max(np.abs(state.rows.T @ theta), initial=0.0))
        theta *= problem.lam / pull if pull > 0.0 else problem.lam
        state.mu = float(np.mean(np.abs(theta)))
        if warm is not None and np.shape(warm.witness.theta) == problem.theta_shape:
            known = np.asarray(warm.witness.theta, dtype=np.float64)[state.chosen]
            if np.all(np.isfinite(known)) and np.any(known):
                floor = 1e-3 * float(np.mean(np.abs(known)))
                theta = labels * np.maximum(labels * known, floor) if margin else known
        state.theta, state.dual = theta, state.rows.T @ theta / problem.lam
        self._look(state, problem.regularizer.grad_conjugate(state.dual))

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled:
            return STALLED
        state.steps += 1
        if state.met is None and not state.sharpened:
            # the objective has outgrown what mu was chosen for
            state.mu = max(state.mu, _FIRST * self._bound(state) / len(state.theta))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # 1. the direction
            direction, gradient, intercept = self._direction(state)
            length, longest = float(np.max(np.abs(direction))), _LONGEST * float(np.max(np.abs(state.theta)))
            if length > longest:
                direction *= longest / length
            # 2. the minimum along it
            promise = -float(gradient @ direction)
            size = self._search(state, direction, intercept, promise) if promise > 0.0 else 0.0
            state.theta = state.theta + size * direction
            state.dual = state.rows.T @ state.theta / state.problem.lam
            inside = self._look(state, state.problem.regularizer.grad_conjugate(state.dual))
        # 3. a smaller mu
        if size == 0.0 or (inside and promise <= _PROMISE * state.mu) or state.steps >= _PATIENCE:
            self._sharpen(state)
        if self._bound(state) > _BEYOND * state.given.level_bound:
            state.stalled = True
        elif state.stalled and state.met is None and not state.problem.regularizer.fixes_mass:
            # the last chance for a proof that nothing meets them
            ray = infeasible_ray(state.given)[state.chosen]
            state.theta = ray if np.any(ray) else state.theta
        return 2.0

    def expected_gap(self, state: State) -> float:
        return state.primal - self._bound(state) if state.met is not None else math.nan

    def expected_objective(self, state: State) -> float:
        return state.primal

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem = state.problem
        weights = problem.regularizer.grad_conjugate(state.dual) if state.met is None else state.met
        theta = np.zeros(problem.theta_shape)
        theta[state.chosen] = state.theta
        intercept = None if problem.intercept else problem.no_intercept()
        return Model(weights if state.root is None else state.root @ weights, intercept), Witness(theta)

    def _search(self, state: State, direction: Vector, intercept: float, promise: float) -> float:
        """About where F is smallest along a direction; zero if floats see nothing of it.

        Followed without an end where there is no minimum, until the bound is one that no model can have.
        """
        problem, lam, mu, barrier = state.problem, state.problem.lam, state.mu, state.barrier
        beyond, pulled = _BEYOND * state.given.level_bound, state.rows.T @ direction / lam
        total = intercept * float(np.sum(direction))
        low, high, step = 0.0, math.inf, 1.0
        for _ in range(_LOOKS):
            theta, v = state.theta + step * direction, state.dual + step * pulled
            slope = lam * float(problem.regularizer.grad_conjugate(v) @ pulled) + float(
                barrier.slope(theta, mu) @ direction
            )
            slope = slope + total if math.isfinite(slope) else math.inf
            if abs(slope) <= _LINE * promise or (slope < 0.0 and self._value(state, theta, v) > beyond):
                return step
            low, high = (low, step) if slope > 0.0 else (step, high)
            bend = problem.regularizer.hess_conjugate(v)
            assert bend is not None
            curve = float(bend.diagonal @ pulled**2) + bend.outer * float(np.square(bend.vector @ pulled))
            curve = lam * curve + float(barrier.bend(theta, mu) @ direction**2)
            following = step - slope / curve if curve > 0.0 and slope <= promise else math.nan
            if not low < following < min(high, 10.0 * step):
                following = 2.0 * step if math.isinf(high) else 0.5 * (low + high) if low > 0.0 else 0.1 * high
            step = following
        return low

    def _direction(self, state: State) -> tuple[Vector, Vector, float]:
        """Newton's, along which the sum of theta becomes zero if the intercept is free; the gradient, with it."""
        problem, theta, rows = state.problem, state.theta, state.rows
        bend = problem.regularizer.hess_conjugate(state.dual)
        assert bend is not None
        own, separate = state.barrier.bend(theta, state.mu), isinstance(state.barrier, Margin)
        system = System(rows, bend, problem.lam, own, intercept=problem.intercept, separate=separate)
        gradient = rows @ problem.regularizer.grad_conjugate(state.dual) + state.barrier.slope(theta, state.mu)
        if not system.sound:
            return np.zeros(len(theta)), gradient, 0.0
        if not problem.intercept:
            return -system.solve(gradient), gradient, 0.0
        one, other, total = system.solve(np.ones(len(theta))), system.solve(gradient), float(np.sum(theta))
        shift = (total - float(np.sum(other))) / float(np.sum(one))
        intercept = shift - system.level * total
        return -other - shift * one, gradient + intercept, intercept

    def _look(self, state: State, weights: Vector) -> bool:
        """Whether these weights meet the constraints; if they are the best that do, they are kept."""
        problem = state.problem
        if not np.all(np.isfinite(weights)):
            return False
        scores = problem.design.scores(weights)
        scores = scores + problem.best_intercept(scores)
        if problem.risk.value(scores) > 0.0:
            return False
        primal = problem.lam * problem.regularizer.value(weights)
        if primal < state.primal or state.met is None:
            state.met, state.primal = weights, primal
        return True

    def _sharpen(self, state: State) -> None:
        """A smaller mu; the end if it makes no difference any more."""
        state.mu, state.steps, state.sharpened = state.mu / _SMALLER, 0, True
        state.stalled = not len(state.theta) * state.mu > _NOTHING * abs(self._bound(state))

    def _bound(self, state: State) -> float:
        """About D(theta): heuristic, not reported."""
        return self._value(state, state.theta, state.dual)

    def _value(self, state: State, theta: Vector, dual: Vector) -> float:
        return state.barrier.gain(theta) - state.problem.lam * state.problem.regularizer.conjugate(dual)
