"""Designs: what multiplies.  The only room that knows sparse from dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.designs.base import Design
from fenchel.designs.csr import CSRDesign
from fenchel.designs.dense import DenseDesign


def as_design(X: Any) -> Design:
    """The design for a NumPy array, a SciPy sparse matrix or array, or anything ``np.asarray`` takes."""
    if isinstance(X, Design):
        return X
    if sp.issparse(X):
        return CSRDesign(X)
    return DenseDesign(np.asanyarray(X))


def row_lengths(design: Design) -> CSRDesign:
    """A small design with as many rows and columns whose rows are as long: one entry each."""
    examples = design.shape[0]
    entries = np.sqrt(design.squared_row_norms), np.zeros(examples, dtype=np.int32), np.arange(examples + 1)
    return CSRDesign(sp.csr_array(entries, shape=design.shape))


__all__ = ["CSRDesign", "DenseDesign", "Design", "as_design", "row_lengths"]
