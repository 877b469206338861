r"""Certificates for other values of lambda, from one model and one witness.

A dual point is feasible for every :math:`\lambda`, and so is every multiple of it between 0 and 1, so one pair (model,
:math:`\theta`) bounds the optimum everywhere:

.. math::
    P_\lambda = \lambda\,\Omega(w) + R(s), \qquad
    D_\lambda = \max_{0\le t\le 1}\; -\lambda\,\Omega^*(t v/\lambda) - t R^*(-\theta) - (1-t) R^*(0), \qquad
    v = X^T\theta

(:math:`R^*` is convex, hence the last two terms bound :math:`R^*(-t\theta)`; where :math:`\Omega^*` is finite on a
bounded set only, a smaller :math:`\lambda` needs a smaller t).  :math:`P_\lambda` is linear in
:math:`\lambda` and :math:`D_\lambda` concave, being a partial maximum of a jointly concave function; so the gap is
convex, and so is gap - accuracy P.  Proved at both ends of an interval, it is proved everywhere between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.certificate import Certificate
from fenchel.certificate.equalities import free_charge
from fenchel.certificate.rounding import Errors
from fenchel.certificate.stand_in import unbounded_below
from fenchel.certificate.trivial import is_trivial
from fenchel.numerics.rounding import UNDERFLOW, UNIT
from fenchel.problem import Problem
from fenchel.records import changed

#: bisections at most, of log lam or of the scale t: 2^-40 of an interval
_HALVINGS = 40
#: largest ratio of two lam that a certificate is tried for
_LARGEST_RATIO = 1e12
#: covers the rounding of a bound on intercepts, which needs no accuracy
_UPWARDS = 1.0 + 1e-6


@dataclass(frozen=True, eq=False)
class PathCertificate:
    """The numbers that certify a model and its witness for any lam; made by ``judge``."""

    problem: Problem
    #: Omega(w) and R(s)
    penalty: float
    risk: float
    #: X^T theta / problem.lam, R*(-theta) and R*(0); the last is None if the conjugate was taken on trust
    v: Floats
    conjugate: float
    conjugate_at_zero: float | None
    #: |sum theta|, charged against a bound on the intercept, or the residuals of the equalities of free directions
    unbalanced: Floats
    #: bounds on the rounding errors of the terms and of v
    errors: Errors
    #: the objective of the model without weights; infinite where it is not known
    zero_objective: float = math.inf
    #: whether v is a shorter vector that stands for it (``Regularizer.compress``)
    compressed: bool = False
    #: the scores X w + b of the model, where they were kept
    scores: Floats | None = None

    def fits(self, problem: Problem) -> bool:
        """Whether a problem differs from this one in lam only."""
        own = self.problem
        same = own.design is problem.design and own.risk is problem.risk
        return same and own.regularizer == problem.regularizer and own.intercept == problem.intercept

    def compress(self) -> PathCertificate:
        """The same with a compressed v and without scores, which suffices for certificates but not for a warm start."""
        regularizer, v = self.problem.regularizer, self._short
        if v is self.v:
            return self if self.scores is None else changed(self, scores=None)
        spread = self.errors.spread.rounded(regularizer, v, regularizer.compress_roundings(np.size(self.v)))
        return changed(self, v=v, errors=self.errors._replace(spread=spread), compressed=True, scores=None)

    @cached_property
    def _short(self) -> Floats:
        """The compressed v: a point of a path and the next one both need it."""
        return self.v if self.compressed else self.problem.regularizer.compress(self.v)

    @property
    def at_zero(self) -> float | None:
        """R*(0), which even a risk whose conjugate is taken on trust may know; None where zero is infeasible."""
        if not self.problem.regularizer.zero_is_dual_feasible:
            return None
        known = self.problem.risk.conjugate_at_zero if self.conjugate_at_zero is None else self.conjugate_at_zero
        return known if math.isfinite(known) or self.conjugate_at_zero is not None else None

    def at(self, lam: float) -> Certificate:
        """The certificate for another lam."""
        return self.moved(lam)[0]

    def moved(self, lam: float) -> tuple[Certificate, float]:
        """The certificate for another lam, and the multiple of theta that it uses."""
        primal, most = lam * self.penalty + self.risk, self._largest_scale(lam)
        scales = (1.0,) if self.at_zero is None else (most, self._best_scale(lam, most))
        dual, scale = max((self._dual(lam, scale) if scale <= most else -math.inf, scale) for scale in scales)
        errors, recomputed = self.errors_at(lam, scale), self.conjugate_at_zero is not None
        dual -= charge(replace(self.problem, lam=lam), scale * self.unbalanced, primal + errors.primal, dual)
        trivial = is_trivial(self.problem, primal, errors.primal + errors.dual, self.zero_objective)
        return Certificate(primal, dual, errors.primal, errors.dual, recomputed, trivial), scale

    def errors_at(self, lam: float, scale: float) -> Errors:
        """Bounds on the rounding errors of the terms for another lam and a multiple of theta."""
        factor = scale * self.problem.lam / lam
        # four roundings of v: its factor, and the product with it
        spread = self.errors.spread.rounded(self.problem.regularizer, self.v, 4.0).scaled(factor)
        with np.errstate(over="ignore", invalid="ignore"):
            regularizer = self.problem.regularizer
            conjugate = regularizer.relaxed_conjugate(self.v, factor)
            error = regularizer.conjugate_error(factor * self.v, conjugate, *spread) + UNDERFLOW * np.size(self.v)
            moved = lam * error + UNDERFLOW
            size = lam * abs(conjugate)
        own, at_zero = self.errors, 0.0 if self.at_zero is None or scale == 1.0 else self.at_zero
        return Errors(
            own.penalty * lam / self.problem.lam + 8.0 * UNIT * lam * abs(self.penalty) + UNDERFLOW,
            own.risk + 8.0 * UNIT * abs(self.risk),
            moved + 8.0 * UNIT * size if math.isfinite(moved) else math.inf,
            # the conjugate is interpolated, and this once more where the errors are those of another such certificate
            own.conjugate + 8.0 * UNIT * (abs(self.conjugate) + abs(at_zero)),
            own.charge,
            spread,
        )

    def _dual(self, lam: float, scale: float) -> float:
        rest = 0.0
        if self.at_zero is not None and scale < 1.0:
            # at_zero may be infinite
            rest = (1.0 - scale) * self.at_zero
        penalty = lam * self.problem.regularizer.relaxed_conjugate(self.v, scale * self.problem.lam / lam)
        return -penalty - scale * self.conjugate - rest

    def _largest_scale(self, lam: float) -> float:
        """The largest t up to 1 for which t theta is feasible at this lam, whatever the error of v."""
        most = self.problem.regularizer.largest_scale(self.v, self.errors.spread.largest)
        return min(1.0, most * lam / self.problem.lam)

    def _best_scale(self, lam: float, most: float) -> float:
        """The t <= most of the best bound, the root of the derivative of a concave function; one step for ridge."""
        assert self.at_zero is not None
        gain = self.at_zero - self.conjugate

        def derivative(scale: float) -> float:
            own = self.problem.lam
            return gain - own * self.problem.regularizer.conjugate_derivative(self.v, scale * own / lam)

        low, high = 0.0, most
        start = derivative(low)
        if not start > 0.0:
            return 0.0
        end = derivative(high)
        if end >= 0.0:
            return high
        # false position is exact for a linear derivative, as for ridge; bisection in between
        for turn in range(_HALVINGS):
            linear = turn % 2 == 0 and math.isfinite(end)
            middle = low + (high - low) * (start / (start - end) if linear else 0.5)
            value = derivative(middle)
            if abs(value) <= 1e-9 * abs(gain) or not low < middle < high:
                return middle
            low, start, high, end = (middle, value, high, end) if value > 0.0 else (low, start, middle, value)
        return 0.5 * (low + high)

    def farthest_lam(self, lam: float, accuracy: float, factor: float) -> float:
        """The farthest lam, in the direction of ``factor``, up to which the relative gap is within ``accuracy``."""

        def proved(at: float) -> bool:
            certificate = self.at(at)
            return not certificate.contradictory and certificate.gap <= accuracy * abs(certificate.primal)

        if not proved(lam):
            return lam
        inside, outside = lam, lam * factor
        while proved(outside) and 1.0 / _LARGEST_RATIO < outside / lam < _LARGEST_RATIO:
            inside, outside = outside, outside * (outside / inside)
        for _ in range(_HALVINGS):
            middle = math.sqrt(inside * outside)
            if abs(math.log(outside / inside)) < 1e-6:
                break
            inside, outside = (middle, outside) if proved(middle) else (inside, middle)
        return inside


def charge(problem: Problem, unbalanced: Array, primal: float, value: float, limits: Array | None = None) -> float:
    """The charge for an unbalanced theta of this dual value: |sum theta| times a bound on the optimal intercept.

    ``limits`` are these bounds, where they are known.
    """
    if not unbalanced.any() or not math.isfinite(value):
        return 0.0
    if problem.regularizer.free_directions() is not None:
        return free_charge(problem, unbalanced, value)
    if unbounded_below(problem) is not None:
        return math.inf
    if not math.isfinite(_level(problem, primal)):
        return math.inf
    # an output with sum theta = 0 is not charged, even if its intercept is unbounded
    counted = unbalanced > 0.0
    intercepts = problem.risk.intercepts()
    assert intercepts is not None
    if limits is None:
        limits = intercepts.intercept_bound(primal, score_limits(problem, primal))
    return _UPWARDS * float(np.sum(unbalanced[counted] * limits[counted]))


def score_limits(problem: Problem, primal: float) -> Floats:
    """Bounds on every |x_i . w*|, from lam Omega(w*) <= P* <= P."""
    return _UPWARDS * problem.regularizer.score_bounds(_level(problem, primal), problem.design)


def _level(problem: Problem, primal: float) -> float:
    """A bound on Omega(w*)."""
    return _UPWARDS * primal / problem.lam
