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

A block holds sequences in the order of falling length, so that those with a token at position t are its first ones.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import fsum
from fenchel.validation import real_numbers

#: entries of the largest temporary array of a block: sequences times labels squared, or tokens times labels (8 MB)
_BLOCK_PAIRS, _BLOCK_SCORES = 1 << 18, 1 << 20
#: terms that are added one after the other before their sums are added: short sums have small rounding errors
_CHUNK = 1 << 12

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
    """The lengths of sequences whose tokens lie one after the other, and the number of labels."""

    def __init__(self, lengths: ArrayLike, labels: int) -> None:
        given = real_numbers("lengths", lengths)
        # more tokens than a float counts exactly do not exist
        if given.ndim != 1 or not len(given) or not np.all((given >= 1) & (given == np.rint(given)) & (given < 2**53)):
            raise FenchelError("lengths must hold the number of tokens of each sequence, integers of at least 1")
        self.lengths: Integers = given.astype(np.int64)
        self.begins: Integers = np.cumsum(self.lengths) - self.lengths
        self.tokens, self.labels = int(np.sum(self.lengths)), int(labels)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def size(self) -> int:
        """The number of scores: of tokens and labels, of pairs of labels, of first and of last labels."""
        return (self.tokens + self.labels + 2) * self.labels

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
        pairs = nodes + m * m
        return ChainScores(
            scores[:nodes].reshape(self.tokens, m),
            scores[nodes:pairs].reshape(m, m),
            scores[pairs : pairs + m],
            scores[pairs + m :],
        )

    def sums(self, values: Array) -> Floats:
        """The correctly rounded sum over the tokens of each sequence."""
        terms, begins = values.tolist(), self.begins.tolist()
        ends = [*begins[1:], self.tokens]
        return np.array([fsum(terms[begin:end]) for begin, end in zip(begins, ends, strict=True)])

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
        found[self.inner + 1] += scores.transitions[labels[self.inner], labels[self.inner + 1]]
        found[self.begins] += scores.start[labels[self.begins]]
        found[self.lasts] += scores.end[labels[self.lasts]]
        return found


def weighted_counts(places: Array, weights: Array, size: int) -> Floats:
    """The sums of the weights at each place, with at most ``sum_length`` additions in a row."""
    found = np.zeros(size)
    for begin in range(0, len(places), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        found += np.bincount(places[part], weights[part], size)
    return found


def sum_length(terms: int) -> float:
    """The additions on the way of one of the terms into a sum of ``weighted_counts``."""
    return min(terms, _CHUNK) + terms / _CHUNK + 1.0
