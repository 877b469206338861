r"""Basis pursuit (Chen, Donoho and Saunders, SIAM Review 43, 2001): the lasso with hard constraints.

.. math::
    \min_{w,b}\; \lambda\|w\|_1 \quad\text{with } |s_i - y_i| \le \tau \;\text{ (interpolation)}\quad\text{or}\quad
    y_i s_i \ge 1 \;\text{ (hard margin; Mangasarian, 1999)}, \qquad s = Xw + b\mathbf 1

which are hard-constraint limits of Zhang (Machine Learning 46, 2002), Sec. 2.  With :math:`w = p - q` and
:math:`p, q \ge 0` it is a linear program, which HiGHS solves in a single step.  Its multipliers are the dual point, and
most weights are exactly zero.  Limits and Ctrl-C end the step, but HiGHS has no iterates to return: zero is proposed.

HiGHS satisfies the constraints only up to 1e-10.  For interpolation the smallest change of the nonzero weights moves
the scores back into the tube :math:`|s_i - y_i| \le \tau`; for hard margins the weights are scaled until the smallest
margin is just above one (``Repair``).  A narrow tube is passed to HiGHS as an equality.  The tube reduces the objective
by up to :math:`\tau\|\theta\|_1`, which can be large where columns have small norms, so a least-squares change moves
the scores to the boundary that :math:`\theta` indicates, :math:`s = y - \tau\operatorname{sign}\theta`.
If the constraints are infeasible, ``solvers.farkas`` provides a proof.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`\tau`         ``tolerance`` of the loss
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.numerics.linear_program import solve_linear_program
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.farkas import infeasible_ray
from fenchel.solvers.feasibility import Repair
from fenchel.stopping import interruptible

#: half width of a tube, relative to the labels, up to which it is passed to HiGHS as an equality
_NARROW = 1e-8
#: distance of the scores from the boundary of the tube, relative to the labels: a few rounding errors
_MARGIN = 1e-15
#: distances from the boundary of a narrow tube, relative to its half width, that are tried
_DISTANCES = np.array([1e-6, 1e-3, 0.5, 1.0])
#: residuals this close to the boundary, relative to the half width, are active constraints
_ACTIVE = 1e-6
#: largest number of least-squares corrections of the weights
_MAX_CORRECTIONS = 3


@dataclass
class State:
    """The solution of the program; zero before it is solved."""

    problem: Problem
    weights: Floats
    theta: Floats
    solved: bool = False


@dataclass(frozen=True)
class BasisPursuit(Solver):
    """Linear program of the lasso with hard constraints (basis pursuit), solved by HiGHS.

    A single step solves the problem; a limit or Ctrl-C ends it without a model.

    See Also
    --------
    Barrier : Other regularizers with constraints.

    References
    ----------
    .. [1] S. Chen, D. Donoho and M. Saunders. "Atomic decomposition by basis pursuit." SIAM Review 43, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.regularizers import L1
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import BasisPursuit
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, MeanRisk("hard_margin", y), 0.1, L1()), BasisPursuit())
    >>> solution.solver, solution.converged
    ('basis_pursuit', True)
    """

    name: ClassVar[str] = "basis_pursuit"

    @property
    def needs(self) -> tuple[Need, ...]:
        return (needs.CONSTRAINT, needs.LASSO, needs.ONE_OUTPUT)

    def start(self, problem: Problem, warm: Warm | None) -> State:
        return State(problem, np.zeros(problem.weights_shape), np.zeros(problem.theta_shape))

    def step(self, state: State, hint: Hint) -> float:
        if state.solved:
            return STALLED
        state.solved = True
        state.weights, state.theta = interruptible(lambda: _solution(state.problem))
        return 1.0

    def propose(self, state: State) -> tuple[Model, Witness]:
        intercept = None if state.problem.intercept else state.problem.no_intercept()
        return Model(state.weights.copy(), intercept), Witness(state.theta.copy())


def _solution(problem: Problem) -> tuple[Floats, Floats]:
    """Return weights that satisfy the constraints, and theta; zero weights and a ray if there are none."""
    risk, theta = problem.mean_risk, np.zeros(problem.theta_shape)
    weighted = np.flatnonzero(risk.shares > 0)
    rows = problem.design.sparse()[weighted]
    found = _solve_program(problem, risk.labels[weighted], rows)
    if found is None:
        return np.zeros(problem.weights_shape), infeasible_ray(problem)
    weights, theta[weighted] = found
    if risk.loss.constraint == "margin":
        return Repair(problem)(Model(weights, None), Witness(theta))[0].weights, theta
    return _into_tube(problem, risk.labels[weighted], rows, weights, theta[weighted]), theta


def _solve_program(problem: Problem, labels: Array, rows: sp.csr_array) -> tuple[Array, Array] | None:
    """Return weights and theta, or None if HiGHS finds none; X and labels are scaled to order one."""
    size = float(np.max(np.abs(rows.data), initial=0.0)) or 1.0
    unit = _label_scale(problem, labels)
    loss, d = problem.mean_risk.loss, rows.shape[1]
    margin = loss.constraint == "margin"
    scores = sp.hstack([rows, -rows], format="csr") / size
    bounds: list[tuple[float | None, None]] = [(0.0, None)] * (2 * d)
    if problem.intercept:
        scores = sp.hstack([scores, np.ones((len(labels), 1))], format="csr")
        bounds.append((None, None))
    tolerance = loss.tolerance / unit
    given: dict[str, Any]
    if margin:
        given = {"A_ub": sp.diags_array(-labels) @ scores, "b_ub": -np.ones(len(labels))}
    elif tolerance > _NARROW:
        labels = labels - _midrange(problem, labels)
        sides = np.concatenate([labels, -labels]) / unit + tolerance
        given = {"A_ub": sp.vstack([scores, -scores], format="csr"), "b_ub": sides}
    else:
        given = {"A_eq": scores, "b_eq": (labels - _midrange(problem, labels)) / unit}
    cost = np.append(np.ones(2 * d), np.zeros(len(bounds) - 2 * d))
    found = solve_linear_program(cost, bounds, **given)
    if found is None:
        return None
    weights = (found.x[:d] - found.x[d : 2 * d]) * (unit / size)
    if "A_eq" in given:
        theta = np.asarray(found.eqlin.marginals)
    else:
        marginals = np.asarray(found.ineqlin.marginals)
        theta = -labels * marginals if margin else marginals[: len(labels)] - marginals[len(labels) :]
    return weights, theta * (problem.lam / size)


def _midrange(problem: Problem, labels: Array) -> float:
    """Return the midrange of real labels, which a free intercept absorbs."""
    return 0.5 * float(np.max(labels) + np.min(labels)) if problem.intercept else 0.0


def _label_scale(problem: Problem, labels: Array) -> float:
    """Return the largest absolute label, after subtracting the midrange if the intercept is free."""
    if problem.mean_risk.loss.constraint == "margin":
        return 1.0
    return float(np.max(np.abs(labels - _midrange(problem, labels)))) or 1.0


def _into_tube(problem: Problem, labels: Array, rows: sp.csr_array, weights: Array, theta: Array) -> Floats:
    """Return the weights after the smallest change of nonzero weights that moves the scores into the tube."""
    used = np.flatnonzero(weights)
    part = rows[:, used].toarray()
    if problem.intercept:
        part = np.column_stack([part, np.ones(len(labels))])
    tolerance = problem.mean_risk.loss.tolerance
    # with a margin for sums in another order
    width = max(tolerance - _MARGIN * (float(np.max(np.abs(labels))) + tolerance), 0.5 * tolerance)
    found = np.append(weights[used], [0.0] * problem.intercept)
    if problem.intercept:
        found[-1] = problem.mean_risk.loss.best_intercept(part[:, :-1] @ weights[used], labels, np.ones(len(labels)))
    narrow = tolerance <= _NARROW * _label_scale(problem, labels)
    if narrow:
        found = _at_boundary(part, labels, found, theta, tolerance, width, len(used))
    for _ in range(_MAX_CORRECTIONS):
        residuals = part @ found - labels
        # the active constraints, or all constraints if the tube is narrow
        active = np.abs(residuals) > (1.0 - _ACTIVE) * tolerance
        goal = np.clip(residuals, -width, width)
        if np.array_equal(goal, residuals):
            break
        goal[active] = np.copysign(width, residuals[active])
        if narrow:
            active, goal = np.full(len(labels), True), np.zeros(len(labels))
        found = found - np.linalg.lstsq(part[active], (residuals - goal)[active], rcond=None)[0]
    result = weights.copy()
    result[used] = found[: len(used)]
    return result


def _at_boundary(
    part: Array, labels: Array, found: Array, theta: Array, tolerance: float, width: float, count: int
) -> Floats:
    """Return the weights whose scores are nearest to the boundary that theta indicates, among those in the tube."""
    goals = labels[:, None] - np.outer(np.sign(theta), tolerance * (1.0 - _DISTANCES))
    candidates = np.repeat(found[:, None], len(_DISTANCES), axis=1)
    for _ in range(_MAX_CORRECTIONS):
        candidates = candidates - np.linalg.lstsq(part, part @ candidates - goals, rcond=None)[0]
    inside = np.max(np.abs(part @ candidates - labels[:, None]), axis=0) <= width
    objectives = np.where(inside, np.sum(np.abs(candidates[:count]), axis=0), np.inf)
    best = int(np.argmin(objectives))
    return candidates[:, best] if np.isfinite(objectives[best]) else found
