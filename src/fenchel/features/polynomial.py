"""Products of two features of sparse rows, exact or hashed, which are never stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array
from fenchel.designs.base import as_real
from fenchel.designs.computed import ComputedDesign
from fenchel.designs.generated_rows import PairRows
from fenchel.designs.kmer_rows import mixed
from fenchel.designs.rows import read_only
from fenchel.designs.storage import check_storage
from fenchel.errors import FenchelError
from fenchel.features.base import Features
from fenchel.validation import check_bool, check_integer

#: columns that are not hashed
_MOST_COLUMNS = 2**31 - 1
#: bits of hashed columns: 8 GB of weights
_MOST_BITS = 30


@dataclass(frozen=True)
class PolynomialFeatures(Features):
    r"""Features of degree 1 and 2 of sparse or dense rows: :math:`x_j`, and :math:`x_j x_l` for :math:`j \le l`.

    Products are computed when they are used, so that memory holds the rows alone: a row of m entries has
    :math:`m(m+3)/2` features.  Without hashing they have the columns of scikit-learn's
    ``PolynomialFeatures(include_bias=False)``.

    Parameters
    ----------
    interaction_only : bool, default=False
        Whether there are no squares.
    hash_bits : int, default=None
        Hash features into :math:`2^\text{bits}` columns, with signs; None has a column for every product.
    n_features_in : int, default=None
        The number of columns of X: what a fit learns.

    See Also
    --------
    HashedTextFeatures : Hashed words of texts.

    Examples
    --------
    >>> from fenchel.features import PolynomialFeatures
    >>> PolynomialFeatures().design([[1.0, 2.0], [0.0, 3.0]]).sparse().toarray()
    array([[1., 2., 1., 2., 4.],
           [0., 3., 0., 0., 9.]])
    """

    interaction_only: bool = False
    hash_bits: int | None = None
    n_features_in: int | None = None

    stored: ClassVar[bool] = True

    def design(self, X: Any) -> PolynomialDesign:
        check_bool("interaction_only", self.interaction_only)
        if self.hash_bits is not None:
            check_integer("hash_bits", self.hash_bits, least=1, most=_MOST_BITS)
        rows = _sparse_rows(X)
        d = int(rows.shape[1])
        if self.n_features_in is not None and d != self.n_features_in:
            raise FenchelError(f"X has {d} features, but this model was fitted with {self.n_features_in}")
        pairs = d * (d + 1) // 2 - d * self.interaction_only
        columns = d + pairs if self.hash_bits is None else 1 << self.hash_bits
        if columns > _MOST_COLUMNS:
            raise FenchelError(f"{d:,} features have {pairs:,} products; set hash_bits, say to 24")
        return PolynomialDesign(rows, columns, self.interaction_only, hashes=self.hash_bits is not None)

    def learned(self, X: Any) -> tuple[PolynomialFeatures, PolynomialDesign]:
        design = self.design(X)
        return replace(self, n_features_in=design.n_features_in), design


def _sparse_rows(X: Any) -> sp.csr_array:
    """X in compressed rows without repeated columns; a copy unless it is such a matrix."""
    # scikit-learn's import takes longer than many designs
    from sklearn.utils import check_array

    check_storage(X)
    found = sp.csr_array(check_array(X, accept_sparse="csr", accept_large_sparse=True, dtype="numeric"))
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    return found


class PolynomialDesign(ComputedDesign):
    """Entries of sparse rows and products of two, which ``PolynomialFeatures`` makes."""

    generates_rows: ClassVar[bool] = True

    def __init__(self, rows: sp.csr_array, columns: int, interaction_only: bool, *, hashes: bool) -> None:
        self.shape, self.n_features_in = (int(rows.shape[0]), columns), int(rows.shape[1])
        self._base, self._gap, self._hashes = rows, int(interaction_only), hashes
        self._data = as_real(rows.data)

    def __getitem__(self, rows: Any) -> PolynomialDesign:
        """The design of some of the rows."""
        chosen = self._base[np.arange(self.shape[0])[rows]]
        return PolynomialDesign(chosen, self.shape[1], bool(self._gap), hashes=self._hashes)

    @cached_property
    def entry_counts(self) -> Array:
        sizes = np.diff(self._base.indptr).astype(np.int64)
        return sizes + sizes * (sizes + 1) // 2 - self._gap * sizes

    def block(self, begin: int, end: int) -> sp.csr_array:
        pointers = self._base.indptr[begin : end + 1].astype(np.int64)
        indices = self._base.indices[pointers[0] : pointers[-1]].astype(np.int64)
        data = self._data[pointers[0] : pointers[-1]].astype(np.float64)
        pointers = pointers - pointers[0]
        # each entry with those from ``gap`` places behind it to the end of its row
        own = np.arange(len(data))
        partners = np.repeat(pointers[1:], np.diff(pointers)) - own - self._gap
        left = np.repeat(own, partners)
        right = np.arange(len(left)) - np.repeat(np.cumsum(partners) - partners, partners) + left + self._gap
        first, second = np.append(indices, indices[left]), indices[right]
        second = np.append(np.full(len(own), self.n_features_in), second)
        columns, signs = self._columns(first, second)
        values = signs * np.append(data, data[left] * data[right])
        row = np.repeat(np.arange(end - begin), np.diff(pointers))
        row = np.append(row, row[left])
        order = np.argsort(row, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=end - begin))])
        return sp.csr_array((values[order], columns[order], ends), shape=(end - begin, self.shape[1]))

    def _columns(self, first: Array, second: Array) -> tuple[Array, Array | float]:
        """The columns and signs of products; the number of features stands for one."""
        d = self.n_features_in
        if self._hashes:
            codes = mixed((first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64))
            signs = 1.0 - 2.0 * (codes >> np.uint64(63)).astype(np.float64)
            return (codes & np.uint64(self.shape[1] - 1)).astype(np.int64), signs
        product = d + first * (d - self._gap) - first * (first - 1) // 2 + second - first - self._gap
        return np.where(second == d, first, product), 1.0

    def rows(self) -> PairRows:  # type: ignore[override]
        mask = self.shape[1] - 1 if self._hashes else 0
        numbers = np.array([self.n_features_in, mask, self._gap], dtype=np.uint64)
        indices, indptr = (part.view(f"u{part.itemsize}") for part in (self._base.indices, self._base.indptr))
        return PairRows(*(read_only(array) for array in (self._data, indices, indptr, numbers)))
