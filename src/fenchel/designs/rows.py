"""Rows of a design for compiled loops.

Each storage is a NamedTuple of read-only arrays with methods in plain Python, which ``fenchel.compile`` compiles:
``row_dot``, ``row_add`` and access to single entries, so that one loop serves every storage at full speed.  A storage
with ``reorders_sums`` lets the compiler reorder sums over a row to vectorize them, which is slower for sparse rows.

Indices are unsigned: numba adds wrap-around code to the inner loop for signed ones.  Unsigned indices read
foreign memory if they are out of range, so a design checks the range once before it hands out rows.

Rows of few entries are copies in the usual storage, for which loops are compiled anyway: compiling one for another
storage takes longer than any solve of so little data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats

_ONE = np.uint64(1)
#: entries (512 kB in float64) up to which rows are copied to the usual storage
_FEW_ENTRIES = 1 << 16
#: entries between two prefetches: a cache line of 64 bytes holds 16 values of 4 bytes or 8 of 8
_LINE = np.uint64(16)
#: where the second of them begins
_HALF = np.uint64(8)
#: entries of a row to prefetch at most; the hardware prefetcher follows long rows
_PREFETCH = np.uint64(128)


def prefetch(array: Array, position: Any) -> None:
    """Ask the processor to load ``array[position]`` soon.  Plain Python does nothing; loops compile one instruction."""


class CSRRows(NamedTuple):
    """Compressed sparse rows; duplicate and unsorted entries are allowed."""

    data: Array
    indices: NDArray[np.unsignedinteger]
    indptr: NDArray[np.unsignedinteger]

    def row_dot(self, i: Any, w: Array) -> float:
        """x_i . w"""
        total = 0.0
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + _ONE])):
            total += self.data[k] * w[self.indices[k]]
        return total

    def row_add(self, i: Any, scale: float, w: Array) -> None:
        """w += scale x_i"""
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + _ONE])):
            w[self.indices[k]] += scale * self.data[k]

    def row_square(self, i: Any) -> float:
        """|x_i|^2, or -1 if the columns of the row are not ascending, so that duplicates may have to be added first."""
        total, last = 0.0, np.uint64(0)
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + _ONE])):
            column = np.uint64(self.indices[k]) + _ONE
            if column <= last:
                return -1.0
            last = column
            value = np.float64(self.data[k])
            total += value * value
        return total

    def row_begin(self, i: Any) -> Any:
        """Where the entries of row i begin."""
        return np.uint64(self.indptr[i])

    def row_end(self, i: Any) -> Any:
        """Where the entries of row i end."""
        return np.uint64(self.indptr[np.uint64(i) + _ONE])

    def row_column(self, i: Any, k: Any) -> Any:
        """The column of entry k of row i."""
        return np.uint64(self.indices[k])

    def row_entry(self, i: Any, k: Any) -> float:
        """The value of entry k of row i."""
        return np.float64(self.data[k])

    def row_prefetch(self, i: Any) -> None:
        """Start to load row i."""
        start = np.uint64(self.indptr[i])
        stop = min(np.uint64(self.indptr[np.uint64(i) + _ONE]), start + _PREFETCH)
        if start == stop:
            return
        while start < stop:
            prefetch(self.data, start)
            prefetch(self.data, start + _HALF)
            prefetch(self.indices, start)
            start += _LINE
        # rows begin anywhere in a line, and end in one more
        prefetch(self.data, stop - _ONE)
        prefetch(self.indices, stop - _ONE)

    def index_prefetch(self, i: Any) -> None:
        """Start to load where row i begins."""
        prefetch(self.indptr, np.uint64(i))


class DenseRows(NamedTuple):
    """A dense array in C or Fortran order, or any strided view."""

    values: Array

    @staticmethod
    def reorders_sums() -> bool:
        """Whether the compiler may reorder sums over a row."""
        return True

    def row_dot(self, i: Any, w: Array) -> float:
        """x_i . w"""
        total = 0.0
        for j in range(np.uint64(self.values.shape[1])):
            total += self.values[np.uint64(i), j] * w[j]
        return total

    def row_add(self, i: Any, scale: float, w: Array) -> None:
        """w += scale x_i"""
        for j in range(np.uint64(self.values.shape[1])):
            w[j] += scale * self.values[np.uint64(i), j]

    def row_square(self, i: Any) -> float:
        """|x_i|^2"""
        total = 0.0
        for j in range(np.uint64(self.values.shape[1])):
            value = np.float64(self.values[np.uint64(i), j])
            total += value * value
        return total

    def row_begin(self, i: Any) -> Any:
        """Where the entries of row i begin."""
        return np.uint64(0)

    def row_end(self, i: Any) -> Any:
        """Where the entries of row i end."""
        return np.uint64(self.values.shape[1])

    def row_column(self, i: Any, k: Any) -> Any:
        """The column of entry k of row i."""
        return k

    def row_entry(self, i: Any, k: Any) -> float:
        """The value of entry k of row i."""
        return np.float64(self.values[np.uint64(i), k])

    def row_prefetch(self, i: Any) -> None:
        """Start to load row i."""
        row = self.values[np.uint64(i)]
        start = np.uint64(0)
        stop = min(np.uint64(self.values.shape[1]), _PREFETCH)
        while start < stop:
            prefetch(row, start)
            start += _LINE

    def index_prefetch(self, i: Any) -> None:
        """Dense rows have no index to load."""


class CentredRows(NamedTuple):
    """A dense array minus a centre, subtracted entry by entry."""

    values: Array
    centre: Floats

    @staticmethod
    def reorders_sums() -> bool:
        """Whether the compiler may reorder sums over a row."""
        return True

    def row_square(self, i: Any) -> float:
        """|x_i - m|^2"""
        total = 0.0
        for j in range(np.uint64(self.values.shape[1])):
            value = np.float64(self.values[np.uint64(i), j]) - self.centre[j]
            total += value * value
        return total

    def row_begin(self, i: Any) -> Any:
        """Where the entries of row i begin."""
        return np.uint64(0)

    def row_end(self, i: Any) -> Any:
        """Where the entries of row i end."""
        return np.uint64(self.values.shape[1])

    def row_column(self, i: Any, k: Any) -> Any:
        """The column of entry k of row i."""
        return k

    def row_entry(self, i: Any, k: Any) -> float:
        """The value of entry k of row i, less the centre."""
        return np.float64(self.values[np.uint64(i), k]) - self.centre[k]

    def row_prefetch(self, i: Any) -> None:
        """Start to load row i."""
        row = self.values[np.uint64(i)]
        start = np.uint64(0)
        stop = min(np.uint64(self.values.shape[1]), _PREFETCH)
        while start < stop:
            prefetch(row, start)
            start += _LINE

    def index_prefetch(self, i: Any) -> None:
        """Dense rows have no index to load."""


Rows = CSRRows | DenseRows


def read_only(values: Array) -> Array:
    """A read-only view as a plain array: loops have one signature instead of two, and can't write to X."""
    view = values.view(np.ndarray)
    view.flags.writeable = False
    return view


