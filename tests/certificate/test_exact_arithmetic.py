"""A certificate is never below the true gap: checked in exact rational arithmetic, on data that cancels badly too."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from catalog import SOLVER_NAMES, regularizer_of
from fenchel import Model, Problem, Witness, solve
from fenchel.certificate import judge
from fenchel.risks import MeanRisk
from slow_conic import conic_optimum

#: some whose values and conjugates are rational
LOSSES = ["hinge", "squared", "absolute"]


def exact(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


def exact_gap(X, y, c, lam, l1_ratio, loss, weights, intercept, theta):
    """P - D with every operation exact.  The bound |sum theta| |b| is what an unbalanced theta costs at least."""
    rows, w, b = [exact(row) for row in X], exact(weights), Fraction(float(intercept))
    lam, rho, c, y, theta = Fraction(float(lam)), Fraction(float(l1_ratio)), exact(c), exact(y), exact(theta)
    scores = [sum(x * v for x, v in zip(row, w, strict=True)) + b for row in rows]
    primal = lam * sum((1 - rho) * v * v / 2 + rho * abs(v) for v in w)
    conjugate = Fraction(0)
    for share, label, score, t in zip(c, y, scores, theta, strict=True):
        if loss == "hinge":
            primal += share * max(Fraction(0), 1 - label * score)
            conjugate -= label * t
        elif loss == "absolute":
            primal += share * abs(score - label)
            conjugate -= label * t
        else:
            primal += share * (score - label) ** 2 / 2
            conjugate += t * t / share / 2 - t * label
    adjoint = [sum(t * row[j] for t, row in zip(theta, rows, strict=True)) for j in range(len(w))]
    dual = -lam * sum(max(Fraction(0), abs(v) / lam - rho) ** 2 for v in adjoint) / (2 * (1 - rho)) - conjugate
    return primal - dual


def random_data(seed, offset, storage):
    """X as it is stored, X dense, labels of +-1 and lam."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 25)), int(rng.integers(1, 4))
    X = (rng.normal(size=(n, d)) + offset).astype(np.float32 if storage == "float32" else np.float64)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return sp.csr_array(X) if storage == "sparse" else X, X, y, 10.0 ** rng.uniform(-3, 1)


every_loss = pytest.mark.parametrize("loss", LOSSES)
every_offset = pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e8])
every_storage = pytest.mark.parametrize("storage", ["dense", "sparse", "float32"])
every_ratio = pytest.mark.parametrize("l1_ratio", [0.0, 0.1, 0.99])
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def assert_not_below_the_exact_gap(certificate, model, witness, data, loss, l1_ratio, shares):
    _, X, y, lam = data
    true_gap = exact_gap(X, y, shares, lam, l1_ratio, loss, model.weights, model.intercept, witness.theta)
    assert Fraction(certificate.gap) + Fraction(certificate.rounding_floor) >= true_gap


@pytest.mark.meetings(1)
@every_loss
@with_and_without
@every_offset
@every_storage
@every_ratio
@pytest.mark.parametrize("solver", SOLVER_NAMES)
def test_a_solvers_certificate_is_not_below_the_exact_gap(solver, loss, intercept, offset, storage, l1_ratio):
    # the exact gap does not ask how far a solver gets, and cutting planes get expensive
    seeds, most = {"newton": (2, 300), "bundle": (2, 20)}.get(solver, (8, 300))
    for seed in range(seeds):
        data = random_data(seed, offset, storage)
        problem = Problem(data[0], MeanRisk(loss, data[2]), data[3], regularizer_of(l1_ratio), intercept=intercept)
        solution = solve(problem, solver, tol=[1e-13, 1e-3][seed % 2], max_iter=most)
        for certificate, model, witness in (
            (solution.certificate, solution.model, solution.witness),
            judge(problem, solution.model, solution.witness)[:3],
        ):
            assert_not_below_the_exact_gap(certificate, model, witness, data, loss, l1_ratio, problem.risk.shares)


@pytest.mark.meetings(1)
@every_loss
@with_and_without
@every_offset
@every_storage
@pytest.mark.parametrize("l1_ratio", [0.1, 0.5, 0.99])
def test_a_strangers_certificate_is_not_below_the_exact_gap(loss, intercept, offset, storage, l1_ratio):
    """Weights near the conic solver's, some of them set to zero, and the dual point that belongs to their scores."""
    for seed in range(4):
        data = random_data(seed, offset, storage)
        stored, X, y, lam = data
        problem = Problem(stored, MeanRisk(loss, y), lam, regularizer_of(l1_ratio), intercept=intercept)
        rng, X = np.random.default_rng([8, seed]), X.astype(np.float64)
        w, b, _ = conic_optimum(loss, X, y, problem.risk.shares, lam, intercept, l1_ratio)
        for noise in (0.0, 1e-12, 1e-3):
            w = np.where(np.abs(w) < 1e-6, 0.0, w * (1 + noise * rng.normal(size=w.shape)))
            theta = -problem.risk.subgradient(X @ w + b) * (1 + noise * rng.normal(size=y.shape))
            verdict = judge(problem, Model(w, None if intercept else 0.0), Witness(theta))
            assert_not_below_the_exact_gap(*verdict[:3], data, loss, l1_ratio, problem.risk.shares)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("solver", SOLVER_NAMES)
@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_a_score_that_rounds_to_a_kink_is_not_taken_to_be_on_it(loss, solver, portion):
    """At the kink the computed slope is zero, yet a score off by a rounding costs the slope beside it."""
    for seed in range(portion(100)):
        rng = np.random.default_rng([9, seed])
        X, y, lam = rng.normal(size=(1, 4)), np.array([1.0 if loss == "hinge" else 0.1 * rng.normal()]), 0.1
        problem = Problem(X, MeanRisk(loss, y), lam)
        solution = solve(problem, solver, tol=1e-12)
        certificate, model, witness, _ = judge(problem, solution.model, solution.witness)
        assert_not_below_the_exact_gap(certificate, model, witness, (X, X, y, lam), loss, 0.0, problem.risk.shares)


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
