r"""A sample of the examples, with the sums over it that Newton's method needs, divided among threads.

==========================  =======================================================================
symbol                      attribute
==========================  =======================================================================
:math:`c_i` (sum to one)    ``shares``, of the sample
:math:`s_i`                 ``scores``, with the intercept
:math:`\bar\alpha_i`        ``centre`` of the smoothing
:math:`\theta_i = c_i a_i`  ``theta``, the dual point of the smoothed loss at the scores
:math:`c_i h_i`             ``hess``, the second derivative of the smoothed loss there
==========================  =======================================================================
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.example_sums import (
    add_adjoint,
    directional_derivatives,
    hess_product,
    mean_hess,
    multiply,
    smoothed_dual_point,
)
from fenchel.designs import Design
from fenchel.problem import Problem
from fenchel.solvers.newton.loop_small import NUMBERS, Small
from fenchel.solvers.newton.rules import AVERAGING_RADIUS, AVERAGING_RADIUS_OF_SMOOTH
from fenchel.solvers.newton.tiny import TinySteps, is_tiny
from fenchel.solvers.threads import Parts, weighted_gram

#: features, and entries of X, up to which ``newton_steps`` makes the steps
_FEW_FEATURES, _FEW_ENTRIES = 64, 1 << 18
#: multiplications for H up to which it makes those of losses with kinks
_LITTLE_WORK = 1 << 21


def is_small(problem: Problem, rows: int) -> bool:
    """Whether ``newton_steps`` makes the steps for this many rows of a problem."""
    features = problem.design.shape[1]
    few = features <= _FEW_FEATURES and rows * features <= _FEW_ENTRIES and problem.regularizer.is_ridge
    return few and (problem.risk.smooth or rows * features**2 <= _LITTLE_WORK)


def dense_rows(design: Design, selected: Array) -> Floats:
    """The selected rows as an array in float64, of a design whose rows are few."""
    blocks = design.blocks(selected, len(selected))
    return next(blocks)[1] if blocks is not None else design.scores(np.eye(design.shape[1]))[selected]


class RowSample:
    """Rows of a problem, with one score for each or one for each class."""

    def __init__(self, problem: Problem, selected: Array, *classes: int) -> None:
        self.design, self.rows, self.selected = problem.design, problem.design.rows(), selected
        shares = problem.risk.shares[selected]
        self.shares, self.features = shares / np.sum(shares), self.design.shape[1]
        self.scores, self.change, self.theta = (np.zeros((len(selected), *classes)) for _ in range(3))


class Sample(RowSample):
    """Rows of a problem (one output), and sums over them."""

    def __init__(self, problem: Problem, labels: Array, selected: Array, pool: ThreadPoolExecutor | None) -> None:
        super().__init__(problem, selected)
        self.problem = problem
        self.labels = np.ascontiguousarray(labels[selected])
        self.centre, self.hess = np.zeros(len(selected)), np.zeros(len(selected))
        self.parts = Parts(self.design, pool, len(selected))
        loss = problem.mean_risk.loss
        #: the Hessian is averaged over this share of the last change of the scores
        self.averaging = AVERAGING_RADIUS
        if loss.smooth:
            # curvature on a bounded interval, which examples pass; that of the squared hinge has one end, and averages
            # double the steps of separable data (mushrooms and kddcup99, C = 10 and 100)
            passed = loss.piecewise_quadratic() is not None and math.isfinite(loss.smoothing_width)
            self.averaging = AVERAGING_RADIUS_OF_SMOOTH if passed else 0.0
        #: the smoothed loss at the scores, for compiled loops; the arrays are changed in place only
        self.loss = loss.compiled()
        self._smoothed = (self.loss, self.labels, self.shares, self.centre, self.scores)

    @cached_property
    def tiny(self) -> TinySteps | None:
        """The steps of a tiny problem, or None if it is not."""
        if not is_tiny(self.problem, len(self.selected)):
            return None
        return TinySteps(self.problem, dense_rows(self.design, self.selected), self.labels[None], self.shares)

    @cached_property
    def small(self) -> Small | None:
        """The arrays of ``newton_steps``, or None if the problem is tiny or not small."""
        problem, features = self.problem, self.features
        if self.tiny is not None or not is_small(problem, len(self.selected)) or self.parts.count > 1:
            return None
        examples = self._dense(), self.labels, self.shares, self.centre, self.scores, self.change
        state = np.empty(features), np.empty(features), np.empty(NUMBERS), np.empty((features + 3, features + 1))
        return Small(problem.lam, problem.intercept, self.averaging, *examples, self.theta, self.hess, *state)

    @property
    def few(self) -> bool:
        """Whether steps are made many at a time."""
        return self.tiny is not None or self.small is not None

    def _dense(self) -> Floats:
        """The rows as an array in float64 and C order."""
        if len(self.selected) == self.design.shape[0] or self.design.blocks(self.selected, 1) is not None:
            rows = dense_rows(self.design, self.selected)
        else:
            # the other rows may be many, and their scores as an array larger than X
            columns = np.empty((self.features, len(self.selected)))
            for unit, column in zip(np.eye(self.features), columns, strict=True):
                self.multiply(unit, 0.0, column)
            rows = columns.T
        rows = np.ascontiguousarray(rows).view()
        rows.setflags(write=False)
        return rows

    def multiply(self, weights: Array, intercept: float, result: Array) -> None:
        """Write X w + b into ``result``."""
        self.parts.each(lambda begin, end: multiply(self.rows, self.selected, weights, result, begin, end))
        result += intercept

    def update_dual_point(self, mu: float) -> tuple[float, float]:
        """Update theta and the Hessian at the scores; return the Fenchel-Young gap and the sum of theta."""
        found = self.parts.each(
            lambda begin, end: smoothed_dual_point(*self._smoothed, mu, self.theta, self.hess, begin, end)
        )
        return sum(gap for gap, _ in found), sum(total for _, total in found)

    def average_hess(self, mu: float, radius: float) -> None:
        """Replace the second derivatives by their averages over scores up to ``radius`` away."""
        self.parts.each(lambda begin, end: mean_hess(*self._smoothed, mu, radius, self.hess, begin, end))

    def directional_derivatives(self, step: float, mu: float) -> tuple[float, float]:
        """Return the first and second derivative of the smoothed risk along ``change``."""
        found = self.parts.each(
            lambda begin, end: directional_derivatives(*self._smoothed, self.change, step, mu, begin, end)
        )
        return sum(first for first, _ in found), sum(second for _, second in found)

    def adjoint(self) -> Floats:
        """Return X^T theta."""

        def part(begin: int, end: int) -> Array:
            result = np.zeros(self.features)
            add_adjoint(self.rows, self.selected, self.theta, result, begin, end)
            return result

        return sum(self.parts.each(part))

    def hess_product(self, active: Array, weights: Array, intercept: float) -> tuple[Floats, float]:
        """Return X^T diag(hess) (X w + b) over the positions in ``active``, and the sum of hess (X w + b)."""
        selected, hess = self.selected[active], self.hess[active]

        def part(begin: int, end: int) -> tuple[Array, float]:
            result = np.zeros(self.features)
            return result, hess_product(self.rows, selected, hess, weights, intercept, result, begin, end)

        found = self.parts.each(part, len(active))
        return sum(product for product, _ in found), sum(total for _, total in found)

    def gram(self, active: Array, *, single: bool = False) -> tuple[Floats, Floats]:
        """Return X^T diag(hess) X and X^T hess over the positions in ``active``."""
        return weighted_gram(self.design, self.selected[active], self.hess[active], self.parts, single=single)
