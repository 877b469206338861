r"""Proximal steps over dual points of several classes with free intercepts, whose columns sum to zero.

The step of ``dual_sets`` with :math:`\sum_i\theta_i = 0`, k equalities of rank k - 1 (the rows sum to zero).

.. math::
    \varphi(b) = \min_\theta\; R^*(-\theta) + \sum_i (s_i + b)\cdot\theta_i + q\,d(\theta - \bar\theta)

over the product of the examples' blocks separates: each example makes its own step with b added to its scores.
:math:`\varphi` is concave with gradient :math:`\sum_i\theta_i(b)`.  With A the entries of an example that are strictly
between their bounds, the derivative of its step is the projection onto the vectors on A of sum zero, for both risks (in
eq. (4) of Wang and Scott the entry of the label is always in A):

.. math::
    -\nabla^2\varphi = \sum_i \frac{c_i}q \Big(\mathrm{diag}(1_A) - \frac{1_A 1_A^T}{|A|}\Big) \preceq
    \frac1q \Big(I - \frac{1 1^T}k\Big)

1. Semismooth Newton steps start from the multipliers of the last step with a similar curvature.  A ridge that is
   proportional to the norm of the gradient bounds the step by the range of the scores.
2. A line search reduces the directional derivative to a share of its size.  It uses no values of :math:`\varphi`, which
   would suffer from cancellation.
3. For a small q, :math:`\varphi` is nearly piecewise linear, and many steps may be needed.  If a few steps are not
   enough, continuation is used: q decreases from the size of the scores by factors of ten, each time from the last
   multipliers.

The multipliers are intercepts: at the scores Xw with :math:`q = \mu` they are optimal for the smoothed risk.  With them
:math:`J_\mu(w)` is a maximum over the blocks without the equalities, so the gap of :math:`(w, b)` is at most
:math:`\mu D_2` with :math:`D_2` of the blocks.

==================  ==========================================
symbol              here
==================  ==========================================
:math:`\bar\theta`  ``centre``
q                   ``curvature``
b                   ``multipliers``
A                   ``free``
==================  ==========================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS
from fenchel.numerics.line_search import Bracket
from fenchel.risks import MulticlassRisk
from fenchel.solvers.reference.dual_sets import ClassBlocks, DualSet

#: tolerance of the sum of a column, relative to the sum of all |theta|
_SUM_TOLERANCE = 1e-13
#: largest number of Newton steps from the last multipliers, and for each q of the continuation
_MAX_STEPS, _MAX_CONTINUATION_STEPS = 8, 30
#: factor of q in the continuation
_CONTINUATION_FACTOR = 0.1
#: smallest ridge, relative to the largest curvature
_RIDGE = 1e-12
#: relative size of the derivative at which the line search ends, and its largest number of evaluations
_LINE_SEARCH_TOLERANCE, _MAX_EVALUATIONS = 0.3, 60


class BalancedClasses(DualSet):
    """Blocks of several classes with free intercepts."""

    risk: MulticlassRisk

    def __init__(self, blocks: ClassBlocks) -> None:
        super().__init__(blocks.risk, blocks.d_range)
        self.blocks = blocks
        #: the curvatures and multipliers of the last steps, with mu and with L
        self._last: list[tuple[float, Floats]] = []

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        return self._maximize(centre, scores, curvature).theta

    def intercepts(self, centre: Array, scores: Array, mu: float) -> Floats:
        """Return the intercepts of the smoothed risk, improved by exact coordinate steps; their sum is zero."""
        found = self._maximize(centre, scores, mu).multipliers
        found = found - np.mean(found)
        return found + self.risk.best_intercept(scores + found)

    def feasible(self, theta: Array) -> Floats:
        return self.risk.balance(self.blocks.feasible(theta), overwrite=True)[0]

    def _maximize(self, centre: Array, scores: Array, curvature: float) -> _Evaluation:
        # 1. and 2.
        dual, (start, place) = _Dual(self.blocks, centre, scores, curvature), self._start(curvature)
        found = dual.maximized(start, _MAX_STEPS)
        # 3. continuation
        if not found.converged:
            q, start = max(dual.reach, curvature), np.zeros(self.risk.outputs)
            while q > curvature:
                start = replace(dual, curvature=q).maximized(start, _MAX_CONTINUATION_STEPS).multipliers
                q = max(_CONTINUATION_FACTOR * q, curvature)
            found = min(
                found, dual.maximized(start, _MAX_CONTINUATION_STEPS), key=lambda evaluate: evaluate.largest_sum
            )
        self._last[place : place + 1] = [(curvature, found.multipliers)]
        return found

    def _start(self, curvature: float) -> tuple[Floats, int]:
        """Return the multipliers of the most similar curvature, and the index of the entry to replace."""
        if not self._last:
            return np.zeros(self.risk.outputs), 0
        places = range(len(self._last))
        nearest = min(places, key=lambda place: abs(math.log(self._last[place][0] / curvature)))
        return self._last[nearest][1], nearest if len(self._last) == 2 else 1


class _Evaluation(NamedTuple):
    """The minimizer for some multipliers."""

    multipliers: Floats
    theta: Floats
    free: NDArray[np.bool_]
    #: the sums of the columns, and their tolerances
    sums: Floats
    tolerances: Floats

    @property
    def largest_sum(self) -> float:
        return float(np.max(np.abs(self.sums)))

    @property
    def converged(self) -> bool:
        return bool(np.all(np.abs(self.sums) <= self.tolerances))


@dataclass(frozen=True, eq=False)
class _Dual:
    """phi and its derivatives."""

    blocks: ClassBlocks
    centre: Floats
    scores: Floats
    curvature: float

    @property
    def reach(self) -> float:
        """The size of scores and margins."""
        return 1.0 + float(np.max(np.abs(self.scores)))

    def evaluate(self, b: Array) -> _Evaluation:
        theta, free = self.blocks.step_and_free(self.centre, self.scores + b, self.curvature)
        # rounding errors of the scores change the entries between their bounds
        spacing = EPS * (self.reach + float(np.max(np.abs(b)))) / self.curvature
        tolerances = _SUM_TOLERANCE * float(np.sum(np.abs(theta))) + spacing * (self.blocks.risk.shares @ free)
        return _Evaluation(b, theta, free, np.sum(theta, axis=0), tolerances)

    def maximized(self, start: Array, steps: int) -> _Evaluation:
        """Make Newton steps until the sums are within their tolerances; return the best evaluation."""
        here = best = self.evaluate(start)
        for _ in range(steps):
            if here.converged:
                break
            here = self._line_search(here, self._newton_step(here))
            best = min(best, here, key=lambda evaluate: evaluate.largest_sum)
        return best

    def _newton_step(self, here: _Evaluation) -> Floats:
        """Return the semismooth Newton step 1."""
        shares, active = self.blocks.risk.shares, here.free.astype(np.float64)
        sizes = np.maximum(np.sum(active, axis=1), 1.0)
        hess = np.diag(shares @ active) - active.T @ (active * (shares / sizes)[:, None])
        # phi is constant along equal changes of all intercepts
        hess += 1.0 / len(hess)
        size = 0.5 * self.curvature * float(np.linalg.norm(here.sums)) / self.reach
        hess[np.diag_indices_from(hess)] += min(max(size, _RIDGE), 1.0)
        return self.curvature * np.linalg.solve(hess, here.sums)

    def _line_search(self, here: _Evaluation, step: Array) -> _Evaluation:
        """Search along a step (2.)."""
        first, t = float(step @ here.sums), 1.0
        bracket = Bracket(-first, growth=4.0)
        for _ in range(_MAX_EVALUATIONS):
            found = self.evaluate(here.multipliers + t * step)
            derivative = float(step @ found.sums)
            if abs(derivative) <= _LINE_SEARCH_TOLERANCE * first:
                break
            t = bracket.secant(t, -derivative)
            if not bracket.low < t < bracket.high:
                break
        return found
