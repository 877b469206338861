"""What the risks of rankings share: their queries, and the weights of these."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Floats
from fenchel.risks.base import Risk
from fenchel.risks.ranking.queries import Queries


class RankingRisk(Risk):
    """A mean over queries of functions of the scores of a query."""

    def __init__(self, labels: ArrayLike, queries: ArrayLike | None = None, weights: ArrayLike | None = None) -> None:
        self.examples = np.shape(labels)[0] if np.ndim(labels) else 0
        self._weigh(weights)
        self.queries = Queries(labels, queries, self._weights, self.name)

    @cached_property
    def shares(self) -> Floats:
        """The share of a row in the mean: that of its query over the rows of the query."""
        queries = self.queries
        return queries.scattered(queries.share / np.repeat(queries.sizes, queries.sizes), self.examples)

    @cached_property
    def total_weight(self) -> Fraction:
        """The sum of the weights of the queries with different labels."""
        return self.queries.total_weight
