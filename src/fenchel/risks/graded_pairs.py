r"""The hinge of all pairs of rows with different grades, by running sums over the bits of the grades.

.. math::
    R(s) = \sum_{y_i<y_j} \frac{c_i c_j}{M}\,[1 - s_j + s_i]_+

over the pairs of all rows (``OrdinalHinge``), or over those within a query, each query with an M of its own
(``PairwiseHinge``).  A pair costs 1 at equal scores.  Only the order of the labels counts.  Pairs at the kink count as
wrong.

A pair is wrong if :math:`s_j - 1 \le s_i`; running sums count all wrong pairs in :math:`O(n\log n + n\log k)` for k
labels (``ordinal_sums``).

The dual points are the net flows :math:`\theta_i = \sum_{y_j<y_i}\beta_{ji} - \sum_{y_j>y_i}\beta_{ij}` with
:math:`0\le\beta_{ij}\le c_i c_j/M`, and :math:`-R^*(-\theta)` is the largest total flow with these net flows: no closed
form, but the flows of each bit have one, and they bound it (``ordinal_flows``).
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.projections.flows import Sides
from fenchel.risks.base import CuttingPlane, Risk
from fenchel.risks.decomposition import Decomposable, DecomposedForm
from fenchel.risks.ordinal_flows import flows_form
from fenchel.risks.ordinal_sums import BitSums, sums_by_bit
from fenchel.risks.protocols import Smoothable
from fenchel.risks.smoothing import Smoothed
from fenchel.stopping import stop_point

#: pairs listed explicitly at most, or 8 n if that is more
LISTED_PAIRS = 1 << 16
#: spacing of extended precision at 1
_EXTENDED_EPS = float(np.finfo(np.longdouble).eps)


class _Wrong(NamedTuple):
    """For each example the weight of those above it that are too low, and of those below it that are too high."""

    above: Floats
    below: Floats


class Pairs(NamedTuple):
    """The example with the lower label and that with the higher one of each pair."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


