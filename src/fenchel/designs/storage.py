"""Whether the storage of X is sound: broken sparse matrices make SciPy read foreign memory, and masks are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.errors import FenchelError


def check_storage(X: Any, name: str = "X") -> None:
    """Raise for a sparse matrix with indices out of range, and for an array with masked entries.

    To be called before scikit-learn validates X, which converts formats and drops masks.
    """
    if sp.issparse(X):
        check = _CHECKS.get(X.format)
        if check is not None:
            check(X)
    elif isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise FenchelError(f"{name} is a masked array with masked entries; impute them or remove their rows")


def _check_compressed(matrix: sp.csr_array | sp.csc_array | sp.bsr_array) -> None:
    """Raise if pointers or indices are out of range."""
    major, minor = matrix.shape[::-1] if matrix.format == "csc" else matrix.shape
    if matrix.format == "bsr":
        # pointers and indices count blocks
        high, wide = matrix.data.shape[1:] if matrix.data.ndim == 3 else (0, 0)
        if not high or not wide or major % high or minor % wide:
            raise FenchelError("X is a broken sparse matrix: its blocks do not fit its shape")
        major, minor = major // high, minor // wide
    indptr, indices = matrix.indptr, matrix.indices
    sound = len(indptr) == major + 1 and indptr[0] == 0 and bool(np.all(indptr[1:] >= indptr[:-1]))
    if not sound or indptr[-1] > min(len(indices), len(matrix.data)):
        raise FenchelError("X is a broken sparse matrix: its row or column pointers do not fit its entries")
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise FenchelError("X is a broken sparse matrix: its indices are not integers")
    used = indices[: indptr[-1]]
    # negative indices are larger than all others without their sign
    if used.size and used.view(np.dtype(f"u{used.itemsize}").newbyteorder(used.dtype.byteorder)).max() >= minor:
        raise FenchelError(f"X is a broken sparse matrix: an index lies outside 0..{minor - 1}")


def _check_coordinates(matrix: sp.coo_array) -> None:
    """Raise if the rows or columns of a COO matrix are out of range or too few."""
    for coordinates, size in zip(matrix.coords, matrix.shape, strict=True):
        if coordinates.shape != (len(matrix.data),) or coordinates.dtype.kind not in "iu":
            raise FenchelError("X is a broken sparse matrix: its coordinates do not fit its entries")
        if coordinates.size and (coordinates.min() < 0 or coordinates.max() >= size):
            raise FenchelError(f"X is a broken sparse matrix: a coordinate lies outside 0..{size - 1}")


def _check_lists(matrix: sp.lil_array) -> None:
    """Raise if the lists of a LIL matrix have different lengths or columns out of range."""
    sound = matrix.rows.shape == matrix.data.shape == (matrix.shape[0],)
    pairs = zip(matrix.rows, matrix.data, strict=False)
    if not sound or any(len(columns) != len(values) for columns, values in pairs):
        raise FenchelError("X is a broken sparse matrix: its lists of columns do not fit its entries")
    if any(columns and not 0 <= min(columns) <= max(columns) < matrix.shape[1] for columns in matrix.rows):
        raise FenchelError(f"X is a broken sparse matrix: a column lies outside 0..{matrix.shape[1] - 1}")


_CHECKS: dict[str, Callable[[Any], None]] = {
    **dict.fromkeys(("csr", "csc", "bsr"), _check_compressed),
    "coo": _check_coordinates,
    "lil": _check_lists,
}
