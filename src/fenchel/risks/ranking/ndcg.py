r"""NDCG as a structured risk: a convex bound on one minus the normalized discounted cumulative gain of each query.

.. math::
    R(s) = \sum_q c_q \max_{a\in\mathrm{Perm}(d)} \langle a - a^*, s - g\rangle

over the rows of a query, with the discounts :math:`d_r = 1/\log_2(1 + r)` of the ranks (zero beyond the rank k, if one
is given), the gains :math:`g = \text{gain}/\text{DCG}^*` and :math:`a^*` the discounts of the ideal ranking, averaged
over rows with equal labels (Chapelle, Le and Smola 2007; Tsochantaridis et al. 2005).  :math:`\langle a, g\rangle` is
the NDCG of the ranking a and :math:`\langle a^*, g\rangle = 1`, so R is at least one minus the mean NDCG of the ranking
by the scores.  Sorting :math:`s - g` finds the maximum.

The domain of the conjugate is a permutahedron for each query, and there the conjugate is linear:

.. math:: R^*(-\theta) = -\langle\theta, g\rangle \quad\text{if}\quad a^*_q - \theta_q/c_q \in \mathrm{Perm}(d).

Smoothing with :math:`d(\theta) = \sum_q c_q\|a - a^*\|^2/2` is one projection onto each permutahedron
(``projections.permutahedron``).

=====================  ==================================================
symbol                 here, for the rows in order (``Queries.order``)
=====================  ==================================================
d, :math:`a^*`, g      ``discounts``, ``ideal``, ``gains``
:math:`c_q`            ``queries.share``
=====================  ==================================================
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.group_sums import order_in_groups
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.numerics.rounding import RATIONAL, tree_depth, tree_sum
from fenchel.projections.permutahedron import into_permutahedra, nearest_in_permutahedron
from fenchel.risks.base import CuttingPlane
from fenchel.risks.protocols import ClosedForm, Smoothable
from fenchel.risks.ranking.base import RankingRisk
from fenchel.risks.ranking.ndcg_enclosure import EnclosedNDCG
from fenchel.risks.smoothing import Smoothed
from fenchel.stopping import stop_point
from fenchel.validation import check_choice, check_integer

#: the gain of a label y, by its name
GAINS = {
    # exact for integers; 2^y - 1 cancels for small y
    "exponential": lambda y: np.where(y >= 1.0, np.exp2(y) - 1.0, np.expm1(np.log(2.0) * y)),
    "linear": lambda y: y,
}
#: relative spacing of extended precision, float64 where there is none
_EXTENDED_EPS = float(np.finfo(np.longdouble).eps)


def gains_of(labels: ArrayLike, gain: str) -> Floats:
    """The gains of labels; raise unless they are finite and not negative."""
    check_choice("gain", gain, tuple(GAINS))
    y = np.asarray(labels, dtype=np.float64)
    with np.errstate(over="ignore"):
        found = GAINS[gain](y)
    if not (np.all(y >= 0.0) and np.all(np.isfinite(found))):
        raise FenchelError(
            "labels must not be negative, and their gains finite: NDCG needs relevance grades such as 0, 1, 2; with "
            "large labels use gain='linear'"
        )
    return found


def rank_discounts(ranks: Array, k: int | None) -> Floats:
    """1 / log2(1 + r) for the ranks r = 1, 2, ...; zero beyond k."""
    found = 1.0 / np.log2(1.0 + np.asarray(ranks, dtype=np.float64))
    return found if k is None else np.where(ranks <= k, found, 0.0)


class NDCG(RankingRisk):
    r"""NDCG of a ranking: a convex upper bound on one minus the mean NDCG of the queries.

    .. math:: R(s) = \sum_q c_q \max_{a\in\mathrm{Perm}(d)} \langle a - a^*, s - g\rangle

    Queries whose rows have one label only, for which every ranking is ideal, are as if removed.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Relevance grades, not negative.
    queries : array-like of shape (n,), default=None
        The query of each row, any numbers or strings; None is one query for all rows.
    weights : array-like of shape (n,), default=None
        For each row the weight of its query, or zero for a row to be omitted; None is the same weight for all queries.
    gain : {"exponential", "linear"}, default="exponential"
        The gain of a row of grade y: :math:`2^y - 1` or y.
    k : int, default=None
        Ranks beyond k count nothing (NDCG@k); None counts all ranks.

    See Also
    --------
    PairwiseHinge : The hinge of all pairs.
    fenchel.LinearRanker : The estimator.

    References
    ----------
    .. [1] O. Chapelle, Q. Le and A. Smola. "Large margin optimization of ranking measures." NIPS workshop, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import NDCG
    >>> risk = NDCG([2, 0, 1], queries=[5, 5, 5])
    >>> float(risk.value(np.array([9.0, -9.0, 0.0])))
    0.0
    >>> round(float(risk.value(np.zeros(3))), 4)
    0.4131
    """

    name = "ndcg"
    #: R*(0): minus the infimum of the risk
    conjugate_at_zero = 0.0

    def __init__(
        self,
        labels: ArrayLike,
        queries: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        *,
        gain: str = "exponential",
        k: int | None = None,
    ) -> None:
        super().__init__(labels, queries, weights)
        check_integer("k", k, least=1, optional=True)
        self.gain, self.k = gain, k
        found = self.queries
        gains = gains_of(found.levels, gain)[found.grades[found.order]]
        ranks = np.arange(len(found.order)) - np.repeat(found.starts, found.sizes) + 1
        self.discounts = rank_discounts(ranks, k)
        d = self.discounts.astype(np.longdouble)
        # divided by the largest, so that the sum does not overflow
        gains = gains / np.repeat(np.maximum.reduceat(gains, found.starts), found.sizes)
        best = np.add.reduceat(gains * d, found.starts)
        self.gains = (gains / np.repeat(best, found.sizes)).astype(np.float64)
        runs = np.flatnonzero(np.concatenate([[True], found.first[1:] != found.first[:-1]]))
        lengths = np.diff(np.append(runs, len(d)))
        #: the mean discount of the rows of the same grade in the ideal ranking, in extended precision
        self._ideal = np.repeat(np.add.reduceat(d, runs) / lengths, lengths)
        self.ideal = self._ideal.astype(np.float64)

    def closed_form(self) -> ClosedForm:
        return self

    def enclosure(self) -> EnclosedNDCG:
        return EnclosedNDCG(self.queries, self.examples, self.gain == "exponential", self.k)

    def smoothable(self) -> Smoothable:
        return self

    def ndcg(self) -> NDCG:
        return self

    def value(self, scores: Array) -> float:
        """R(s)."""
        return self.cutting_plane(scores)[2]

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s."""
        return self.cutting_plane(scores)[0]

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The cutting plane of the worst ranking at s: subgradient, offset and R(s)."""
        queries, z = self.queries, self._gaps(scores)
        ordered = np.empty(len(z))
        ordered[order_in_groups(-z, queries.query)] = self.discounts
        slope = queries.share * (ordered - self.ideal)
        value, offset = tree_sum(slope * z), -tree_sum(slope * self.gains)
        return queries.scattered(slope, self.examples), offset, max(value, 0.0)

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta): infinite outside the domain (beyond rounding); ``feasible``: theta came from ``project``."""
        theta = np.asarray(theta, dtype=np.float64)
        if not feasible:
            outside = np.abs(theta - self.project(theta))
            if np.any(outside > DOMAIN_TOLERANCE * self.queries.scattered(self.queries.share, self.examples)):
                return np.inf
        # 0 - x is never minus zero
        return 0.0 - tree_sum(self.queries.in_order(theta) * self.gains)

    def project(self, theta: Array) -> Floats:
        """A dual point in the domain of the conjugate, near theta; queries in which theta is zero stay at zero."""
        queries, c = self.queries, self.queries.share
        t = queries.in_order(np.asarray(theta, dtype=np.float64))
        high, low = (self.discounts[queries.starts], self.discounts[queries.starts + queries.sizes - 1])
        # 1. each entry of a between the smallest and the largest discount, and the sum of the query zero
        ends = [np.repeat(end, queries.sizes) for end in (high, low)]
        t = self._balanced(np.clip(t, c * (self.ideal - ends[0]), c * (self.ideal - ends[1])))
        # 2. the inequalities, with a margin for the rounding of the sums; zero is in the domain exactly
        a, moved = into_permutahedra(
            self._ideal - t / c.astype(np.longdouble), self._inner, queries.query, queries.sizes
        )
        moved &= np.repeat(np.maximum.reduceat(np.abs(t), queries.starts) > 0.0, queries.sizes)
        if np.any(moved):
            t = self._balanced(np.where(moved, (c * (self._ideal - a)).astype(np.float64), t))
        return queries.scattered(t, self.examples)

    @property
    def dual_roundings(self) -> float:
        """Those of theta, of c_q and of the factors that make sums zero.

        Inequalities that are violated by some roundings of theta are mended by twice as much of it.
        """
        return 96.0 + 3.0 * tree_depth(self.examples) + (0.0 if _EXTENDED_EPS < 1e-17 else 4.0 * self._largest_query)

    @property
    def roundings(self) -> float:
        """Those of a gap, of a weight and of the sum; of R*, those of theta too."""
        return RATIONAL + 16.0 + 2.0 * tree_depth(self.examples) + self.dual_roundings

    @cached_property
    def smoothing_range(self) -> float:
        """D: half the largest squared distance of a ranking from the ideal one, in the mean over queries."""
        queries = self.queries
        reverse = np.lexsort((self.discounts, queries.query))
        distance = np.square(self.discounts[reverse] - self.ideal)
        return 0.5 * tree_sum(queries.share * distance)

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        """R smoothed with mu > 0, by one projection for each query."""
        queries, z = self.queries, self._gaps(scores)
        a = np.empty(len(z))
        for begin, size in zip(queries.starts.tolist(), queries.sizes.tolist(), strict=True):
            stop_point()
            own = slice(begin, begin + size)
            a[own] = nearest_in_permutahedron(self.ideal[own], z[own], mu, self.discounts[own])
        return self.at_rankings(scores, mu, a)

    def at_rankings(self, scores: Array, mu: float, a: Array) -> Smoothed:
        """R_mu of the points of the permutahedra that attain it, for the rows in order."""
        queries, z, risk = self.queries, self._gaps(scores), self.value(scores)
        move = a - self.ideal
        attained = tree_sum(queries.share * move * z)
        value = attained - 0.5 * mu * tree_sum(queries.share * move * move)
        theta = queries.scattered(-queries.share * move, self.examples)
        return Smoothed(value, theta, risk, max(risk - attained, 0.0))

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores, and on that of its terms."""
        return 2.0 * tree_sum(self.queries.share * self.discounts) * (1.0 + 1e-6)

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """c_q (a_i + a*_i) with the best rank that each row may have at scores within ``radius`` of these."""
        queries = self.queries
        reach = queries.in_order(np.broadcast_to(radius, (self.examples,)))
        z, count = self._gaps(scores), len(queries.order)
        # rows that are above each row in any case come before it
        keys = np.concatenate([-(z + reach), -(z - reach)])
        order = np.lexsort((np.arange(2 * count) >= count, keys, np.tile(queries.query, 2)))
        certain = order >= count
        before = np.cumsum(certain)[~certain]
        ranks = np.empty(count, dtype=np.int64)
        ranks[order[~certain]] = before
        ranks -= np.repeat(queries.starts, queries.sizes)
        best = rank_discounts(ranks + 1, self.k)
        return queries.scattered(queries.share * (best + self.ideal), self.examples) * (1.0 + 1e-6)

    @cached_property
    def _largest_query(self) -> float:
        return float(np.max(self.queries.sizes))

    @cached_property
    def _inner(self) -> Array:
        """The discounts, moved towards their mean by more than the rounding of sums over a query.

        The sum of the k first ones falls by at least the smaller distance of the mean from the first and the last one.
        """
        queries, d = self.queries, self.discounts.astype(np.longdouble)
        sums = np.add.reduceat(d, queries.starts)
        mean = sums / queries.sizes
        margin = np.minimum(d[queries.starts] - mean, mean - d[queries.starts + queries.sizes - 1])
        share = np.minimum(1.0, 16.0 * _EXTENDED_EPS * (queries.sizes + 2.0) * sums / margin)
        return d - np.repeat(share, queries.sizes) * (d - np.repeat(mean, queries.sizes))

    def _gaps(self, scores: Array) -> Floats:
        """S - g of the rows in order, less the middle of each query, which no ranking depends on."""
        queries = self.queries
        return queries.centred(queries.in_order(np.asarray(scores, dtype=np.float64)) - self.gains)

    def _balanced(self, t: Array) -> Floats:
        """Of each query the side with the larger sum is scaled down, so that the sum is zero up to rounding."""
        queries = self.queries
        up, down = (
            np.add.reduceat(np.maximum(side, 0.0), queries.starts, dtype=np.longdouble).astype(np.float64)
            for side in (t, -t)
        )
        goal = np.minimum(up, down)
        factors = [np.divide(goal, total, out=np.ones(len(goal)), where=total > goal) for total in (up, down)]
        of_up, of_down = (np.repeat(factor, queries.sizes) for factor in factors)
        return t * np.where(t > 0.0, of_up, of_down)
