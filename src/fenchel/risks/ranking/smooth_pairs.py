r"""Smooth pairwise losses of a ranking: the mean over queries of the mean loss of the pairs of a query.

.. math::
    R(s) = \sum_q \frac{c_q}{M_q}\sum_{i,j\in q,\;y_i>y_j} f(s_i - s_j)

with the squared hinge :math:`f(t) = [1 - t]_+^2` or the logistic loss :math:`\log(1 + e^{-t})` (RankNet: Burges et al.
2005).  Pairs are listed in blocks.  The squared hinge of a query with many pairs is summed in :math:`O(n\log n)`
instead (``sorted_pairs``); the logistic loss has no such sum, and costs :math:`O(\text{pairs})`.

The flow of a pair is :math:`-f'(s_i - s_j)\,c_q/M_q \ge 0`, and :math:`\theta = -\nabla R` the net flows.  The
conjugate is known at gradients, which bounds it for a witness that holds its scores (``gradient_form``):

.. math:: R^*(\nabla R(u)) = \sum_q \frac{c_q}{M_q}\sum_{ij}\,t f'(t) - f(t), \qquad t = u_i - u_j
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import BLOCK_ENTRIES
from fenchel.numerics.rounding import ELEMENTARY, UNIT, absolute_sum, gamma, tree_depth, tree_sum
from fenchel.risks.base import CuttingPlane
from fenchel.risks.decomposition import Decomposable, DecomposedForm, normalized
from fenchel.risks.protocols import PairwiseRanking, Smoothable
from fenchel.risks.ranking.base import RankingRisk
from fenchel.risks.ranking.enclosures import (
    EnclosedLogisticPairs,
    EnclosedPairLoss,
    EnclosedSmoothPairs,
    EnclosedSquaredHinge,
)
from fenchel.risks.ranking.gradient_form import AtGradient, gradient_form
from fenchel.risks.ranking.sorted_pairs import squared_hinges
from fenchel.risks.smoothing import Smoothed
from fenchel.stopping import stop_point

#: pairs per row above which a query is summed in order of its scores, where the loss allows
_PAIRS_PER_ROW = 64
#: roundings of a difference of scores and of the factors of a flow
_FACTORS = 8.0


class _Sums(NamedTuple):
    """R, for each row in order the flows from rows below it and to rows above it, and the sum of flow times t."""

    value: float
    into: Floats
    out: Floats
    #: sum over pairs of -f'(t) t c_q / M_q, and of its absolute terms
    moment: float
    size: float


class SmoothPairs(RankingRisk):
    """A mean over queries of a smooth loss of the pairs of a query."""

    smooth = True
    #: R*(0): minus the infimum of the risk
    conjugate_at_zero = 0.0
    #: R is its own smoothing
    smoothing_range = 0.0
    #: whether queries with many pairs are summed in order of their scores
    _sorts: ClassVar[bool] = False
    #: the loss in ball arithmetic
    enclosed_loss: ClassVar[EnclosedPairLoss]

    @abc.abstractmethod
    def loss(self, t: Array) -> Floats:
        """f(t) of differences of scores."""

    @abc.abstractmethod
    def flow(self, t: Array) -> Floats:
        """-f'(t) >= 0."""

    @abc.abstractmethod
    def noise(self, span: Array) -> tuple[Floats, Floats]:
        """Bounds on abs(t) f''(t) and t^2 f''(t) for abs(t) <= span: what a rounded t does to f' and t f' - f."""

    def enclosure(self) -> EnclosedSmoothPairs:
        return EnclosedSmoothPairs(self.queries, self.examples, self.enclosed_loss)

    def smoothable(self) -> Smoothable:
        return self

    def decomposable(self) -> Decomposable:
        return self

    def pairwise_ranking(self) -> PairwiseRanking:
        return self

    def value(self, scores: Array) -> float:
        """R(s)."""
        return self._sums(scores, scores).value

    def subgradient(self, scores: Array) -> Floats:
        """The gradient of R at s."""
        return -self._theta(self._sums(scores, scores))

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The tangent at s: gradient, offset and R(s)."""
        found = self._sums(scores, scores)
        # R(s) - gradient . s, by pairs
        return -self._theta(found), found.value + found.moment, found.value

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        """R itself, which is smooth, whatever mu is."""
        found = self._sums(scores, scores)
        theta = self._theta(found)
        return Smoothed(found.value, theta, found.value, 0.0, lambda: self.decompose(scores, -theta))

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        """The scores at which minus theta is the gradient, with the weight one."""
        return np.concatenate([[1.0], np.asarray(scores, dtype=np.float64)])[None]

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        """All rows, with their normalized weights times these."""
        rows = [
            np.column_stack([weight * normalized(part[:, 0]), part[:, 1:]])
            for weight, part in zip(normalized(weights), decompositions, strict=True)
            if weight > 0.0
        ]
        return np.concatenate(rows)

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> DecomposedForm | None:
        """The bound of scores at whose gradient theta is; None without them."""
        return gradient_form(self, decomposition)

    def at_gradient(self, scores: Array) -> AtGradient:
        """Minus the gradient at s, its conjugate, and bounds on their errors."""
        found, queries = self._sums(scores, scores), self.queries
        theta = self._theta(found)
        gross = absolute_sum(found.into) + absolute_sum(found.out)
        s = queries.in_order(np.asarray(scores, dtype=np.float64))
        span = np.maximum.reduceat(s, queries.starts) - np.minimum.reduceat(s, queries.starts)
        share = queries.shares[queries.informative]
        of_flow, of_conjugate = (2.0 * gamma(_FACTORS) * float(share @ bound) for bound in self.noise(span))
        rounded = gamma(self.roundings + self._largest_query)
        return AtGradient(
            theta,
            -found.moment - found.value,
            rounded * gross + 2.0 * of_flow,
            rounded * (found.size + found.value) + of_conjugate,
        )

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the sum of the flows into and out of each row at any scores within ``radius`` of these."""
        found = self._sums(scores - radius, scores + radius)
        return self.queries.scattered(found.into + found.out, self.examples) * (1.0 + 1e-6)

    @property
    def roundings(self) -> float:
        """Those of a loss, of c_q / M_q, of the sums of blocks and of running sums in order of the scores."""
        blocks = float(np.sum(self.queries.pairs)) / BLOCK_ENTRIES + len(self._in_order) + 1.0
        running = 8.0 * self._largest_query if len(self._in_order) else 0.0
        return ELEMENTARY + _FACTORS + tree_depth(2 * BLOCK_ENTRIES) + blocks + running

    @cached_property
    def _largest_query(self) -> float:
        return float(np.max(self.queries.sizes))

    @cached_property
    def _in_order(self) -> NDArray[np.int64]:
        """Which of the informative queries are summed in order of their scores."""
        many = self.queries.pairs > _PAIRS_PER_ROW * self.queries.sizes
        return np.flatnonzero(many) if self._sorts else np.empty(0, dtype=np.int64)

    def _theta(self, found: _Sums) -> Floats:
        return self.queries.scattered(found.into - found.out, self.examples)

    def _listed(self) -> list[slice]:
        """The places of the queries whose pairs are listed: between those that are summed in order."""
        begins = self.queries.starts[self._in_order]
        ends = begins + self.queries.sizes[self._in_order]
        between = zip(np.append(0, ends).tolist(), np.append(begins, len(self.queries.order)).tolist(), strict=True)
        return [slice(begin, end) for begin, end in between if begin < end]

    def _sums(self, upper: Array, lower: Array) -> _Sums:
        """The sums over all pairs, with scores for the upper row of a pair and others for the lower one."""
        queries = self.queries
        high, low = (queries.in_order(np.asarray(scores, dtype=np.float64)) for scores in (upper, lower))
        into, out = np.zeros(len(high)), np.zeros(len(high))
        value = moment = size = 0.0
        for places in self._listed():
            for block in queries.blocks(places):
                stop_point()
                t = high[block.upper] - low[block.lower]
                counts = queries.pair_share[block.upper]
                flows = counts * self.flow(t)
                value += tree_sum(counts * self.loss(t))
                moments = flows * t
                moment, size = moment + tree_sum(moments), size + tree_sum(np.abs(moments))
                into += np.bincount(block.upper, flows, len(high))
                out += np.bincount(block.lower, flows, len(high))
        for query in self._in_order.tolist():
            stop_point()
            own = slice(queries.starts[query], queries.starts[query] + queries.sizes[query])
            middle = 0.5 * float(np.max(high[own])) + 0.5 * float(np.min(high[own]))
            found = squared_hinges(high[own] - middle, low[own] - middle, queries.first[own] - own.start)
            share = float(queries.pair_share[own.start])
            value += share * found.squares
            into[own], out[own] = 2.0 * share * found.into, 2.0 * share * found.out
            # -f'(t) t = 2 x (1 - x) with x = 1 - t
            total = 2.0 * share * float(np.sum(found.into))
            moment, size = moment + total - 2.0 * share * found.squares, size + total + 2.0 * share * found.squares
        return _Sums(value, into, out, moment, size)


