r"""A working set of features, and the minimum of the quadratic model on it: see ``prox_newton``.

.. math::
    \min_{p, r}\; -\theta\cdot(Xp + r) + \tfrac12\sum_i h_i\,(Xp + r)_i^2 + \lambda\|w + p\|_1

over the features of the working set.  The Hessian of a small working set is formed (``step_by_matrix``), which keeps
its accuracy where features are strongly correlated; otherwise coordinate descent passes over the columns
(``step_by_columns``).

A data pass is a pass of coordinate descent over all of X, which reads every entry twice; a product counts as half a
pass.  A Newton step counts as its products with the columns of the working set, as a share of X.  The iterations that
minimize its model are bounded by themselves and not counted, as in newGLMNET (Yuan, Ho and Lin, JMLR 13, 2012): an
ill-conditioned working set takes thousands of them, none over X.  Where they are not enough, the Hessian of the nonzero
weights is formed (``_minimize_on_support``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs import Design, as_design
from fenchel.problem import Problem
from fenchel.risks import MeanRisk
from fenchel.solvers.l1.loop import QuadraticModel, descend, moments, new_schedule
from fenchel.solvers.l1.loop_columns import copy_columns
from fenchel.solvers.l1.loop_small import Small
from fenchel.solvers.l1.rules import FIRST_DAMPING, INNER_TOLERANCE, LEAST_DAMPING, SHORT_STEP
from fenchel.solvers.quadratic_l1 import FIRST_ROUNDS, minimize_quadratic_l1
from fenchel.solvers.threads import Parts, weighted_gram

#: sweeps of coordinate descent between two face steps
_SWEEPS = 50
#: largest number of passes of coordinate descent in one Newton step
_MAX_PASSES = 300
#: steps in a row that end with these passes before the Hessian of the nonzero weights is formed, and most of them
_MOST_UNCONVERGED, _MOST_SOLVED = 3, 1000
#: entries that one call of coordinate descent reads, about a fifth of a second, and its fewest passes
_ENTRIES_OF_CALL, _FEWEST_PASSES = 100_000_000, 10
#: relative rounding error of a centred curvature, which bounds it from below
_CANCELLATION = 1e-12
#: the method stalls after this many working sets in a row without a smaller objective or gap
_MAX_ROUNDS_WITHOUT_PROGRESS = 3


class DualPoint(NamedTuple):
    """theta, and X^T theta of the features of the working set."""

    theta: Floats
    x_theta: Floats


@dataclass
class OutputState:
    """State of one output, with its working set."""

    problem: Problem
    weights: Floats
    #: X w + b
    scores: Floats
    #: features that are not screened, and sqrt(sum_i c_i x_ij^2) of each
    unscreened: NDArray[np.int64]
    norms: Floats
    intercept: float = 0.0
    #: features of the working set
    working_set: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: X restricted to the working set if its Hessian is formed, else the transpose of that
    design: Design | None = None
    columns: Design | None = None
    #: X^T theta of the present scores, if the next step needs it and it is known
    x_theta: Floats | None = None
    #: the arrays of the compiled steps of a small problem
    small: Small | None = None
    #: largest working set whose Hessian is formed
    most_formed: int = 0
    #: whether the next step minimizes over all features by the Gram matrix
    by_gram: bool = False
    #: objective, duality gap and KKT violation over all features when the working set was selected
    objective: float = np.inf
    gap: float = np.inf
    violation: float = np.inf
    #: minus the gradient of the last quadratic model at its minimizer, which satisfies the KKT conditions of the model
    dual_of_model: DualPoint | None = None
    #: the dual point to propose, if it is not minus the gradient at the scores
    witness: Floats | None = None
    #: the objective of the present weights
    present_objective: float = np.inf
    #: whether the next step selects a new working set
    select_next: bool = True
    rounds_without_progress: int = 0
    #: steps in a row whose model was not minimized to its tolerance
    unconverged: int = 0
    #: damping of the quadratic model, a share of the largest second derivative
    damping: float = FIRST_DAMPING

    @property
    def stalled(self) -> bool:
        return self.rounds_without_progress >= _MAX_ROUNDS_WITHOUT_PROGRESS

    @property
    def entries(self) -> int:
        """The entries of X in the working set, or zero if there is none."""
        part = self.columns or self.design
        return 0 if part is None else part.stored_entries

    @property
    def support(self) -> NDArray[np.intp]:
        """The positions of the nonzero weights, which are few, among the unscreened features, which may be millions."""
        nonzero, unscreened = np.flatnonzero(self.weights), self.unscreened
        found = np.searchsorted(unscreened, nonzero)
        if len(unscreened) < len(self.weights):
            # a working set that is kept may give weights to features that were screened
            inside = found < len(unscreened)
            found, nonzero = found[inside], nonzero[inside]
            found = found[unscreened[found] == nonzero]
        return found

    def scores_of(self, weights: Array) -> Floats:
        """X w for weights of the working set."""
        if self.columns is not None:
            return self.columns.adjoint(weights)
        assert self.design is not None
        return self.design.scores(weights)

    def adjoint_of(self, theta: Array) -> Floats:
        """X^T theta of the features of the working set."""
        if self.columns is not None:
            return self.columns.scores(theta)
        assert self.design is not None
        return self.design.adjoint(theta)

    def update_objective(self) -> None:
        """Compute the objective at the present weights and scores."""
        penalty = self.problem.lam * float(np.sum(np.abs(self.weights)))
        self.present_objective = penalty + self.problem.risk.value(self.scores)

    def proposed_theta(self) -> Floats:
        """The witness, or minus the gradient of the risk."""
        return -self.problem.risk.subgradient(self.scores) if self.witness is None else self.witness

    def adapt_damping(self, step: float) -> None:
        """Raise the damping tenfold after a short step, which shows too small a curvature; else lower it."""
        short = step < SHORT_STEP
        self.damping = min(10.0 * self.damping, 1.0) if short else max(0.1 * self.damping, LEAST_DAMPING)


def reused(design: Design, name: str, weights: Array, make: Callable[[], tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """Return sums over the rows of a design, those of the last call if the rows have the same weights."""
    known = design.reusable.get(name)
    if known is None or not np.array_equal(known[0], weights):
        known = design.reusable[name] = (weights.copy(), *make())
    return known[1:]


def columns_of(design: Design, selected: Array) -> Design:
    """Return the selected columns (ascending) as rows of a design, in float64."""
    counts = design.column_counts
    if counts is None:
        return design.narrowed(selected).transposed()
    (examples, features), begin = design.shape, np.zeros(len(selected) + 1, dtype=np.int64)
    np.cumsum(counts[selected], out=begin[1:])
    chosen, ends = np.zeros(features, dtype=np.bool_), np.empty(features, dtype=np.int64)
    chosen[selected], ends[selected] = True, begin[:-1]
    indices, data = np.empty(begin[-1], dtype=np.int32), np.empty(begin[-1])
    copy_columns(design.rows(), examples, chosen, ends, indices, data)
    return as_design(sp.csr_array((data, indices, begin), shape=(len(selected), examples)))


def feasible_scale(lam: float, x_theta: Array) -> float:
    """Return the largest t <= 1 for which t theta satisfies the constraints |X^T theta|_j <= lam."""
    return min(1.0, lam / max(float(np.max(np.abs(x_theta), initial=0.0)), float(np.finfo(np.float64).tiny)))


def damp(hess: Array, risk: MeanRisk, damping: float) -> None:
    """Bound the second derivatives from below; with ``damping`` 1 the quadratic model majorizes the risk."""
    largest = risk.loss.largest_curvature
    if math.isinf(largest):
        largest = float(np.max(np.divide(hess, risk.shares, out=np.zeros_like(hess), where=risk.shares > 0))) or 1.0
    np.maximum(hess, damping * largest * risk.shares, out=hess)


def step_by_matrix(
    output: OutputState, weights: Array, theta: Array, hess: Array, x_theta: Array, tolerance: float, last: float
) -> tuple[Floats, float, Floats]:
    """Minimize the quadratic model with its Hessian formed; return p, r, and X^T theta of its dual point.

    The KKT violation is at most ``tolerance``, and at most ``last`` if few rounds are enough for that.
    """
    design, free, size = output.design, output.problem.intercept, len(weights)
    assert design is not None
    formed, border = reused(
        design, "gram", hess, lambda: weighted_gram(design, np.arange(len(theta)), hess, Parts(design))
    )
    matrix, gradient = np.zeros((size + free, size + free)), np.zeros(size + free)
    matrix[:size, :size], gradient[:size] = formed, -x_theta
    if free:
        matrix[size, :size] = matrix[:size, size] = border
        matrix[size, size], gradient[size] = np.sum(hess), -np.sum(theta)
    thresholds, point = np.full(size + free, output.problem.lam), np.zeros(size + free)
    thresholds[size:], point[:size] = 0.0, weights
    # to its end only if that takes no interior-point method
    for end, rounds in ((tolerance, None), (last, FIRST_ROUNDS))[: 1 + (last < tolerance)]:
        inner = INNER_TOLERANCE * end
        accuracy = {"step_tolerance": INNER_TOLERANCE * inner, "tolerance": inner}
        minimize_quadratic_l1(matrix, thresholds, point, gradient, **accuracy, sweeps=_SWEEPS, rounds=rounds)
    return point[:size] - weights, float(point[size]) if free else 0.0, -gradient[:size]


def step_by_columns(
    output: OutputState, weights: Array, theta: Array, hess: Array, x_theta: Array, tolerance: float, last: float
) -> tuple[Floats, float, Floats]:
    """The same by coordinate descent over columns, to ``last``."""
    problem, columns = output.problem, output.columns
    assert columns is not None
    rows, first, second = columns.rows(), np.zeros(len(weights)), np.zeros(len(weights))
    moments(rows, hess, first, second)
    total = float(np.sum(hess)) if problem.intercept else 0.0
    gradient, shift, new = -theta, np.zeros(1), weights.copy()
    if problem.intercept:
        shift[0] = -float(np.sum(gradient)) / total
        second = np.maximum(second - first**2 / total, _CANCELLATION * second)
    else:
        first[:] = 0.0
    np.maximum(second, np.finfo(np.float64).tiny, out=second)
    model = QuadraticModel(gradient, hess, shift, first, second, total, problem.lam)
    # a call of a loop can't be stopped
    schedule, converged = new_schedule(), False
    most = max(_FEWEST_PASSES, _ENTRIES_OF_CALL // max(1, columns.stored_entries))
    for _ in range(math.ceil(_MAX_PASSES / most)):
        converged = descend(rows, new, model, schedule, last, min(most, _MAX_PASSES))[2]
        if converged:
            break
    output.unconverged = 0 if converged else output.unconverged + 1
    if output.unconverged > _MOST_UNCONVERGED:
        _minimize_on_support(output, new, model, last)
    return new - weights, float(shift[0]), output.adjoint_of(-(gradient + shift[0] * hess))


def _minimize_on_support(output: OutputState, weights: Floats, model: QuadraticModel, tolerance: float) -> None:
    """Minimize the model over the nonzero weights with their Hessian formed, for columns that are nearly dependent."""
    support = np.flatnonzero(weights)
    if not 0 < support.size <= _MOST_SOLVED:
        return
    design = output.problem.design.narrowed(output.working_set[support])
    matrix, first = weighted_gram(design, np.arange(len(model.hess)), model.hess, Parts(design))
    point, free = weights[support], model.total > 0.0
    gradient = design.adjoint(model.gradient)
    if free:
        matrix -= np.outer(first, first) / model.total
        gradient += model.shift[0] * first
    thresholds = np.full(support.size, model.lam)
    minimize_quadratic_l1(
        matrix, thresholds, point, gradient, step_tolerance=0.1 * tolerance, tolerance=tolerance, sweeps=_SWEEPS
    )
    if free:
        model.shift[0] -= float(first @ (point - weights[support])) / model.total
    weights[support] = point


def with_l1_derivative(derivative: float, lam: float, weights: Array, change: Array, *, right: bool = False) -> float:
    """Add the directional derivative of lam |w|_1 along ``change``.

    Returns the element of the subdifferential that is nearest to zero, or the right derivative.
    """
    at_zero = weights == 0.0
    kinks = lam * float(np.sum(np.abs(change[at_zero])))
    derivative += lam * float(np.sign(weights[~at_zero]) @ change[~at_zero])
    if right:
        return derivative + kinks
    return derivative - float(np.clip(derivative, -kinks, kinks))
