"""The certificates of several outputs that share the rows X, each as a problem of its own.

One against the rest has a problem for each class, whose losses, sums and products differ in the labels alone; the
points of a path differ in lam alone.  On small data a certificate is a hundred short calls of NumPy, whatever their
length: here those over the examples are made once for all outputs.  The formulas are those of ``gap.judge``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.dual import (
    MOST_MOVED,
    Bound,
    Point,
    best_point,
    feasible,
    moved_distance,
    not_below_zero,
    of_point,
    usable,
)
from fenchel.certificate.gap import Verdict, judge, verdict_of
from fenchel.certificate.moments import gram_of, judge_by_moments
from fenchel.certificate.primal import Primal, check_weights, evaluate, evaluate_all, level_of
from fenchel.certificate.rescaling import largest_multiple
from fenchel.certificate.rounding import (
    VERY_FEW_SCORES,
    Errors,
    absolute_sums,
    adjoint_spread,
    errors_of_terms,
    risk_error_terms,
    rough_errors,
    scores_at,
)
from fenchel.losses.base import never_below
from fenchel.numerics.rounding import UNIT, gamma, tree_sums
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import MeanRisk


def judge_outputs(problem: Problem, model: Model, witness: Witness | None, *, tol: float = 0.0) -> list[Verdict]:
    """The verdict of ``judge`` for each output of a mean of losses with ridge, with the finer bounds on errors.

    Without a witness, which a mean of one quadratic loss does not need, it is that of ``judge_all`` with the moments.
    """
    if witness is None:
        gram_of(problem)
        return judge_all([problem], [model], tol=tol)
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
    problems: Sequence[Problem],
    models: Sequence[Model],
    witnesses: Sequence[Witness] | None = None,
    *,
    tol: float = 0.0,
) -> list[Verdict]:
    """The verdicts of ``judge`` for problems that differ in lam only, with one product with X for all of them.

    Without witnesses the dual point of a model is minus the subgradient of the risk at its scores, or a multiple; then
    the moments of the data serve where they are known, with errors that are small beside the gap or ``tol``.
    """
    if witnesses is not None:
        return _judged_together(problems, models, witnesses)
    with np.errstate(over="ignore", invalid="ignore"):
        found = judge_by_moments(problems, models, tol)
    others = [k for k, verdict in enumerate(found) if verdict is None]
    if others:
        judged = _judged_together([problems[k] for k in others], [models[k] for k in others], None)
        for k, verdict in zip(others, judged, strict=True):
            found[k] = verdict
    return [verdict for verdict in found if verdict is not None]


def _judged_together(
    problems: Sequence[Problem], models: Sequence[Model], witnesses: Sequence[Witness] | None
) -> list[Verdict]:
    first = problems[0]
    with np.errstate(over="ignore", invalid="ignore"):
        if not _stackable(first):
            given: Sequence[Witness | None] = witnesses or [None] * len(problems)
            return [_judged(*each) for each in zip(problems, models, given, strict=True)]
        shared = first.repeated(len(problems))
        primals, scores = evaluate_all(shared, problems, models)
        if witnesses is None:
            theta = np.empty_like(scores)
            for part, mean in shared.mean_risk.blocks_of_outputs():
                np.negative(mean.subgradient(scores[:, part]), out=theta[:, part])
        else:
            theta = np.array([np.asarray(witness.theta, dtype=np.float64) for witness in witnesses]).T
        points, bounds = [Witness(column) for column in theta.T], _bounds(shared, problems, primals, theta)
        if bounds is None:
            return [judge(*each) for each in zip(problems, models, points, strict=True)]
        return [_verdict(*each) for each in zip(problems, primals, bounds, points, strict=True)]


def _verdict(problem: Problem, primal: Primal, bound: Bound, witness: Witness) -> Verdict:
    """The verdict of the two sides; where they need the finer bounds, R* is computed once more, as these take it."""
    if bound.size is None:
        return verdict_of(problem, primal, bound, witness)
    errors = rough_errors(problem, primal, bound)
    return (
        judge(problem, primal.model, witness) if errors is None else verdict_of(problem, primal, bound, witness, errors)
    )


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
    bounds = _lower_bounds(shared, problems, theta, levels)
    if bounds is None or not all(math.isfinite(primal.value) for primal in primals):
        return None
    return bounds if all(math.isfinite(bound.value) for bound in bounds) else None


def _lower_bounds(
    shared: Problem, problems: Sequence[Problem], theta: Array, levels: Sequence[float]
) -> list[Bound] | None:
    """``lower_bound`` of each output of a mean of losses, as in ``primal.evaluate_all``; None if a theta is not usable.

    X^T theta is one product, and sums over the examples are computed for all outputs at once.
    """
    theta, unbalanced = feasible(shared, shared.mean_risk, np.asarray(theta), None)
    if not usable(theta):
        return None
    theta, v = np.asfortranarray(theta), shared.design.adjoint(theta)
    v /= np.array([[problem.lam] for problem in problems])
    unbalanced, points = np.broadcast_to(unbalanced, len(problems)), []
    for part, mean in shared.mean_risk.blocks_of_outputs():
        points += _best_of_all(shared, problems[part], mean, theta[:, part], unbalanced[part], v[part])
    each = zip(problems, points, levels, strict=True)
    return [not_below_zero(problem, of_point(problem, point, level)) for problem, point, level in each]


def _best_of_all(
    shared: Problem, problems: Sequence[Problem], mean: MeanRisk, theta: Array, unbalanced: Array, v: Array
) -> list[Point]:
    """``best_point`` of each column of theta, at once where the largest feasible multiple is below one and the best."""
    limited = math.isfinite(shared.regularizer.largest_scale(v, 1.0))
    if limited:
        sizes = absolute_sums(theta)
        largest = [largest_multiple(one, theta[:, k], v[k], sums=sizes[k : k + 1]) for k, one in enumerate(problems)]
        scales = np.minimum(largest, 1.0)
        simple = not shared.intercept and len(theta) > VERY_FEW_SCORES
        along = mean.conjugate_along(theta) if simple else None
        if along is not None:
            return _multiples(problems, theta, v, scales, sizes, along)
    conjugates = tree_sums(mean.conjugate_terms(theta))
    columns = [(theta[:, k], unbalanced[k : k + 1], float(conjugates[k]), v[k]) for k in range(len(problems))]
    if not limited:
        return [Point(*each) for each in columns]
    multiples = scales * theta
    at_scales = tree_sums(mean.conjugate_terms(multiples))
    # D is concave: it rises up to the scale if it is not less at 1
    rising = (scales < 1.0) & (conjugates <= at_scales) & np.isfinite(at_scales)
    found, left = feasible(shared, mean, multiples, None)
    sums, moved = absolute_sums(found), absolute_sums(found - multiples)
    if np.any(moved):
        at_scales = tree_sums(mean.conjugate_terms(found))
    distances, left = moved_distance(moved, sums), np.broadcast_to(left, len(problems))
    return [
        Point(found[:, k], left[k : k + 1], float(at_scales[k]), scales[k] * v[k], float(distances[k]))
        if rising[k] and not moved[k] > MOST_MOVED * UNIT * sums[k]
        else best_point(problem, problem.mean_risk, *columns[k], None)
        for k, problem in enumerate(problems)
    ]


def _multiples(
    problems: Sequence[Problem],
    theta: Array,
    v: Array,
    scales: Array,
    sizes: Array,
    along: tuple[Floats, Floats],
) -> list[Point]:
    """``_best_of_all`` without an intercept, where ``along`` has R* of all multiples and each is in its domain."""
    linear, quadratic = along
    conjugates, at_scales = never_below(linear + quadratic), never_below(scales * (linear + scales * quadratic))
    rising, found = (scales < 1.0) & (conjugates <= at_scales) & np.isfinite(at_scales), []
    sizes = scales * sizes
    for k, problem in enumerate(problems):
        if rising[k]:
            distance = float(moved_distance(np.zeros(1), sizes[k])[0])
            parts = (scales[k] * theta[:, k], np.zeros(1), float(at_scales[k]), scales[k] * v[k])
            found.append(Point(*parts, distance, float(sizes[k])))
        else:
            conjugate = problem.mean_risk.conjugate(theta[:, k], feasible=True)
            found.append(best_point(problem, problem.mean_risk, theta[:, k], np.zeros(1), conjugate, v[k], None))
    return found


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
