"""Random rankings and labelled sequences; ``structured_exact.py`` has their P and D.

A ranking has for each row its grade, its query and the weight of that; a chain the labels of its tokens, the lengths of
its sequences and their weights.  ``Case.labels`` is one of the two, ``Case.parameter`` the gain and k of an NDCG or the
number of labels of a chain.
"""

from decimal import Decimal
from typing import NamedTuple

import numpy as np

from fenchel.designs import ChainDesign
from fenchel.risks import NDCG, RANKINGS, ChainHinge, ChainLogistic

CHAINS = {"chain_hinge": ChainHinge, "chain_logistic": ChainLogistic}
KINDS = (*RANKINGS, *CHAINS)
WEIGHTS = {"none": [1.0], "ones": [1.0], "zeros": [0.0, 1e-3, 0.3, 1.0, 2.0], "wide": [1e-9, 0.1, 1.0, 7.0, 1e6]}
ZERO, ONE = Decimal(0), Decimal(1)


class Ranking(NamedTuple):
    """Grades, queries and weights of rows."""

    grades: list
    queries: list
    weights: list

    def informative(self):
        """(c_q, rows) of the queries that have two grades among the rows of positive weight."""
        rows = {q: [] for q in dict.fromkeys(self.queries)}
        for i, (q, weight) in enumerate(zip(self.queries, self.weights, strict=True)):
            if weight > 0:
                rows[q].append(i)
        counted = [own for own in rows.values() if len({self.grades[i] for i in own}) > 1]
        total = sum(self.weights[own[0]] for own in counted)
        return [(self.weights[own[0]] / total, own) for own in counted]

    def total(self):
        """The sum of the weights of these queries."""
        return sum(self.weights[own[0]] for _, own in self.informative())


class Chains(NamedTuple):
    """Labels of all tokens, lengths and weights of the sequences."""

    labels: list
    lengths: list
    weights: list

    def total(self):
        """The sum of the weights."""
        return sum(self.weights)

    def sequences(self):
        """(c_q, first token, labels) of each sequence."""
        begin = 0
        for length, weight in zip(self.lengths, self.weights, strict=True):
            yield weight / self.total(), begin, tuple(self.labels[begin : begin + length])
            begin += length


def ranking(rng, n, weighting):
    """Grades, queries and weights of n rows, n >= 4, as arrays; the first two rows make a pair."""
    grades = rng.integers(0, 4, size=n).astype(np.float64)
    if rng.random() < 0.2:
        grades *= float(rng.choice([1e-7, 0.3]))
    queries = rng.integers(0, 3, size=n)
    grades[1], queries[:2] = grades[0] + 1.0, queries[0]
    weights = rng.choice(WEIGHTS[weighting], size=3)
    weights = np.maximum(weights, 0.1 * (np.arange(3) == queries[0]))[queries]
    if weighting == "zeros" and n > 4:
        weights[-1] = 0.0
    return grades, queries, None if weighting == "none" else weights


def ranking_risk(rng, kind, grades, queries, weights):
    """A risk of this kind, its labels and its parameters."""
    given = np.ones(len(grades)) if weights is None else weights
    labels = Ranking(*([Decimal(one) for one in part.tolist()] for part in (grades, queries, given)))
    if kind != "ndcg":
        return RANKINGS[kind](grades, queries, weights), labels, None
    parameter = (("exponential", "linear")[int(rng.integers(2))], (None, 1, 2)[int(rng.integers(3))])
    return NDCG(grades, queries, weights, gain=parameter[0], k=parameter[1]), labels, parameter


def chains(rng, n, weighting):
    """Labels of n tokens, lengths and weights of sequences, and the number of labels, as arrays; every label occurs."""
    count = int(rng.integers(2, 4))
    labels = np.concatenate([np.arange(count), rng.integers(0, count, n - count)])
    cuts = np.flatnonzero(rng.random(n - 1) < 0.4) + 1
    # short enough for all their labellings
    cuts = np.union1d(cuts, np.arange(4, n, 4))
    lengths = np.diff(np.concatenate([[0], cuts, [n]]))
    weights = rng.choice(WEIGHTS[weighting], size=len(lengths))
    weights[0] = max(weights[0], 0.1)
    return labels, lengths, None if weighting == "none" else weights, count


def chain_risk(kind, labels, lengths, weights, count):
    """A risk of this kind and its labels."""
    given = np.ones(len(lengths)) if weights is None else weights
    exact = Chains(labels.tolist(), lengths.tolist(), [Decimal(one) for one in given.tolist()])
    return CHAINS[kind](labels, lengths, count, weights), exact


def chain_design(rng, X, rows, count):
    """The design of chains, and the exact entries of its matrix."""
    pairs, ends = ((True, True), (True, False), (False, False))[int(rng.integers(3))]
    return ChainDesign(X, count, transitions=pairs, ends=ends), chain_rows(rows, count, pairs, ends)


def chain_rows(rows, m, pairs, ends):
    """The rows (token, label), pairs, first and last labels of the block-diagonal matrix of X and the identity."""
    kept = [*range(m * m if pairs else 0), *range(m * m, m * m + 2 * m if ends else m * m)]
    tokens = [
        [x if j == own else ZERO for x in row for j in range(m)] + [ZERO] * len(kept)
        for row in rows
        for own in range(m)
    ]
    features = len(rows[0]) * m
    tail = [[ZERO] * features + [ONE if place == at else ZERO for place in kept] for at in range(m * m + 2 * m)]
    return tokens + tail


def structured_data(rng, kind, X, rows, weighting):
    """Design, risk, exact rows of the design, labels, and further numbers of a case."""
    if kind in CHAINS:
        *parts, count = chains(rng, len(rows), weighting)
        design, exact = chain_design(rng, X, rows, count)
        risk, labels = chain_risk(kind, *parts, count)
        return design, risk, exact, labels, {"parameter": count}
    risk, labels, parameter = ranking_risk(rng, kind, *ranking(rng, len(rows), weighting))
    return X, risk, rows, labels, {"parameter": parameter}
