r"""The RBF kernel :math:`K(x, z) = \exp(-\gamma\|x - z\|^2)` between rows, to the accuracy of floats wherever they are.

Matrix products make it fast, :math:`\|x - z\|^2 = \|x\|^2 + \|z\|^2 - 2\,x\cdot z`, with an error of about
:math:`\epsilon(\|x\|^2 + \|z\|^2)`: for rows far from the origin nothing is left of their distance, and a matrix of
such values is not positive semi-definite.  So dense rows far from the origin are taken from their mean, and what is
too rough even so (distant clusters, outliers, sparse rows, which have to stay sparse) is computed from the differences
of the rows themselves, unless the kernel is zero anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)
#: gamma |z|^2 from which on dense rows are taken from their mean
_FAR = 1e3
#: errors of gamma |x - z|^2 that are left as they are
_ROUGH = 1e-12
#: exp(-40) is below the accuracy of the kernel's largest value
_NOTHING = 40.0
#: sparse rows stay sparse in differences if fewer than one entry in so many is stored
_FEW = 8
#: entries of differences that are worked on at once (8 MB)
_AT_ONCE = 1 << 20


class Radial:
    """The kernel between any rows and those of Z."""

    def __init__(self, Z: Any, gamma: float) -> None:
        self.Z, self.gamma = Z, gamma
        self._origin: NDArray[np.float64] | None = None
        self._near, self._squares = Z, self._lengths(Z)
        if not sp.issparse(Z) and np.max(self._squares, initial=0.0) > _FAR:
            self._origin = np.mean(Z, axis=0)
            self._near = Z - self._origin
            self._squares = self._lengths(self._near)

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """K(x, z), a row for each x."""
        if self._origin is None:
            return self._between(X, X, self._lengths(X))
        near = (X.toarray() if sp.issparse(X) else X) - self._origin
        return self._between(X, near, self._lengths(near))

    def rows(self, examples: NDArray) -> NDArray[np.float64]:
        """The same for some of the rows of Z."""
        return self._between(self.Z[examples], self._near[examples], self._squares[examples])

    def gram(self) -> NDArray[np.float64]:
        """The same for all of them."""
        found = self._between(self.Z, self._near, self._squares)
        np.fill_diagonal(found, 1.0)
        return found

    def _lengths(self, X: Any) -> NDArray[np.float64]:
        """gamma |x|^2 of each row."""
        with np.errstate(over="ignore"):
            squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
            return self.gamma * np.asarray(squares, dtype=np.float64).ravel()

    def _between(self, X: Any, near: Any, squares: NDArray) -> NDArray[np.float64]:
        # 1. 2 gamma x.z - gamma |x|^2 - gamma |z|^2, in place
        with np.errstate(over="ignore", invalid="ignore"):
            found = near @ self._near.T
            found = np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)
            found *= 2.0 * self.gamma
            found -= squares[:, None]
            found -= self._squares
        # 2. what is rough in this and may be near zero
        most = np.max(self._squares, initial=0.0)
        for i in np.flatnonzero(~(_EPS * (squares + most) <= _ROUGH)):
            rough = _EPS * (squares[i] + self._squares)
            sure = (rough <= _ROUGH) | (found[i] < -_NOTHING - (X.shape[1] + 4.0) * rough)
            self._differences(X[i : i + 1], np.flatnonzero(~sure), found[i])
        # 3. the kernel
        np.minimum(found, 0.0, out=found)
        return np.exp(found, out=found)

    def _differences(self, x: Any, others: NDArray, found: NDArray) -> None:
        """-gamma |x - z|^2 for one row x and those rows z, from their differences."""
        entries = x.shape[1]
        # rows with few zeros are faster without them
        sparse = sp.issparse(self.Z) and _FEW * self.Z.nnz < self.Z.shape[0] * entries
        if sparse:
            x = sp.csr_array(x)
            entries = x.nnz + self.Z.nnz // self.Z.shape[0]
        else:
            x = x.toarray() if sp.issparse(x) else x
        step = max(1, _AT_ONCE // max(1, entries))
        for begin in range(0, len(others), step):
            some = others[begin : begin + step]
            apart = self.Z[some]
            if sparse:
                apart = sp.csr_array(apart) - x[np.zeros(len(some), dtype=np.int64)]
            else:
                apart = (apart.toarray() if sp.issparse(apart) else apart) - x
            found[some] = -self._lengths(apart)
