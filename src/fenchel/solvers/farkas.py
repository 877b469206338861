r"""Rays of the dual that prove infeasibility of hard constraints (Farkas' lemma), by a linear program.

A ray :math:`\rho` is in the domain of the dual, with :math:`g = -R^*(-\rho) > 0` and :math:`X^T\rho = 0`, or
:math:`X^T\rho \le 0` where weights must be positive (and :math:`\sum\rho = 0` for a free intercept).  Feasible scores
would satisfy :math:`g \le \rho^Ts = (X^T\rho)\cdot w \le 0`, so there are none (Boyd and Vandenberghe, Convex
Optimization, 2004, Sec. 5.8).  The program maximizes g over :math:`\sum|\rho_i| \le 1`.  HiGHS solves it with a
tolerance of 1e-10, which is too large for the equalities, so its solution is projected onto them.  In floating point
:math:`X^T\rho` is still only nearly zero.  The ray is scaled so that it proves a large lower bound on the objective,
which ``certificate`` recomputes; the problem is infeasible if the bound exceeds the objective of every model with
scores up to 1e7.

With a fixed mass A the criterion is weaker, :math:`A\max_j (X^T\rho)_j < g`, and dual ascent converges to such rays.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`\rho`         ``ray``
g                    ``gain``
===================  ==========================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.numerics.linear_program import solve_linear_program
from fenchel.problem import Problem
from fenchel.stopping import interruptible

#: entries of the solution of the linear program below this are zero; X^T rho below _ZERO_SUM is zero
_SUPPORT, _ZERO_SUM = 1e-9, 1e-8
#: lower bound on the objective that a ray proves, as a multiple of the level bound of the problem
INFEASIBLE_BOUND = 4.0


def infeasible_ray(problem: Problem) -> Floats:
    """Return a ray, or zero if there is none.

    For a regularizer that is not finite everywhere the weights are assumed to be positive.
    """
    return interruptible(lambda: _infeasible_ray(problem))


def _infeasible_ray(problem: Problem) -> Floats:
    risk = problem.mean_risk
    ray, weighted = np.zeros(len(risk.labels)), np.flatnonzero(risk.shares > 0)
    rows = problem.design.sparse()[weighted]
    # quotients of the entries: SciPy multiplies by an inverse, which is infinite for a subnormal number
    rows.data = rows.data / (float(np.max(np.abs(rows.data), initial=0.0)) or 1.0)
    equal = np.full(rows.shape[1], problem.regularizer.finite)
    if problem.intercept:
        rows, equal = sp.hstack([rows, np.ones((len(weighted), 1))], format="csr"), np.append(equal, True)
    found = _solve_program(problem, risk.labels[weighted], rows, equal)
    support = np.flatnonzero(np.abs(found) > _SUPPORT)
    if support.size == 0:
        return ray
    # project onto X^T rho = 0 in the columns where it nearly holds
    part, kept = rows[support].toarray().T, found[support]
    part = part[equal | (np.abs(part @ kept) <= _ZERO_SUM)]
    for _ in range(2):
        kept = kept - np.linalg.lstsq(part, part @ kept, rcond=None)[0]
    ray[weighted[support]] = np.where(kept * found[support] > 0.0, kept, 0.0)
    return scaled_ray(problem, ray)


def scaled_ray(problem: Problem, ray: Array) -> Floats:
    """Return the ray, scaled so that its lower bound proves infeasibility, or zero if it is not a ray."""
    gain = -problem.closed_form.conjugate(ray)
    return ray * (INFEASIBLE_BOUND * problem.level_bound / gain) if gain > 0.0 else np.zeros_like(ray)


def _solve_program(problem: Problem, labels: Array, rows: sp.csr_array, equal: Array) -> Floats:
    """Solve the linear program, whose variables are the positive and negative parts of rho; zero if it fails."""
    n, gains, upper = len(labels), np.concatenate([labels, -labels]), np.full(2 * len(labels), np.inf)
    if problem.mean_risk.loss.constraint == "margin":
        upper[gains < 0] = 0.0
    else:
        gains = gains - problem.mean_risk.loss.tolerance
    sums = sp.hstack([rows.T, -rows.T], format="csr")
    bounded = sp.csr_array(np.ones((1, 2 * n)))
    given: dict[str, Any] = {"A_ub": sp.vstack([sums[~equal], bounded], format="csr")}
    given["b_ub"] = np.append(np.zeros(np.count_nonzero(~equal)), 1.0)
    if np.any(equal):
        given |= {"A_eq": sums[equal], "b_eq": np.zeros(np.count_nonzero(equal))}
    bounds = np.column_stack([np.zeros(2 * n), upper])
    solved = solve_linear_program(-gains, bounds, **given)
    return np.zeros(n) if solved is None else np.asarray(solved.x[:n] - solved.x[n:])
