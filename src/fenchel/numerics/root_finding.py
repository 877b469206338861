"""Roots of monotone functions of one variable."""

from __future__ import annotations

from collections.abc import Callable


def illinois(
    function: Callable[[float], float],
    low: float,
    high: float,
    at_low: float,
    at_high: float,
    *,
    tolerance: float,
    max_evaluations: int = 60,
) -> float:
    """Return a root of a decreasing function in [low, high] by regula falsi with the Illinois rule.

    The function value of an end that is kept twice counts half (Dowell and Jarratt, BIT 11, 1971), so that both ends
    converge.

    Parameters
    ----------
    function : callable
        The decreasing function.
    low, high : float
        Ends of the bracket.
    at_low, at_high : float
        The function values there: positive and negative.
    tolerance : float
        The absolute function value at which the search ends.
    max_evaluations : int, default=60
        The largest number of evaluations; the lower end is returned when it is reached.

    Returns
    -------
    float
        The root.
    """
    for _ in range(max_evaluations):
        middle = low + (high - low) * at_low / (at_low - at_high)
        value = function(middle)
        if abs(value) <= tolerance or not low < middle < high:
            return middle
        if value > 0.0:
            low, at_low, at_high = middle, value, 0.5 * at_high
        else:
            high, at_high, at_low = middle, value, 0.5 * at_low
    return low
