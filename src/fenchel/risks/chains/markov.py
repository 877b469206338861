r"""Markov chains over labellings: another bound on the conjugate of the max-margin risk.

Weights :math:`q_t(i, j) \ge 0` of the label i of a token's predecessor and of its own label j, in an array of shape
(tokens, m, m); at the first token of a sequence they are summed over i.  They stand for the distribution

.. math:: P(y) = p_1(y_1)\prod_t P_t(y_{t+1}\mid y_t), \qquad
          p_1(j) = \frac{\sum_i q_1(i,j)}{\sum_{ij} q_1(i,j)}, \qquad P_t(j\mid i) = \frac{q_t(i,j)}{\sum_k q_t(i,k)}

by definition, so that a witness is feasible however its weights were rounded; where the denominator is zero the label
of the data has the probability one.  Marginals of pairs that agree on their tokens are the weights of a chain with
these marginals, hence mixtures are again chains.  With the means of the features under P,

.. math:: R^*(-\theta) \le -\sum_q c_q\,E_{P_q}\mathrm{Hamming}(y, y_q).

All terms are positive.  A step multiplies relative errors of at most (2m + 6)u; what underflows is bounded by
``_UNDERFLOW``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import gamma
from fenchel.risks.chains.labellings import labellings_of, normalized
from fenchel.risks.chains.multiples import DerivedForm
from fenchel.risks.chains.sequences import ChainScores, Integers, Sequences
from fenchel.stopping import stop_point

if TYPE_CHECKING:
    from fenchel.risks.chains.base import ChainRisk

#: largest weight: sums of m^2 of them must not overflow
_LARGEST = 1e290
#: bound on the sum of all errors of products that underflow, each below 2^-1074
_UNDERFLOW = 1e-280
#: covers the rounding of sums of positive bounds
_UPWARDS = 1.0 + 1e-6


class MarkovChains(DerivedForm):
    """The bound of Markov chains."""


class _Position(NamedTuple):
    """The tokens at one position of the sequences of a block, with their marginals."""

    members: Integers
    tokens: Integers
    nodes: Floats
    #: marginals of pairs with the token before; None at the first tokens
    pairs: Floats | None


def gibbs_chain(sequences: Sequences, scores: ChainScores) -> tuple[Floats, Floats]:
    """log Z of each sequence, and the weights of P(y) proportional to exp(score), by a recursion in logarithms."""
    m = sequences.labels
    weights, logs = np.zeros((sequences.tokens, m, m)), np.empty(len(sequences))
    for block in sequences.blocks:
        behind = np.empty((0, m))
        for t in range(len(block.active) - 2, -1, -1):
            stop_point()
            count, after = block.active[t], block.active[t + 1]
            tokens = block.begins[:count] + t
            right = scores.nodes[tokens]
            right[:after] += behind
            right[after:] += scores.end
            if t:
                joint = sequences.pairs_at(scores, tokens) + right[:, None, :]
                weights[tokens] = np.exp(joint - np.max(joint, axis=2, keepdims=True))
                behind = logsumexp(joint, axis=2)
            else:
                right += scores.start
                weights[tokens, 0] = np.exp(right - np.max(right, axis=1, keepdims=True))
                logs[block.members] = logsumexp(right, axis=1)
    return logs, weights


def markov_form(risk: ChainRisk, weights: Array) -> MarkovChains | None:
    """The bound of weights; None for weights that are none."""
    sequences, m = risk.sequences, risk.sequences.labels
    weights = np.asarray(weights, dtype=np.float64)
    # comparisons with NaN are false
    if weights.shape != (sequences.tokens, m, m) or not np.all((weights >= 0.0) & (weights <= _LARGEST)):
        return None
    nodes = np.empty((sequences.tokens, m))
    transitions = np.zeros((m, m) if sequences.edges is None else (sequences.matrices, m, m))
    for here in _positions(sequences, risk.labels, weights):
        nodes[here.tokens] = here.nodes
        if here.pairs is not None:
            sequences.add_pairs(transitions, here.tokens, risk.shares[here.members][:, None, None] * here.pairs)
    firsts, lasts = (risk.shares @ nodes[tokens] for tokens in (sequences.begins, sequences.lasts))
    nodes *= risk.token_shares[:, None]
    missed = nodes.copy()
    missed[np.arange(sequences.tokens), risk.labels] = 0.0
    wrong = math.fsum(missed.ravel())
    relative = np.array([gamma((2.0 * m + 6.0) * (length + 1.0) + 8.0) for length in sequences.lengths.tolist()])
    distance = risk.theta_error + risk.mean(relative * risk.features_norm) + _UNDERFLOW
    # the share of a sequence in the mean distance is at most its length
    error = risk.mean(relative * np.minimum(sequences.lengths, _shares_of(risk, missed))) + _UNDERFLOW
    tail = transitions.ravel(), firsts, lasts
    theta = risk.theta_of(np.concatenate([nodes.ravel(), *tail]))
    return MarkovChains(weights, theta, 0.0 - wrong, _UPWARDS * error, _UPWARDS * distance)


def _shares_of(risk: ChainRisk, missed: Floats) -> Floats:
    """An upper bound on the mean distance of each sequence."""
    sums = np.add.reduceat(np.sum(missed, axis=1), risk.sequences.begins)
    return np.divide(2.0 * sums, risk.shares, out=np.zeros_like(sums), where=risk.shares > 0.0)


def _positions(sequences: Sequences, gold: Integers, weights: Floats) -> Iterator[_Position]:
    """The marginals of the chains, position after position of each block."""
    for block in sequences.blocks:
        p = np.empty((0, sequences.labels))
        for t, count in enumerate(block.active[:-1]):
            stop_point()
            tokens, members, pairs = block.begins[:count] + t, block.members[:count], None
            if t:
                rows = _conditional(weights[tokens], gold[tokens][:, None])
                pairs = p[:count, :, None] * rows
                p = np.sum(pairs, axis=1)
            else:
                p = _conditional(np.sum(weights[tokens], axis=1), gold[tokens])
            yield _Position(members, tokens, p, pairs)


def _conditional(weights: Floats, gold: Array) -> Floats:
    """Weights over their sums along the last axis; the label of the data where the sum is zero."""
    totals = np.sum(weights, axis=-1, keepdims=True)
    certain = np.arange(weights.shape[-1]) == gold[..., None]
    found: Floats = np.where(totals > 0.0, weights / np.where(totals > 0.0, totals, 1.0), certain)
    return found


def mixed(sequences: Sequences, gold: Integers, shares: Array, decompositions: Sequence[Array]) -> Floats:
    """The weights of the mixture: means of marginals, of chains or of labellings with weights."""
    found = np.zeros((sequences.tokens, sequences.labels, sequences.labels))
    for share, one in zip(shares.tolist(), decompositions, strict=True):
        if share > 0.0:
            weights = one if one.ndim == 3 else _of_labellings(sequences, one)
            for here in _positions(sequences, gold, weights):
                if here.pairs is None:
                    found[here.tokens, 0] += share * here.nodes
                else:
                    found[here.tokens] += share * here.pairs
    return found


def _of_labellings(sequences: Sequences, stored: Array) -> Floats:
    """The marginals of labellings with weights."""
    given = labellings_of(sequences, stored)
    assert given is not None
    found = np.zeros((sequences.tokens, sequences.labels, sequences.labels))
    lengths = sequences.lengths[given.owners]
    begins = np.cumsum(lengths) - lengths
    atoms = np.repeat(np.arange(len(lengths)), lengths)
    tokens = np.arange(len(given.labels)) - begins[atoms] + sequences.begins[given.owners[atoms]]
    before = np.append(0, given.labels[:-1])
    before[begins] = 0
    np.add.at(found, (tokens, before, given.labels), normalized(sequences, given)[atoms])
    return found
