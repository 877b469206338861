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
two verdicts             ``best_of``: the better model with the better witness
=======================  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fenchel.certificate.certificate import RESOLVED, Certificate
from fenchel.certificate.dual import Bound, lower_bound
from fenchel.certificate.other_lambdas import PathCertificate
from fenchel.certificate.primal import Primal, evaluate
from fenchel.certificate.rounding import is_trivial, lone_bound_rounding, rounding_floor
from fenchel.problem import Model, Problem, Witness


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
        primal = evaluate(problem, model)
        bound = lower_bound(problem, witness, _level(problem, primal.value))
        has_closed_form = problem.risk.closed_form() is not None
        witness = Witness(bound.theta, witness.conjugate_bound if has_closed_form else bound.conjugate)
        case = _bound_alone if math.isinf(primal.value) else _finite_gap
        certificate = case(problem, primal, bound, witness)
    return Verdict(certificate, primal.model, witness, _path_certificate(problem, primal, bound, certificate))


def _finite_gap(problem: Problem, primal: Primal, bound: Bound, witness: Witness) -> Certificate:
    """P - D with its rounding floor, and whether that floor is small enough for a gap below it to prove something."""
    floor = rounding_floor(problem, primal, bound, witness)
    relative = _relative(floor, primal.value, bound.value)
    # a gap above the floor is not rounding
    resolved = relative <= RESOLVED or primal.value - bound.value > floor or is_trivial(problem, primal.value + floor)
    return Certificate(primal.value, bound.value, floor, not bound.trusted, bool(resolved))


def _bound_alone(problem: Problem, primal: Primal, bound: Bound, witness: Witness) -> Certificate:
    """The lower bound less its rounding; for a constraint it holds for models with objectives up to the level."""
    value = bound.value - lone_bound_rounding(problem, primal, bound)
    value = -math.inf if math.isnan(value) else min(value, _level(problem, primal.value))
    return Certificate(primal.value, value, 0.0, not bound.trusted)


def _level(problem: Problem, primal: float) -> float:
    """An upper bound on the optimum, or ``level_bound`` if no finite objective is known."""
    for known in (primal, problem.risk.value_at_zero):
        if math.isfinite(known):
            return known
    return problem.level_bound


def _relative(floor: float, primal: float, dual: float) -> float:
    """The floor relative to max(|P|, |D|)."""
    scale = max(abs(primal), abs(dual)) if math.isfinite(dual) else abs(primal)
    return floor / scale if scale > 0.0 else 0.0


def _path_certificate(problem: Problem, primal: Primal, bound: Bound, certificate: Certificate) -> PathCertificate:
    at_zero = None if bound.trusted else problem.risk.conjugate_at_zero
    relative = 0.0 if math.isinf(primal.value) else _relative(certificate.rounding_floor, primal.value, bound.value)
    return PathCertificate(
        problem, primal.penalty, primal.risk, bound.v, bound.conjugate, at_zero, bound.unbalanced, relative
    )


def judge_moved(problem: Problem, model: Model, witness: Witness, known: PathCertificate) -> Verdict:
    """The verdict of ``judge`` from one for another lam, without reading the data.

    The witness is scaled by the best multiple for this lam.
    """
    certificate, scale = known.moved(problem.lam)
    conjugate = known.conjugate
    if known.at_zero is not None and scale != 1.0:
        conjugate = scale * known.conjugate + (1.0 - scale) * known.at_zero
    v = (scale * known.problem.lam / problem.lam) * known.v
    moved = replace(known, problem=problem, v=v, conjugate=conjugate, unbalanced=scale * known.unbalanced)
    bound = witness.conjugate_bound if known.conjugate_at_zero is not None else conjugate
    return Verdict(certificate, model, Witness(scale * witness.theta, bound), moved)


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
    certificate = Certificate(p.primal, d.dual, p.rounding_floor + d.rounding_floor, d.recomputed)
    if certificate.at_floor or certificate.contradictory:
        # the sum of both floors is not the floor of this pair: judge the pair itself
        return judge(by_dual.path_certificate.problem, by_primal.model, by_dual.witness)
    floor = by_primal.path_certificate.relative_floor + by_dual.path_certificate.relative_floor
    parts = by_primal.path_certificate
    mixed = replace(by_dual.path_certificate, penalty=parts.penalty, risk=parts.risk, relative_floor=floor)
    return Verdict(certificate, by_primal.model, by_dual.witness, mixed)
