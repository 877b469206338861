"""Where the interior-point method stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.solvers.interior_point.pair_matrix import Rows


class Point(NamedTuple):
    """Where the method stands, or a change of that."""

    weights: NDArray[np.float64]
    #: (n, k), zero at the labels and where a is zero
    beta: NDArray[np.float64]
    t: NDArray[np.float64]
    #: (n, k), or (n, 1) where the wrong classes of an example have one bound together
    u: NDArray[np.float64]
    xi: NDArray[np.float64]


@dataclass
class State:
    """The fixed parts of a problem and where the method stands."""

    problem: Problem
    rows: Rows
    #: a, zero at the labels
    mass: NDArray[np.float64]
    #: where a > 0, and what the bounds on u and xi weigh
    live: NDArray[np.bool_]
    bound_mass: NDArray[np.float64]
    #: lam, and zero for an intercept
    ridge: NDArray[np.float64]
    point: Point
    #: z at the point
    z: NDArray[np.float64]
    #: data passes of the present step
    passes: float = 0.0
    objective: float = np.inf
    gap: float = np.inf
    #: the point of the smallest gap so far, that gap, and steps since then
    best: Point | None = None
    best_gap: float = np.inf
    idle: int = 0
    stalled: bool = False

    @property
    def together(self) -> bool:
        """Whether the wrong classes of an example have one bound together."""
        return self.bound_mass.shape[1] == 1

    def grouped(self, values: NDArray) -> NDArray[np.float64]:
        """Sums over what has one bound together."""
        return np.sum(values, axis=1, keepdims=True) if self.together else values

    def theta(self, beta: NDArray) -> NDArray[np.float64]:
        """The dual point of these beta."""
        theta = -self.mass * beta
        theta[np.arange(len(theta)), self.rows.classes] = -np.sum(theta, axis=1)
        return theta

    def margins(self, weights: NDArray, margin: float) -> NDArray[np.float64]:
        """z, or with margin 0 its change."""
        scores = self.rows.scores(weights)
        return scores + (margin - scores[np.arange(len(scores)), self.rows.classes][:, None])

    def mean_product(self, point: Point) -> float:
        """The mean of the products that are to vanish, by their weights."""
        total = float(np.vdot(self.mass, point.beta * point.t) + np.vdot(self.bound_mass, point.u * point.xi))
        return total / max(float(np.sum(self.mass) + np.sum(self.bound_mass)), 1e-300)

    def longest(self, change: Point) -> float:
        """How many times the change fits inside the bounds, at most once."""
        return min(1.0, *(_fits(value, by) for value, by in zip(self.point[1:], change[1:], strict=True)))


def _fits(value: NDArray, change: NDArray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.min(np.where(change < 0.0, -value / change, np.inf)))


def moved_by(point: Point, change: Point, step: float) -> Point:
    """The point after so much of the change."""
    return Point(*(value + step * by for value, by in zip(point, change, strict=True)))
