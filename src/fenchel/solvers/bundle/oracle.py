r"""Planes below a risk, with the intercept minimized away.

A plane that touches R at s is :math:`R(s') \ge a\cdot s' + c` for all s', equal at s.  With a free intercept a bundle
method works on :math:`\tilde R(s) = \min_b R(s + b\mathbf 1)`, which is convex too, and planes below it are those with
:math:`\sum a = 0`: each of them satisfies the constraint :math:`\sum\theta = 0` of the dual by itself, so neither the
inner problem nor the bound has to know of b.  Where R has a kink in b at the minimum, the planes on its two sides are
mixed so that their sums cancel; their mixture has the value that their lines in b have where they cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.risks import MeanRisk, Risk

_EPS = float(np.finfo(np.float64).eps)
#: a sum of slopes below so many times the sum of their sizes is zero
_BALANCED = 1e-14
#: steps away from an intercept until the slope changes its sign, each so many times the last, and at most how many
_WIDEN, _WIDENINGS = 16.0, 80
#: steps that narrow the interval of the intercept
_NARROWINGS = 60


@dataclass(frozen=True, eq=False)
class Touch:
    """A plane a, c, and the value R(s + b) with the intercept b where it touches."""

    slope: NDArray[np.float64]
    offset: float
    value: float
    intercept: Any = 0.0


class PlaneOracle:
    """Planes below the risk of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.risk = problem.risk
        self._free = problem.intercept
        self._plain = problem.no_intercept()
        #: how far below the risk a plane with a free intercept may lie at its point
        self.accuracy = 0.0
        self._columns: list[MeanRisk] = []
        if self._free and problem.risk.outputs is not None:
            # the outputs of a mean risk are separate risks
            mean = problem.mean_risk
            self._columns = [MeanRisk(mean.loss, labels, mean.shares) for labels in mean.labels.T]

    def plane(self, scores: NDArray) -> Touch:
        """The plane at X w, or at X w + b for the best b."""
        if not self._free:
            return touch(self.risk, scores, self._plain)
        if not self._columns:
            return self._balanced(self.risk, scores)
        found = [self._balanced(risk, column) for risk, column in zip(self._columns, scores.T, strict=True)]
        return Touch(
            np.stack([part.slope for part in found], axis=1),
            sum(part.offset for part in found),
            sum(part.value for part in found),
            np.array([part.intercept for part in found]),
        )

    def _balanced(self, risk: Risk, scores: NDArray) -> Touch:
        """A plane whose slopes add up to zero, at the best intercept."""
        intercepts = risk.intercepts()
        start = 0.0 if intercepts is None else float(intercepts.best_intercept(scores))
        near = touch(risk, scores, start)
        if _is_balanced(near):
            return near
        # walk to where the slope has the other sign, with longer and longer steps
        sign = -np.sign(np.sum(near.slope))
        step = 4.0 * _EPS * (abs(start) + float(np.max(np.abs(scores))) + risk.largest_label)
        for _ in range(_WIDENINGS):
            far = touch(risk, scores, near.intercept + sign * step)
            if _is_balanced(far):
                return far
            if np.sum(far.slope) * sign > 0.0:
                return self._between(risk, scores, near, far)
            near, step = far, _WIDEN * step
        # unbounded in b; the certificate restores sum theta = 0
        return near

    def _between(self, risk: Risk, scores: NDArray, one: Touch, other: Touch) -> Touch:
        """Narrow the interval between two intercepts until their mixture is as good as the best value."""
        low, high = (one, other) if one.intercept < other.intercept else (other, one)
        for _ in range(_NARROWINGS):
            left, right = -float(np.sum(low.slope)), float(np.sum(high.slope))
            best = low if low.value <= high.value else high
            share = right / (left + right)
            offset = share * low.offset + (1.0 - share) * high.offset
            slope = share * low.slope + (1.0 - share) * high.slope
            # where the two lines in b cross, and how far below the best value
            run = (low.value - high.value + right * (high.intercept - low.intercept)) / (left + right)
            below, at = best.value - (low.value - left * run), low.intercept + run
            noise = 8.0 * _EPS * (abs(best.value) + left * abs(low.intercept) + right * abs(high.intercept))
            if below <= max(self.accuracy, noise) or not low.intercept < at < high.intercept:
                break
            middle = touch(risk, scores, at)
            if _is_balanced(middle):
                return middle
            low, high = (middle, high) if np.sum(middle.slope) < 0.0 else (low, middle)
        mean = risk.separable()
        if mean is not None:
            # the highest plane with this slope, above the mixture of the two
            offset = -mean.conjugate(-slope, feasible=True)
        return Touch(slope, offset, best.value, best.intercept)


def touch(risk: Risk, scores: NDArray, intercept: Any) -> Touch:
    """The plane at s + b."""
    slope, offset, value = risk.cutting_plane(scores + intercept if np.any(intercept) else scores)
    return Touch(slope, float(offset), float(value), intercept)


def _is_balanced(plane: Touch) -> bool:
    return abs(float(np.sum(plane.slope))) <= _BALANCED * float(np.sum(np.abs(plane.slope)))
