r"""Rays of the dual which prove that no model meets the constraints of a loss (Farkas), by a linear program.

A ray :math:`\rho` is in the domain, its gain :math:`g = -R^*(-\rho)` is positive, and :math:`X^T\rho = 0`, or
:math:`X^T\rho \le 0` where weights have to be positive (and :math:`\sum\rho = 0` for a free intercept).  Since
:math:`g \le \rho^Ts = (X^T\rho)\cdot w \le 0` for all scores that meet the constraints, there are no such weights.  The
program maximizes g over :math:`\sum|\rho_i| \le 1`.  HiGHS solves it to 1e-10, which is not enough for equalities: the
multipliers are projected onto them.  In floats :math:`X^T\rho` is still not quite zero: the ray, made long, proves a
lower bound on the objective that ``certificate`` recomputes, and calls the problem infeasible when that is beyond all
reason.

With a fixed mass A the criterion is weaker, :math:`A\max_j (X^T\rho)_j < g`: dual ascent finds such rays by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from fenchel.problem import Problem

#: multipliers of the linear program below this are zero, and sums of rows too
_SUPPORT, _ZERO = 1e-9, 1e-8
#: of HiGHS, which takes nothing below 1e-10
_TOLERANCE = 1e-10
#: the ray is so long that it proves this many times what no reasonable model has
_LONG = 4.0


def infeasible_ray(problem: Problem) -> NDArray[np.float64]:
    """A long ray; zero if there is none.  Weights that are not all allowed are taken to be positive."""
    risk = problem.mean_risk
    ray, chosen = np.zeros(len(risk.labels)), np.flatnonzero(risk.shares > 0)
    rows = problem.design.sparse()[chosen]
    rows = rows / (float(np.max(np.abs(rows.data), initial=0.0)) or 1.0)
    equal = np.full(rows.shape[1], problem.regularizer.finite)
    if problem.intercept:
        rows, equal = sp.hstack([rows, np.ones((len(chosen), 1))], format="csr"), np.append(equal, True)
    found = _multipliers(problem, risk.labels[chosen], rows, equal)
    support = np.flatnonzero(np.abs(found) > _SUPPORT)
    if support.size == 0:
        return ray
    # the nearest multipliers whose rows add up to zero, wherever they nearly do
    part, kept = rows[support].toarray().T, found[support]
    part = part[equal | (np.abs(part @ kept) <= _ZERO)]
    for _ in range(2):
        kept = kept - np.linalg.lstsq(part, part @ kept, rcond=None)[0]
    ray[chosen[support]] = np.where(kept * found[support] > 0.0, kept, 0.0)
    gain = -risk.conjugate(ray)
    return ray * (_LONG * problem.level_bound / gain) if gain > 0.0 else np.zeros_like(ray)


def _multipliers(problem: Problem, labels: NDArray, rows: sp.csr_array, equal: NDArray) -> NDArray[np.float64]:
    """theta of the linear program, in which it is the difference of two positive parts; zero if there is no ray."""
    n, gains, most = len(labels), np.concatenate([labels, -labels]), np.full(2 * len(labels), np.inf)
    if problem.mean_risk.loss.constraint == "margin":
        most[gains < 0] = 0.0
    else:
        gains = gains - problem.mean_risk.loss.tolerance
    sums = sp.hstack([rows.T, -rows.T], format="csr")
    bounded = sp.csr_array(np.ones((1, 2 * n)))
    given: dict[str, Any] = {"A_ub": sp.vstack([sums[~equal], bounded], format="csr")}
    given["b_ub"] = np.append(np.zeros(np.count_nonzero(~equal)), 1.0)
    if np.any(equal):
        given |= {"A_eq": sums[equal], "b_eq": np.zeros(np.count_nonzero(equal))}
    options = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}
    bounds = np.column_stack([np.zeros(2 * n), most])
    solved = linprog(-gains, bounds=bounds, method="highs", options=options, **given)
    if solved.status != 0:
        return np.zeros(n)
    return np.asarray(solved.x[:n] - solved.x[n:])
