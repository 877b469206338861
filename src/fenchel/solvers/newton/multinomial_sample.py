r"""A sample of the examples with all sums that Newton's method on the multinomial risk needs over it.

Rows are centred where intercepts are free, :math:`\tilde x_i = x_i - m` with m the mean of the rows, without being
copied: then intercepts and weights hardly depend on each other.

===============================  ===========================================================
symbol                           here
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
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.solvers.newton.loop_multinomial import bend_classes, multiply_classes, pull_classes, square_classes, unpack

#: numbers of a block of rows that BLAS works on: it stays in the cache for the products after it
_BLOCK = 1 << 17
_FEWEST_ROWS = 256
#: share of the mean in the squares of a feature from which on it is taken off
_OFFSET = 0.1
#: relative accuracy of such a difference
_CANCELLED = 1e-12


class SoftmaxSample:
    """Some rows of a problem, and sums over them."""

    def __init__(self, problem: Problem, selected: NDArray, mean: NDArray) -> None:
        self.design, self.rows, self.selected, self.mean = problem.design, problem.design.rows(), selected, mean
        self.classes = problem.multiclass_risk.classes[selected]
        shares = problem.risk.shares[selected]
        self.shares = shares / np.sum(shares)
        self.features, self.count = self.design.shape[1], problem.multiclass_risk.outputs
        shape = (len(selected), self.count)
        self.scores, self.change = np.zeros(shape), np.zeros(shape)
        self.probabilities, self.theta = np.zeros(shape), np.zeros(shape)
        self.places = np.arange(len(selected)), self.classes
        self.height = max(_FEWEST_ROWS, _BLOCK // max(self.features, self.count))

    def multiply(self, weights: NDArray, intercept: NDArray, result: NDArray) -> None:
        """The scores of centred rows into ``result``."""
        result[:] = intercept - self.mean @ weights
        blocks = self.design.blocks(self.selected, self.height)
        if blocks is None:
            multiply_classes(self.rows, self.selected, weights, result)
            return
        for part, values in blocks:
            result[part] += values @ weights

    def look(self) -> float:
        """Probabilities and dual point at the present scores; R."""
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

    def pull(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Theta times the centred rows, (d, k), and its sums."""
        total, result = np.sum(self.theta, axis=0), self._adjoint(self.theta)
        result -= np.multiply.outer(self.mean, total)
        return result, total

    def _adjoint(self, theta: NDArray) -> NDArray[np.float64]:
        result = np.zeros((self.features, self.count))
        blocks = self.design.blocks(self.selected, self.height)
        if blocks is None:
            pull_classes(self.rows, self.selected, theta, result)
        else:
            for part, values in blocks:
                result += values.T @ theta[part]
        return result

    def bend_along(
        self, weights: NDArray, intercept: NDArray, change: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The Hessian of R times a direction; the change of the scores along it goes into ``change``."""
        result, total = np.zeros((self.features, self.count)), np.zeros(self.count)
        change[:] = intercept - self.mean @ weights
        blocks = self.design.blocks(self.selected, self.height)
        if blocks is None:
            arrays = (self.probabilities, self.shares, weights, change, result, total)
            bend_classes(self.rows, self.selected, *arrays)
        else:
            for part, values in blocks:
                change[part] += values @ weights
                bent = self._bent(change[part], part)
                total += np.sum(bent, axis=0)
                result += values.T @ bent
        result -= np.multiply.outer(self.mean, total)
        return result, total

    def _bent(self, change: NDArray, part: slice) -> NDArray[np.float64]:
        p = self.probabilities[part]
        bent = p * change
        bent -= p * np.sum(bent, axis=1, keepdims=True)
        bent *= self.shares[part][:, None]
        return bent

    def slope_along(self, step: float) -> tuple[float, float]:
        """First and second derivative of R along ``change``."""
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

    def curvature(self) -> NDArray[np.float64]:
        """c p (1 - p) for every example and class."""
        bend = 1.0 - self.probabilities
        bend *= self.probabilities
        bend *= self.shares[:, None]
        return bend

    def squares(self, bend: NDArray) -> NDArray[np.float64]:
        """The diagonal of the Hessian of R for the weights, (d, k), from the curvatures."""
        result = np.zeros((self.features, self.count))
        blocks = self.design.blocks(self.selected, self.height)
        if blocks is None:
            square_classes(self.rows, self.selected, bend, result)
        else:
            for part, values in blocks:
                result += (values * values).T @ bend[part]
        offset = np.multiply.outer(self.mean**2, np.sum(bend, axis=0))
        if np.any(offset > _OFFSET * result):
            # of (x - m)^2, without what rounding leaves of it
            centred = result + offset - 2.0 * self.mean[:, None] * self._adjoint(bend)
            result = np.maximum(centred, _CANCELLED * result)
        return result

    def unpacked(self, chosen: NDArray) -> NDArray[np.float64]:
        """The rows at these positions, centred, with a one at the end."""
        result = np.zeros((len(chosen), self.features + 1))
        blocks = self.design.blocks(self.selected[chosen], self.height)
        if blocks is None:
            unpack(self.rows, self.selected[chosen], result)
        else:
            for part, values in blocks:
                result[part, : self.features] = values
        result[:, : self.features] -= self.mean
        result[:, self.features] = 1.0
        return result
