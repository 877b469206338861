r"""Two representations of the weights, for methods that use only linear combinations and inner products of them.

- ``Features``: the weights themselves.
- ``RowSpan``: for X with many more columns than rows.  Gradient methods that start at zero stay in the span of the
  rows, so :math:`w = X^Tu` is represented by (u, Xw), two vectors of length n, and :math:`\langle X^Tu, X^Tu'\rangle =
  u\cdot Xw'`.  A step needs as many products with X as before: none for the scores, two for :math:`X^T\theta`.  In the
  feature space of a kernel u are the coefficients, and a step needs one product with the Gram matrix.
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.solvers.base import Warm

#: columns per row above which (u, Xw), of length 2 n, is shorter than w
_WIDE = 2.0


class Features:
    """The weights themselves; an intercept at the end of a flat vector is treated like a weight."""

    #: data passes of the scores, and of X^T theta
    scores_passes, adjoint_passes = 0.5, 0.5

    def __init__(self, problem: Problem) -> None:
        self.design, self.shape = problem.design, problem.weights_shape

    def dot(self, one: Array, other: Array) -> float:
        """Return the inner product."""
        return float(np.vdot(one, other))

    def scores(self, element: Array) -> Floats:
        """Return X w."""
        return self.design.scores(element)

    def adjoint(self, theta: Array) -> Floats:
        """Return X^T theta."""
        return self.design.adjoint(theta)

    def weights(self, element: Array) -> Floats:
        """Return a copy of the weights."""
        return element.copy()

    def recomputed(self, element: Array) -> Floats:
        """Return the element without the rounding errors of many updates; there are none in this representation."""
        return element

    def start(self, problem: Problem, warm: Warm | None) -> Floats:
        """Return the weights of a warm start, or zero."""
        if warm is not None and problem.fits(warm.model):
            return np.array(warm.model.weights, dtype=np.float64)
        return np.zeros(self.shape)


class RowSpan(Features):
    """Weights as linear combinations of rows, with their scores."""

    scores_passes, adjoint_passes = 0.0, 1.0

    def __init__(self, problem: Problem) -> None:
        self.design, self.shape = problem.design, (2, problem.design.shape[0])

    def dot(self, one: Array, other: Array) -> float:
        rows = self.shape[1]
        return float(one.ravel()[:rows] @ other.ravel()[rows:])

    def scores(self, element: Array) -> Floats:
        return element[1].copy()

    def adjoint(self, theta: Array) -> Floats:
        return np.stack([theta, self.design.scores(self.design.adjoint(theta))])

    def weights(self, element: Array) -> Floats:
        return self.design.adjoint(element[0])

    def recomputed(self, element: Array) -> Floats:
        return self.adjoint(element[0])

    def start(self, problem: Problem, warm: Warm | None) -> Floats:
        """Return the weights X^T theta / lam of the dual point of a warm start, or zero."""
        if warm is not None and np.shape(warm.witness.theta) == problem.theta_shape and np.any(warm.witness.theta):
            return self.adjoint(np.asarray(warm.witness.theta, dtype=np.float64) / problem.lam)
        return np.zeros(self.shape)


def space_for(problem: Problem) -> Features:
    """Return the representation with the shorter vectors; for a Gram matrix that by coefficients and scores."""
    rows, columns = problem.design.shape
    if problem.design.kernel() is not None:
        return RowSpan(problem)
    if problem.intercept or problem.risk.outputs is not None or columns <= _WIDE * rows:
        return Features(problem)
    return RowSpan(problem)
