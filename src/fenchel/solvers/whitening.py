"""Change of variables that turns a quadratic form into ridge regularization."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from fenchel.arrays import Array, Floats
from fenchel.designs import Design, as_design
from fenchel.designs.rows import CSRRows, DenseRows
from fenchel.problem import Model, Problem
from fenchel.regularizers import L2, FreeDirections
from fenchel.solvers.base import Start, Warm


def whitened(problem: Problem, warm: Warm | None, diagonal: bool = False) -> tuple[Problem, Warm | None, Floats | None]:
    """Return an equivalent ridge problem, warm start and R with w = R w', for a quadratic form with a matrix.

    With ``diagonal`` also for one with a diagonal, where R is the vector of its diagonal and X keeps its zeros.
    Free directions stay free.  Problems with other regularizers are returned unchanged, with None for R.
    """
    free = problem.regularizer.free_directions()
    form = (problem.regularizer if free is None else free.base).quadratic_form()
    if form is None or (form.diagonal and not diagonal):
        return problem, warm, None
    features = problem.design.shape[1]
    root = np.sqrt(form.priors(features)) if form.diagonal else form.root(features)
    scaled = scaled_columns(problem.design, root) if form.diagonal else as_design(problem.design.scores(root.T))
    regularizer = L2() if free is None else FreeDirections(_directions(free, root), free.prices)
    plain = Problem(scaled, problem.risk, problem.lam, regularizer, problem.intercept)
    if warm is not None and problem.fits(warm.model):
        weights = np.asarray(warm.model.weights)
        inner = weights / root if form.diagonal else solve_triangular(root, weights.T, lower=True).T
        warm = Start(Model(np.ascontiguousarray(inner), warm.model.intercept), warm.witness)
    return plain, warm, root


def _directions(free: FreeDirections, root: Floats) -> Floats | sp.csr_array:
    """The directions C R^-T of w'."""
    if root.ndim == 1:
        return (
            free.directions / root if not sp.issparse(free.directions) else free.directions @ sp.diags_array(1 / root)
        )
    given = free.directions.toarray() if sp.issparse(free.directions) else free.directions
    return np.asarray(solve_triangular(root, given.T, lower=True).T)


def in_features(weights: Array, root: Floats | None) -> Floats:
    """Return the weights R w' of the problem that was whitened, for the R that ``whitened`` returned."""
    if root is None:
        return np.asarray(weights)
    return weights * root if root.ndim == 1 else weights @ root.T


def scaled_columns(design: Design, scale: Floats) -> Design:
    """Return a copy of X with scaled columns."""
    rows = design.rows()
    if isinstance(rows, DenseRows):
        return as_design(rows.values * scale)
    if not isinstance(rows, CSRRows):
        return as_design(design.scores(np.diag(scale)))
    entries = (rows.data * scale[rows.indices], rows.indices.astype(np.int64), rows.indptr.astype(np.int64))
    return as_design(sp.csr_array(entries, shape=design.shape))
