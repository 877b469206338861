r"""Certificates are made here, and nowhere else.

A certificate is made from the data, a model (w, b) and a witness :math:`\theta` alone: scores, :math:`X^T\theta` and
the conjugates are recomputed in float64 with NumPy, whatever the solver believed.  Compiled loops are never used
here, so a faulty loop can't vouch for itself.  For every feasible :math:`\theta`

.. math:: P(w, b) \ge P^* \ge D(\theta), \qquad \text{gap} = P(w, b) - D(\theta) \ge P(w, b) - P^*.

The gap is never clamped: at the optimum it is rounding noise, of either sign, within ``rounding_floor``.

A free intercept needs :math:`\sum\theta = 0`, which floats never reach.  ``_balance`` shrinks the heavier sign (zero
is in every domain, so that is always feasible) and takes the rest :math:`r`, summed exactly, out of one small entry.
What is still left is charged: for an optimal intercept :math:`|b^*| \le B` the bound is :math:`D(\theta) - |r| B`,
where B follows from the scores that the optimal risk, at most P, allows.  Free directions have more equalities of
this kind (``certificate.equalities``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.certificate.certificate import RESOLVED, Certificate
from fenchel.certificate.equalities import free_rounding, restored
from fenchel.certificate.other_lambdas import PathCertificate, charge
from fenchel.certificate.rescaling import best_multiple
from fenchel.certificate.rounding import (
    EPS,
    MANY,
    ROUNDINGS,
    absolute_sum,
    dual_sensitivity,
    is_trivial,
    norm_of,
    product_noise,
)
from fenchel.certificate.trust import refute
from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import FreeDirections
from fenchel.risks.base import ClosedForm

#: gaps above so many times a rough bound on the rounding need no better one
_NEAR_FLOOR = 1e3
#: a dual variable beyond this proves nothing: its square overflows
_HUGE = 1e150


class Verdict(NamedTuple):
    """A certificate with the model (its intercept filled in) and the witness (made feasible) that it speaks of.

    ``path_certificate`` judges the same two for any other strength of the regularization.
    """

    certificate: Certificate
    model: Model
    witness: Witness
    path_certificate: PathCertificate


class _Primal(NamedTuple):
    """P(w, b) in its two parts, the model with its intercept, a bound on its slopes, and its scores unless too many."""

    penalty: float
    risk: float
    model: Model
    slopes: float
    scores: NDArray[np.float64] | None


class _Bound(NamedTuple):
    """A lower bound: D(theta), the magnitudes in it, theta made feasible, v = X^T theta / lam, R*(-theta), what is left
    of each sum of theta, whether R* was taken on trust, and what was charged for what is left.
    """

    value: float
    magnitude: float
    theta: NDArray[np.float64]
    dual: NDArray[np.float64]
    conjugate: float
    unbalanced: NDArray[np.float64]
    trusted: bool = False
    charge: float = 0.0


def judge(problem: Problem, model: Model, witness: Witness) -> Verdict:
    """Recompute the certificate of a model and a witness from the data."""
    closed_form = problem.risk.closed_form()
    with np.errstate(over="ignore", invalid="ignore"):
        found = _primal(problem, model)
        primal, model = found.penalty * problem.lam + found.risk, found.model
        bound = _dual(problem, witness, _level(problem, primal), closed_form)
        witness = Witness(bound.theta, witness.conjugate_bound if closed_form is not None else bound.conjugate)
        if math.isinf(primal):
            # the bound stands alone: its rounding is taken off, and for a constraint it is of models up to there only
            pull = dual_sensitivity(problem, bound.dual, found.penalty)
            noise = absolute_sum(bound.theta) * (problem.design.largest_row_norm * pull + problem.risk.largest_label)
            value = bound.value - ROUNDINGS * EPS * (bound.magnitude + noise)
            bound = bound._replace(value=-math.inf if math.isnan(value) else min(value, _level(problem, primal)))
            at_zero = None if bound.trusted else problem.risk.conjugate_at_zero
            path_certificate = PathCertificate(
                problem, found.penalty, found.risk, bound.dual, bound.conjugate, at_zero, bound.unbalanced, 0.0
            )
            return Verdict(Certificate(primal, bound.value, 0.0, not bound.trusted), model, witness, path_certificate)
        # where the infimum is zero and not attained, nothing is lost below the square of the accuracy of floats
        at_rest = problem.risk.value_at_zero
        magnitude = abs(primal) + bound.magnitude + (EPS * at_rest if math.isfinite(at_rest) else 0.0)
        slopes, theta = found.slopes, absolute_sum(bound.theta)
        size, intercept = problem.design.largest_row_norm, np.asarray(model.intercept)
        reach, pull = (
            size * norm_of(model.weights) + float(np.max(np.abs(intercept))),
            dual_sensitivity(problem, bound.dual, found.penalty),
        )
        rough = slopes * reach + theta * (size * pull + problem.risk.largest_label)
        floor = ROUNDINGS * EPS * (magnitude + rough)
        if bound.trusted and math.isfinite(bound.value):
            scores = problem.design.scores(model.weights) + intercept if found.scores is None else found.scores
            refute(bound.conjugate, bound.theta, scores, found.risk, magnitude + rough)
        if primal - bound.value <= _NEAR_FLOOR * floor:
            floor = ROUNDINGS * EPS * (magnitude + product_noise(problem, model, found.scores, witness, pull))
        if isinstance(problem.regularizer, FreeDirections) and math.isfinite(bound.value):
            floor += min(bound.charge, free_rounding(problem, bound.theta, bound.value))
    scale = max(abs(primal), abs(bound.value)) if math.isfinite(bound.value) else abs(primal)
    at_zero = None if bound.trusted else problem.risk.conjugate_at_zero
    relative = floor / scale if scale > 0.0 else 0.0
    parts = (bound.dual, bound.conjugate, at_zero, bound.unbalanced, relative)
    # a gap above the floor says itself what it proves
    resolved = relative <= RESOLVED or primal - bound.value > floor or is_trivial(problem, primal + floor)
    return Verdict(
        Certificate(primal, bound.value, floor, not bound.trusted, bool(resolved)),
        model,
        witness,
        PathCertificate(problem, found.penalty, found.risk, *parts),
    )


def judge_moved(problem: Problem, model: Model, witness: Witness, path_certificate: PathCertificate) -> Verdict:
    """What ``judge`` would say, from a verdict for another strength of the regularization, without touching the data.

    The witness is scaled to what proves most here.
    """
    certificate, scale = path_certificate.moved(problem.lam)
    bound = (
        path_certificate.conjugate
        if path_certificate.at_zero is None or scale == 1.0
        else (scale * path_certificate.conjugate + (1.0 - scale) * path_certificate.at_zero)
    )
    dual = (scale * path_certificate.problem.lam / problem.lam) * path_certificate.dual
    moved = replace(
        path_certificate, problem=problem, dual=dual, conjugate=bound, unbalanced=scale * path_certificate.unbalanced
    )
    told = witness.conjugate_bound if path_certificate.conjugate_at_zero is not None else bound
    return Verdict(certificate, model, Witness(scale * witness.theta, told), moved)


def best_of(known: Verdict | None, found: Verdict) -> Verdict:
    """The better model of the two with the better witness of the two: each half of a proof stands on its own.

    Where both are optimal up to rounding the objective can't tell them apart; the later one has seen more steps.
    """
    if known is None or (known.certificate.optimal and found.certificate.optimal):
        return found
    by_primal = known if known.certificate.primal <= found.certificate.primal else found
    by_dual = known if known.certificate.dual >= found.certificate.dual else found
    if by_primal is by_dual:
        return by_primal
    p, d = by_primal.certificate, by_dual.certificate
    certificate = Certificate(p.primal, d.dual, p.rounding_floor + d.rounding_floor, d.recomputed)
    if certificate.at_floor or certificate.contradictory:
        # the sum of both floors may be more or less than this pair deserves: what it proves is judged anew
        return judge(by_dual.path_certificate.problem, by_primal.model, by_dual.witness)
    floor = by_primal.path_certificate.relative_floor + by_dual.path_certificate.relative_floor
    parts = by_primal.path_certificate
    path_certificate = replace(by_dual.path_certificate, penalty=parts.penalty, risk=parts.risk, relative_floor=floor)
    return Verdict(certificate, by_primal.model, by_dual.witness, path_certificate)


def scores_of(problem: Problem, weights: NDArray) -> NDArray[np.float64]:
    """X w, or a clear error if these are no weights for this problem."""
    if weights.shape != problem.weights_shape:
        raise FenchelError(
            f"the model's weights have shape {weights.shape}; this problem needs {problem.weights_shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.design.scores(weights)
    if not np.all(np.isfinite(scores)):
        raise FenchelError("the scores X w overflow or are not finite: check the model's weights and scale X")
    return scores


def _primal(problem: Problem, model: Model) -> _Primal:
    weights = np.asarray(model.weights, dtype=np.float64)
    scores = scores_of(problem, weights)
    intercept = model.intercept
    if intercept is None:
        intercept = problem.best_intercept(scores)
    if np.shape(intercept) != problem.theta_shape[1:] or not np.all(np.isfinite(intercept)):
        raise FenchelError(
            f"the model's intercept must be finite and of shape {problem.theta_shape[1:]}, got {intercept!r}"
        )
    if not problem.intercept and np.any(intercept):
        raise FenchelError("the model has an intercept but the problem has none: use Problem(..., intercept=True)")
    scores += intercept
    penalty, risk = problem.regularizer.value(weights), problem.risk.value(scores)
    if penalty == math.inf and not problem.regularizer.finite:
        raise FenchelError(
            f"the regularizer {problem.regularizer.name!r} is infinite at these weights: it asks for their sign and sum"
        )
    if not math.isfinite(problem.lam * penalty + risk) and not (risk == math.inf and _may_be_infinite(problem)):
        raise FenchelError("the objective overflows: scale X or the targets to moderate numbers")
    slopes = problem.risk.slope_bound(scores) if math.isfinite(risk) else 0.0
    return _Primal(penalty, risk, Model(weights, intercept), slopes, scores if scores.size <= MANY else None)


def _may_be_infinite(problem: Problem) -> bool:
    """Whether the loss is a constraint, or overflows at moderate scores: such a model is bad, but no mistake."""
    mean = problem.risk.separable()
    return mean is not None and mean.loss.overflows


def _level(problem: Problem, primal: float) -> float:
    """An objective that the best model does not exceed, or beyond which no model counts."""
    for known in (primal, problem.risk.value_at_zero):
        if math.isfinite(known):
            return known
    return problem.level_bound


def _dual(problem: Problem, witness: Witness, primal: float, closed_form: ClosedForm | None) -> _Bound:
    """The better of D(theta) and D(0)."""
    theta = np.asarray(witness.theta)
    if closed_form is None or theta.dtype != np.float32:
        # what projects theta casts it, in blocks if it is large
        theta = np.asarray(theta, dtype=np.float64)
    if theta.shape != problem.theta_shape:
        raise FenchelError(f"the witness has shape {theta.shape}; this problem needs {problem.theta_shape}")
    bound = _lower_bound(problem, theta, witness.conjugate_bound, primal, closed_form)
    # sup over s of -R(s) is minus the smallest value of the risk, which even those without a closed form may know
    at_zero = problem.risk.conjugate_at_zero if problem.regularizer.zero_is_dual_feasible else math.inf
    if math.isfinite(at_zero) and not (bound.value > -at_zero or (bound.value == -at_zero and not bound.trusted)):
        return _no_bound(problem)._replace(value=-at_zero, magnitude=abs(at_zero), conjugate=at_zero)
    return bound


def _no_bound(problem: Problem) -> _Bound:
    zero = np.zeros(problem.theta_shape)
    return _Bound(-np.inf, 0.0, zero, np.zeros(problem.weights_shape), np.inf, np.zeros(1))


def _lower_bound(
    problem: Problem, theta: NDArray, trusted: float | None, primal: float, closed_form: ClosedForm | None
) -> _Bound:
    """D(theta) after theta was made feasible; minus infinity for a theta that proves nothing."""
    unbalanced = np.zeros(1)
    if closed_form is not None and _usable(theta):
        theta, unbalanced = _feasible(problem, closed_form, theta)
    if not _usable(theta):
        return _no_bound(problem)._replace(trusted=closed_form is None)
    if closed_form is not None:
        conjugate = closed_form.conjugate(theta, feasible=True)
    else:
        conjugate = np.inf if trusted is None else trusted
        if problem.intercept:
            unbalanced = np.array([abs(math.fsum(column)) for column in np.atleast_2d(theta.T)])
    dual = problem.design.adjoint(theta)
    dual /= problem.lam
    scale = best_multiple(problem, theta, dual, conjugate, closed_form)
    if scale != 1.0:
        theta, dual = scale * theta, scale * dual
        if closed_form is not None:
            theta, unbalanced = _feasible(problem, closed_form, theta)
            conjugate = closed_form.conjugate(theta, feasible=True)
        else:
            at_zero = problem.risk.conjugate_at_zero
            conjugate, unbalanced = scale * conjugate + (1.0 - scale) * at_zero, scale * unbalanced
    penalty = problem.lam * problem.regularizer.relaxed_conjugate(dual)
    charged = charge(problem, unbalanced, primal, -penalty - conjugate)
    value = -penalty - conjugate - charged
    if not math.isfinite(value):
        return _no_bound(problem)._replace(theta=theta, trusted=closed_form is None)
    return _Bound(value, penalty + abs(conjugate), theta, dual, conjugate, unbalanced, closed_form is None, charged)


def _usable(theta: NDArray) -> bool:
    """Whether no entry is NaN or so large that sums and squares overflow."""
    return bool(max(float(np.max(theta)), -float(np.min(theta))) < _HUGE)


def _feasible(problem: Problem, closed_form: ClosedForm, theta: NDArray) -> tuple[NDArray, NDArray]:
    """Theta in the domain of the conjugate and, for a free intercept, balanced; with what is left of each sum."""
    theta = closed_form.project(theta)
    if isinstance(problem.regularizer, FreeDirections) and _usable(theta):
        return restored(problem, theta)
    intercepts = problem.risk.intercepts() if problem.intercept else None
    if intercepts is None or not _usable(theta):
        return theta, np.zeros(1)
    return intercepts.balance(theta, overwrite=True)
