r"""Bundle methods: Zhang, Saha and Vishwanathan (2012), Algorithm 1 (BMRM), and (2010), Algorithms 1 and 2.

Solves :math:`\min_w J(w) = \lambda\,\Omega(w) + R(Xw)` for any risk with a subgradient.  With cutting planes
:math:`a_j, c_j` and :math:`g_j = X^T a_j`

.. math:: J_k(w) = \lambda\,\Omega(w) + \max_{j\le k}\,(g_j\cdot w + c_j) \le J(w), \qquad w_k = \arg\min J_k

:math:`J_k(w_k)` is a lower bound on the optimum, and the convex combination of planes that attains it is the dual
point. Each step adds a plane that cuts off :math:`w_k`.  ``inner="qp"`` computes :math:`w_k` exactly
(``inner_problem``; for the lasso by a linear program, ``linear_program``); ``inner="line_search"`` keeps a single
combination of all previous planes and searches on the segment between it and the new plane.

A step costs one product with X and one with its transpose.  ``stabilisation`` determines the point of the next plane:

- ``"none"``: the plane is taken at :math:`w_k`, as in the papers; J is not monotone.
- ``"segment"``: J is minimized between the best point and :math:`w_k`, from their scores alone, and the plane is taken
  a tenth of the remaining way towards :math:`w_k`, so that it cuts off :math:`w_k` (Franc and Sonnenburg, JMLR 10,
  2009).
- ``"level"``, the default, which is fastest in benchmarks: :math:`w_k` is replaced by the projection of the best point
  onto a level set of :math:`J_k` (Lemarechal, Nemirovskii and Nesterov, Mathematical Programming 69, 1995), followed by
  ``"segment"``.

With a free intercept the planes are those of the risk minimized over b (``bundle.oracle``), which are dual feasible.
The intercepts of a joint risk of several outputs take proximal steps (``bundle.free_intercepts``).

Planes with weight zero in many consecutive steps are dropped; if memory is short, the planes of least weight are
merged. Neither lowers the bound, as the combination of the planes stays the same.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`w_k`          ``state.model.weights``
:math:`J_k(w_k)`     ``state.model.value``
a, c, g              ``planes.slopes``, ``planes.offsets``, ``planes.vectors``
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm, with_present_intercept
from fenchel.solvers.bundle.free_intercepts import are_free, plain_model, recentred, with_constant
from fenchel.solvers.bundle.line_search import Point, between, point_at, segment_search
from fenchel.solvers.bundle.model import State, add_dual_point, add_plane, level_point, minimize_model
from fenchel.solvers.bundle.oracle import PlaneOracle
from fenchel.solvers.bundle.planes import Planes
from fenchel.solvers.threads import in_parts
from fenchel.validation import check_choice, check_integer, check_number, processors

_INNER = ("qp", "line_search")
_STABILISATIONS = ("none", "segment", "level")
#: default accuracy of the inner problem, as a share of the gap
_INNER_SHARE = 0.01
#: a plane is dropped after this many consecutive steps with weight zero
_MAX_STEPS_WITHOUT_WEIGHT = 60
#: default limit of the entries of all planes (1 GB)
_MAX_ENTRIES = 1 << 27
#: position of a plane between the minimum on the segment (0) and the minimizer of the model (1)
_BEYOND_MINIMUM = 0.1
#: relative gap, in units of the rounding error, below which objectives cannot be compared
_ROUNDING_GAP = 100.0
#: the method stalls after this many consecutive steps without progress
_MAX_STEPS_WITHOUT_PROGRESS = 8
#: count of a step without progress whose minimizer moved: a linear program may have many minimizers to cut off
_MOVED_STEP = 0.05
#: the minimizer of the model replaces the level after this many steps in which the bound rose by less than
#: _BOUND_PROGRESS of the gap
_MAX_LEVEL_STEPS, _BOUND_PROGRESS = 3, 0.01


@dataclass(frozen=True)
class Bundle(Solver):
    """Bundle (cutting plane) method, for every risk with a subgradient.

    Each step adds a cutting plane below the risk and minimizes the regularizer plus the maximum of all planes, which is
    a lower bound on the optimum; it costs one product with X and one with its transpose.

    Parameters
    ----------
    inner : {"qp", "line_search"}, default="qp"
        The solution of the inner problem: a quadratic (or linear) program, or a line search between the combination of
        all planes so far and the new one ([1]_).
    stabilisation : {"level", "segment", "none"}, default="level"
        Where the next plane is taken: near the point closest to the best one on a level set [2]_; after a line search
        towards the minimizer of the model [3]_; or at this minimizer, as in [1]_.
    most_planes : int, default=None
        Maximum number of planes, at least 2; None sets a limit by memory.
    inner_share : float, default=0.01
        The accuracy of the inner problem as a share of the duality gap; 0 for full double precision.
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
    #: maximum number of planes; None sets a limit by memory
    most_planes: int | None = None
    #: accuracy of the inner problem as a share of the gap; 0 for full double precision
    inner_share: float = _INNER_SHARE
    #: threads for the products with X; None uses that of ``solve``
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
                lambda problem: not are_free(problem) or problem.risk.multilabel() is not None,
                "does not support free intercepts of several classes with a joint risk",
            ),
            Need(
                lambda problem: not are_free(problem) or problem.regularizer.is_ridge,
                "requires the regularizer 'l2' (ridge) for free intercepts of a joint risk; use intercept=False (of an "
                "estimator: fit_intercept=False), and a column of ones in X for regularized ones",
            ),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        problem, _ = in_parts(problem, self.n_jobs)
        centre = None
        if are_free(problem):
            problem, warm, centre = with_constant(problem, warm)
        oracle = PlaneOracle(problem)
        oracle.centre = centre
        planes = Planes(int(np.prod(problem.weights_shape)), problem.risk.decomposable())
        usable = warm if warm is not None and problem.fits(warm.model) else None
        weights = np.zeros(problem.weights_shape)
        if usable is not None:
            weights = np.array(usable.model.weights, dtype=np.float64)
        scores = problem.design.scores(weights)
        best = point_at(problem, weights, scores, oracle.plane(scores))
        add_plane(problem, planes, best)
        if usable is not None:
            add_dual_point(problem, planes, usable)
        first = np.zeros(planes.count)
        first[-1] = 1.0
        state = State(problem, oracle, planes, best, minimize_model(problem, planes, best, first, weights.ravel(), 0.0))
        planes.set_weights(state.model.combination)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS or not state.gap > 0.0:
            return STALLED
        problem, before, last = state.problem, (state.model.value, state.best.value), state.model.weights
        state.oracle.accuracy = _INNER_SHARE * min(hint.target_gap, state.gap)
        # Algorithm 1: the point of the next plane, after line 5 of the last step
        end = state.point(self._target(state).reshape(problem.weights_shape))
        # of points that are equal up to rounding the later one is better: its model has more planes
        rounding = OBJECTIVE_ROUNDING * abs(state.best.value)
        is_rounding = state.gap <= _ROUNDING_GAP * rounding and end.value <= state.best.value + rounding
        if self.stabilisation != "none" and not is_rounding:
            end = self._stabilised(state, end, _INNER_SHARE * hint.target_gap)
        if is_rounding or end.value < state.best.value:
            state.best = end
        # lines 3 and 4: add the plane
        add_plane(problem, state.planes, end)
        if state.oracle.centre is not None:
            state.best = recentred(problem, state.planes, state.best)
            state.oracle.centre = state.best.plane.intercept
        self._solve_inner(state, self.inner_share * min(max(hint.target_gap, 0.1 * state.gap), state.gap))
        self._restore_zeros(state, hint.target_gap)
        self._limit_planes(state)
        state.steps_with_static_bound = (
            0 if state.model.value - before[0] > _BOUND_PROGRESS * state.gap else state.steps_with_static_bound + 1
        )
        moved = not np.array_equal(state.model.weights, last)
        progress = (state.model.value, state.best.value) != before
        state.steps_without_progress = (
            0.0 if progress else state.steps_without_progress + (_MOVED_STEP if moved else 1.0)
        )
        return 1.0

    def expected_gap(self, state: State) -> float:
        return state.gap

    def expected_objective(self, state: State) -> float:
        return state.best.value

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, best = state.problem, state.best
        slope, offset = state.planes.combination()
        bound = -offset if problem.risk.closed_form() is None else None
        model = Model(best.weights.copy(), None if problem.intercept else best.plane.intercept)
        if state.oracle.centre is not None:
            model = plain_model(problem, best)
        return model, Witness(-slope, bound, state.planes.decomposition())

    def propose_after_stop(self, state: State) -> tuple[Model, Witness]:
        model, witness = self.propose(state)
        return with_present_intercept(state.problem, model, state.best.plane.intercept), witness

    def _solve_inner(self, state: State, tolerance: float) -> None:
        """Line 5: minimize the model, starting from the last combination, so that the bound never decreases."""
        planes, last = state.planes, state.model.weights
        state.model = minimize_model(state.problem, planes, state.best, planes.weights, last, tolerance)
        planes.set_weights(state.model.combination)
        if self.inner == "line_search":
            # Algorithm 2: one combination replaces all previous planes
            state.planes = planes.without(np.ones(planes.count, dtype=bool))

    def _target(self, state: State) -> Floats:
        """Return the minimizer of the model, or the projection of the best point onto the level set."""
        # a plane at the level need not cut off the minimizer: after some steps without progress, use the minimizer
        # itself
        is_rounding = state.gap <= _ROUNDING_GAP * OBJECTIVE_ROUNDING * abs(state.best.value)
        if self.stabilisation != "level" or state.steps_with_static_bound >= _MAX_LEVEL_STEPS or is_rounding:
            return state.model.weights
        return level_point(state)

    def _stabilised(self, state: State, end: Point, tolerance: float) -> Point:
        """Search on the segment to ``end``; return the point a little beyond its minimum."""
        start = state.best
        t, lowest = segment_search(state.problem, start, end, tolerance)
        if t == 1.0:
            return end
        if lowest.value < start.value:
            state.best = lowest
        weights, scores, _ = between(start, end, t + _BEYOND_MINIMUM * (1.0 - t))
        return state.point(weights, scores)

    def _restore_zeros(self, state: State, target_gap: float) -> None:
        """Set the weights to zero that are zero in the minimizer of the model, once the target gap is reached.

        The best point is a combination of points and less sparse.  The objective may increase by half of the difference
        between the target gap and the gap.
        """
        problem, best = state.problem, state.best
        zeros = state.model.weights.reshape(problem.weights_shape) == 0.0
        if state.gap > target_gap or not np.any(best.weights[zeros]):
            return
        sparse = state.point(np.where(zeros, 0.0, best.weights))
        if sparse.value <= best.value + 0.5 * (target_gap - state.gap):
            state.best = sparse

    def _limit_planes(self, state: State) -> None:
        """Drop planes that have had weight zero for long; if there are too many planes, merge those of least weight."""
        planes = state.planes
        removed = planes.steps_without_weight >= _MAX_STEPS_WITHOUT_WEIGHT
        entries = planes.vectors.shape[1] + planes.slopes[0].size + sum(one.size for one in planes.decompositions[:1])
        most = self.most_planes or max(_MAX_ENTRIES // entries, 4)
        if planes.count - np.count_nonzero(removed) >= most:
            # the newest plane stays; of the others, remove those longest without weight first, then those of least
            # weight
            order = np.lexsort((planes.weights[:-1], -planes.steps_without_weight[:-1]))
            removed[order[: planes.count - most // 2]] = True
        elif np.count_nonzero(removed) <= planes.count // 4:
            return
        state.planes = planes.without(removed)
