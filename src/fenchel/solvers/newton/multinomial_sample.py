r"""A sample of the examples, with the sums over it that Newton's method on the multinomial risk needs.

Rows are centred where intercepts are free, :math:`\tilde x_i = x_i - m` with m the mean of the rows, which makes the
Hessian almost block diagonal in weights and intercepts.  Centred rows are never stored.

===============================  ===========================================================
symbol                           attribute
===============================  ===========================================================
:math:`c_i` (sum to one)         ``shares``, of the sample
:math:`s_i`                      ``scores``, with the intercepts
:math:`p_i`                      ``probabilities``, the softmax of the scores
:math:`\theta_i = c_i(e_y-p_i)`  ``theta``
m                                ``mean``; zero without intercepts
===============================  ===========================================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.solvers.newton.loop_multinomial import (
    add_adjoint_classes,
    add_dense_rows,
    add_hess_diag_classes,
    hess_product_classes,
    multiply_classes,
)
from fenchel.solvers.newton.sample import RowSample

#: entries of a block of rows for BLAS (1 MB): the block stays in the cache between two products
_BLOCK_ENTRIES = 1 << 17
#: fewest rows of a block
_FEWEST_ROWS = 256
#: the diagonal of the Hessian is centred if the means contribute more than this share to it
_MEAN_SHARE = 0.1
#: relative rounding error of a centred sum of squares, which bounds it from below
_CANCELLATION = 1e-12


class SoftmaxSample(RowSample):
    """Rows of a problem, and sums over them."""

    def __init__(self, problem: Problem, selected: Array, mean: Array) -> None:
        self.count, self.mean = problem.multiclass_risk.outputs, mean
        #: the number of intercepts of a class that are free, 0 or 1
        self.free = int(problem.intercept)
        super().__init__(problem, selected, self.count)
        self.classes = problem.multiclass_risk.classes[selected]
        self.probabilities = np.zeros(self.scores.shape)
        self.places = np.arange(len(selected)), self.classes
        self.height = max(_FEWEST_ROWS, _BLOCK_ENTRIES // max(self.features, self.count))

    def multiply(self, weights: Array, intercept: Array, result: Array) -> None:
        """Write the scores of centred rows into ``result``."""
        result[:] = intercept - self.mean @ weights
        blocks = self.design.blocks(self.selected, self.height)
        if blocks is None:
            multiply_classes(self.rows, self.selected, weights, result)
            return
        for part, values in blocks:
            result[part] += values @ weights

    def update_dual_point(self) -> float:
        """Update probabilities and theta at the scores; return R."""
        p, theta = self.probabilities, self.theta
        largest = np.max(self.scores, axis=1)
        np.subtract(self.scores, largest[:, None], out=p)
        own = p[self.places]
        np.exp(p, out=p)
        total = np.sum(p, axis=1)
        p /= total[:, None]
        np.multiply(p, -self.shares[:, None], out=theta)
        theta[self.places] = 0.0
        theta[self.places] = -np.sum(theta, axis=1)
        return float(self.shares @ (np.log(total) - own))

    def adjoint(self) -> tuple[Floats, Floats]:
        """Return X^T theta for centred rows, (d, k), and the sums of theta over the rows."""
        total, result = np.sum(self.theta, axis=0), self._adjoint(self.theta)
        result -= np.multiply.outer(self.mean, total)
        return result, total

    def _adjoint(self, theta: Array, *, squared: bool = False) -> Floats:
        """Return X^T theta, or the same with the squares of the entries of X."""
        result = np.zeros((self.features, self.count))
        blocks = self.design.blocks(self.selected, self.height)
        if blocks is None:
            add = add_hess_diag_classes if squared else add_adjoint_classes
            add(self.rows, self.selected, theta, result)
        else:
            for part, values in blocks:
                result += (values * values if squared else values).T @ theta[part]
        return result

    def hess_product(self, weights: Array, intercept: Array, change: Array) -> tuple[Floats, Floats]:
        """Return the Hessian of R times a direction; the change of the scores along it is written into ``change``."""
        result, total = np.zeros((self.features, self.count)), np.zeros(self.count)
        change[:] = intercept - self.mean @ weights
        blocks = self.design.blocks(self.selected, self.height)
        if blocks is None:
            arrays = (self.probabilities, self.shares, weights, change, result, total)
            hess_product_classes(self.rows, self.selected, *arrays)
        else:
            for part, values in blocks:
                change[part] += values @ weights
                image = self._score_hess_product(change[part], part)
                total += np.sum(image, axis=0)
                result += values.T @ image
        result -= np.multiply.outer(self.mean, total)
        return result, total

    def _score_hess_product(self, change: Array, part: slice) -> Floats:
        """Return c_i (diag(p_i) - p_i p_i^T) change_i."""
        p = self.probabilities[part]
        # sums over short rows take NumPy several times as long
        image = change - np.einsum("ij,ij->i", p, change)[:, None]
        image *= p
        image *= self.shares[part][:, None]
        return image

    def directional_derivatives(self, step: float) -> tuple[float, float]:
        """Return the first and second derivative of R along ``change``."""
        first = second = 0.0
        for start in range(0, len(self.selected), self.height):
            part = slice(start, start + self.height)
            change, shares = self.change[part], self.shares[part]
            p = step * change
            p += self.scores[part]
            p -= np.max(p, axis=1, keepdims=True)
            np.exp(p, out=p)
            p /= np.sum(p, axis=1, keepdims=True)
            mean = np.einsum("ij,ij->i", p, change)
            own = change[np.arange(len(shares)), self.classes[part]]
            first += float(shares @ (mean - own))
            p *= change
            second += float(shares @ (np.einsum("ij,ij->i", p, change) - mean**2))
        return first, second

    def hess_diag(self) -> Floats:
        """Return c_i p_ij (1 - p_ij), the diagonal of the Hessian in the scores, (n, k)."""
        hess = 1.0 - self.probabilities
        hess *= self.probabilities
        hess *= self.shares[:, None]
        return hess

    def weights_hess_diag(self, hess: Array) -> Floats:
        """Return the diagonal of the Hessian of R in the weights, (d, k), from that in the scores."""
        result = self._adjoint(hess, squared=True)
        offset = np.multiply.outer(self.mean**2, np.sum(hess, axis=0))
        if np.any(offset > _MEAN_SHARE * result):
            # (x - m)^2 = x^2 + m^2 - 2 m x, bounded from below by its rounding error
            centred = result + offset - 2.0 * self.mean[:, None] * self._adjoint(hess)
            result = np.maximum(centred, _CANCELLATION * result)
        return result

    def dense_rows(self, positions: Array) -> Floats:
        """Return the rows at these positions, centred and followed by a one for a free intercept, as a dense array."""
        result = np.zeros((len(positions), self.features + self.free))
        blocks = self.design.blocks(self.selected[positions], self.height)
        if blocks is None:
            add_dense_rows(self.rows, self.selected[positions], result)
        else:
            for part, values in blocks:
                result[part, : self.features] = values
        result[:, : self.features] -= self.mean
        result[:, self.features :] = 1.0
        return result
