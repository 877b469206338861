r"""RBF kernel :math:`K(x, z) = \exp(-\gamma\|x - z\|^2)`, accurate also far from the origin.

Matrix products make it fast, :math:`\|x - z\|^2 = \|x\|^2 + \|z\|^2 - 2\,x\cdot z`, with an error of about
:math:`\epsilon(\|x\|^2 + \|z\|^2)`: for rows far from the origin the distance cancels, and a matrix of such
values is not positive semi-definite.  So dense rows far from the origin are centred, and entries that are still
inaccurate (distant clusters, outliers, sparse rows, which must stay sparse) are computed from the differences of the
rows, unless the kernel is negligible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.numerics.linear_algebra import mirror_lower_triangle
from fenchel.numerics.rounding import ELEMENTARY

#: gamma |z|^2 above which dense rows are centred
_CENTRE_ABOVE = 1e3
#: error of gamma |x - z|^2, and so relative error of the kernel, that is accepted
_EXPONENT_TOLERANCE = 1e-12
#: gamma |x - z|^2 from which the kernel, at most exp(-40) = 4e-18, is below the rounding of 1
_NEGLIGIBLE_EXPONENT = 40.0
#: differences are sparse if fewer than 1/8 of the entries are stored
_SPARSE_BELOW = 8
#: entries of a temporary block of differences (8 MB)
_BLOCK_ENTRIES = 1 << 20
#: entries of a block of a Gram matrix, which stays in the cache (2 MB)
_GRAM_ENTRIES = 1 << 18
#: sparse rows are multiplied as dense ones if more than 1/20 of the entries are stored: BLAS is so much faster
_DENSE_ABOVE = 20

#: and some at a time with all if more than 1/10 are stored
_DENSE_ROWS = 10


class Radial:
    """The kernel between any rows and those of Z."""

    def __init__(self, Z: Any, gamma: float) -> None:
        self.Z, self.gamma = Z, gamma
        self._origin: Floats | None = None
        #: sparse rows as a dense array, for ``rows``
        self._dense: Floats | None = None
        self._centred, self._squares = Z, self._squared_norms(Z)
        if not sp.issparse(Z) and np.max(self._squares, initial=0.0) > _CENTRE_ABOVE:
            self._origin = np.mean(Z, axis=0)
            self._centred = Z - self._origin
            self._squares = self._squared_norms(self._centred)

    def __call__(self, X: Any) -> Floats:
        """K(x, z), a row for each x."""
        if self._origin is None:
            return self._between(X, X, self._squared_norms(X))
        centred = (X.toarray() if sp.issparse(X) else X) - self._origin
        return self._between(X, centred, self._squared_norms(centred))

    def densify(self, megabytes: float) -> float:
        """Multiply sparse rows as dense ones where that is faster and takes at most this memory; what it takes."""
        if not sp.issparse(self.Z) or self._dense is not None:
            return 0.0
        entries = self.Z.shape[0] * self.Z.shape[1]
        if _DENSE_ROWS * self.Z.nnz < entries or 8 * entries > megabytes * 2**20:
            return 0.0
        self._dense = self.Z.toarray()
        return 8 * entries / 2**20

    def rows(self, examples: Array) -> Floats:
        """K(x, z) for some of the rows of Z as x."""
        left: Any = self._centred if self._dense is None else self._dense
        some = left[examples]
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(left) and some.shape[0] * some.shape[1] <= _BLOCK_ENTRIES:
                # SciPy would look for common columns in a product of two sparse matrices
                products = (left @ np.ascontiguousarray(some.toarray().T)).T
            else:
                products = some @ left.T
            return self._from_products(products, self.Z, examples, self._squares[examples], slice(None))

    def gram(self) -> Floats:
        """K(x, z) for all rows of Z as x; a block of rows needs the columns up to its diagonal only."""
        n, left, right = self.Z.shape[0], self._centred, self._centred.T
        if sp.issparse(left) and left.shape[1] <= n:
            # not larger than K; products of a sparse with a dense matrix need no search for common columns
            right = np.ascontiguousarray(left.toarray().T)
            if _DENSE_ABOVE * left.nnz > left.shape[0] * left.shape[1]:
                left = np.ascontiguousarray(right.T)
        found = np.empty((n, n))
        step = max(1, _GRAM_ENTRIES // n)
        block = np.empty(step * n)
        for begin in range(0, n, step):
            end = min(begin + step, n)
            rows, columns = slice(begin, end), slice(0, end)
            with np.errstate(over="ignore", invalid="ignore"):
                if sp.issparse(left):
                    # SciPy would copy some of the columns
                    products = (left[rows] @ right)[:, columns]
                else:
                    room = block[: (end - begin) * end].reshape(-1, end)
                    products = np.matmul(left[rows], right[:, columns], out=room)
            found[rows, columns] = self._from_products(
                products, self.Z, np.arange(begin, end), self._squares[rows], columns
            )
        np.fill_diagonal(found, 1.0)
        mirror_lower_triangle(found)
        return found

    @property
    def entry_roundings(self) -> float:
        """A bound on the relative errors of the kernel between rows of Z, in units of u.

        The exponent is off by (m + 4) u (gamma |x|^2 + gamma |z|^2); where this is too much it is computed from the
        differences of the rows, or the kernel is below u.
        """
        sizes = min(2.0 * float(np.max(self._squares, initial=0.0)), _EXPONENT_TOLERANCE / EPS)
        return (most_terms(self.Z) + 4.0) * sizes + ELEMENTARY

    def _squared_norms(self, X: Any) -> Floats:
        """gamma |x|^2 of each row."""
        with np.errstate(over="ignore"):
            squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
            return self.gamma * np.asarray(squares, dtype=np.float64).ravel()

    def _between(self, X: Any, centred: Any, squares: Array) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._from_products(centred @ self._centred.T, X, np.arange(X.shape[0]), squares, slice(None))

    def _from_products(self, products: Any, X: Any, examples: Array, squares: Array, columns: slice) -> Floats:
        """K(x, z) for some rows x of X and the z in ``columns``, from products of centred rows; may overwrite them."""
        found: Floats = np.asarray(products.toarray() if sp.issparse(products) else products, dtype=np.float64)
        own = self._squares[columns]
        # 1. 2 gamma x.z - gamma |x|^2 - gamma |z|^2, in place
        with np.errstate(over="ignore", invalid="ignore"):
            found *= 2.0 * self.gamma
            found -= squares[:, None]
            found -= own
        # 2. entries that are inaccurate and not negligible
        most = np.max(own, initial=0.0)
        for i in np.flatnonzero(~(EPS * (squares + most) <= _EXPONENT_TOLERANCE)):
            error = EPS * (squares[i] + own)
            features = self.Z.shape[1] + 4.0
            accurate = (error <= _EXPONENT_TOLERANCE) | (found[i] < -_NEGLIGIBLE_EXPONENT - features * error)
            self._differences(X[examples[i] : examples[i] + 1], np.flatnonzero(~accurate), found[i])
        # 3. the kernel
        np.minimum(found, 0.0, out=found)
        return np.exp(found, out=found)

    def _differences(self, x: Any, others: Array, found: Array) -> None:
        """-gamma |x - z|^2 for one row x and those rows z, from their differences."""
        entries = x.shape[1]
        # rows with few zeros are faster as dense arrays
        sparse = sp.issparse(self.Z) and _SPARSE_BELOW * self.Z.nnz < self.Z.shape[0] * entries
        if sparse:
            x = sp.csr_array(x)
            entries = x.nnz + self.Z.nnz // self.Z.shape[0]
        else:
            x = x.toarray() if sp.issparse(x) else x
        step = max(1, _BLOCK_ENTRIES // max(1, entries))
        for begin in range(0, len(others), step):
            block = others[begin : begin + step]
            differences = self.Z[block]
            if sparse:
                differences = sp.csr_array(differences) - x[np.zeros(len(block), dtype=np.int64)]
            else:
                differences = (differences.toarray() if sp.issparse(differences) else differences) - x
            found[block] = -self._squared_norms(differences)


def most_terms(Z: Any) -> int:
    """The largest number m of terms that are not zero in a sum over the features of two rows."""
    if not sp.issparse(Z) or Z.format != "csr":
        return int(Z.shape[1])
    return int(min(Z.shape[1], 2 * np.max(np.diff(Z.indptr), initial=0)))
