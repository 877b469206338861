r"""Pairwise hinge of a ranking: the mean over queries of the mean hinge of the pairs of a query.

.. math::
    R(s) = \sum_q \frac{c_q}{M_q}\sum_{i,j\in q,\;y_i<y_j} [1 - s_j + s_i]_+

with :math:`c_q` the share of the query in the sum of weights and :math:`M_q` the number of its pairs (Joachims 2002;
Herbrich, Graepel and Obermayer 2000).  A query with grades is an ordinal hinge, and with two grades one minus its ROC
area: the running sums, the flows and the smoothing are those of ``graded_pairs``, for all queries at once.  The number
of a query stands in front of the bits of the grade, so that pairs that differ first in a bit of the grade have the
query in common.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.risks.graded_enclosure import EnclosedGradedPairs
from fenchel.risks.graded_pairs import LISTED_PAIRS, GradedPairs, Pairs
from fenchel.risks.protocols import PairwiseRanking
from fenchel.risks.ranking.base import RankingRisk

#: pairs per row up to which all of them are looked at to find those near the kink
_PAIRS_PER_ROW = 64


class PairwiseHinge(RankingRisk, GradedPairs):
    r"""Pairwise hinge of a ranking: the mean over queries of the mean hinge over the pairs of a query.

    .. math:: R(s) = \sum_q \frac{c_q}{M_q}\sum_{i,j\in q,\;y_i<y_j} [1 - s_j + s_i]_+

    The objective of RankSVM, with every query of the same weight.  Queries without pairs, whose rows have one label
    only, are as if removed.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Relevance grades, of which only the order within a query counts.
    queries : array-like of shape (n,), default=None
        The query of each row, any numbers or strings; None is one query for all rows.
    weights : array-like of shape (n,), default=None
        For each row the weight of its query, or zero for a row to be omitted; None is the same weight for all queries.

    See Also
    --------
    PairwiseSquaredHinge : The same with squared hinges.
    OrdinalHinge : One query, with weights of rows.
    fenchel.LinearRanker : The estimator.

    References
    ----------
    .. [1] T. Joachims. "Optimizing search engines using clickthrough data." KDD, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import PairwiseHinge
    >>> risk = PairwiseHinge([1, 0, 2, 0], queries=[7, 7, 8, 8])
    >>> float(risk.value(np.array([2.0, 0.0, 0.0, 0.0])))
    0.5
    """

    name = "pairwise_hinge"
    #: counts of pairs are whole numbers
    _whole = True

    def __init__(self, labels: ArrayLike, queries: ArrayLike | None = None, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, queries, weights)
        self.bits = int(len(self.queries.levels) - 1).bit_length()
        codes = (self.queries.numbers << self.bits) | self.queries.grades
        self._codes = codes.astype(np.uint16) if int(np.max(codes)) < 1 << 16 else codes

    def pairwise_ranking(self) -> PairwiseRanking:
        return self

    def enclosure(self) -> EnclosedGradedPairs:
        return EnclosedGradedPairs(self._codes, self.bits, self.amounts, self.queries.weights)

    @cached_property
    def amounts(self) -> Floats:
        """One for every row of a query with pairs, zero for the others."""
        return self.queries.scattered(np.ones(len(self.queries.order)), self.examples)

    @cached_property
    def pairs(self) -> Floats:
        """M_q / c_q of the query of each row."""
        found = np.ones(self.examples)
        found[self.queries.order] = 1.0 / self.queries.pair_share
        return found

    def _centred(self, scores: Array) -> Floats:
        queries = self.queries
        return queries.scattered(queries.centred(queries.in_order(np.asarray(scores, dtype=np.float64))), self.examples)

    def _between(self, scores: Array, wide: float, narrow: float) -> Pairs | None:
        """By all pairs where they are few: scores of different queries are not comparable."""
        queries = self.queries
        if int(np.sum(queries.pairs)) > max(LISTED_PAIRS, _PAIRS_PER_ROW * self.examples):
            return None
        s, lower, upper = queries.in_order(scores), [], []
        for block in queries.blocks():
            above, below = s[block.upper], s[block.lower]
            # the comparisons of the running sums, so that a pair is in those or here
            near = np.flatnonzero((above - wide <= below) & ~(above - narrow <= below))
            lower.append(queries.order[block.lower[near]])
            upper.append(queries.order[block.upper[near]])
        return Pairs(np.concatenate(lower), np.concatenate(upper))
