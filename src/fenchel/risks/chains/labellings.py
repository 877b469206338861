r"""Mixtures of labellings of sequences: the bound on the conjugate of the max-margin risk.

Each sequence q has labellings :math:`y_k` with weights :math:`p_k \ge 0`, which are divided by their sum by definition:

.. math::
    \theta = \sum_q c_q\Bigl(\phi(y_q) - \sum_k p_k\,\phi(y_k)\Bigr), \qquad
    R^*(-\theta) \le -\sum_q c_q\sum_k p_k\,\mathrm{Hamming}(y_k, y_q).

They are stored in one flat array: their number A, the sequence of each, the weight of each, and the labels of all one
after the other.  A sequence without a labelling keeps the one of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import gamma
from fenchel.risks.chains.counting import sum_length, weighted_counts
from fenchel.risks.chains.multiples import DerivedForm
from fenchel.risks.chains.sequences import Integers, Sequences

if TYPE_CHECKING:
    from fenchel.risks.chains.base import ChainRisk

#: roundings of a weight, of its quotient by the sum and of its products
_ROUNDINGS = 16.0
#: labels whose features are added at once (2 MB for each of their arrays)
_LABELS_AT_ONCE = 1 << 18


class Labellings(NamedTuple):
    """Labellings: their sequences, their weights, and the labels of each, one after the other."""

    owners: Integers
    weights: Floats
    labels: Integers

    def stored(self) -> Floats:
        """The flat array."""
        return np.concatenate([[float(len(self.owners))], self.owners, self.weights, self.labels])

    def places(self, sequences: Sequences) -> tuple[Integers, Integers]:
        """Of each label its labelling and its token."""
        lengths = sequences.lengths[self.owners]
        begins = np.cumsum(lengths) - lengths
        atoms = np.repeat(np.arange(len(lengths)), lengths)
        return atoms, np.arange(len(self.labels)) - begins[atoms] + sequences.begins[self.owners[atoms]]


class LabellingMixtures(DerivedForm):
    """The bound of labellings with weights."""


def labellings_of(sequences: Sequences, stored: Array) -> Labellings | None:
    """The labellings in a flat array; None if it holds a weight or a label that is none."""
    if stored.ndim != 1 or not len(stored):
        raise FenchelError(
            "the decomposition of a witness must be a flat array: the number of labellings, their sequences, their "
            f"weights and all their labels; got shape {stored.shape}"
        )
    count = int(stored[0]) if 0 <= stored[0] <= len(stored) else -1
    if count < 0 or count != stored[0]:
        return None
    owners, weights, labels = np.split(stored[1:], [count, 2 * count])
    valid = len(weights) == count and np.all((owners >= 0) & (owners < len(sequences)) & (owners == np.rint(owners)))
    # comparisons with NaN are false
    valid = valid and np.all((weights >= 0.0) & (weights < math.inf))
    valid = valid and np.all((labels >= 0) & (labels < sequences.labels) & (labels == np.rint(labels)))
    if not valid or len(labels) != np.sum(sequences.lengths[owners.astype(np.int64)]):
        return None
    return Labellings(owners.astype(np.int64), weights, labels.astype(np.int64))


def one_each(sequences: Sequences, labels: Integers) -> Floats:
    """One labelling of each sequence."""
    return Labellings(np.arange(len(sequences)), np.ones(len(sequences)), labels).stored()


def mixed(sequences: Sequences, weights: Array, decompositions: Sequence[Array]) -> Floats:
    """The mixture of mixtures, in which equal labellings of a sequence are one."""
    # the labels of a labelling as bytes, by which equal ones are found
    shares: dict[tuple[int, bytes], float] = {}
    for weight, stored in zip(weights.tolist(), decompositions, strict=True):
        found = labellings_of(sequences, stored)
        assert found is not None
        own = weight * normalized(sequences, found)
        ends = np.cumsum(sequences.lengths[found.owners]).tolist()
        begin = 0
        for owner, share, end in zip(found.owners.tolist(), own.tolist(), ends, strict=True):
            key = owner, found.labels[begin:end].tobytes()
            shares[key] = shares.get(key, 0.0) + share
            begin = end
    labels = np.frombuffer(b"".join(one for _, one in shares), dtype=np.int64)
    return Labellings(np.array([q for q, _ in shares]), np.array(list(shares.values())), labels).stored()


def normalized(sequences: Sequences, found: Labellings) -> Floats:
    """The weights over their sum in each sequence."""
    largest = np.zeros(len(sequences))
    np.maximum.at(largest, found.owners, found.weights)
    scaled = found.weights / np.where(largest > 0.0, largest, 1.0)[found.owners]
    totals = np.bincount(found.owners, scaled, len(sequences))
    return scaled / np.where(totals > 0.0, totals, 1.0)[found.owners]


def mixture_form(risk: ChainRisk, stored: Array) -> LabellingMixtures | None:
    """The bound of labellings; None for an array that does not hold any."""
    sequences = risk.sequences
    stored = np.asarray(stored, dtype=np.float64)
    given = labellings_of(sequences, stored)
    if given is None:
        return None
    found = completed(sequences, risk.labels, given)
    shares = risk.shares[found.owners] * normalized(sequences, found)
    means = np.zeros(risk.examples)
    distances = [_add_features(risk, part, means) for part in _parts(sequences, found._replace(weights=shares))]
    wrong, theta = math.fsum(distances), risk.theta_of(means)
    # of the weights and of the sums over the labellings of a token, and of the sums over all sequences
    error = gamma(int(np.max(np.bincount(found.owners))) + _ROUNDINGS)
    terms = sum_length(len(found.labels) * max(1, sequences.features_of_pair)) + len(distances)
    summed = gamma(terms + _ROUNDINGS)
    distance = risk.theta_error + (error + summed) * risk.mean(risk.features_norm)
    return LabellingMixtures(stored, theta, 0.0 - wrong, error * wrong, distance)


def _parts(sequences: Sequences, found: Labellings) -> Iterator[Labellings]:
    """The labellings, some at a time: the arrays of a part are small beside tokens times labels."""
    ends = np.cumsum(sequences.lengths[found.owners])
    first = begin = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, begin + _LABELS_AT_ONCE, side="right")))
        end = int(ends[last - 1])
        yield Labellings(found.owners[first:last], found.weights[first:last], found.labels[begin:end])
        first, begin = last, end


def _add_features(risk: ChainRisk, found: Labellings, means: Floats) -> float:
    """Add the features of labellings, times their weights, to ``means``; return the sum of their distances."""
    sequences, m = risk.sequences, risk.sequences.labels
    lengths = sequences.lengths[found.owners]
    atoms, tokens = found.places(sequences)
    weights, parts = found.weights[atoms], sequences.split(means)
    np.add.at(means, tokens * m + found.labels, weights)
    tail = _tail(sequences, found.labels, tokens, weights, np.cumsum(lengths) - lengths, lengths)
    for part, own in zip((parts.transitions, parts.start, parts.end), tail, strict=True):
        part += own
    return math.fsum(weights[found.labels != risk.labels[tokens]])


def completed(sequences: Sequences, labels: Integers, found: Labellings) -> Labellings:
    """With the labelling of the data for every sequence that has none of positive weight."""
    totals = np.bincount(found.owners, found.weights, len(sequences))
    missing = totals == 0.0
    if not np.any(missing):
        return found
    own = labels[missing[sequences.owners]]
    return Labellings(
        np.concatenate([found.owners, np.flatnonzero(missing)]),
        np.concatenate([found.weights, np.ones(int(np.sum(missing)))]),
        np.concatenate([found.labels, own]),
    )


def _tail(
    sequences: Sequences, labels: Integers, tokens: Integers, weights: Floats, begins: Integers, lengths: Integers
) -> tuple[Floats, Floats, Floats]:
    """The sums of the features of pairs, first and last labels."""
    lasts, m = begins + lengths - 1, sequences.labels
    inner = np.ones(len(labels), dtype=bool)
    inner[lasts] = False
    places = np.flatnonzero(inner)
    return (
        sequences.counts_of_pairs(tokens[places + 1], weights[places], labels[places], labels[places + 1]),
        weighted_counts(labels[begins], weights[begins], m),
        weighted_counts(labels[lasts], weights[lasts], m),
    )
