r"""The lasso with a piecewise linear loss: one linear program, which HiGHS solves exactly.

A loss with :math:`f(s, y) = \ell^+\max(r - \epsilon, 0) + \ell^-\max(-r - \epsilon, 0)`, :math:`r = y - s`, such as the
hinge, absolute, quantile and epsilon-insensitive losses, is the optimum of

.. math::
    \min\; \lambda\sum_j (p_j + q_j) + \sum_i c_i\,(\ell^+_i \xi_i + \ell^-_i \zeta_i) \quad\text{with }
    X(p - q) + b\mathbf 1 + \xi - \zeta + \tau = y, \quad p, q, \xi, \zeta \ge 0, \quad |\tau_i| \le \epsilon

(Koenker and Bassett, Econometrica 46, 1978, for quantiles).  The multipliers of the equalities are the dual point.  X,
the labels and the costs are scaled to order one.  Limits and Ctrl-C end the step, but HiGHS has no iterates to return.

============================  ==========================================================
symbol                        here
============================  ==========================================================
:math:`-\ell^+, \ell^-`       ``low``, ``high``: the domain of the conjugate
:math:`\epsilon`              ``epsilon``
============================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Floats
from fenchel.numerics.linear_program import solve_linear_program
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm, with_present_intercept

#: zero weights replace an optimum whose objective is below theirs by less than this share
_TIE = 1e-12


def _piecewise_linear(problem: Problem) -> bool:
    loss = problem.mean_risk.loss
    form = loss.piecewise_quadratic()
    return form is not None and form.kappa == 0.0 and bool(np.all(np.isfinite(loss.domain(np.ones(1)))))


@dataclass
class State:
    """The solution of the program; that of the warm start, or zero, before it is solved."""

    problem: Problem
    weights: Floats
    intercept: float
    theta: Floats
    solved: bool = False


@dataclass(frozen=True)
class LinearProgram(Solver):
    """Linear program of the lasso with a piecewise linear loss, solved by HiGHS.

    A single step solves the problem; a limit or Ctrl-C ends it with the model that it started from.

    See Also
    --------
    ProxNewton : The lasso with smooth losses.
    Bundle : The lasso with any risk.

    References
    ----------
    .. [1] R. Koenker and G. Bassett. "Regression quantiles." Econometrica 46, 1978.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> X = np.random.default_rng(0).standard_normal((20, 30))
    >>> solution = solve(Problem(X, MeanRisk("absolute", X[:, 0]), 0.1, "l1"), "linear_program")
    >>> solution.converged, int(np.argmax(np.abs(solution.model.weights)))
    (True, 0)
    """

    name: ClassVar[str] = "linear_program"
    needs: ClassVar[tuple[Need, ...]] = (
        needs.MEAN_OF_LOSSES,
        Need(_piecewise_linear, "requires a piecewise linear loss, such as 'hinge', 'absolute' or 'quantile'"),
        needs.LASSO,
        needs.ONE_OUTPUT,
        needs.NO_KERNEL,
    )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        fits = warm is not None and problem.fits(warm.model)
        model = warm.model if warm and fits else problem.zero_model()
        return State(problem, np.array(model.weights), float(model.intercept or 0.0), np.zeros(problem.theta_shape))

    def step(self, state: State, hint: Hint) -> float:
        if state.solved:
            return STALLED
        state.solved = True
        problem, risk = state.problem, state.problem.mean_risk
        weighted = np.flatnonzero(risk.shares > 0)
        rows, labels = problem.design.sparse()[weighted], risk.labels[weighted]
        (n, d), form = rows.shape, risk.loss.piecewise_quadratic()
        size, unit = float(np.max(np.abs(rows.data), initial=0.0)) or 1.0, float(np.max(np.abs(labels))) or 1.0
        low, high = risk.loss.domain(labels)
        slopes = risk.shares[weighted] * (size / problem.lam)
        assert form is not None
        width, one, free = form.epsilon / unit, sp.eye_array(n, format="csr"), int(problem.intercept)
        blocks = [rows / size, -rows / size, np.ones((n, free)), one, -one] + [one] * (width > 0.0)
        bounds = np.zeros((2 * d + free + 2 * n + n * (width > 0.0), 2))
        bounds[:, 1] = np.inf
        bounds[2 * d : 2 * d + free] = -np.inf, np.inf
        bounds[2 * d + free + 2 * n :] = -width, width
        cost = np.zeros(len(bounds))
        cost[: 2 * d] = 1.0
        cost[2 * d + free : 2 * d + free + 2 * n] = np.concatenate([-low * slopes, high * slopes])
        equalities = sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
        found = solve_linear_program(cost, bounds, A_eq=equalities, b_eq=labels / unit)
        if found is not None:
            state.weights = (found.x[:d] - found.x[d : 2 * d]) * (unit / size)
            state.intercept = float(np.sum(found.x[2 * d : 2 * d + free])) * unit
            least = problem.lam * found.fun * (unit / size)
            intercept = float(problem.best_intercept(np.zeros(problem.theta_shape)))
            # at the largest lam of a path zero weights are one of many optima, and the sparsest
            if problem.risk.value(np.full(problem.theta_shape, intercept)) <= (1.0 + _TIE) * least:
                state.weights, state.intercept = np.zeros(d), intercept
            state.theta[weighted] = np.asarray(found.eqlin.marginals) * (problem.lam / size)
        return 1.0

    def propose(self, state: State) -> tuple[Model, Witness]:
        intercept = None if state.problem.intercept else state.problem.no_intercept()
        return Model(state.weights.copy(), intercept), Witness(state.theta.copy())

    def propose_after_stop(self, state: State) -> tuple[Model, Witness]:
        model, witness = self.propose(state)
        return with_present_intercept(state.problem, model, state.intercept), witness
