"""Gram matrix that fits in memory, of which a solver may compute the rows that its steps need only.

With few support vectors most rows of K are needed by no step and no certificate.  A solver that asks for rows on demand
gets those of a ``CachedGram`` with room for all, and products with K are then sums over the rows with non-zero
coefficients.  For everything else the whole matrix is computed when it is first used.
"""

from __future__ import annotations

from functools import cached_property

from fenchel.arrays import Array, Floats
from fenchel.designs.dense import DenseDesign
from fenchel.kernels.cached_gram import CachedGram, cached_gram
from fenchel.kernels.gram import GramDesign, KernelDesign
from fenchel.kernels.kernel_rows import KernelRows

#: examples from which on rows on demand are worth their bookkeeping
_FEWEST = 2000
#: the memory of the whole matrix and of all rows in float32, in units of the former
_MEMORY = 1.5


class LazyGram(GramDesign):
    """The Gram matrix of an RBF kernel, whose rows are computed as they are needed, or all of them."""

    _direct = True

    def __init__(self, rows: KernelRows) -> None:
        self.shape = (rows.X.shape[0], rows.X.shape[0])
        self._source = rows
        # room for all rows, and for those that are computed at once
        self._rows_on_demand = cached_gram(rows, 2.0 * gram_megabytes(self.shape[0]), named=True)
        self.diagonal = self._rows_on_demand.diagonal
        self._demanded = False

    @property
    def entry_error(self) -> float:  # type: ignore[override]
        """That of the matrix in memory; the bounds of rows on demand have their own."""
        return self._source.entry_error if self._is_whole else 0.0

    @cached_property
    def _values(self) -> Floats:  # type: ignore[override]
        return GramDesign(self._source.whole()).descending().values

    @property
    def _is_whole(self) -> bool:
        return "_values" in vars(self)

    def complete(self) -> None:
        """Compute the whole matrix: its products have smaller bounds on rounding than sums of computed rows."""
        if not self._is_whole:
            _ = self._values
            # those of the bounds that rows on demand have
            vars(self).pop("row_magnitudes", None)

    def on_demand(self) -> CachedGram:
        self._demanded = True
        return self._rows_on_demand

    def scores(self, weights: Array) -> Floats:
        if self._demanded and not self._is_whole:
            return self._rows_on_demand.scores(weights)
        return super().scores(weights)

    @property
    def score_roundings(self) -> int:
        return super().score_roundings if self._is_whole else self._rows_on_demand.score_roundings

    @property
    def squared_row_norms(self) -> Floats:
        return self._norms if self._is_whole else self._rows_on_demand.squared_row_norms

    @cached_property
    def _norms(self) -> Floats:
        return DenseDesign(self._values).squared_row_norms

    @property
    def largest_row_norm(self) -> float:
        return self._rows_on_demand.largest_row_norm

    @property
    def mean_square(self) -> float:
        return self._rows_on_demand.mean_square


def gram_of(rows: KernelRows, megabytes: float, *, named: bool) -> KernelDesign:
    """The Gram matrix of these rows within a limit of memory.  A custom kernel is checked."""
    n = rows.X.shape[0]
    if gram_megabytes(n) > megabytes:
        return cached_gram(rows, megabytes, named=named)
    if rows.radial is not None and n >= _FEWEST and _MEMORY * gram_megabytes(n) <= megabytes:
        return LazyGram(rows)
    return GramDesign(rows.whole(), entry_error=rows.entry_error) if named else GramDesign(rows.whole()).definite()


def gram_megabytes(n: int) -> float:
    """The size of the Gram matrix of n examples in float64."""
    return 8 * n**2 / 2**20
