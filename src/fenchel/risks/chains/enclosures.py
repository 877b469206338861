r"""Risks of labelled sequences in ball arithmetic, for rigorous certificates.

One recursion over the positions of all sequences of a block, with max or :math:`\log\sum\exp` of balls,

.. math:: F_t(j) = u_{tj} + \operatorname*{max\,or\,lse}_i\,(F_{t-1}(i) + T_{ij})

gives the score of the worst labelling (with the Hamming distance in u) or :math:`\log Z`.  A dual point is that of the
labellings, or of the Gibbs distributions, in a decomposition: the weights over their sum are quotients that are
enclosed, and so are the marginals :math:`e^{F_t(j) + B_t(j) - \log Z}`, so that it is feasible by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.ball_functions import exp
from fenchel.numerics.ball_reductions import largest, log_sum_exp, segment_sums, sums_by_place
from fenchel.numerics.balls import Ball, as_ball, concatenate, where, zeros
from fenchel.risks.chains.edge_enclosures import entries_of_labels, pair_scores, pair_sums, scores_of_labels
from fenchel.risks.chains.labellings import Labellings, completed, labellings_of
from fenchel.risks.chains.sequences import Block, Integers, Sequences
from fenchel.risks.enclosures import EnclosedDual, multiple_point, zero_point
from fenchel.stopping import stop_point


class _Scores(NamedTuple):
    """The parts of a vector of scores, as ``ChainScores``."""

    nodes: Ball
    transitions: Ball
    start: Ball
    end: Ball


class EnclosedChainRisk(NamedTuple):
    """The weighted mean of the max-margin loss, or of the log-loss, of labelled sequences."""

    sequences: Sequences
    labels: Integers
    weights: Floats
    max_margin: bool

    def value(self, scores: Ball) -> Ball:
        parts = self._split(scores)
        if self.max_margin:
            wrong = np.arange(self.sequences.labels) != self.labels[:, None]
            parts = parts._replace(nodes=parts.nodes + wrong.astype(np.float64))
        reduce = largest if self.max_margin else log_sum_exp
        found = zeros((len(self.sequences),))
        for block in self.sequences.blocks:
            messages = self._forward(block, parts, reduce)
            found.put(block.members, reduce(self._at_ends(block, messages) + parts.end, 1))
        losses = found - self._own_scores(scores)
        return (where(self.weights > 0.0, losses, 0.0) * self.weights).sum() / as_ball(self.weights).sum()

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        if decomposition is None or not np.any(theta):
            return zero_point(self.sequences.size)
        if np.ndim(decomposition) == 3:
            raise FenchelError(
                "rigorous=True is not for witnesses that are Markov chains, as those of pragam and bregman: solve with "
                "another solver, or omit witness="
            )
        of = self._of_labellings if self.max_margin else self._of_gibbs
        means, conjugate = of(np.asarray(decomposition, dtype=np.float64))
        own = Labellings(np.arange(len(self.sequences)), self.weights, self.labels)
        total = as_ball(self.weights).sum()
        point = self._features(own, as_ball(self.weights)) - means
        return multiple_point(theta, EnclosedDual(point, 1.0 / total, conjugate / total))

    # --- labellings with weights

    def _of_labellings(self, stored: Floats) -> tuple[Ball, Ball]:
        """The means of the features of a mixture of labellings, and minus that of the distances, times the weights."""
        given = labellings_of(self.sequences, stored)
        # a witness of a certificate holds labellings
        assert given is not None
        found = completed(self.sequences, self.labels, given)
        sums = sums_by_place(as_ball(found.weights), found.owners, len(self.sequences))
        shares = as_ball(found.weights) / sums[found.owners] * self.weights[found.owners]
        atoms, tokens = found.places(self.sequences)
        distances = np.bincount(atoms[found.labels != self.labels[tokens]], minlength=len(found.owners))
        return self._features(found, shares), -(shares * distances.astype(np.float64)).sum()

    def _features(self, found: Labellings, amounts: Ball) -> Ball:
        """The sum of the features of labellings times amounts."""
        sequences, m, labels = self.sequences, self.sequences.labels, found.labels
        atoms, tokens = found.places(sequences)
        lasts = np.cumsum(sequences.lengths[found.owners]) - 1
        begins = lasts + 1 - sequences.lengths[found.owners]
        inner = np.delete(np.arange(len(labels)), lasts)
        tail = sequences.tokens * m
        ends = tail + sequences.matrices * m * m
        places = np.concatenate(
            [
                tokens * m + labels,
                tail + labels[inner] * m + labels[inner + 1],
                ends + labels[begins],
                ends + m + labels[lasts],
            ]
        )
        counted = amounts[np.concatenate([atoms, atoms[inner], atoms[begins], atoms[lasts]])]
        if sequences.edges is not None:
            pairs = tokens[inner + 1], amounts[atoms[inner]], labels[inner], labels[inner + 1]
            more, own = entries_of_labels(sequences.edges, *pairs, m)
            counted, places = concatenate([counted, more]), np.concatenate([places, tail + m * m + own])
        return sums_by_place(counted, places, sequences.size)

    # --- Gibbs distributions

    def _of_gibbs(self, rows: Floats) -> tuple[Ball, Ball]:
        """The means of the features of a mixture of Gibbs distributions, and minus that of entropies."""
        shares = as_ball(rows[:, 0]) / as_ball(rows[:, 0]).sum()
        means, conjugate = zeros((self.sequences.size,)), zeros(())
        for k, scores in enumerate(rows[:, 1:]):
            if rows[k, 0] > 0.0:
                own, log_partitions = self._means(self._split(as_ball(scores)))
                means = means + own * shares[k]
                # -theta . s - R(s): the scores of the given labellings cancel
                conjugate = conjugate + ((own * scores).sum() - (log_partitions * self.weights).sum()) * shares[k]
        return means, conjugate

    def _means(self, parts: _Scores) -> tuple[Ball, Ball]:
        """The means of the features times the weights, and log Z, of each sequence."""
        sequences, m = self.sequences, self.sequences.labels
        nodes, pairs = zeros((sequences.tokens, m)), zeros(parts.transitions.shape)
        found = zeros((len(sequences),))
        for block in sequences.blocks:
            messages = self._forward(block, parts, log_sum_exp)
            logs = log_sum_exp(self._at_ends(block, messages) + parts.end, 1)
            found.put(block.members, logs)
            weights = self.weights[block.members]
            behind = zeros((0, m))
            for t in range(len(messages) - 1, -1, -1):
                stop_point()
                count, after = block.active[t], block.active[t + 1]
                tokens = block.begins[:count] + t
                # sequences that end here
                ends = parts.end + np.zeros((count - after, m))
                if after:
                    right = parts.nodes[tokens[:after] + 1] + behind
                    table = pair_scores(sequences.edges, parts.transitions, tokens[:after] + 1) + right[:, None, :]
                    joint = exp(table + messages[t][:after][:, :, None] - logs[:after][:, None, None])
                    weighted = joint * weights[:after][:, None, None]
                    pairs = pairs + pair_sums(sequences.edges, tokens[:after] + 1, weighted)
                    behind = concatenate([log_sum_exp(table, 2), ends])
                else:
                    behind = ends
                own = exp(messages[t] + behind - logs[:count][:, None])
                nodes.put(tokens, own * weights[:count][:, None])
        first, last = (nodes[at].sum(axis=0) for at in (sequences.begins, sequences.lasts))
        return concatenate([nodes.map(np.ravel), pairs.map(np.ravel), first, last]), found

    # --- recursions

    def _split(self, scores: Ball) -> _Scores:
        parts = [self.sequences.split(values) for values in (scores.high, scores.low, scores.radius)]
        return _Scores(*(Ball(*part) for part in zip(*parts, strict=True)))

    def _forward(self, block: Block, parts: _Scores, reduce: Callable[[Ball, int], Ball]) -> list[Ball]:
        """F of each position, of the sequences that reach it."""
        found: list[Ball] = []
        for t, count in enumerate(block.active[:-1]):
            stop_point()
            tokens = block.begins[:count] + t
            before = parts.start
            if t:
                table = pair_scores(self.sequences.edges, parts.transitions, tokens)
                before = reduce(found[-1][:count][:, :, None] + table, 1)
            found.append(parts.nodes[tokens] + before)
        return found

    @staticmethod
    def _at_ends(block: Block, messages: list[Ball]) -> Ball:
        """F of the last position of each sequence of a block."""
        ends = [message[after:] for message, after in zip(messages, block.active[1:], strict=True)]
        return concatenate(ends[::-1])

    def _own_scores(self, scores: Ball) -> Ball:
        """The score of each sequence's own labelling."""
        sequences, own, parts = self.sequences, self.labels, self._split(scores)
        found = segment_sums(parts.nodes[np.arange(sequences.tokens), own], sequences.lengths)
        after = sequences.inner + 1
        pairs = scores_of_labels(sequences.edges, parts.transitions, after, own[sequences.inner], own[after])
        found = found + segment_sums(pairs, sequences.lengths - 1)
        return found + parts.start[own[sequences.begins]] + parts.end[own[sequences.lasts]]


def enclosed_chains(
    sequences: Sequences, labels: Integers, weights: Array | None, *, max_margin: bool
) -> EnclosedChainRisk:
    """The enclosure of a risk with these weights, or ones."""
    given = np.ones(len(sequences)) if weights is None else np.asarray(weights, dtype=np.float64)
    return EnclosedChainRisk(sequences, labels, given, max_margin)
