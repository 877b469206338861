r"""The primal objective :math:`P(w, b) = \lambda\,\Omega(w) + R(Xw + b\mathbf 1)`, from the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.rounding import MANY_SCORES
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import tree_sums
from fenchel.problem import Model, Problem


class Primal(NamedTuple):
    """P(w, b) in its two parts, with the inputs of its rounding bound."""

    #: Omega(w) and R(s)
    penalty: float
    risk: float
    #: lam Omega(w) + R(s)
    value: float
    #: the model with its intercept filled in
    model: Model
    #: s, or None where keeping it would take too much memory
    scores: Floats | None


def evaluate(problem: Problem, model: Model) -> Primal:
    """P at a model; ``intercept=None`` is replaced by the best intercept for its weights."""
    weights = np.asarray(model.weights, dtype=np.float64)
    scores = scores_of(problem, weights)
    intercept = _checked_intercept(problem, model, scores)
    scores += intercept
    return primal_of(problem, Model(weights, intercept), scores, problem.risk.value(scores))


def evaluate_all(shared: Problem, problems: Sequence[Problem], models: Sequence[Model]) -> tuple[list[Primal], Floats]:
    """P of each output of a mean of losses, as a problem of its own, and the scores of all, computed at once.

    ``shared`` is the problem of all outputs; the others may differ in their labels and in lam.
    """
    for problem, model in zip(problems, models, strict=True):
        check_weights(problem, model.weights)
    weights = np.array([model.weights for model in models], dtype=np.float64)
    # by columns: what broadcasts is then a column too
    scores = scores_of(shared, weights, by_output=True)
    each = zip(problems, models, scores.T, strict=True)
    intercepts = [_checked_intercept(problem, model, column) for problem, model, column in each]
    if shared.intercept:
        scores += np.array(intercepts)
    blocks = shared.mean_risk.blocks_of_outputs()
    risks = [risk for part, mean in blocks for risk in tree_sums(mean.value_terms(scores[:, part])).tolist()]
    filled = [Model(row, intercept) for row, intercept in zip(weights, intercepts, strict=True)]
    return [primal_of(*each) for each in zip(problems, filled, scores.T, risks, strict=True)], scores


def _checked_intercept(problem: Problem, model: Model, scores: Array) -> Any:
    """The intercept of a model, or the best one for its scores X w."""
    intercept = problem.best_intercept(scores) if model.intercept is None else model.intercept
    check_intercept(problem, intercept)
    return intercept


def primal_of(problem: Problem, model: Model, scores: Floats | None, risk: float) -> Primal:
    """P of a model with its intercept, whose risk is known; the scores are kept unless they are many."""
    penalty = problem.regularizer.value(model.weights)
    value = problem.lam * penalty + risk
    _check_finite(problem, penalty, risk, value)
    kept = scores if scores is not None and scores.size <= MANY_SCORES else None
    return Primal(penalty, risk, value, model, kept)


def level_of(problem: Problem, primal: float) -> float:
    """An upper bound on the optimum, or ``level_bound`` if no finite objective is known."""
    for known in (primal, problem.risk.value_at_zero):
        if math.isfinite(known):
            return known
    return problem.level_bound


def scores_of(problem: Problem, weights: Array, *, by_output: bool = False) -> Floats:
    """X w; raise if the weights have another shape than the problem's, or if the product overflows.

    With ``by_output`` the scores of an output are side by side in memory.
    """
    check_weights(problem, weights)
    if not weights.any():
        # of problems that a limit leaves without a step, many at a time with several classes
        return np.zeros(problem.theta_shape, order="F" if by_output else "C")
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.design.scores_by_output(weights).T if by_output else problem.design.scores(weights)
    if not np.isfinite(scores).all():
        raise FenchelError("the scores X w overflow or are not finite: check the model's weights and scale X")
    return scores


def check_weights(problem: Problem, weights: Array) -> None:
    """Raise unless the weights have the problem's shape."""
    if np.shape(weights) != problem.weights_shape:
        raise FenchelError(f"the model's weights must have shape {problem.weights_shape}, got {np.shape(weights)}")


def check_intercept(problem: Problem, intercept: float | Array) -> None:
    """Raise unless the intercept is finite, of the problem's shape, and zero in a problem without one."""
    plain = isinstance(intercept, float) and problem.risk.outputs is None and math.isfinite(intercept)
    if plain and (problem.intercept or intercept == 0.0):
        return
    if np.shape(intercept) != problem.theta_shape[1:] or not np.all(np.isfinite(intercept)):
        raise FenchelError(
            f"the model's intercept must be finite and of shape {problem.theta_shape[1:]}, got {intercept!r}"
        )
    if not problem.intercept and np.any(intercept):
        raise FenchelError("the model has an intercept but the problem has none: use Problem(..., intercept=True)")


def _check_finite(problem: Problem, penalty: float, risk: float, value: float) -> None:
    """Raise for an infinite objective, unless the loss may be infinite at moderate scores."""
    if penalty == math.inf and not problem.regularizer.finite:
        raise FenchelError(
            f"the regularizer {problem.regularizer.name!r} is infinite at these weights: check their signs and sum"
        )
    mean = problem.risk.separable()
    may_be_infinite = risk == math.inf and mean is not None and mean.loss.overflows
    if not math.isfinite(value) and not may_be_infinite:
        raise FenchelError("the objective overflows: scale X or the targets to moderate numbers")
