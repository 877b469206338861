"""Parts that lie one after the other in the memory of one array are that array: nothing is copied to join them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array


def joined_rows(parts: Sequence[Any]) -> Any:
    """The rows of all parts: a view if they are adjacent views of one array or of the arrays of one CSR matrix."""
    if not any(map(sp.issparse, parts)):
        whole = adjacent_view(parts)
        return np.concatenate(parts) if whole is None else whole
    whole = _adjacent_csr(parts) if all(sp.issparse(part) and part.format == "csr" for part in parts) else None
    return sp.vstack(parts, format="csr") if whole is None else whole


def adjacent_view(parts: Sequence[Array]) -> Array | None:
    """One read-only view of adjacent views of an array, such as ``np.split`` returns; None if they are none."""
    filled = [part for part in parts if part.size]
    if not filled or filled[0].base is None:
        return None
    first, at = filled[0], _address(filled[0])
    for part in filled:
        alike = part.base is first.base and part.dtype == first.dtype and part.strides == first.strides
        if not alike or part.shape[1:] != first.shape[1:] or _address(part) != at:
            return None
        at += part.shape[0] * part.strides[0]
    # every row of it is a row of a part, so it is inside of the memory of the array
    shape = (sum(len(part) for part in filled), *first.shape[1:])
    return np.lib.stride_tricks.as_strided(first, shape, first.strides, writeable=False)


def _address(array: Array) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def _adjacent_csr(parts: Sequence[Any]) -> Any:
    """The matrix of slices of the rows of one CSR matrix, which share its entries; None for others."""
    if any(len(part.data) != part.indptr[-1] or part.indptr[0] for part in parts):
        return None
    data, indices = (adjacent_view([getattr(part, name) for part in parts]) for name in ("data", "indices"))
    if data is None or indices is None:
        return None
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(indices.dtype)
    return sp.csr_array((data, indices, indptr), shape=(len(sizes), parts[0].shape[1]))
