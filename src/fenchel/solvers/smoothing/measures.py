"""Smoothed measures by compiled loops, several times faster than ``risk.smoothed``, which uses NumPy.

Solvers use these functions; certificates never do.  Where the compiled loops lose accuracy (mu below the spacing of the
scores in floating point) ``risk.smoothed`` is called instead.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fenchel.arrays import Array
from fenchel.compile.primitives.dual_steps import dual_steps
from fenchel.risks import ContingencyRisk, MeanRisk, Risk, RocAUC
from fenchel.risks.measures.contingency import CountBound
from fenchel.risks.smoothing import Smoothed
from fenchel.solvers.smoothing.loop import count_point, count_shift, pairs_of_negatives, pairs_of_positives
from fenchel.solvers.smoothing.rankings import RankedPairs, Rankings

Evaluate = Callable[[Array, float], Smoothed]
#: largest error of the sum of the clipped gains, per example; ``risk.smoothed`` is called beyond it
_SUM_TOLERANCE = 1e-13
#: smallest mu relative to the scores for which windows of width mu are resolved in double precision
_SMALLEST_MU = 1e-9


def evaluator(risk: Risk, pool: ThreadPoolExecutor | None = None) -> Evaluate:
    """Return the fastest function for a smoothed risk and its maximizer; the result does not depend on threads."""
    smoothable, pairs, table = risk.smoothable(), risk.roc_auc(), risk.contingency()
    assert smoothable is not None
    bound = None if table is None else table.count_bound()
    ranking, ndcg = risk.pairwise_ranking(), risk.ndcg()
    if ranking is not None:
        return RankedPairs(ranking)
    if ndcg is not None:
        return Rankings(ndcg)
    if pairs is not None:
        return _Pairs(pairs, pool)
    if table is not None and bound is not None:
        return _Counts(table, bound, smoothable.smoothed)
    mean = risk.separable()
    return smoothable.smoothed if mean is None else _of_mean(mean)


def _of_mean(risk: MeanRisk) -> Evaluate:
    """Return the smoothed mean of a loss, with compiled dual steps."""

    def evaluate(scores: Array, mu: float) -> Smoothed:
        if mu == 0.0:
            return risk.smoothed(scores, mu)
        return risk.smoothed(scores, mu, dual_steps(risk.loss, risk.labels, np.zeros_like(scores), scores, mu))

    return evaluate


class _Pairs:
    """ROC AUC: sorted by NumPy, summed by compiled loops; each of two threads handles one class."""

    def __init__(self, risk: RocAUC, pool: ThreadPoolExecutor | None) -> None:
        self.risk, self.map = risk, map if pool is None else pool.map
        self.classes = risk.positives, risk.negatives
        self.in_class = [risk.in_class[own] for own in self.classes]
        #: the common weight of a class if its weights are equal, else None
        self.common = [own[:1] if np.all(own == own[0]) else None for own in self.in_class]

    def __call__(self, scores: Array, mu: float) -> Smoothed:
        largest = float(np.max(np.abs(scores)))
        if not mu > _SMALLEST_MU * (1.0 + largest):
            return self.risk.smoothed(scores, mu)
        theta = np.empty(len(scores))

        def ordered(k: int) -> tuple[Array, Array, Array]:
            """Return the sorted scores of a class (minus the margin), their positions and their weights."""
            own, common = self.classes[k], self.common[k]
            values = scores[own] - (1.0 if k == 0 else 0.0)
            order = np.argsort(values)
            return values[order], own[order], self.in_class[k][order] if common is None else common

        (low, at_low, a), (high, at_high, b) = self.map(ordered, range(2))

        def paired(k: int) -> Any:
            """Write theta of a class; return R_mu, R and the excess for the positives."""
            loop, places = (pairs_of_positives, at_low) if k == 0 else (pairs_of_negatives, at_high)
            part = np.empty(len(places))
            found = loop(low, high, a, b, mu, part)
            theta[places] = part
            return found

        (value, risk, excess), _ = self.map(paired, range(2))
        return Smoothed(value, theta, max(0.0, risk), max(0.0, excess))


class _Counts:
    """Measures that are linear in fn with a bound on fp - fn: see ``risks.measures.counted``."""

    def __init__(self, risk: ContingencyRisk, bound: CountBound, smoothed: Evaluate) -> None:
        self.risk, (self.surplus, self.exact), self.smoothed = risk, bound, smoothed
        self.positives = np.flatnonzero(risk.labels > 0.0)
        self.offsets = np.where(risk.labels > 0.0, risk.examples / risk.n_pos, 0.0)
        #: the number of examples that are predicted positive where the bound is active
        self.count = risk.n_pos + self.surplus

    def __call__(self, scores: Array, mu: float) -> Smoothed:
        labels, n = self.risk.labels, self.risk.examples
        gains = self.offsets - scores
        by_gain = np.partition(gains, self.count) if self.count < n else gains
        best = -by_gain[: self.count]
        risk = float(np.sum(gains[self.positives])) + float(np.sum(best if self.exact else np.maximum(best, 0.0)))
        theta, shift = np.empty(n), 0.0
        total, attained, square = 0.0, 0.0, 0.0
        if not self.exact:
            total, attained, square = count_point(gains, labels, mu, 0.0, 1.0 / n, theta)
        if self.exact or total < -self.surplus:
            guess = float(by_gain[min(self.count, n - 1)])
            shift = count_shift(gains, labels, mu, -float(self.surplus), guess)
            total, attained, square = count_point(gains, labels, mu, shift, 1.0 / n, theta)
            if not abs(total + self.surplus) <= _SUM_TOLERANCE * n:
                return self.smoothed(scores, mu)
        return Smoothed((attained - 0.5 * mu * square) / n, theta, risk / n, max(0.0, risk - attained) / n)
