r"""The dual side of a certificate: a lower bound on the optimum from a dual point, one function a case.

.. math:: D(\theta) = -\lambda\,\Omega^*(v) - R^*(-\theta), \qquad v = X^T\theta/\lambda

is a lower bound for every :math:`\theta` in the domain of :math:`R^*` with, for a free intercept, :math:`\sum\theta =
0`.  Floats meet neither exactly.  So theta is first mapped into the domain and balanced, and the sum
:math:`\sum\theta` that rounding leaves is charged at a bound on the optimal intercept (``other_lambdas.charge``).

==================  ===================================================================================
case                lower bound
==================  ===================================================================================
``zero``            :math:`D(0) = -R^*(0)`, minus the infimum of the risk
``recomputed``      :math:`D(\theta)`, with :math:`R^*` in closed form or bounded by a decomposition of theta
``on_trust``        a user's own risk without either: the witness brings an upper bound on :math:`R^*`
==================  ===================================================================================
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.equalities import restored
from fenchel.certificate.other_lambdas import charge
from fenchel.certificate.rescaling import best_multiple
from fenchel.certificate.rounding import absolute_sums
from fenchel.certificate.stand_in import stand_in_charge, unbounded_below
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import UNIT
from fenchel.problem import Problem, Witness
from fenchel.risks.decomposition import DecomposedForm
from fenchel.risks.protocols import ClosedForm

#: largest |theta_i| that is used: squares of larger ones overflow
_LARGEST_THETA = 1e150
#: 1-norm by which a multiple of theta may be moved into the domain without another product with X, in units of
#: u sum |theta|; less than half of what ``best_multiple`` leaves room for
MOST_MOVED = 14.0
#: covers roundings of sums of non-negative terms
_UPWARDS = 1.0 + 1e-6


class Bound(NamedTuple):
    """A lower bound on the optimum, with the terms that make it."""

    #: D(theta) less the charge
    value: float
    #: theta in the domain and balanced, v = X^T theta / lam, and R*(-theta) or the bound on it
    theta: Floats
    v: Floats
    conjugate: float
    #: a bound on |sum theta| of each output, or on the residuals of the equalities of free directions
    unbalanced: Floats
    #: whether R* was taken on trust
    trusted: bool = False
    #: the charge for ``unbalanced``
    charge: float = 0.0
    #: Omega*(v)
    penalty: float = 0.0
    #: the bound on R* by a decomposition, where there is one
    decomposed: DecomposedForm | None = None
    #: a bound on the 1-norm of the difference between theta and the dual point that v was computed from
    distance: float = 0.0
    #: the 1-norm of theta where R* is ``MeanRisk.conjugate_along``, whose error the rough bounds include
    size: float | None = None


def lower_bound(problem: Problem, witness: Witness, level: float) -> Bound:
    """The better of D(theta) and D(0); ``level`` is an objective that the optimum does not exceed."""
    closed, decomposable = problem.risk.closed_form(), problem.risk.decomposable()
    theta = np.asarray(witness.theta)
    if closed is None or theta.dtype != np.float32:
        # float32 is cast in blocks by the projection
        theta = np.asarray(theta, dtype=np.float64)
    if theta.shape != problem.theta_shape:
        raise FenchelError(f"the witness must have shape {problem.theta_shape}, got {theta.shape}")
    trusted = closed is None and decomposable is None
    if not trusted and math.isfinite(_at_zero(problem)) and witness.decomposition is None and not theta.any():
        return zero_bound(problem)
    if not usable(theta):
        bound = nothing(problem, None, trusted=trusted)
    elif closed is not None:
        bound = _recomputed(problem, closed, theta, level)
    elif decomposable is not None:
        form = decomposable.decomposed_form(theta, witness.decomposition, balanced=problem.intercept)
        bound = nothing(problem, None) if form is None else _recomputed(problem, form, theta, level, form)
    else:
        bound = _on_trust(problem, theta, witness.conjugate_bound, level)
    return not_below_zero(problem, bound)


def not_below_zero(problem: Problem, bound: Bound) -> Bound:
    """The better of a bound and D(0)."""
    at_zero = _at_zero(problem)
    better = bound.value > -at_zero or (bound.value == -at_zero and not bound.trusted)
    return bound if better or not math.isfinite(at_zero) else zero_bound(problem)


def _at_zero(problem: Problem) -> float:
    """-D(0), infinite if zero is not dual feasible."""
    return problem.risk.conjugate_at_zero if problem.regularizer.zero_is_dual_feasible else math.inf


def zero_bound(problem: Problem) -> Bound:
    """D(0) = -R*(0), which even risks without a closed form may know."""
    conjugate = problem.risk.conjugate_at_zero
    theta, v = np.zeros(problem.theta_shape), np.zeros(problem.weights_shape)
    return Bound(-conjugate, theta, v, conjugate, np.zeros(1))


def nothing(problem: Problem, theta: Array | None, *, trusted: bool = False) -> Bound:
    """The bound minus infinity, for a theta that can't be used."""
    theta = np.zeros(problem.theta_shape) if theta is None else theta
    return Bound(-math.inf, theta, np.zeros(problem.weights_shape), math.inf, np.zeros(1), trusted)


class Point(NamedTuple):
    """A multiple of theta in the domain, bounds on the residuals of its equalities, and R*(-theta)."""

    theta: Array
    unbalanced: Array
    conjugate: float
    #: X^T theta / lam, up to an error that ``distance`` bounds as in ``Bound``
    v: Floats
    distance: float = 0.0
    #: as in ``Bound``
    size: float | None = None