def csr_rows(data: Array, indices: Array, indptr: Array, features: int) -> CSRRows:
    """Rows of these arrays, whose indices are signed and in range; the usual storage has float64 and 32 bits."""
    index = (indices.dtype, indptr.dtype)
    if max(len(data), len(indptr)) <= _FEW_ENTRIES and features <= np.iinfo(np.int32).max:
        data, index = data.astype(np.float64, copy=False), (np.dtype(np.int32), np.dtype(np.int32))
    places = (
        read_only(each.astype(kind, copy=False)).view(np.dtype(f"u{kind.itemsize}"))
        for each, kind in zip((indices, indptr), index, strict=True)
    )
    return CSRRows(read_only(data), *places)


def dense_rows(values: Array) -> DenseRows:
    """Rows of this array; the usual storage has float64 in C order."""
    if values.size <= _FEW_ENTRIES:
        values = np.ascontiguousarray(values, dtype=np.float64)
    return DenseRows(read_only(values))


class GramRows(NamedTuple):
    """A Gram matrix for loops whose vector holds the scores of all examples, :math:`Ka`, in the place of weights."""

    values: Array

    @staticmethod
    def reorders_sums() -> bool:
        """Whether the compiler may reorder sums over a row."""
        return True

    def row_dot(self, i: Any, w: Array) -> float:
        """The score of example i."""
        return w[i]

    def row_add(self, i: Any, scale: float, w: Array) -> None:
        """A step on example i moves all scores along row i."""
        for j in range(np.uint64(len(w))):
            w[j] += scale * self.values[i, j]

    def row_begin(self, i: Any) -> Any:
        """As a row of the identity matrix."""
        return np.uint64(i)

    def row_end(self, i: Any) -> Any:
        """Where they end: one entry."""
        return np.uint64(i) + _ONE

    def row_column(self, i: Any, k: Any) -> Any:
        """The example itself."""
        return k

    def row_entry(self, i: Any, k: Any) -> float:
        """One."""
        return 1.0

    def row_prefetch(self, i: Any) -> None:
        """Nothing: the hardware prefetcher follows long rows."""

    def index_prefetch(self, i: Any) -> None:
        """Rows have no index."""
