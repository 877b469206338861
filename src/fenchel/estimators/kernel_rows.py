"""Rows of the Gram matrix of training examples, for a matrix that is not kept in memory (``designs.cached_gram``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.designs import CachedGram, GramDesign
from fenchel.designs.cached_gram import sample_of
from fenchel.designs.gram import rounding_shift
from fenchel.errors import FenchelError

#: examples whose kernel values among each other are computed for the diagonal
_TOGETHER = 32

Values = Callable[[Any, Any], NDArray]


class KernelRows:
    """The kernel between some of the examples and all, by ``values``; for an RBF by squared lengths known before."""

    def __init__(self, values: Values, X: Any, gamma: float | None = None) -> None:
        self.values, self.X, self.gamma = values, X, gamma
        if gamma is not None:
            squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
            self.squares = gamma * np.asarray(squares, dtype=np.float64).ravel()

    def __call__(self, examples: NDArray) -> NDArray[np.float64]:
        if self.gamma is None:
            return self.values(self.X[examples], self.X)
        # exp(2 gamma x.z - gamma |x|^2 - gamma |z|^2), in place
        found = self.X[examples] @ self.X.T
        found = np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)
        found *= 2.0 * self.gamma
        found -= self.squares[examples][:, None]
        found -= self.squares
        np.minimum(found, 0.0, out=found)
        return np.exp(found, out=found)

    def diagonal(self) -> NDArray[np.float64]:
        """The kernel of each example with itself."""
        n = self.X.shape[0]
        if self.gamma is not None:
            return np.ones(n)
        result = np.empty(n)
        for begin in range(0, n, _TOGETHER):
            some = self.X[begin : begin + _TOGETHER]
            found, count = self.values(some, some), some.shape[0]
            if found.shape != (count, count):
                raise FenchelError(f"kernel must return a matrix of shape {(count, count)}, got {found.shape}")
            result[begin : begin + _TOGETHER] = np.diagonal(found)
        return result


def cached_gram(rows: KernelRows, megabytes: float, *, named: bool) -> CachedGram:
    """The Gram matrix behind these rows.  A kernel that has no name is looked at on a sample of the examples."""
    diagonal = rows.diagonal()
    if not named and np.all(np.isfinite(diagonal)):
        some = rows.X[sample_of(len(diagonal), megabytes)]
        sample = GramDesign(rows.values(some, some))
        if sample.definite() is not sample:
            # the values are rounded to float32, and all of them are shifted as those of a matrix in memory
            diagonal = diagonal + rounding_shift(diagonal, np.float32)
    return CachedGram(rows, diagonal, megabytes, checked=not named)
