"""Certificates of least squares from second moments, whose dual points are exact multiples of residuals."""

from decimal import Decimal

from campaign import exact
from campaign.cases import one_of
from exact_losses import DIGITS, digits
from fenchel import Model
from fenchel.certificate import ResidualWitness, gram_of, judge_all

#: the model that is judged, and others that are farther from the optimum
FACTORS = (1.0, 0.0, 0.5, -30.0)
#: what decides whether errors near the gap are accepted
TOLERANCES = (1e-9, 1e-3, 1.0)


def by_moments(case, model):
    """Certificates of multiples of a model, each with the exact P and D; none for other problems."""
    problem = case.problem
    if problem.regularizer.l1_ratio is None or gram_of(problem) is None:
        return []
    best = case.rng.random() < 0.5
    intercept = None if problem.intercept and best else model.intercept
    models = [Model(factor * model.weights, intercept) for factor in FACTORS]
    tol = one_of(case.rng, TOLERANCES)
    verdicts = judge_all([problem] * len(models), models, tol=tol)
    found = [verdict for verdict in verdicts if isinstance(verdict.witness, ResidualWitness)]
    if found:
        case.strata["moments"] = f"tol {tol:g}"
    return [
        (
            verdict.certificate,
            exact.primal(case, *exact.model_numbers(verdict.model)),
            exact.dual(case, _residuals(case, *exact.model_numbers(verdict.model), Decimal(verdict.witness.scale))),
        )
        for verdict in found
    ]


def _residuals(case, weights, intercept, scale):
    """The multiple of the residuals of the exact best intercept, times c, as rows of one output."""
    with digits(DIGITS):
        products = (sum(x * w for x, w in zip(row, weights[0], strict=True)) for row in case.rows)
        residuals = [own[0] - product for own, product in zip(case.labels, products, strict=True)]
        best = intercept[0]
        if case.problem.intercept:
            best = sum(c * r for c, r in zip(case.shares, residuals, strict=True)) / sum(case.shares)
        factor = scale / Decimal(case.problem.mean_risk.conjugate_curvature)
        return [[factor * c * (r - best)] for c, r in zip(case.shares, residuals, strict=True)]
