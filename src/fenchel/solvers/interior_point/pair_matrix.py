r"""The matrix of a Newton step over pairs of classes, and its inverse.

.. math:: H = \lambda I + \sum_i M_i\otimes\tilde x_i\tilde x_i^T

where :math:`M_i` is the Laplacian of a weighted graph on the classes and :math:`\tilde x_i` is a centred row, followed
by a one for a free intercept, which is not regularized.

- Star graph: edges of weight :math:`h_{ij}` between the label and every other class (Weston-Watkins).  Only the k(k-1)
  matrices :math:`G_{pq} = \sum_{y_i=p} h_{iq}\tilde x_i\tilde x_i^T` are needed.
- Complete graph: edges of weight :math:`h_{ij}h_{il}/\sum_m h_{im}` between all classes (Crammer-Singer).

The sums have terms of one sign, so there is no cancellation although edge weights differ by many orders of magnitude.
Vectors that are equal for all classes are in the null space of every :math:`M_i`; a matrix that is zero on the
complement of this space is added to make H regular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg.blas import dsyrk

from fenchel.arrays import Array, Floats
from fenchel.numerics.linear_algebra import cholesky_solver
from fenchel.problem import Problem

#: entries of a block of rows (16 MB)
_BLOCK_ENTRIES = 1 << 21

Solve = Callable[[Array], Array]


class Rows:
    """The rows in blocks of float64; with free intercepts they are centred and followed by a one."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.free = problem, problem.intercept
        self.classes, self.count = problem.multiclass_risk.classes, problem.multiclass_risk.outputs
        self.features = problem.design.shape[1]
        self.size = self.features + self.free
        self.mean = problem.design.adjoint(problem.risk.shares) if self.free else np.zeros(self.features)

    def scores(self, weights: Array) -> Floats:
        """Return x . w of every row and class, for weights (k, size)."""
        found = self.problem.design.scores(weights[:, : self.features])
        if self.free:
            found += weights[:, -1] - weights[:, : self.features] @ self.mean
        return found

    def adjoint(self, theta: Array) -> Floats:
        """Return X^T theta, (k, size)."""
        found = self.problem.design.adjoint(theta)
        if not self.free:
            return found
        total = np.sum(theta, axis=0)
        return np.column_stack([found - np.multiply.outer(total, self.mean), total])

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of the rows with their values."""
        design, height = self.problem.design, max(1, _BLOCK_ENTRIES // max(1, self.count * self.size))
        for begin in range(0, design.shape[0], height):
            part = design.part(begin, min(begin + height, design.shape[0]))
            known = part.blocks(np.arange(part.shape[0]), part.shape[0])
            values = part.sparse().toarray() if known is None else next(known)[1]
            if self.free:
                values = np.column_stack([values - self.mean, np.ones(len(values))])
            yield slice(begin, begin + part.shape[0]), values


def star(rows: Rows, h: Array) -> Floats:
    """Return the sum over the rows for star graphs of these weights (n, k); those at the labels are ignored."""
    k, size = rows.count, rows.size
    edges = np.zeros((k, size, k, size))
    for part, values in rows.blocks():
        for p in np.unique(rows.classes[part]):
            own = np.flatnonzero(rows.classes[part] == p)
            x = values[own]
            spread = h[part][own][:, :, None] * x[:, None, :]
            edges[p] += (x.T @ spread.reshape(len(own), k * size)).reshape(size, k, size)
    edges[np.arange(k), :, np.arange(k), :] = 0.0
    for p in range(k):
        for q in range(p):
            edges[p, :, q] += edges[q, :, p]
            edges[q, :, p] = edges[p, :, q]
    return _laplacian(edges)


def complete(rows: Rows, h: Array, scale: Array) -> Floats:
    """Return the sum over the rows for complete graphs with weights scale_i h_ij h_il."""
    k, size = rows.count, rows.size
    upper = np.zeros((k * size, k * size), order="F")
    for part, values in rows.blocks():
        spread = (h[part] * np.sqrt(scale[part])[:, None])[:, :, None] * values[:, None, :]
        upper = dsyrk(1.0, spread.reshape(len(values), k * size).T, beta=1.0, c=upper, overwrite_c=True)
    edges = (np.triu(upper) + np.triu(upper, 1).T).reshape(k, size, k, size)
    edges[np.arange(k), :, np.arange(k), :] = 0.0
    return _laplacian(edges)


def _laplacian(edges: Array) -> Floats:
    """Return the block Laplacian of edge weights: their negatives, and their sums on the diagonal."""
    own = np.sum(edges, axis=2)
    np.negative(edges, out=edges)
    edges[np.arange(len(own)), :, np.arange(len(own)), :] = own
    return edges


def inverse(blocks: Array, ridge: Array) -> Solve:
    """Return H^-1 for right-hand sides (k, size) with zero sum over the classes; so has the solution."""
    k, size = blocks.shape[:2]
    # zero for vectors with zero sum over the classes; regular for vectors that are equal for all classes
    blocks += (np.einsum("jajb->ab", blocks) / k**2 + np.diag(ridge / k))[None, :, None, :]
    blocks[np.arange(k), :, np.arange(k), :] += np.diag(ridge)
    solve = cholesky_solver(blocks.reshape(k * size, k * size))

    def apply(right: Array) -> Floats:
        found = solve(right.ravel()).reshape(k, size)
        return found - np.mean(found, axis=0)

    return apply
