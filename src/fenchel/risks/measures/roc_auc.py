r"""Area under the ROC curve: the mean hinge loss over all pairs of a positive and a negative.

.. math::
    R(s) = \sum_{y_i=1}\sum_{y_j=-1} a_i b_j\,[1 - s_i + s_j]_+, \qquad a_i = b_j = 1/n_\pm \text{ without weights}

(Zhang, Saha and Vishwanathan 2012, eq. 5; the paper has dropped the factor 2 of the original, as the other measures
here do: a pair with equal scores costs 1, and each unit of margin 1.)  With weights
:math:`a_i = c_i/\sum_{y=1} c,\ b_j = c_j/\sum_{y=-1} c`; class weights cancel.  Ties count as swapped.

A dual point is :math:`\theta_i = a_i\sum_j b_j\beta_{ij},\ \theta_j = -b_j\sum_i a_i\beta_{ij}` with
:math:`0\le\beta\le 1`.  Such a :math:`\beta` exists, by the theorem of Gale and Ryser (maximal flow = minimal cut), if
and only if :math:`y\theta\ge 0,\ \sum\theta = 0` and for the positives in order of falling :math:`\theta_i/a_i`

.. math::
    P_k = \sum_{i\le k}\theta_i \;\le\; U(\textstyle\sum_{i\le k} a_i), \qquad
    U(t) = \sum_j \min(-\theta_j, b_j t) \qquad \text{for every } k,

and then :math:`R^*(-\theta) = -\sum_{y_i=1}\theta_i`.  P and U are concave, hence so is their minimum: its differences
are the projection used here, which keeps the sum.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.limits import DOMAIN_TOLERANCE, EPS
from fenchel.numerics.rounding import tree_depth
from fenchel.projections.zero_sum import zero_sum
from fenchel.risks.base import CuttingPlane, Risk
from fenchel.risks.measures.contingency import two_classes
from fenchel.risks.measures.enclosures import EnclosedRocAUC
from fenchel.risks.measures.separation import prefix_sums
from fenchel.risks.protocols import ClosedForm, Smoothable
from fenchel.risks.smoothing import Smoothed

#: range of scores, in units of mu, up to which float64 sums suffice; wider ranges use extended precision
_FLOAT64_RANGE = 1e3
#: whether long double has more digits than float64, so that prefix sums are rounded once
_EXTENDED = np.finfo(np.longdouble).nmant >= 63


class _Pairs(NamedTuple):
    """For each positive the weight of the negatives that are too high for it, and their weighted scores; for each
    negative the weight of the positives that are too low.
    """

    above: Floats
    scores_above: Floats
    below: Floats


class RocAUC(Risk):
    """Area under the ROC curve: the mean hinge over pairs of a positive and a negative.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    OrdinalHinge : More than two ordered labels.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import RocAUC
    >>> risk = RocAUC([1, 1, -1, -1])
    >>> float(risk.value(np.array([9.0, 9.0, -9.0, -9.0]))), float(risk.value(np.zeros(4)))
    (0.0, 1.0)
    """

    name = "roc_auc"
    #: products of two weights must not underflow
    weight_range = 1e120
    is_measure = True
    #: R*(0): minus the infimum of the risk
    conjugate_at_zero = 0.0
    #: R(0): every pair is tied
    value_at_zero = 1.0
    #: D: beta^2/2 of all pairs
    smoothing_range = 0.5

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.labels = two_classes(labels, self.name)
        self.examples = len(self.labels)
        self._weigh(weights)
        self.positives, self.negatives = np.flatnonzero(self.labels > 0), np.flatnonzero(self.labels < 0)
        if not (np.any(self.shares[self.positives]) and np.any(self.shares[self.negatives])):
            raise FenchelError("the measure 'roc_auc' needs both classes, but all examples of one have the weight zero")

    def closed_form(self) -> ClosedForm:
        return self

    def smoothable(self) -> Smoothable:
        return self

    def enclosure(self) -> EnclosedRocAUC:
        return EnclosedRocAUC(self.labels, np.ones(self.examples) if self._weights is None else self._weights)

    def roc_auc(self) -> RocAUC:
        return self

    def label_sizes(self) -> Floats:
        return np.abs(self.labels)

    @cached_property
    def in_class(self) -> Floats:
        """a and b: the weight of each example divided by that of its class."""
        found = np.empty(self.examples)
        for own in (self.positives, self.negatives):
            found[own] = 1.0 / len(own) if self._weights is None else self.shares[own] / exact_sum(self.shares[own])
        return found

    def value(self, scores: Array) -> float:
        """R(s)."""
        return self._risk(scores, self._pairs(scores))

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s; pairs at the kink count as wrong."""
        return self._subgradient(self._pairs(scores))

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The cutting plane of the pairs that are wrong at s: subgradient, offset and R(s)."""
        pairs = self._pairs(scores)
        subgradient = self._subgradient(pairs)
        return subgradient, -float(np.sum(subgradient[self.positives])), self._risk(scores, pairs)

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta): infinite outside the domain (beyond rounding); ``feasible``: theta came from ``project``."""
        theta = np.asarray(theta, dtype=np.float64)
        if not feasible:
            within = np.clip(self.labels * theta, 0.0, self.in_class)
            outside = np.max(np.abs(self.labels * theta - within) - DOMAIN_TOLERANCE * self.in_class)
            if outside > 0.0 or abs(exact_sum(theta)) > DOMAIN_TOLERANCE:
                return np.inf
            _, sums, caps = self._cuts(theta)
            if np.any(sums > caps + DOMAIN_TOLERANCE):
                return np.inf
        return -float(np.sum(theta[self.positives], dtype=np.longdouble))

    def project(self, theta: Array) -> Floats:
        """A dual point in the domain of the conjugate, near theta; a point inside changes in at most one entry."""
        sizes = np.clip(self.labels * np.asarray(theta, dtype=np.float64), 0.0, self.in_class)
        theta = zero_sum(self.labels * sizes)[0]
        order, sums, caps = self._cuts(theta)
        over = sums > caps + 4.0 * EPS * sums
        if not np.any(over):
            return theta
        # the differences of min(P, U), wherever one of the two ends changed
        moved = over | np.concatenate([[False], over[:-1]])
        entries = np.diff(np.where(over, caps, sums), prepend=0.0)
        theta = theta.copy()
        theta[order[moved]] = np.maximum(entries[moved], 0.0)
        return zero_sum(theta)[0]

    @property
    def dual_roundings(self) -> float:
        """Those of a and b, of P and U with the tolerance above, and of their differences.

        A violation of P_k <= U by delta is mended by moving a mass of delta in each class.
        """
        return 64.0 + tree_depth(self.examples) + (0.0 if _EXTENDED else 4.0 * self.examples)

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        r"""R smoothed with mu > 0: Alg. 4 of the paper with two searches and prefix sums.

        :math:`\beta_{ij} = \mathrm{clip}(z_{ij}/\mu, 0, 1)` with :math:`z_{ij} = 1 - s_i + s_j`: for each positive the
        negatives up to :math:`s_i - 1` are right, those beyond :math:`s_i - 1 + \mu` wrong, the others in between.
        (Line 7 of the algorithm counts one wrong pair too few.)
        """
        top, bottom = float(np.max(scores)), float(np.min(scores))
        # centred scores reduce the cancellation of squares, which is small if mu is comparable to their range
        scores = scores - 0.5 * (top + bottom)
        precision = np.float64 if top - bottom + 1.0 < _FLOAT64_RANGE * mu else np.longdouble
        (low, order_low, a), (high, order_high, b) = self._sorted(scores)
        # 1. the positives: right up to first, wrong from last on, and sums of z and z^2 between
        weight, linear, square = _moments(b, high, 2, precision)
        first, last = np.searchsorted(high, low), np.searchsorted(high, low + mu, side="right")
        inside, wrong, between = weight[last] - weight[first], weight[-1] - weight[last], linear[last] - linear[first]
        sums = np.clip(between - low * inside, 0.0, mu * inside)
        squares = np.clip(square[last] - square[first] - low * (2.0 * between - low * inside), 0.0, mu * sums)
        losses = linear[-1] - linear[last] - low * wrong
        theta = np.empty(self.examples)
        theta[self.positives[order_low]] = a * (wrong + sums / mu)
        risk, excess = float(a @ (losses + sums)), float(a @ (sums - squares / mu))
        value = float(a @ (losses - 0.5 * mu * wrong + squares / (2.0 * mu)))
        # 2. the negatives: s_j >= s_i - 1 for as many i as have first <= j, s_j > s_i - 1 + mu where last <= j
        weight, linear = _moments(a, low, 1, precision)
        first, last = (np.cumsum(np.bincount(at, minlength=len(high)))[: len(high)] for at in (last, first))
        inside = weight[last] - weight[first]
        sums = np.clip(high * inside - (linear[last] - linear[first]), 0.0, mu * inside)
        theta[self.negatives[order_high]] = -b * (weight[first] + sums / mu)
        return Smoothed(value, theta, max(0.0, risk), max(0.0, excess))

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 2.0

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        return np.abs(self._subgradient(self._pairs(scores - self.labels * radius)))

    def _sorted(self, scores: Array) -> list[tuple[Array, Array, Floats]]:
        """Of the positives, s - 1, and of the negatives, s: in order, with the order and the weights."""
        found = []
        for own, margin in ((self.positives, 1.0), (self.negatives, 0.0)):
            values = scores[own] - margin
            order = np.argsort(values)
            found.append((values[order], order, self.in_class[own[order]]))
        return found

    def _pairs(self, scores: Array) -> _Pairs:
        """Sort each class once and count from both sides; both compare the same two floats, s_i - 1 and s_j."""
        (low, order_low, a), (high, order_high, b) = self._sorted(scores)
        first = np.searchsorted(high, low, side="left")
        last = np.searchsorted(low, high, side="right")
        above, scores_above, below = np.empty(len(low)), np.empty(len(low)), np.empty(len(high))
        if self._weights is None:
            # counts are exact
            above[order_low] = (len(high) - first) / len(high)
            below[order_high] = last / len(low)
        else:
            above[order_low] = prefix_sums(b[::-1])[len(high) - first]
            below[order_high] = prefix_sums(a)[last]
        scores_above[order_low] = prefix_sums((b * high)[::-1])[len(high) - first]
        return _Pairs(above, scores_above, below)

    def _risk(self, scores: Array, pairs: _Pairs) -> float:
        # sum over j of b_j (1 - s_i + s_j) for each i
        losses = (1.0 - scores[self.positives]) * pairs.above + pairs.scores_above
        return max(0.0, float(self.in_class[self.positives] @ losses))

    def _subgradient(self, pairs: _Pairs) -> Floats:
        subgradient = np.empty(self.examples)
        subgradient[self.positives] = -self.in_class[self.positives] * pairs.above
        subgradient[self.negatives] = self.in_class[self.negatives] * pairs.below
        return subgradient

    def _cuts(self, theta: Array) -> tuple[Array, Array, Array]:
        """The positives in order of falling theta_i / a_i, with P_k and U at each of them."""
        counted = self.in_class > 0.0
        positives, negatives = self.positives[counted[self.positives]], self.negatives[counted[self.negatives]]
        order = positives[np.argsort(-theta[positives] / self.in_class[positives], kind="stable")]
        sums = prefix_sums(theta[order])[1:]
        reached = prefix_sums(self.in_class[order])[1:]
        filled = -theta[negatives] / self.in_class[negatives]
        by_filled = np.argsort(filled, kind="stable")
        weights = self.in_class[negatives[by_filled]]
        full = np.searchsorted(filled[by_filled], reached, side="right")
        # min(-theta_j, b_j t): all of theta_j where -theta_j / b_j < t
        given = prefix_sums(-theta[negatives[by_filled]])[full]
        rest = prefix_sums(weights[::-1])[len(weights) - full]
        return order, sums, given + reached * rest


def _moments(weights: Array, values: Array, highest: int, precision: Any) -> list[Array]:
    """Prefix sums of w v^k for k = 0, ..., highest."""
    found, terms = [], weights
    for power in range(highest + 1):
        sums = np.zeros(len(values) + 1, dtype=precision)
        np.cumsum(terms, out=sums[1:])
        found.append(sums)
        if power < highest:
            terms = terms * values.astype(precision, copy=False)
    return found
