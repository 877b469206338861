"""Designs: the matrix X of examples, dense or sparse."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fenchel.designs.base import Design
from fenchel.designs.chains import ChainDesign
from fenchel.designs.computed import ComputedDesign
from fenchel.designs.conversion import as_design
from fenchel.designs.csr import CSRDesign
from fenchel.designs.dense import DenseDesign
from fenchel.designs.mapped import MappedDesign
from fenchel.errors import FenchelError


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


__all__ = [
    "CSRDesign",
    "ChainDesign",
    "ComputedDesign",
    "DenseDesign",
    "Design",
    "MappedDesign",
    "as_design",
    "row_lengths",
]
