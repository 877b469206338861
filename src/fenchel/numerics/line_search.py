"""Line searches on convex functions of one variable."""

from __future__ import annotations

import math
from collections.abc import Callable


def line_minimum(derivative: Callable[[float], tuple[float, float]], first: float, enough: float) -> float:
    """A step where the derivative of a convex function is at most ``enough`` times its size at zero, from step 1 on.

    ``derivative(step)`` returns the first derivative (zero anywhere within a kink) and the second; ``first`` is the
    (negative) derivative at zero.
    """
    low, high, step = 0.0, math.inf, 1.0
    for _ in range(60):
        slope, bend = derivative(step)
        if abs(slope) <= enough * abs(first):
            break
        low, high = (low, step) if slope > 0.0 else (step, high)
        following = step - slope / bend if bend > 0.0 else math.nan
        if not low < following < high:
            following = 2.0 * step if math.isinf(high) else 0.5 * (low + high)
        if following == step:
            break
        step = following
    return step
