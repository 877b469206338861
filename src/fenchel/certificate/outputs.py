"""The certificates of several outputs that share the rows X, each as a problem of its own.

One against the rest has a problem for each class, whose losses, sums and products differ in the labels alone.  On small
data a certificate is a hundred short calls of NumPy, whatever their length: here each is made once for all outputs.
The formulas are those of ``gap.judge``, with the finer bounds on rounding errors.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate.dual import Point, feasible, not_below_zero, of_point, usable, v_of
from fenchel.certificate.gap import Verdict, judge, level_of, verdict_of
from fenchel.certificate.primal import Primal, check_intercept, scores_of
from fenchel.certificate.rounding import absolute_sums, adjoint_spread, errors_of_terms, risk_error_terms
from fenchel.numerics.rounding import gamma, tree_sums
from fenchel.problem import Model, Problem, Witness


def judge_outputs(problem: Problem, model: Model, witness: Witness) -> list[Verdict]:
    """The verdict of ``judge`` for each output of a mean of losses with ridge."""
    if problem.risk.outputs is None or problem.risk.separable() is None:
        return [judge(problem, model, witness)]
    mean, weights, problems = problem.mean_risk, np.asarray(model.weights, dtype=np.float64), problem.outputs_apart
    given = [Witness(theta) for theta in np.asarray(witness.theta, dtype=np.float64).T]
    with np.errstate(over="ignore", invalid="ignore"):
        scores = scores_of(problem, weights)
        intercepts: Array = problem.best_intercept(scores) if model.intercept is None else np.asarray(model.intercept)
        check_intercept(problem, intercepts)
        scores += intercepts
        model = Model(weights, intercepts)
        models = [Model(each, float(b)) for each, b in zip(weights, intercepts, strict=True)]
        theta, unbalanced = feasible(problem, mean, np.asarray(witness.theta), None)
        if not usable(theta):
            return [judge(*each) for each in zip(problems, models, given, strict=True)]
        v, unbalanced = v_of(problem, theta), np.broadcast_to(unbalanced, len(problems))
        risks, conjugates = tree_sums(mean.value_terms(scores)), tree_sums(mean.conjugate_terms(theta))
        of_scores = np.sum([tree_sums(terms) for terms in risk_error_terms(problem, model, scores)], axis=0)
        of_conjugate = tree_sums(mean.conjugate_error_terms(theta, problems[0].mean_risk.mean_roundings))
        sums, terms = absolute_sums(theta), absolute_sums(theta, problem.design.row_magnitudes)
        scores, theta = np.ascontiguousarray(scores.T), np.ascontiguousarray(theta.T)
        found = []
        for k, one in enumerate(problems):
            penalty, risk = one.regularizer.value(weights[k]), float(risks[k])
            primal = Primal(penalty, risk, one.lam * penalty + risk, models[k], scores[k])
            point = Point(theta[k], unbalanced[k : k + 1], float(conjugates[k]), v[k])
            bound = not_below_zero(one, of_point(one, point, level_of(one, primal.value)))
            if not math.isfinite(primal.value) or bound.theta is not point.theta or not math.isfinite(bound.value):
                # the sums above are not those of this pair
                found.append(judge(one, models[k], given[k]))
                continue
            spread = adjoint_spread(one, point.theta, fine=True, known=(sums[k : k + 1], terms[k : k + 1]))
            of_risk = float(of_scores[k]) + gamma(one.risk.roundings) * abs(risk)
            errors = errors_of_terms(one, primal, bound, of_risk, spread, float(of_conjugate[k]), fine=True)
            found.append(verdict_of(one, primal, bound, given[k], errors))
        return found
