"""Line search on a convex function of one variable, by a safeguarded Newton method on its derivative."""

from __future__ import annotations

import math
from collections.abc import Callable

#: largest number of evaluations of the derivatives
_MAX_EVALUATIONS = 60


def line_search(
    derivatives: Callable[[float], tuple[float, float]], initial_derivative: float, tolerance: float
) -> float:
    """Return a step where the derivative of a convex function has almost vanished.

    The first trial is step 1.  A Newton step that leaves the bracket is replaced by a bisection, or by a doubling as
    long as no upper end is known.

    Parameters
    ----------
    derivatives : callable
        Returns the first derivative (zero at a kink whose subdifferential contains zero) and the second one at a step.
    initial_derivative : float
        The derivative at step 0, which is negative.
    tolerance : float
        The search ends when the absolute derivative is at most this multiple of that at step 0.

    Returns
    -------
    float
        The step.
    """
    low, high, step = 0.0, math.inf, 1.0
    for _ in range(_MAX_EVALUATIONS):
        first, second = derivatives(step)
        if abs(first) <= tolerance * abs(initial_derivative):
            break
        low, high = (low, step) if first > 0.0 else (step, high)
        following = step - first / second if second > 0.0 else math.nan
        if not low < following < high:
            following = 2.0 * step if math.isinf(high) else 0.5 * (low + high)
        if following == step:
            break
        step = following
    return step
