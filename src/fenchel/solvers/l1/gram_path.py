"""Models for one or many values of lambda from one Gram matrix: the lasso with the squared loss and few features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fenchel.arrays import Floats
from fenchel.certificate import Moments, gram_of, moments_of
from fenchel.problem import Model, Problem
from fenchel.solvers.l1.loop_gram import descend_path
from fenchel.solvers.l1.working_set import OutputState, reused
from fenchel.solvers.threads import Parts, weighted_gram

#: largest number of features, and the same as a multiple of the number of values of lambda that share the Gram matrix
_MOST_FEATURES, _FEATURES_PER_LAM = 1000, 20
#: the estimate of the gap of a point, as a share of the tolerance, and most sweeps
_TOLERANCE, _MAX_SWEEPS = 0.3, 300
#: smallest tolerance for which the estimate of the gap is accurate
_LEAST_TOLERANCE = 1e-9
#: variance of a column, relative to its mean square, below which centring G loses too many digits
_LEAST_SPREAD = 1e-6
#: and below which the column counts as constant
_CONSTANT = 1e-14
#: products of one call of the loop at most, about a quarter of a second
_WORK_OF_CALL = 500_000_000
#: and before a solve that begins with the same sweeps: a tenth of a millisecond, a share of what its calls take
_WORK_AT_ONCE = 1 << 17
#: most points of a block, which share a tenth of a millisecond of calls, and their scores (32 MB)
_MOST_POINTS, _MOST_SCORES = 100, 1 << 22


def shares_gram(problem: Problem, lams: Sequence[float], tol: float) -> bool:
    """Return whether the points of a path are proposed by this module."""
    features, risk = problem.design.shape[1], problem.mean_risk
    few = features <= min(_MOST_FEATURES, _FEATURES_PER_LAM * len(lams))
    return few and tol >= _LEAST_TOLERANCE and risk.outputs is None and risk.conjugate_curvature is not None


def propose_points(problem: Problem, lams: Sequence[float], tol: float) -> Iterator[list[Model]]:
    """Yield models for the values of lam in turn, a block of them at a time."""
    moments, kappa = _moments(problem, moments_of(problem)), problem.mean_risk.conjugate_curvature
    assert kappa is not None
    if moments is None:
        return
    gram, correlations, square = moments
    step = max(1, min(_MOST_POINTS, _MOST_SCORES // problem.design.shape[0]))
    start = np.zeros(len(correlations))
    # a call of a loop can't be stopped
    together = max(1, _WORK_OF_CALL // (_MAX_SWEEPS * max(1, len(start)) ** 2))
    for begin in range(0, len(lams), step):
        # R = r^T C r / (2 kappa)
        scaled = kappa * np.asarray(lams[begin : begin + step], dtype=np.float64)
        weights = np.empty((len(scaled), len(start)))
        for k in range(0, len(scaled), together):
            part = slice(k, k + together)
            descend_path(gram, correlations, square, scaled[part], start, _TOLERANCE * tol, _MAX_SWEEPS, weights[part])
            start = weights[part][-1].copy()
        intercept = None if problem.intercept else problem.no_intercept()
        yield [Model(each, intercept) for each in weights]


def minimize_at_once(problem: Problem, known: Moments, tol: float) -> Model | None:
    """The model of an easy problem; None where a few sweeps do not reach ``tol``, relative to the objective."""
    features, kappa = problem.design.shape[1], problem.mean_risk.conjugate_curvature
    sweeps = min(_MAX_SWEEPS, _WORK_AT_ONCE // max(1, features) ** 2)
    moments = _moments(problem, known) if sweeps and kappa is not None and tol >= _LEAST_TOLERANCE else None
    if moments is None or kappa is None:
        return None
    weights, lams = np.empty((1, features)), np.array([kappa * problem.lam])
    gap = descend_path(*moments, lams, np.zeros(features), _TOLERANCE * tol, sweeps, weights)
    return Model(weights[0], None if problem.intercept else problem.no_intercept()) if gap <= _TOLERANCE * tol else None


def minimize_by_gram(output: OutputState, target_gap: float) -> float:
    """Minimize over all features by the Gram matrix, in one step; return the data passes.

    The next step selects a working set, unless the certificate ends the solve before.
    """
    problem, risk = output.problem, output.problem.mean_risk
    # Newton steps with these weights of the rows take it too
    _gram(problem)
    moments, kappa = _moments(problem, moments_of(problem)), risk.conjugate_curvature
    assert kappa is not None
    if moments is None:
        return 1.0
    gram, correlations, square = moments
    weights, lams = np.empty((1, len(output.weights))), np.array([kappa * problem.lam])
    # P is at most R(0)
    tol = max(_TOLERANCE * target_gap / max(risk.value_at_zero, float(np.finfo(np.float64).tiny)), _LEAST_TOLERANCE)
    gap = descend_path(gram, correlations, square, lams, output.weights, tol, _MAX_SWEEPS, weights)
    scores = problem.design.scores(weights[0])
    intercept = float(problem.best_intercept(scores)) if problem.intercept else 0.0
    objective = problem.lam * float(np.sum(np.abs(weights))) + risk.value(scores + intercept)
    if objective < output.objective:
        output.weights, output.scores, output.intercept = weights[0], scores + intercept, intercept
        output.objective = output.present_objective = objective
        output.gap = gap * objective if objective > 0.0 else np.inf
        # the next selection may find the same objective
        output.rounds_without_progress = -1
    return 2.0


def _moments(problem: Problem, known: Moments | None) -> tuple[Floats, Floats, float] | None:
    """G, q and y^T C y, centred beside an intercept; None if a column is so far from zero that centring cancels.

    ``known`` are the moments of certificates, which serve unless centring y would cancel.
    """
    if known is None or (problem.intercept and known.square - known.label_mean**2 < _LEAST_SPREAD * known.square):
        gram, mean, correlations, square, total = _summed_moments(problem)
    else:
        gram, correlations, square, mean, total = known[:5]
    if not problem.intercept:
        # those of certificates are not to be written to
        return gram.copy(), correlations.copy(), square
    squares = np.diagonal(gram)
    gram = gram - np.outer(mean, mean)
    constant = np.diagonal(gram) <= _CONSTANT * squares
    if np.any((np.diagonal(gram) < _LEAST_SPREAD * squares) & ~constant):
        return None
    correlations = correlations - mean * total
    # a column that is constant up to rounding has no weight beside an intercept
    gram[constant], gram[:, constant], correlations[constant] = 0.0, 0.0, 0.0
    return gram, correlations, square - total**2


def _summed_moments(problem: Problem) -> tuple[Floats, Floats, Floats, float, float]:
    """The same for y less its mean, beside an intercept."""
    design, risk = problem.design, problem.mean_risk
    gram, mean = _gram(problem)
    labels = risk.labels - float(risk.shares @ risk.labels) if problem.intercept else risk.labels
    correlations, square = design.adjoint(risk.shares * labels), float(risk.shares @ labels**2)
    return gram, mean, correlations, square, float(risk.shares @ labels)


def _gram(problem: Problem) -> tuple[Floats, Floats]:
    """G and X^T c, those of certificates where they have them."""
    design, shares = problem.design, problem.risk.shares
    gram, mean = reused(
        design,
        "gram",
        shares,
        lambda: gram_of(problem) or weighted_gram(design, np.arange(len(shares)), shares, Parts(design)),
    )
    return gram, mean
