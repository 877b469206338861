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
_ROUNDINGS = 8.0
#: relative gaps above this are so far from rounding that its size need not be known well
_NEAR_FLOOR = 1e-8
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


def judge(problem: Problem, model: Model, witness: Witness) -> Verdict:
    """Recompute the certificate of a model and a witness from the data."""
    with np.errstate(over="ignore", invalid="ignore"):
        primal, model, scores = _primal(problem, model)
        dual, dual_noise, witness, recomputed = _dual(problem, witness, primal)
        # where the infimum is zero and not attained, nothing is lost below the square of the accuracy of floats
        noise = abs(primal) + dual_noise + _EPS * problem.risk.value_at_zero
        if primal - dual <= _NEAR_FLOOR * noise:
            # rounding of a score moves the risk by its slope there
            noise += float(np.sum(np.abs(problem.risk.subgradient(scores) * scores)))
    floor = _ROUNDINGS * _EPS * noise
    return Verdict(Certificate(primal, dual, floor, recomputed), model, witness)


def best_of(known: Verdict | None, found: Verdict) -> Verdict:
    """The better model of the two with the better witness of the two: each half of a proof stands on its own.

    Where both are optimal up to rounding the objective can't tell them apart; the later one has seen more steps.
    """
    if known is None or (known.certificate.at_floor and found.certificate.at_floor):
        return found
    by_primal = known if known.certificate.primal <= found.certificate.primal else found
    by_dual = known if known.certificate.dual >= found.certificate.dual else found
    certificate = Certificate(
        by_primal.certificate.primal,
        by_dual.certificate.dual,
        max(by_primal.certificate.rounding_floor, by_dual.certificate.rounding_floor),
        by_dual.certificate.recomputed,
    )
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
    if not problem.intercept and np.any(intercept):
        raise FenchelError("the model has an intercept but the problem has none: use Problem(..., intercept=True)")
    scores = scores + intercept
    penalty = problem.lam * problem.regularizer.value(weights)
    risk = problem.risk.value(scores)
    if not math.isfinite(penalty + risk):
        raise FenchelError("the objective overflows: scale X or the targets to moderate numbers")
    return penalty + risk, Model(weights, intercept), scores


def _dual(problem: Problem, witness: Witness, primal: float) -> tuple[float, float, Witness, bool]:
    """The better of D(theta) and D(0), the magnitudes that enter it, the feasible witness, and if it was recomputed."""
    theta = np.asarray(witness.theta, dtype=np.float64)
    if theta.shape != problem.theta_shape:
        raise FenchelError(f"the witness has shape {theta.shape}; this problem needs {problem.theta_shape}")
    closed_form = hasattr(problem.risk, "conjugate")
    dual, noise, theta = _lower_bound(problem, theta, witness.conjugate_bound, primal, closed_form)
    if closed_form:
        # sup over s of -R(s) is minus the smallest value of each loss
        at_zero = -problem.risk.conjugate_at_zero
        if not dual >= at_zero:
            return at_zero, abs(at_zero), Witness(np.zeros(problem.theta_shape)), True
    return dual, noise, Witness(theta, witness.conjugate_bound), closed_form


def _lower_bound(
    problem: Problem, theta: NDArray, bound: float | None, primal: float, closed_form: bool
) -> tuple[float, float, NDArray]:
    """D(theta) after theta was made feasible; minus infinity for a theta that proves nothing."""
    unbalanced = np.zeros(1)
    if closed_form and _usable(theta):
        theta, unbalanced = _feasible(problem, theta)
    if not _usable(theta):
        return -np.inf, 0.0, theta
    if closed_form:
        conjugate = problem.risk.conjugate(theta, feasible=True)
    else:
        conjugate = np.inf if bound is None else bound
        if problem.intercept:
            unbalanced = np.array([abs(math.fsum(column)) for column in np.atleast_2d(theta.T)])
    penalty = problem.lam * problem.regularizer.conjugate(problem.design.adjoint(theta) / problem.lam)
    dual = -penalty - conjugate - _charge(problem, unbalanced, primal)
    return (dual if math.isfinite(dual) else -np.inf), penalty + abs(conjugate), theta


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
    if positive != negative:
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
