r"""Cutting planes of a risk that is minimized over the intercept.

A cutting plane of R at s satisfies :math:`R(s') \ge a\cdot s' + c` for all s', with equality at s.  With a free
intercept a bundle method minimizes :math:`\tilde R(s) = \min_b R(s + b\mathbf 1)`, which is convex.  The planes below
:math:`\tilde R` are those below R with :math:`\sum a = 0`, so each of them satisfies the constraint
:math:`\sum\theta = 0` of the dual, and neither the inner problem nor the bound depends on b.  Where R has a kink in b
at the minimum, the planes on both sides are combined so that :math:`\sum a = 0`; the value of this combination is that
of the two lines in b at their intersection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import EPS
from fenchel.numerics.line_search import Tangent, tangent_minimum
from fenchel.problem import Problem
from fenchel.risks import MeanRisk, Risk
from fenchel.risks.decomposition import Decomposable
from fenchel.stopping import stop_point

#: a sum of a below this multiple of the sum of |a| is zero up to rounding
_BALANCE_TOLERANCE = 1e-14
#: growth of the steps that bracket the intercept, and their largest number
_BRACKET_GROWTH, _MAX_BRACKET_STEPS = 16.0, 80
#: largest number of steps that shrink the bracket
_MAX_STEPS = 60


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane a, c at s + b, with the value R(s + b) and the intercept b."""

    slope: Floats
    offset: float
    value: float
    intercept: Any = 0.0
    #: of a combination of two planes, where the risk has decompositions
    decomposition: Floats | None = None

    def decomposed(self, risk: Decomposable, scores: Array) -> Floats:
        """Return the decomposition of minus a, for the scores X w of the plane."""
        if self.decomposition is not None:
            return self.decomposition
        return risk.decompose(scores + self.intercept, self.slope)


class PlaneOracle:
    """Computes cutting planes of the risk of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.risk = problem.risk
        self._free = problem.intercept
        self._no_intercept = problem.no_intercept()
        #: largest distance of a plane below the risk at its point, with a free intercept
        self.accuracy = 0.0
        #: intercepts that are added to all scores (``bundle.free_intercepts``)
        self.centre: Floats | None = None
        self._columns: list[MeanRisk] = []
        if self._free and problem.risk.outputs is not None:
            # the outputs of a mean risk are separate risks
            mean = problem.mean_risk
            self._columns = [MeanRisk(mean.loss, labels, mean.shares) for labels in mean.labels.T]

    def plane(self, scores: Array) -> Plane:
        """Return the plane at X w, or at X w + b for the best b."""
        if self.centre is not None:
            plane = cutting_plane(self.risk, scores, self.centre)
            # as a function of X w
            return replace(plane, offset=plane.offset + float(np.sum(plane.slope, axis=0) @ self.centre))
        if not self._free:
            return cutting_plane(self.risk, scores, self._no_intercept)
        if not self._columns:
            return self._balanced(self.risk, scores)
        found = [self._balanced(risk, column) for risk, column in zip(self._columns, scores.T, strict=True)]
        return Plane(
            np.stack([part.slope for part in found], axis=1),
            sum(part.offset for part in found),
            sum(part.value for part in found),
            np.array([part.intercept for part in found]),
        )

    def _balanced(self, risk: Risk, scores: Array) -> Plane:
        """Return a plane with sum of a zero, at the best intercept."""
        _check_overflow(scores)
        intercepts = risk.intercepts()
        start = 0.0 if intercepts is None else float(intercepts.best_intercept(scores))
        near = cutting_plane(risk, scores, start)
        if _is_balanced(near):
            return near
        # bracket the minimum over b: increase the steps until the derivative changes its sign
        sign = -np.sign(np.sum(near.slope))
        step = 4.0 * EPS * (abs(start) + float(np.max(np.abs(scores))) + risk.largest_label)
        for _ in range(_MAX_BRACKET_STEPS):
            far = cutting_plane(risk, scores, near.intercept + sign * step)
            if _is_balanced(far):
                return far
            if np.sum(far.slope) * sign > 0.0:
                return self._shrink_bracket(risk, scores, near, far)
            near, step = far, _BRACKET_GROWTH * step
        # unbounded in b; the certificate restores sum theta = 0
        return near

    def _shrink_bracket(self, risk: Risk, scores: Array, one: Plane, other: Plane) -> Plane:
        """Shrink the bracket of the intercept until the combination of the two planes attains the best value."""
        low, high = (one, other) if one.intercept < other.intercept else (other, one)
        for _ in range(_MAX_STEPS):
            left, right = (Tangent(plane.intercept, plane.value, float(np.sum(plane.slope))) for plane in (low, high))
            best = low if low.value <= high.value else high
            at, lower_bound = tangent_minimum(left, right)
            size = abs(best.value) + abs(left.slope * left.at) + abs(right.slope * right.at)
            if best.value - lower_bound <= max(self.accuracy, 8.0 * EPS * size) or not left.at < at < right.at:
                break
            middle = cutting_plane(risk, scores, at)
            if _is_balanced(middle):
                return middle
            low, high = (middle, high) if np.sum(middle.slope) < 0.0 else (low, middle)
        share = float(np.sum(high.slope) / (np.sum(high.slope) - np.sum(low.slope)))
        slope = share * low.slope + (1.0 - share) * high.slope
        offset = share * low.offset + (1.0 - share) * high.offset
        mean = risk.separable()
        if mean is not None:
            # the highest plane with this a, which is at least as high as the combination
            offset = -mean.conjugate(-slope, feasible=True)
        parts, mixed = risk.decomposable(), None
        if parts is not None:
            mixed = parts.mixed(np.array([share, 1.0 - share]), [one.decomposed(parts, scores) for one in (low, high)])
        return Plane(slope, offset, best.value, best.intercept, mixed)


def cutting_plane(risk: Risk, scores: Array, intercept: Any) -> Plane:
    """Return the plane at s + b."""
    stop_point()
    scores = scores + intercept if np.any(intercept) else scores
    _check_overflow(scores)
    slope, offset, value = risk.cutting_plane(scores)
    return Plane(slope, float(offset), float(value), intercept)


def _check_overflow(scores: Array) -> None:
    if not math.isfinite(float(np.max(np.abs(scores), initial=0.0))):
        raise FenchelError("the scores X w overflow: scale X to moderate numbers, or choose a smaller C")


def _is_balanced(plane: Plane) -> bool:
    return abs(float(np.sum(plane.slope))) <= _BALANCE_TOLERANCE * float(np.sum(np.abs(plane.slope)))
