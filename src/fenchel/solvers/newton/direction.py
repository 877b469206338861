r"""The direction of a Newton step: a quadratic model of the smoothed objective, minimized.

.. math::
    \min_{p, r}\; g\cdot p + g_b r + \tfrac12 \begin{pmatrix}p\\r\end{pmatrix}^T H \begin{pmatrix}p\\r\end{pmatrix}
    + \lambda\rho\|w + p\|_1, \qquad
    H = \lambda(1-\rho)\begin{pmatrix}I&\\&0\end{pmatrix} + \sum_i c_i h_i \binom{x_i}{1}\binom{x_i}{1}^T

For a q-norm its second derivative stands in the place of the identity: a diagonal, and a vector with a factor
(``across``).
Only rows with :math:`h_i > 0`, the band, enter H.  Three ways, by what they cost:

- few features and short rows or a narrow band: form H and factorize it;
- few features but long rows: the same for a random sample of the band, as preconditioner of conjugate gradients on
  the whole of it, which then need a handful of products;
- many features: conjugate gradients with the diagonal as preconditioner.

With an absolute value (:math:`\rho > 0`) the model is minimized exactly over H by descent along single coordinates
and full steps on the face of the signs that they find.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fenchel.numerics.linear_algebra import RIDGE, factorized
from fenchel.solvers.newton.sample import Sample
from fenchel.solvers.quadratic_l1 import settle

#: up to so many features H is formed
MOST_FEATURES = 4000
#: rows of the band per feature that make a good preconditioner
_SKETCH = 4
#: rows with fewer entries are cheap enough to use them all
_SHORT = 32
#: conjugate gradients end at this share of the first residual, or after so many products
_RESIDUAL, _PRODUCTS = 0.1, 60


class Quadratic:
    """H over the band of a sample: its products, and solutions with it."""

    def __init__(
        self,
        sample: Sample,
        square: float | NDArray,
        intercept: bool,
        random: np.random.Generator,
        *,
        whole: bool,
        across: tuple[NDArray, float] | None = None,
    ) -> None:
        self.sample, self.square, self.intercept, self.across = sample, square, intercept, across
        self.band = np.flatnonzero(sample.bend)
        self.size = sample.features + intercept
        #: stands in for a curvature of the intercept that is not there at all; no larger than that of a loss
        self.stand_in = min(float(np.mean(square)), 1.0) if intercept and self.band.size == 0 else 0.0
        #: data passes used, in rows
        self.visited = 0
        #: whether H is made of the whole band, not of a sample of it
        self.whole = whole
        self.matrix: NDArray | None = None
        if sample.features <= MOST_FEATURES:
            chosen = self._chosen(random)
            self.matrix = self._matrix(chosen, 1.0 if self.whole else len(self.band) / len(chosen))

    def _chosen(self, random: np.random.Generator) -> NDArray:
        """The rows of which H, or its preconditioner, is made."""
        design = self.sample.design
        count = _SKETCH * self.size
        short = design.stored_entries <= _SHORT * design.shape[0]
        self.whole = self.whole or short or len(self.band) <= 2 * count
        if self.whole:
            return self.band
        return np.sort(random.choice(self.band, count, replace=False))

    def _matrix(self, chosen: NDArray, scale: float) -> NDArray[np.float64]:
        gram, border = self.sample.gram(chosen)
        self.visited += len(chosen)
        features = self.sample.features
        matrix = np.empty((self.size, self.size))
        matrix[:features, :features] = gram
        matrix[np.arange(features), np.arange(features)] += self.square / scale
        if self.across is not None:
            vector, factor = self.across
            matrix[:features, :features] += np.outer(vector, (factor / scale) * vector)
        if self.intercept:
            matrix[features, :features] = matrix[:features, features] = border
            matrix[features, features] = float(np.sum(self.sample.bend[chosen])) + self.stand_in / scale
        matrix *= scale
        return matrix

    def solve(self, right: NDArray) -> NDArray[np.float64]:
        """H^-1 right, exactly or by preconditioned conjugate gradients."""
        if self.matrix is not None:
            apply = factorized(self.matrix)
            return apply(right) if self.whole else self._conjugate_gradients(right, apply)
        squares = np.ones(self.size)
        squares[: self.sample.features] = self.square
        # the diagonal of H costs as much as a product, and rows of text have about equal norms: the mean will do
        if self.intercept:
            squares[-1] = float(np.sum(self.sample.bend)) + self.stand_in
        return self._conjugate_gradients(right, lambda residual: residual / squares)

    def times(self, direction: NDArray) -> NDArray[np.float64]:
        """H direction."""
        features = self.sample.features
        weights, intercept = direction[:features], float(direction[features]) if self.intercept else 0.0
        product, total = self.sample.bend_along(self.band, weights, intercept)
        self.visited += 2 * len(self.band)
        product = product + self.square * weights
        if self.across is not None:
            product += (self.across[1] * float(self.across[0] @ weights)) * self.across[0]
        return np.append(product, total + self.stand_in * intercept) if self.intercept else product

    def _conjugate_gradients(self, right: NDArray, apply: Callable[[NDArray], NDArray]) -> NDArray[np.float64]:
        solution, residual = np.zeros(self.size), right.copy()
        conditioned = apply(residual)
        direction, product = conditioned, float(residual @ conditioned)
        first = product
        for _ in range(_PRODUCTS):
            curved = self.times(direction)
            bend = float(direction @ curved)
            if not bend > 0.0:
                break
            step = product / bend
            solution += step * direction
            residual = residual - step * curved
            conditioned = apply(residual)
            before, product = product, float(residual @ conditioned)
            if not product > _RESIDUAL**2 * first:
                break
            direction = conditioned + (product / before) * direction
        return solution if np.any(solution) else apply(right)

    def solve_with_threshold(self, gradient: NDArray, weights: NDArray, threshold: float) -> NDArray[np.float64]:
        """Minimize the model with ``threshold * |w + p|_1``."""
        assert self.matrix is not None and self.whole
        features, matrix = self.sample.features, self.matrix
        diagonal = np.diagonal(matrix)
        matrix[np.arange(self.size), np.arange(self.size)] += RIDGE * np.max(diagonal)
        point = np.zeros(self.size)
        point[:features] = weights
        slope = gradient.copy()
        limits = np.zeros(self.size)
        limits[:features] = threshold
        start, scale = point.copy(), float(np.max(np.abs(gradient))) + threshold
        settle(matrix, limits, point, slope, 1e-14 * scale, 1e-13 * scale)
        return point - start
