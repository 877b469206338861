"""Rows of the Gram matrix of a kernel, and the whole of it, from the examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.kernels.rbf import Radial, most_terms
from fenchel.numerics.rounding import ELEMENTARY, gamma

#: examples per kernel call for the diagonal
_DIAGONAL_BLOCK = 32

Values = Callable[[Any, Any], Array]


class KernelRows:
    """The kernel between some examples and all: ``values``, or precomputed norms for an RBF kernel.

    ``degree`` is that of a polynomial kernel; a custom kernel is taken to be as accurate as a linear one.
    """

    def __init__(self, values: Values, X: Any, gamma: float | None = None, degree: float = 1.0) -> None:
        self.values, self.X, self.degree = values, X, degree
        self.radial = None if gamma is None else Radial(X, gamma)

    @property
    def entry_roundings(self) -> float:
        """Roundings of sqrt(K_ii K_jj) in an entry: those of a product of two rows, times the degree."""
        if self.radial is not None:
            return self.radial.entry_roundings
        return self.degree * (most_terms(self.X) + 4.0) + ELEMENTARY

    @property
    def entry_error(self) -> float:
        """``entry_roundings`` as a number relative to sqrt(K_ii K_jj)."""
        return gamma(self.entry_roundings)

    def __call__(self, examples: Array) -> Floats:
        return self.values(self.X[examples], self.X) if self.radial is None else self.radial.rows(examples)

    def whole(self) -> Floats:
        """The kernel between all examples."""
        return self.values(self.X, self.X) if self.radial is None else self.radial.gram()

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
