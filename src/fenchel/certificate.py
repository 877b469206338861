r"""The one place where a duality gap is computed.

A certificate is made from the data, a model (w, b) and a witness :math:`\theta` alone: scores, :math:`X^T\theta` and
the conjugates are recomputed in float64 with NumPy, whatever the solver believed.  Compiled loops are never used
here, so a faulty loop can't vouch for itself.  For every feasible :math:`\theta`

.. math:: P(w, b) \ge P^* \ge D(\theta), \qquad \text{gap} = P(w, b) - D(\theta) \ge P(w, b) - P^*.

The gap is never clamped: at the optimum it is rounding noise, of either sign, within ``rounding_floor``.

A free intercept needs :math:`\sum\theta = 0`, which floats never reach.  ``_balance`` shrinks the heavier sign (zero
is in every domain, so that is always feasible) and takes the rest :math:`r`, summed exactly, out of one small entry.
What is still left is charged: for an optimal intercept :math:`|b^*| \le B` the bound is :math:`D(\theta) - |r| B`,
where B follows from the scores that the optimal risk, at most P, allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness

_EPS = float(np.finfo(np.float64).eps)
#: roundings that the sums behind P and D are allowed, in units of the magnitudes that enter them
_ROUNDINGS = 2.0
#: gaps above so many times a rough bound on the rounding need no better one
_NEAR_FLOOR = 1e3
#: a dual variable beyond this proves nothing: its square overflows
_HUGE = 1e150


@dataclass(frozen=True)
class Certificate:
    """A proof of how far a model is from the best one: ``gap >= objective - optimum``.

    Attributes
    ----------
    primal : the objective P of the model
    dual : a lower bound D on the objective of every model
    rounding_floor : how much of the gap may be rounding of the evaluation itself
    recomputed : whether everything was recomputed from the data; False if a bound was taken on trust
    """

    primal: float
    dual: float
    rounding_floor: float
    recomputed: bool = True

    @property
    def gap(self) -> float:
        """P - D, never clamped."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """gap / max(abs(P), abs(D)); 0/0 is 0."""
        scale = max(abs(self.primal), abs(self.dual))
        return self.gap / scale if scale > 0 else 0.0

    @property
    def at_floor(self) -> bool:
        """Whether the gap can't be told from rounding."""
        return self.gap <= self.rounding_floor

    def meets(self, tol: float) -> bool:
        """Whether this proves a relative gap of at most ``tol``, or the gap is at the rounding floor."""
        return self.relative_gap <= tol or self.at_floor

    def __add__(self, other: Certificate) -> Certificate:
        """The certificate of two separate problems taken together."""
        return Certificate(
            self.primal + other.primal,
            self.dual + other.dual,
            self.rounding_floor + other.rounding_floor,
            self.recomputed and other.recomputed,
        )

    def __str__(self) -> str:
        trust = "" if self.recomputed else " (the lower bound was taken on trust from the solver)"
        if self.at_floor:
            return (
                f"The objective {self.primal:.6g} is optimal to the accuracy of the arithmetic: no model is below "
                f"{self.dual:.6g}{trust}."
            )
        return (
            f"The objective {self.primal:.6g} is proved to be within {self.gap:.2g} ({100 * self.relative_gap:.2g}%) "
            f"of the optimum: no model is below {self.dual:.6g}{trust}."
        )


class Verdict(NamedTuple):
    """A certificate with the model (its intercept filled in) and the witness (made feasible) that it speaks of."""

    certificate: Certificate
    model: Model
    witness: Witness


class _Bound(NamedTuple):
    """A lower bound: its value, the magnitudes that enter it, and the norm of the weights that theta makes."""

    value: float
    magnitude: float
    pull: float


