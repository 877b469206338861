r"""Certificates: the duality gap of a model and a witness, recomputed from the data.

.. math:: \text{gap} = P(w, b) - D(\theta) \;\ge\; P(w, b) - P^*

is recomputed from the data, the model and the witness in float64 with NumPy: it uses neither compiled
loops nor running sums of a solver.  ``primal`` and ``dual`` evaluate the two sides, ``rounding`` bounds their errors.

=======================  ==================================================================
case                     function
=======================  ==================================================================
P is finite              ``_finite_gap``
P is infinite            ``_bound_alone``: a constraint is violated; the lower bound stands
another :math:`\lambda`  ``judge_moved``: nothing is read from the data
many :math:`\lambda`     ``outputs.judge_all``: products and sums over examples are computed for all of them at once
least squares            ``moments.judge_by_moments``: these for many :math:`\lambda` from the Gram matrix
several outputs          ``outputs.judge_outputs``: the same for problems that differ in their labels
rows elsewhere           ``by_groups.judged_by_groups``: sums over the examples are computed beside their rows
two verdicts             ``best_of``: the better model with the better witness
=======================  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fenchel.certificate.by_groups import judged_by_groups
from fenchel.certificate.certificate import Certificate
from fenchel.certificate.dual import Bound, lower_bound
from fenchel.certificate.held_witness import HeldWitness
from fenchel.certificate.other_lambdas import PathCertificate, charge
from fenchel.certificate.primal import Primal, evaluate, level_of
from fenchel.certificate.rounding import Errors, rounding_errors
from fenchel.certificate.stand_in import unbounded_below
from fenchel.certificate.trivial import is_trivial, may_be_trivial, zero_objective
from fenchel.problem import Model, Problem, Witness

#: error of P, relative to P, that bounds on intercepts include
_NEGLIGIBLE_ERROR = 1e-7


class Verdict(NamedTuple):
    """A certificate with its model (including the intercept) and its witness (made feasible).

    ``path_certificate`` certifies the same two for any other lam.
    """

    certificate: Certificate
    model: Model
    witness: Witness
    path_certificate: PathCertificate


def judge(problem: Problem, model: Model, witness: Witness) -> Verdict:
    """Recompute the certificate of a model and a witness from the data."""
    with np.errstate(over="ignore", invalid="ignore"):
        by_groups = judged_by_groups(problem, model, witness)
        if by_groups is not None:
            return verdict_of(
                problem, by_groups.primal, by_groups.bound, witness, by_groups.errors, held=by_groups.witness
            )
        primal = evaluate(problem, model)
        bound = lower_bound(problem, witness, level_of(problem, primal.value))
        return verdict_of(problem, primal, bound, witness)


def verdict_of(
    problem: Problem,
    primal: Primal,
    bound: Bound,
    witness: Witness,
    errors: Errors | None = None,
    *,
    held: Witness | None = None,
) -> Verdict:
    """The certificate of the two sides, with their rounding errors.

    ``held`` is the witness to return where its theta is not in memory; otherwise it is made of the bound's.
    """
    if held is None:
        conjugate = bound.conjugate if problem.risk.closed_form() is None else witness.conjugate_bound
        parts = witness.decomposition if bound.decomposed is None else bound.decomposed.decomposition
        witness = Witness(bound.theta, conjugate, parts)
    else:
        witness = held
    errors = rounding_errors(problem, primal, bound) if errors is None else errors
    bound = _recharged(problem, primal, bound, errors)
    zero = zero_objective(problem) if may_be_trivial(problem, primal, bound, errors) else math.inf
    if math.isinf(primal.value):
        certificate = _bound_alone(problem, primal, bound, errors)
    else:
        certificate = _finite_gap(problem, primal, bound, errors, zero)
    return Verdict(certificate, primal.model, witness, _path_certificate(problem, primal, bound, errors, zero))


def _finite_gap(problem: Problem, primal: Primal, bound: Bound, errors: Errors, zero: float) -> Certificate:
    """P and D with their rounding errors, and whether the model without weights is as good up to rounding."""
    trivial = is_trivial(problem, primal.value, errors.primal + errors.dual, zero)
    return Certificate(primal.value, bound.value, errors.primal, errors.dual, not bound.trusted, trivial)


def _bound_alone(problem: Problem, primal: Primal, bound: Bound, errors: Errors) -> Certificate:
    """The lower bound; for a constraint it holds for models with objectives up to the level."""
    level = level_of(problem, primal.value)
    value = -math.inf if math.isnan(bound.value) else min(bound.value, level + errors.dual)
    return Certificate(primal.value, value, 0.0, errors.dual, not bound.trusted)


def _recharged(problem: Problem, primal: Primal, bound: Bound, errors: Errors) -> Bound:
    """The charge for an unbalanced theta again where the exact objective may be much larger than the computed one.

    It bounds the optimal intercept by an objective that the optimum does not exceed.
    """
    known = errors.primal <= _NEGLIGIBLE_ERROR * abs(primal.value) or unbounded_below(problem) is not None
    if known or not bound.unbalanced.any() or not math.isfinite(primal.value + errors.primal):
        return bound
    value = bound.value + bound.charge
    charged = charge(problem, bound.unbalanced, primal.value + errors.primal, value)
    return bound._replace(value=value - charged, charge=charged)


def _path_certificate(problem: Problem, primal: Primal, bound: Bound, errors: Errors, zero: float) -> PathCertificate:
    at_zero = None if bound.trusted else problem.risk.conjugate_at_zero
    return PathCertificate(
        problem,
        primal.penalty,
        primal.risk,
        bound.v,
        bound.conjugate,
        at_zero,
        bound.unbalanced,
        errors,
        zero,
        scores=primal.scores,
    )


def judge_moved(problem: Problem, model: Model, witness: Witness, known: PathCertificate) -> Verdict:
    """The verdict of ``judge`` from one for another lam, without reading the data.

    The witness is scaled by the best multiple for this lam.
    """
    # one pass over v instead of one for each bound; the norm that it stands for is all that ridge takes
    short = known.compress() if problem.regularizer.is_ridge else known
    certificate, scale = short.moved(problem.lam)
    conjugate = known.conjugate
    if known.at_zero is not None and scale != 1.0:
        conjugate = scale * known.conjugate + (1.0 - scale) * known.at_zero
    v = (scale * known.problem.lam / problem.lam) * known.v
    moved = replace(
        known,
        problem=problem,
        v=v,
        conjugate=conjugate,
        unbalanced=scale * known.unbalanced,
        errors=short.errors_at(problem.lam, scale),
    )
    bound = witness.conjugate_bound if known.conjugate_at_zero is not None else conjugate
    return Verdict(certificate, model, Witness(scale * witness.theta, bound, witness.decomposition), moved)


def gathered(verdict: Verdict) -> Verdict:
    """A verdict with its dual variables in memory; judged again with others if some of its own were lost."""
    held = verdict.witness
    if not isinstance(held, HeldWitness):
        return verdict
    witness = Witness(held.theta)
    if held.lost:
        return judge(verdict.path_certificate.problem, verdict.model, witness)
    return verdict._replace(witness=witness)


def best_of(known: Verdict | None, found: Verdict) -> Verdict:
    """The better model of the two with the better witness of the two: both bounds hold independently.

    If both are optimal up to rounding, the later one is returned, since more steps were spent on it.
    """
    if known is None or (known.certificate.optimal and found.certificate.optimal):
        return found
    by_primal = known if known.certificate.primal <= found.certificate.primal else found
    by_dual = known if known.certificate.dual >= found.certificate.dual else found
    if by_primal is by_dual:
        return by_primal
    p, d = by_primal.certificate, by_dual.certificate
    certificate = Certificate(p.primal, d.dual, p.primal_error, d.dual_error, d.recomputed)
    if certificate.at_floor or certificate.contradictory:
        # rough bounds on the errors may do for each half but not for this pair: judge the pair itself
        return judge(by_dual.path_certificate.problem, by_primal.model, by_dual.witness)
    first, second = by_primal.path_certificate, by_dual.path_certificate
    errors = second.errors._replace(penalty=first.errors.penalty, risk=first.errors.risk)
    mixed = replace(second, penalty=first.penalty, risk=first.risk, errors=errors, scores=first.scores)
    return Verdict(certificate, by_primal.model, by_dual.witness, mixed)
