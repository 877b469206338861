r"""Primal-dual interior-point method for the joint hinges of several classes, for few features of any scale.

Solves :math:`\min_{W,b}\tfrac\lambda2\|W\|^2 + \sum_i c_i f(Wx_i + b)` for the risks of Weston and Watkins and of
Crammer and Singer as the quadratic program

.. math::
    \min\; \tfrac\lambda2\|W\|^2 + \sum a\,\xi \quad\text{such that}\quad \xi \ge 0,\;
    t = \xi - z \ge 0, \qquad z_{ij} = 1 - s_{iy} + s_{ij}

with one slack :math:`\xi_{ij}` for every pair of an example and a wrong class and :math:`a_{ij} = c_ia_{yj}`
(Weston-Watkins), or one slack :math:`\xi_i` for each example and :math:`a_{ij} = c_i` (Crammer-Singer).  The
multipliers of the two constraints are u and :math:`\beta \ge 0`, with :math:`u_{ij} = 1 - \beta_{ij}` or
:math:`u_i = 1 - \sum_j\beta_{ij}`.  All iterates satisfy these bounds strictly, so
:math:`\theta_{ij} = -a_{ij}\beta_{ij}` is always dual feasible.

The number of steps hardly depends on the scale of the features or on C, unlike that of descent methods.  The cost of a
step is that of forming and factorizing the matrix of the Newton step (``pair_matrix``).

The method is Mehrotra's predictor-corrector method (On the implementation of a primal-dual interior point method, SIAM
J. Optimization 2, 1992) as in Wright (Primal-Dual Interior-Point Methods, SIAM, 1997), chapter 10, with one step length
for all variables, as quadratic programs require:

1. Predictor: the conditions :math:`\beta t = m`, :math:`u\xi = m` with m = 0 are linearized and solved.
2. Centring: m is :math:`(\mu_{\text{predicted}}/\mu)^3\mu` for the mean complementarity product :math:`\mu`, weighted
   by a so that a weight of two is the same as a repeated row.
3. Corrector: the system is solved with the same factorization for this m minus the products of the predictor's changes.
   Up to two of Gondzio's corrections (Multiple centrality corrections in a primal-dual method for linear programming,
   Computational Optimization and Applications 6, 1996) lengthen a short step: they aim at moving the products that
   would leave a range around the centre, :math:`[\beta_{\min} m, m/\beta_{\min}]`, into it.
4. The step length is almost the largest one that keeps all variables positive.

With :math:`h = \beta/t`, :math:`g = u/\xi + \sum h` and :math:`r = z - \xi + t`, and :math:`\Delta z` the change of z
by a change of W, elimination gives

.. math::
    e = m/t - \beta + h(\Delta z + r), \quad \Delta\xi = (m/\xi - u + \textstyle\sum e)/g, \quad
    \Delta\beta = e - h\Delta\xi, \quad \Delta t = \Delta\xi - \Delta z - r

(sums over the wrong classes for Crammer-Singer, over the single pair for Weston-Watkins), and
:math:`\lambda(W + \Delta W) = X^T\theta(\beta + \Delta\beta)` is the linear system for :math:`\Delta W`.

Warm starts are not used: points near the boundary are bad starting points of interior-point methods.  Weights or costs
that differ by many orders of magnitude can make the steps so short that the method stalls.

=====================  ==========================================================
symbol                 here
=====================  ==========================================================
W, b                   ``weights`` (k, d), of centred rows, and b as last column
a                      ``costs``; ``bound_costs`` for the slacks
:math:`\beta, t`       ``point.beta``, ``point.t``
:math:`u, \xi`         ``point.u``, ``point.xi``
z                      ``state.z``
=====================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from fenchel.problem import Model, Problem, Witness
from fenchel.risks import MulticlassRisk
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.interior_point.pair_matrix import Rows
from fenchel.solvers.interior_point.step import Point, State, next_point

#: largest number of weights of all classes together (a matrix of 72 MB), and of pairs of an example and a class
MOST_WEIGHTS, MOST_PAIRS = 3000, 1 << 22
#: t at the first point, where z = 1: a few margins
_FIRST_T = 3.0
#: the method stalls after this many steps without a gap below _PROGRESS times the smallest gap so far
_MAX_STEPS_WITHOUT_PROGRESS, _PROGRESS = 8, 0.9
#: a gap below this multiple of the objective is rounding error
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
        needs.check_scale(problem)
        risk, rows = problem.multiclass_risk, Rows(problem)
        one_bound = risk.dual_block == "simplex"
        costs = risk.shares[:, None] * risk.costs[risk.classes]
        positive_cost = costs > 0.0
        bound_costs = risk.shares[:, None] if one_bound else costs
        beta = positive_cost / (risk.outputs if one_bound else 2.0)
        u = 1.0 - np.sum(beta, axis=1, keepdims=True) if one_bound else 1.0 - beta
        ones = np.ones_like(beta)
        point = Point(np.zeros((risk.outputs, rows.size)), beta, _FIRST_T * ones, u, (1.0 + _FIRST_T) * np.ones_like(u))
        ridge = np.append(np.full(rows.features, problem.lam), np.zeros(rows.size - rows.features))
        state = State(problem, rows, costs, positive_cost, bound_costs, ridge, point, ones)
        with np.errstate(all="ignore"):
            _move_to(state, point)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled:
            return STALLED
        # one data pass for the matrix, and one for every two products with X
        state.passes = 1.0
        with np.errstate(all="ignore"):
            point = next_point(state)
            if point is None:
                state.stalled = True
                return STALLED
            _move_to(state, point)
        state.steps_without_progress = 0 if state.gap < _PROGRESS * state.best_gap else state.steps_without_progress + 1
        if state.gap < state.best_gap or state.best_point is None:
            state.best_point, state.best_gap = state.point, state.gap
        no_progress = state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS
        state.stalled = no_progress or state.gap <= _ROUNDING * state.objective
        return state.passes

    def expected_gap(self, state: State) -> float:
        return state.best_gap

    def expected_objective(self, state: State) -> float:
        return state.objective

    def propose(self, state: State) -> tuple[Model, Witness]:
        point, rows = state.best_point or state.point, state.rows
        weights, intercept = point.weights, state.problem.no_intercept()
        if rows.free:
            intercept = weights[:, -1] - weights[:, : rows.features] @ rows.mean
            intercept = intercept - np.mean(intercept)
        theta = state.theta(point.beta)
        return Model(weights[:, : rows.features].copy(), intercept), Witness(theta)


def _move_to(state: State, point: Point) -> None:
    """Set the point, and compute its margins, objective and duality gap."""
    lam, free, features = state.problem.lam, state.rows.free, state.rows.features
    z, theta = state.margins(point.weights, 1.0), state.theta(point.beta)
    x_theta = state.rows.adjoint(theta)
    state.passes += 1.0
    weights, dual_weights = point.weights[:, :features], x_theta[:, :features]
    losses = np.maximum(np.where(state.positive_cost, z, 0.0), 0.0)
    losses = np.max(losses, axis=1, keepdims=True) if state.one_bound else losses
    primal = 0.5 * lam * float(np.vdot(weights, weights)) + float(np.vdot(state.bound_costs, losses))
    dual = float(np.vdot(state.costs, point.beta)) - 0.5 / lam * float(np.vdot(dual_weights, dual_weights))
    balance_cost = 0.0
    if free:
        balance_cost = float(np.sum(np.abs(x_theta[:, -1])) * (1.0 + np.max(np.abs(point.weights[:, -1]))))
    state.point, state.z, state.objective, state.gap = point, z, primal, primal - dual + balance_cost


def _connected(risk: MulticlassRisk) -> bool:
    """Return whether the graph of positive costs, from classes that have examples, is strongly connected."""
    present = np.bincount(risk.classes, risk.shares, risk.outputs) > 0
    parts, _ = connected_components(sp.csr_array((risk.costs > 0.0) & present[:, None]), connection="strong")
    return bool(parts == 1)
