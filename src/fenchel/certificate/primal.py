r"""The primal objective :math:`P(w, b) = \lambda\,\Omega(w) + R(Xw + b\mathbf 1)`, from the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.rounding import MANY_SCORES
from fenchel.errors import FenchelError
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


def evaluate(problem: Problem, model: Model, scores: Floats | None = None) -> Primal:
    """P at a model; ``intercept=None`` is replaced by the best intercept for its weights.

    ``scores`` are X w if they are known, which the function changes.
    """
    weights = np.asarray(model.weights, dtype=np.float64)
    scores = scores_of(problem, weights) if scores is None else scores
    intercept = problem.best_intercept(scores) if model.intercept is None else model.intercept
    check_intercept(problem, intercept)
    scores += intercept
    penalty, risk = problem.regularizer.value(weights), problem.risk.value(scores)
    value = problem.lam * penalty + risk
    _check_finite(problem, penalty, risk, value)
    kept = scores if scores.size <= MANY_SCORES else None
    return Primal(penalty, risk, value, Model(weights, intercept), kept)


def evaluate_all(problems: Sequence[Problem], models: Sequence[Model]) -> list[Primal]:
    """P at the models of problems that differ in lam only; X w is one product for all of them."""
    weights = [np.asarray(model.weights, dtype=np.float64) for model in models]
    if len(problems[0].weights_shape) > 1 or any(each.shape != problems[0].weights_shape for each in weights):
        return [evaluate(*each) for each in zip(problems, models, strict=True)]
    scores = np.ascontiguousarray(_finite_scores(problems[0], np.stack(weights)).T)
    return [evaluate(*each) for each in zip(problems, models, scores, strict=True)]


def scores_of(problem: Problem, weights: Array) -> Floats:
    """X w; raise if the weights have another shape than the problem's, or if the product overflows."""
    if weights.shape != problem.weights_shape:
        raise FenchelError(f"the model's weights must have shape {problem.weights_shape}, got {weights.shape}")
    if not weights.any():
        # of problems that a limit leaves without a step, many at a time with several classes
        return np.zeros(problem.theta_shape)
    return _finite_scores(problem, weights)


def _finite_scores(problem: Problem, weights: Array) -> Floats:
    """X w for each row of the weights; raise if a product overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.design.scores(weights)
    if not np.isfinite(scores).all():
        raise FenchelError("the scores X w overflow or are not finite: check the model's weights and scale X")
    return scores


def check_intercept(problem: Problem, intercept: float | Array) -> None:
    """Raise unless the intercept is finite, of the problem's shape, and zero in a problem without one."""
    if isinstance(intercept, float) and problem.risk.outputs is None and math.isfinite(intercept):
        shaped = True
    else:
        shaped = np.shape(intercept) == problem.theta_shape[1:] and bool(np.all(np.isfinite(intercept)))
    if not shaped:
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
