r"""Smoothing of measures that are linear in fn for each surplus: F-beta and precision at k.

Zhang, Saha and Vishwanathan (2012), Sec. 6, leave measures such as F1 to future work.  :math:`\Delta` is not concave in
(fn, fp), so its labellings have no convex hull in closed form; but :math:`\Delta = base_p + slope_p\,fn` on the
diagonal of each surplus p = fp - fn, and there the labellings are the vertices of a box with one equality.  With the
flips :math:`x_i\in[0, 1]` of positives and :math:`u_j\in[0, 1]` of negatives

.. math::
    \varphi_p(s) = \max_{\sum u - \sum x = p}\; base_p + slope_p\sum_i x_i + \tfrac1n\Bigl(\sum_j u_js_j - \sum_i x_is_i
    - \tfrac\mu2\bigl(\|x\|^2 + \|u\|^2\bigr)\Bigr)

    R_\mu(s) = \max_{q\in\text{simplex}}\; \sum_p q_p\varphi_p(s) - \nu\sum_p q_p\ln(Pq_p)
    = \nu\ln\Bigl(\tfrac1P\sum_p e^{\varphi_p(s)/\nu}\Bigr), \qquad \nu = \frac{\mu}{2\ln P}

for P diagonals: :math:`R_\mu \le R \le R_\mu + \mu D` with D = 1, half from each of the two prox functions, and
:math:`\nabla R_\mu = -\hat\theta`, :math:`\hat\theta_i = \sum_p q_px^{(p)}_i/n`, :math:`\hat\theta_j = -\sum_p
q_pu^{(p)}_j/n`.

With the multiplier :math:`\tau_p` of the equality :math:`x_i = [(n\,slope_p - \tau_p - s_i)/\mu]_0^1` and
:math:`u_j = [(\tau_p + s_j)/\mu]_0^1`.  Sums of such ramps over sorted scores are differences of prefix sums, so all
:math:`\tau_p` are found together by Newton steps in brackets, and :math:`\hat\theta`, a sum of ramps over p, likewise:
:math:`O((n + P)\log n)` in all.  Diagonals with :math:`\varphi_p` below the largest by 45 :math:`\nu` are dropped; the
maxima without smoothing (``separation``) bound them.

On a diagonal a point with :math:`\sum x = k + f`, k an integer, is a mixture of labellings with k and with k + 1 false
negatives, which is the decomposition of :math:`\hat\theta` (``mixtures``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from fenchel.arrays import Array, Floats
from fenchel.risks.measures.contingency import DiagonalRisk
from fenchel.risks.measures.separation import prefix_sums
from fenchel.risks.protocols import Smoothable
from fenchel.risks.smoothing import Smoothed

#: distance of phi_p from the largest, in units of nu, beyond which a diagonal has a weight below 1e-19
_NEGLIGIBLE = 45.0
#: smallest mu relative to the scores: below, ramps are steps in double precision
_SMALLEST_MU = 1e-12
#: cells of width mu that an interval of this length meets, with rounding
_CELLS_OF_RAMP = 3
#: Newton steps and bisections for the multipliers, at most
_MOST_STEPS = 200
#: error of fp - fn that counts as rounding, per example
_COUNT_TOLERANCE = 1e-13


class _Ramps:
    """Sums over sorted numbers t of the ramps [(a - t)/mu] clipped to [0, 1].

    The numbers on a ramp lie in an interval of length mu, and prefix sums of t^2 lose it where t is much larger than
    mu: those here are of distances from the corners of cells of width mu, of which a ramp meets three at most.
    """

    def __init__(self, numbers: Array, mu: float) -> None:
        self.mu, self.sorted = mu, np.sort(numbers)
        cells = np.floor(self.sorted / mu)
        self.corners, away = cells * mu, self.sorted - cells * mu
        self.sums, self.first, self.second = prefix_sums(self.sorted), prefix_sums(away), prefix_sums(away**2)
        #: where the cell of each number ends
        self.ends = np.searchsorted(cells, cells, side="right")

    def _inside(self, a: Floats) -> tuple[Array, Array, Floats, Floats]:
        """How many ramps are 1, how many lie between 0 and 1, and the sums of these and of their squares."""
        full, last = np.searchsorted(self.sorted, a - self.mu, side="right"), len(self.sorted) - 1
        end = np.maximum(full, np.searchsorted(self.sorted, a, side="left"))
        linear, square, begin = np.zeros(a.shape), np.zeros(a.shape), full
        for _ in range(_CELLS_OF_RAMP):
            place = np.minimum(begin, last)
            stop, reach = np.clip(self.ends[place], begin, end), a - self.corners[place]
            count, first = stop - begin, self.first[stop] - self.first[begin]
            linear += reach * count - first
            square += reach * (reach * count - 2.0 * first) + (self.second[stop] - self.second[begin])
            begin = stop
        return full, end - full, linear / self.mu, np.maximum(square, 0.0) / self.mu**2

    def total(self, a: Floats) -> tuple[Floats, Floats]:
        """The sum of the ramps, and its derivative in a."""
        full, inside, linear, _ = self._inside(a)
        return full + linear, inside / self.mu

    def moments(self, a: Floats) -> tuple[Floats, Floats]:
        """The sums of ramp times a - t, and of the squared ramps."""
        full, _, _, square = self._inside(a)
        return (a * full - self.sums[full]) + self.mu * square, full + square


class _Diagonals(NamedTuple):
    """The maximizers on some diagonals: the thresholds of both classes, sum x, and both parts of phi."""

    low: Floats
    high: Floats
    fn: Floats
    linear: Floats
    square: Floats


class SmoothedDiagonalRisk(DiagonalRisk):
    """Base class of the measures that are linear in fn for each surplus, with their smoothing."""

    def smoothable(self) -> Smoothable:
        return self

    @property
    def smoothing_range(self) -> float:
        """D: a half from the flips, and a half from the weights of the diagonals."""
        return 1.0

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        """R smoothed with mu > 0."""
        scores = np.asarray(scores, dtype=np.float64)
        count, n = len(self.diagonals.base), self.examples
        mu = max(mu, _SMALLEST_MU * (1.0 + float(np.max(np.abs(scores)))))
        nu = 0.5 * mu / math.log(count)
        heights = self._cells(self._ranked(scores)).height
        risk = float(np.max(heights))
        kept = np.flatnonzero(heights >= risk - 0.5 * mu - _NEGLIGIBLE * nu)
        positives, negatives = _Ramps(scores[self.positives], mu), _Ramps(-scores[self.negatives], mu)
        found = self._maximizers(kept, positives, negatives)
        phi = found.linear - 0.5 * mu / n * found.square
        total = float(logsumexp(phi / nu))
        weights = np.exp(phi / nu - total)
        weights /= np.sum(weights)
        theta = np.empty(n)
        theta[self.positives] = _mixed_ramps(scores[self.positives], found.low, weights, mu) / n
        theta[self.negatives] = -_mixed_ramps(-scores[self.negatives], found.high, weights, mu) / n
        attained = float(weights @ found.linear)
        surplus = self.diagonals.first + kept
        return Smoothed(
            nu * (total - math.log(count)),
            theta,
            risk,
            max(0.0, risk - attained),
            lambda: _labellings(weights, found.fn, surplus),
        )

    def _maximizers(self, kept: Array, positives: _Ramps, negatives: _Ramps) -> _Diagonals:
        """x and u on the diagonals ``kept``, by the multipliers tau."""
        n, surplus = self.examples, self.diagonals.first + kept
        base, slope = self.diagonals.base[kept], self.diagonals.slope[kept]
        high = _multipliers(n * slope, surplus, positives, negatives, _COUNT_TOLERANCE * n)
        low = n * slope - high
        fn = np.clip(positives.total(low)[0], np.maximum(0, -surplus), np.minimum(self.n_pos, self.n_neg - surplus))
        of_positives, square = positives.moments(low)
        of_negatives, other = negatives.moments(high)
        # the Lagrangian, which a rounding of tau changes in second order only
        linear = base + (of_positives + of_negatives - high * surplus) / n
        return _Diagonals(low, high, fn, linear, square + other)


def _multipliers(bars: Floats, surplus: Array, positives: _Ramps, negatives: _Ramps, tolerance: float) -> Floats:
    """The tau with fp - fn = surplus on each diagonal: a root of a nondecreasing piecewise linear function."""
    mu = positives.mu
    low = np.minimum(negatives.sorted[0], bars - mu - positives.sorted[-1])
    high = np.maximum(negatives.sorted[-1] + mu, bars - positives.sorted[0])
    tau = 0.5 * (low + high)
    for _ in range(_MOST_STEPS):
        flipped, up = negatives.total(tau)
        missed, down = positives.total(bars - tau)
        error, slope = flipped - missed - surplus, up + down
        low, high = np.where(error <= 0.0, tau, low), np.where(error >= 0.0, tau, high)
        far = np.abs(error) > tolerance
        if not np.any(far & (np.nextafter(low, high) < high)):
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = tau - error / slope
        inside = (newton > low) & (newton < high)
        tau = np.where(far, np.where(inside, newton, 0.5 * (low + high)), tau)
    return tau


def _mixed_ramps(numbers: Array, thresholds: Floats, weights: Floats, mu: float) -> Floats:
    """Sum over p of weight_p times the ramp [(threshold_p - t)/mu] clipped to [0, 1], for each number t."""
    order = np.argsort(thresholds)
    ends, mass = thresholds[order], prefix_sums(weights[order])
    moment = prefix_sums(weights[order] * ends)
    begin, full = np.searchsorted(ends, numbers, side="right"), np.searchsorted(ends, numbers + mu, side="left")
    full = np.maximum(begin, full)
    inside = (moment[full] - moment[begin]) - numbers * (mass[full] - mass[begin])
    return np.clip(mass[-1] - mass[full] + inside / mu, 0.0, 1.0)


def _labellings(weights: Floats, fn: Floats, surplus: Array) -> Floats:
    """Rows (weight, fn, fp): labellings with the integers around fn on each diagonal."""
    below = np.floor(fn)
    share = fn - below
    rows = np.concatenate(
        [
            np.column_stack([weights * (1.0 - share), below, below + surplus]),
            np.column_stack([weights * share, below + 1.0, below + 1.0 + surplus]),
        ]
    )
    return np.asarray(rows[rows[:, 0] > 0.0])
