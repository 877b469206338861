r"""L-BFGS on a smoothed objective with decreasing mu: SMS of Zhang, Saha and Vishwanathan (2012).

Solves :math:`\min_{w,b} \tfrac\lambda2\|w\|^2 + R(Xw + b)` for every risk that can be smoothed (``risks.smoothing``),
through the smoothed objective :math:`J_\mu` (``smoothing.objective``).  Zhang, Saha and Vishwanathan, Smoothing
multivariate performance measures, JMLR 13, 2012; Nocedal and Wright, Numerical Optimization, 2nd ed., 2006.

1. When smoothing dominates the gap, mu decreases.  The scores stay the same; only :math:`X^T\theta` is recomputed.
2. The direction is :math:`-H\nabla J_\mu` by the two-loop recursion (Nocedal and Wright, algorithm 7.4).  Its initial
   matrix is a multiple of the identity or, where X has few columns, the inverse of an approximate Hessian
   (``smoothing.curvature``).  That is recomputed when the steps since then have cost as much as it does, which makes a
   Newton-type method whose pairs correct the effect of kinks.  ``benchmarks/pairs.py`` compares both.
3. Along the direction the scores are :math:`s + t\,Xp`, so the line search needs no product with X.  It ends when the
   derivative has lost a tenth of its size, by secant steps in a bracket.  :math:`J_\mu` decreases in every step.

A step needs two products, Xp and :math:`X^T\theta` (in another order where X is wide, see ``smoothing.spaces``), and
counts as one pass over the data.  ``fixed`` with ``curvature=False`` is the paper's method: :math:`\mu =
c_\mu\,\varepsilon/D` throughout, with :math:`c_\mu = 10` in most of its experiments.

=====================  ==========================================================
symbol                 here
=====================  ==========================================================
w, b, s                ``point.weights``, ``point.intercept``, ``point.scores``
:math:`\hat\theta`     ``point.at.theta``
p, t                   ``change`` (weights) and ``shift`` (intercept), ``length``
D                      ``risk.smoothing_range``
=====================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.line_search import wolfe_step
from fenchel.problem import Problem
from fenchel.risks.smoothing import Smoothed
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Warm
from fenchel.solvers.smoothing.curvature import Curvature, curvature_for
from fenchel.solvers.smoothing.lbfgs import Pairs
from fenchel.solvers.smoothing.objective import Point, SmoothedObjective, SmoothedSolver, SmoothedState
from fenchel.validation import check_bool, check_integer

#: smallest and largest number of pairs: more pairs need fewer steps (a9a, w8a), but cost more where X has many columns
_FEWEST_PAIRS, _MOST_PAIRS = 10, 80
#: change of a score, in margins, at the first trial of a line search: the pairs of a few steps may be far off
_LONGEST_TRIAL = 100.0
#: steps after which scores are recomputed from the weights, to remove accumulated rounding errors
_RECOMPUTE_STEPS = 100
#: the method stalls after this many steps without a smaller objective or mu
_MAX_STEPS_WITHOUT_PROGRESS = 10
#: fewest steps between two approximate Hessians
_FEWEST_STEPS_PER_HESSIAN = 4.0


def _has_features(problem: Problem) -> bool:
    return problem.design.kernel() is None


def _is_plain(problem: Problem) -> bool:
    return not problem.intercept and problem.risk.outputs is None


@dataclass
class State(SmoothedState):
    """State of the method."""

    pairs: Pairs = field(default_factory=Pairs)
    #: computes the initial matrix of L-BFGS where X has few columns; its inverse, and the steps since it was computed
    curvature: Curvature | None = None
    inverse: Callable[[Array], Array] | None = None
    steps_since_curvature: int = 0
    steps: int = 0
    #: evaluations of the smoothed risk
    evaluations: int = 0
    steps_without_progress: int = 0
    stalled: bool = False

    def reset(self) -> None:
        """Forget the pairs and the approximate Hessian."""
        self.pairs.stored.clear()
        self.inverse, self.steps_since_curvature = None, 0


@dataclass(frozen=True)
class Smoothing(SmoothedSolver):
    """L-BFGS on a smoothed objective whose smoothing parameter decreases.

    For performance measures such as ROC AUC and for means of losses with ridge.  A step costs one product with X and
    one with its transpose; the line search costs none.

    Parameters
    ----------
    fixed : bool, default=False
        Whether the smoothing parameter is fixed at ``c_mu * epsilon / D``, as in [1]_, instead of decreasing.
    epsilon : float, default=0.001
        The accuracy for which a fixed smoothing parameter is chosen.
    c_mu : float, default=10.0
        The factor of a fixed smoothing parameter.
    n_jobs : int, default=None
        Threads for the products with X; None uses the ``n_jobs`` of :func:`fenchel.solve`.  The result does not depend
        on it.
    prox_bound : float, default=None
        The bound D in a fixed smoothing parameter; None uses the least one for the measure, 0.5 is that of [1]_ for its
        two measures.
    memory : int, default=None
        The number of pairs that L-BFGS keeps; None chooses as many as cost about as much as the products with X.
    curvature : bool, default=None
        Whether L-BFGS starts from an approximate Hessian of the risk where X has few columns, instead of a multiple of
        the identity.  None does so unless the smoothing parameter is fixed and the measure counts predicted positives,
        such as "prbep": there the identity needs fewer steps to an accuracy of about 1%.

    See Also
    --------
    AGM : The accelerated gradient method on the same objective.
    Bundle : Any risk.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13,
           2012.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import RocAUC
    >>> from fenchel.solvers import Smoothing
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, RocAUC(y), 0.1), Smoothing(curvature=False))
    >>> solution.solver, solution.converged
    ('smoothing', True)
    """

    #: number of pairs; None uses as many as cost about as much as the products with X
    memory: int | None = None
    #: whether L-BFGS starts from an approximate Hessian where X has few columns (``smoothing.curvature``); None decides
    curvature: bool | None = None
    name: ClassVar[str] = "smoothing"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("curvature", self.curvature, optional=True)
        check_integer("memory", self.memory, least=1, optional=True)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            *(need for need in super().needs if need is not needs.RIDGE),
            needs.RIDGE_OR_KERNEL,
            Need(_is_plain, "does not support intercepts or several outputs with a Gram matrix").unless(_has_features),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        with np.errstate(over="ignore", invalid="ignore"):
            begin = self.start_state(problem, warm)
        affordable = problem.design.stored_entries // max(1, begin.point.weights.size)
        memory = self.memory or min(max(affordable, _FEWEST_PAIRS), _MOST_PAIRS)
        wanted = self._starts_from_hessian(problem) and _has_features(problem)
        curvature = curvature_for(problem, begin.objective.parts) if wanted else None
        return State(begin.objective, begin.point, Pairs(memory), curvature)

    def _starts_from_hessian(self, problem: Problem) -> bool:
        """The option, or its default: with a small fixed mu the Hessian of counts holds near its point only.

        ``reproductions/zhang2012/first_matrix.py`` has the passes of both.
        """
        if self.curvature is not None:
            return self.curvature
        table = problem.risk.contingency()
        return not (self.fixed and table is not None and table.count_bound() is not None)

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled or state.objective.has_converged(state.point, self.fixed):
            return STALLED
        with np.errstate(over="ignore", invalid="ignore"):
            passes = self._decrease_mu(state, hint)
            passes += self._update_curvature(state)
            return passes + self._descend(state)

    def _decrease_mu(self, state: State, hint: Hint) -> float:
        """1. decrease mu if that is due, at the same scores; return the data passes."""
        mu = state.objective.next_mu(state.point, hint, self.fixed)
        if mu == state.objective.mu:
            return 0.0
        state.objective, state.point = state.objective.with_mu(mu, state.point)
        state.steps_without_progress, state.evaluations = 0, state.evaluations + 1
        return state.objective.space.adjoint_passes

    def _update_curvature(self, state: State) -> float:
        """Recompute the approximate Hessian when the steps since then have cost as much; return the data passes."""
        curvature, objective, point = state.curvature, state.objective, state.point
        if curvature is None or state.steps_since_curvature < max(curvature.cost, _FEWEST_STEPS_PER_HESSIAN):
            state.steps_since_curvature += 1
            return 0.0
        state.reset()
        state.inverse = curvature.inverse(point.scores, point.at.theta, objective.mu)
        state.steps_since_curvature = 1
        return curvature.passes

    def _descend(self, state: State) -> float:
        """2. and 3.: one step; return the data passes."""
        point, objective, space = state.point, state.objective, state.objective.space
        gradient = _gradient(objective, point)
        direction = -state.pairs.times(gradient, space.dot, state.inverse)
        size = point.weights.size
        change, shift = direction[:size].reshape(point.weights.shape), direction[size:]
        score_change = space.scores(change)
        if len(shift):
            score_change += shift.reshape(point.intercept.shape)
        found = self._line_search(state, change, score_change, space.dot(gradient, direction))
        if found is None:
            # not a descent direction: reset L-BFGS; stall if repeated
            state.stalled = not state.pairs and state.inverse is None
            state.reset()
            return space.scores_passes
        length, at = found
        intercept = point.intercept + length * shift.reshape(point.intercept.shape) if len(shift) else point.intercept
        weights, scores = point.weights + length * change, point.scores + length * score_change
        state.steps += 1
        passes = 1.0
        if state.steps % _RECOMPUTE_STEPS == 0:
            state.point, passes = objective.point(space.recomputed(weights), intercept), 2.0
        else:
            state.point = objective.from_scores(weights, intercept, scores, at)
        state.pairs.append(length * direction, _gradient(objective, state.point) - gradient, space.dot)
        before, after = objective.value(point), objective.value(state.point)
        progress = after < before - OBJECTIVE_ROUNDING * abs(before)
        state.steps_without_progress = 0 if progress else state.steps_without_progress + 1
        state.stalled = state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS
        return passes

    def _line_search(
        self, state: State, change: Array, score_change: Array, derivative: float
    ) -> tuple[float, Smoothed] | None:
        """Return a step length that satisfies the Wolfe conditions, with the risk there; None if there is none.

        ``derivative`` is the directional derivative at zero.
        """
        point, problem, mu = state.point, state.objective.problem, state.objective.mu
        curvature = problem.lam * state.objective.space.dot(change, change)
        first = problem.lam * state.objective.space.dot(point.weights, change)
        largest = float(np.max(np.abs(score_change)))
        if not (derivative < 0.0 and np.isfinite(largest)):
            return None
        # without pairs and Hessian the first trial moves the scores by one margin
        trial = 1.0 if largest == 0.0 else 1.0 / largest
        if state.pairs or state.inverse is not None:
            trial = min(1.0, _LONGEST_TRIAL * trial)

        def at_step(length: float) -> tuple[float, float, Smoothed]:
            at = state.objective.evaluate(point.scores + length * score_change, mu)
            state.evaluations += 1
            here = first + length * curvature - float(np.vdot(at.theta, score_change))
            return here, length * (first + 0.5 * length * curvature) + (at.value - point.at.value), at

        return wolfe_step(at_step, derivative, trial)


def _gradient(objective: SmoothedObjective, point: Point) -> Floats:
    """Return the gradient of J_mu in w and, if it is free, b."""
    gradient = (objective.problem.lam * point.weights - point.x_theta).ravel()
    if objective.problem.intercept:
        gradient = np.append(gradient, -np.sum(point.at.theta, axis=0))
    return gradient
