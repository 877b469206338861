r"""Certificates of means of losses whose rows lie in groups elsewhere: sums over the examples are computed there.

.. math::
    R(s) = \sum_k R_k(s_k), \qquad R^*(-\theta) = \sum_k R_k^*(-\theta_k), \qquad X^T\theta = \sum_k X_k^T\theta_k

with the functions of ``primal``, ``dual`` and ``rounding``, which get the problem of a group: its rows, and its term of
the risk.  Sums over the groups are taken in their order; the errors of their terms add up, and each sum is rounded once
more.  The weights go to the groups, and d numbers come back from each, never n.

=========  ==========================================================================================
exchange   what every group computes
=========  ==========================================================================================
first      scores and :math:`R_k`; theta in the domain, and the sums of its positive and negative entries
second     theta with the heavier sign scaled down, its exact sum, :math:`X_k^T\theta_k` and :math:`R_k^*`
third      with an intercept, one group: what rounding left of :math:`\sum\theta` goes into one entry
fourth     if the gap is near the bounds on its rounding errors, the finer ones, row by row
=========  ==========================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Floats
from fenchel.certificate import group_terms as beside
from fenchel.certificate.dual import Bound, Point, not_below_zero, nothing, of_point, zero_bound
from fenchel.certificate.group_terms import About, DualSums
from fenchel.certificate.held_witness import HeldWitness
from fenchel.certificate.primal import Primal, check_intercept, check_weights, level_of, primal_of
from fenchel.certificate.rounding import NEAR_FLOOR, Errors, adjoint_spread, errors_of_terms, rough_risk_error
from fenchel.designs.row_groups import RowGroups
from fenchel.numerics.error_free import fsum
from fenchel.numerics.limits import EPS
from fenchel.numerics.rounding import UNIT
from fenchel.problem import Model, Problem, Witness

#: an entry that is moved and rounded differs by at most twice as much: the float that it was is as near
_ROUNDED_MOVE = 2.0 * (1.0 + 1e-6)


class ByGroups(NamedTuple):
    """The two sides with their errors; the witness is None where zero or nothing is the better one."""

    primal: Primal
    bound: Bound
    errors: Errors | None
    witness: Witness | None


def rows_in_groups(problem: Problem) -> RowGroups | None:
    """The groups of rows of a problem whose certificates are computed beside them; None for other problems.

    Those are means of losses with a lower bound that do not overflow, with a regularizer whose conjugate is finite, so
    that no multiple of theta has to be found.
    """
    rows, mean = problem.design.in_groups(), problem.risk.separable()
    if rows is None or mean is None or not mean.loss.bounded_below or mean.loss.overflows:
        return None
    regularizer = problem.regularizer
    if regularizer.free_directions() is not None:
        return None
    return rows if math.isinf(regularizer.largest_scale(np.zeros(problem.weights_shape), 1.0)) else None


def judged_by_groups(problem: Problem, model: Model, witness: Witness) -> ByGroups | None:
    """Both sides of a certificate from sums beside the rows; None where ``gap.judge`` gathers scores."""
    rows = rows_in_groups(problem)
    if rows is None:
        return None
    held = witness if isinstance(witness, HeldWitness) else None
    if held is None and np.shape(witness.theta) != problem.theta_shape:
        return None
    weights = np.ascontiguousarray(model.weights, dtype=np.float64)
    check_weights(problem, weights)
    intercept = model.intercept
    if intercept is None:
        intercept = problem.best_intercept(problem.design.scores(weights)) if problem.intercept else 0.0
        intercept = problem.no_intercept() if not problem.intercept else intercept
    check_intercept(problem, intercept)
    found = _Exchanges(problem, rows, Model(weights, intercept)).sides(held, witness)
    if found is None:
        assert held is not None
        # some dual variables were lost: with those that the driver has
        found = judged_by_groups(problem, model, Witness(held.theta))
    return found


class _Exchanges:
    """The exchanges of one certificate."""

    def __init__(self, problem: Problem, rows: RowGroups, model: Model) -> None:
        self.problem, self.rows, self.model = problem, rows, model
        self.parts = rows.parts(problem.risk)
        self.about = About(problem.lam, problem.regularizer, problem.intercept)

    def sides(self, held: HeldWitness | None, witness: Witness) -> ByGroups | None:
        """P, D and their errors; None if dual variables were lost."""
        problem, groups, at_model = self.problem, self.rows.groups, held is not None and held.parts is None
        theta = (held.parts if held is not None else self.rows.split(witness.theta)) or [None] * len(self.parts)
        where = {"about": self.about, "weights": self.model.weights, "intercept": self.model.intercept}
        begun = groups.place(beside.begin, self.parts, theta, **where, at_model=at_model)
        if problem.intercept:
            start, of_dual = groups.map(beside.balance, begun), None
        else:
            both = groups.map(beside.balance_and_sums, self.parts, begun, about=self.about)
            start, of_dual = [one for one, _ in both], [one for _, one in both]
        if any(one.lost for one in start):
            return None
        primal = primal_of(problem, self.model, None, fsum(one.risk for one in start))
        ordered_sum = self.rows.ordered_sum
        above, below = ordered_sum([one.above for one in start]), ordered_sum([one.below for one in start])
        at_zero = problem.risk.conjugate_at_zero
        if not all(one.usable for one in start):
            return ByGroups(primal, not_below_zero(problem, nothing(problem, None)), None, None)
        if math.isfinite(at_zero) and not (above.any() or below.any()):
            return ByGroups(primal, zero_bound(problem), None, None)
        scales = _balancing(above, below) if problem.intercept else (np.ones(1), np.ones(1))
        kept = groups.place(beside.scaled, begun, above=scales[0], below=scales[1])
        level = level_of(problem, primal.value)
        if of_dual is None:
            of_dual = groups.map(beside.dual_sums, self.parts, kept, about=self.about, level=level)
        sides = [one for one in of_dual if one is not None]
        if len(sides) < len(of_dual):
            return None
        kept, point, limits, of_conjugate = self._point(kept, sides)
        if held is not None and math.isnan(point.conjugate):
            # lost meanwhile
            return None
        bound = not_below_zero(problem, of_point(problem, point, level, limits))
        if bound.theta is not point.theta:
            return ByGroups(primal, bound, None, None)
        sums = ordered_sum([one.sums for one in sides])
        errors = self._errors(primal, bound, kept, sums, of_conjugate)
        return ByGroups(primal, bound, errors, HeldWitness(self.rows, kept, None if held is None else held.known))

    def _point(
        self, kept: Sequence[Any], found: Sequence[DualSums]
    ) -> tuple[Sequence[Any], Point, Floats | None, float]:
        """The balanced theta beside the groups, what is known of it, bounds on the intercepts, and the error of R*."""
        problem, rows = self.problem, self.rows
        v = rows.ordered_sum([one.x_theta for one in found])
        v /= problem.lam
        conjugates, errors, left = [one.conjugate for one in found], [one.error for one in found], np.zeros(1)
        distance, limits = 0.0, None
        if problem.intercept:
            columns = zip(*(one.rest for one in found), strict=True)
            rest = np.array([fsum(term for own in column for term in own) for column in columns])
            moves, left = _absorbing(found, rest), np.abs(rest) * (1.0 + EPS)
            if moves.any():
                kept = rows.groups.place(beside.moved, kept, list(moves))
                for k, one in enumerate(rows.groups.map(beside.absorbed_sums, self.parts, kept)):
                    if one is not None:
                        conjugates[k], errors[k] = one.conjugate, one.error
                        left = np.where(moves[k] != 0.0, one.left, left)
                kept, distance = rows.groups.place(beside.theta_of, kept), _ROUNDED_MOVE * float(np.sum(np.abs(moves)))
            lowest = np.max([one.lowest for one in found], axis=0)
            limits = np.maximum(np.abs(lowest), np.abs(np.min([one.highest for one in found], axis=0)))
        conjugate = fsum(conjugates)
        point = Point(np.broadcast_to(0.0, problem.theta_shape), left, conjugate, v, distance)
        return kept, point, limits, _sum_error(errors, conjugate)

    def _errors(self, primal: Primal, bound: Bound, kept: Sequence[Any], sums: Floats, of_conjugate: float) -> Errors:
        """Bounds on the rounding errors: rough ones first, by rows if the gap is near them."""
        problem, gap = self.problem, primal.value - bound.value
        of_risk = _sum_error([rough_risk_error(problem, primal)], primal.risk)
        terms = problem.design.largest_row_norm * sums
        errors = self._all_errors(primal, bound, of_risk, of_conjugate, (sums, terms))
        if gap > NEAR_FLOOR * (errors.primal + errors.dual):
            return errors
        where = {"about": self.about, "weights": self.model.weights, "intercept": self.model.intercept}
        fine = self.rows.groups.map(beside.fine_errors, self.parts, kept, **where)
        found = [one for one in fine if one is not None]
        if len(found) < len(fine):
            return errors
        of_risk = _sum_error([one.risk for one in found], primal.risk)
        of_conjugate = _sum_error([one.conjugate for one in found], bound.conjugate)
        terms = self.rows.ordered_sum([one.terms for one in found])
        return self._all_errors(primal, bound, of_risk, of_conjugate, (sums, terms))

    def _all_errors(
        self, primal: Primal, bound: Bound, of_risk: float, of_conjugate: float, known: tuple[Floats, Floats]
    ) -> Errors:
        spread = adjoint_spread(self.problem, bound.theta, fine=False, distance=bound.distance, known=known)
        return errors_of_terms(self.problem, primal, bound, of_risk, spread, of_conjugate)


def _sum_error(errors: Sequence[float], total: float) -> float:
    """The error of a sum over the groups, which is rounded once more."""
    return fsum(errors) + UNIT * abs(total)


def _balancing(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """The factors of positive and of negative entries that make their sums cancel, as in ``zero_sum``."""
    large, small = np.maximum(above, below), np.minimum(above, below)
    away = np.abs(above - below) > 4.0 * EPS * large
    scale = np.divide(small, large, out=np.ones_like(large), where=away)
    return np.where(above > below, scale, 1.0), np.where(above > below, 1.0, scale)


def _absorbing(found: Sequence[DualSums], rest: Floats) -> Floats:
    """For each group and output, how much of sum theta an entry of it takes: all of it in the first that can."""
    moves = np.zeros((len(found), len(rest)))
    for j, left in enumerate(rest.tolist()):
        most = [float((one.above if left > 0.0 else one.below)[j]) for one in found]
        able = [k for k, size in enumerate(most) if size >= abs(left)]
        if left != 0.0 and math.isfinite(left) and able:
            moves[able[0], j] = left
    return moves
