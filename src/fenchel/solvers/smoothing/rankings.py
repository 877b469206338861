"""Smoothed risks of rankings by compiled loops; certificates never use them."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.group_sums import order_in_groups
from fenchel.risks import NDCG
from fenchel.risks.protocols import PairwiseRanking
from fenchel.risks.smoothing import Smoothed
from fenchel.solvers.smoothing.loop_ranking import (
    LOGISTIC,
    SMOOTHED_HINGE,
    SQUARED_HINGE,
    nearest_rankings,
    pair_losses,
)
from fenchel.stopping import stop_point

_LOOPS = {"pairwise_hinge": SMOOTHED_HINGE, "pairwise_squared_hinge": SQUARED_HINGE, "pairwise_logistic": LOGISTIC}
#: pairs of a query per row up to which a loop over all pairs is faster than running sums in order of the scores
_PAIRS_PER_ROW = 512
#: pairs between two stop points
_MOST_PAIRS = 1 << 22


class RankedPairs:
    """A loss of all pairs of each query."""

    def __init__(self, risk: PairwiseRanking) -> None:
        self.risk, self.loss = risk, _LOOPS[risk.name]
        queries = risk.queries
        #: the loss of pairs has no running sums for logistic
        self.sums = self.loss != LOGISTIC and bool(np.any(queries.pairs > _PAIRS_PER_ROW * queries.sizes))
        # whole rows, of about as many pairs
        pairs = np.cumsum(queries.ends - queries.first)
        cuts = np.searchsorted(pairs, np.arange(_MOST_PAIRS, pairs[-1], _MOST_PAIRS))
        self.cuts = [0, *np.unique(cuts[cuts > 0]).tolist(), len(pairs)]

    def __call__(self, scores: Array, mu: float) -> Smoothed:
        if self.sums:
            return self.risk.smoothed(scores, mu)
        queries, s = self.risk.queries, self.risk.queries.in_order(scores)
        theta, total = np.zeros(len(s)), np.zeros(3)
        if len(self.cuts) == 2:
            total += pair_losses(self.loss, s, queries.first, queries.ends, queries.pair_share, mu, theta)
        else:
            for begin, end in zip(self.cuts[:-1], self.cuts[1:], strict=True):
                stop_point()
                # rows of a query may be divided: the places of lower rows stay those of the whole
                share = np.zeros(len(s))
                share[begin:end] = queries.pair_share[begin:end]
                ends = np.where(share > 0.0, queries.ends, queries.first)
                total += pair_losses(self.loss, s, queries.first, ends, share, mu, theta)
        value, risk, excess = total.tolist()
        smooth = self.loss != SMOOTHED_HINGE
        return Smoothed(
            value,
            queries.scattered(theta, len(scores)),
            value if smooth else risk,
            max(0.0, excess),
            lambda: self._decomposition(scores, mu),
        )

    def _decomposition(self, scores: Array, mu: float) -> Floats:
        """Return the decomposition of theta, which certificates need, as NumPy computes it."""
        decompose = self.risk.smoothed(scores, mu).decompose
        assert decompose is not None
        return decompose()


class Rankings:
    """NDCG: sorted by NumPy, projected by a compiled loop."""

    def __init__(self, risk: NDCG) -> None:
        self.risk = risk
        largest = int(np.max(risk.queries.sizes))
        self.sums, self.counts = np.empty(largest), np.empty(largest, dtype=np.int64)

    def __call__(self, scores: Array, mu: float) -> Smoothed:
        risk, queries = self.risk, self.risk.queries
        z = queries.centred(queries.in_order(scores) - risk.gains)
        order = order_in_groups(-(z + mu * risk.ideal), queries.query)
        a = np.empty(len(z))
        nearest_rankings(
            order, z, risk.ideal, risk.discounts, queries.starts, queries.sizes, mu, self.sums, self.counts, a
        )
        return risk.at_rankings(scores, mu, a)
