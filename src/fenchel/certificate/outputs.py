"""The certificates of several outputs that share the rows X, each as a problem of its own.

One against the rest has a problem for each class, whose losses, sums and products differ in the labels alone; the
points of a path differ in lam alone.  On small data a certificate is a hundred short calls of NumPy, whatever their
length: here those over the examples are made once for all outputs.  The formulas are those of ``gap.judge``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate.dual import Bound, lower_bounds
from fenchel.certificate.gap import Verdict, judge, verdict_of
from fenchel.certificate.primal import Primal, check_weights, evaluate, evaluate_all, level_of
from fenchel.certificate.rounding import (
    Errors,
    absolute_sums,
    adjoint_spread,
    errors_of_terms,
    risk_error_terms,
    scores_at,
)
from fenchel.numerics.rounding import gamma, tree_sums
from fenchel.problem import Model, Problem, Witness


def judge_outputs(problem: Problem, model: Model, witness: Witness) -> list[Verdict]:
    """The verdict of ``judge`` for each output of a mean of losses with ridge, with the finer bounds on errors."""
    if problem.risk.outputs is None or problem.risk.separable() is None:
        return [judge(problem, model, witness)]
    weights, problems = np.asarray(model.weights, dtype=np.float64), problem.outputs_apart
    check_weights(problem, weights)
    intercepts = [None] * len(weights) if model.intercept is None else np.asarray(model.intercept).tolist()
    models = [Model(*each) for each in zip(weights, intercepts, strict=True)]
    theta = np.asarray(witness.theta, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        primals, scores = evaluate_all(problem, problems, models)
        bounds = _bounds(problem, problems, primals, theta)
        given = [Witness(column) for column in theta.T]
        if bounds is None:
            return [judge(*each) for each in zip(problems, models, given, strict=True)]
        errors = _fine_errors(problem, problems, scores, primals, bounds)
        return [verdict_of(*each) for each in zip(problems, primals, bounds, given, errors, strict=True)]


def judge_all(
    problems: Sequence[Problem], models: Sequence[Model], witnesses: Sequence[Witness] | None = None
) -> list[Verdict]:
    """The verdicts of ``judge`` for problems that differ in lam only, with one product with X for all of them.

    Without witnesses the dual point of a model is minus the subgradient of the risk at its scores.
    """
    first = problems[0]
    with np.errstate(over="ignore", invalid="ignore"):
        if not _stackable(first):
            given: Sequence[Witness | None] = witnesses or [None] * len(problems)
            return [_judged(*each) for each in zip(problems, models, given, strict=True)]
        shared = first.repeated(len(problems))
        primals, scores = evaluate_all(shared, problems, models)
        if witnesses is None:
            theta = -shared.risk.subgradient(scores)
        else:
            theta = np.array([np.asarray(witness.theta, dtype=np.float64) for witness in witnesses]).T
        points, bounds = [Witness(column) for column in theta.T], _bounds(shared, problems, primals, theta)
        if bounds is None:
            return [judge(*each) for each in zip(problems, models, points, strict=True)]
        return [verdict_of(*each) for each in zip(problems, primals, bounds, points, strict=True)]


def _stackable(problem: Problem) -> bool:
    """Whether problems that differ in lam only can be the outputs of one problem."""
    simple = problem.regularizer.free_directions() is None and problem.design.kernel() is None
    return simple and problem.risk.separable() is not None and problem.risk.outputs is None


def _judged(problem: Problem, model: Model, witness: Witness | None) -> Verdict:
    if witness is None:
        witness = Witness(-problem.risk.subgradient(scores_at(problem, evaluate(problem, model))))
    return judge(problem, model, witness)


def _bounds(
    shared: Problem, problems: Sequence[Problem], primals: Sequence[Primal], theta: Array
) -> list[Bound] | None:
    """The lower bounds of all outputs; None where one of them or its objective is not finite."""
    levels = [level_of(problem, primal.value) for problem, primal in zip(problems, primals, strict=True)]
    bounds = lower_bounds(shared, problems, theta, levels)
    if bounds is None or not all(math.isfinite(primal.value) for primal in primals):
        return None
    return bounds if all(math.isfinite(bound.value) for bound in bounds) else None


def _fine_errors(
    shared: Problem, problems: Sequence[Problem], scores: Array, primals: Sequence[Primal], bounds: Sequence[Bound]
) -> list[Errors]:
    """Bounds on the rounding errors of each output, row by row."""
    models = [primal.model for primal in primals]
    model = Model(np.array([each.weights for each in models]), np.array([each.intercept for each in models]))
    theta = np.array([bound.theta for bound in bounds]).T
    of_scores = np.sum([tree_sums(terms) for terms in risk_error_terms(shared, model, scores)], axis=0)
    of_conjugate = tree_sums(shared.mean_risk.conjugate_error_terms(theta, problems[0].mean_risk.mean_roundings))
    sums, terms = absolute_sums(theta), absolute_sums(theta, shared.design.row_magnitudes)
    found = []
    for k, (problem, primal, bound) in enumerate(zip(problems, primals, bounds, strict=True)):
        spread = adjoint_spread(problem, bound.theta, fine=True, known=(sums[k : k + 1], terms[k : k + 1]))
        of_risk = float(of_scores[k]) + gamma(problem.risk.roundings) * abs(primal.risk)
        found.append(errors_of_terms(problem, primal, bound, of_risk, spread, float(of_conjugate[k]), fine=True))
    return found
