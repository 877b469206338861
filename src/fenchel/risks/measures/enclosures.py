r"""Performance measures with a conjugate in closed form in ball arithmetic, for rigorous certificates.

``EnclosedCounts`` has the measures of ``counted``.  With the gains g of ``counted``, the largest labelling predicts
positive where -g is largest,

.. math:: nR(s) = \sum_{y_i=1}g_i + \max_{|T| = n_+ + p}\sum_{i\in T}-g_i

(or :math:`|T| \le n_+ + p`, of the positive ones).  A sum of the largest k of some numbers moves by at most the sum of
the k largest changes of them.

``EnclosedRocAUC`` has the area under the ROC curve.  R at the centres of the scores is added up by sorting: a positive
counts the negatives above its score less one.  A dual point is proved to satisfy the condition of Gale and Ryser
(``roc_auc``) for every k; a point that misses it by rounding is scaled down first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Floats
from fenchel.numerics.ball_reductions import prefix_sums
from fenchel.numerics.balls import TINY, Ball, as_ball, concatenate, unknown, where, zeros
from fenchel.risks.enclosures import EnclosedDual, with_sum

#: factors by which a dual point of the ROC area is scaled until it is proved to be feasible
_SCALES = (1.0, 1.0 - 1e-14, 1.0 - 1e-12, 1.0 - 1e-10, 1.0 - 1e-8)
#: covers the rounding of a sum of radii
_UPWARDS = 1.0 + 2.0**-20


class EnclosedCounts(NamedTuple):
    """Break-even point and recall at k; ``equality``: exactly n+ + ``surplus`` predicted positives, else at most."""

    labels: Floats
    surplus: int
    equality: bool

    def value(self, scores: Ball) -> Ball:
        positive, n = self.labels > 0.0, len(self.labels)
        count = int(np.sum(positive))
        gains = where(positive, as_ball(float(n)) / float(count), 0.0) - scores
        heights = -gains if self.equality else (-gains).maximum(0.0)
        return (gains[positive].sum() + _largest_sum(heights, count + self.surplus)) / float(n)

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        n, positive = len(self.labels), self.labels > 0.0
        low, high = np.minimum(self.labels, 0.0), np.maximum(self.labels, 0.0)
        x = as_ball(np.clip(float(n) * theta, low, high))
        allowed = bool((x.sum() + float(self.surplus)).nonnegative())
        if balanced or self.equality or not allowed:
            x = with_sum(x.high, low, high, np.ones(n), 0.0 if balanced else -float(self.surplus))
        inside = np.all((x - low).nonnegative() & (high - x).nonnegative())
        if not inside or (balanced and (self.surplus < 0 or (self.equality and self.surplus))):
            return EnclosedDual(zeros((n,)), as_ball(1.0), unknown())
        return EnclosedDual(x, as_ball(1.0) / float(n), -x[positive].sum() / float(np.sum(positive)))


def _largest_sum(values: Ball, count: int) -> Ball:
    """The sum of the ``count`` largest numbers."""
    if count <= 0:
        return zeros(())
    order = np.lexsort((values.low, values.high))[::-1][:count]
    radii = np.sort(values.radius)[::-1][:count]
    return values.centre()[order].sum().widened(_UPWARDS * float(np.sum(radii)))


class EnclosedRocAUC(NamedTuple):
    """The mean hinge of all pairs of a positive and a negative; weights are those of the examples."""

    labels: Floats
    weights: Floats

    def pair_weight(self) -> Ball:
        """The sum of the products of the weights of all pairs."""
        above, below = (as_ball(self.weights[self.labels == sign]).sum() for sign in (1.0, -1.0))
        return above * below

    def value(self, scores: Ball) -> Ball:
        """At the centres; each score moves R by at most its share in its class."""
        centre, radius = scores.centre(), scores.radius
        if not np.all(np.isfinite(radius)):
            return unknown()
        own, other = self.labels > 0.0, self.labels < 0.0
        a, b = self.weights[own], self.weights[other]
        order = np.lexsort((centre.low[other], centre.high[other]))
        high, b = centre[other][order], b[order]
        # from each place on: the weights of the negatives, and their weighted scores
        weight, height = _sums_from(as_ball(b)), _sums_from(high * b)
        threshold = centre[own] - 1.0
        place = _places(high, threshold)
        # a negative on the wrong side of a threshold is within its radius of it
        losses = (height[place] - threshold * weight[place]).widened(threshold.radius * weight[:1].upper() * _UPWARDS)
        moved = [
            float(np.sum(self.weights[side] * radius[side] + TINY) / np.sum(self.weights[side]))
            for side in (own, other)
            if np.any(radius[side])
        ]
        return ((losses * a).sum() / self.pair_weight()).widened(_UPWARDS * sum(moved))

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        sizes = np.where(self.weights > 0.0, np.maximum(self.labels * theta, 0.0), 0.0)
        low, high = np.where(self.labels < 0.0, -np.inf, 0.0), np.where(self.labels > 0.0, np.inf, 0.0)
        for scale in _SCALES:
            found = with_sum(self.labels * (scale * sizes), low, high, (sizes > 0.0).astype(np.float64), 0.0)
            if self._feasible(found):
                return EnclosedDual(found, as_ball(1.0), -found[self.labels > 0.0].sum())
        return EnclosedDual(zeros(theta.shape), as_ball(1.0), unknown())

    def _feasible(self, theta: Ball) -> bool:
        """Whether the signs agree with the labels and P_k <= U(A_k) is proved for every k."""
        if not np.all((theta * self.labels).nonnegative()):
            return False
        counted = self.weights > 0.0
        own, other = counted & (self.labels > 0.0), counted & (self.labels < 0.0)
        a, b = as_ball(self.weights[own]), as_ball(self.weights[other])
        ratio = theta[own] / a
        order = np.lexsort((ratio.low, ratio.high))[::-1]
        positives, a = theta[own][order], a[order]
        # P is the largest sum for its weight only if the ratios fall
        if not np.all((positives[:-1] * a[1:] - positives[1:] * a[:-1]).nonnegative()):
            return False
        # times the sum of the weights of the positives: A_k, and b for the same units
        sums, shares = prefix_sums(positives), prefix_sums(a)
        b = b / (as_ball(self.weights[other]).sum() * as_ball(self.weights[own]).sum())
        negatives = -theta[other]
        ratio = negatives / b
        order = np.lexsort((ratio.low, ratio.high))
        ratio, negatives, b = ratio[order], negatives[order], b[order]
        place = _places(ratio, shares)
        own_sums, rest = _sums_up_to(negatives), _sums_from(b)
        # a negative on the wrong side is within these radii of the other term of the minimum
        spread = float(np.max(ratio.radius, initial=0.0))
        unclear = (shares.radius + spread) * rest[:1].upper() * _UPWARDS
        caps = (own_sums[place] + shares * rest[place]).widened(unclear)
        largest = ratio[-1:].centre().widened(spread)
        # where every negative counts with its own theta, P_k is at most the sum of all positives
        return bool(np.all((caps - sums).nonnegative() | (shares - largest).nonnegative()))


def _places(keys: Ball, at: Ball) -> NDArray[np.int64]:
    """How many of the keys, which rise, have centres below each of these centres."""
    tags = np.concatenate([np.ones(keys.size, dtype=np.int64), np.zeros(at.size, dtype=np.int64)])
    order = np.lexsort((tags, np.concatenate([keys.low, at.low]), np.concatenate([keys.high, at.high])))
    below = np.cumsum(tags[order])
    found = np.empty(keys.size + at.size, dtype=np.int64)
    found[order] = below
    return found[keys.size :]


def _sums_up_to(values: Ball) -> Ball:
    """The sums of the numbers before each place, and of all."""
    return concatenate([zeros((1,)), prefix_sums(values)])


def _sums_from(values: Ball) -> Ball:
    """The sums of the numbers from each place on, and zero."""
    return _sums_up_to(values[::-1])[::-1]
