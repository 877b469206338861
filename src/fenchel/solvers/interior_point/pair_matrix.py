r"""The matrix of a Newton step over pairs of classes, and solutions with it.

.. math:: H = \lambda I + \sum_i M_i\otimes\tilde x_i\tilde x_i^T

where :math:`M_i` is the matrix of a graph on the classes (its Laplacian) and :math:`\tilde x_i` is a centred row, with
a one at its end for a free intercept, which has no :math:`\lambda`.

- A star: label y and every other class are joined with weight :math:`h_{ij}` (Weston-Watkins).  Only the k(k-1)
  matrices :math:`G_{pq} = \sum_{y_i=p} h_{iq}\tilde x_i\tilde x_i^T` are needed.
- Complete: all pairs are joined with weight :math:`h_{ij}h_{il}/\sum_m h_{im}` (Crammer-Singer).

All sums are of products of one sign, so nothing cancels although the weights differ by many powers of ten.  What all
classes share is in the null space of every :math:`M_i`: a matrix that only sees that is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from fenchel.numerics.linear_algebra import factorized
from fenchel.problem import Problem

#: numbers that are worked on at once (16 MB)
_AT_ONCE = 1 << 21

Solve = Callable[[NDArray], NDArray]


class Rows:
    """The rows that count, in float64 a block at a time, centred and with a one at their end if intercepts are free."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.free = problem, problem.intercept
        self.classes, self.count = problem.multiclass_risk.classes, problem.multiclass_risk.outputs
        self.features = problem.design.shape[1]
        self.size = self.features + self.free
        self.mean = problem.design.adjoint(problem.risk.shares) if self.free else np.zeros(self.features)

    def scores(self, weights: NDArray) -> NDArray[np.float64]:
        """x . w of every row and class, for weights (k, size)."""
        found = self.problem.design.scores(weights[:, : self.features])
        if self.free:
            found += weights[:, -1] - weights[:, : self.features] @ self.mean
        return found

    def adjoint(self, theta: NDArray) -> NDArray[np.float64]:
        """The sum of theta_i x_i, (k, size)."""
        found = self.problem.design.adjoint(theta)
        if not self.free:
            return found
        total = np.sum(theta, axis=0)
        return np.column_stack([found - np.multiply.outer(total, self.mean), total])

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        design, height = self.problem.design, max(1, _AT_ONCE // max(1, self.count * self.size))
        for begin in range(0, design.shape[0], height):
            part = design.part(begin, min(begin + height, design.shape[0]))
            known = part.blocks(np.arange(part.shape[0]), part.shape[0])
            values = part.sparse().toarray() if known is None else next(known)[1]
            if self.free:
                values = np.column_stack([values - self.mean, np.ones(len(values))])
            yield slice(begin, begin + part.shape[0]), values


def star(rows: Rows, h: NDArray) -> NDArray[np.float64]:
    """The sum over the rows for stars with these weights (n, k), of which those at the labels are not looked at."""
    k, size = rows.count, rows.size
    joined = np.zeros((k, size, k, size))
    for part, values in rows.blocks():
        for p in np.unique(rows.classes[part]):
            own = np.flatnonzero(rows.classes[part] == p)
            x = values[own]
            spread = h[part][own][:, :, None] * x[:, None, :]
            joined[p] += (x.T @ spread.reshape(len(own), k * size)).reshape(size, k, size)
    joined[np.arange(k), :, np.arange(k), :] = 0.0
    for p in range(k):
        for q in range(p):
            joined[p, :, q] += joined[q, :, p]
            joined[q, :, p] = joined[p, :, q]
    return _laplacian(joined)


def complete(rows: Rows, h: NDArray, scale: NDArray) -> NDArray[np.float64]:
    """The same where all classes are joined, with weights scale_i h_ij h_il."""
    k, size = rows.count, rows.size
    upper = np.zeros((k * size, k * size), order="F")
    for part, values in rows.blocks():
        spread = (h[part] * np.sqrt(scale[part])[:, None])[:, :, None] * values[:, None, :]
        upper = dsyrk(1.0, spread.reshape(len(values), k * size).T, beta=1.0, c=upper, overwrite_c=True)
    joined = (np.triu(upper) + np.triu(upper, 1).T).reshape(k, size, k, size)
    joined[np.arange(k), :, np.arange(k), :] = 0.0
    return _laplacian(joined)


def _laplacian(joined: NDArray) -> NDArray[np.float64]:
    """Blocks of the graph: minus what joins two classes, and on the diagonal the sum of that."""
    own = np.sum(joined, axis=2)
    np.negative(joined, out=joined)
    joined[np.arange(len(own)), :, np.arange(len(own)), :] = own
    return joined


def inverse(blocks: NDArray, ridge: NDArray) -> Solve:
    """H^-1 for right-hand sides (k, size) whose sum over the classes is zero; the answer has the same."""
    k, size = blocks.shape[:2]
    # what adds up to zero over the classes does not see this; the rest becomes regular
    blocks += (np.einsum("jajb->ab", blocks) / k**2 + np.diag(ridge / k))[None, :, None, :]
    blocks[np.arange(k), :, np.arange(k), :] += np.diag(ridge)
    solve = factorized(blocks.reshape(k * size, k * size))

    def apply(right: NDArray) -> NDArray[np.float64]:
        found = solve(right.ravel()).reshape(k, size)
        return found - np.mean(found, axis=0)

    return apply
