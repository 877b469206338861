"""Designs: the matrix X of examples, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.designs.base import Design
from fenchel.designs.chains import ChainDesign
from fenchel.designs.csr import CSRDesign
from fenchel.designs.dense import DenseDesign
from fenchel.designs.mapped import MappedCSR, MappedDense, MappedDesign, memory_limit_of
from fenchel.designs.storage import check_storage
from fenchel.errors import FenchelError


def as_design(X: Any) -> Design:
    """Return the design of a matrix.

    Parameters
    ----------
    X : array-like, sparse matrix or Design
        The examples, one in each row.

    Returns
    -------
    Design
        X itself if it is a design; a :class:`MappedDesign` if it lies in a memory-mapped file.

    See Also
    --------
    Design : The base class.

    Examples
    --------
    >>> from fenchel.designs import as_design
    >>> as_design([[1.0, 2.0], [3.0, 4.0]]).shape
    (2, 2)
    """
    if isinstance(X, Design):
        return X
    if not sp.issparse(X):
        X = np.asanyarray(X)
    if X.dtype.kind == "c":
        raise FenchelError("X holds complex numbers; pass their real and imaginary parts as separate features")
    check_storage(X)
    X = X.data if isinstance(X, np.ma.MaskedArray) else X
    if sp.issparse(X):
        # a format without rows is copied into memory
        return MappedCSR(X) if X.format == "csr" and memory_limit_of(X.data) is not None else CSRDesign(X)
    return DenseDesign(X) if memory_limit_of(X) is None else MappedDense(X)


def row_lengths(design: Design) -> CSRDesign:
    """Return a small design of the same shape whose rows have the same Euclidean norms, with one entry each.

    Parameters
    ----------
    design : Design
        The design.

    Returns
    -------
    CSRDesign
        A design with the row norms in its first column.

    See Also
    --------
    Design : The base class.

    Examples
    --------
    >>> from fenchel.designs import as_design, row_lengths
    >>> row_lengths(as_design([[3.0, 4.0], [0.0, 1.0]])).squared_row_norms.round(9)
    array([25.,  1.])
    """
    if not isinstance(design, Design):
        raise FenchelError(f"design must be a Design, got {type(design).__name__}; use as_design")
    examples = design.shape[0]
    entries = np.sqrt(design.squared_row_norms), np.zeros(examples, dtype=np.int32), np.arange(examples + 1)
    return CSRDesign(sp.csr_array(entries, shape=design.shape))


__all__ = ["CSRDesign", "ChainDesign", "DenseDesign", "Design", "MappedDesign", "as_design", "row_lengths"]
