r"""Scores of pairs with features in ball arithmetic: :math:`T^{(t)} = T_0 + \sum_k x_{tk}T_k`, as in ``edges``.

Pairs are named by the tokens that end them.  Without features of pairs every pair has the scores T of one matrix.
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array
from fenchel.numerics.ball_reductions import sums_by_place
from fenchel.numerics.balls import Ball, concatenate
from fenchel.risks.chains.edges import EdgeFeatures


def pair_scores(edges: EdgeFeatures | None, transitions: Ball, tokens: Array) -> Ball:
    """The scores of all pairs of labels that end with the tokens: (tokens, m, m), or (m, m) if all are alike."""
    if edges is None:
        return transitions
    m = transitions.shape[-1]
    rows, features, values = edges.entries(tokens)
    terms = transitions[1 + features] * values[:, None, None]
    places = rows[:, None] * (m * m) + np.arange(m * m)
    own = sums_by_place(terms.map(np.ravel), places.ravel(), len(tokens) * m * m)
    return own.map(lambda part: part.reshape(-1, m, m)) + transitions[0]


def scores_of_labels(edges: EdgeFeatures | None, transitions: Ball, tokens: Array, before: Array, after: Array) -> Ball:
    """The scores of given pairs of labels, one for each of the tokens."""
    if edges is None:
        return transitions[before, after]
    rows, features, values = edges.entries(tokens)
    terms = transitions[1 + features, before[rows], after[rows]] * values
    return transitions[0][before, after] + sums_by_place(terms, rows, len(tokens))


def pair_sums(edges: EdgeFeatures | None, tokens: Array, pairs: Ball) -> Ball:
    """The sum of the features of pairs of labels with weights, (tokens, m, m): of the shape of the transitions."""
    plain = pairs.sum(axis=0)
    if edges is None:
        return plain
    m = plain.shape[-1]
    rows, features, values = edges.entries(tokens)
    terms = pairs[rows] * values[:, None, None]
    places = features[:, None] * (m * m) + np.arange(m * m)
    own = sums_by_place(terms.map(np.ravel), places.ravel(), edges.count * m * m)
    return concatenate([plain.map(np.ravel), own]).map(lambda part: part.reshape(-1, m, m))


def entries_of_labels(
    edges: EdgeFeatures, tokens: Array, amounts: Ball, before: Array, after: Array, m: int
) -> tuple[Ball, Array]:
    """The amounts of the features of given pairs of labels, and their places among those of T_1, ..., T_K."""
    rows, features, values = edges.entries(tokens)
    return amounts[rows] * values, (features * m + before[rows]) * m + after[rows]
