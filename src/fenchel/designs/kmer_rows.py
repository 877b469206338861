r"""Rows of substrings (k-mers) for compiled loops, generated from the strings by a rolling hash.

The code of a substring of symbols :math:`s_1\ldots s_j` is :math:`c = \sum_m s_m B^{j-m}` modulo :math:`2^{64}`.  One
step to the right subtracts :math:`s_1 B^{j-1}`, multiplies by B and adds the new symbol (R. M. Karp and M. O. Rabin,
"Efficient randomized pattern-matching algorithms", 1987).  The reverse complement has the code
:math:`\sum_m (B - 1 - s_m) B^{m-1}`, which one step divides by B before it adds the new leading digit.

A *section* is a range of a string with substrings of one length: those at t have the column
``offset + stride t + code``, hashed if ``mask`` is not zero.  The entries of a row are those of its sections in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs.rows import prefetch

#: symbols from this one on are none of the alphabet: no substring has them
OUTSIDE = 255

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_SHIFT = np.uint64(33)
_FIRST, _SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_OUTSIDE = np.uint64(OUTSIDE)


def mixed(code: Any) -> Any:
    """The finalizer of MurmurHash3 (A. Appleby), of a number or an array of 64 bits."""
    code ^= code >> _SHIFT
    code *= _FIRST
    code ^= code >> _SHIFT
    code *= _SECOND
    return code ^ (code >> _SHIFT)


def hashed(code: Any, mask: Any) -> Any:
    """The column of a code: itself if ``mask`` is zero, else the last bits of its hash."""
    return code if mask == _ZERO else mixed(code) & mask


class KmerRows(NamedTuple):
    """Substrings of strings; rows are generated when they are used."""

    symbols: NDArray[np.uint8]
    #: where each string begins, and where the last one ends
    starts: NDArray[np.uint64]
    #: factor of each row
    scale: Floats
    #: of each section: its range in the string, the length of its substrings, and the columns and values of these
    begin: NDArray[np.uint64]
    end: NDArray[np.uint64]
    length: NDArray[np.uint64]
    offset: NDArray[np.uint64]
    stride: NDArray[np.uint64]
    weight: Floats
    #: B to the power of the length minus one
    power: NDArray[np.uint64]
    #: B, and the mask of the hashes; whether the smaller code of a substring and its reverse complement is taken
    numbers: NDArray[np.uint64]

    def row_dot(self, i: Any, w: Array) -> float:
        """x_i . w"""
        first = self.starts[np.uint64(i)]
        size = self.starts[np.uint64(i) + _ONE] - first
        base, mask, both = self.numbers[0], self.numbers[1], self.numbers[2] != _ZERO
        # arrays of the tuple that an inner loop reads would be counted as references each time
        symbols = self.symbols
        total = 0.0
        for s in range(np.uint64(len(self.begin))):
            j, power, part = self.length[s], self.power[s], 0.0
            offset, stride = self.offset[s], self.stride[s]
            code, reverse, run = _ZERO, _ZERO, _ZERO
            for p in range(first + self.begin[s], first + min(size, self.end[s])):
                symbol, oldest = np.uint64(symbols[p]), np.uint64(symbols[p - min(run, j)])
                code, reverse, run = rolled(code, reverse, run, symbol, oldest, j, base, power, both)
                if run == j:
                    at = offset + stride * (p - first + _ONE - j)
                    part += w[hashed(at + (min(code, reverse) if both else code), mask)]
            total += self.weight[s] * part
        return self.scale[np.uint64(i)] * total

    def row_add(self, i: Any, scale: float, w: Array) -> None:
        """w += scale x_i"""
        first = self.starts[np.uint64(i)]
        size = self.starts[np.uint64(i) + _ONE] - first
        base, mask, both = self.numbers[0], self.numbers[1], self.numbers[2] != _ZERO
        # arrays of the tuple that an inner loop reads would be counted as references each time
        symbols = self.symbols
        for s in range(np.uint64(len(self.begin))):
            j, power, step = self.length[s], self.power[s], scale * self.scale[np.uint64(i)] * self.weight[s]
            offset, stride = self.offset[s], self.stride[s]
            code, reverse, run = _ZERO, _ZERO, _ZERO
            for p in range(first + self.begin[s], first + min(size, self.end[s])):
                symbol, oldest = np.uint64(symbols[p]), np.uint64(symbols[p - min(run, j)])
                code, reverse, run = rolled(code, reverse, run, symbol, oldest, j, base, power, both)
                if run == j:
                    at = offset + stride * (p - first + _ONE - j)
                    w[hashed(at + (min(code, reverse) if both else code), mask)] += step

    def row_square(self, i: Any) -> float:
        """Less than zero: substrings repeat."""
        return -1.0

    def row_begin(self, i: Any) -> Any:
        """Where the entries of row i begin."""
        return _ZERO

    def row_end(self, i: Any) -> Any:
        """Where the entries of row i end; those of substrings outside the alphabet are zero."""
        size = self.starts[np.uint64(i) + _ONE] - self.starts[np.uint64(i)]
        total = _ZERO
        for s in range(np.uint64(len(self.begin))):
            low, high = self.begin[s] + self.length[s], min(size, self.end[s]) + _ONE
            total += high - low if high > low else _ZERO
        return total

    def row_column(self, i: Any, k: Any) -> Any:
        """The column of entry k of row i."""
        s, p, inside = kmer_at(self, i, np.uint64(k))
        base, code, reverse, power = self.numbers[0], _ZERO, _ZERO, _ONE
        if not inside:
            return _ZERO
        for q in range(p, p + self.length[s]):
            symbol = np.uint64(self.symbols[q])
            code = code * base + symbol
            reverse += (base - _ONE - symbol) * power
            power *= base
        at = self.offset[s] + self.stride[s] * (p - self.starts[np.uint64(i)])
        at += min(code, reverse) if self.numbers[2] != _ZERO else code
        return hashed(at, self.numbers[1])

    def row_entry(self, i: Any, k: Any) -> float:
        """The value of entry k of row i."""
        s, _, inside = kmer_at(self, i, np.uint64(k))
        return self.scale[np.uint64(i)] * self.weight[s] if inside else 0.0

    def row_prefetch(self, i: Any) -> None:
        """Start to load string i."""
        prefetch(self.symbols, self.starts[np.uint64(i)])

    def index_prefetch(self, i: Any) -> None:
        """Start to load where string i begins."""
        prefetch(self.starts, np.uint64(i))


def kmer_at(rows: Any, i: Any, k: Any) -> tuple[Any, Any, bool]:
    """The section of entry k of row i, where its substring begins, and whether all its symbols are of the alphabet."""
    first = rows.starts[np.uint64(i)]
    size = rows.starts[np.uint64(i) + _ONE] - first
    s = _ZERO
    while True:
        low, high = rows.begin[s] + rows.length[s], min(size, rows.end[s]) + _ONE
        count = high - low if high > low else _ZERO
        if k < count:
            break
        k -= count
        s += _ONE
    p = first + rows.begin[s] + k
    inside = True
    for q in range(p, p + rows.length[s]):
        inside = inside and np.uint64(rows.symbols[q]) != _OUTSIDE
    return s, p, inside


def rolled(
    code: Any, reverse: Any, run: Any, symbol: Any, oldest: Any, length: Any, base: Any, power: Any, both: Any
) -> tuple[Any, Any, Any]:
    """Both codes and the number of symbols that they have, one symbol further; ``oldest`` is the one that leaves."""
    if symbol == _OUTSIDE:
        return _ZERO, _ZERO, _ZERO
    if run == length:
        code -= power * oldest
    else:
        run += _ONE
    if both:
        reverse = reverse // base + (base - _ONE - symbol) * power
    return code * base + symbol, reverse, run


#: functions that the methods call: ``fenchel.compile`` compiles them too
ROW_HELPERS = (mixed, hashed, kmer_at, rolled)
