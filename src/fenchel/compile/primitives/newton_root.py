"""Steps of line searches, for loops that make whole steps of Newton's method."""

from __future__ import annotations

import math

from fenchel.compile.loop import helper


@helper
def following_step(step: float, first: float, second: float, low: float, high: float) -> float:
    """The next step for a root of the first derivative in (low, high), from both derivatives at a step.

    A Newton step if it stays inside, else twice the step as long as there is no upper end, else the middle.
    """
    following = step - first / second if second > 0.0 else math.nan
    if low < following < high:
        return following
    return 2.0 * step if math.isinf(high) else 0.5 * (low + high)
