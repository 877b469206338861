r"""Features of pairs of neighbouring tokens: the scores of a pair of labels then differ from pair to pair.

.. math:: T^{(t)} = T_0 + \sum_k x_{tk}\,T_k

is the matrix of scores of the pair of tokens that ends with token t, with features :math:`x_t` and one matrix of m x m
weights for each of them.  The scores of all pairs are never formed at once: oracles ask for those of one position of a
block.  The computed matrix differs from the exact one by at most :math:`(r + 2)u\,(|T_0| + \sum_k|x_{tk}||T_k|)`, with
r the features of the pair with most of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.risks.chains.counting import weighted_counts


class EdgeFeatures:
    """The features of pairs, in the row of the token that ends the pair; rows of first tokens are ignored."""

    def __init__(self, features: Any, begins: Array, tokens: int) -> None:
        matrix = sp.csr_array(features, dtype=np.float64)
        if matrix.shape[0] != tokens:
            raise FenchelError(f"edges must have a row for each of the {tokens} tokens, got {matrix.shape[0]}")
        if not np.all(np.isfinite(matrix.data)):
            raise FenchelError("edges contain NaN or infinity; impute or remove them")
        kept = np.ones(tokens)
        kept[begins] = 0.0
        self.matrix = sp.csr_array(sp.diags_array(kept) @ matrix)
        self.matrix.eliminate_zeros()
        self.count = int(matrix.shape[1])

    @cached_property
    def longest(self) -> int:
        """The features of the pair with most of them."""
        return int(np.max(np.diff(self.matrix.indptr), initial=0))

    @cached_property
    def magnitudes(self) -> Any:
        """Absolute values."""
        return abs(self.matrix)

    def scores(self, transitions: Array, tokens: Array) -> Floats:
        """The matrices of the pairs that end with the tokens: (tokens, m, m)."""
        m = transitions.shape[-1]
        own = self.matrix[tokens] @ transitions[1:].reshape(self.count, m * m)
        return np.asarray(own.reshape(-1, m, m) + transitions[0])

    def of_labels(self, transitions: Array, tokens: Array, before: Array, after: Array) -> Floats:
        """The scores of given pairs of labels, one for each of the tokens."""
        rows, features, values = self.entries(tokens)
        terms = values * transitions[1:][features, before[rows], after[rows]]
        return transitions[0][before, after] + np.bincount(rows, terms, len(tokens))

    def sums_of_labels(self, tokens: Array, weights: Array, before: Array, after: Array, m: int) -> Floats:
        """The weighted sum of the features of given pairs of labels: (1 + K, m, m)."""
        rows, features, values = self.entries(tokens)
        places = (features * m + before[rows]) * m + after[rows]
        plain = weighted_counts(before * m + after, weights, m * m)
        own = weighted_counts(places, values * weights[rows], self.count * m * m)
        return np.concatenate([plain, own]).reshape(1 + self.count, m, m)

    def add(self, total: Array, tokens: Array, pairs: Array) -> None:
        """Add the features of pairs of labels with weights, (tokens, m, m), to their sum."""
        total[0] += np.sum(pairs, axis=0)
        total[1:] += (self.matrix[tokens].T @ pairs.reshape(len(pairs), -1)).reshape(total[1:].shape)

    def sizes(self, of_matrices: Array) -> Floats:
        """For each token |T_0| + sum_k |x_k| |T_k|, for any size of the 1 + K matrices."""
        return np.asarray(of_matrices[0] + self.magnitudes @ of_matrices[1:])

    def entries(self, tokens: Array) -> tuple[Array, Array, Array]:
        """The stored entries of some rows: the place of the row, the feature, and the value."""
        own = self.matrix[tokens]
        return np.repeat(np.arange(len(tokens)), np.diff(own.indptr)), own.indices.astype(np.int64), own.data
