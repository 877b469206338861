"""Minima of convex functions of one variable, which are roots of increasing functions, their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.stopping import stop_point

T = TypeVar("T")

#: the first steps that ``parallel_line_search`` tries: most Newton steps have about length 1
_FIRST_STEPS = np.array([0.25, 0.5, 0.75, 1.0, 1.5])
#: multiples and fractions of the end of its bracket where no other end is known
_FARTHER = np.array([2.0, 4.0, 8.0, 16.0])

#: relative size of the derivative at which ``wolfe_step`` ends (Nocedal and Wright's c_2)
_CURVATURE_CONDITION = 0.9
#: share of the linear decrease that its step must attain (Nocedal and Wright's c_1)
_SUFFICIENT_DECREASE = 1e-4
#: its factor of the step as long as no upper end of the bracket is known, and its largest number of evaluations
_EXTRAPOLATION, _MAX_WOLFE_EVALUATIONS = 4.0, 40
#: largest number of evaluations in a search
_MAX_EVALUATIONS = 60
#: smallest distance of a secant step from both ends of its bracket, relative to the bracket
_SECANT_MARGIN = 0.05
#: secant steps, before the bracket is bisected in the logarithm: the root may be many orders of magnitude away
_SECANT_STEPS = 6


@dataclass
class Bracket:
    """An interval of steps that contains the root of an increasing function, and the next step to try in it."""

    #: the value at the lower end, which is negative
    at_low: float
    #: factor of the step as long as no upper end is known
    growth: float = 2.0
    #: largest factor of a Newton step
    longest: float = math.inf
    #: factor of the step as long as the lower end is zero
    shrinkage: float = 0.5
    low: float = 0.0
    high: float = math.inf
    at_high: float = math.nan
    steps: int = 0
    #: whether the last value was positive; None before the first
    last_above: bool | None = None

    def newton(self, step: float, value: float, slope: float) -> float:
        """Return the step after a Newton step, or a bisection if that leaves the bracket."""
        self._shrink(step, value)
        following = step - value / slope if slope > 0.0 else math.nan
        if self.low < following < min(self.high, self.longest * step):
            return following
        if math.isinf(self.high):
            return self.growth * step
        return 0.5 * (self.low + self.high) if self.low > 0.0 else self.shrinkage * self.high

    def secant(self, step: float, value: float) -> float:
        """Return the root of the linear interpolation, at a distance from the ends of the bracket.

        The value at an end that stays twice in a row is halved (Illinois variant of regula falsi), since the function
        may be almost constant beyond its root, as the derivative of a log-loss is.
        """
        above, stayed = value > 0.0, self.last_above
        self._shrink(step, value)
        self.last_above = above
        if stayed is above:
            if above:
                self.at_low *= 0.5
            else:
                self.at_high *= 0.5
        if math.isinf(self.high):
            return self.growth * step
        if self.steps > _SECANT_STEPS:
            return math.sqrt(self.low * self.high) if self.low > 0.0 else 0.01 * self.high
        share = self.at_low / (self.at_low - self.at_high)
        return self.low + min(max(share, _SECANT_MARGIN), 1.0 - _SECANT_MARGIN) * (self.high - self.low)

    def _shrink(self, step: float, value: float) -> None:
        self.steps += 1
        if value > 0.0:
            self.high, self.at_high = step, value
        else:
            self.low, self.at_low = step, value


def line_search(
    derivatives: Callable[[float], tuple[float, float]],
    initial_derivative: float,
    tolerance: float,
    *,
    longest: float = math.inf,
    shrinkage: float = 0.5,
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
    longest : float, default=inf
        The largest factor by which a Newton step may increase the step.
    shrinkage : float, default=0.5
        The factor of a step that is too long as long as none is too short.

    Returns
    -------
    float
        The step; one that is too short if rounding errors hide the root.
    """
    bracket, step = Bracket(initial_derivative, longest=longest, shrinkage=shrinkage), 1.0
    for _ in range(_MAX_EVALUATIONS):
        stop_point()
        first, second = derivatives(step)
        if abs(first) <= tolerance * abs(initial_derivative):
            return step
        following = bracket.newton(step, first, second)
        if following == step:
            break
        step = following
    return bracket.low


