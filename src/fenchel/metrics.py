"""Measures of rankings: means over queries of NDCG, average precision and reciprocal rank; and F1 of phrases.

Every function of rankings takes the labels and the scores of all rows, and the query of each row.  Queries for which a
measure says nothing, because every ranking of their rows has the same value, are omitted from its mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.group_sums import order_in_groups
from fenchel.risks.ranking.ndcg import gains_of, rank_discounts
from fenchel.risks.ranking.queries import query_numbers
from fenchel.validation import check_integer, real_numbers

__all__ = ["mean_average_precision", "mean_reciprocal_rank", "ndcg_score", "phrase_f1_score"]


def ndcg_score(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | None = 10,
    gain: str = "exponential",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean over queries of the normalized discounted cumulative gain of the ranking by the scores.

    .. math:: \text{NDCG@}k = \frac{1}{\text{DCG}^*}\sum_{r\le k} \frac{\text{gain}(y_{(r)})}{\log_2(1 + r)}

    Rows with equal scores are averaged over all their orders.  Queries in which no row has a gain are omitted.

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance grades, not negative.
    scores : array-like of shape (n,)
        Scores; rows with higher ones are ranked first.
    qid : array-like of shape (n,), default=None
        The query of each row; None is one query for all rows.
    k : int, default=10
        The number of ranks that count; None counts all.
    gain : {"exponential", "linear"}, default="exponential"
        The gain of a row of grade y: :math:`2^y - 1` or y.
    sample_weight : array-like of shape (n,), default=None
        For each row the weight of its query.

    Returns
    -------
    float
        The mean, from 0 to 1; NaN if no query has a gain.

    See Also
    --------
    fenchel.risks.NDCG : The risk that bounds one minus this.
    mean_average_precision : Of rows that are relevant or not.

    Examples
    --------
    >>> from fenchel.metrics import ndcg_score
    >>> round(ndcg_score([2, 0, 1, 0, 1], [0.3, 0.2, 0.4, 0.1, 0.9], qid=[1, 1, 1, 2, 2]), 4)
    0.8984
    """
    check_integer("k", k, least=1, optional=True)

    def of_query(gains: Array, own: Array) -> float:
        discounts = rank_discounts(np.arange(1, len(own) + 1), k)
        best = float(np.sort(gains)[::-1] @ discounts)
        order = np.argsort(-own, kind="stable")
        _, begins, counts = np.unique(-own[order], return_index=True, return_counts=True)
        # rows with equal scores share the mean of their discounts
        shared = np.repeat(np.add.reduceat(discounts, begins) / counts, counts)
        return float(gains[order] @ shared) / best if best > 0.0 else np.nan

    return _mean(gains_of(_vector("y", y), gain), scores, qid, sample_weight, of_query)


def mean_average_precision(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Mean over queries of the average precision at the ranks of the relevant rows (MAP).

    A row is relevant if its label is positive.  Rows with equal scores are ranked together: each has the precision of
    the last of them.  Queries without relevant rows, and those without others, are omitted.

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance; positive for relevant rows.
    scores : array-like of shape (n,)
        Scores; rows with higher ones are ranked first.
    qid : array-like of shape (n,), default=None
        The query of each row; None is one query for all rows.
    sample_weight : array-like of shape (n,), default=None
        For each row the weight of its query.

    Returns
    -------
    float
        The mean, from 0 to 1; NaN if no query has both relevant and other rows.

    See Also
    --------
    ndcg_score : With grades of relevance.
    mean_reciprocal_rank : Of the first relevant row alone.

    Examples
    --------
    >>> from fenchel.metrics import mean_average_precision
    >>> round(mean_average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], qid=[1, 1, 1, 1]), 4)
    0.8333
    """

    def of_query(relevant: Array, own: Array) -> float:
        if np.all(relevant) or not np.any(relevant):
            return np.nan
        ranks, found = _last_ranks(own), own[relevant]
        # relevant rows up to the last one with the same score
        above = np.searchsorted(np.sort(-found), -found, side="right")
        return float(np.mean(above / ranks[relevant]))

    return _mean(_vector("y", y) > 0, scores, qid, sample_weight, of_query)


def mean_reciprocal_rank(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean over queries of one over the rank of the first relevant row (MRR).

    A row is relevant if its label is positive.  Of rows with equal scores the last rank counts.  Queries without
    relevant rows, and those without others, are omitted.

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance; positive for relevant rows.
    scores : array-like of shape (n,)
        Scores; rows with higher ones are ranked first.
    qid : array-like of shape (n,), default=None
        The query of each row; None is one query for all rows.
    sample_weight : array-like of shape (n,), default=None
        For each row the weight of its query.

    Returns
    -------
    float
        The mean, from 0 to 1; NaN if no query has both relevant and other rows.

    See Also
    --------
    mean_average_precision : Of all relevant rows.

    Examples
    --------
    >>> from fenchel.metrics import mean_reciprocal_rank
    >>> mean_reciprocal_rank([0, 1, 0, 1], [0.9, 0.8, 0.1, 0.7], qid=[1, 1, 2, 2])
    0.75
    """

    def of_query(relevant: Array, own: Array) -> float:
        if np.all(relevant) or not np.any(relevant):
            return np.nan
        return 1.0 / float(np.min(_last_ranks(own)[relevant]))

    return _mean(_vector("y", y) > 0, scores, qid, sample_weight, of_query)


