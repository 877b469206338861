r"""Newton steps on tiny problems in NumPy, for all outputs at once.

The steps of ``newton.solver`` for ridge, a smooth loss and few numbers.  Here a fit takes less time than the import of
the compiler, and hardly more than compiled steps with the conversion of their arguments: a search of parameters in new
processes is over before the first compiled loop is loaded.

The unknowns of output k are a row of W, its weights and then b.  With A = [X 1] and the ridge r = (lam, ..., lam, 0),

.. math::
    g_k = r \circ W_k + A^T(c \circ f'_k), \qquad
    (A^T\operatorname{diag}(c \circ f''_k)A + \operatorname{diag}(r))\,p_k = g_k

and a step is :math:`W_k - t p_k`.  For equal c both are divided by it, which saves the products.  The duality gap is
:math:`|g_w|^2 / (2\lambda)`, since theta is minus the gradient of the risk, plus the cost of its sum.  Each output has
products and sums of its own, in the same order whatever the others are, so that the steps of one output alone are the
same, bit by bit.
"""

from __future__ import annotations

import math
from itertools import compress
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg.lapack import dposv

from fenchel.arrays import Array, Floats
from fenchel.certificate.inverse_hessian import curvature_of
from fenchel.problem import Problem
from fenchel.solvers.newton.rules import CLEARLY_ABOVE_ROUNDING

#: entries of [X 1], and multiplications for one Hessian, up to which the steps are made here
_FEW_ENTRIES, _LITTLE_WORK = 1 << 16, 1 << 20
#: the same for the squared loss, of which one step is enough
_FEW_ENTRIES_SQUARED, _LITTLE_WORK_SQUARED = 1 << 18, 1 << 23
#: the length of a step is enough if the slope of the objective is below this share of the first one
SMALL_SLOPE = 0.3
#: bounds on the growth of a length while the objective falls, and least share by which an interval of lengths shrinks
_LEAST_GROWTH, _MOST_GROWTH, _SHRINKING = 1.5, 4.0, 0.1
#: evaluations of a line search at most
EVALUATIONS = 30


def is_tiny(problem: Problem, rows: int) -> bool:
    """Whether the steps for this many rows of a problem are made here."""
    unknowns = problem.design.shape[1] + 1
    entries, work = _FEW_ENTRIES, _LITTLE_WORK
    if rows * unknowns > entries and curvature_of(problem) is not None:
        entries, work = _FEW_ENTRIES_SQUARED, _LITTLE_WORK_SQUARED
    few = rows * unknowns <= entries and rows * unknowns**2 <= work
    return few and problem.risk.smooth and problem.regularizer.is_ridge and problem.mean_risk.loss.has_second_derivative


class Point(NamedTuple):
    """Unknowns with what follows from them, a row for each output; the last three are divided by ``TinySteps.unit``."""

    unknowns: Floats
    scores: Floats
    #: f' and f'', times c
    slopes: Floats
    hess: Floats
    gradient: Floats

    def of(self, chosen: Array) -> Point:
        """Some of the outputs."""
        return Point(*(part[chosen] for part in self))


