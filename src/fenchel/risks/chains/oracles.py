r"""Viterbi and forward-backward recursions over blocks of sequences, vectorized with NumPy.

.. math::
    \max_y\,\mathrm{score}(y), \qquad \log Z = \log\sum_y e^{\mathrm{score}(y)}, \qquad
    P(y) = e^{\mathrm{score}(y)}/Z

Both recursions subtract a constant at each position and add the constants up exactly, so that errors grow with the
length of a sequence and not with its square.  Forward-backward works with exponentials, where a step is one product of
matrices: with :math:`E = e^{T}`, :math:`e_t = e^{u_t}`, each over its largest entry, and normalized vectors,

.. math::
    f_t \propto (E^Tf_{t-1})\circ e_t, \qquad b_t \propto E\,(e_{t+1}\circ b_{t+1}), \qquad
    P(y_t) \propto f_t\circ b_t, \qquad P(y_t, y_{t+1}) \propto E\circ\bigl(f_t\,(e_{t+1}\circ b_{t+1})^T\bigr).

The sum of edge marginals over the sequences of a block is a product of matrices too, so they are never formed.  With
features of pairs E is that of each pair of tokens, and formed for one position of a block at a time, at m times the
memory (``pair_exponentials``).  Where transitions differ by so much that their exponentials underflow, logarithms are
used.  Scores of tokens may differ by any amount: with :math:`r(T) + r(z) \le 300` the sums are at least
:math:`e^{-600}/m`, and an entry of f or e that underflows is below :math:`10^{-47}m` of them.

Errors.  All terms are positive.  A step of a recursion multiplies relative errors of at most

.. math:: (m + 4 + 2F)u + (r(u_t) + r(T))u, \qquad r(x) = \max x - \min x,

with F u that of an exponential and the last term that of its argument, to which the first token adds the rounding of
:math:`u_1 + a`; logarithms have the sizes of the scores in place of r.  f and b together have L steps, and so has the
normalization: ``relative_errors``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import FUNCTION, UNIT
from fenchel.risks.chains.pair_exponentials import AlikePairs, FeaturedPairs, PairExponentials
from fenchel.risks.chains.sequences import Block, ChainScores, Integers, Sequences
from fenchel.stopping import stop_point

#: differences of transitions above which logarithms replace exponentials, of which a product of two must not underflow
_WIDEST = 300.0
#: positions between two stop points
_STOP_EVERY = 256


class Decoded(NamedTuple):
    """The score of the best labelling of each sequence, and its labels."""

    values: Floats
    labels: Integers


class Marginals(NamedTuple):
    """log Z of each sequence, the marginals of tokens, and those of pairs summed with the sequences' shares."""

    log_partitions: Floats
    nodes: Floats
    transitions: Floats


def viterbi(sequences: Sequences, scores: ChainScores, wrong: Integers | None = None) -> Decoded:
    """The best labellings; with ``wrong``, each label other than these adds one to its token's score."""
    tops, values = np.empty(sequences.tokens), np.empty(len(sequences))
    labels = np.empty(sequences.tokens, dtype=np.int64)
    for block in sequences.blocks:
        ends, pointers = np.empty((len(block.members), sequences.labels)), []
        best = scores.start + _nodes(scores.nodes, block.begins, wrong)
        for t, count in enumerate(block.active[:-1]):
            if t % _STOP_EVERY == 0:
                stop_point()
            tokens = block.begins[:count] + t
            if t:
                # [sequence, label, label before]
                table = best[:count, None, :] + np.swapaxes(sequences.pairs_at(scores, tokens), -1, -2)
                before = np.argmax(table, axis=2)
                pointers.append(before)
                best = np.take_along_axis(table, before[:, :, None], axis=2)[:, :, 0]
                best += _nodes(scores.nodes, tokens, wrong)
            tops[tokens] = top = np.max(best, axis=1)
            best -= top[:, None]
            ends[block.active[t + 1] : count] = best[block.active[t + 1] :]
        ends += scores.end
        values[block.members] = np.max(ends, axis=1)
        _trace_back(block, np.argmax(ends, axis=1), pointers, labels)
    return Decoded(values + sequences.sums(tops), labels)