def _recomputed(
    problem: Problem, form: ClosedForm, theta: Array, level: float, decomposed: DecomposedForm | None = None
) -> Bound:
    """D of the point near theta in the domain of a form, or of its best multiple."""
    theta, unbalanced = feasible(problem, form, theta, decomposed)
    if not usable(theta):
        return nothing(problem, None)
    conjugate = form.conjugate(theta, feasible=True)
    point = best_point(problem, form, theta, unbalanced, conjugate, v_of(problem, theta), decomposed)
    return of_point(problem, point, level)._replace(decomposed=decomposed)


def best_point(
    problem: Problem,
    form: ClosedForm,
    theta: Array,
    unbalanced: Array,
    conjugate: float,
    v: Floats,
    decomposed: DecomposedForm | None,
) -> Point:
    """The best multiple of theta; ``conjugate`` is R*(-theta)."""
    scale, at_scale = best_multiple(problem, theta, v, conjugate, form, decomposed)
    if scale == 1.0:
        return Point(theta, unbalanced, conjugate, v)
    multiple = scale * theta
    theta, unbalanced = feasible(problem, form, multiple, decomposed)
    sums, moved = absolute_sums(theta), absolute_sums(theta - multiple)
    if np.any(moved):
        # R* of this very theta, which is some roundings from the multiple
        at_scale = form.conjugate(theta, feasible=True)
    simple = decomposed is None and problem.regularizer.free_directions() is None
    if not simple or np.any(moved > MOST_MOVED * UNIT * sums):
        return Point(theta, unbalanced, at_scale, v_of(problem, theta))
    # no second product with X: the multiple of v is that of the multiple before its roundings
    return Point(theta, unbalanced, at_scale, scale * v, float(np.sum(moved_distance(moved, sums))))


def moved_distance(moved: Array, sums: Array) -> Floats:
    """A bound on the 1-norm by which a multiple of theta, rounded and moved into the domain, differs from itself."""
    return _UPWARDS * (moved + 2.0 * UNIT * sums)


def of_point(problem: Problem, point: Point, level: float, limits: Array | None = None) -> Bound:
    """D of a point; ``level`` is as in ``lower_bound``, and ``limits`` as in ``charge``."""
    found = _assembled(problem, point.theta, point.v, point.conjugate, point.unbalanced, level, limits=limits)
    return found._replace(distance=point.distance, size=point.size)


def _on_trust(problem: Problem, theta: Array, conjugate_bound: float | None, level: float) -> Bound:
    """D(theta) with the witness's bound on R*(-theta); R*(-t theta) <= t R*(-theta) + (1 - t) R*(0) for t <= 1."""
    conjugate = math.inf if conjugate_bound is None else conjugate_bound
    unbalanced = np.zeros(1)
    if problem.intercept:
        unbalanced = np.array([abs(math.fsum(column)) for column in np.atleast_2d(theta.T)])
    v = v_of(problem, theta)
    scale, _ = best_multiple(problem, theta, v, conjugate, None)
    if scale != 1.0:
        theta, v, unbalanced = scale * theta, scale * v, scale * unbalanced
        conjugate = scale * conjugate + (1.0 - scale) * problem.risk.conjugate_at_zero
    return _assembled(problem, theta, v, conjugate, unbalanced, level, trusted=True)


def _assembled(
    problem: Problem,
    theta: Array,
    v: Array,
    conjugate: float,
    unbalanced: Array,
    level: float,
    *,
    trusted: bool = False,
    limits: Array | None = None,
) -> Bound:
    """-lam Omega*(v) - R*(-theta) less the charge for ``unbalanced``."""
    own = problem.regularizer.relaxed_conjugate(v)
    penalty = problem.lam * own
    mean = unbounded_below(problem)
    if mean is not None and unbalanced.any() and problem.regularizer.free_directions() is None:
        charged = stand_in_charge(problem, mean, theta, v, own, unbalanced)
    else:
        charged = charge(problem, unbalanced, level, -penalty - conjugate, limits)
    value = -penalty - conjugate - charged
    if not math.isfinite(value):
        return nothing(problem, theta, trusted=trusted)
    return Bound(value, theta, v, conjugate, unbalanced, trusted, charged, own)


def v_of(problem: Problem, theta: Array) -> Floats:
    """X^T theta / lam."""
    if not theta.any():
        # of the zero model that a limit leaves, whose certificate follows another one
        return np.zeros(problem.weights_shape)
    v = problem.design.adjoint(theta)
    v /= problem.lam
    return v


def usable(theta: Array) -> bool:
    """Whether no entry is NaN or so large that sums and squares overflow."""
    return bool(max(float(theta.max()), -float(theta.min())) < _LARGEST_THETA)


def feasible(
    problem: Problem, form: ClosedForm, theta: Array, decomposed: DecomposedForm | None
) -> tuple[Array, Array]:
    """Theta in the domain of a form and on the dual equalities, with bounds on their residuals."""
    theta = form.project(theta)
    if not usable(theta):
        return theta, np.zeros(1)
    if problem.regularizer.free_directions() is not None:
        return restored(problem, theta)
    intercepts = problem.risk.intercepts() if problem.intercept else None
    if intercepts is not None and decomposed is not None:
        return theta, decomposed.unbalanced(theta)
    return (theta, np.zeros(1)) if intercepts is None else intercepts.balance(theta, overwrite=True)
