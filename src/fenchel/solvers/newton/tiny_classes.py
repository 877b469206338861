r"""Newton steps on tiny multinomial problems in NumPy, as ``newton.tiny`` makes those of one score.

The unknowns are a matrix W of a row for each class, its weights and then b.  With A = [X 1], the probabilities P and
the indicators Y of the classes, the gradient is :math:`r \circ W + (c \circ (P - Y))^TA`.  The Hessian has the blocks

.. math:: A^T\operatorname{diag}\bigl(c \circ p_j \circ (\delta_{jl} - p_l)\bigr)A + \delta_{jl}\operatorname{diag}(r)

All of it is one product, of the rows :math:`\sqrt{c_i}\,p_i \otimes a_i` with themselves, and one for each class.
Intercepts may all be moved by the same number, so that the square of their sum is added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from fenchel.arrays import Array, Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.risks.multiclass.multinomial import softmax
from fenchel.solvers.base import SolvedOutputs
from fenchel.solvers.newton.rules import CLEARLY_ABOVE_ROUNDING
from fenchel.solvers.newton.tiny import EVALUATIONS, SMALL_SLOPE, between

#: unknowns of all classes together, and multiplications for one Hessian, up to which the steps are made here
FEW_UNKNOWNS, LITTLE_WORK = 128, 1 << 21


class Point(NamedTuple):
    """Unknowns with what follows from them."""

    unknowns: Floats
    scores: Floats
    probabilities: Floats
    #: minus theta
    slopes: Floats
    gradient: Floats


class TinyClasses:
    """Newton steps of all classes."""

    def __init__(self, problem: Problem, X: Floats, selected: Array) -> None:
        risk, self.lam, self.free = problem.multiclass_risk, problem.lam, problem.intercept
        self.classes, self.features = risk.outputs, X.shape[1]
        self.matrix = np.empty((len(X), self.features + self.free))
        self.matrix[:, : self.features] = X
        self.matrix[:, self.features :] = 1.0
        self.shares, self.labels = risk.shares[selected], risk.classes[selected]
        self.rows = np.arange(len(X))
        self.ridge = np.full(self.matrix.shape[1], self.lam)
        self.ridge[self.features :] = 0.0

    def evaluate(self, unknowns: Floats) -> Point:
        """The derivatives at these unknowns."""
        scores = self.matrix @ unknowns.T
        return self._point(unknowns, scores, *self._derivatives(scores))

    def _derivatives(self, scores: Floats) -> tuple[Floats, Floats]:
        """The probabilities, and c times their differences from the labels."""
        probabilities = softmax(scores)
        slopes = probabilities.copy()
        slopes[self.rows, self.labels] -= 1.0
        slopes *= self.shares[:, None]
        return probabilities, slopes

    def _point(self, unknowns: Floats, scores: Floats, probabilities: Floats, slopes: Floats) -> Point:
        return Point(unknowns, scores, probabilities, slopes, self.ridge * unknowns + slopes.T @ self.matrix)

    def gap(self, point: Point) -> float:
        """The duality gap."""
        weights = point.gradient[:, : self.features]
        gap = float(np.vdot(weights, weights)) / (2.0 * self.lam)
        if self.free:
            # the last term estimates the dual objective that a correction of the sums of theta costs
            costs = np.abs(point.gradient[:, -1]) * (1.0 + np.abs(point.unknowns[:, -1]))
            gap += float(np.sum(costs))
        return gap

    def objective(self, point: Point) -> float:
        """The objective."""
        weights, scores = point.unknowns[:, : self.features], point.scores
        largest = scores.max(axis=1)
        sums = np.log(np.exp(scores - largest[:, None]).sum(axis=1)) + largest
        risk = float(self.shares @ (sums - scores[self.rows, self.labels]))
        return 0.5 * self.lam * float(np.vdot(weights, weights)) + risk

    def step(self, point: Point) -> Point | None:
        """Minimize the quadratic model, then the objective along the direction; None if that is not possible."""
        k, m = self.classes, self.matrix.shape[1]
        roots = np.sqrt(self.shares)[:, None]
        outer = ((roots * point.probabilities)[:, :, None] * self.matrix[:, None, :]).reshape(-1, k * m)
        roots = roots * np.sqrt(point.probabilities)
        hessian = -(outer.T @ outer)
        for j in range(k):
            root = self.matrix * roots[:, j : j + 1]
            hessian[j * m : (j + 1) * m, j * m : (j + 1) * m] += root.T @ root
        hessian.ravel()[:: k * m + 1] += np.tile(self.ridge, k)
        if self.free:
            hessian[m - 1 :: m, m - 1 :: m] += 1.0
        _, direction, failed = dposv(hessian.T, point.gradient.ravel(), overwrite_a=True)
        return None if failed else self._line_search(point, direction.reshape(k, m))

    def _line_search(self, point: Point, direction: Floats) -> Point | None:
        """Find where the slope of the objective along the direction is small, from a step of length one on."""
        change, first = self.matrix @ direction.T, float(np.vdot(point.gradient, direction))
        length, low, high = 1.0, (0.0, first), (math.inf, math.nan)
        for _ in range(EVALUATIONS):
            scores = point.scores - length * change
            found = self._point(point.unknowns - length * direction, scores, *self._derivatives(scores))
            slope = float(np.vdot(found.gradient, direction))
            if abs(slope) <= SMALL_SLOPE * first:
                return found
            low, high = ((length, slope), high) if slope > 0.0 else (low, (length, slope))
            length = between(first, low, high)
        return None


def are_tiny(problem: Problem) -> bool:
    """Whether the steps for the classes of a multinomial problem with ridge are made here."""
    rows, features = problem.design.shape
    unknowns = (features + 1) * (problem.risk.outputs or 1)
    return unknowns <= FEW_UNKNOWNS and rows * unknowns**2 <= LITTLE_WORK


def solve_tiny_classes(
    steps: TinyClasses, problem: Problem, selected: Array, tol: float, most: float
) -> SolvedOutputs | None:
    """Make steps until the gap is ``tol`` times the objective, or may be rounding error.

    None if that takes more than ``most`` data passes, of which a step takes three, or a step is not possible.
    """
    scale, passes = problem.risk.value_at_zero, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        first = np.zeros((steps.classes, steps.matrix.shape[1]))
        if steps.free:
            first[:, -1] = problem.best_intercept(np.zeros(problem.theta_shape))
        point = steps.evaluate(first)
        while True:
            gap = steps.gap(point)
            if gap <= tol * scale and gap <= max(tol * abs(steps.objective(point)), CLEARLY_ABOVE_ROUNDING * scale):
                break
            following = None if passes >= most else steps.step(point)
            if following is None:
                return None
            point, passes = following, passes + 3.0
    theta = np.zeros(problem.theta_shape)
    theta[selected] = -point.slopes
    intercept = problem.no_intercept()
    if steps.free:
        intercept = point.unknowns[:, -1] - np.mean(point.unknowns[:, -1])
    weights = np.ascontiguousarray(point.unknowns[:, : steps.features])
    return SolvedOutputs(Model(weights, intercept), Witness(theta), [passes])
