r"""The sequences of a chain risk, their scores in one flat vector, and blocks of sequences for vectorized oracles.

The scores of Q sequences with n tokens in all and m labels are one vector

.. math:: s = (u, T, a, z), \qquad \mathrm{score}(y) = a_{y_1} + \sum_t u_{t,y_t} + \sum_t T_{y_t,y_{t+1}} + z_{y_L}

with a score u for each token and label, T for each pair of neighbouring labels, a and z for the first and the last
label; T, a and z are those of all sequences.

======  ==============================  ========
symbol  here                            shape
======  ==============================  ========
u       ``ChainScores.nodes``           (n, m)
T       ``ChainScores.transitions``     (m, m)
a, z    ``ChainScores.start``, ``end``  (m,)
======  ==============================  ========

With K features of pairs (``edges``) T is K + 1 matrices, of shape (K + 1, m, m), and the score of a pair of labels is
that of the matrix :math:`T_0 + \sum_kx_{tk}T_k` of its token.

A block holds sequences in the order of falling length, so that those with a token at position t are its first ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import fsum
from fenchel.risks.chains.counting import weighted_counts
from fenchel.risks.chains.edges import EdgeFeatures
from fenchel.validation import real_numbers

#: entries of the largest temporary array of a block: sequences times labels squared, or tokens times labels (8 MB)
_BLOCK_PAIRS, _BLOCK_SCORES = 1 << 18, 1 << 20
#: sequences whose terms are summed at once
_SUMS_AT_ONCE = 1 << 10

Integers = NDArray[np.int64]


class ChainScores(NamedTuple):
    """The parts of a vector of scores, or of one of its dual variables."""

    nodes: Floats
    transitions: Floats
    start: Floats
    end: Floats


class Block(NamedTuple):
    """Some sequences, the longest first: their numbers, their first tokens, and how many reach each position."""

    members: Integers
    begins: Integers
    #: the sequences with more than t tokens, for t = 0, 1, ..., and 0 at the end
    active: list[int]


class Sequences:
    """The lengths of sequences whose tokens lie one after the other, the number of labels, and features of pairs."""

    def __init__(self, lengths: ArrayLike, labels: int, edges: Any = None) -> None:
        given = real_numbers("lengths", lengths)
        # more tokens than a float counts exactly do not exist
        if given.ndim != 1 or not len(given) or not np.all((given >= 1) & (given == np.rint(given)) & (given < 2**53)):
            raise FenchelError("lengths must hold the number of tokens of each sequence, integers of at least 1")
        self.lengths: Integers = given.astype(np.int64)
        self.begins: Integers = np.cumsum(self.lengths) - self.lengths
        self.tokens, self.labels = int(np.sum(self.lengths)), int(labels)
        self.edges = None if edges is None else EdgeFeatures(edges, self.begins, self.tokens)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def size(self) -> int:
        """The number of scores: of tokens and labels, of pairs of labels, of first and of last labels."""
        return (self.tokens + 2) * self.labels + self.matrices * self.labels**2

    @property
    def matrices(self) -> int:
        """The matrices of scores of pairs of labels: one, and one for each feature of pairs."""
        return 1 if self.edges is None else 1 + self.edges.count

    @property
    def lasts(self) -> Integers:
        """The last token of each sequence."""
        return self.begins + self.lengths - 1

    @cached_property
    def owners(self) -> Integers:
        """The sequence of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def inner(self) -> Integers:
        """The tokens that another one of their sequence follows."""
        followed = np.ones(self.tokens, dtype=bool)
        followed[self.lasts] = False
        return np.flatnonzero(followed)

    def split(self, scores: Array) -> ChainScores:
        """Views of the parts of a flat vector."""
        m, nodes = self.labels, self.tokens * self.labels
        pairs = nodes + self.matrices * m * m
        return ChainScores(
            scores[:nodes].reshape(self.tokens, m),
            scores[nodes:pairs].reshape((m, m) if self.edges is None else (self.matrices, m, m)),
            scores[pairs : pairs + m],
            scores[pairs + m :],
        )

    def sums(self, values: Array) -> Floats:
        """The correctly rounded sum over the tokens of each sequence."""
        found = np.empty(len(self))
        ends = self.begins + self.lengths
        # as Python's floats, which take four times as much memory, some sequences at a time
        for first in range(0, len(self), _SUMS_AT_ONCE):
            part = slice(first, first + _SUMS_AT_ONCE)
            low = int(self.begins[first])
            terms = values[low : int(ends[part][-1])].tolist()
            bounds = zip((self.begins[part] - low).tolist(), (ends[part] - low).tolist(), strict=True)
            found[part] = [fsum(terms[begin:end]) for begin, end in bounds]
        return found

    @cached_property
    def blocks(self) -> list[Block]:
        """All sequences, in blocks of nearly equal lengths."""
        order, m, found = np.argsort(-self.lengths, kind="stable"), self.labels, []
        begin = 0
        while begin < len(order):
            longest = int(self.lengths[order[begin]])
            size = max(1, min(_BLOCK_PAIRS // (m * m), _BLOCK_SCORES // (m * longest)))
            members = order[begin : begin + size]
            counts = np.bincount(self.lengths[members], minlength=longest + 1)
            active = (len(members) - np.cumsum(counts)).tolist()
            found.append(Block(members, self.begins[members], active))
            begin += size
        return found

    @cached_property
    def longest_sum(self) -> int:
        """The additions on the way of a term into a sum over all sequences, block by block and position by position."""
        return max(len(block.members) for block in self.blocks) + sum(len(block.active) for block in self.blocks)

    def gold_terms(self, scores: ChainScores, labels: Integers) -> Floats:
        """For each token the scores that one labelling collects there: its own, that of the pair before, and the ends.

        Their sum over a sequence is the score of the labelling.
        """
        found = scores.nodes[np.arange(self.tokens), labels].copy()
        before, after = labels[self.inner], labels[self.inner + 1]
        if self.edges is None:
            found[self.inner + 1] += scores.transitions[before, after]
        else:
            found[self.inner + 1] += self.edges.of_labels(scores.transitions, self.inner + 1, before, after)
        found[self.begins] += scores.start[labels[self.begins]]
        found[self.lasts] += scores.end[labels[self.lasts]]
        return found

    def pairs_at(self, scores: ChainScores, tokens: Integers) -> Floats:
        """The scores of the pairs of labels that end with the tokens: (m, m) if all are alike, else (tokens, m, m)."""
        return scores.transitions if self.edges is None else self.edges.scores(scores.transitions, tokens)

    def add_pairs(self, total: Array, tokens: Integers, pairs: Array) -> None:
        """Add the weights of pairs of labels that end with the tokens, (tokens, m, m), to the sum of their features."""
        if self.edges is None:
            total += np.sum(pairs, axis=0)
        else:
            self.edges.add(total, tokens, pairs)

    def counts_of_pairs(self, tokens: Integers, weights: Array, before: Integers, after: Integers) -> Floats:
        """The weighted sum of the features of pairs of labels that end with the tokens."""
        m = self.labels
        if self.edges is None:
            return weighted_counts(before * m + after, weights, m * m).reshape(m, m)
        return self.edges.sums_of_labels(tokens, weights, before, after, m)

    # --- sizes, for rounding errors

    @property
    def features_of_pair(self) -> int:
        """The most features of a pair; 0 without any."""
        return 0 if self.edges is None else self.edges.longest

    def sizes_of_pairs(self, matrices: Array) -> Floats:
        """The sum over the pairs of each sequence of a size of the matrices of their scores."""
        sizes = np.ravel(matrices)
        if self.edges is None:
            return np.asarray((self.lengths - 1) * sizes[0], dtype=np.float64)
        return np.add.reduceat(self.edges.sizes(sizes), self.begins) - sizes[0]
