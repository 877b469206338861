"""Dual points whose residuals enclose zero: the corners of ``equalities``, from which residuals are charged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.problem import Problem
from fenchel.projections import onto_box_and_equalities
from fenchel.risks import MeanRisk

if TYPE_CHECKING:
    from fenchel.certificate.equalities import Equalities

#: values of tau that are tried, relative to the sizes of the columns
_CORNERS = (1e-2, 1e-4, 1e-6)
#: where R* is infinite on the bounds, the distance from them that stays, as a share of what it is, or of a weight
INSET = 1e-3


class Corners(NamedTuple):
    """The corners of one output: r, and X^T theta_k, compressed, and R*(-theta_k) of each."""

    radius: float
    vectors: list[Floats]
    conjugates: Floats
    #: R*(0)
    at_zero: float

    def lowest(self, problem: Problem, multiple: float) -> tuple[float, float]:
        """The smallest of the duals of the corners, multiplied, and the size of their terms.

        Minus infinity if the multiples are no corners.
        """
        regularizer, lam = problem.free_directions, problem.lam
        bounds = self.conjugates
        if multiple != 1.0:
            if regularizer.priced or not np.isfinite(self.at_zero):
                return -np.inf, 0.0
            bounds = multiple * bounds + (1.0 - multiple) * self.at_zero
        penalties = np.array(
            [lam * regularizer.relaxed_conjugate((multiple / lam) * vector) for vector in self.vectors]
        )
        return float(np.min(-penalties - bounds)), float(np.max(np.abs(penalties) + np.abs(bounds)))


def corners_of(
    known: Equalities, problem: Problem, risk: MeanRisk, low: Array, high: Array, counted: Array
) -> Corners | None:
    """The corners of the largest simplex found; None if there is none."""
    count = len(counted)
    if not risk.loss.bounded_below:
        low, high = inset(low, high, INSET * known.shares)
    width = np.minimum(high - low, known.shares)
    # distance from the bounds: half the width, up to half a share
    middle = np.clip(0.0, low + 0.5 * width, high - 0.5 * width)
    sides, sizes, target = known.sides[:, counted], known.sizes[counted], known.target[counted]
    middle = onto_box_and_equalities(middle, low, high, sides, target, width)
    for tau in _CORNERS:
        vectors, conjugates, worst = [], [], 0.0
        for corner in (*np.eye(count), -np.ones(count)):
            theta = onto_box_and_equalities(middle, low, high, sides, target + tau * sizes * corner, width)
            shifted = _corner_error(known, theta, counted, tau * sizes * corner)
            worst = max(worst, float(np.sum(shifted / sizes)))
            if worst > 0.25 * tau / count:
                break
            vectors.append(known.regularizer.compress(problem.design.adjoint(theta)))
            conjugates.append(risk.conjugate(theta, feasible=True))
        else:
            if np.all(np.isfinite(conjugates)) and all(np.all(np.isfinite(vector)) for vector in vectors):
                at_zero = risk.conjugate(np.zeros(len(low)))
                return Corners(tau / count - worst, vectors, np.array(conjugates), at_zero)
    return None


def inset(low: Array, high: Array, distance: Array) -> tuple[Floats, Floats]:
    """A box whose finite bounds are that far inside."""
    return np.where(np.isfinite(low), low + distance, low), np.where(np.isfinite(high), high - distance, high)


def _corner_error(known: Equalities, theta: Array, counted: Array, shift: Array) -> Floats:
    """Bounds on the errors of the residuals of a corner."""
    sides = known.sides[:, counted]
    goal = known.target[counted] + shift
    terms = np.abs(theta) @ np.abs(sides) + np.abs(goal)
    from_sides = known.errors[counted] * float(np.abs(theta) @ known.lengths)
    return np.abs(theta @ sides - goal) + 2.0 * EPS * (len(theta) + 2) * terms + from_sides
