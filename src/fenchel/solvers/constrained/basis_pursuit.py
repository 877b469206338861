r"""Constraints with the absolute values: basis pursuit (Chen, Donoho & Saunders, 1999), a linear program.

.. math::
    \min_{w,b}\; \lambda\|w\|_1 \quad\text{with } |s_i - y_i| \le \tau \;\text{ (interpolation)}\quad\text{or}\quad
    y_i s_i \ge 1 \;\text{ (hard margin; Mangasarian, 1999)}, \qquad s = Xw + b\mathbf 1

the last of the limits in Zhang (2002), Sec. 2.  With :math:`w = p - q` and :math:`p, q \ge 0` it is a linear program,
which HiGHS solves as a whole: one step is all there is, and it can't be interrupted.  Most weights are exactly zero.
Its multipliers are the dual point.

HiGHS meets constraints to 1e-10 only.  The shortest change of the weights that are not zero takes the scores back into
the tube; weights that separate the classes are scaled until the smallest margin is just above one (``Repair``).  A
narrow tube is an equality for HiGHS, but it is worth :math:`\tau\|\theta\|_1`, which is much where columns are short:
the same change takes the scores to where that is gained, :math:`s = y - \tau\operatorname{sign}\theta`.
Where there is no solution, ``solvers.rays`` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.farkas import infeasible_ray
from fenchel.solvers.feasibility import Repair

#: of HiGHS, which takes nothing below 1e-10
_TOLERANCE = 1e-10
#: a tube that is narrower, relative to the labels, is an equality for HiGHS
_NARROW = 1e-8
#: how far inside the tube, relative to the labels, the scores are put
_INSIDE = 1e-15
#: shares of the width by which scores in a narrow tube are kept off its border: as little as rounding allows
_OFF = np.array([1e-6, 1e-3, 0.5, 1.0])
#: scores that are closer to the border, relative to the width, are on it
_BORDER = 1e-6
#: changes of the weights until the scores are there
_CORRECTIONS = 3


@dataclass
class State:
    """What the program gave; before it was solved, zero."""

    problem: Problem
    weights: NDArray[np.float64]
    theta: NDArray[np.float64]
    solved: bool = False


@dataclass(frozen=True)
class BasisPursuit(Solver):
    """Linear program of the lasso with hard constraints (basis pursuit), solved by HiGHS.

    One step solves the whole problem, which can't be interrupted.

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
        problem, risk = state.problem, state.problem.mean_risk
        chosen = np.flatnonzero(risk.shares > 0)
        rows = problem.design.sparse()[chosen]
        found = _solved(problem, risk.labels[chosen], rows)
        if found is None:
            state.theta = infeasible_ray(problem)
            return 1.0
        weights, state.theta[chosen] = found
        if risk.loss.constraint == "margin":
            state.weights = Repair(problem)(Model(weights, None), Witness(state.theta))[0].weights
        else:
            state.weights = _inside(problem, risk.labels[chosen], rows, weights, state.theta[chosen])
        return 1.0

    def propose(self, state: State) -> tuple[Model, Witness]:
        intercept = None if state.problem.intercept else state.problem.no_intercept()
        return Model(state.weights.copy(), intercept), Witness(state.theta.copy())


def _solved(problem: Problem, labels: NDArray, rows: sp.csr_array) -> tuple[NDArray, NDArray] | None:
    """Weights and theta, or None if there are none; in units in which X and the labels are about one."""
    size = float(np.max(np.abs(rows.data), initial=0.0)) or 1.0
    unit = _spread(problem, labels)
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
        labels = labels - _middle(problem, labels)
        sides = np.concatenate([labels, -labels]) / unit + tolerance
        given = {"A_ub": sp.vstack([scores, -scores], format="csr"), "b_ub": sides}
    else:
        given = {"A_eq": scores, "b_eq": (labels - _middle(problem, labels)) / unit}
    options = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}
    cost = np.append(np.ones(2 * d), np.zeros(len(bounds) - 2 * d))
    found = linprog(cost, bounds=bounds, method="highs", options=options, **given)
    if found.status != 0:
        return None
    weights = (found.x[:d] - found.x[d : 2 * d]) * (unit / size)
    if "A_eq" in given:
        theta = np.asarray(found.eqlin.marginals)
    else:
        pushes = np.asarray(found.ineqlin.marginals)
        theta = -labels * pushes if margin else pushes[: len(labels)] - pushes[len(labels) :]
    return weights, theta * (problem.lam / size)


def _middle(problem: Problem, labels: NDArray) -> float:
    """What an intercept takes away from labels that are no classes."""
    return 0.5 * float(np.max(labels) + np.min(labels)) if problem.intercept else 0.0


def _spread(problem: Problem, labels: NDArray) -> float:
    """How large labels are, without what an intercept takes away."""
    if problem.mean_risk.loss.constraint == "margin":
        return 1.0
    return float(np.max(np.abs(labels - _middle(problem, labels)))) or 1.0


def _inside(
    problem: Problem, labels: NDArray, rows: sp.csr_array, weights: NDArray, theta: NDArray
) -> NDArray[np.float64]:
    """The weights, with the least change of those that are not zero that takes the scores into the tube."""
    used = np.flatnonzero(weights)
    part = rows[:, used].toarray()
    if problem.intercept:
        part = np.column_stack([part, np.ones(len(labels))])
    tolerance = problem.mean_risk.loss.tolerance
    width = max(tolerance - _INSIDE * (float(np.max(np.abs(labels))) + tolerance), 0.5 * tolerance)
    found = np.append(weights[used], [0.0] * problem.intercept)
    if problem.intercept:
        found[-1] = problem.mean_risk.loss.best_intercept(part[:, :-1] @ weights[used], labels, np.ones(len(labels)))
    narrow = tolerance <= _NARROW * _spread(problem, labels)
    if narrow:
        found = _at_border(part, labels, found, theta, tolerance, len(used))
    for _ in range(_CORRECTIONS):
        missed = part @ found - labels
        # those on the border, or all if the tube is narrow
        bound = np.abs(missed) > (1.0 - _BORDER) * tolerance
        goal = np.clip(missed, -width, width)
        if np.array_equal(goal, missed):
            break
        goal[bound] = np.copysign(width, missed[bound])
        if narrow:
            bound, goal = np.full(len(labels), True), np.zeros(len(labels))
        found = found - np.linalg.lstsq(part[bound], (missed - goal)[bound], rcond=None)[0]
    result = weights.copy()
    result[used] = found[: len(used)]
    return result


def _at_border(
    part: NDArray, labels: NDArray, found: NDArray, theta: NDArray, tolerance: float, count: int
) -> NDArray[np.float64]:
    """The shortest change to the border that theta pulls to, or towards it: the best of those that stay in the tube."""
    goals = labels[:, None] - np.outer(np.sign(theta), tolerance * (1.0 - _OFF))
    several = np.repeat(found[:, None], len(_OFF), axis=1)
    for _ in range(_CORRECTIONS):
        several = several - np.linalg.lstsq(part, part @ several - goals, rcond=None)[0]
    # with room for sums in another order
    rounding = _INSIDE * (float(np.max(np.abs(labels))) + tolerance)
    inside = np.max(np.abs(part @ several - labels[:, None]), axis=0) <= max(tolerance - rounding, 0.5 * tolerance)
    objectives = np.where(inside, np.sum(np.abs(several[:count]), axis=0), np.inf)
    best = int(np.argmin(objectives))
    return several[:, best] if np.isfinite(objectives[best]) else found
