r"""The intercept b that minimizes the bound of a measure: :math:`\max_p h(p) + b\,p/n` over the surplus p.

All h(p) are known for measures that are linear on diagonals.  Other measures find a best cell for given scores only,
and so for a given b, with the scores shifted: cells that are found at the ends of the interval of minimizers so far are
added until there are no better ones.  Each adds a line to the maximum or ends the search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel.risks.measures.separation import Cells, Ranked

#: shifts that are tried at most; rounding may make the same cell better and better
_MAX_SHIFTS = 200


def best_shift(cells: Cells, examples: int) -> float:
    """The b that minimizes max_p h(p) + b p / n: the middle where that is an interval, or its only end."""
    return _middle(*best_shifts(cells, examples))


def searched_shift(cells_at: Callable[[Ranked], Cells], order: Ranked, examples: int) -> float:
    """The same where ``cells_at`` finds some cells, of which one is best for the scores, and one has p = 0."""
    cells = cells_at(order)
    low = high = 0.0
    for _ in range(_MAX_SHIFTS):
        low, high = best_shifts(cells, examples)
        better = []
        for shift in {low, high} - {-np.inf, np.inf}:
            found = cells_at(shifted(order, shift, examples)).only_best()
            # the height without the shift
            at = found.fn, found.fn + found.surplus
            found = found._replace(height=found.delta + order.A[at[0]] + order.B[at[1]])
            known = float(np.max(cells.height + shift * cells.surplus / examples))
            if float(found.height[0] + shift * found.surplus[0] / examples) > known:
                better.append(found)
        if not better:
            break
        cells = Cells(*(np.concatenate(parts) for parts in zip(cells, *better, strict=True)))
    return _middle(low, high)


def shifted(order: Ranked, shift: float, examples: int) -> Ranked:
    """The order of scores that are all larger by a shift."""
    fn, fp = (np.arange(len(sums)) * (shift / examples) for sums in (order.A, order.B))
    return Ranked(order.positives + shift, order.negatives + shift, order.A - fn, order.B + fp)


def best_shifts(cells: Cells, examples: int) -> tuple[float, float]:
    """The ends of the interval of minimizers b of max_p h(p) + b p / n; infinite where it has no end."""
    reached = np.isfinite(cells.height)
    p, h = cells.surplus[reached].astype(np.float64), cells.height[reached]
    level = float(np.max(h[p == 0.0]))
    # h(p) + b p / n <= h(0) for all p
    slopes = examples * (level - h[p != 0.0]) / p[p != 0.0]
    above, below = slopes[p[p != 0.0] > 0.0], slopes[p[p != 0.0] < 0.0]
    low, high = float(np.max(below, initial=-np.inf)), float(np.min(above, initial=np.inf))
    if low <= high:
        return low, high
    # otherwise the bridge over p = 0 of the upper hull: each round replaces one of its ends by a point above it
    left, right = int(np.argmax(np.where(p < 0.0, h, -np.inf))), int(np.argmax(np.where(p > 0.0, h, -np.inf)))
    shift, lowest = 0.0, -np.inf
    while True:
        crossing = float(examples * (h[left] - h[right]) / (p[right] - p[left]))
        known = h[left] + crossing * p[left] / examples
        if not known > lowest:
            return shift, shift
        shift, lowest = crossing, known
        heights = h + shift * p / examples
        top = int(np.argmax(heights))
        if not heights[top] > known or p[top] == 0.0:
            return shift, shift
        left, right = (top, right) if p[top] < 0.0 else (left, top)


def _middle(low: float, high: float) -> float:
    """The middle of an interval, its only finite end, or zero."""
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    return low if np.isfinite(low) else high if np.isfinite(high) else 0.0
