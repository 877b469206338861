"""What the tests of the parts of dual coordinate descent share: a small problem, and the dual objective of a state."""

import numpy as np
import scipy.sparse as sp

from fenchel import Problem
from fenchel.risks import MeanRisk
from fenchel.solvers.dual_coordinate.loop import ALPHA


def small_problem(loss, intercept, as_sparse=False):
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 40))
    y = np.where(X[:, 0] + random.standard_normal(60) > 0, 1.0, -1.0)
    y = X[:, 0] + y if loss == "epsilon_insensitive" else y
    X = X + 3.0 * intercept
    return Problem(sp.csr_array(X) if as_sparse else X, MeanRisk(loss, y), 0.02, intercept=intercept)


def dual_value(state):
    """The dual objective with the augmented Lagrangian of an intercept, from theta."""
    problem, (output,) = state.problem, state.outputs
    theta = problem.risk.shares * output.table[:, ALPHA]
    total, X = float(np.sum(theta)), problem.design.scores(np.eye(problem.design.shape[1]))
    rows = X - state.mean if problem.intercept else X
    centre = output.intercept[2] if problem.intercept else 0.0
    square = np.sum((rows.T @ theta) ** 2) + output.constant * total**2
    return -square / (2.0 * problem.lam) - centre * total - problem.closed_form.conjugate(theta, feasible=True)
