"""Features of pairs of tokens for the compiled loops of labelled sequences."""

from __future__ import annotations

import scipy.sparse as sp

from fenchel.designs.rows import CSRRows, csr_rows
from fenchel.risks.chains.sequences import Sequences


def edge_rows(sequences: Sequences) -> CSRRows:
    """The rows of the features of pairs; without any, one empty row, which no loop reads."""
    matrix = sp.csr_array((1, 0)) if sequences.edges is None else sequences.edges.matrix
    return csr_rows(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1])
