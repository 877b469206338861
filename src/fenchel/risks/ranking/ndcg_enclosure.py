r"""NDCG in ball arithmetic, for rigorous certificates.

Discounts :math:`d_r = \ln 2/\ln(1 + r)`, gains and :math:`a^*` are enclosed.  The largest :math:`\langle a, z\rangle`
over the orders a of the discounts is that of the centres of z, which it differs from by at most :math:`\langle d,
r\rangle` for radii r in falling order.

A dual point of a query is :math:`a = a^* + x`, x in floats but for one entry, which makes the sum of x zero.  Rounding
leaves sums of the k largest entries above those of the discounts, so that it is moved towards their mean,

.. math:: a' = (1 - \varepsilon)(a^* + x) + \varepsilon\,\bar d,

by the first :math:`\varepsilon` of a list for which it is proved to lie in the permutahedron; a query for which none
does stays at :math:`a^*`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.ball_functions import LN2, expm1, log
from fenchel.numerics.ball_reductions import prefix_sums, segment_sums
from fenchel.numerics.balls import Ball, as_ball, where, zeros
from fenchel.risks.enclosures import EnclosedDual, with_sum
from fenchel.risks.ranking.queries import Queries
from fenchel.stopping import stop_point

#: shares of the mean of the discounts that are tried in turn
_MIXTURES = (0.0, 2.0**-50, 1e-13, 1e-11, 1e-9)
#: covers the rounding of a sum of radii
_UPWARDS = 1.0 + 2.0**-20


class _Parts(NamedTuple):
    """Of the rows in order: d of their places, a* and g; and W of the query."""

    discounts: Ball
    ideal: Ball
    gains: Ball
    weights: Floats


@dataclass(frozen=True)
class EnclosedNDCG:
    """The mean over queries of the bound on one minus the NDCG; ``exponential``: gains 2^y - 1, else y."""

    queries: Queries
    examples: int
    exponential: bool
    k: int | None

    def value(self, scores: Ball) -> Ball:
        parts, query = self._parts, self.queries.query
        z = scores[self.queries.order] - parts.gains
        order = np.lexsort((-z.low, -z.high, query))
        radii = z.radius[np.lexsort((-z.radius, query))]
        # rounded upwards: at most as much as the centres are away
        moved = _UPWARDS * float(np.sum(parts.weights * parts.discounts.upper() * radii))
        top = (parts.discounts * z.centre()[order] * parts.weights).sum().widened(moved)
        return (top - (parts.ideal * z * parts.weights).sum()) / self._total()

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        queries, parts = self.queries, self._parts
        x = -queries.in_order(theta) / queries.share
        found = zeros(x.shape)
        for begin, size in zip(queries.starts.tolist(), queries.sizes.tolist(), strict=True):
            stop_point()
            own = slice(begin, begin + size)
            if np.any(x[own]):
                found.put(own, _inside(x[own], parts.ideal[own], parts.discounts[own]))
        point = zeros((self.examples,))
        point.put(queries.order, -found * parts.weights)
        total = self._total()
        return EnclosedDual(point, 1.0 / total, (found * parts.gains * parts.weights).sum() / total)

    @cached_property
    def _parts(self) -> _Parts:
        queries = self.queries
        ranks = np.arange(len(queries.order)) - np.repeat(queries.starts, queries.sizes) + 1
        discounts = LN2 / log(as_ball(1.0 + ranks))
        if self.k is not None:
            discounts = where(ranks <= self.k, discounts, 0.0)
        labels = as_ball(queries.levels[queries.grades[queries.order]])
        gains = expm1(labels * LN2) if self.exponential else labels
        # rows of one grade of a query are a run
        runs = np.flatnonzero(np.concatenate([[True], queries.first[1:] != queries.first[:-1]]))
        lengths = np.diff(np.append(runs, len(ranks)))
        means = segment_sums(discounts, lengths) / lengths.astype(np.float64)
        ideal = means.map(lambda values: np.repeat(values, lengths))
        best = segment_sums(gains * ideal, queries.sizes)
        gains = gains / best.map(lambda values: np.repeat(values, queries.sizes))
        return _Parts(discounts, ideal, gains, queries.weights[queries.query])

    def _total(self) -> Ball:
        return as_ball(self.queries.weights[self.queries.informative]).sum()


def _inside(x: Array, ideal: Ball, discounts: Ball) -> Ball:
    """Numbers near x that sum to zero, with a* + x in the permutahedron of the discounts; zero if none are found."""
    free = np.full(len(x), np.inf)
    a = ideal + with_sum(x, -free, free, np.ones(len(x)), 0.0)
    mean = discounts.sum() / float(len(x))
    for share in _MIXTURES:
        moved = a if share == 0.0 else a + (mean - a) * share
        order = np.lexsort((-moved.low, -moved.high))
        # the sums of the k largest numbers and of the k largest centres
        spread: Floats = np.arange(1.0, len(x) + 1.0) * float(np.max(moved.radius)) * _UPWARDS
        room = prefix_sums(discounts) - prefix_sums(moved.centre()[order]).widened(spread)
        # that of all numbers is the same by construction
        if np.all(room[:-1].nonnegative()):
            return moved - ideal
    return zeros(x.shape)
