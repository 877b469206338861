"""Dense designs: C order, Fortran order or any strided view, memory-mapped or not, without a copy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs.base import BLOCK, SAMPLE, Design, as_real, largest_size
from fenchel.designs.enclosures import EnclosedDense, EnclosedDesign
from fenchel.designs.rows import DenseRows, dense_rows, read_only
from fenchel.errors import FenchelError
from fenchel.stopping import stop_point

#: rows of a block: X^T theta and X^T X add as many products at a time, and then as many blocks as there are
_BLOCK_ROWS = 4096


class DenseDesign(Design):
    """Two-dimensional NumPy array as a design, without a copy.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        The array, in C order, Fortran order or any strides, memory-mapped or not.

    See Also
    --------
    CSRDesign : SciPy sparse matrices.
    as_design : The design of any matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.designs import DenseDesign
    >>> DenseDesign(np.eye(2, dtype=np.float32)).scores(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    has_columns: bool = True

    def __init__(self, values: Array) -> None:
        if values.ndim != 2:
            raise FenchelError(f"X must have two dimensions, got shape {values.shape}")
        self._values = read_only(as_real(values))
        self.shape = (values.shape[0], values.shape[1])
        # BLAS takes these without a copy
        flags = self._values.flags
        self._direct = self._values.dtype == np.float64 and (flags.c_contiguous or flags.f_contiguous)

    def scores(self, weights: Array) -> Floats:
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        if self._direct:
            stop_point()
            return self._values @ weights.T
        result = np.empty((self.shape[0], *weights.shape[:-1]))
        for block in self._blocks():
            np.matmul(self._values[block].astype(np.float64), weights.T, out=result[block])
        return result

    def scores_by_output(self, weights: Array) -> Floats:
        if not self._direct:
            return super().scores_by_output(weights)
        stop_point()
        return weights @ self._values.T

    def adjoint(self, theta: Array) -> Floats:
        theta = np.asarray(theta, dtype=np.float64)
        result = np.zeros((*theta.shape[1:], self.shape[1]))
        # blocks also shorten the sums, and with them the bound on their rounding errors
        for block in self._blocks():
            result += theta[block].T @ self._values[block].astype(np.float64, copy=False)
        return result

    def enclosure(self) -> EnclosedDesign:
        return EnclosedDense(self._values)

    @cached_property
    def squared_row_norms(self) -> Floats:
        result = np.empty(self.shape[0])
        for block in self._blocks():
            values = self._values[block].astype(np.float64)
            result[block] = np.einsum("ij,ij->i", values, values)
        return result

    @cached_property
    def largest_row_norm(self) -> float:
        return self.largest_entry * math.sqrt(self.shape[1])

    @cached_property
    def largest_entry(self) -> float:
        return largest_size(self._values)

    @property
    def adjoint_roundings(self) -> int:
        return min(self._step, self.shape[0]) + self.shape[0] // self._step

    @property
    def score_roundings(self) -> int:
        """Those of a product and of the sum of d of them."""
        return self.shape[1]

    @cached_property
    def mean_square(self) -> float:
        step = max(1, self.shape[0] // SAMPLE)
        with np.errstate(over="ignore", invalid="ignore"):
            if step == 1 and self.shape[0]:
                # certificates need the norms of all rows too
                return float(self.squared_row_norms.sum()) / self.shape[0]
            sample = self._values[::step].astype(np.float64)
            return float(np.mean(np.einsum("ij,ij->i", sample, sample))) if sample.size else 0.0

    def gram(self, selected: Array, weights: Array, *, single: bool = False) -> tuple[Floats, Floats]:
        gram, border = np.zeros((self.shape[1], self.shape[1])), np.zeros(self.shape[1])
        dtype = np.float32 if single else np.float64
        weights = weights.astype(dtype, copy=False)
        for part, values in self._blocks_of(selected, self._step, dtype):
            border += weights[part] @ values
            weight = float(weights[part][0])
            if (weights[part] != weight).any():
                weight, values = 1.0, values * np.sqrt(weights[part])[:, None]
            elif not self._direct:
                # NumPy's product has BLAS for arrays in one of its orders alone
                values = np.ascontiguousarray(values)
            gram += weight * (values.T @ values)
        return gram, border

    def narrowed(self, selected: Array) -> DenseDesign:
        # by columns, as loops over columns read them
        values = np.empty((self.shape[0], len(selected)), order="F")
        for block in self._blocks():
            values[block] = self._values[block][:, selected]
        return DenseDesign(values)

    def transposed(self) -> DenseDesign:
        return DenseDesign(np.ascontiguousarray(self._values.T))

    def column_squares(self, shares: Array) -> Floats:
        result = np.zeros(self.shape[1])
        for block in self._blocks():
            result += shares[block] @ np.square(self._values[block], dtype=np.float64)
        return result

    def snapshot(self, most: int) -> DenseDesign | None:
        return DenseDesign(np.array(self._values)) if self._values.size <= most else None

    def part(self, begin: int, end: int) -> DenseDesign:
        return DenseDesign(self._values[begin:end])

    def blocks(self, selected: Array, rows: int) -> Iterator[tuple[slice, Floats]]:
        return self._blocks_of(selected, rows, np.float64)

    def _blocks_of(self, selected: Array, rows: int, dtype: type[np.floating]) -> Iterator[tuple[slice, Array]]:
        everything = len(selected) == self.shape[0]
        for start in range(0, len(selected), rows):
            stop_point()
            part = slice(start, min(start + rows, len(selected)))
            yield part, self._values[part if everything else selected[part]].astype(dtype, copy=False)

    def rows(self) -> DenseRows:
        return self._rows

    @cached_property
    def _rows(self) -> DenseRows:
        return dense_rows(self._values)

    def sparse(self) -> sp.csr_array:
        return sp.csr_array(self._values.astype(np.float64, copy=False))

    @property
    def stored_entries(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def _step(self) -> int:
        """The rows of a block."""
        return max(1, min(_BLOCK_ROWS, BLOCK // max(1, self.shape[1])))

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, self.shape[0], self._step):
            stop_point()
            yield slice(start, start + self._step)
