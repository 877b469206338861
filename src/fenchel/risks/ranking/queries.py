r"""The queries of a ranking: which rows belong together, their grades, and the pairs of each query.

A query is *informative* if rows of positive weight have two different labels; any order of the others is right, so
they are as if removed.  Rows are listed query by query and from the highest to the lowest grade, so that the rows that
a row should be ranked above are a contiguous range: all rows of its query after the last one of its own grade.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import BLOCK_ENTRIES
from fenchel.numerics.rounding import tree_sum
from fenchel.validation import has_missing, mixes_words


class PairBlock(NamedTuple):
    """Some pairs: places in ``Queries.order`` of the row with the higher label and of that with the lower one."""

    upper: NDArray[np.int64]
    lower: NDArray[np.int64]


class Queries:
    """Rows with grades in queries, and the share of each query in the mean."""

    def __init__(self, labels: ArrayLike, queries: ArrayLike | None, weights: Floats | None, risk: str) -> None:
        found = np.asarray(labels)
        if found.ndim != 1 or not found.size or found.dtype.kind not in "biuf" or not np.all(np.isfinite(found)):
            raise FenchelError("labels must be (n,) finite numbers, not empty: the relevance grade of each row")
        count = len(found)
        #: the number of the query of each row
        self.numbers = query_numbers(queries, count)
        self.levels, grades = np.unique(found, return_inverse=True)
        #: the place of each row's label among all different labels
        self.grades = grades.astype(np.int64)
        weight = _query_weights(self.numbers, weights)
        kept = np.ones(count, dtype=bool) if weights is None else weights > 0.0
        low, high = (
            _extremes(function, self.grades, self.numbers, kept, start)
            for function, start in ((np.minimum, len(self.levels)), (np.maximum, -1))
        )
        informative = low < high
        if not np.any(informative):
            raise FenchelError(
                f"the risk {risk!r} needs a query that has rows with two different labels and positive weight; pass "
                "the query of each row as queries (qid in an estimator)"
            )
        #: of each query, zero where it is not informative
        self.weights = np.where(informative, weight, 0.0)
        scaled = self.weights / np.max(self.weights)
        #: c_q: the share of each query in the mean
        self.shares = scaled / tree_sum(scaled)
        #: the rows of informative queries, query by query, from the highest to the lowest grade
        rows = np.flatnonzero(kept & informative[self.numbers])
        self.order = rows[np.lexsort((-self.grades[rows], self.numbers[rows]))]
        #: of the rows in order: query and share
        self.query = self.numbers[self.order]
        self.share = self.shares[self.query]
        sizes = np.bincount(self.query, minlength=len(weight))
        #: the numbers of the informative queries, with their sizes and first places in ``order``
        self.informative = np.flatnonzero(sizes)
        self.sizes = sizes[self.informative]
        self.starts = np.cumsum(self.sizes) - self.sizes
        ends = np.repeat(self.starts + self.sizes, self.sizes)
        runs = self.query * len(self.levels) + self.grades[self.order]
        last = np.append(np.flatnonzero(np.diff(runs)) + 1, len(runs))
        #: the rows that the row at place p should be above are at the places first[p] to ends[p] - 1
        self.first = np.repeat(last, np.diff(np.concatenate([[0], last])))
        self.ends = ends

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The number of pairs of each informative query."""
        return np.add.reduceat(self.ends - self.first, self.starts)

    @cached_property
    def pair_share(self) -> Floats:
        """c_q / M_q of the query of each row in order: what one pair counts in the mean."""
        return np.repeat(self.shares[self.informative] / self.pairs, self.sizes)

    @property
    def total_weight(self) -> Fraction:
        """The sum of the weights of the informative queries, exactly."""
        return sum((Fraction(weight) for weight in self.weights[self.informative].tolist()), Fraction(0))

    def in_order(self, values: Array) -> Array:
        """Values of all rows as values of the rows in order."""
        return values[self.order]

    def scattered(self, values: Array, count: int) -> Floats:
        """Values of the rows in order as values of all rows, zero for the others."""
        found = np.zeros(count)
        found[self.order] = values
        return found

    def centred(self, ordered: Array) -> Array:
        """Values of the rows in order less the middle of the range of their query."""
        low, high = (function.reduceat(ordered, self.starts) for function in (np.minimum, np.maximum))
        return ordered - np.repeat(0.5 * low + 0.5 * high, self.sizes)

    def blocks(self, places: slice | None = None, entries: int = BLOCK_ENTRIES) -> Iterator[PairBlock]:
        """The pairs of the rows at these places, or of all, in blocks of about ``entries`` pairs."""
        begin, end = (0, len(self.order)) if places is None else (places.start, places.stop)
        counts = (self.ends - self.first)[begin:end]
        sums = np.concatenate([[0], np.cumsum(counts)])
        at = 0
        while at < len(counts):
            to = max(at + 1, int(np.searchsorted(sums, sums[at] + entries, side="right")) - 1)
            own = counts[at:to]
            upper = np.repeat(np.arange(begin + at, begin + to), own)
            lower = np.arange(sums[to] - sums[at]) + np.repeat(
                self.first[begin + at : begin + to] - (sums[at:to] - sums[at]), own
            )
            if len(upper):
                yield PairBlock(upper, lower)
            at = to


def query_numbers(queries: ArrayLike | None, count: int, name: str = "queries") -> NDArray[np.int64]:
    """The number of the query of each row; None is one query for all rows."""
    if queries is None:
        return np.zeros(count, dtype=np.int64)
    try:
        found = np.asarray(queries)
    except ValueError as error:
        raise FenchelError(f"{name} must be numbers or strings, one for each row: {error}") from error
    if found.shape != (count,):
        raise FenchelError(f"{name} must have one entry for each of the {count} rows, got shape {found.shape}")
    if np.ma.is_masked(queries) or has_missing(found) or (found.dtype.kind == "f" and np.any(np.isinf(found))):
        raise FenchelError(
            f"{name} must not hold missing values (NaN, NaT, None) or infinity; give every row its query"
        )
    try:
        numbers = np.unique(found, return_inverse=True)[1]
    except TypeError as error:
        raise FenchelError(f"{name} must be numbers or strings of one kind") from error
    if mixes_words(queries, found):
        raise FenchelError(f"{name} must be numbers or strings of one kind")
    return np.asarray(numbers, dtype=np.int64)


def _query_weights(numbers: NDArray[np.int64], weights: Floats | None) -> Floats:
    """The weight of each query: that of its rows, which must be equal unless it is zero, for a removed row."""
    count = int(np.max(numbers)) + 1
    if weights is None:
        return np.ones(count)
    kept = weights > 0.0
    highest = _extremes(np.maximum, weights, numbers, kept, 0.0)
    if np.any(weights[kept] != highest[numbers[kept]]):
        raise FenchelError(
            "weights must be the same for all rows of a query, or zero for a row to be omitted; give each row the "
            "weight of its query"
        )
    return highest


def _extremes(function: Any, values: Array, numbers: NDArray[np.int64], kept: NDArray[np.bool_], start: Any) -> Array:
    """The extreme value of the kept rows of each query."""
    found = np.full(int(np.max(numbers)) + 1, start, dtype=np.asarray(values).dtype)
    function.at(found, numbers[kept], values[kept])
    return found
