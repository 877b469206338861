r"""The design of a kernel model: the Gram matrix K of the training examples.

A kernel model is linear in features :math:`\phi(x)` that are not computed: :math:`K = \Phi\Phi^T`.  Its weights are
combinations of the examples' features, :math:`w = \Phi^T a`, and are represented by their coefficients a, one for each
example (and output).  In these coordinates

.. math:: \text{scores}(a) = \Phi w = Ka, \qquad \text{adjoint}(\theta) = \theta, \qquad \|w\|^2 = a^T K a

The last is the regularizer ``kernels.GramNorm``.  The row norms of this design are those of K, since its products are
sums over rows of K and round like them; ``diagonal`` has the squared norms of the features.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs.base import Design
from fenchel.designs.dense import DenseDesign
from fenchel.designs.enclosures import EnclosedDense
from fenchel.designs.rows import CSRRows, DenseRows, GramRows
from fenchel.errors import FenchelError
from fenchel.numerics.balls import Ball
from fenchel.numerics.linear_algebra import mirror_lower_triangle, size_and_asymmetry
from fenchel.numerics.rounding import UNIT, gamma, tree_total
from fenchel.stopping import stop_point

if TYPE_CHECKING:
    from fenchel.kernels.cached_gram import CachedGram
    from fenchel.kernels.chain_gram import ChainGram

#: rows of a block of K a
_ROWS_OF_SUMS = 8
#: covers the rounding of bounds
_UPWARDS = 1.0 + 1e-6
#: asymmetry, relative to the largest entry, that counts as rounding
_ASYMMETRY = 1e-10


class KernelDesign(Design):
    """Base class of Gram matrices as designs, in memory or computed row by row.

    A Gram matrix K is the design of a kernel model: weights are coefficients a of the training examples, scores are K
    a, and the regularizer is :class:`GramNorm` of the same matrix.

    See Also
    --------
    GramDesign : A Gram matrix in memory.
    CachedGram : A Gram matrix computed row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.kernels import GramDesign, KernelDesign
    >>> isinstance(GramDesign(np.eye(2)), KernelDesign)
    True
    """

    #: K_ii, the squared norms of the features
    diagonal: Floats
    #: a bound on |K_ij - k(x_i, x_j)| / sqrt(K_ii K_jj) where the certificate is that of the exact kernel k, which is
    #: positive semi-definite while the rounded K is not; 0 where K is what was given
    entry_error: float = 0.0

    def kernel(self) -> KernelDesign:
        return self

    def in_memory(self) -> GramDesign | None:
        """This matrix if all of it is in memory."""
        return None

    def cached(self) -> CachedGram | None:
        """This matrix if only some of its rows are kept in memory."""
        return None

    def on_demand(self) -> CachedGram | None:
        """Rows of this matrix that are computed when steps need them; None if all are in memory."""
        return None

    def complete(self) -> None:
        """Compute the whole matrix, if it is to be in memory and is not there yet."""

    def chain_gram(self) -> ChainGram | None:
        """This matrix if it is that of the tokens, pairs and ends of labelled sequences."""
        return None

    def adjoint(self, theta: Array) -> Floats:
        """X^T theta in coefficients: theta itself."""
        return np.array(np.asarray(theta, dtype=np.float64).T, order="C")

    @property
    @abc.abstractmethod
    def score_roundings(self) -> int:
        """The roundings on the way of each product K_ij a_j into a score."""

    def score_magnitudes(self, weights: Array, rows: slice) -> Floats:
        """Also at most sqrt(K_ii) times the sum of all abs(a_j) sqrt(K_jj), by the Cauchy-Schwarz inequality.

        What the errors of the entries add is counted in units of the rounding of a score.
        """
        lengths = _UPWARDS * np.sqrt(self.diagonal)
        sizes = np.multiply.outer(lengths[rows], np.abs(weights) @ lengths)
        found: Floats = np.minimum(super().score_magnitudes(weights, rows), sizes)
        return found + self.entry_error / gamma(self.score_roundings) * sizes if self.entry_error else found

    @property
    def most_score_roundings(self) -> float:
        """Those of a score, and the errors of the entries in units of a rounding of the largest row."""
        largest = self.largest_row_norm if self.entry_error else 0.0
        if not largest:
            return float(self.score_roundings)
        size = math.sqrt(float(np.max(self.diagonal)) * float(np.sum(self.diagonal))) / largest
        return self.score_roundings + _UPWARDS * self.entry_error / UNIT * size

    @property
    def adjoint_roundings(self) -> int:
        """Zero: nothing is computed."""
        return 0

    @abc.abstractmethod
    def descending(self) -> GramRows:
        """Rows for loops that keep all scores current: a step on example i adds a multiple of row i to them."""


class EnclosedGram(NamedTuple):
    """Products with a Gram matrix in memory, in ball arithmetic."""

    values: Array
    #: as in ``KernelDesign``
    entry_error: float = 0.0

    def scores(self, weights: Ball) -> Ball:
        """K a, for every K within the errors of the entries."""
        found = EnclosedDense(self.values).scores(weights)
        if not self.entry_error:
            return found
        lengths = _UPWARDS * np.sqrt(np.diagonal(self.values))
        sizes = (np.abs(weights.high) + np.abs(weights.low) + weights.radius) @ lengths
        # one product a score, or one for each output
        more = self.entry_error * (lengths * sizes if not sizes.ndim else np.multiply.outer(lengths, sizes))
        return Ball(found.high, found.low, _UPWARDS * (found.radius + more))

    def adjoint(self, theta: Ball) -> Ball:
        """X^T theta in coefficients: theta itself."""
        return theta.map(np.transpose)


class GramDesign(KernelDesign, DenseDesign):
    """Gram matrix of the training examples as a design.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        A symmetric positive semi-definite matrix.  Symmetry is checked, and asymmetry of the size of rounding is
        removed: the lower triangle counts.  Call ``definite`` to check the rest.
    entry_error : float, default=0.0
        A bound on the errors of the entries K_ij, in units of sqrt(K_ii K_jj).  With it certificates are those of the
        positive semi-definite matrix from which rounding made this one, otherwise of this one.

    See Also
    --------
    GramNorm : The regularizer that belongs to it.
    fenchel.KernelClassifier : Computes the Gram matrix of a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.kernels import GramDesign, GramNorm
    >>> from fenchel.risks import MeanRisk
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> gram = GramDesign(X @ X.T)
    >>> solve(Problem(gram, MeanRisk("squared", X[:, 0]), 0.1, GramNorm(gram))).converged
    True
    """

    def __init__(self, gram: Array, *, entry_error: float = 0.0) -> None:
        gram = np.asarray(gram)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not gram.size:
            raise FenchelError(f"gram must be a square matrix and not empty, got shape {gram.shape}")
        gram = np.ascontiguousarray(gram, dtype=np.float64)
        size, asymmetry = size_and_asymmetry(gram)
        if not np.isfinite(size):
            raise FenchelError("the Gram matrix holds NaN or infinity: repair or scale the data")
        if asymmetry > _ASYMMETRY * size:
            raise FenchelError("the Gram matrix is not symmetric: use a symmetric kernel, or (K + K.T) / 2")
        if asymmetry:
            # duality needs a^T K theta = theta^T K a; a copy, since the array may belong to the user
            gram = gram.copy()
            mirror_lower_triangle(gram)
        if np.any(np.diagonal(gram) < 0.0):
            raise FenchelError(
                "the Gram matrix has negative entries on its diagonal, so it is not positive semi-definite"
            )
        super().__init__(gram)
        self.diagonal = np.diagonal(self._values).copy()
        self.entry_error = entry_error

    def in_memory(self) -> GramDesign:
        return self

    def scores(self, weights: Array) -> Floats:
        """K a, by blocks of rows and a tree of them, which keep sums and the bound on their rounding errors short."""
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        return np.ascontiguousarray(tree_total(self._block_products(weights)).T)

    def _block_products(self, weights: Floats) -> Iterator[Floats]:
        for begin in range(0, self.shape[0], _ROWS_OF_SUMS):
            stop_point()
            rows = slice(begin, begin + _ROWS_OF_SUMS)
            yield weights[..., rows] @ self._values[rows]

    @property
    def score_roundings(self) -> int:
        blocks = -(-self.shape[0] // _ROWS_OF_SUMS)
        return min(_ROWS_OF_SUMS, self.shape[0]) + blocks.bit_length()

    def enclosure(self) -> EnclosedGram:
        return EnclosedGram(self._values, self.entry_error)

    @property
    def symmetric(self) -> bool:
        """Whether K equals its transpose exactly."""
        return np.array_equal(self._values, self._values.T)

    def reading(self) -> CSRRows:
        """Rows of the identity, for loops that keep all scores current: example i reads its own score."""
        indices: Array = np.arange(self.shape[0] + 1, dtype=np.uint32 if self.shape[0] < 2**32 - 1 else np.uint64)
        ones = np.ones(self.shape[0])
        for array in (indices, ones):
            array.flags.writeable = False
        return CSRRows(ones, indices[:-1], indices)

    def moving(self) -> DenseRows:
        """Rows of K: a step on example i adds a multiple of row i to the scores."""
        return self.rows()

    def descending(self) -> GramRows:
        """``reading`` and ``moving`` in one object."""
        return GramRows(self._values)

    def definite(self) -> GramDesign:
        """This matrix if it is positive semi-definite up to rounding, by a Cholesky factorization.

        A matrix that is positive semi-definite only to the accuracy of float32 is repaired: a shift of the size of
        that rounding is added to the diagonal.
        """
        for accuracy in (np.float64, np.float32):
            shifted = self._values.copy()
            shifted.flat[:: self.shape[0] + 1] += rounding_shift(self.diagonal, accuracy)
            if _has_factor(shifted):
                return self if accuracy is np.float64 else GramDesign(shifted)
        raise FenchelError(
            "the kernel is not positive semi-definite on these examples, so the problem is not convex. Use another "
            "kernel, or clip the negative eigenvalues of the Gram matrix"
        )


def rounding_shift(diagonal: Array, accuracy: type[np.floating]) -> float:
    """A bound on how negative rounding to this accuracy makes the eigenvalues."""
    # a random matrix of n x n roundings has eigenvalues of about sqrt(n) roundings
    rounding = max(4.0 * len(diagonal) ** 0.5 * float(np.finfo(accuracy).eps), 1e-12)
    return max(rounding * float(np.max(diagonal)), float(np.finfo(np.float64).tiny))


def _has_factor(matrix: Array) -> bool:
    from scipy.linalg import LinAlgError, cholesky

    try:
        cholesky(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return False
    return True
