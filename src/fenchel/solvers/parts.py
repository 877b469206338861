"""Work over rows in parts that threads share.

Whatever the number of threads is, the rows are cut into the same parts and the parts are added in the same order, so
the result does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.designs.base import Design
from fenchel.loops.newton import half_gram

#: a part has at least so many entries, or starting a thread costs more than it saves
PART_ENTRIES = 1 << 18
_MOST_PARTS = 8


class Parts:
    """Ranges of so many rows, and the pool that works on them, if there is one."""

    def __init__(self, rows: int, features: int, entries: float, pool: ThreadPoolExecutor | None = None) -> None:
        self.rows, self.pool = rows, pool
        # each part has its own sum over the features, which must be small beside its rows
        self.count = int(max(1, min(_MOST_PARTS, entries // PART_ENTRIES, entries // (4 * max(1, features)))))

    def each(self, work: Callable[[int, int], Any], rows: int | None = None, count: int | None = None) -> list[Any]:
        """The results of all parts in order, computed in threads if there is a pool."""
        count = count or self.count
        bounds = np.linspace(0, self.rows if rows is None else rows, count + 1).astype(int)
        pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        if self.pool is None or count == 1:
            return [work(begin, end) for begin, end in pairs]
        return list(self.pool.map(lambda pair: work(*pair), pairs))


def pool_of(n_jobs: int | None) -> ThreadPoolExecutor | None:
    """Threads, if there are to be more than one."""
    return ThreadPoolExecutor(n_jobs) if n_jobs is not None and n_jobs > 1 else None


def weighted_gram(
    design: Design, selected: NDArray, weights: NDArray, parts: Parts
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """X^T diag(weights) X and X^T weights over the selected rows: BLAS where the design has it."""
    dense = design.gram(selected, weights)
    if dense is not None:
        return dense
    features, rows = design.shape[1], design.rows()

    def part(begin: int, end: int) -> tuple[NDArray, NDArray]:
        half, border = np.zeros((features, features)), np.zeros(features)
        half_gram(rows, selected, weights, half, border, begin, end)
        return half, border

    found = parts.each(part, len(selected), 1 if features > PART_ENTRIES**0.5 else None)
    half = sum(half for half, _ in found)
    return half + half.T, sum(border for _, border in found)
