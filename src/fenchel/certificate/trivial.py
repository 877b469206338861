"""Whether the model without weights is as good as the one that a certificate is for, up to rounding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fenchel.certificate.certificate import RESOLVED
from fenchel.certificate.rounding import Errors
from fenchel.numerics.rounding import UNIT
from fenchel.problem import Problem

if TYPE_CHECKING:
    from fenchel.certificate.dual import Bound
    from fenchel.certificate.primal import Primal


def zero_objective(problem: Problem) -> float:
    """The objective of the model without weights, with its best intercept; it does not depend on lam."""
    weights = problem.zero_model().weights
    with np.errstate(over="ignore", invalid="ignore"):
        if np.any(weights):
            scores = problem.design.scores(weights)
            scores += problem.best_intercept(scores)
            return problem.lam * problem.regularizer.value(weights) + problem.risk.value(scores)
        risk = problem.risk.constant_value if problem.intercept else problem.risk.value_at_zero
        return problem.lam * problem.regularizer.value(weights) + risk


def may_be_trivial(problem: Problem, primal: Primal, bound: Bound, errors: Errors) -> bool:
    r"""Whether the gap is within rounding and the zero model may be as good, without its objective.

    For ridge a theta that sums to zero proves :math:`R(b) \ge -R^*(-\theta) = D(\theta) + \lambda\,\Omega^*(v)` for
    every b.
    """
    floor, gap = errors.primal + errors.dual, primal.value - bound.value
    if not math.isfinite(primal.value) or not gap <= floor:
        return False
    proved = problem.regularizer.is_ridge and not bound.trusted and not bound.unbalanced.any()
    return not (proved and problem.lam * bound.penalty > gap + 2.0 * floor)


def is_trivial(problem: Problem, value: float, floor: float, zero: float) -> bool:
    """Whether the zero model is as good up to rounding, and rounding is a small share of R(0)."""
    # R(0) = 0 has no size of its own: that of a loss of one counts then
    known = math.isfinite(floor) and floor <= RESOLVED * (problem.risk.value_at_zero or UNIT)
    return known and zero <= value + floor