def judge(problem: Problem, model: Model, witness: Witness) -> Verdict:
    """Recompute the certificate of a model and a witness from the data."""
    with np.errstate(over="ignore", invalid="ignore"):
        primal, model, scores = _primal(problem, model)
        bound, witness, recomputed = _dual(problem, witness, primal)
        # where the infimum is zero and not attained, nothing is lost below the square of the accuracy of floats
        magnitude = abs(primal) + bound.magnitude + _EPS * problem.risk.value_at_zero
        slopes, theta = problem.risk.slope_bound(scores), float(np.sum(np.abs(witness.theta)))
        size, intercept = problem.design.largest_row_norm, np.max(np.abs(np.asarray(model.intercept)))
        reach, pull = size * _norm(model.weights) + float(intercept), size * bound.pull + problem.risk.largest_label
        floor = _ROUNDINGS * _EPS * (magnitude + slopes * reach + theta * pull)
        if primal - bound.value <= _NEAR_FLOOR * floor:
            floor = _ROUNDINGS * _EPS * (magnitude + _product_noise(problem, model, scores, witness, bound.pull))
    return Verdict(Certificate(primal, bound.value, floor, recomputed), model, witness)


def _product_noise(problem: Problem, model: Model, scores: NDArray, witness: Witness, pull: float) -> float:
    """What the roundings inside the products X w and X^T theta can add to P and D, in units of the accuracy.

    A score is off by up to |x_i| |w| + |b|, however small it is itself, and moves the risk by its slope;
    X^T theta is off by up to the sum of |theta_i| |x_i|, and moves the conjugate of the regularizer by its gradient;
    the terms theta_i y_i of the conjugate of the risk may cancel.  ``judge`` uses the largest row for all of them
    first, which is cheap and enough unless the gap is near the floor.
    """
    norms, labels = np.sqrt(problem.design.squared_row_norms), np.abs(problem.risk.labels)
    if problem.risk.outputs is not None:
        norms = norms[:, None]
    slopes, theta = np.abs(problem.risk.subgradient(scores)), np.abs(witness.theta)
    in_scores = slopes * (norms * _norm(model.weights) + np.abs(np.asarray(model.intercept)))
    return float(np.sum(in_scores) + np.sum(theta * (norms * pull + labels)))


def _norm(weights: NDArray) -> float:
    return float(np.sqrt(np.vdot(weights, weights)))


def best_of(known: Verdict | None, found: Verdict) -> Verdict:
    """The better model of the two with the better witness of the two: each half of a proof stands on its own.

    Where both are optimal up to rounding the objective can't tell them apart; the later one has seen more steps.
    """
    if known is None or (known.certificate.at_floor and found.certificate.at_floor):
        return found
    by_primal = known if known.certificate.primal <= found.certificate.primal else found
    by_dual = known if known.certificate.dual >= found.certificate.dual else found
    if by_primal is by_dual:
        return by_primal
    p, d = by_primal.certificate, by_dual.certificate
    certificate = Certificate(p.primal, d.dual, p.rounding_floor + d.rounding_floor, d.recomputed)
    return Verdict(certificate, by_primal.model, by_dual.witness)


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


def _primal(problem: Problem, model: Model) -> tuple[float, Model, NDArray[np.float64]]:
    """P(w, b), the model with its intercept, and its scores."""
    weights = np.asarray(model.weights, dtype=np.float64)
    scores = scores_of(problem, weights)
    intercept = model.intercept
    if intercept is None:
        intercept = problem.risk.best_intercept(scores) if problem.intercept else problem.no_intercept()
    if np.shape(intercept) != problem.theta_shape[1:] or not np.all(np.isfinite(intercept)):
        raise FenchelError(
            f"the model's intercept must be finite and of shape {problem.theta_shape[1:]}, got {intercept!r}"
        )
    if not problem.intercept and np.any(intercept):
        raise FenchelError("the model has an intercept but the problem has none: use Problem(..., intercept=True)")
    scores = scores + intercept
    penalty = problem.lam * problem.regularizer.value(weights)
    risk = problem.risk.value(scores)
    if not math.isfinite(penalty + risk):
        raise FenchelError("the objective overflows: scale X or the targets to moderate numbers")
    return penalty + risk, Model(weights, intercept), scores


