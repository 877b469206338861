r"""The design of linear chains: from weights to the scores of tokens and of pairs of labels.

.. math::
    w = (W, T, a, z) \;\mapsto\; s = (XW, T, a, z), \qquad X \in \mathbb R^{n\times d},\; W \in \mathbb R^{d\times m}

for n tokens with d features and m labels: a block-diagonal matrix of :math:`X\otimes I_m` and the identity, of which
only X is stored.  Weights lie in the order of the features, and scores in that of the tokens, so that both products are
one product with X each.  Transitions T and the ends a, z may be left out; their scores are zero then.  With K features
of pairs of tokens, which the risk holds, T is K + 1 matrices.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs.base import Design
from fenchel.designs.conversion import as_design
from fenchel.designs.enclosures import EnclosedChains
from fenchel.designs.rows import Rows
from fenchel.errors import FenchelError
from fenchel.numerics.limits import MOST_LABELS
from fenchel.validation import check_bool, check_integer


class ChainDesign(Design):
    """Weights of features and labels, of pairs of labels, and of first and last labels, as a design.

    Parameters
    ----------
    tokens : ndarray or sparse matrix of shape (n, d)
        The features of all tokens, sequence after sequence; neither copied nor changed.
    labels : int
        The number m of labels.
    transitions : bool, default=True
        Whether there is a weight for each pair of neighbouring labels.
    ends : bool, default=True
        Whether there are weights for the first and the last label of a sequence.
    edge_features : int, default=0
        The number K of features of pairs of tokens, the ``edges`` of the risk, each with a weight for each pair of
        labels.

    See Also
    --------
    fenchel.risks.ChainHinge : The max-margin risk of labelled sequences.
    fenchel.risks.ChainLogistic : The log-loss of a linear-chain conditional random field.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.designs import ChainDesign
    >>> design = ChainDesign(np.eye(3), labels=2)
    >>> design.shape
    (14, 14)
    """

    divisible: ClassVar[bool] = False

    def __init__(
        self, tokens: Any, labels: int, *, transitions: bool = True, ends: bool = True, edge_features: int = 0
    ) -> None:
        check_integer("labels", labels, least=1, most=MOST_LABELS)
        check_bool("transitions", transitions)
        check_bool("ends", ends)
        check_integer("edge_features", edge_features, least=0)
        if edge_features and not transitions:
            raise FenchelError(f"edge_features must be 0 without transitions, got {edge_features!r}")
        self.tokens = as_design(tokens)
        if not math.isfinite(self.tokens.largest_entry):
            raise FenchelError("tokens hold NaN or infinity; impute or remove them")
        self.labels, self.has_transitions, self.has_ends = int(labels), bool(transitions), bool(ends)
        self.edge_features = int(edge_features)
        m, (n, d) = self.labels, self.tokens.shape
        self._nodes, self._pairs = d * m, (1 + self.edge_features) * m * m
        self._tail = self._pairs + 2 * m
        self._kept = np.r_[
            np.arange(self._pairs if transitions else 0), np.arange(self._pairs, self._tail if ends else self._pairs)
        ].astype(np.int64)
        self.shape = (n * m + self._tail, self._nodes + len(self._kept))

    def chains(self) -> ChainDesign:
        return self

    def scores(self, weights: Array) -> Floats:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim != 1:
            return np.stack([self.scores(one) for one in weights], axis=1)
        m, n = self.labels, self.tokens.shape[0]
        result = np.zeros(self.shape[0])
        result[: n * m] = self.tokens.scores_by_feature(weights[: self._nodes].reshape(-1, m)).ravel()
        result[n * m + self._kept] = weights[self._nodes :]
        return result

    def adjoint(self, theta: Array) -> Floats:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim != 1:
            return np.stack([self.adjoint(one) for one in theta.T])
        m, n = self.labels, self.tokens.shape[0]
        nodes = self.tokens.adjoint_by_feature(theta[: n * m].reshape(n, m))
        return np.concatenate([nodes.ravel(), theta[n * m + self._kept]])

    def enclosure(self) -> EnclosedChains | None:
        tokens = self.tokens.enclosure()
        nodes = self.tokens.shape[0] * self.labels
        return None if tokens is None else EnclosedChains(tokens, self.shape, self.labels, nodes, self._kept)

    def split(self, weights: Array) -> tuple[Floats, Floats, Floats, Floats]:
        """W of shape (d, m), T of shape (m, m), a and z of shape (m,); zero where there are none.

        With K features of pairs T has the shape (K + 1, m, m).
        """
        m = self.labels
        tail = np.zeros(self._tail)
        tail[self._kept] = weights[self._nodes :]
        T = tail[: self._pairs].reshape((1 + self.edge_features, m, m) if self.edge_features else (m, m))
        return weights[: self._nodes].reshape(-1, m), T, tail[self._pairs : -m], tail[-m:]

    def joined(self, W: Array, T: Array, a: Array, z: Array) -> Floats:
        """The weights of these parts."""
        tail = np.concatenate([np.ravel(T), a, z])
        return np.concatenate([np.ravel(W), tail[self._kept]])

    @cached_property
    def squared_row_norms(self) -> Floats:
        return self._with_tail(self.tokens.squared_row_norms)

    @cached_property
    def row_magnitudes(self) -> Floats:
        return self._with_tail(self.tokens.row_magnitudes)

    def _with_tail(self, lengths: Array) -> Floats:
        """The numbers of the tokens for each of their labels, and one for each pair and end that has a weight."""
        tail = np.zeros(self._tail)
        tail[self._kept] = 1.0
        return np.concatenate([np.repeat(lengths, self.labels), tail])

    @property
    def largest_row_norm(self) -> float:
        # NaN if a token's is: the first argument of max
        return max(self.tokens.largest_row_norm, self._largest_of_tail)

    @property
    def largest_entry(self) -> float:
        return max(self.tokens.largest_entry, self._largest_of_tail)

    @property
    def _largest_of_tail(self) -> float:
        return 1.0 if len(self._kept) else 0.0

    @property
    def score_roundings(self) -> int:
        return int(np.max(self.tokens.score_roundings, initial=1))

    @property
    def adjoint_roundings(self) -> int:
        return self.tokens.adjoint_roundings

    @property
    def mean_square(self) -> float:
        return self.tokens.mean_square

    @property
    def stored_entries(self) -> int:
        return self.tokens.stored_entries * self.labels

    def part(self, begin: int, end: int) -> Design:
        raise FenchelError("the scores of chains have no parts: sequences share the weights of pairs of labels")

    def checksum(self) -> int:
        return self.tokens.checksum()

    def rows(self) -> Rows:
        raise FenchelError("compiled loops read the tokens of chains, not the rows of all scores")
