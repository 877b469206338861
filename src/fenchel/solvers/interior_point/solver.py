r"""Primal-dual interior-point method for the joint hinges of several classes, for few features of any sizes.

Solves :math:`\min_{W,b}\tfrac\lambda2\|W\|^2 + \sum_i c_i f(Wx_i + b)` for the risks of Weston and Watkins and of
Crammer and Singer as the quadratic program

.. math::
    \min\; \tfrac\lambda2\|W\|^2 + \sum a\,\xi \quad\text{such that}\quad \xi \ge 0,\;
    t = \xi - z \ge 0, \qquad z_{ij} = 1 - s_{iy} + s_{ij}

with a slack :math:`\xi_{ij}` for every pair of an example and a wrong class and :math:`a_{ij} = c_ia_{yj}`
(Weston-Watkins), or one :math:`\xi_i` for each example and :math:`a_{ij} = c_i` (Crammer-Singer).  Its multipliers are
:math:`\beta \ge 0` and u, what is left of the bound: :math:`u_{ij} = 1 - \beta_{ij}` or
:math:`u_i = 1 - \sum_j\beta_{ij}`.  They are inside their bounds all the time, so
:math:`\theta_{ij} = -a_{ij}\beta_{ij}` is a dual point whenever one asks.

The number of steps hardly depends on the sizes of the features or on C, unlike that of a descent; each costs as much as
the matrix of the Newton step (``pair_matrix``) and its factors.

Mehrotra (1992), On the implementation of a primal-dual interior point method, as in Wright (1997), Primal-Dual
Interior-Point Methods, chapter 10, with one step length for all variables, as quadratic programs need it:

1. Conditions :math:`\beta t = m`, :math:`u\xi = m` with m = 0 are linearized and solved: the predictor.
2. How far that gets, decides the next centre: m is :math:`(\mu_{\text{predicted}}/\mu)^3\mu` for the mean product
   :math:`\mu`, weighted by a so that a weight is the same as a repeated row.
3. The corrector is solved with the same factors, for this m less the products of the predictor's changes.  Up to two
   corrections more for what would leave a range around the centre make a short step longer (Gondzio 1996, Multiple
   centrality corrections in a primal-dual method for linear programming).
4. The step goes almost to the boundary.

With :math:`h = \beta/t`, :math:`g = u/\xi + \sum h` and :math:`r = z - \xi + t`, for a change of W that makes
:math:`\Delta z`, elimination leaves

.. math::
    e = m/t - \beta + h(\Delta z + r), \quad \Delta\xi = (m/\xi - u + \textstyle\sum e)/g, \quad
    \Delta\beta = e - h\Delta\xi, \quad \Delta t = \Delta\xi - \Delta z - r

(sums over the wrong classes for Crammer-Singer, over the one pair for Weston-Watkins), and
:math:`\lambda(W + \Delta W) = X^T\theta(\beta + \Delta\beta)` is the linear system for :math:`\Delta W`.

A warm start is not made use of: a point near the boundary is a bad one to start from.  Weights or costs that differ by
many powers of ten can make the steps so short that the method says that it stalls.

===================  ==========================================================
symbol               here
===================  ==========================================================
W, b                 ``weights`` (k, d), of centred rows, and b as last column
a                    ``mass``
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import MulticlassRisk
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.interior_point.pair_matrix import Rows, Solve, complete, inverse, star
from fenchel.solvers.interior_point.state import Point, State, moved_by

#: up to so many weights of all classes together, and so many pairs of an example and a class: for the sake of memory
MOST_WEIGHTS, MOST_PAIRS = 3000, 1 << 22
#: share of the way to the boundary that a step goes
_ALMOST = 0.995
#: t at the first point, where z is one: a few margins
_FIRST = 3.0
#: corrections of a step that goes less than so far; they try to make it longer by so much, and it has to become longer
#: by this share of that; products within this factor of the centre are fine
_CORRECTIONS, _FAR, _FARTHER, _WORTH, _STRAY = 2, 0.9, 0.3, 0.1, 0.1
#: solutions of a linear system: the second and third are for what rounding leaves of the first
_SOLUTIONS = 3
#: that is good enough when it makes this share of the gap
_NEGLIGIBLE = 1e-3
#: curvatures beyond this leave no bits for the weights
_STEEPEST = 1e100
#: steps without a gap below this share of the smallest so far, before the method says that it stalls
_PATIENCE, _SMALLER = 8, 0.9
#: a gap of this share of the objective is rounding
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """Primal-dual interior-point method for the joint hinges of several classes, for few features.

    The number of steps hardly depends on the scale of the features or on C.  A warm start is not used.

    See Also
    --------
    BlockCoordinate : Many features.

    References
    ----------
    .. [1] S. Mehrotra. "On the implementation of a primal-dual interior point method." SIAM J. Optimization 2,
           1992.
    .. [2] J. Gondzio. "Multiple centrality corrections in a primal-dual method for linear programming." Computational
           Optimization and Applications 6, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import CrammerSinger
    >>> from fenchel.solvers import InteriorPoint
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.argmax(X, axis=1)
    >>> solution = solve(Problem(X, CrammerSinger(y), 0.1), InteriorPoint())
    >>> solution.solver, solution.converged
    ('interior_point', True)
    """

    name: ClassVar[str] = "interior_point"

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(
                lambda problem: needs.dual_block(problem) in ("box", "simplex"),
                "requires the Weston-Watkins or the Crammer-Singer risk",
            ),
            needs.RIDGE,
            Need(
                lambda problem: problem.multiclass_risk.outputs * problem.design.shape[1] <= MOST_WEIGHTS,
                f"requires at most {MOST_WEIGHTS} weights of all classes together",
            ),
            Need(
                lambda problem: problem.multiclass_risk.outputs * problem.risk.examples <= MOST_PAIRS,
                f"requires at most {MOST_PAIRS} pairs of an example and a class",
            ),
            Need(
                lambda problem: not problem.intercept or _connected(problem.multiclass_risk),
                "requires pairwise costs that connect all classes: otherwise the free intercepts are unbounded",
            ),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        if not (np.isfinite(problem.design.largest_row_norm) and np.isfinite(problem.design.mean_square)):
            raise FenchelError("X holds NaN or infinity, or its norms overflow: repair or scale X")
        if not problem.design.mean_square / problem.lam < _STEEPEST:
            lam = problem.lam
            raise FenchelError(f"lam={lam:.3g} is too small for the size of X: scale X, or raise lam (a smaller C)")
        risk, rows = problem.multiclass_risk, Rows(problem)
        together = risk.dual_block == "simplex"
        mass = risk.shares[:, None] * risk.costs[risk.classes]
        live = mass > 0.0
        bound_mass = risk.shares[:, None] if together else mass
        beta = live / (risk.outputs if together else 2.0)
        u = 1.0 - np.sum(beta, axis=1, keepdims=True) if together else 1.0 - beta
        ones = np.ones_like(beta)
        point = Point(np.zeros((risk.outputs, rows.size)), beta, _FIRST * ones, u, (1.0 + _FIRST) * np.ones_like(u))
        ridge = np.append(np.full(rows.features, problem.lam), np.zeros(rows.size - rows.features))
        state = State(problem, rows, mass, live, bound_mass, ridge, point, ones)
        with np.errstate(all="ignore"):
            self._look(state, point)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled:
            return STALLED
        # the matrix, and then a pass for every two products
        state.passes = 1.0
        with np.errstate(all="ignore"):
            moved = self._moved(state)
            if moved is None:
                state.stalled = True
                return STALLED
            self._look(state, moved)
        state.idle = 0 if state.gap < _SMALLER * state.best_gap else state.idle + 1
        if state.gap < state.best_gap or state.best is None:
            state.best, state.best_gap = state.point, state.gap
        state.stalled = state.idle >= _PATIENCE or state.gap <= _ROUNDING * state.objective
        return state.passes

    def expected_gap(self, state: State) -> float:
        return state.best_gap

    def expected_objective(self, state: State) -> float:
        return state.objective

    def propose(self, state: State) -> tuple[Model, Witness]:
        point, rows = state.best or state.point, state.rows
        weights, intercept = point.weights, state.problem.no_intercept()
        if rows.free:
            intercept = weights[:, -1] - weights[:, : rows.features] @ rows.mean
            intercept = intercept - np.mean(intercept)
        theta = state.theta(point.beta)
        return Model(weights[:, : rows.features].copy(), intercept), Witness(theta)

    def _look(self, state: State, point: Point) -> None:
        """Go to a point: its margins, its gap."""
        lam, free = state.problem.lam, state.rows.free
        z, theta = state.margins(point.weights, 1.0), state.theta(point.beta)
        pull = state.rows.adjoint(theta)
        state.passes += 1.0
        square, dual = point.weights[:, : state.rows.features], pull[:, : state.rows.features]
        losses = np.maximum(np.where(state.live, z, 0.0), 0.0)
        losses = np.max(losses, axis=1, keepdims=True) if state.together else losses
        primal = 0.5 * lam * float(np.vdot(square, square)) + float(np.vdot(state.bound_mass, losses))
        bound = float(np.vdot(state.mass, point.beta)) - 0.5 / lam * float(np.vdot(dual, dual))
        unbalanced = float(np.sum(np.abs(pull[:, -1])) * (1.0 + np.max(np.abs(point.weights[:, -1])))) if free else 0.0
        state.point, state.z, state.objective, state.gap = point, z, primal, primal - bound + unbalanced

    def _moved(self, state: State) -> Point | None:
        """1 to 4: the next point, or None where floats leave nothing to gain."""
        point = state.point
        h, mean = point.beta / point.t, state.mean_product(point)
        solve = self._solver(state, h)
        if solve is None or not mean > 0.0:
            return None
        # 1. the predictor
        predictor = self._change(state, h, solve, np.zeros_like(point.t), np.zeros_like(point.u), 1)
        # 2. the centre
        far = state.longest(predictor)
        predicted = state.mean_product(moved_by(point, predictor, far))
        centre = mean * min(1.0, max(predicted / mean, 0.0) ** 3)
        # 3. the corrector, and what brings stray products nearer to the centre
        wanted = centre - predictor.beta * predictor.t, centre - predictor.u * predictor.xi
        found = self._change(state, h, solve, *wanted, _SOLUTIONS)
        far = state.longest(found)
        for _ in range(_CORRECTIONS):
            if far >= _FAR:
                break
            trial = moved_by(point, found, min(1.0, far + _FARTHER))
            more = _inside(trial.beta * trial.t, centre), _inside(trial.u * trial.xi, centre)
            tried_wanted = wanted[0] + more[0], wanted[1] + more[1]
            tried = self._change(state, h, solve, *tried_wanted, _SOLUTIONS)
            longer = state.longest(tried)
            if longer < far + _WORTH * _FARTHER:
                break
            wanted, found, far = tried_wanted, tried, longer
        # 4. the step
        moved = moved_by(point, found, min(1.0, _ALMOST * far))
        return moved if all(np.all(np.isfinite(part)) for part in moved) else None

    def _solver(self, state: State, h: NDArray) -> Solve | None:
        """Solutions with the matrix of this step; None if it is beyond what floats hold."""
        u, xi = state.point.u, state.point.xi
        if state.together:
            # the label stands for what is left of the bound
            full = h.copy()
            full[np.arange(len(h)), state.rows.classes] = (u / xi)[:, 0]
            blocks = complete(state.rows, full, state.bound_mass[:, 0] / np.sum(full, axis=1))
        else:
            blocks = star(state.rows, state.mass * h * (u / xi) / (u / xi + h))
        if not np.all(np.isfinite(blocks)):
            return None
        return inverse(blocks, state.ridge)

    def _change(self, state: State, h: NDArray, solve: Solve, m: NDArray, m_bound: NDArray, rounds: int) -> Point:
        """The solution of the linearized conditions for these products."""
        weights, beta, t, u, xi = state.point
        r = np.where(state.live, state.z - xi + t, 0.0)
        start = np.where(state.live, m / t - beta, 0.0)
        g = u / xi + state.grouped(h)

        def along(dz: NDArray | float) -> tuple[NDArray, NDArray]:
            e = start + h * (dz + r)
            change = (m_bound / xi - u + state.grouped(e)) / g
            return e - h * change, change

        dw, (dbeta, dxi) = np.zeros_like(weights), along(0.0)
        for round in range(rounds):
            left = state.rows.adjoint(state.theta(beta + dbeta)) - state.ridge * (weights + dw)
            if round > 0 and float(np.vdot(left, left)) / (2.0 * state.problem.lam) <= _NEGLIGIBLE * state.gap:
                break
            state.passes += 1.0
            dw = dw + solve(left)
            dz = state.margins(dw, 0.0)
            dbeta, dxi = along(dz)
        dt = np.where(state.live, dxi - dz - r, 0.0)
        return Point(dw, dbeta, dt, -state.grouped(dbeta), dxi)


def _inside(products: NDArray, centre: float) -> NDArray[np.float64]:
    """What moves products into a range around the centre."""
    low, high = _STRAY * centre, centre / _STRAY
    return np.maximum(np.clip(products, low, high) - products, -high)


def _connected(risk: MulticlassRisk) -> bool:
    """Whether costs lead from every class to every other; from a class without examples no costs lead."""
    present = np.bincount(risk.classes, risk.shares, risk.outputs) > 0
    parts, _ = connected_components(sp.csr_array((risk.costs > 0.0) & present[:, None]), connection="strong")
    return bool(parts == 1)
