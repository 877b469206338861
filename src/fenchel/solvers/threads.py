"""Sums over rows, divided among threads.

The division of the rows into parts and the order of summation do not depend on the number of threads, and neither does
the result.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.example_sums import half_gram
from fenchel.designs import Design
from fenchel.designs.rows import Rows
from fenchel.problem import Problem

#: fewest entries of a part: smaller parts take less time than starting a thread
PART_ENTRIES = 1 << 18
#: largest number of parts, and so of threads at work
_MOST_PARTS = 8


class Parts:
    """A division of rows into contiguous ranges, and the thread pool that processes them, if there is one."""

    def __init__(self, design: Design, pool: ThreadPoolExecutor | None = None, rows: int | None = None) -> None:
        self.rows, self.pool = design.shape[0] if rows is None else rows, pool
        features, entries = design.shape[1], design.stored_entries * self.rows / max(1, design.shape[0])
        # each part has its own vector of sums, which must be small compared with its rows
        self.count = int(max(1, min(_MOST_PARTS, entries // PART_ENTRIES, entries // (4 * max(1, features)))))

    def each(self, work: Callable[[int, int], Any], rows: int | None = None, count: int | None = None) -> list[Any]:
        """Return the results of ``work(begin, end)`` for all parts in order, computed by the pool if there is one."""
        count, rows = count or self.count, self.rows if rows is None else rows
        if count == 1:
            return [work(0, rows)]
        bounds = np.linspace(0, rows, count + 1).astype(int)
        pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        if self.pool is None:
            return [work(begin, end) for begin, end in pairs]
        return list(self.pool.map(lambda pair: work(*pair), pairs))


class PartedDesign(Design):
    """A design whose products are computed part by part."""

    def __init__(self, design: Design, parts: Parts) -> None:
        self.undivided, self.parts, self.shape = design, parts, design.shape
        #: designs of the parts, by their first row
        self._designs = dict(parts.each(lambda begin, end: (begin, design.part(begin, end))))

    def scores(self, weights: Array) -> Floats:
        return np.concatenate(self.parts.each(lambda begin, end: self._designs[begin].scores(weights)))

    def adjoint(self, theta: Array) -> Floats:
        first, *others = self.parts.each(lambda begin, end: self._designs[begin].adjoint(theta[begin:end]))
        for other in others:
            first += other
        return first

    @property
    def squared_row_norms(self) -> Floats:
        return self.undivided.squared_row_norms

    @property
    def largest_row_norm(self) -> float:
        return self.undivided.largest_row_norm

    @property
    def row_magnitudes(self) -> Floats:
        return self.undivided.row_magnitudes

    @property
    def largest_entry(self) -> float:
        return self.undivided.largest_entry

    @property
    def score_roundings(self) -> int | Floats:
        return self.undivided.score_roundings

    @property
    def adjoint_roundings(self) -> int:
        # blocks of a part begin at other rows than those of the whole, and may have more of them
        return max(design.adjoint_roundings for design in self._designs.values()) + len(self._designs)

    @property
    def mean_square(self) -> float:
        return self.undivided.mean_square

    @property
    def stored_entries(self) -> int:
        return self.undivided.stored_entries

    def part(self, begin: int, end: int) -> Design:
        return self.undivided.part(begin, end)

    def rows(self) -> Rows:
        return self.undivided.rows()

    def gram(self, selected: Array, weights: Array) -> tuple[Floats, Floats] | None:
        return self.undivided.gram(selected, weights)


def in_parts(problem: Problem, n_jobs: int | None) -> tuple[Problem, Parts]:
    """Return the problem, with a design that divides its products among threads if it is large, and the parts."""
    parts = Parts(problem.design, pool_of(n_jobs))
    if parts.count == 1 or problem.design.kernel() is not None or not problem.design.divisible:
        return problem, parts
    return replace(problem, design=PartedDesign(problem.design, parts)), parts


def pool_of(n_jobs: int | None) -> ThreadPoolExecutor | None:
    """Return a thread pool for more than one thread, else None."""
    return ThreadPoolExecutor(n_jobs) if n_jobs is not None and n_jobs > 1 else None


def weighted_gram(design: Design, selected: Array, weights: Array, parts: Parts) -> tuple[Floats, Floats]:
    """Return X^T diag(weights) X and X^T weights over the selected rows, by BLAS for dense designs."""
    dense = design.gram(selected, weights)
    if dense is not None:
        return dense
    features, rows = design.shape[1], design.rows()

    def part(begin: int, end: int) -> tuple[Array, Array]:
        half, border = np.zeros((features, features)), np.zeros(features)
        half_gram(rows, selected, weights, half, border, begin, end)
        return half, border

    found = parts.each(part, len(selected), 1 if features > PART_ENTRIES**0.5 else None)
    half = sum(half for half, _ in found)
    return half + half.T, sum(border for _, border in found)
