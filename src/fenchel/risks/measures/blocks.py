r"""The most violated labelling of any measure by branch and bound: no table of its values is kept.

.. math:: R(s) = \max_{fn, fp}\; \Delta(fn, fp) + A_{fn} + B_{fp}

The cells (fn, fp) are divided into square blocks.  The largest :math:`\Delta` of each block is found once, which
evaluates every cell; the largest A of its rows and B of its columns then bound its cells for any scores.  Blocks are
searched in the order of their bounds until no bound is above the best cell.  Sums are rounded monotonically, so the
bound of a block is not below the computed height of any of its cells: the search is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.risks.measures.separation import Cells, Ranked
from fenchel.stopping import stop_point

#: rows and columns of a block: 0.5 MB of cells
SIDE = 256


class Cell(NamedTuple):
    """A cell and its Delta."""

    fn: int
    fp: int
    delta: float


class Blocks:
    """Largest values of Delta in each block of cells, and the allowed cells of extreme surplus."""

    def __init__(self, delta: Callable[[Array, Array], Floats], n_pos: int, n_neg: int, side: int = SIDE) -> None:
        self._delta, self._side = delta, side
        self._rows, self._columns = np.arange(n_pos + 1), np.arange(n_neg + 1)
        self._row_starts, self._column_starts = np.arange(0, n_pos + 1, side), np.arange(0, n_neg + 1, side)
        self._largest = np.empty((len(self._row_starts), len(self._column_starts)))
        #: the allowed cells of the smallest and of the largest surplus, with the largest Delta there
        self.extremes: list[Cell] = []
        for at, begin in enumerate(self._row_starts.tolist()):
            best = np.full(n_neg + 1, -np.inf)
            for fn in range(begin, min(begin + side, n_pos + 1)):
                stop_point()
                values = delta(np.full(n_neg + 1, fn), self._columns)
                best = np.maximum(best, values)
                self._widen(fn, values)
            self._largest[at] = np.maximum.reduceat(best, self._column_starts)

    def _widen(self, fn: int, values: Floats) -> None:
        """Compare the first and the last allowed cell of a row with the extremes so far."""
        allowed = np.flatnonzero(np.isfinite(values))
        if not len(allowed):
            return
        ends = [Cell(fn, int(fp), float(values[fp])) for fp in (allowed[0], allowed[-1])]
        if not self.extremes:
            self.extremes = ends
        low, high = self.extremes
        self.extremes = [
            max(low, ends[0], key=lambda one: (one.fn - one.fp, one.delta)),
            max(high, ends[1], key=lambda one: (one.fp - one.fn, one.delta)),
        ]

    def best_cells(self, order: Ranked) -> Cells:
        """A best cell, that without errors, for which p = 0, and the extremes."""
        rows, columns = (
            np.maximum.reduceat(*one) for one in ((order.A, self._row_starts), (order.B, self._column_starts))
        )
        bounds = (self._largest + rows[:, None] + columns).ravel()
        best, cell, value = 0.0, (0, 0), 0.0
        for block in np.argsort(-bounds):
            if bounds[block] <= best:
                break
            stop_point()
            row, column = divmod(int(block), len(self._column_starts))
            fn = self._rows[row * self._side : (row + 1) * self._side, None]
            fp = self._columns[None, column * self._side : (column + 1) * self._side]
            values = self._delta(*np.broadcast_arrays(fn, fp))
            heights = values + order.A[fn] + order.B[fp]
            top = np.unravel_index(int(np.argmax(heights)), heights.shape)
            if heights[top] > best:
                best, value = float(heights[top]), float(values[top])
                cell = int(fn[top[0], 0]), int(fp[0, top[1]])
        found = [Cell(*cell, value), Cell(0, 0, 0.0), *self.extremes]
        counts, delta = np.array([one[:2] for one in found]).T, np.array([one.delta for one in found])
        return Cells(counts[1] - counts[0], delta + order.A[counts[0]] + order.B[counts[1]], counts[0], delta)