class PairwiseSquaredHinge(SmoothPairs):
    r"""Pairwise squared hinge of a ranking: the mean over queries of its mean over the pairs of a query.

    .. math:: R(s) = \sum_q \frac{c_q}{M_q}\sum_{i,j\in q,\;y_i>y_j} [1 - s_i + s_j]_+^2

    Queries without pairs, whose rows have one label only, are as if removed.

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
    PairwiseHinge : Without the square.
    fenchel.LinearRanker : The estimator.

    References
    ----------
    .. [1] O. Chapelle and S. S. Keerthi. "Efficient algorithms for ranking with SVMs." Information Retrieval 13, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import PairwiseSquaredHinge
    >>> risk = PairwiseSquaredHinge([1, 0, 2, 0], queries=[7, 7, 8, 8])
    >>> float(risk.value(np.array([0.5, 0.0, 0.0, 1.0])))
    2.125
    """

    name = "pairwise_squared_hinge"
    value_at_zero = 1.0
    _sorts = True
    enclosed_loss = EnclosedSquaredHinge()

    def loss(self, t: Array) -> Floats:
        return np.square(np.maximum(1.0 - t, 0.0))

    def flow(self, t: Array) -> Floats:
        return 2.0 * np.maximum(1.0 - t, 0.0)

    def noise(self, span: Array) -> tuple[Floats, Floats]:
        return 2.0 * (1.0 + span), 2.0 * (1.0 + span) ** 2