def phrase_f1_score(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]]) -> float:
    """F1 of the phrases that the labels of sequences mark, as in the shared tasks of CoNLL.

    Labels are ``B-KIND`` for the first token of a phrase, ``I-KIND`` for the others, and ``O`` outside of phrases; an
    ``I-KIND`` that continues no phrase of its kind begins one.  A phrase is right if its tokens and its kind are.

    Parameters
    ----------
    y_true : list of lists of str
        The labels of each sequence.
    y_pred : list of lists of str
        The predicted labels of each sequence.

    Returns
    -------
    float
        F1 over all sequences, from 0 to 1; 0 if there is no phrase.

    See Also
    --------
    fenchel.SequenceClassifier : Classify the tokens of sequences.

    Examples
    --------
    >>> from fenchel.metrics import phrase_f1_score
    >>> phrase_f1_score([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "O", "O"]])
    0.6666666666666666
    """
    if len(y_true) != len(y_pred):
        raise FenchelError(f"y_true has {len(y_true)} sequences and y_pred {len(y_pred)}")
    right = given = found = 0
    for q, (one, other) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(one) != len(other):
            raise FenchelError(f"sequence {q} has {len(one)} labels in y_true and {len(other)} in y_pred")
        a, b = _phrases(one), _phrases(other)
        right, given, found = right + len(a & b), given + len(a), found + len(b)
    return 2.0 * right / (given + found) if given + found else 0.0


def _phrases(labels: Iterable[str]) -> set[tuple[int, int, str]]:
    """The phrases (begin, end, kind) of labels such as B-NP, I-NP and O."""
    found, begin, kind = set(), 0, ""
    for t, label in enumerate([*map(str, labels), "O"]):
        mark, _, name = label.partition("-")
        if kind and (mark != "I" or name != kind):
            found.add((begin, t, kind))
            kind = ""
        if mark != "O" and not kind:
            begin, kind = t, name
    return found


def _last_ranks(scores: Array) -> Floats:
    """The rank of the last row with the score of each row."""
    return np.searchsorted(np.sort(-scores), -scores, side="right").astype(np.float64)


def _vector(name: str, values: ArrayLike, count: int | None = None) -> Floats:
    """As an array of finite numbers; raise otherwise, or for another number of rows."""
    found = real_numbers(name, values)
    if found.ndim != 1 or not found.size or not np.all(np.isfinite(found)):
        raise FenchelError(f"{name} must be (n,) finite numbers, not empty; got shape {found.shape}")
    if count is not None and len(found) != count:
        raise FenchelError(f"{name} must have one entry for each of the {count} rows, got {len(found)}")
    return found


def _mean(
    values: Array,
    scores: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    of_query: Callable[[Array, Array], float],
) -> float:
    """The weighted mean over queries of a function of their values and scores, without those where it is NaN."""
    count = len(values)
    own = _vector("scores", scores, count)
    queries = query_numbers(qid, count, "qid")
    weights = np.ones(count) if sample_weight is None else _vector("sample_weight", sample_weight, count)
    if np.any(weights < 0.0):
        raise FenchelError("sample_weight must not be negative; use 0 to omit a row")
    # of moderate size, whose sum does not overflow
    weights = weights / (np.max(weights) or 1.0)
    kept = np.flatnonzero(weights > 0.0)
    _, numbers = np.unique(queries[kept], return_inverse=True)
    kept = kept[order_in_groups(kept, numbers)]
    ends = np.cumsum(np.bincount(numbers))
    total = found = 0.0
    for rows in np.split(kept, ends[:-1]):
        if np.any(weights[rows] != weights[rows[0]]):
            raise FenchelError("sample_weight must be the same for all rows of a query, or zero to omit a row")
        here = of_query(values[rows], own[rows])
        if not np.isnan(here):
            total, found = total + weights[rows[0]], found + weights[rows[0]] * here
    return float(found / total) if total > 0.0 else float("nan")