def _nodes(nodes: Array, tokens: Integers, wrong: Integers | None) -> Floats:
    found = nodes[tokens]
    if wrong is not None:
        right = np.arange(len(tokens)), wrong[tokens]
        kept = found[right]
        found += 1.0
        found[right] = kept
    return found


def _trace_back(block: Block, lasts: Integers, pointers: list[Integers], labels: Integers) -> None:
    """Write the labels, from the last one of each sequence to its first."""
    present = np.empty(len(block.members), dtype=np.int64)
    for t in range(len(block.active) - 2, -1, -1):
        after, count = block.active[t + 1], block.active[t]
        present[after:count] = lasts[after:count]
        if after:
            present[:after] = pointers[t][np.arange(after), present[:after]]
        labels[block.begins[:count] + t] = present[:count]


def log_partitions(sequences: Sequences, scores: ChainScores) -> Floats:
    """log Z of each sequence."""
    return _evaluated(sequences, scores, None).log_partitions


def marginals(sequences: Sequences, scores: ChainScores, shares: Array, nodes: Array | None = None) -> Marginals:
    """log Z, the marginals of all tokens, and the sum of those of pairs, times ``shares`` of their sequences.

    Those of tokens are written to ``nodes``, if it is given.
    """
    return _evaluated(sequences, scores, shares, nodes)


def relative_errors(sequences: Sequences, scores: ChainScores) -> Floats:
    """Bounds on the relative errors of the computed marginals of each sequence, and on that of Z but for constants."""
    # logarithms round the scores themselves, exponentials their differences; only the first token's are added before
    size = np.ptp if _narrow(sequences, scores) else _sizes
    ranges = np.add.reduceat(size(scores.nodes, axis=1), sequences.begins) + size(scores.start)
    # of each matrix of transitions; the computed sum of several has an error of its own
    matrices = scores.transitions.reshape(sequences.matrices, -1)
    ranges += size(scores.end) + size(matrices[0]) + sequences.sizes_of_pairs(size(matrices, axis=1))
    if sequences.edges is not None:
        ranges += (sequences.features_of_pair + 2.0) * sequences.sizes_of_pairs(np.max(np.abs(matrices), axis=1))
    first = _sizes(scores.nodes[sequences.begins], axis=1) + _sizes(scores.start)
    m = sequences.labels
    steps = (
        sequences.lengths * (m + 8.0 + 2.0 * FUNCTION) + 4.0 * ranges + 0.5 * first + 2.0 * m + 2.0 * FUNCTION + 16.0
    )
    rounded = 2.0 * UNIT * steps
    return np.where(rounded < 0.5, rounded / (1.0 - np.minimum(rounded, 0.5)), np.inf)


def _sizes(scores: Array, axis: int | None = None) -> Array:
    """A bound on the range of these scores that includes an offset which they have in common."""
    return 2.0 * np.maximum(np.max(scores, axis=axis), -np.min(scores, axis=axis))


def largest_sizes(scores: Array) -> Floats:
    """The largest absolute value of each row, without an array of all of them."""
    found: Floats = np.maximum(np.max(scores, axis=1), -np.min(scores, axis=1))
    return found


def _narrow(sequences: Sequences, scores: ChainScores) -> bool:
    """Whether the exponentials of the transitions of every pair do not underflow.

    Those of tokens may: each position has a label with the exponential 1, and every label follows it.
    """
    ranges = np.ptp(scores.transitions.reshape(sequences.matrices, -1), axis=1)
    widest = float(ranges[0]) if sequences.edges is None else float(np.max(sequences.edges.sizes(ranges)))
    # comparisons with NaN are false
    return widest + float(np.ptp(scores.end)) <= _WIDEST


def _evaluated(
    sequences: Sequences, scores: ChainScores, shares: Array | None, nodes: Array | None = None
) -> Marginals:
    logs = np.empty(sequences.tokens)
    if nodes is None:
        nodes = np.empty((sequences.tokens if shares is not None else 0, sequences.labels))
    found = Marginals(np.empty(len(sequences)), nodes, np.zeros(scores.transitions.shape))
    narrow = _narrow(sequences, scores)
    pairs = _pairs_of(sequences, scores) if narrow else None
    for block in sequences.blocks:
        if pairs is not None:
            _exponentials(block, scores, pairs, shares, logs, found)
        else:
            _logarithms(sequences, block, scores, shares, logs, found)
    values = found.log_partitions + sequences.sums(logs)
    if pairs is not None:
        pairs.finish(found.transitions)
    return found._replace(log_partitions=values)


