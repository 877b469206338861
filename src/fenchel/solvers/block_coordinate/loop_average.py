"""Steps of the average of the weights (``averaging``), within epochs and from Python."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.loop import helper, loop

#: entries of ``Averages.clock``: data passes since the last update, and the expected gap at it (infinite before one)
PASSES, GAP = range(2)


class Averages(NamedTuple):
    """The averages of v and of the state of the intercepts, all of them flat."""

    v: Any
    intercepts: Any
    #: PASSES and GAP
    clock: Any
    #: data passes between two updates at least; infinite without averages
    interval: float


@helper
def kept_share(passes: float, gap: float, last_gap: float) -> float:
    """The weight of the average so far, after these passes, at this expected gap and at that of the last update."""
    if math.isinf(last_gap):
        return 0.0
    return min(math.exp(-passes), gap / last_gap if gap < last_gap else 1.0)


@helper
def move(average: Any, array: Any, share: float) -> None:
    """Move the average by this share of the way to the array."""
    for j in range(np.uint64(len(array))):
        average[j] += share * (array[j] - average[j])


@helper
def record(averages: Any, v: Any, intercepts: Any, passes: float, gap: float) -> None:
    """Take the arrays into the averages after some data passes, at an expected gap, if it is time."""
    clock = averages.clock
    clock[PASSES] += passes
    if clock[PASSES] >= averages.interval:
        share = 1.0 - kept_share(clock[PASSES], gap, clock[GAP])
        move(averages.v, v, share)
        move(averages.intercepts, intercepts, share)
        clock[PASSES], clock[GAP] = 0.0, gap


#: the step of one array, called from Python
moved = loop(move)
