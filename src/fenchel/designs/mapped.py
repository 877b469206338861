"""Designs over files that are mapped into memory: X is read in row blocks, and never copied as a whole.

The system keeps the parts of the files in memory that were used last, and drops them when memory is short.  What
matters then is that rows are read in the order of the file: products with X go by row blocks anyway, and methods that
visit the examples in random order visit them block by block, in a random order of the blocks and within each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array
from fenchel.designs.base import BLOCK, Design
from fenchel.designs.csr import CSRDesign
from fenchel.designs.dense import DenseDesign
from fenchel.errors import FenchelError

#: bytes of a block of rows that is visited in random order: fits memory, and most data are one or few blocks
_BLOCK_BYTES = 1 << 28
#: entries of a block of a product with X, which SciPy copies (12 MB)
_PRODUCT_ENTRIES = 1 << 20
#: a block takes at most this share of the memory limit
_LIMIT_SHARE = 8
#: bytes of an entry of a copy of X: a double, and a column of 64 bits
_ENTRY_BYTES = 16


class MappedArray(np.memmap):
    """A memory map that knows how many bytes copies of X may take."""

    memory_limit: float = math.inf

    def __array_finalize__(self, obj: Any) -> None:
        super().__array_finalize__(obj)
        if isinstance(obj, MappedArray):
            self.memory_limit = obj.memory_limit


def memory_limit_of(values: Array) -> float | None:
    """How many bytes copies of an array may take if it is a view of a mapped file; None if it is in memory."""
    base: Any = values
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return base.memory_limit if isinstance(base, MappedArray) else math.inf
        base = base.base
    return None


class MappedDesign(Design):
    """Base class of designs over memory-mapped files; ``as_design`` makes them of mapped arrays.

    Attributes
    ----------
    shape : tuple of int
        The shape (n, d).
    memory_limit : float
        The number of bytes that a copy of X may take; methods that need a larger one are refused.

    See Also
    --------
    as_design : The design of an array or a sparse matrix.
    fenchel.io.open_store : Data larger than memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from fenchel.designs import MappedDesign, as_design
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "X.npy", np.eye(3))
    ...     design = as_design(np.load(Path(folder) / "X.npy", mmap_mode="r"))
    ...     print(isinstance(design, MappedDesign), design.scores(np.ones(3)))
    True [1. 1. 1.]
    """

    memory_limit: float = math.inf

    def _limit_copies(self, values: Array) -> None:
        """Take the limit from the mapped array."""
        limit = memory_limit_of(values)
        self.memory_limit = math.inf if limit is None else limit
        self.has_columns = self._copy_fits

    @property
    def _copy_fits(self) -> bool:
        return _ENTRY_BYTES * self.stored_entries <= self.memory_limit

    @property
    def block_rows(self) -> int:
        size = min(_BLOCK_BYTES, self.memory_limit / _LIMIT_SHARE)
        return max(1, int(size * self.shape[0] / max(1, _ENTRY_BYTES * self.stored_entries)))

    def _check_copy(self) -> None:
        """Raise if a copy of X would take more than the limit."""
        if not self._copy_fits:
            needed = _ENTRY_BYTES * self.stored_entries
            raise FenchelError(
                f"this method needs a copy of X of {needed / 1e6:,.0f} MB, and memory_limit is "
                f"{self.memory_limit / 1e6:,.0f} MB: raise memory_limit, or choose another solver"
            )


class MappedCSR(MappedDesign, CSRDesign):
    """Sparse rows in mapped files."""

    def __init__(self, matrix: sp.csr_array | sp.csr_matrix) -> None:
        super().__init__(matrix)
        self._limit_copies(self._data)

    @cached_property
    def column_counts(self) -> Array | None:
        if self._repeats:
            return None
        counts = np.zeros(self.shape[1], dtype=np.int64)
        for _, block in self._blocks(max(BLOCK, self.shape[1])):
            # of a whole file it would make a copy with 64 bits
            counts += np.bincount(block.indices, minlength=self.shape[1])
        return counts

    def _bounds(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        # limits end long products between blocks
        return super()._bounds(_PRODUCT_ENTRIES if entries is None else entries)

    def narrowed(self, selected: Array) -> CSRDesign:
        self._check_copy()
        return super().narrowed(selected)

    def transposed(self) -> CSRDesign:
        self._check_copy()
        return super().transposed()

    def sparse(self) -> sp.csr_array:
        self._check_copy()
        return super().sparse()


class MappedDense(MappedDesign, DenseDesign):
    """A dense array in a mapped file."""

    def __init__(self, values: Array) -> None:
        super().__init__(values)
        self._limit_copies(values)

    def narrowed(self, selected: Array) -> DenseDesign:
        self._check_copy()
        return super().narrowed(selected)

    def transposed(self) -> DenseDesign:
        self._check_copy()
        return super().transposed()

    def sparse(self) -> sp.csr_array:
        self._check_copy()
        return super().sparse()

    def part(self, begin: int, end: int) -> DenseDesign:
        return DenseDesign(self._values[begin:end])