def _pairs_of(sequences: Sequences, scores: ChainScores) -> PairExponentials:
    if sequences.edges is None:
        return AlikePairs(scores.transitions)
    return FeaturedPairs(sequences.edges, scores.transitions)


def _exponentials(
    block: Block, scores: ChainScores, pairs: PairExponentials, shares: Array | None, logs: Array, found: Marginals
) -> None:
    """One block; ``pairs`` finishes the transitions of ``found``."""
    last = float(np.max(scores.end))
    end = np.exp(scores.end - last)
    forward, factors, tails = [], [], np.empty((len(block.members), len(end)))
    f = tails
    for t, count in enumerate(block.active[:-1]):
        if t % _STOP_EVERY == 0:
            stop_point()
        tokens = block.begins[:count] + t
        local = scores.nodes[tokens]
        if not t:
            local += scores.start
        top = np.max(local, axis=1)
        local -= top[:, None]
        factor = np.exp(local, out=local)
        if t:
            ahead, peaks = pairs.ahead(tokens, f[:count])
            f = factor * ahead
            top += peaks
        else:
            f = factor.copy()
        z = np.sum(f, axis=1)
        f /= z[:, None]
        logs[tokens] = np.log(z) + top
        tails[block.active[t + 1] : count] = f[block.active[t + 1] :]
        if shares is not None:
            forward.append(f)
            factors.append(factor)
    found.log_partitions[block.members] = np.log(tails @ end) + last
    if shares is None:
        return
    own, b = shares[block.members][:, None], np.empty((0, len(end)))
    for t in range(len(block.active) - 2, -1, -1):
        count, after = block.active[t], block.active[t + 1]
        behind = np.empty((count, len(end)))
        behind[after:] = end
        if after:
            f, right = forward[t][:after], factors[t + 1] * b
            behind[:after] = pairs.behind(block.begins[:after] + t + 1, f, right, own[:after], found.transitions)
        b = behind / np.max(behind, axis=1, keepdims=True)
        joint = forward[t] * b
        joint /= np.sum(joint, axis=1, keepdims=True)
        found.nodes[block.begins[:count] + t] = joint


def _logarithms(
    sequences: Sequences, block: Block, scores: ChainScores, shares: Array | None, logs: Array, found: Marginals
) -> None:
    """The same with logarithms, and with transitions that may differ from pair to pair."""
    m = sequences.labels
    forward, tails = [], np.empty((len(block.members), m))
    f = tails
    for t, count in enumerate(block.active[:-1]):
        if t % _STOP_EVERY == 0:
            stop_point()
        tokens = block.begins[:count] + t
        if t:
            before = logsumexp(f[:count, :, None] + sequences.pairs_at(scores, tokens), axis=1)
        f = scores.nodes[tokens] + (before if t else scores.start)
        logs[tokens] = z = logsumexp(f, axis=1)
        f -= z[:, None]
        tails[block.active[t + 1] : count] = f[block.active[t + 1] :]
        if shares is not None:
            forward.append(f)
    found.log_partitions[block.members] = logsumexp(tails + scores.end, axis=1)
    if shares is None:
        return
    own, b = shares[block.members], np.empty((0, m))
    for t in range(len(block.active) - 2, -1, -1):
        count, after = block.active[t], block.active[t + 1]
        behind = np.empty((count, m))
        behind[after:] = scores.end
        if after:
            tokens = block.begins[:after] + t + 1
            right = scores.nodes[tokens] + b
            pairs = sequences.pairs_at(scores, tokens) + right[:, None, :]
            behind[:after] = logsumexp(pairs, axis=2)
            pairs += forward[t][:after, :, None]
            pairs -= logsumexp(pairs, axis=(1, 2), keepdims=True)
            np.exp(pairs, out=pairs)
            pairs *= own[:after, None, None]
            sequences.add_pairs(found.transitions, tokens, pairs)
        b = behind - np.max(behind, axis=1, keepdims=True)
        joint = forward[t] + b
        found.nodes[block.begins[:count] + t] = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