class PairwiseLogistic(SmoothPairs):
    r"""Pairwise logistic loss of a ranking: the mean over queries of its mean over the pairs of a query.

    .. math:: R(s) = \sum_q \frac{c_q}{M_q}\sum_{i,j\in q,\;y_i>y_j} \log(1 + e^{-(s_i - s_j)})

    Queries without pairs, whose rows have one label only, are as if removed.  A value takes time proportional to the
    number of pairs.

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
    PairwiseSquaredHinge : Faster for queries with many rows.
    fenchel.LinearRanker : The estimator.

    References
    ----------
    .. [1] C. Burges et al. "Learning to rank using gradient descent." ICML, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import PairwiseLogistic
    >>> risk = PairwiseLogistic([1, 0, 2, 0], queries=[7, 7, 8, 8])
    >>> round(float(risk.value(np.zeros(4))), 4)
    0.6931
    """

    name = "pairwise_logistic"
    value_at_zero = math.log(2.0)
    enclosed_loss = EnclosedLogisticPairs()

    def loss(self, t: Array) -> Floats:
        return np.maximum(-t, 0.0) + np.log1p(np.exp(-np.abs(t)))

    def flow(self, t: Array) -> Floats:
        small = np.exp(-np.abs(t))
        return np.where(t > 0.0, small, 1.0) / (1.0 + small)

    def noise(self, span: Array) -> tuple[Floats, Floats]:
        # the largest |t| f'' and t^2 f'' are 0.224 and 0.440
        return np.full(np.shape(span), 0.25), np.full(np.shape(span), 0.5)

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a gradient at any scores."""
        return 2.0 * (1.0 + 16.0 * UNIT)
