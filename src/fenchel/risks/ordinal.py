r"""Ordinal hinge: the mean hinge over all pairs of examples with different labels.

.. math::
    R(s) = \frac1M\sum_{y_i<y_j} c_i c_j\,[1 - s_j + s_i]_+, \qquad M = \sum_{y_i<y_j} c_i c_j

One of the piecewise linear risks that Saha, Zhang and Vishwanathan (2009, Sec. 1) name without a formula, in the form
of Joachims (2006) and of Teo et al. (2010): a pair costs 1 at equal scores, and with two labels this is the ROC area.
Only the order of the labels counts.  Pairs at the kink count as wrong.

A pair is wrong if :math:`s_j - 1 \le s_i`.  Each example has two keys, :math:`s - 1` as the upper one of a pair and
:math:`s` as the lower one; one sort of all keys shows for every pair which of its two comes first.  Two labels differ
first in one bit of their numbers: with the examples grouped by the bits above it, in the order of their keys, running
sums count all wrong pairs of that bit.  With k labels that is :math:`O(n\log n + n\log k)`.

The dual points are the net flows :math:`\theta_i = \sum_{y_j<y_i}\beta_{ji} - \sum_{y_j>y_i}\beta_{ij}` with
:math:`0\le\beta_{ij}\le c_i c_j/M`, and :math:`-R^*(-\theta)` is the largest total flow with these net flows: no closed
form, so the cutting planes of a solver bound it, and the certificate says that the bound was taken on trust.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import EPS
from fenchel.risks.base import CuttingPlane, Risk, Smoothable
from fenchel.risks.smoothing import Smoothed
from fenchel.stopping import stop_point

#: pairs listed explicitly at most, or 8 n if that is more
_LISTED_PAIRS = 1 << 16
#: spacing of extended precision at 1
_EXTENDED_EPS = float(np.finfo(np.longdouble).eps)


class _Wrong(NamedTuple):
    """For each example the weight of those with higher labels that are too low for it, and of those with lower labels
    that are too high.
    """

    above: Floats
    below: Floats


class _Pairs(NamedTuple):
    """The example with the lower label and that with the higher one of each pair."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


