r"""Two ways to hold weights for methods that only add, scale and compare them by inner products.

- ``Features``: the weights themselves.
- ``RowSpan``: where X has many more columns than rows.  From zero, gradient methods never leave the span of the rows,
  so :math:`w = X^Tu` is held as (u, Xw), two vectors as long as the labels, and :math:`\langle X^Tu, X^Tu'\rangle =
  u\cdot Xw'`.  Products with X are as many as before, in other places: scores cost none, :math:`X^T\theta` a pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.solvers.base import Warm

#: columns for each row from which on the span of the rows is the shorter way
_WIDE = 2.0


class Features:
    """Weights as they are; a trailing intercept in a flat vector counts like a weight."""

    #: data passes for scores, and for X^T theta
    scoring, pulling = 0.5, 0.5

    def __init__(self, problem: Problem) -> None:
        self.design, self.shape = problem.design, problem.weights_shape

    def dot(self, one: NDArray, other: NDArray) -> float:
        """The inner product."""
        return float(np.vdot(one, other))

    def scores(self, element: NDArray) -> NDArray[np.float64]:
        """X w."""
        return self.design.scores(element)

    def pulled(self, theta: NDArray) -> NDArray[np.float64]:
        """X^T theta."""
        return self.design.adjoint(theta)

    def weights(self, element: NDArray) -> NDArray[np.float64]:
        """A copy of the weights."""
        return element.copy()

    def refreshed(self, element: NDArray) -> NDArray[np.float64]:
        """Without the roundings of many steps: there are none here."""
        return element

    def start(self, problem: Problem, warm: Warm | None) -> NDArray[np.float64]:
        """The weights of a warm start, or zero."""
        if warm is not None and problem.fits(warm.model):
            return np.array(warm.model.weights, dtype=np.float64)
        return np.zeros(self.shape)


class RowSpan(Features):
    """Weights as combinations of rows, with their scores."""

    scoring, pulling = 0.0, 1.0

    def __init__(self, problem: Problem) -> None:
        self.design, self.shape = problem.design, (2, problem.design.shape[0])

    def dot(self, one: NDArray, other: NDArray) -> float:
        rows = self.shape[1]
        return float(one.ravel()[:rows] @ other.ravel()[rows:])

    def scores(self, element: NDArray) -> NDArray[np.float64]:
        return element[1].copy()

    def pulled(self, theta: NDArray) -> NDArray[np.float64]:
        return np.stack([theta, self.design.scores(self.design.adjoint(theta))])

    def weights(self, element: NDArray) -> NDArray[np.float64]:
        return self.design.adjoint(element[0])

    def refreshed(self, element: NDArray) -> NDArray[np.float64]:
        return self.pulled(element[0])

    def start(self, problem: Problem, warm: Warm | None) -> NDArray[np.float64]:
        """The weights that belong to the dual point of a warm start."""
        if warm is not None and np.shape(warm.witness.theta) == problem.theta_shape and np.any(warm.witness.theta):
            return self.pulled(np.asarray(warm.witness.theta, dtype=np.float64) / problem.lam)
        return np.zeros(self.shape)


def space_for(problem: Problem) -> Features:
    """Whichever has the shorter vectors."""
    rows, columns = problem.design.shape
    if problem.intercept or problem.risk.outputs is not None or columns <= _WIDE * rows:
        return Features(problem)
    return RowSpan(problem)
