r"""The most violated labelling of a contingency measure, for every surplus of predicted positives at once.

For labellings with fn false negatives and fp false positives the best ones flip the fn lowest positives and the fp
highest negatives, so with the scores sorted and their prefix sums A, B (both concave)

.. math:: R(s) = \max_{fn, fp}\; \Delta(fn, fp) + A_{fn} + B_{fp}, \qquad
          h(p) = \max_{fn}\; \Delta(fn, fn + p) + A_{fn} + B_{fn + p}

where the surplus p = fp - fn is the number of predicted positives minus that of positives.  :math:`R = \max_p h(p)`,
and an intercept b only adds b p / n to h(p) (Zhang, Saha and Vishwanathan 2012, eq. 3, with half its score term).

Where :math:`\Delta = base_p + slope_p\, fn` on every diagonal p, as for F-beta, the maximand is concave in fn and its
best fn is where the gain of one more false negative changes sign: a bisection for each p.  Where the slopes do not
increase with p, as in all named measures, neither does the best fn: every second diagonal is bounded by
its neighbours, so solving them from coarse to fine costs O(n) in all after sorting.

This is plain NumPy because certificates, which use no compiled loop, evaluate risks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.stopping import stop_point

Counts = NDArray[np.int64]


class Diagonals(NamedTuple):
    """A measure that is linear in fn for each surplus: base + slope fn, for p = first, first + 1, ..."""

    first: int
    base: Floats
    slope: Floats


class Ranked(NamedTuple):
    """Sorted scores: positives ascending, negatives descending, and the prefix sums A and B."""

    positives: Floats
    negatives: Floats
    A: Floats
    B: Floats


class Cells(NamedTuple):
    """The best cell of each surplus p: h(p), its fn and its Delta."""

    surplus: Counts
    height: Floats
    fn: Counts
    delta: Floats

    def best(self) -> int:
        """The index of the largest h; ties go to the largest Delta."""
        ties = np.flatnonzero(self.height == np.max(self.height))
        return int(ties[np.argmax(self.delta[ties])])

    def only_best(self) -> Cells:
        """The cell with the largest h alone."""
        best = [self.best()]
        return Cells(self.surplus[best], self.height[best], self.fn[best], self.delta[best])


def ranked(positives: Array, negatives: Array, examples: int) -> Ranked:
    """Sort the scores of both classes and compute their prefix sums."""
    low = np.sort(np.asarray(positives, dtype=np.float64))
    high = np.sort(np.asarray(negatives, dtype=np.float64))[::-1].copy()
    return Ranked(low, high, -prefix_sums(low, examples), prefix_sums(high, examples))


def zero_ranked(n_pos: int, n_neg: int) -> Ranked:
    """``ranked`` of scores that are all zero, without sorting them."""
    return Ranked(np.zeros(n_pos), np.zeros(n_neg), np.zeros(n_pos + 1), np.zeros(n_neg + 1))


def prefix_sums(values: Floats, count: int = 1) -> Floats:
    """0, v_1, v_1 + v_2, ... over a count; in extended precision where available: only the last bit is rounded."""
    sums = np.zeros(len(values) + 1)
    sums[1:] = np.cumsum(values, dtype=np.longdouble) / count
    return sums


def best_cells(scores: Ranked, measure: Diagonals) -> Cells:
    """The best cell on every diagonal of a measure that is linear in fn there."""
    n_pos, n_neg = len(scores.positives), len(scores.negatives)
    surplus, low, high = _ends_of_diagonals(measure, n_pos, n_neg)
    # one more false negative gains slope - (s_positive - s_negative) / n
    bar = (n_pos + n_neg) * measure.slope
    if np.all(bar[1:] <= bar[:-1]):
        fn = _coarse_to_fine(scores, bar, surplus, low, high)
    else:
        fn = _bisect(scores, bar, surplus, low, high)
    delta = measure.base + measure.slope * fn
    return Cells(surplus, delta + scores.A[fn] + scores.B[fn + surplus], fn, delta)


def best_zero_cells(measure: Diagonals, n_pos: int, n_neg: int) -> Cells:
    """``best_cells`` of scores that are all zero: on every diagonal one of its ends."""
    surplus, low, high = _ends_of_diagonals(measure, n_pos, n_neg)
    fn = np.where(measure.slope >= 0.0, high, low)
    delta = measure.base + measure.slope * fn
    return Cells(surplus, delta, fn, delta)


def _ends_of_diagonals(measure: Diagonals, n_pos: int, n_neg: int) -> tuple[Counts, Counts, Counts]:
    """Every surplus, with the smallest and the largest fn there."""
    surplus = measure.first + np.arange(len(measure.base))
    return surplus, np.maximum(0, -surplus), np.minimum(n_pos, n_neg - surplus)


def _coarse_to_fine(scores: Ranked, bar: Floats, surplus: Counts, low: Counts, high: Counts) -> Counts:
    """The best fn where it does not increase with p: between those of the known neighbours."""
    count = len(surplus)
    step = 1 << count.bit_length()
    # fn[1:count + 1] belongs to the diagonals; fn[0] = n_pos and the zeros behind are the trivial bounds
    fn = np.zeros(step + 1, dtype=np.int64)
    fn[0] = len(scores.positives)
    while step > 1:
        half = step // 2
        here, at = slice(half, count + 1, step), slice(half - 1, count, step)
        found = fn[here]
        before, after = fn[:-1:step][: len(found)], fn[step::step][: len(found)]
        ends = np.maximum(low[at], after), np.minimum(high[at], before)
        fn[here] = _bisect(scores, bar[at], surplus[at], *ends)
        step = half
    return fn[1 : count + 1]


def _bisect(scores: Ranked, bar: Floats, surplus: Counts, low: Counts, high: Counts) -> Counts:
    """The largest fn between low and high whose last false negative still gains; ties go to the larger fn."""
    found = low.copy()
    unsure = np.flatnonzero(high > low)
    low, high, bar, surplus = low[unsure], high[unsure], bar[unsure], surplus[unsure]
    while len(unsure):
        stop_point()
        middle = (low + high + 1) >> 1
        last = middle - 1
        gains = bar - scores.positives[last] + scores.negatives[last + surplus] >= 0.0
        low, high = np.where(gains, middle, low), np.where(gains, high, last)
        left = high > low
        if 4 * np.count_nonzero(left) <= 3 * len(left):
            found[unsure] = low
            unsure, low, high, bar, surplus = unsure[left], low[left], high[left], bar[left], surplus[left]
    return found


def best_cells_of_table(scores: Ranked, table: Floats) -> Cells:
    """The best cell on every diagonal of any table Delta[fn, fp], by enumeration."""
    return best_cells_of_rows(scores, lambda fn, fp: table[fn, fp])


def best_cells_of_rows(scores: Ranked, loss: Callable[[Counts, Counts], Floats]) -> Cells:
    """The best cell on every diagonal of any Delta(fn, fp), by enumeration of its rows or columns."""
    n_pos, n_neg = len(scores.positives), len(scores.negatives)
    count = n_pos + n_neg + 1
    height, delta = np.full(count, -np.inf), np.full(count, -np.inf)
    fn = np.zeros(count, dtype=np.int64)
    along_rows = n_pos <= n_neg
    for line in range(min(n_pos, n_neg) + 1):
        stop_point()
        if along_rows:
            # fn = line, and p = -fn, ..., n_neg - fn
            counts = np.full(n_neg + 1, line)
            values = loss(counts, np.arange(n_neg + 1))
            heights = values + scores.A[line] + scores.B
            place = slice(n_pos - line, n_pos - line + n_neg + 1)
        else:
            # fp = line, and p = fp - n_pos, ..., fp
            counts = np.arange(n_pos, -1, -1)
            values = loss(counts, np.full(n_pos + 1, line))
            heights = values + scores.A[::-1] + scores.B[line]
            place = slice(line, line + n_pos + 1)
        better = (heights > height[place]) | ((heights == height[place]) & (values > delta[place]))
        for known, new in ((height, heights), (delta, values), (fn, counts)):
            known[place] = np.where(better, new, known[place])
    return Cells(np.arange(-n_pos, n_neg + 1), height, fn, delta)