def parallel_line_search(
    derivatives: Callable[[Floats], tuple[Floats, Floats]], initial_derivative: float, tolerance: float
) -> float:
    """Return a step where the derivative of a convex function has almost vanished, from few calls with several steps.

    Each call tries the Newton step of the best step so far, and others that divide the bracket evenly.

    Parameters
    ----------
    derivatives : callable
        Returns the first and the second derivatives at an array of steps.
    initial_derivative, tolerance : float
        As for ``line_search``.

    Returns
    -------
    float
        The step; one that is too short if rounding errors hide the root.
    """
    low, high, steps = 0.0, math.inf, _FIRST_STEPS
    for _ in range(_MAX_EVALUATIONS):
        stop_point()
        first, second = derivatives(steps)
        best = int(np.argmin(np.abs(first)))
        if abs(first[best]) <= tolerance * abs(initial_derivative):
            return float(steps[best])
        short = first < 0.0
        low, high = max(low, *steps[short], 0.0), min(high, *steps[~short], math.inf)
        newton = steps[best] - first[best] / second[best] if second[best] > 0.0 else math.nan
        following = np.unique([*_between(low, high), *([newton] if low < newton < high else [])])
        steps = following[(following > low) & (following < high)]
        if not len(steps):
            break
    return low


def _between(low: float, high: float) -> Floats:
    """Return steps inside a bracket: evenly spaced, or in the logarithm if one end is not known."""
    if math.isinf(high):
        return low * _FARTHER
    return high / _FARTHER if low == 0.0 else np.linspace(low, high, len(_FARTHER) + 2)[1:-1]


def illinois(function: Callable[[float], float], at_zero: float, at_one: float, tolerance: float) -> float:
    """Return a root in [0, 1] of a decreasing function, by regula falsi with the Illinois rule.

    The value of an end that is kept twice counts half (Dowell and Jarratt, BIT 11, 1971), so that both ends converge.

    Parameters
    ----------
    function : callable
        The decreasing function.
    at_zero, at_one : float
        Its values at the ends: positive and negative.
    tolerance : float
        The absolute function value at which the search ends.

    Returns
    -------
    float
        The root, or the lower end of the bracket after the largest number of evaluations.
    """
    low, high, at_low, at_high = 0.0, 1.0, at_zero, at_one
    for _ in range(_MAX_EVALUATIONS):
        stop_point()
        middle = low + (high - low) * at_low / (at_low - at_high)
        value = function(middle)
        if abs(value) <= tolerance or not low < middle < high:
            return middle
        if value > 0.0:
            low, at_low, at_high = middle, value, 0.5 * at_high
        else:
            high, at_high, at_low = middle, value, 0.5 * at_low
    return low


class Tangent(NamedTuple):
    """The value and the derivative of a convex function at a point."""

    at: float
    value: float
    slope: float


def tangent_minimum(low: Tangent, high: Tangent, curvature: float = 0.0) -> tuple[float, float]:
    """Return the minimizer of the maximum of two parabolas of this curvature that are tangent to a function.

    Its value, which is returned as well, is a lower bound on the minimum of a function of at least this curvature.
    """
    # in x = t - low.at the other parabola has this derivative and value at x = 0
    width = high.at - low.at
    derivative_at_low = high.slope - curvature * width
    value_difference = (high.value - high.slope * width + 0.5 * curvature * width**2) - low.value
    crossing = -value_difference / (derivative_at_low - low.slope) if derivative_at_low > low.slope else 0.5 * width
    x = crossing
    if curvature > 0.0:
        x = min(x, -low.slope / curvature)
        x = max(x, min(-derivative_at_low / curvature, width)) if -derivative_at_low / curvature > crossing else x
    x = min(max(x, 0.0), width)
    first = low.value + low.slope * x + 0.5 * curvature * x**2
    second = low.value + value_difference + derivative_at_low * x + 0.5 * curvature * x**2
    return low.at + x, max(first, second)


def wolfe_step(
    at: Callable[[float], tuple[float, float, T]], initial_derivative: float, first: float
) -> tuple[float, T] | None:
    """Return a step of a convex function that satisfies the Wolfe conditions, with what is known there.

    Parameters
    ----------
    at : callable
        Returns the derivative at a step, the change of the function since step 0, and whatever else is known there.
    initial_derivative : float
        The derivative at step 0, which is negative.
    first : float
        The first step to try.

    Returns
    -------
    tuple or None
        The step and the third result of ``at`` there; None if no step decreases the function.
    """
    bracket, following = Bracket(initial_derivative, growth=_EXTRAPOLATION), first
    for _ in range(_MAX_WOLFE_EVALUATIONS):
        step = following
        derivative, difference, found = at(step)
        # it decreases as long as its derivative is negative, whatever the rounded difference is
        decreases = derivative <= 0.0 or difference <= _SUFFICIENT_DECREASE * step * initial_derivative
        if decreases and abs(derivative) <= _CURVATURE_CONDITION * abs(initial_derivative):
            return step, found
        following = bracket.secant(step, derivative)
        if following in (bracket.low, bracket.high):
            break
    return (step, found) if decreases else None
