"""The design of any matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.designs.base import Design
from fenchel.designs.csr import CSRDesign
from fenchel.designs.dense import DenseDesign
from fenchel.designs.mapped import MappedCSR, MappedDense, memory_limit_of
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
        try:
            X = np.asanyarray(X)
        except ValueError as error:
            raise FenchelError(f"X must be a matrix with as many features in every row: {error}") from error
    if sp.issparse(X):
        # a format without rows is copied into memory; both check the storage
        return MappedCSR(X) if X.format == "csr" and memory_limit_of(X.data) is not None else CSRDesign(X)
    check_storage(X)
    X = X.data if isinstance(X, np.ma.MaskedArray) else X
    return DenseDesign(X) if memory_limit_of(X) is None else MappedDense(X)
