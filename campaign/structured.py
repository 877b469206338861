"""Random rankings and labelled sequences; ``structured_exact.py`` has their P and D.

A ranking has for each row its grade, its query and the weight of that; a chain the labels of its tokens, the lengths of
its sequences and their weights, and in some cases features of pairs of tokens.  ``Case.labels`` is one of the two,
``Case.parameter`` the gain and k of an NDCG or the number of labels of a chain.
"""

from decimal import Decimal
from typing import NamedTuple

import numpy as np

from fenchel.designs import ChainDesign
from fenchel.kernels import ChainGram
from fenchel.risks import NDCG, RANKINGS, ChainHinge, ChainLogistic

CHAINS = {"chain_hinge": ChainHinge, "chain_logistic": ChainLogistic}
KINDS = (*RANKINGS, *CHAINS)
WEIGHTS = {"none": [1.0], "ones": [1.0], "zeros": [0.0, 1e-3, 0.3, 1.0, 2.0], "wide": [1e-9, 0.1, 1.0, 7.0, 1e6]}
ZERO, ONE = Decimal(0), Decimal(1)
#: whether there are weights of pairs of labels, and of first and last labels
TAILS = ((True, True), (True, False), (False, False))
#: share of the chains with weights of pairs that have features of pairs too, and the scales of these
EDGES, EDGE_SCALES = 0.4, (1.0, 1.0, 1e-3, 1e4, 1e-150)


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
    """Labels of all tokens, lengths and weights of the sequences, and for each token the features of its pair."""

    labels: list
    lengths: list
    weights: list
    edges: list | None = None

    def features(self, token):
        """The factors of the matrices of scores of the pair that ends with the token: 1, and its features."""
        return [ONE] if self.edges is None else [ONE, *self.edges[token]]

    def matrices(self):
        """The matrices of scores of pairs of labels."""
        return len(self.features(0))

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


def edge_features(rng, n):
    """Features of the pairs of n tokens, of which some are zero; None in most cases."""
    if not rng.random() < EDGES:
        return None
    found = rng.choice(EDGE_SCALES) * rng.normal(size=(n, int(rng.integers(1, 3))))
    return np.where(rng.random(found.shape) < 0.3, 0.0, found)


def chain_risk(kind, labels, lengths, weights, count, edges=None):
    """A risk of this kind and its labels."""
    given = np.ones(len(lengths)) if weights is None else weights
    features = None if edges is None else [[Decimal(entry) for entry in row] for row in edges.tolist()]
    exact = Chains(labels.tolist(), lengths.tolist(), [Decimal(one) for one in given.tolist()], features)
    return CHAINS[kind](labels, lengths, count, weights, edges), exact


def chain_rows(rows, m, pairs, ends, matrices=1):
    """The rows (token, label), pairs, first and last labels of the block-diagonal matrix of X and the identity."""
    size = matrices * m * m
    kept = [*range(size if pairs else 0), *range(size, size + 2 * m if ends else size)]
    tokens = [
        [x if j == own else ZERO for x in row for j in range(m)] + [ZERO] * len(kept)
        for row in rows
        for own in range(m)
    ]
    features = len(rows[0]) * m
    tail = [[ZERO] * features + [ONE if place == at else ZERO for place in kept] for at in range(size + 2 * m)]
    return tokens + tail


def chain_gram_rows(gram, m, counts, pairs, ends):
    """The Gram matrix of all scores: that of the tokens times their counts for each label, and of the weights."""
    n, tail = len(gram), [ONE if pairs else ZERO] * (m * m) + [ONE if ends else ZERO] * (2 * m)
    size = n * m + len(tail)
    found = [[ZERO] * size for _ in range(size)]
    for t in range(n):
        for u in range(n):
            for label in range(m):
                found[t * m + label][u * m + label] = counts[t] * gram[t][u] * counts[u]
    for k, one in enumerate(tail):
        found[n * m + k][n * m + k] = one
    return found


def pair_counts(lengths):
    """The pairs of neighbours that each token belongs to: 2, and 1 less at each end of its sequence."""
    return [(t > 0) + (t < length - 1) for length in lengths for t in range(length)]


def chain_kernel(rng, gram, rows, kind, weighting):
    """The design of a kernel of tokens, a risk, the exact rows of the design, the labels, and their number."""
    labels, lengths, weights, count = chains(rng, len(rows), weighting)
    pairs, ends = TAILS[int(rng.integers(len(TAILS)))]
    counts = pair_counts(lengths.tolist()) if rng.random() < 0.5 else None
    design = ChainGram(gram, count, transitions=pairs, ends=ends, counts=counts)
    exact = chain_gram_rows(rows, count, counts or [1] * len(rows), pairs, ends)
    risk, own = chain_risk(kind, labels, lengths, weights, count)
    return design, risk, exact, own, count


def structured_data(rng, kind, X, rows, weighting):
    """Design, risk, exact rows of the design, labels, and further numbers of a case."""
    if kind in CHAINS:
        *parts, count = chains(rng, len(rows), weighting)
        pairs, ends = TAILS[int(rng.integers(len(TAILS)))]
        edges = edge_features(rng, len(rows)) if pairs else None
        risk, labels = chain_risk(kind, *parts, count, edges)
        own = labels.matrices()
        design = ChainDesign(X, count, transitions=pairs, ends=ends, edge_features=own - 1)
        return design, risk, chain_rows(rows, count, pairs, ends, own), labels, {"parameter": count}
    risk, labels, parameter = ranking_risk(rng, kind, *ranking(rng, len(rows), weighting))
    return X, risk, rows, labels, {"parameter": parameter}
