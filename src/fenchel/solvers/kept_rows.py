"""Visits of dual coordinate descent to a Gram matrix that is not in memory (``designs.cached_gram``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.designs import CachedGram
from fenchel.loops.gram_rows import visit_kept, wanted
from fenchel.problem import Problem
from fenchel.solvers.descent import Descent
from fenchel.solvers.dual_coordinate_state import OutputState, State

#: kernel values that one step may compute: bounds how long Ctrl-C or a time limit waits
_STEP_VALUES = 1 << 23
#: examples whose mean stands for that of all
_SAMPLE = 500

Found = tuple[int, float, int, float]


def first_the_kept(design: CachedGram, descent: Descent) -> None:
    """Order a pass that is about to begin so that it finds the rows that are here."""
    head = descent.order[: descent.active]
    here = design.slots[head] >= 0
    head[:] = np.concatenate([head[here], head[~here]])


def near_mean(problem: Problem) -> NDArray[np.float64]:
    """The shares of examples in a point to centre on: their mean, or near it, if that would need every row of K."""
    shares = problem.risk.shares
    if not isinstance(problem.design, CachedGram) or np.count_nonzero(shares) <= _SAMPLE:
        return shares
    # each is drawn as often as it counts
    drawn = np.random.default_rng(0).choice(len(shares), _SAMPLE, p=shares / np.sum(shares))
    return np.bincount(drawn, minlength=len(shares)) / _SAMPLE


def visit_on_demand(
    state: State, output: OutputState, design: CachedGram, begin: int, end: int, threshold: float
) -> tuple[Found, int]:
    """Visit examples in their order, computing rows on the way; what was met, and where it ended."""
    descent = output.descent
    if begin == 0:
        first_the_kept(design, descent)
    reluctance = threshold if np.isfinite(threshold) else 0.0
    values = (state.loss, output.book, output.u, output.free)
    centre = (state.projection, state.centre_square + output.constant, descent.order)
    kept, worst, changed, gap = descent.kept, 0.0, 0, 0.0
    found: NDArray[np.int64] = np.empty(design.together, dtype=np.int64)
    budget, position = max(1, _STEP_VALUES // design.shape[0]), begin
    while True:
        visited = (position, end, kept, threshold, reluctance)
        *met, position = visit_kept(state.rows, design.slots, design.stamps, design.clock, *values, *centre, *visited)
        kept, worst, changed, gap = met[0], max(worst, met[1]), changed + met[2], gap + met[3]
        if position == end or (budget <= 0 and position > begin):
            return (kept, worst, changed, gap), position
        count = wanted(design.slots, *values, *centre, position, descent.active, reluctance, found)
        design.bring(found[:count].copy())
        budget -= count
