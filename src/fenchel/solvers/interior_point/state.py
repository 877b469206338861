"""State of the interior-point method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.solvers.interior_point.pair_matrix import Rows


class Point(NamedTuple):
    """Primal and dual variables, or a direction in them."""

    #: (k, features), or with the intercepts as last column
    weights: Floats
    #: (n, k), zero at the labels and where a is zero
    beta: Floats
    t: Floats
    #: (n, k), or (n, 1) for Crammer-Singer
    u: Floats
    xi: Floats


@dataclass
class State:
    """The constant parts of a problem and the state of the method."""

    problem: Problem
    rows: Rows
    #: a, zero at the labels
    costs: Floats
    #: where a > 0
    positive_cost: NDArray[np.bool_]
    #: a of the slacks: (n, k), or (n, 1) for Crammer-Singer
    bound_costs: Floats
    #: lam for a weight, zero for an intercept
    ridge: Floats
    point: Point
    #: z at the point
    z: Floats
    #: data passes of the current step
    passes: float = 0.0
    objective: float = np.inf
    gap: float = np.inf
    #: the point of the smallest gap so far, and that gap
    best_point: Point | None = None
    best_gap: float = np.inf
    steps_without_progress: int = 0
    stalled: bool = False

    @property
    def one_bound(self) -> bool:
        """Whether the wrong classes of an example share one slack (Crammer-Singer)."""
        return self.bound_costs.shape[1] == 1

    def sum_over_bound(self, values: Array) -> Floats:
        """Return the sums over the classes that share a slack."""
        return np.sum(values, axis=1, keepdims=True) if self.one_bound else values

    def theta(self, beta: Array) -> Floats:
        """Return the dual point of beta."""
        theta = -self.costs * beta
        theta[np.arange(len(theta)), self.rows.classes] = -np.sum(theta, axis=1)
        return theta

    def margins(self, weights: Array, margin: float) -> Floats:
        """Return z for margin 1, or the change of z by a change of the weights for margin 0."""
        scores = self.rows.scores(weights)
        return scores + (margin - scores[np.arange(len(scores)), self.rows.classes][:, None])

    def complementarity(self, point: Point) -> float:
        """Return the mean complementarity product, weighted by a."""
        total = float(np.vdot(self.costs, point.beta * point.t) + np.vdot(self.bound_costs, point.u * point.xi))
        return total / max(float(np.sum(self.costs) + np.sum(self.bound_costs)), 1e-300)

    def largest_step(self, direction: Point) -> float:
        """Return the largest step, at most 1, that keeps all variables nonnegative."""
        return min(1.0, *(_ratio_test(value, by) for value, by in zip(self.point[1:], direction[1:], strict=True)))


def _ratio_test(value: Array, change: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.min(np.where(change < 0.0, -value / change, np.inf)))


def advance(point: Point, direction: Point, step: float) -> Point:
    """Return the point after a step along a direction."""
    return Point(*(value + step * by for value, by in zip(point, direction, strict=True)))
