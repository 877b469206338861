"""A certificate is never below the true gap: checked in exact rational arithmetic, on data that cancels badly too."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import MeanRisk, Problem, solve
from fenchel.certificate import judge

LOSSES = ["hinge", "squared"]  # the ones whose values and conjugates are rational


def exact(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


def exact_gap(X, y, c, lam, loss, weights, intercept, theta):
    """P - D with every operation exact.  The bound |sum theta| |b| is what an unbalanced theta costs at least."""
    rows, w, b = [exact(row) for row in X], exact(weights), Fraction(float(intercept))
    lam, c, y, theta = Fraction(float(lam)), exact(c), exact(y), exact(theta)
    scores = [sum(x * v for x, v in zip(row, w, strict=True)) + b for row in rows]
    primal = lam * sum(v * v for v in w) / 2
    conjugate = Fraction(0)
    for share, label, score, t in zip(c, y, scores, theta, strict=True):
        if loss == "hinge":
            primal += share * max(Fraction(0), 1 - label * score)
            conjugate -= label * t
        else:
            primal += share * (score - label) ** 2 / 2
            conjugate += t * t / share / 2 - t * label
    adjoint = [sum(t * row[j] for t, row in zip(theta, rows, strict=True)) for j in range(len(w))]
    dual = -sum(v * v for v in adjoint) / (2 * lam) - conjugate
    return primal - dual


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("storage", ["dense", "sparse", "float32"])
def test_a_solvers_certificate_is_not_below_the_exact_gap(loss, intercept, offset, storage):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(3, 25)), int(rng.integers(1, 4))
        X = (rng.normal(size=(n, d)) + offset).astype(np.float32 if storage == "float32" else np.float64)
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        lam = 10.0 ** rng.uniform(-3, 1)
        problem = Problem(sp.csr_array(X) if storage == "sparse" else X, MeanRisk(loss, y), lam, intercept=intercept)
        solution = solve(problem, tol=[1e-13, 1e-3][seed % 2], max_iter=300)
        for certificate, model, witness in (
            (solution.certificate, solution.model, solution.witness),
            judge(problem, solution.model, solution.witness),
        ):
            arguments = (loss, model.weights, model.intercept, witness.theta)
            true_gap = exact_gap(X, y, problem.risk.shares, lam, *arguments)
            assert Fraction(certificate.gap) + Fraction(certificate.rounding_floor) >= true_gap


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
@pytest.mark.parametrize("offset", [1e4, 1e6, 3e7, 1e9])
def test_far_from_zero_no_fit_is_worse_than_no_model(loss, offset):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)) + offset, np.where(rng.random(100) < 0.5, 1.0, -1.0)
    problem = Problem(X, MeanRisk(loss, y), 0.01, intercept=True)
    certificate = solve(problem, max_iter=200).certificate
    assert certificate.primal <= problem.risk.value_at_zero
    assert np.isfinite(certificate.gap)


@pytest.mark.parametrize("shift", [0.0, 5.0, 1e6])
def test_the_mean_of_the_targets_costs_nothing(shift):
    X = np.random.default_rng(0).normal(size=(300, 10))
    problem = Problem(X, MeanRisk("squared", np.full(300, shift)), 0.01, intercept=True)
    solution = solve(problem)
    assert solution.passes <= 2
    assert solution.model.intercept == pytest.approx(shift)
