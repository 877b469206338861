"""Squared norms of the rows, from which methods on the dual take the curvature along one dual variable."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.row_norms import squared_norms as compiled_norms
from fenchel.problem import Problem
from fenchel.solvers.needs import check_lam, check_norms

#: examples in a sample whose mean replaces that of all
_SAMPLE = 500
#: relative error of a squared distance that is computed from squared norms (cancellation)
CANCELLATION = 1e-14
#: the key of ``Design.reusable``
_NORMS = "squared_row_norms"


def squared_norms(problem: Problem) -> Floats:
    """|x_i|^2 by a compiled loop; by the design itself, which is slower, if a row has unsorted or repeated entries.

    For a Gram matrix these are the squared lengths of the features.
    """
    kernel, known = problem.design.kernel(), problem.design.reusable.get(_NORMS)
    if kernel is not None:
        norms = kernel.diagonal
    elif known is not None:
        # of another value of lam, or of another class
        (norms,) = known
    else:
        norms = np.empty(problem.design.shape[0])
        norms = problem.design.squared_row_norms if compiled_norms(problem.design.rows(), norms) else norms
        problem.design.reusable[_NORMS] = (norms,)
    check_norms(norms)
    return norms


def near_mean(problem: Problem) -> Floats:
    """The shares of examples in a point to centre on: their mean, or near it, if that would need every row of K."""
    shares = problem.risk.shares
    if problem.cached_gram is None or np.count_nonzero(shares) <= _SAMPLE:
        return shares
    # each is drawn as often as it counts
    drawn = np.random.default_rng(0).choice(len(shares), _SAMPLE, p=shares / np.sum(shares))
    return np.bincount(drawn, minlength=len(shares)) / _SAMPLE


def squared_distances(terms: Array, products: Array) -> Floats:
    """An upper bound of |x_i - m_i|^2 within rounding, from |x_i|^2 + |m_i|^2 and x_i.m_i.

    A curvature that is too small would overshoot.
    """
    return np.maximum(terms - 2.0 * products, 0.0) + CANCELLATION * terms


def check_curvatures(problem: Problem, norms: Array) -> None:
    """Raise if the curvature c_i norms_i / lam of some example may be too large for double precision."""
    check_lam(problem, np.max(norms) * np.max(problem.risk.shares))
