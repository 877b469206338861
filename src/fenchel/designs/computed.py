r"""Designs whose rows are computed when they are needed, in blocks: X is never stored.

Products go by blocks of rows in compressed sparse form, in NumPy: ``scores`` gathers weights and adds them up row by
row, ``adjoint`` adds to :math:`X^T\theta` in place, so that memory takes a block and a vector of d numbers.  Compiled
loops read ``rows()``, which either generates entries too, or is a copy of X.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs.base import BLOCK, SAMPLE, Design
from fenchel.designs.csr import CSRDesign
from fenchel.designs.enclosures import EnclosedCSR
from fenchel.designs.rows import Rows
from fenchel.stopping import stop_point

#: entries of a block (2 MB for each of about ten temporary arrays)
_BLOCK_ENTRIES = 1 << 18
#: covers the rounding of sums of absolute values
_UPWARDS = 1.0 + 2.0**-12


class RowFacts(NamedTuple):
    """What certificates and solvers know about the rows, from one pass."""

    #: squared Euclidean norms, and sums of the absolute values of the entries that ``block`` returns
    squares: Floats
    sums: Floats
    #: the largest number of entries of a column, where those of the same row count each
    longest_column: int

    def inverse_norms(self) -> Floats:
        """One over the norm of each row; 1 for rows of zeros."""
        norms = np.sqrt(self.squares)
        return np.divide(1.0, norms, out=np.ones(len(norms)), where=norms > 0.0)

    def scaled(self, scale: Floats) -> RowFacts:
        """The same for rows that are multiplied by non-negative numbers."""
        return RowFacts(scale**2 * self.squares, scale * self.sums, self.longest_column)


class ComputedDesign(Design):
    r"""Base class of designs whose rows are computed when they are needed.

    A subclass sets ``shape`` and implements ``block``; everything else follows from it.  Compiled loops, as those of
    dual coordinate descent, then read a copy of X, unless ``rows`` is overridden too by a tuple that generates entries
    (docs/custom-design.md), and ``generates_rows`` set.

    Attributes
    ----------
    shape : tuple of int
        The shape (n, d).

    See Also
    --------
    Design : The base class of all designs.
    fenchel.features.KmerFeatures : Substrings of byte strings.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from fenchel.designs import ComputedDesign
    >>> class Divisors(ComputedDesign):
    ...     "Row i, from 1, has a one in the column of each of its divisors."
    ...     def __init__(self, n):
    ...         self.shape = (n, n)
    ...     def block(self, begin, end):
    ...         numbers = np.arange(begin, end)[:, None] + 1
    ...         return sp.csr_array((numbers % np.arange(1, self.shape[1] + 1) == 0).astype(np.float64))
    >>> Divisors(6).scores(np.ones(6))
    array([1., 2., 2., 3., 2., 4.])
    """

    @abc.abstractmethod
    def block(self, begin: int, end: int) -> sp.csr_array:
        """The rows from ``begin`` to ``end`` in float64; entries of the same column of a row count as their sum."""

    @property
    def entry_counts(self) -> Array:
        """The number of entries of each row, or a bound: it determines the size of blocks."""
        return np.full(self.shape[0], min(self.shape[1], BLOCK), dtype=np.int64)

    def scores(self, weights: Array) -> Floats:
        weights = np.asarray(weights, dtype=np.float64)
        result = np.empty((self.shape[0], *weights.shape[:-1]))
        for rows, block in self._blocks():
            result[rows] = block @ weights.T
        return result

    def adjoint(self, theta: Array) -> Floats:
        theta = np.asarray(theta, dtype=np.float64)
        result = np.zeros((*theta.shape[1:], self.shape[1]))
        for rows, block in self._blocks():
            # NumPy is several times as fast with indices of its own type
            repeats, indices = np.diff(block.indptr), block.indices.astype(np.intp)
            for sums, dual in zip(np.atleast_2d(result), np.atleast_2d(theta[rows].T), strict=True):
                # in place: a product would make a vector of all d features for each block
                np.add.at(sums, indices, block.data * np.repeat(dual, repeats))
        return result

    def column_squares(self, shares: Array) -> Floats:
        result = np.zeros(self.shape[1])
        for rows, block in self._blocks():
            block.sum_duplicates()
            np.add.at(
                result, block.indices.astype(np.intp), block.data**2 * np.repeat(shares[rows], np.diff(block.indptr))
            )
        return result

    def enclosure(self) -> EnclosedCSR:
        return EnclosedCSR(self.shape[1], self._blocks)

    @cached_property
    def facts(self) -> RowFacts:
        """Norms of rows and lengths of columns."""
        return self._pass()

    def _pass(self) -> RowFacts:
        squares, sums = np.empty(self.shape[0]), np.empty(self.shape[0])
        counts = np.zeros(self.shape[1], dtype=np.int64)
        for rows, block in self._blocks():
            np.add.at(counts, block.indices.astype(np.intp), 1)
            sums[rows] = abs(block).sum(axis=1)
            block.sum_duplicates()
            squares[rows] = block.power(2).sum(axis=1)
        return RowFacts(squares, sums, int(np.max(counts, initial=0)))

    @property
    def squared_row_norms(self) -> Floats:
        return self.facts.squares

    @cached_property
    def largest_row_norm(self) -> float:
        # of stored entries: those of the same column may cancel
        return _UPWARDS * float(np.max(self.facts.sums, initial=0.0))

    @cached_property
    def row_magnitudes(self) -> Floats:
        return _UPWARDS * self.facts.sums

    @property
    def score_roundings(self) -> Floats:
        return self.entry_counts + 1.0

    @property
    def adjoint_roundings(self) -> int:
        return self.facts.longest_column + 1

    @cached_property
    def mean_square(self) -> float:
        return float(np.mean(self.facts.squares[:: max(1, self.shape[0] // SAMPLE)])) if self.shape[0] else 0.0

    @property
    def stored_entries(self) -> int:
        return int(np.sum(self.entry_counts))

    def part(self, begin: int, end: int) -> Design:
        begin, end, _ = slice(begin, end).indices(self.shape[0])
        return _Part(self, begin, end)

    def rows(self) -> Rows:
        return self._copy.rows()

    def sparse(self) -> sp.csr_array:
        blocks = [block for _, block in self._blocks()]
        return sp.vstack(blocks, format="csr") if blocks else sp.csr_array(self.shape)

    @cached_property
    def _copy(self) -> CSRDesign:
        """X itself, for loops that can't compute it."""
        return CSRDesign(self.sparse())

    def _blocks(self) -> Iterator[tuple[slice, sp.csr_array]]:
        ends = np.cumsum(self.entry_counts)
        begin = 0
        while begin < self.shape[0]:
            stop_point()
            last = int(np.searchsorted(ends, (ends[begin - 1] if begin else 0) + _BLOCK_ENTRIES, side="right"))
            end = max(begin + 1, last)
            yield slice(begin, end), self.block(begin, end)
            begin = end


class _Part(ComputedDesign):
    """Some consecutive rows of a computed design."""

    def __init__(self, whole: ComputedDesign, begin: int, end: int) -> None:
        self._whole, self._begin, self._end = whole, begin, end
        self.shape = (end - begin, whole.shape[1])

    @property
    def entry_counts(self) -> Array:
        return self._whole.entry_counts[self._begin : self._end]

    def block(self, begin: int, end: int) -> sp.csr_array:
        return self._whole.block(self._begin + begin, self._begin + end)
