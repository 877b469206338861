r"""Row maxima of a matrix whose best columns do not decrease from row to row, without most of its entries.

.. math:: j(i) = \arg\max_{l_i \le j \le h_i} M_{ij}, \qquad j(i) \le j(i + 1)

as for matrices with :math:`M_{ij} + M_{i'j'} \ge M_{ij'} + M_{i'j}` for i < i' and j < j' (inverse Monge) wherever all
four are defined, with bounds l and h that do not decrease and the corner :math:`M_{ij'}` as the first that is undefined
(Aggarwal, Klawe, Moran, Shor and Wilber, Algorithmica 2, 1987).  The columns of every second row lie between those of
its neighbours, so that solving the rows from coarse to fine evaluates O(rows + columns) entries for each of the
O(log rows) levels.

Entries with errors up to :math:`\epsilon` give maxima that are too small by at most :math:`2\epsilon` for each level:
if the best column of a row lies beyond that of a neighbour, the inequality makes the neighbour's column as good up to
the error that its own row has already.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Floats
from fenchel.stopping import stop_point

Indices = NDArray[np.int64]


def monotone_columns(entries: Callable[[Indices, Indices], Floats], low: Indices, high: Indices) -> Indices:
    """The first best column between ``low`` and ``high`` of each row, where these do not decrease."""
    count = len(low)
    step = 1 << count.bit_length()
    # best[1:count + 1] belongs to the rows; the first and the last entries are the trivial bounds
    best = np.full(step + 1, high[-1], dtype=np.int64)
    best[0] = low[0]
    while step > 1:
        stop_point()
        half = step // 2
        at = np.arange(half - 1, count, step)
        before, after = best[at + 1 - half], best[np.minimum(at + 1 + half, len(best) - 1)]
        best[at + 1] = _row_maxima(entries, at, np.maximum(low[at], before), np.minimum(high[at], after))
        step = half
    return best[1 : count + 1]


def _row_maxima(entries: Callable[[Indices, Indices], Floats], rows: Indices, low: Indices, high: Indices) -> Indices:
    """The first best column of each row, by all entries between its bounds."""
    widths = high - low + 1
    ends = np.cumsum(widths)
    starts = ends - widths
    columns = np.arange(ends[-1]) + np.repeat(low - starts, widths)
    found = entries(np.repeat(rows, widths), columns)
    is_best = found == np.repeat(np.maximum.reduceat(found, starts), widths)
    return np.minimum.reduceat(np.where(is_best, columns, np.iinfo(np.int64).max), starts)