class TinySteps:
    """Newton steps for outputs that share the rows X."""

    def __init__(self, problem: Problem, X: Floats, labels: Floats, shares: Floats) -> None:
        self.loss, self.lam, self.free = problem.mean_risk.loss, problem.lam, problem.intercept
        rows, self.features = X.shape
        equal = float(shares.min()) == float(shares.max())
        #: (outputs, rows), and c, which is ``unit`` where it is None
        self.labels, self.shares = labels, None if equal else shares
        #: whether f'' is the same wherever it is not zero
        self.equal_curvatures = equal and self.loss.piecewise_quadratic() is not None
        #: what the objective and its derivatives are divided by
        self.unit = float(shares[0]) if equal else 1.0
        self.matrix = np.empty((rows, self.features + self.free))
        self.matrix[:, : self.features] = X
        self.matrix[:, self.features :] = 1.0
        self.ridge = np.full(self.matrix.shape[1], self.lam / self.unit)
        self.ridge[self.features :] = 0.0

    def of(self, chosen: Array) -> Self:
        """The same for some of the outputs."""
        found = object.__new__(type(self))
        vars(found).update(vars(self), labels=self.labels[chosen])
        return found

    def evaluate(self, unknowns: Floats) -> Point:
        """The derivatives at these unknowns."""
        scores = self._product(unknowns)
        return self._point(unknowns, scores, *self._derivatives(scores))

    def begin(self, intercepts: Floats) -> Point:
        """The derivatives without weights."""
        unknowns = np.zeros((len(self.labels), self.matrix.shape[1]))
        unknowns[:, self.features :] = intercepts[:, None]
        scores = np.repeat(intercepts[:, None], len(self.matrix), axis=1)
        return self._point(unknowns, scores, *self._derivatives(scores))

    def _product(self, unknowns: Floats) -> Floats:
        """A times the unknowns of each output."""
        return np.matmul(self.matrix, unknowns[:, :, None])[:, :, 0]

    def _derivatives(self, scores: Floats) -> tuple[Floats, Floats]:
        first, second = self.loss.derivatives(scores, self.labels)
        if self.shares is not None:
            first *= self.shares
            second *= self.shares
        return first, second

    def _point(self, unknowns: Floats, scores: Floats, slopes: Floats, hess: Floats) -> Point:
        gradient = self.ridge * unknowns
        gradient += np.matmul(slopes[:, None, :], self.matrix)[:, 0, :]
        return Point(unknowns, scores, slopes, hess, gradient)

    def gaps(self, point: Point) -> list[float]:
        """The duality gap of each output."""
        weights, scale = point.gradient[:, : self.features], self.unit * self.unit / (2.0 * self.lam)
        gaps = [scale * square for square in _dots(weights, weights)]
        if not self.free:
            return gaps
        # the last term estimates the dual objective that a correction of theta to sum zero costs
        ends = zip(gaps, point.gradient[:, -1].tolist(), point.unknowns[:, -1].tolist(), strict=True)
        return [gap + self.unit * abs(total) * (1.0 + abs(last)) for gap, total, last in ends]

    def objectives(self, point: Point) -> list[float]:
        """The objective of each output."""
        losses = self.loss.value(point.scores, self.labels)
        if self.shares is not None:
            losses = losses * self.shares
        weights = point.unknowns[:, : self.features]
        each = zip(np.add.reduce(losses, axis=1).tolist(), _dots(weights, weights), strict=True)
        return [self.unit * total + 0.5 * self.lam * penalty for total, penalty in each]

    def theta(self, point: Point) -> Floats:
        """The dual point of each output."""
        return -self.unit * point.slopes

    def step(self, point: Point) -> tuple[Point, list[int]] | None:
        """Minimize the quadratic model; return the next point and the rows read for each, or None if there is none.

        A row is read for the Hessian if f'' is not zero, for the change of the scores, and for
        the gradient if f' is not.
        """
        direction, read = np.empty_like(point.gradient), []
        for k, hess in enumerate(point.hess):
            count = int(np.count_nonzero(hess))
            if not count:
                # the loss is linear at all scores: with its largest curvature the step is a short one
                hess = self.loss.largest_curvature * (np.ones(len(hess)) if self.shares is None else self.shares)
                count = len(hess)
            rows, curvatures = self.matrix, hess
            if count < len(hess):
                active = hess.nonzero()[0]
                rows, curvatures = rows.take(active, axis=0), hess.take(active)
            if self.equal_curvatures:
                hessian = rows.T @ rows
                hessian *= curvatures[0]
            else:
                rows = rows * np.sqrt(curvatures)[:, None]
                hessian = rows.T @ rows
            hessian.ravel()[:: len(hessian) + 1] += self.ridge
            # LAPACK has columns in the place of rows
            _, direction[k], failed = dposv(hessian.T, point.gradient[k], overwrite_a=True)
            if failed:
                return None
            read.append(count + len(hess))
        found = self._line_search(point, direction)
        if found is None:
            return None
        return found, [rows + int(np.count_nonzero(slopes)) for rows, slopes in zip(read, found.slopes, strict=True)]

    def _line_search(self, point: Point, direction: Floats) -> Point | None:
        """Find where the slope of each objective along its direction is small, from steps of length one on."""
        change, firsts = self._product(direction), _dots(point.gradient, direction)
        lows, highs = [(0.0, first) for first in firsts], [(math.inf, math.nan)] * len(firsts)
        lengths: list[float] = [1.0] * len(firsts)
        steps: float | Floats = 1.0
        for _ in range(EVALUATIONS):
            # most first points are accepted, so that the gradient at a point gives the slope
            scores = point.scores - steps * change
            found = self._point(point.unknowns - steps * direction, scores, *self._derivatives(scores))
            done = True
            for k, slope in enumerate(_dots(found.gradient, direction)):
                if abs(slope) <= SMALL_SLOPE * firsts[k]:
                    continue
                done = False
                if slope > 0.0:
                    lows[k] = lengths[k], slope
                else:
                    highs[k] = lengths[k], slope
                lengths[k] = between(firsts[k], lows[k], highs[k])
            if done:
                return found
            steps = np.array(lengths)[:, None]
        return None


