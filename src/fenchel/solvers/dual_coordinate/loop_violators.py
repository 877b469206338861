"""Epochs over a list of examples in one compiled call (``violators``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.loop import loop
from fenchel.compile.primitives.epoch import Part
from fenchel.solvers.dual_coordinate.loop import CURVATURE, part_of_epoch
from fenchel.solvers.shrinking import after_epoch


class Settling(NamedTuple):
    """How long the epochs go on."""

    #: turns of examples before the last epoch at most
    turns: int
    #: the largest violation at the end, as a share of that in the first epoch
    share: float
    #: examples that violate less than this share of the largest violation of the last epoch are left out
    left_out: float
    #: factor of exact steps
    stretch: float


@loop
def settle(rows: Any, loss: Any, regularizer: Any, table: Any, v: Any, intercept: Any, part: Any, settling: Any) -> int:
    """Repeat the epoch ``part`` over its examples, or over those of them that violate most; turns of examples."""
    order, (most, share, left_out, stretch) = part.order, settling
    # epochs change the order
    examples = np.copy(order)
    curvatures, count = table[:, CURVATURE][examples], len(examples)
    for t in range(count):
        table[examples[t], CURVATURE] = curvatures[t] / stretch
    size, turns, turns_since_full, first, full_violation, threshold = count, 0, 0, 0.0, 0.0, np.inf
    while turns <= most:
        part = Part(order, 0, size, 0, threshold, part.sigma, part.worst, part.listed_from)
        remaining, violation, _, _ = part_of_epoch(rows, loss, regularizer, table, v, intercept, part)
        turns += size
        if turns == size:
            first = violation
        if size == count and violation <= share * first:
            break
        _, full_violation, turns_since_full, restore = after_epoch(
            count, size, size == count, int(np.int64(remaining)), violation, full_violation, turns_since_full
        )
        size, threshold = (count, np.inf) if restore else (int(np.int64(remaining)), -left_out * violation)
    for t in range(count):
        table[examples[t], CURVATURE] = curvatures[t]
    return turns
