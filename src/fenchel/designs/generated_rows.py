"""Rows for compiled loops that are computed from compact ones: scaled counts, and products of two features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs.kmer_rows import mixed
from fenchel.designs.rows import prefetch

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_SHIFT, _TOP = np.uint64(32), np.uint64(63)


class ScaledRows(NamedTuple):
    """Compressed sparse rows of small integers, times a number for each row and one for each column."""

    data: Array
    indices: NDArray[np.unsignedinteger]
    indptr: NDArray[np.unsignedinteger]
    scale: Floats
    #: of column j the number at ``j & mask``: one for all columns, with the mask 0, or one for each
    column_scale: Floats
    mask: NDArray[np.uint64]

    def row_dot(self, i: Any, w: Array) -> float:
        """x_i . w"""
        total, mask = 0.0, self.mask[0]
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + _ONE])):
            j = np.uint64(self.indices[k])
            total += self.data[k] * self.column_scale[j & mask] * w[j]
        return self.scale[np.uint64(i)] * total

    def row_add(self, i: Any, scale: float, w: Array) -> None:
        """w += scale x_i"""
        mask, step = self.mask[0], scale * self.scale[np.uint64(i)]
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + _ONE])):
            j = np.uint64(self.indices[k])
            w[j] += step * self.data[k] * self.column_scale[j & mask]

    def row_square(self, i: Any) -> float:
        """|x_i|^2: no column occurs twice in a row."""
        total, mask = 0.0, self.mask[0]
        for k in range(np.uint64(self.indptr[i]), np.uint64(self.indptr[np.uint64(i) + _ONE])):
            value = self.scale[np.uint64(i)] * self.data[k] * self.column_scale[np.uint64(self.indices[k]) & mask]
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
        column_scale = self.column_scale[np.uint64(self.indices[k]) & self.mask[0]]
        return self.scale[np.uint64(i)] * (self.data[k] * column_scale)

    def row_prefetch(self, i: Any) -> None:
        """Start to load row i."""
        prefetch(self.data, np.uint64(self.indptr[i]))
        prefetch(self.indices, np.uint64(self.indptr[i]))

    def index_prefetch(self, i: Any) -> None:
        """Start to load where row i begins."""
        prefetch(self.indptr, np.uint64(i))


class PairRows(NamedTuple):
    """The entries of sparse rows without repeated columns, and the products of any two of them."""

    data: Array
    indices: NDArray[np.unsignedinteger]
    indptr: NDArray[np.unsignedinteger]
    #: the number d of features, the mask of the hashes (0 for none), and 1 if there are no squares
    numbers: NDArray[np.uint64]

    def row_dot(self, i: Any, w: Array) -> float:
        """x_i . w"""
        begin, end = np.uint64(self.indptr[np.uint64(i)]), np.uint64(self.indptr[np.uint64(i) + _ONE])
        d, mask, gap = self.numbers[0], self.numbers[1], self.numbers[2]
        data, indices = self.data, self.indices
        total = 0.0
        for a in range(begin, end):
            column = np.uint64(indices[a])
            at, sign = pair_column(column, d, d, mask, gap)
            part = sign * w[at]
            for b in range(a + gap, end):
                at, sign = pair_column(column, np.uint64(indices[b]), d, mask, gap)
                part += sign * data[b] * w[at]
            total += data[a] * part
        return total

    def row_add(self, i: Any, scale: float, w: Array) -> None:
        """w += scale x_i"""
        begin, end = np.uint64(self.indptr[np.uint64(i)]), np.uint64(self.indptr[np.uint64(i) + _ONE])
        d, mask, gap = self.numbers[0], self.numbers[1], self.numbers[2]
        data, indices = self.data, self.indices
        for a in range(begin, end):
            column, step = np.uint64(indices[a]), scale * data[a]
            at, sign = pair_column(column, d, d, mask, gap)
            w[at] += sign * step
            for b in range(a + gap, end):
                at, sign = pair_column(column, np.uint64(indices[b]), d, mask, gap)
                w[at] += sign * step * data[b]

    def row_square(self, i: Any) -> float:
        """Less than zero: hashed columns may repeat."""
        return -1.0

    def row_begin(self, i: Any) -> Any:
        """Where the entries of row i begin."""
        return _ZERO

    def row_end(self, i: Any) -> Any:
        """Where the entries of row i end."""
        size = np.uint64(self.indptr[np.uint64(i) + _ONE]) - np.uint64(self.indptr[np.uint64(i)])
        return size + (size * (size + _ONE)) // _TWO - self.numbers[2] * size

    def row_column(self, i: Any, k: Any) -> Any:
        """The column of entry k of row i."""
        a, b = pair_at(self, i, np.uint64(k))
        d = self.numbers[0]
        second = np.uint64(self.indices[b - _ONE]) if b > _ZERO else d
        return pair_column(np.uint64(self.indices[a]), second, d, self.numbers[1], self.numbers[2])[0]

    def row_entry(self, i: Any, k: Any) -> float:
        """The value of entry k of row i."""
        a, b = pair_at(self, i, np.uint64(k))
        d = self.numbers[0]
        second = np.uint64(self.indices[b - _ONE]) if b > _ZERO else d
        sign = pair_column(np.uint64(self.indices[a]), second, d, self.numbers[1], self.numbers[2])[1]
        return sign * self.data[a] * (np.float64(self.data[b - _ONE]) if b > _ZERO else 1.0)

    def row_prefetch(self, i: Any) -> None:
        """Start to load row i."""
        prefetch(self.data, np.uint64(self.indptr[i]))
        prefetch(self.indices, np.uint64(self.indptr[i]))

    def index_prefetch(self, i: Any) -> None:
        """Start to load where row i begins."""
        prefetch(self.indptr, np.uint64(i))


def pair_column(first: Any, second: Any, d: Any, mask: Any, gap: Any) -> tuple[Any, Any]:
    """The column and the sign of the product of two features, the first one at most the second; d stands for one."""
    if mask != _ZERO:
        code = mixed((first << _SHIFT) | second)
        return code & mask, 1.0 - 2.0 * np.float64(code >> _TOP)
    if second == d:
        return first, 1.0
    # those of smaller first features: d - gap, d - gap - 1, ...
    before = first * (d - gap) - (first * (first - _ONE)) // _TWO if first > _ZERO else _ZERO
    return d + before + second - first - gap, 1.0


def pair_at(rows: Any, i: Any, k: Any) -> tuple[Any, Any]:
    """The two places of entry k of row i; of the second one plus one, and 0 for a feature itself."""
    a, end = np.uint64(rows.indptr[np.uint64(i)]), np.uint64(rows.indptr[np.uint64(i) + _ONE])
    gap = rows.numbers[2]
    while k > end - a - gap:
        k -= end - a - gap + _ONE
        a += _ONE
    return a, a + gap + k if k > _ZERO else _ZERO


#: functions that the methods call: ``fenchel.compile`` compiles them too
PAIR_HELPERS = (pair_column, pair_at)
