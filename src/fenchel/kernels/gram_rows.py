"""Rows of a Gram matrix that is not in memory, computed for ``kernels.cached_gram``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.kernels.cached_gram import CachedGram, sample_of
from fenchel.kernels.gram import GramDesign, rounding_shift
from fenchel.kernels.rbf import Radial

#: examples per kernel call for the diagonal
_DIAGONAL_BLOCK = 32

Values = Callable[[Any, Any], Array]


class KernelRows:
    """The kernel between some examples and all: ``values``, or precomputed norms for an RBF kernel."""

    def __init__(self, values: Values, X: Any, gamma: float | None = None) -> None:
        self.values, self.X = values, X
        self.radial = None if gamma is None else Radial(X, gamma)

    def __call__(self, examples: Array) -> Floats:
        return self.values(self.X[examples], self.X) if self.radial is None else self.radial.rows(examples)

    def diagonal(self) -> Floats:
        """The kernel of each example with itself."""
        n = self.X.shape[0]
        if self.radial is not None:
            return np.ones(n)
        result = np.empty(n)
        for begin in range(0, n, _DIAGONAL_BLOCK):
            some = self.X[begin : begin + _DIAGONAL_BLOCK]
            found, count = self.values(some, some), some.shape[0]
            if found.shape != (count, count):
                raise FenchelError(f"kernel must return a matrix of shape {(count, count)}, got {found.shape}")
            result[begin : begin + _DIAGONAL_BLOCK] = np.diagonal(found)
        return result


def cached_gram(rows: KernelRows, megabytes: float, *, named: bool) -> CachedGram:
    """The cached Gram matrix of these rows.  A custom kernel is checked on a sample of the examples."""
    diagonal = rows.diagonal()
    if not named and np.all(np.isfinite(diagonal)):
        some = rows.X[sample_of(len(diagonal), megabytes)]
        sample = GramDesign(rows.values(some, some))
        if sample.definite() is not sample:
            # the values are rounded to float32: shift the diagonal as ``definite`` does for a matrix in memory
            diagonal = diagonal + rounding_shift(diagonal, np.float32)
    return CachedGram(rows, diagonal, megabytes, checked=not named)
