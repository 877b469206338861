"""Change of variables that turns a quadratic form into ridge regularization."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from fenchel.arrays import Floats
from fenchel.designs import as_design
from fenchel.problem import Model, Problem
from fenchel.regularizers import L2
from fenchel.solvers.base import Start, Warm


def whitened(problem: Problem, warm: Warm | None) -> tuple[Problem, Warm | None, Floats | None]:
    """Return an equivalent ridge problem, warm start and R with w = R w', for a dense quadratic form.

    Problems with other regularizers are returned unchanged, with None for R.
    """
    form = problem.regularizer.quadratic_form()
    if form is None or form.diagonal:
        return problem, warm, None
    root = form.root(problem.design.shape[1])
    plain = Problem(as_design(problem.design.scores(root.T)), problem.risk, problem.lam, L2(), problem.intercept)
    if warm is not None and problem.fits(warm.model):
        inner = solve_triangular(root, np.asarray(warm.model.weights).T, lower=True).T
        warm = Start(Model(np.ascontiguousarray(inner), warm.model.intercept), warm.witness)
    return plain, warm, root
