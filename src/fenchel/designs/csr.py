"""Sparse designs: compressed sparse rows with 32- or 64-bit indices, without a copy.

Duplicate entries of a row count as their sum, as in SciPy; unsorted entries are fine.  The user's matrix is not
sorted, summed or marked.  Other sparse formats, CSC among them, are converted to CSR once, which is a copy: every
loop here goes by rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs.base import BLOCK, SAMPLE, Design, as_real, largest_size
from fenchel.designs.enclosures import EnclosedCSR
from fenchel.designs.rows import CSRRows, csr_rows, read_only
from fenchel.designs.storage import check_storage
from fenchel.designs.threads import in_order, shares_products
from fenchel.stopping import stop_point

#: entries of a block of X^T theta (2 MB), unless d is large
_SHORT_SUMS = 1 << 18
#: entries of such a block, in units of d, which each block adds to the work
_ENTRIES_PER_FEATURE = 8
#: features from which products are computed one output after the other: those of all at once would copy the result,
#: and write to more memory than a cache holds, which takes twice as long
_MANY_COLUMNS = 1 << 17


#: entries of a block of X w that one of several threads takes: a hundredth of a second
_SHARED = 1 << 22
#: blocks of X^T theta that it takes
_TOGETHER = 4


class CSRDesign(Design):
    """SciPy sparse matrix or sparse array as a design.

    Parameters
    ----------
    matrix : sparse matrix or sparse array of shape (n, d)
        The matrix.  CSR is used without a copy; other formats are converted to CSR once.  Duplicate entries are summed,
        and entries may be unsorted.

    See Also
    --------
    DenseDesign : NumPy arrays.
    as_design : The design of any matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from fenchel.designs import CSRDesign
    >>> CSRDesign(sp.eye_array(2, format="csr")).scores(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    has_columns: bool = True

    def __init__(self, matrix: sp.csr_array | sp.csr_matrix) -> None:
        # SciPy's own conversion reads foreign memory if a matrix is broken
        check_storage(matrix)
        if matrix.format != "csr":
            matrix = matrix.tocsr()
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self._data = read_only(as_real(matrix.data))
        indices, indptr = _as_index(matrix.indices), _as_index(matrix.indptr)
        if indices.dtype != indptr.dtype and indptr[-1] <= np.iinfo(indices.dtype).max:
            # SciPy would copy the indices, which are many more
            indptr = indptr.astype(indices.dtype)
        self._indices, self._indptr = read_only(indices), read_only(indptr)

    def scores(self, weights: Array) -> Floats:
        weights = np.asarray(weights, dtype=np.float64)
        result = np.empty((self.shape[0], *weights.shape[:-1]))
        if weights.ndim > 1 and self.shape[1] >= _MANY_COLUMNS:
            for output, column in zip(weights, result.T, strict=True):
                column[:] = self.scores(output)
            return result
        # a score is a sum over its own row, whatever the blocks are
        blocks = self._blocks(_SHARED if shares_products() and self._data.dtype == np.float64 else None)
        for rows, part in in_order(lambda _, block: block @ weights.T, blocks):
            if part.shape == result.shape and part.dtype == np.float64:
                return part
            result[rows] = part
        return result

    def scores_by_feature(self, weights: Array) -> Floats:
        result = np.empty((self.shape[0], weights.shape[1]))
        for rows, block in self._blocks():
            result[rows] = block @ weights
        return result

    def adjoint(self, theta: Array) -> Floats:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim > 1 and self.shape[1] >= _MANY_COLUMNS:
            sums = np.empty((theta.shape[1], self.shape[1]))
            for output, column in zip(sums, theta.T, strict=True):
                output[:] = self.adjoint(np.ascontiguousarray(column))
            return sums
        return np.ascontiguousarray(self._summed_blocks(theta).T)

    def adjoint_by_feature(self, theta: Array) -> Floats:
        return self._summed_blocks(np.asarray(theta, dtype=np.float64))

    def _summed_blocks(self, theta: Array) -> Floats:
        """X^T theta as SciPy computes it, (d,) or (d, k)."""
        result: Array | None = None
        # blocks also shorten the sums, and with them the bound on their rounding errors
        blocks = self._blocks(self._entries_of_sums)
        for _, part in in_order(lambda rows, block: _transposed(block) @ theta[rows], blocks, _TOGETHER):
            result = part if result is None else np.add(result, part, out=result)
        return np.zeros((self.shape[1], *theta.shape[1:])) if result is None else result

    def enclosure(self) -> EnclosedCSR:
        return EnclosedCSR(self.shape[1], lambda: self._blocks(BLOCK))

    @cached_property
    def squared_row_norms(self) -> Floats:
        result = np.empty(self.shape[0])
        for rows, squares in self._squares():
            result[rows] = squares.sum(axis=1)
        return result

    @cached_property
    def largest_row_norm(self) -> float:
        # entries of the same column add up: only their 1-norm is a bound
        length = self._longest_row if self._repeats else math.sqrt(self._longest_row) * (1.0 + 1e-15)
        return self._largest_size * length * (1.0 + 1e-15)

    @cached_property
    def row_magnitudes(self) -> Floats:
        if not self._repeats:
            return super().row_magnitudes
        # entries of the same column may cancel: the 1-norm of the stored ones
        result = np.zeros(self.shape[0])
        for rows, block in self._blocks(BLOCK):
            result[rows] = _csr_block(np.abs(block.data), block.indices, block.indptr, block.shape).sum(axis=1)
        return (1.0 + 1e-6) * result

    @cached_property
    def largest_entry(self) -> float:
        return self._largest_size * (self._longest_row if self._repeats else 1.0)

    @cached_property
    def _largest_size(self) -> float:
        return largest_size(self._data)

    @cached_property
    def _longest_row(self) -> float:
        return float(np.max(np.diff(self._indptr), initial=0))

    @cached_property
    def _repeats(self) -> bool:
        """Whether some column occurs twice in a row."""
        # of a matrix of its own, so that the user's is not marked; unsorted entries are sorted block by block
        return not self._whole.has_canonical_format and any(_repeats(block) for _, block in self._blocks(BLOCK))

    @cached_property
    def column_counts(self) -> Array | None:
        return None if self._repeats else np.bincount(self._indices[: self.stored_entries], minlength=self.shape[1])

    @property
    def score_roundings(self) -> Floats:
        return np.diff(self._indptr) + 0.0

    @cached_property
    def adjoint_roundings(self) -> int:
        rows = [stop - start for start, stop in self._bounds(self._entries_of_sums)]
        # entries of the same column of a row are added one by one
        return max(rows, default=0) * (int(self._longest_row) if self._repeats else 1) + max(len(rows) - 1, 0)

    @property
    def _entries_of_sums(self) -> int:
        """The entries of a block of X^T theta."""
        entries = max(_SHORT_SUMS, _ENTRIES_PER_FEATURE * self.shape[1])
        return entries if self._data.dtype == np.float64 else min(entries, BLOCK)

    @cached_property
    def mean_square(self) -> float:
        # entries of the same column are rare, and this needs no accuracy
        sample = self._data[: self.stored_entries : max(1, self.stored_entries // (SAMPLE * SAMPLE))]
        sample = sample.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(sample @ sample) / sample.size * self.stored_entries / self.shape[0] if sample.size else 0.0

    def narrowed(self, selected: Array) -> CSRDesign:
        found = self._matrix()[:, selected].astype(np.float64, copy=False)
        found.sum_duplicates()
        return CSRDesign(found)

    def transposed(self) -> CSRDesign:
        return CSRDesign(self._matrix().tocsc().T)

    @cached_property
    def _whole(self) -> sp.csr_array:
        """All rows as they are stored; nothing of it is ever set, since making it takes as long as a small product."""
        entries = self.stored_entries
        return _csr_block(self._data[:entries], self._indices[:entries], self._indptr, self.shape)

    def _matrix(self) -> sp.csr_array:
        return sp.csr_array((self._data, self._indices, self._indptr), shape=self.shape)

    def column_squares(self, shares: Array) -> Floats:
        result = np.zeros(self.shape[1])
        for rows, squares in self._squares():
            result += squares.T @ shares[rows]
        return result

    def _squares(self) -> Iterator[tuple[slice, sp.csr_array]]:
        """Row blocks with the squares of their entries."""
        for rows, block in self._blocks(BLOCK):
            if self._repeats:
                block = block.copy()
                block.sum_duplicates()
            yield rows, _csr_block(block.data**2, block.indices, block.indptr, block.shape)

    def snapshot(self, most: int) -> CSRDesign | None:
        if len(self._data) > most:
            return None
        return self._checked(self.shape, np.array(self._data), np.array(self._indices), np.array(self._indptr))

    def part(self, begin: int, end: int) -> CSRDesign:
        begin, end, _ = slice(begin, end).indices(self.shape[0])
        low, high = int(self._indptr[begin]), int(self._indptr[end])
        # the checks of all rows hold for some of them
        shape, indptr = (end - begin, self.shape[1]), self._indptr[begin : end + 1] - low
        return self._checked(shape, self._data[low:high], self._indices[low:high], indptr)

    @staticmethod
    def _checked(shape: tuple[int, int], data: Array, indices: Array, indptr: Array) -> CSRDesign:
        """The design of these arrays, which need no checks."""
        found = object.__new__(CSRDesign)
        found.shape = shape
        found._data, found._indices, found._indptr = read_only(data), read_only(indices), read_only(indptr)
        return found

    def rows(self) -> CSRRows:
        return self._rows

    @cached_property
    def _rows(self) -> CSRRows:
        return csr_rows(self._data, self._indices, self._indptr, self.shape[1])

    def sparse(self) -> sp.csr_array:
        parts = (self._data.astype(np.float64), self._indices.copy(), self._indptr.copy())
        return sp.csr_array(parts, shape=self.shape)

    @property
    def stored_entries(self) -> int:
        return int(self._indptr[-1])

    def _blocks(self, entries: int | None = None) -> Iterator[tuple[slice, sp.csr_array]]:
        """Row blocks in float64 of at most BLOCK entries (one row at least); one block if X is float64."""
        for start, stop in self._bounds(entries):
            stop_point()
            if stop - start == self.shape[0] and self._data.dtype == np.float64:
                yield slice(start, stop), self._whole
                continue
            low, high = int(self._indptr[start]), int(self._indptr[stop])
            data = self._data[low:high].astype(np.float64, copy=False)
            indptr = self._indptr[start : stop + 1] - low if low else self._indptr[start : stop + 1]
            shape = (stop - start, self.shape[1])
            yield slice(start, stop), _csr_block(data, self._indices[low:high], indptr, shape)

    def _bounds(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        """The first row of each block, and the first row after it."""
        if entries is None:
            entries = max(1, self.stored_entries) if self._data.dtype == np.float64 else BLOCK
        start = 0
        while start < self.shape[0]:
            limit = min(int(self._indptr[start]) + entries, self.stored_entries)
            # an int of Python would make a copy of all pointers
            stop = int(np.searchsorted(self._indptr, self._indptr.dtype.type(limit), side="right")) - 1
            stop = max(start + 1, stop)
            yield start, stop
            start = stop


def _csr_block(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> sp.csr_array:
    """Rows of X as a matrix, without the copy that SciPy's constructor makes of a part of larger arrays."""
    if indices.dtype != indptr.dtype:
        return sp.csr_array((data, indices, indptr), shape=shape)
    found = sp.csr_array(shape, dtype=data.dtype)
    found.data, found.indices, found.indptr = data, indices, indptr
    return found


def _transposed(block: sp.csr_array) -> sp.csc_array:
    """The transpose, without a copy for the same reason."""
    found = sp.csc_array(block.shape[::-1], dtype=block.dtype)
    found.data, found.indices, found.indptr = block.data, block.indices, block.indptr
    return found


def _repeats(block: sp.csr_array) -> bool:
    """Whether some column occurs twice in a row, whatever the order of the entries."""
    block = block.copy()
    block.sort_indices()
    return not block.has_canonical_format


def _as_index(values: Array) -> Array:
    """Aligned indices of 32 or 64 bits, as SciPy makes them; others are converted, which copies them."""
    fine = values.dtype.kind == "i" and values.dtype.itemsize in (4, 8) and values.dtype.isnative
    return np.require(values, None if fine else np.int64, "A")