class OrdinalHinge(Risk):
    r"""Ordinal hinge: the mean hinge over all pairs of examples with different labels.

    .. math:: R(s) = \frac1M\sum_{y_i<y_j} c_i c_j\,[1 - s_j + s_i]_+, \qquad M = \sum_{y_i<y_j} c_i c_j

    It does not depend on an intercept, and its conjugate has no closed form: the certificate takes a bound on trust.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Finite numbers, of which only the order counts.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    RocAUC : Two labels.
    fenchel.OrdinalClassifier : The estimator.

    References
    ----------
    .. [1] T. Joachims. "Training linear SVMs in linear time." KDD, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import OrdinalHinge
    >>> round(float(OrdinalHinge([1, 2, 3]).value(np.array([0.0, 0.0, 2.0]))), 4)
    0.3333
    """

    name = "ordinal_hinge"
    #: R*(0): minus the infimum of the risk
    conjugate_at_zero = 0.0
    #: R(0): every pair is tied
    value_at_zero = 1.0
    #: D: beta^2/2 of all pairs
    smoothing_range = 0.5

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        found = np.asarray(labels)
        if found.ndim != 1 or not found.size or found.dtype.kind not in "biuf" or not np.all(np.isfinite(found)):
            raise FenchelError("labels must be (n,) finite numbers, not empty; encode ordered classes as 0, 1, 2, ...")
        self.levels, codes = np.unique(found, return_inverse=True)
        # short integers are sorted in linear time
        self._codes = codes.astype(np.uint16 if len(self.levels) <= 1 << 16 else np.int64)
        self.examples = len(found)
        self._weigh(weights)
        if len(np.unique(self._codes[self.shares > 0.0])) < 2:
            raise FenchelError(f"the risk {self.name!r} needs two different labels with positive weight")

    def smoothable(self) -> Smoothable:
        return self

    def ordinal(self) -> OrdinalHinge:
        return self

    def value(self, scores: Array) -> float:
        """R(s)."""
        return self.cutting_plane(scores)[2]

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s; pairs at the kink count as wrong."""
        return self.cutting_plane(scores)[0]

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The cutting plane of the pairs that are wrong at s: subgradient, offset and R(s)."""
        scores = np.asarray(scores, dtype=np.float64)
        above, below = self._wrong(scores, scores)
        subgradient = self._amounts * (above - below) / self._pairs
        offset = float(self._amounts @ above) / self._pairs
        # subgradients sum to zero: centred scores reduce cancellation
        middle = 0.5 * float(np.max(scores)) + 0.5 * float(np.min(scores))
        return subgradient, offset, max(0.0, offset + float(subgradient @ (scores - middle)))

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 2.0

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        above, below = self._wrong(scores + radius, scores - radius)
        return self._amounts * np.maximum(above, below) / self._pairs

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        r"""R smoothed with mu > 0, by two counts of wrong pairs: one of the margin 1, one of the margin 1 - mu.

        The flow of a pair is :math:`\beta = ([x]_+ - [x - \mu]_+)/\mu` of :math:`x = 1 - s_j + s_i`, in units of its
        upper bound, so that running sums of 1, s and s^2 make :math:`\sum\beta` and :math:`R_\mu =
        \sum ([x]_+^2 - [x - \mu]_+^2)/(2\mu)`.  The conjugate is bounded by these flows.

        The net flows and their sum must be consistent, and differences of running sums divided by a small mu round
        differently in each: for small mu the pairs with 0 < x < mu are listed explicitly.
        """
        amounts = self._amounts
        # centred scores reduce the cancellation of squares
        scores = scores - 0.5 * float(np.max(scores)) - 0.5 * float(np.min(scores))
        s = scores.astype(np.longdouble)
        parts = []
        for margin in (np.longdouble(1.0), np.longdouble(1.0) - mu):
            above, below = self._sums(scores, scores, float(margin), np.stack([amounts, amounts * s, amounts * s * s]))
            gap = margin + s
            low = gap * above[0] - above[1]
            high = (margin - s) * below[0] + below[1]
            squares = gap * (low - above[1]) + above[2]
            parts.append((low, high, squares))
        down, up, falls = (one - other for one, other in zip(*parts, strict=True))
        theta = amounts * (np.maximum(up, 0.0) - np.maximum(down, 0.0)) / mu
        risk, flow = amounts @ parts[0][0], amounts @ down / mu
        small = _EXTENDED_EPS * (1.0 + float(np.max(np.abs(scores)))) > EPS * mu
        band = self._between(scores, 1.0, float(margin)) if small else None
        if band is not None:
            # the last sums are over the pairs whose flow is at its upper bound
            flows = np.clip((1.0 - s[band.upper] + s[band.lower]) / mu, 0.0, 1.0)
            flows *= amounts[band.lower] * amounts[band.upper]
            theta = amounts * (below[0] - above[0])
            np.add.at(theta, band.upper, flows)
            np.subtract.at(theta, band.lower, flows)
            flow = amounts @ above[0] + np.sum(flows)
        numbers = (0.5 * (amounts @ falls) / mu, risk, max(0.0, risk - flow + theta @ s))
        value, risk, excess = (float(number / self._pairs) for number in numbers)
        return Smoothed(value, (theta / self._pairs).astype(np.float64), risk, excess)

    def _between(self, scores: Array, wide: float, narrow: float) -> _Pairs | None:
        """The pairs that are wrong with the wider margin alone; None if there are too many."""
        order = np.argsort(scores)
        # 1. with the keys of ``_sums``, so that a pair is in those sums or here
        end, begin = (np.searchsorted(scores[order] - margin, scores, side="right") for margin in (wide, narrow))
        counts = end - begin
        total = int(np.sum(counts))
        if total > max(_LISTED_PAIRS, 8 * self.examples):
            return None
        # 2. for each lower one the places of the upper ones in that order
        lower = np.repeat(np.arange(self.examples), counts)
        places = np.arange(total) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
        upper = order[places]
        differ = self._codes[lower] < self._codes[upper]
        return _Pairs(lower[differ], upper[differ])

    @cached_property
    def in_pairs(self) -> Floats:
        """The share of all pairs that each example is in; they add up to two."""
        zero = np.zeros(self.examples)
        above, below = self._wrong(zero, zero)
        return self._amounts * (above + below) / self._pairs

    @cached_property
    def _amounts(self) -> Floats:
        """The weights up to a factor: one without weights, so that sums are exact."""
        return np.ones(self.examples) if self._weights is None else self.shares

    @cached_property
    def _pairs(self) -> float:
        """M, for these amounts."""
        # class by class, so that small classes keep their digits
        sizes = np.bincount(self._codes)
        by_class = self._amounts[np.argsort(self._codes, kind="stable")].astype(np.longdouble)
        sums = np.add.reduceat(by_class, np.cumsum(sizes) - sizes)
        return float(np.sum(sums[1:] * np.cumsum(sums)[:-1]))

    def _wrong(self, lower: Array, upper: Array) -> _Wrong:
        """The wrong pairs, with scores for the lower one of a pair and others for the upper one."""
        # integer counts are exact in float64
        found = self._sums(lower, upper, 1.0, self._amounts[None], extended=self._weights is not None)
        return _Wrong(*(np.maximum(side[0], 0.0).astype(np.float64, copy=False) for side in found))

    def _sums(self, lower: Array, upper: Array, margin: float, values: Array, *, extended: bool = True) -> _Wrong:
        """Sums of the rows of values over the other ones of the pairs of each example with upper - margin <= lower."""
        count = self.examples
        # 1. all keys in order, the upper one first where they are equal: a stable sort merges two sorted runs
        by_upper = np.argsort(upper)
        by_lower = by_upper if lower is upper else np.argsort(lower)
        merged = np.argsort(np.concatenate([upper[by_upper] - margin, lower[by_lower]]), kind="stable")
        order, is_lower = np.concatenate([by_upper, by_lower])[merged], merged >= count
        codes = self._codes[order]
        precision = np.longdouble if extended else np.float64
        above, below = np.zeros((2, len(values), count), dtype=precision)
        for bit in range(int(self._codes.max()).bit_length()):
            stop_point()
            # 2. an example is on one side of all its pairs that differ first in this bit; groups keep the order of keys
            chosen = np.flatnonzero(is_lower == ((codes >> bit) & 1 == 0))
            groups = codes[chosen] >> (bit + 1)
            chosen = chosen[np.argsort(groups, kind="stable")]
            sizes = np.bincount(groups)
            # 3. upper ones before each lower one, lower ones after each upper one
            at, low = order[chosen], is_lower[chosen]
            for row, value in enumerate(values):
                stop_point()
                before = _running(np.where(low, 0.0, value[at]), sizes, precision)
                after = _running(np.where(low, value[at], 0.0)[::-1], sizes[::-1], precision)[::-1]
                above[row, at[low]] += before[low]
                below[row, at[~low]] += after[~low]
        return _Wrong(above, below)


def _running(values: Array, sizes: Array, precision: Any) -> Array:
    """Running sums within groups of these sizes that follow each other."""
    sums = np.zeros(len(values) + 1, dtype=precision)
    np.cumsum(values, dtype=precision, out=sums[1:])
    starts = np.cumsum(sizes) - sizes
    return sums[1:] - np.repeat(sums[starts], sizes)
