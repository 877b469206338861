r"""Ridge with the squared loss in one step: the normal equations, from the moments that its certificate is made of.

.. math:: (G + \kappa\lambda I)\,w = q, \qquad G = X^TCX, \quad q = X^TCy,

both centred beside an intercept.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from fenchel.certificate import moments_of
from fenchel.problem import Model, Problem

#: variance of a column, relative to its mean square, below which centring G loses too many digits
_LEAST_SPREAD = 1e-6


def least_squares(problem: Problem) -> Model | None:
    """The minimizer for one output, or None for other losses and where it would be inaccurate."""
    kappa = problem.mean_risk.conjugate_curvature
    given = moments_of(problem) if kappa else None
    if kappa is None or given is None:
        return None
    moments = given.centred() if problem.intercept else given
    if np.any(np.diagonal(moments.gram) < _LEAST_SPREAD * np.diagonal(given.gram)):
        return None
    hessian = moments.gram.copy()
    hessian.ravel()[:: len(hessian) + 1] += kappa * problem.lam
    # LAPACK has columns in the place of rows
    _, weights, failed = dposv(hessian.T, moments.correlations, overwrite_a=True)
    if failed or not np.all(np.isfinite(weights)):
        return None
    return Model(weights, given.label_mean - float(weights @ given.mean) if problem.intercept else 0.0)
