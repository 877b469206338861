r"""A sample of the examples with all sums that Newton's method needs over it, shared among threads.

Whatever ``n_jobs`` is, the rows are cut into the same parts and the parts are added in the same order, so the result
does not depend on it.

==========================  =======================================================================
symbol                      here
==========================  =======================================================================
:math:`c_i` (sum to one)    ``shares``, of the sample
:math:`s_i`                 ``scores``, with the intercept
:math:`\bar\alpha_i`        ``centre`` of the smoothing
:math:`\theta_i = c_i a_i`  ``theta``, the dual point of the smoothed loss at the scores
:math:`c_i h_i`             ``bend``, the curvature of the smoothed loss there
==========================  =======================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.loops.newton import bend_along, half_gram, mean_bend, multiply, pull, slope_along, slopes
from fenchel.problem import Problem

#: a part has at least so many entries, or starting a thread costs more than it saves
_PART_ENTRIES = 1 << 18
_MOST_PARTS = 8


class Sample:
    """Some rows of a problem (one output), and sums over them."""

    def __init__(self, problem: Problem, labels: NDArray, selected: NDArray, pool: ThreadPoolExecutor | None) -> None:
        self.design, self.loss, self.rows = problem.design, problem.risk.loss.kernel(), problem.design.rows()
        self.selected, self.pool = selected, pool
        self.labels = np.ascontiguousarray(labels[selected])
        shares = problem.risk.shares[selected]
        self.shares = shares / np.sum(shares)
        count, (n, self.features) = len(selected), self.design.shape
        self.scores, self.change = np.zeros(count), np.zeros(count)
        self.centre, self.theta, self.bend = np.zeros(count), np.zeros(count), np.zeros(count)
        entries = self.design.stored_entries * count / n
        # each part has its own sum over the features, which must be small beside its rows
        parts = int(max(1, min(_MOST_PARTS, entries // _PART_ENTRIES, entries // (4 * self.features))))
        self.bounds = np.linspace(0, count, parts + 1).astype(int)

    def multiply(self, weights: NDArray, intercept: float, result: NDArray) -> None:
        """X w + b into ``result``."""
        self._each(lambda begin, end: multiply(self.rows, self.selected, weights, result, begin, end))
        result += intercept

    def slopes(self, mu: float) -> tuple[float, float]:
        """Dual point and curvature at the present scores; the gap that smoothing leaves, and the sum of theta."""
        found = self._each(
            lambda begin, end: slopes(
                self.loss, self.labels, self.shares, self.centre, self.scores, mu, self.theta, self.bend, begin, end
            )
        )
        return sum(gap for gap, _ in found), sum(total for _, total in found)

    def mean_bend(self, mu: float, radius: float) -> None:
        """The curvature averaged over scores up to ``radius`` away, instead of the one at the scores."""
        self._each(
            lambda begin, end: mean_bend(
                self.loss, self.labels, self.shares, self.centre, self.scores, mu, radius, self.bend, begin, end
            )
        )

    def slope_along(self, step: float, mu: float) -> tuple[float, float]:
        """First and second derivative of the smoothed risk along ``change``."""
        found = self._each(
            lambda begin, end: slope_along(
                self.loss, self.labels, self.shares, self.centre, self.scores, self.change, step, mu, begin, end
            )
        )
        return sum(first for first, _ in found), sum(second for _, second in found)

    def pull(self) -> NDArray[np.float64]:
        """X^T theta."""

        def part(begin: int, end: int) -> NDArray:
            result = np.zeros(self.features)
            pull(self.rows, self.selected, self.theta, result, begin, end)
            return result

        return sum(self._each(part))

    def bend_along(self, band: NDArray, weights: NDArray, intercept: float) -> tuple[NDArray[np.float64], float]:
        """X^T diag(bend) (X w + b) over the positions in ``band``, and the sum of bend (X w + b)."""
        selected, bend = self.selected[band], self.bend[band]

        def part(begin: int, end: int) -> tuple[NDArray, float]:
            result = np.zeros(self.features)
            return result, bend_along(self.rows, selected, bend, weights, intercept, result, begin, end)

        found = self._each(part, len(band))
        return sum(product for product, _ in found), sum(total for _, total in found)

    def gram(self, band: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """X^T diag(bend) X and X^T bend over the positions in ``band``: BLAS where the design has it."""
        selected, bend = self.selected[band], self.bend[band]
        dense = self.design.gram(selected, bend)
        if dense is not None:
            return dense

        def part(begin: int, end: int) -> tuple[NDArray, NDArray]:
            half, border = np.zeros((self.features, self.features)), np.zeros(self.features)
            half_gram(self.rows, selected, bend, half, border, begin, end)
            return half, border

        found = self._each(part, len(band), parts=1 if self.features > _PART_ENTRIES**0.5 else None)
        half = sum(half for half, _ in found)
        return half + half.T, sum(border for _, border in found)

    def _each(self, work: Callable[[int, int], Any], count: int | None = None, parts: int | None = None) -> list[Any]:
        """The results of all parts in order, computed in threads if there is a pool."""
        bounds = self.bounds
        if count is not None or parts is not None:
            bounds = np.linspace(0, self.bounds[-1] if count is None else count, (parts or len(bounds) - 1) + 1)
            bounds = bounds.astype(int)
        pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        if self.pool is None or len(bounds) == 2:
            return [work(begin, end) for begin, end in pairs]
        return list(self.pool.map(lambda pair: work(*pair), pairs))