def _dots(rows: Floats, others: Floats) -> list[float]:
    """The scalar product of each row with another."""
    found: list[float] = np.vecdot(rows, others).tolist()
    return found


def between(first: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """The length where a line through the slopes at both is zero; above the lower one alone, where there is one.

    ``first`` is the slope at zero.  Slopes are positive at the lower length and negative at the higher one.
    """
    (a, above), (b, below) = low, high
    if math.isinf(b):
        return a * min(max(first / (first - above), _LEAST_GROWTH), _MOST_GROWTH) if above < first else _MOST_GROWTH * a
    found = a + (b - a) * above / (above - below)
    # away from the ends, so that the interval shrinks
    margin = _SHRINKING * (b - a)
    return min(max(found, a + margin), b - margin) if math.isfinite(found) else 0.5 * (a + b)


def solve_tiny(
    steps: TinySteps, intercepts: Floats, tol: float, scales: list[float], most: float
) -> tuple[Floats, Floats, list[int]] | None:
    """Make steps until each gap is ``tol`` times its objective, which is at most ``scales``, or may be rounding error.

    They begin without weights.  Return unknowns, theta and the rows read of each; None if that takes more than
    ``most``, or a step is not possible.
    """
    theta, unknowns = np.empty(steps.labels.shape), np.empty((len(intercepts), steps.matrix.shape[1]))
    read, alive = [0] * len(intercepts), list(range(len(intercepts)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        present = steps.begin(intercepts)
        while True:
            going = _unsolved(steps, present, tol, scales)
            if not all(going):
                thetas = steps.theta(present)
                for j, k in enumerate(alive):
                    if not going[j]:
                        unknowns[k], theta[k] = present.unknowns[j], thetas[j]
                if not any(going):
                    return unknowns, theta, read
                chosen = np.array(going)
                alive, steps, present = list(compress(alive, going)), steps.of(chosen), present.of(chosen)
                scales = list(compress(scales, going))
            following = None if max(read) >= most else steps.step(present)
            if following is None:
                return None
            present = following[0]
            for k, rows in zip(alive, following[1], strict=True):
                read[k] += rows


def _unsolved(steps: TinySteps, point: Point, tol: float, scales: list[float]) -> list[bool]:
    """Whether each gap is above the target of ``solve_tiny``."""
    gaps = steps.gaps(point)
    if not any(gap <= tol * scale for gap, scale in zip(gaps, scales, strict=True)):
        # the objectives are not needed yet
        return [True] * len(gaps)
    each = zip(gaps, scales, steps.objectives(point), strict=True)
    return [not gap <= max(tol * min(scale, abs(p)), CLEARLY_ABOVE_ROUNDING * scale) for gap, scale, p in each]
