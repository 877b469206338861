"""The verdict on a warm start, before any step."""

from __future__ import annotations

import numpy as np

from fenchel.certificate import Verdict, judge, judge_moved
from fenchel.errors import FenchelError
from fenchel.problem import Problem, Witness
from fenchel.solvers.base import Warm


def verdict_on(problem: Problem, warm: Warm) -> Verdict | None:
    """The verdict on the model and the witness of a warm start; None if they are those of another kind of problem."""
    fits = problem.fits(warm.model) and np.shape(warm.witness.theta) == problem.theta_shape
    regularizer = problem.regularizer
    if fits and not regularizer.finite and not np.isfinite(regularizer.value(warm.model.weights)):
        # weights of another regularizer: only the dual variables are used
        fits = False
    if not fits or (not problem.intercept and warm.model.intercept is not None and np.any(warm.model.intercept)):
        return None
    if warm.path_certificate is not None and warm.path_certificate.fits(problem):
        # the same data: no product with X is needed
        return judge_moved(problem, warm.model, warm.witness, warm.path_certificate)
    try:
        return judge(problem, warm.model, warm.witness)
    except FenchelError:
        # the decomposition of another risk proves nothing
        if warm.witness.decomposition is None:
            raise
        return judge(problem, warm.model, Witness(np.zeros(problem.theta_shape)))
