"""Features of byte strings: their substrings (k-mers), anywhere, in windows or at each position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs.computed import ComputedDesign
from fenchel.designs.kmer_rows import OUTSIDE, KmerRows, hashed
from fenchel.designs.rows import read_only
from fenchel.errors import FenchelError
from fenchel.features.base import Features
from fenchel.features.raw_strings import as_bytes
from fenchel.validation import check_bool, check_choice, check_integer, is_integer

#: symbols of the longest substring
_LONGEST = 1 << 10
#: bits of hashed columns: 8 GB of weights
_MOST_BITS = 30
#: columns that are not hashed
_MOST_COLUMNS = 2**31 - 1
#: the multiplier of codes of bytes, and of their lengths and positions: odd, with random bits
_MULTIPLIER, _SECTION, _POSITION = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0xAEF17502108EF2D9
_WRAP = 2**64
#: the end of a window that is as long as the string
_END = 2**62


@dataclass(frozen=True)
class KmerFeatures(Features):
    r"""Substrings (k-mers) of byte strings, generated when they are used: the spectrum kernel [1]_.

    The strings are stored, and nothing else: a string of L bytes takes L + 16 bytes, where its row has about L entries
    for each length of substrings.  Products with X read the strings, and so do compiled loops, by a rolling hash.

    Parameters
    ----------
    k : int, default=8
        The length of substrings.
    shortest : int, default=None
        With it, substrings of all lengths from ``shortest`` to ``k`` are features; None is ``k``.
    windows : sequence of pairs, default=None
        Ranges ``(begin, end)`` of positions, each with features of its own for the substrings that lie in it, such as
        ``((0, 59), (61, 141))``, before and after a splice site.  None is one window, the whole string; ``()`` is none.
    positions : int, default=0
        The number of positions, from the first of a string, whose substrings are features of their own: those of the
        weighted degree kernel [2]_.
    weighting : {"uniform", "degree"}, default="uniform"
        The square of the value of a substring of length j: 1, or :math:`2(k-j+1)/(k(k+1))` [2]_.
    alphabet : str, default="ACGT"
        The symbols, of one byte each.  No substring has others, such as N.  None are all bytes but 0xff, which requires
        ``hash_bits``.
    reverse_complement : bool, default=False
        Whether a substring and its reverse complement are the same feature, in windows; requires ``alphabet="ACGT"``.
    normalize : bool, default=True
        Whether rows are divided by their Euclidean norms.
    hash_bits : int, default=None
        Hash substrings into :math:`2^\text{bits}` features; None has a feature for every possible substring.

    See Also
    --------
    HashedTextFeatures : Hashed words of texts.

    Notes
    -----
    Text is encoded as UTF-8.  Case matters: use ``str.upper`` for soft-masked DNA.

    References
    ----------
    .. [1] C. Leslie, E. Eskin and W. S. Noble. "The spectrum kernel: a string kernel for SVM protein classification."
           Pacific Symposium on Biocomputing, 2002.
    .. [2] S. Sonnenburg and V. Franc. "COFFIN: a computational framework for linear SVMs." ICML, 2010.

    Examples
    --------
    >>> from fenchel.features import KmerFeatures
    >>> features = KmerFeatures(k=2, normalize=False)
    >>> design = features.design(["ACAC", "GGNGG"])
    >>> design.shape
    (2, 16)
    >>> design.sparse().toarray()[0].astype(int)
    array([0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """

    k: int = 8
    shortest: int | None = None
    windows: Sequence[tuple[int, int]] | None = None
    positions: int = 0
    weighting: str = "uniform"
    alphabet: str | None = "ACGT"
    reverse_complement: bool = False
    normalize: bool = True
    hash_bits: int | None = None

    stored: ClassVar[bool] = True

    def design(self, X: Any) -> KmerDesign:
        self._check()
        return KmerDesign(self, *as_bytes(X))

    @property
    def n_features(self) -> int:
        """The number of features."""
        if self.hash_bits is not None:
            return 1 << self.hash_bits
        return self._columns_of_block * (len(self._windows) + self.positions)

    @property
    def _windows(self) -> list[tuple[int, int]]:
        return [(0, _END)] if self.windows is None else [(begin, end) for begin, end in self.windows]

    @property
    def _lengths(self) -> range:
        return range(self.k if self.shortest is None else self.shortest, self.k + 1)

    @property
    def _base(self) -> int:
        return _MULTIPLIER if self.alphabet is None else len(self.alphabet)

    @property
    def _columns_of_block(self) -> int:
        return sum(self._base**j for j in self._lengths)

    def lookup(self) -> NDArray[np.uint8]:
        """The symbol of each byte."""
        if self.alphabet is None:
            return np.arange(256, dtype=np.uint8)
        found = np.full(256, OUTSIDE, dtype=np.uint8)
        found[np.frombuffer(self.alphabet.encode(), dtype=np.uint8)] = np.arange(len(self.alphabet))
        return found

    def sections(self) -> Sections:
        """The ranges of a string whose substrings are features, for each length of these."""
        parts: list[tuple[float, ...]] = []
        windows = [(begin, end, False) for begin, end in self._windows]
        for place, (begin, end, moving) in enumerate([*windows, *[(0, self.positions, True)] * bool(self.positions)]):
            first = 0
            for j in self._lengths:
                if self.alphabet is None:
                    offset, stride = _SECTION * (len(parts) + 1), _POSITION
                else:
                    offset, stride = place * self._columns_of_block + first, self._columns_of_block
                    first += self._base**j
                degree = 2.0 * (self.k - j + 1) / (self.k * (self.k + 1))
                weight = math.sqrt(degree) if self.weighting == "degree" else 1.0
                last = end + j - 1 if moving else end
                parts.append((begin, last, j, offset, stride if moving else 0, weight, self._base ** (j - 1)))
        return Sections(*(np.array([_wrapped(value) for value in column]) for column in zip(*parts, strict=True)))

    def _check(self) -> None:
        check_integer("k", self.k, least=1, most=_LONGEST)
        if self.shortest is not None:
            check_integer("shortest", self.shortest, least=1, most=self.k)
        check_integer("positions", self.positions, least=0)
        check_bool("normalize", self.normalize)
        check_bool("reverse_complement", self.reverse_complement)
        check_choice("weighting", self.weighting, ("uniform", "degree"))
        if not isinstance(self.windows, (Sequence, NoneType)) or isinstance(self.windows, (str, bytes)):
            raise FenchelError(f"windows must be a list of pairs (begin, end) or None, got {self.windows!r}")
        for window in self.windows or ():
            pair = isinstance(window, (Sequence, np.ndarray)) and len(window) == 2 and all(map(is_integer, window))
            if not pair or not 0 <= window[0] < window[1]:
                raise FenchelError(f"windows must be pairs (begin, end) with 0 <= begin < end, got {window!r}")
        if self.windows is not None and not len(self.windows) and not self.positions:
            raise FenchelError("windows=() with positions=0 leaves no features; give a window, or positions")
        self._check_alphabet()
        if self.hash_bits is not None:
            check_integer("hash_bits", self.hash_bits, least=1, most=_MOST_BITS)
        elif self.n_features > _MOST_COLUMNS:
            raise FenchelError(f"there are {self.n_features:,} substrings; set hash_bits, say to 24, or lower k")

    def _check_alphabet(self) -> None:
        if self.alphabet is None:
            if self.hash_bits is None:
                raise FenchelError("alphabet=None requires hash_bits; set it, say to 24, or give the alphabet")
        elif not isinstance(self.alphabet, str):
            raise FenchelError(f"alphabet must be a string of different characters or None, got {self.alphabet!r}")
        elif not self.alphabet.isascii() or not len(self.alphabet) == len(set(self.alphabet)) >= 1:
            raise FenchelError(f"alphabet must hold different ASCII characters, got {self.alphabet!r}")
        elif self._columns_of_block * (len(self._windows) + self.positions) >= 2**63:
            raise FenchelError(f"k={self.k} is too large for an alphabet of {len(self.alphabet)}: codes take 63 bits")
        if self.reverse_complement and self.alphabet != "ACGT":
            raise FenchelError(f"reverse_complement requires alphabet='ACGT', got {self.alphabet!r}")
        if self.reverse_complement and self.positions:
            raise FenchelError("reverse_complement is for windows; use positions=0")


def _wrapped(value: float) -> Any:
    """Integers modulo 2^64, and other numbers as they are."""
    return np.uint64(value % _WRAP) if isinstance(value, int) else value


class Sections(NamedTuple):
    """Columns of the sections of ``KmerRows``."""

    begin: NDArray[np.uint64]
    end: NDArray[np.uint64]
    length: NDArray[np.uint64]
    offset: NDArray[np.uint64]
    stride: NDArray[np.uint64]
    weight: Floats
    power: NDArray[np.uint64]


class KmerDesign(ComputedDesign):
    """The substrings of strings, which ``KmerFeatures`` makes."""

    generates_rows: ClassVar[bool] = True

    def __init__(self, features: KmerFeatures, symbols: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        self._features, self._bytes, self._starts = features, symbols, starts
        self._symbols, self._sections = features.lookup()[symbols], features.sections()
        self.shape = (len(starts) - 1, features.n_features)
        bits = features.hash_bits
        numbers = [features._base, 0 if bits is None else (1 << bits) - 1, int(features.reverse_complement)]
        self._numbers = np.array(numbers, dtype=np.uint64)
        self._scale = np.ones(self.shape[0])
        if features.normalize:
            self._normalize()

    def _normalize(self) -> None:
        """Divide the rows by their norms."""
        raw = self._pass()
        self._scale = raw.inverse_norms()
        self.facts = raw.scaled(self._scale)

    def __getitem__(self, rows: Any) -> KmerDesign:
        """The design of some of the strings."""
        chosen = np.arange(self.shape[0])[rows]
        lengths = np.diff(self._starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(starts[-1]) + np.repeat(self._starts[chosen] - starts[:-1], lengths)
        return KmerDesign(self._features, self._bytes[at], starts)

    @cached_property
    def entry_counts(self) -> Array:
        return sum((self._counts(s) for s in range(len(self._sections.begin))), np.zeros(self.shape[0], dtype=np.int64))

    def _counts(self, section: int, rows: slice = slice(None)) -> Array:
        """The number of substrings of the section in each string."""
        begin, end, length = (int(self._sections[part][section]) for part in range(3))
        sizes = np.diff(self._starts)[rows]
        return np.maximum(0, np.minimum(sizes, end) - begin - length + 1)

    def block(self, begin: int, end: int) -> sp.csr_array:
        low, high = int(self._starts[begin]), int(self._starts[end])
        symbols, starts = self._symbols[low:high].astype(np.uint64), self._starts[begin:end] - low
        outside = np.concatenate([[0], np.cumsum(symbols == OUTSIDE)])
        codes, parts = self._codes(symbols), []
        for s, (first, _, length, offset, stride, weight, _) in enumerate(zip(*self._sections, strict=True)):
            counts, size = self._counts(s, slice(begin, end)), int(length)
            row = np.repeat(np.arange(end - begin), counts)
            # the positions of all substrings: those of each string in turn
            place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + int(first)
            at = starts[row] + place
            inside = outside[at + size] == outside[at]
            row, place, at = row[inside], place[inside].astype(np.uint64), at[inside]
            columns = hashed(offset + stride * place + codes[size][at], self._numbers[1])
            parts.append((row, columns.astype(np.int64), weight * self._scale[begin:end][row]))
        row, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(row, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=end - begin))])
        return sp.csr_array((values[order], columns[order], indptr), shape=(end - begin, self.shape[1]))

    def _codes(self, symbols: NDArray[np.uint64]) -> dict[int, NDArray[np.uint64]]:
        """The codes of the substrings of each length at every place, from those that are one symbol shorter."""
        base, power, both = self._numbers[0], np.ones(1, dtype=np.uint64), self._features.reverse_complement
        forward, reverse = np.zeros((2, len(symbols)), dtype=np.uint64)
        found = {}
        for length in range(1, self._features.k + 1):
            # substrings that leave the block are not used
            last = np.roll(symbols, 1 - length)
            forward = forward * base + last
            if both:
                reverse = reverse + (base - np.uint64(1) - last) * power
                power *= base
            found[length] = np.minimum(forward, reverse) if both else forward
        return found

    def rows(self) -> KmerRows:  # type: ignore[override]
        arrays = (self._symbols, self._starts.view(np.uint64), self._scale, *self._sections, self._numbers)
        return KmerRows(*(read_only(array) for array in arrays))