class GradedPairs(Risk):
    """What the hinges of pairs share: the counts of wrong pairs, the flows of each bit, and the smoothing."""

    #: R*(0): minus the infimum of the risk
    conjugate_at_zero = 0.0
    #: R(0): every pair is tied
    value_at_zero = 1.0
    #: D: beta^2/2 of all pairs
    smoothing_range = 0.5
    #: the number of the grade of each example; with queries, the bits above are the number of the query
    _codes: NDArray[np.integer[Any]]
    #: the bits of the numbers of the grades
    bits: int
    #: whether all amounts are whole numbers, so that sums of them are exact
    _whole: bool

    @property
    @abc.abstractmethod
    def amounts(self) -> Floats:
        """The weights c of the examples, up to a factor."""

    @property
    @abc.abstractmethod
    def pairs(self) -> Any:
        """M for these amounts: a number, or one for each example, that of its query."""

    def _total(self, values: Array) -> Any:
        """The sum over the examples of amounts times values over M."""
        return np.sum(self.amounts * values / self.pairs)

    def _centred(self, scores: Array) -> Floats:
        """Scores less a number that no pair depends on, which reduces cancellation."""
        return scores - 0.5 * float(np.max(scores)) - 0.5 * float(np.min(scores))

    def smoothable(self) -> Smoothable:
        return self

    def decomposable(self) -> Decomposable:
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
        subgradient = self.amounts * (above - below) / self.pairs
        offset = float(self._total(above))
        # subgradients sum to zero: centred scores reduce cancellation
        return subgradient, offset, max(offset + float(subgradient @ self._centred(scores)), 0.0)

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        """The flows of the wrong pairs of each bit, of which minus the subgradient is the sum."""
        rows = np.zeros((self.bits, self.examples))
        scores = np.asarray(scores, dtype=np.float64)
        for part in self._by_bit(scores, scores, 1.0, self.amounts[None], extended=not self._whole):
            rows[part.bit, part.lower] = -self.amounts[part.lower] * np.maximum(part.before[0], 0.0)
            rows[part.bit, part.upper] = self.amounts[part.upper] * np.maximum(part.after[0], 0.0)
        return rows / self.pairs

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        """The weighted mean of flows."""
        total, found = float(np.sum(weights)), np.zeros((self.bits, self.examples))
        for weight, rows in zip(weights, decompositions, strict=True):
            found += (weight / total) * rows
        return found

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> DecomposedForm | None:
        """The bound of the flows of each bit; without them only for two labels."""
        return flows_form(self, theta, decomposition)

    @cached_property
    def sides(self) -> list[Sides]:
        """For each bit the two sides of its pairs, which agree in the bits above."""
        codes = self._codes
        return [
            Sides(self.amounts, (codes >> bit) & 1 == 1, codes >> (bit + 1), self.pairs) for bit in range(self.bits)
        ]

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 2.0

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        above, below = self._wrong(scores + radius, scores - radius)
        return self.amounts * np.maximum(above, below) / self.pairs

    def cancellation_error(self, size: float) -> float:
        """Running sums within a group of labels are differences of sums over all groups, whose roundings they have."""
        if self._whole or self.bits == 1:
            return 0.0
        each = self.bits * (self.examples + 4.0) * _EXTENDED_EPS * float(np.sum(self.amounts))
        # of the offset, and of the two sums of each entry of the subgradient
        return each * float(np.sum(self.amounts / self.pairs)) * (1.0 + 2.0 * size)

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        r"""R smoothed with mu > 0, by two counts of wrong pairs: one of the margin 1, one of the margin 1 - mu.

        The flow of a pair is :math:`\beta = ([x]_+ - [x - \mu]_+)/\mu` of :math:`x = 1 - s_j + s_i`, in units of its
        upper bound, so that running sums of 1, s and s^2 make :math:`\sum\beta` and :math:`R_\mu =
        \sum ([x]_+^2 - [x - \mu]_+^2)/(2\mu)`.  The conjugate is bounded by these flows.

        The net flows and their sum must be consistent, and differences of running sums divided by a small mu round
        differently in each: for small mu the pairs with 0 < x < mu are listed explicitly.
        """
        amounts = self.amounts
        # centred scores reduce the cancellation of squares
        scores = self._centred(scores)
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
        risk, flow = self._total(parts[0][0]), self._total(down) / mu
        band = self._band(scores, mu)
        if band is not None:
            # the last sums are over the pairs whose flow is at its upper bound
            flows = self._band_flows(band, s, mu)
            theta = amounts * (below[0] - above[0])
            np.add.at(theta, band.upper, flows)
            np.subtract.at(theta, band.lower, flows)
            flow = self._total(above[0]) + np.sum(flows / self._of_pairs(band))
        theta = theta / self.pairs
        value, risk, excess = (
            0.5 * float(self._total(falls)) / mu,
            float(risk),
            float(max(risk - flow + theta @ s, 0.0)),
        )
        found = theta.astype(np.float64)
        return Smoothed(value, found, risk, excess, partial(self._smoothed_flows, scores, mu))

    def _smoothed_flows(self, scores: Array, mu: float) -> Floats:
        """The flows of each bit in the smoothed risk of centred scores, as ``decompose``."""
        amounts, s = self.amounts, scores.astype(np.longdouble)
        rows, band = np.zeros((self.bits, self.examples), dtype=np.longdouble), self._band(scores, mu)
        inner = np.longdouble(1.0) - mu
        if band is not None:
            for part in self._by_bit(scores, scores, float(inner), amounts[None]):
                rows[part.bit, part.lower] = -amounts[part.lower] * part.before[0]
                rows[part.bit, part.upper] = amounts[part.upper] * part.after[0]
            flows, bits = self._band_flows(band, s, mu), self._bit_of(band)
            np.add.at(rows, (bits, band.upper), flows)
            np.subtract.at(rows, (bits, band.lower), flows)
            return (rows / self.pairs).astype(np.float64)
        for sign, margin in ((1.0, np.longdouble(1.0)), (-1.0, inner)):
            for part in self._by_bit(scores, scores, float(margin), np.stack([amounts, amounts * s])):
                lower, upper = part.lower, part.upper
                rows[part.bit, lower] -= sign * ((margin + s[lower]) * part.before[0] - part.before[1])
                rows[part.bit, upper] += sign * ((margin - s[upper]) * part.after[0] + part.after[1])
        return (amounts * rows / (mu * self.pairs)).astype(np.float64)

    def _band(self, scores: Array, mu: float) -> Pairs | None:
        """The pairs with 0 < x < mu if differences of running sums would round too much for this mu."""
        small = _EXTENDED_EPS * (1.0 + float(np.max(np.abs(scores)))) > EPS * mu
        return self._between(scores, 1.0, float(np.longdouble(1.0) - mu)) if small else None

    def _band_flows(self, band: Pairs, s: Array, mu: float) -> Array:
        """The flows of listed pairs, times M."""
        flows = np.clip((1.0 - s[band.upper] + s[band.lower]) / mu, 0.0, 1.0)
        return flows * (self.amounts[band.lower] * self.amounts[band.upper])

    def _of_pairs(self, band: Pairs) -> Any:
        """M of the query of each listed pair."""
        return self.pairs if np.ndim(self.pairs) == 0 else self.pairs[band.lower]

    def _bit_of(self, band: Pairs) -> NDArray[np.int64]:
        """The highest bit in which the labels of each pair differ."""
        differ = self._codes[band.lower].astype(np.int64) ^ self._codes[band.upper].astype(np.int64)
        return np.asarray(np.frexp(differ.astype(np.float64))[1] - 1, dtype=np.int64)

    def _between(self, scores: Array, wide: float, narrow: float) -> Pairs | None:
        """The pairs that are wrong with the wider margin alone; None if there are too many."""
        order = np.argsort(scores)
        # 1. with the keys of ``_sums``, so that a pair is in those sums or here
        end, begin = (np.searchsorted(scores[order] - margin, scores, side="right") for margin in (wide, narrow))
        counts = end - begin
        total = int(np.sum(counts))
        if total > max(LISTED_PAIRS, 8 * self.examples):
            return None
        # 2. for each lower one the places of the upper ones in that order
        lower = np.repeat(np.arange(self.examples), counts)
        places = np.arange(total) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
        upper = order[places]
        differ = self._codes[lower] < self._codes[upper]
        return Pairs(lower[differ], upper[differ])

    @cached_property
    def in_pairs(self) -> Floats:
        """The share of all pairs that each example is in; they add up to two."""
        zero = np.zeros(self.examples)
        above, below = self._wrong(zero, zero)
        return self.amounts * (above + below) / self.pairs

    def _wrong(self, lower: Array, upper: Array) -> _Wrong:
        """The wrong pairs, with scores for the lower one of a pair and others for the upper one."""
        # integer counts are exact in float64
        found = self._sums(lower, upper, 1.0, self.amounts[None], extended=not self._whole)
        return _Wrong(*(np.maximum(side[0], 0.0).astype(np.float64, copy=False) for side in found))

    def _sums(self, lower: Array, upper: Array, margin: float, values: Array, *, extended: bool = True) -> _Wrong:
        """Sums of the rows of values over the other ones of the pairs of each example with upper - margin <= lower."""
        above, below = np.zeros((2, len(values), self.examples), dtype=np.longdouble if extended else np.float64)
        for part in self._by_bit(lower, upper, margin, values, extended=extended):
            stop_point()
            for row in range(len(values)):
                above[row, part.lower] += part.before[row]
                below[row, part.upper] += part.after[row]
        return _Wrong(above, below)

    def _by_bit(
        self, lower: Array, upper: Array, margin: float, values: Array, *, extended: bool = True
    ) -> Iterator[BitSums]:
        precision = np.longdouble if extended else np.float64
        return sums_by_bit(self._codes, self.bits, lower, upper, margin, values, precision)
