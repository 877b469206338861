r"""Bundle methods: Zhang, Saha and Vishwanathan (2012), Algorithm 1 (BMRM), and (2010), Algorithms 1 and 2.

Solves :math:`\min_w J(w) = \lambda\,\Omega(w) + R(Xw)` for any risk that has planes below it.  With planes
:math:`a_j, c_j` and :math:`g_j = X^T a_j`

.. math:: J_k(w) = \lambda\,\Omega(w) + \max_{j\le k}\,(g_j\cdot w + c_j) \le J(w), \qquad w_k = \arg\min J_k

:math:`J_k(w_k)` is a lower bound on the optimum, and the mixture of planes that attains it is the witness.  A new plane
cuts off :math:`w_k`.  ``inner="qp"`` finds :math:`w_k` exactly (``inner_problem``; by a linear program for the absolute
values alone, ``linear_program``); ``inner="line_search"`` keeps one mixture of all planes so far and searches between
it and the new one.

A step costs one product with X and one with its transpose.  What is done between them is ``stabilisation``:

- ``"none"``: the plane is taken at :math:`w_k`, as in the papers; J there goes up and down.
- ``"segment"``: J is minimized between the best point and :math:`w_k` first, by their scores alone, and the plane is
  taken a tenth of the rest of the way to :math:`w_k`, so that it cuts off :math:`w_k` (Franc and Sonnenburg, 2009).
- ``"level"``, the default, which measured best: :math:`w_k` is replaced by the point nearest to the best one where
  :math:`J_k` is a given share of the gap above its minimum (Lemarechal, Nemirovskii and Nesterov, 1995), then as
  ``"segment"``.

A free intercept is minimized away in every plane (``plane_oracle``), so each of them is feasible in the dual by itself.

Planes that have had no weight for long are dropped; if memory is short, those of least weight become one.  Neither
lowers the bound: the mixture stays what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.bundle.inner_problem import Optimum, Penalty, best_mixture
from fenchel.solvers.bundle.line_search import Point, between, lowest_between, point_at
from fenchel.solvers.bundle.linear_program import lowest_model
from fenchel.solvers.bundle.oracle import PlaneOracle, Touch
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.threads import in_parts
from fenchel.validation import check_choice, check_integer, check_number, processors

_INNER = ("qp", "line_search")
_STABILISATIONS = ("none", "segment", "level")
#: the inner problem is solved to this share of the gap, by default
_INNER_SHARE = 0.01
#: rounds without weight until a plane is dropped
_PATIENCE = 60
#: numbers that planes may take, by default
_MOST_NUMBERS = 1 << 27
#: the plane of a segment search lies so far on the way from its minimum to the minimum of the model
_BEYOND = 0.1
#: the level, and the levels that are near enough, as shares of the gap above the bound
_LEVEL, _NEAR_LEVEL = 0.6, (0.4, 0.8)
#: the least proximal curvature, relative to the regularizer's; the inverse is the most
_LEAST = 1e-9
#: proximal problems in one step at most
_LEVEL_TRIALS = 4
#: relative rounding of the objective, and the gap, in units of it, below which points can't be told apart
_ROUNDING, _AT_REST = 4.0 * float(np.finfo(np.float64).eps), 100.0
#: steps in a row without any progress that mean that there will be none
_IDLE_STEPS = 8
#: a step counts so much less if the minimizer of the model moved: a linear program may have many, each to be cut off
_MOVED = 0.05
#: steps in a row in which the bound rose by less than a share of the gap, after which a level is left alone
_PLAIN_AFTER, _MUCH = 3, 0.01


@dataclass
class State:
    """Where a bundle method stands."""

    problem: Problem
    oracle: PlaneOracle
    planes: Planes
    best: Point
    #: the solution of the inner problem with the present planes
    model: Optimum
    #: of the proximal term of a level
    proximity: float = 0.0
    #: steps in a row without progress, and without much of it in the bound
    idle: float = 0.0
    still: int = 0

    @property
    def gap(self) -> float:
        """How far the best value is above the bound."""
        return self.best.value - self.model.value


@dataclass(frozen=True)
class Bundle(Solver):
    """Bundle (cutting plane) method, for every risk with a subgradient.

    Each step adds a cutting plane below the risk and minimizes the regularizer plus the maximum of all planes, which is
    a lower bound on the optimum; it costs one product with X and one with its transpose.

    Parameters
    ----------
    inner : {"qp", "line_search"}, default="qp"
        The solution of the inner problem: a quadratic (or linear) program, or a line search between the mixture of all
        planes so far and the new one ([1]_).
    stabilisation : {"level", "segment", "none"}, default="level"
        Where the next plane is taken: near the point closest to the best one on a level set [2]_; after a line search
        towards the minimizer of the model [3]_; or at this minimizer, as in [1]_.
    most_planes : int, default=None
        Maximum number of planes, at least 2; None sets a limit by memory.
    inner_share : float, default=0.01
        The accuracy of the inner problem as a share of the duality gap; 0 is as exact as floats allow.
    n_jobs : int, default=None
        Threads for the products with X; None uses the ``n_jobs`` of :func:`fenchel.solve`.  The result does not depend
        on it.

    See Also
    --------
    Smoothing : Measures that can be smoothed.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13,
           2012.
    .. [2] C. Lemarechal, A. Nemirovskii and Y. Nesterov. "New variants of bundle methods." Math. Programming
           69, 1995.
    .. [3] V. Franc and S. Sonnenburg. "Optimized cutting plane algorithm for large-scale risk minimization." JMLR
           10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import F1
    >>> from fenchel.solvers import Bundle
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, F1(y), 0.1), Bundle(stabilisation="segment"))
    >>> solution.solver, solution.converged
    ('bundle', True)
    """

    #: "qp" or "line_search"
    inner: str = "qp"
    #: "none", "segment" or "level"
    stabilisation: str = "level"
    #: at most so many planes; None sets a limit of memory
    most_planes: int | None = None
    #: the inner problem is solved to this share of the gap; 0 is as exactly as floats allow
    inner_share: float = _INNER_SHARE
    #: threads for the products with X; None takes that of ``solve``
    n_jobs: int | None = None
    name: ClassVar[str] = "bundle"

    def __post_init__(self) -> None:
        check_choice("inner", self.inner, _INNER)
        check_choice("stabilisation", self.stabilisation, _STABILISATIONS)
        check_integer("most_planes", self.most_planes, least=2, optional=True)
        check_number("inner_share", self.inner_share, least=0.0, below=1.0)
        processors(self.n_jobs)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            needs.NO_OVERFLOW,
            Need(lambda problem: problem.regularizer.l1_ratio is not None, needs.unsupported_regularizer),
            Need(
                lambda problem: self.inner != "line_search" or problem.regularizer.l1_ratio != 1.0,
                "requires a strongly convex regularizer for inner='line_search', got 'l1'; use inner='qp'",
            ),
            Need(
                lambda problem: (
                    not problem.intercept or problem.risk.outputs is None or problem.risk.separable() is not None
                ),
                "does not support free intercepts of several classes with a joint risk",
            ),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        problem, _ = in_parts(problem, self.n_jobs)
        oracle = PlaneOracle(problem)
        planes = Planes(int(np.prod(problem.weights_shape)))
        weights = np.zeros(problem.weights_shape)
        fits = warm is not None and problem.fits(warm.model)
        if warm is not None and fits:
            weights = np.array(warm.model.weights, dtype=np.float64)
        scores = problem.design.scores(weights)
        plane = oracle.plane(scores)
        best = point_at(problem, weights, scores, plane)
        _add(problem, planes, plane.slope, plane.offset)
        if warm is not None and fits:
            _add_witness(problem, planes, warm)
        first = np.zeros(planes.count)
        first[-1] = 1.0
        state = State(problem, oracle, planes, best, _lowest(problem, planes, best, first, weights.ravel(), 0.0))
        planes.reweigh(state.model.mixture)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.idle >= _IDLE_STEPS or not state.gap > 0.0:
            return STALLED
        problem, before, last = state.problem, (state.model.value, state.best.value), state.model.weights
        state.oracle.accuracy = _INNER_SHARE * min(hint.target_gap, state.gap)
        # Algorithm 1, line 5 was done; where to take the plane
        target = self._target(state).reshape(problem.weights_shape)
        scores = problem.design.scores(target)
        plane = state.oracle.plane(scores)
        end = point_at(problem, target, scores, plane)
        # up to rounding the later point counts as better: the minimizer of the model has seen more planes
        rounding = _ROUNDING * abs(state.best.value)
        at_rest = state.gap <= _AT_REST * rounding and end.value <= state.best.value + rounding
        if self.stabilisation != "none" and not at_rest:
            plane, end = self._stabilised(state, plane, end, _INNER_SHARE * hint.target_gap)
        if at_rest or end.value < state.best.value:
            state.best = end
        # lines 3, 4: the plane in the weights
        _add(problem, state.planes, plane.slope, plane.offset)
        self._solve_inner(state, self.inner_share * min(max(hint.target_gap, 0.1 * state.gap), state.gap))
        self._clear(state, hint.target_gap)
        self._thin_out(state)
        state.still = 0 if state.model.value - before[0] > _MUCH * state.gap else state.still + 1
        moved = not np.array_equal(state.model.weights, last)
        progress = (state.model.value, state.best.value) != before
        state.idle = 0.0 if progress else state.idle + (_MOVED if moved else 1.0)
        return 1.0

    def expected_gap(self, state: State) -> float:
        return state.gap

    def expected_objective(self, state: State) -> float:
        return state.best.value

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, best = state.problem, state.best
        slope, offset, _ = state.planes.mixture()
        bound = -offset if problem.risk.closed_form() is None else None
        return Model(best.weights.copy(), None if problem.intercept else best.intercept), Witness(-slope, bound)

    def _solve_inner(self, state: State, tolerance: float) -> None:
        """Line 5: the minimizer of the model, from the last weights, so the bound never falls."""
        planes, last = state.planes, state.model.weights
        state.model = _lowest(state.problem, planes, state.best, planes.weights, last, tolerance)
        planes.reweigh(state.model.mixture)
        if self.inner == "line_search":
            # Algorithm 2: one mixture stands for all planes so far
            state.planes = planes.without(np.ones(planes.count, dtype=bool))

    def _target(self, state: State) -> NDArray[np.float64]:
        """The minimizer of the model, or the nearest point to the best one on the level."""
        model, gap = state.model, state.gap
        # a plane at the level need not cut off the minimizer, so after some rest the minimizer itself has its turn
        at_rest = gap <= _AT_REST * _ROUNDING * abs(state.best.value)
        if self.stabilisation != "level" or state.still >= _PLAIN_AFTER or at_rest:
            return model.weights
        problem, planes, centre = state.problem, state.planes, state.best.weights.ravel()

        def share(weights: NDArray) -> float:
            """How far J_k is above the bound, as a share of the gap."""
            value = problem.lam * problem.regularizer.value(weights)
            return (value + float(np.max(planes.vectors @ weights + planes.offsets)) - model.value) / gap

        if share(centre) <= _LEVEL:
            # the planes there are forgotten
            return model.weights
        plain = _penalty(problem)
        # without a curvature of its own, that with which the way to the minimizer costs as much as the gap
        unit = plain.curvature or 2.0 * gap / float(np.sum((model.weights - centre) ** 2))
        low, high = 0.0, np.inf
        proximity, mixture, weights = state.proximity or unit, planes.weights, model.weights
        for _ in range(_LEVEL_TRIALS):
            penalty = Penalty(plain.curvature + proximity, plain.threshold, proximity * centre)
            found = best_mixture(planes, penalty, mixture, 0.05 * gap)
            mixture, weights = found.mixture, found.weights
            reached = share(weights)
            if _NEAR_LEVEL[0] <= reached <= _NEAR_LEVEL[1]:
                break
            low, high = (proximity, high) if reached < _LEVEL else (low, proximity)
            proximity = 8.0 * low if np.isinf(high) else 0.125 * high if low == 0.0 else float(np.sqrt(low * high))
        state.proximity = float(np.clip(proximity, _LEAST * unit, unit / _LEAST))
        return weights

    def _stabilised(self, state: State, plane: Touch, end: Point, enough: float) -> tuple[Touch, Point]:
        """The lowest point on the way to ``end``, and a plane a little beyond it."""
        problem, start = state.problem, state.best
        t, lowest = lowest_between(problem, start, end, enough)
        if t == 1.0:
            return plane, end
        if lowest.value < start.value:
            state.best = lowest
        weights, scores, _ = between(start, end, t + _BEYOND * (1.0 - t))
        plane = state.oracle.plane(scores)
        return plane, point_at(problem, weights, scores, plane)

    def _clear(self, state: State, target_gap: float) -> None:
        """Near the end the zeros of the minimizer become those of the best point, which a mixture of points may lack.

        It may cost half of what is left of the target.
        """
        problem, best = state.problem, state.best
        zeros = state.model.weights.reshape(problem.weights_shape) == 0.0
        if state.gap > target_gap or not np.any(best.weights[zeros]):
            return
        weights = np.where(zeros, 0.0, best.weights)
        scores = problem.design.scores(weights)
        cleared = point_at(problem, weights, scores, state.oracle.plane(scores))
        if cleared.value <= best.value + 0.5 * (target_gap - state.gap):
            state.best = cleared

    def _thin_out(self, state: State) -> None:
        """Drop planes that are idle for long; merge the lightest if there are too many."""
        planes = state.planes
        leaving = planes.idle >= _PATIENCE
        numbers = planes.stored // max(planes.count, 1)
        most = self.most_planes or max(_MOST_NUMBERS // numbers, 4)
        if planes.count - np.count_nonzero(leaving) >= most:
            # the newest stays; of the others the longest idle go first, then the lightest
            order = np.lexsort((planes.weights[:-1], -planes.idle[:-1]))
            leaving[order[: planes.count - most // 2]] = True
        elif np.count_nonzero(leaving) <= planes.count // 4:
            return
        state.planes = planes.without(leaving)


def _penalty(problem: Problem) -> Penalty:
    """lam Omega as the inner problem reads it."""
    ratio = problem.regularizer.l1_ratio or 0.0
    return Penalty(problem.lam * (1.0 - ratio), problem.lam * ratio)


def _lowest(
    problem: Problem, planes: Planes, best: Point, mixture: NDArray, weights: NDArray, tolerance: float
) -> Optimum:
    """Line 5: the minimum of the model, from a mixture that is known and the weights of the last one."""
    if problem.regularizer.l1_ratio != 1.0:
        return best_mixture(planes, _penalty(problem), mixture, tolerance)
    # a risk that does not tell its infimum is taken to be non-negative
    infimum = -problem.risk.conjugate_at_zero if math.isfinite(problem.risk.conjugate_at_zero) else 0.0
    return lowest_model(planes, problem.lam, (best.value - infimum) / problem.lam, mixture, weights)


def _add(problem: Problem, planes: Planes, slope: NDArray, offset: float) -> None:
    planes.add(slope, offset, problem.design.adjoint(slope).ravel())


def _add_witness(problem: Problem, planes: Planes, warm: Warm) -> None:
    """The dual point of a warm start as a plane, R(s) >= -theta . s - R*(-theta), if R* is known."""
    theta = np.array(warm.witness.theta, dtype=np.float64)
    if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
        return
    form, known, bound = problem.risk.closed_form(), warm.path_certificate, warm.witness.conjugate_bound
    if form is not None:
        theta = form.project(theta)
        conjugate = form.conjugate(theta, feasible=True)
    elif known is not None and known.fits(problem) and bound is not None:
        conjugate = bound
    else:
        return
    sums, sizes = np.abs(np.sum(theta, axis=0)), np.sum(np.abs(theta), axis=0)
    balanced = not problem.intercept or bool(np.all(sums <= 1e-13 * sizes))
    if balanced and np.isfinite(conjugate):
        _add(problem, planes, -theta, -conjugate)
