r"""The direction of a Newton step: the minimizer of a quadratic model of the smoothed objective.

.. math::
    \min_{p, r}\; g\cdot p + g_b r + \tfrac12 \begin{pmatrix}p\\r\end{pmatrix}^T H \begin{pmatrix}p\\r\end{pmatrix}
    + \lambda\rho\|w + p\|_1, \qquad
    H = \lambda(1-\rho)\begin{pmatrix}I&\\&0\end{pmatrix} + \sum_i c_i h_i \binom{x_i}{1}\binom{x_i}{1}^T

For a q-norm the identity is replaced by the Hessian of the regularizer, a diagonal plus a matrix of rank one.  Only the
active rows, those with :math:`h_i > 0`, enter H.  The linear system is solved in one of three ways:

- few features, and short rows or few active rows: H is formed and factorized;
- few features but long rows: H over a random subsample of the active rows is factorized, as preconditioner of conjugate
  gradients on H itself, which then need a handful of products;
- many features: conjugate gradients with a diagonal preconditioner.

For the elastic net (:math:`\rho > 0`) the model is minimized by ``minimize_quadratic_l1`` with H formed.

===================  ==========================================================
symbol               here
===================  ==========================================================
p, r                 the first d entries and the last entry of a direction
:math:`c_i h_i`      ``sample.hess``
H                    ``matrix`` if formed, ``times`` as a product
===================  ==========================================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.numerics.linear_algebra import RIDGE, cholesky_solver, conjugate_gradients
from fenchel.solvers.newton.sample import Sample
from fenchel.solvers.newton.sampling import in_random_order, run_length
from fenchel.solvers.quadratic_l1 import minimize_quadratic_l1

#: largest number of features for which H is formed: 4000^2 doubles take 128 MB
MOST_FEATURES = 4000
#: active rows per unknown in the subsample that makes a preconditioner, at least and at most
FEWEST_ROWS_PER_UNKNOWN, _MOST_ROWS_PER_UNKNOWN = 4, 16
#: between them the subsample takes as long as a product with H: BLAS makes this many multiplications for H in the time
#: of one of a product, which has to read X from memory
_BLAS_SPEED = 32
#: the rounding of single precision, relative to the trace, and the largest entry whose square is far from overflow
#: there; the root mean square of the norms of rows is at least its inverse
_SINGLE_ROUNDING, _LARGEST_ENTRY = float(np.finfo(np.float32).eps) / 2.0, 1e12
#: features up to which H of all active rows takes no longer than a few products with it
_FEW_FEATURES = 64
#: mean entries per row up to which H is formed from all active rows
_SHORT_ROW = 32
#: relative residual at which conjugate gradients end, and the largest number of products
_CG_TOLERANCE, _MAX_CG_PRODUCTS = 0.1, 60
#: tolerances of ``minimize_quadratic_l1``, relative to the size of the gradient
_L1_STEP_TOLERANCE, _L1_TOLERANCE = 1e-14, 1e-13


class Quadratic:
    """H over the active rows of a sample: products with it, and solutions of linear systems.

    Parameters
    ----------
    sample : Sample
        The examples, with the second derivatives in ``hess``.
    ridge : float or ndarray
        The diagonal that the regularizer adds to H.
    intercept : bool
        Whether the intercept is free.
    random : Generator
        Draws the subsample of a preconditioner.
    exact : bool
        Whether H is formed from all active rows, even where that is expensive.
    rank_one : (ndarray, float) or None
        u and k of the matrix k u u^T that the regularizer adds to H.
    """

    def __init__(
        self,
        sample: Sample,
        ridge: float | Array,
        intercept: bool,
        random: np.random.Generator,
        *,
        exact: bool,
        rank_one: tuple[Array, float] | None = None,
    ) -> None:
        self.sample, self.ridge, self.intercept, self.rank_one = sample, ridge, intercept, rank_one
        self.active = np.flatnonzero(sample.hess)
        self.size = sample.features + intercept
        #: curvature of the intercept where no row is active, so that H is regular; at most that of a loss
        self.intercept_ridge = min(float(np.mean(ridge)), 1.0) if intercept and self.active.size == 0 else 0.0
        #: rows read so far
        self.rows_read = 0
        #: whether ``matrix`` is H itself, not H of a subsample
        self.exact = exact
        self.matrix: Array | None = None
        if sample.features <= MOST_FEATURES:
            rows = self._rows_of_matrix(random)
            self.matrix = self._matrix(rows, 1.0 if self.exact else len(self.active) / len(rows))

    def _rows_of_matrix(self, random: np.random.Generator) -> Array:
        """Return the active rows that enter ``matrix``."""
        design = self.sample.design
        short = design.stored_entries <= _SHORT_ROW * design.shape[0] or self.sample.features <= _FEW_FEATURES
        affordable = _BLAS_SPEED * len(self.active) // max(1, self.sample.features)
        count = max(FEWEST_ROWS_PER_UNKNOWN * self.size, min(_MOST_ROWS_PER_UNKNOWN * self.size, affordable))
        self.exact = self.exact or short or len(self.active) <= 2 * count
        if self.exact:
            return self.active
        length = run_length(design)
        if length > 1:
            return np.sort(in_random_order(self.active, length, random)[:count])
        return np.sort(random.choice(self.active, count, replace=False))

    def _matrix(self, rows: Array, scale: float) -> Floats:
        gram, border = self.sample.gram(rows, single=self._in_single_precision())
        self.rows_read += len(rows)
        features = self.sample.features
        matrix = np.ascontiguousarray(gram)
        if self.intercept:
            matrix = np.empty((self.size, self.size))
            matrix[:features, :features] = gram
        matrix[np.arange(features), np.arange(features)] += self.ridge / scale
        if self.rank_one is not None:
            vector, factor = self.rank_one
            matrix[:features, :features] += np.outer(vector, (factor / scale) * vector)
        if self.intercept:
            matrix[features, :features] = matrix[:features, features] = border
            matrix[features, features] = float(np.sum(self.sample.hess[rows])) + self.intercept_ridge / scale
        if scale != 1.0:
            matrix *= scale
        return matrix

    def _in_single_precision(self) -> bool:
        """Return whether ``matrix`` may be summed in single precision: its rounding is then below the ridge.

        Smaller eigenvalues of H would be lost, and a preconditioner without them makes conjugate gradients slow.
        """
        if self.exact:
            return False
        design = self.sample.design
        trace = design.mean_square * float(np.sum(self.sample.hess))
        ordinary = design.largest_entry <= _LARGEST_ENTRY and design.mean_square >= _LARGEST_ENTRY**-2
        return ordinary and float(np.min(self.ridge)) >= _SINGLE_ROUNDING * trace

    def solve(self, right: Array) -> Floats:
        """Return H^-1 right, exactly or by preconditioned conjugate gradients."""
        if self.matrix is not None:
            solve = cholesky_solver(self.matrix)
            if self.exact:
                return solve(right)
        else:
            diagonal = np.ones(self.size)
            # the exact diagonal of H costs as much as a product, and rows of text have similar norms: a constant is
            # enough for the weights
            diagonal[: self.sample.features] = self.ridge
            if self.intercept:
                diagonal[-1] = float(np.sum(self.sample.hess)) + self.intercept_ridge

            def solve(residual: Array) -> Array:
                return residual / diagonal

        found = conjugate_gradients(self.times, right, solve, tolerance=_CG_TOLERANCE, max_products=_MAX_CG_PRODUCTS)
        return found if np.any(found) else solve(right)

    def times(self, direction: Array) -> Floats:
        """Return H times a direction."""
        features = self.sample.features
        weights, intercept = direction[:features], float(direction[features]) if self.intercept else 0.0
        product, total = self.sample.hess_product(self.active, weights, intercept)
        self.rows_read += 2 * len(self.active)
        product = product + self.ridge * weights
        if self.rank_one is not None:
            product += (self.rank_one[1] * float(self.rank_one[0] @ weights)) * self.rank_one[0]
        return np.append(product, total + self.intercept_ridge * intercept) if self.intercept else product

    def solve_with_l1(self, gradient: Array, weights: Array, threshold: float) -> Floats:
        """Return the minimizer of the model with ``threshold * |w + p|_1``."""
        assert self.matrix is not None and self.exact
        features, matrix = self.sample.features, self.matrix
        diagonal = np.diagonal(matrix)
        matrix[np.arange(self.size), np.arange(self.size)] += RIDGE * np.max(diagonal)
        point = np.zeros(self.size)
        point[:features] = weights
        thresholds = np.zeros(self.size)
        thresholds[:features] = threshold
        start, scale = point.copy(), float(np.max(np.abs(gradient))) + threshold
        # a small mu makes H large: rounding errors of w alone then change H w by more than the tolerances
        rounding = 4.0 * EPS * float(np.max(np.abs(matrix) @ np.abs(point)))
        minimize_quadratic_l1(
            matrix,
            thresholds,
            point,
            gradient.copy(),
            step_tolerance=_L1_STEP_TOLERANCE * scale + rounding,
            tolerance=_L1_TOLERANCE * scale + rounding,
        )
        return point - start