def _dual(problem: Problem, witness: Witness, primal: float) -> tuple[_Bound, Witness, bool]:
    """The better of D(theta) and D(0), the feasible witness, and whether everything was recomputed."""
    theta = np.asarray(witness.theta, dtype=np.float64)
    if theta.shape != problem.theta_shape:
        raise FenchelError(f"the witness has shape {theta.shape}; this problem needs {problem.theta_shape}")
    closed_form = hasattr(problem.risk, "conjugate")
    bound, theta = _lower_bound(problem, theta, witness.conjugate_bound, primal, closed_form)
    if closed_form:
        # sup over s of -R(s) is minus the smallest value of each loss
        at_zero = -problem.risk.conjugate_at_zero
        if not bound.value >= at_zero:
            return _Bound(at_zero, abs(at_zero), 0.0), Witness(np.zeros(problem.theta_shape)), True
    return bound, Witness(theta, witness.conjugate_bound), closed_form


def _lower_bound(
    problem: Problem, theta: NDArray, trusted: float | None, primal: float, closed_form: bool
) -> tuple[_Bound, NDArray]:
    """D(theta) after theta was made feasible; minus infinity for a theta that proves nothing."""
    unbalanced = np.zeros(1)
    if closed_form and _usable(theta):
        theta, unbalanced = _feasible(problem, theta)
    if not _usable(theta):
        return _Bound(-np.inf, 0.0, 0.0), np.zeros(problem.theta_shape)
    if closed_form:
        conjugate = problem.risk.conjugate(theta, feasible=True)
    else:
        conjugate = np.inf if trusted is None else trusted
        if problem.intercept:
            unbalanced = np.array([abs(math.fsum(column)) for column in np.atleast_2d(theta.T)])
    v = problem.design.adjoint(theta)
    v /= problem.lam
    penalty = problem.lam * problem.regularizer.conjugate(v)
    dual = -penalty - conjugate - _charge(problem, unbalanced, primal)
    if not math.isfinite(dual):
        return _Bound(-np.inf, 0.0, 0.0), theta
    return _Bound(dual, penalty + abs(conjugate), _norm(problem.regularizer.transfer(v))), theta


def _usable(theta: NDArray) -> bool:
    """Whether no entry is NaN or so large that sums and squares overflow."""
    return bool(np.max(np.abs(theta)) < _HUGE)


def _feasible(problem: Problem, theta: NDArray) -> tuple[NDArray, NDArray]:
    """Theta in the domain of the conjugate and, for a free intercept, balanced; with what is left of each sum."""
    theta = problem.risk.project(theta)
    if not problem.intercept or not _usable(theta):
        return theta, np.zeros(1)
    if theta.ndim == 1:
        theta, left = _balance(theta)
        return theta, np.array([left])
    balanced = [_balance(column) for column in theta.T]
    return np.stack([column for column, _ in balanced], axis=1), np.array([left for _, left in balanced])


def _balance(theta: NDArray) -> tuple[NDArray, float]:
    """Shrink the heavier sign until the sum is zero up to rounding; a bound on what is left is returned too."""
    positive, negative = float(np.sum(theta[theta > 0])), -float(np.sum(theta[theta < 0]))
    if abs(positive - negative) > 4.0 * _EPS * positive:
        heavier = theta > 0 if positive > negative else theta < 0
        theta = np.where(heavier, theta * (min(positive, negative) / max(positive, negative)), theta)
    rest = math.fsum(theta[theta != 0.0])
    movable = np.flatnonzero((np.abs(theta) >= abs(rest)) & (np.sign(theta) == np.sign(rest)))
    if rest == 0.0 or movable.size == 0:
        return theta, abs(rest)
    # the smallest entry that can take the rest has the finest spacing of floats
    smallest = movable[np.argmin(np.abs(theta[movable]))]
    before = float(theta[smallest])
    theta = theta.copy()
    theta[smallest] = before - rest
    return theta, abs(math.fsum((rest, float(theta[smallest]), -before))) + _EPS * abs(rest)


def _charge(problem: Problem, unbalanced: NDArray, primal: float) -> float:
    """What an unbalanced theta costs: |sum theta| times a bound on the optimal intercept."""
    if not np.any(unbalanced):
        return 0.0
    # lam Omega(w*) <= P* <= P bounds |w*|, and with it every |x_i . w*|
    reach = problem.regularizer.radius(primal / problem.lam) * np.sqrt(problem.design.squared_row_norms)
    return float(np.sum(unbalanced)) * problem.risk.intercept_bound(primal, reach)
