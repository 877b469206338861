"""What is screened is so at the exact optimum: weights are zero, and dual variables are on their bounds."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import Model, Problem, Witness, solve
from fenchel.certificate import screened
from fenchel.certificate.screening import squares_of_columns, zero_weights
from fenchel.losses import Quantile
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.risks import MeanRisk
from slow_optimum import LOSSES, exact_optimum, exact_slopes, exact_sparse_squares, optimal_intercepts, random_problem

#: sizes of perturbations of an optimum, and a witness at the optimum itself
NOISES = (0.3, 1e-2, 1e-4, 1e-6, 0.0)


def perturbed(problem, weights, noise, rng):
    """A model and a dual point about ``noise`` from an optimum."""
    w = np.array([float(v) for v in weights])
    scores = problem.design.scores(w)
    scores = scores + problem.best_intercept(scores)
    theta = -problem.risk.subgradient(scores + noise * rng.normal(size=scores.shape))
    moved = w + noise * (w != 0.0) * rng.normal(size=w.shape)
    return Model(moved, None if problem.intercept else 0.0), Witness(theta)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("storage", ["dense", "offset", "float32", "weighted", "sparse"])
def test_screened_features_have_weight_zero_in_rational_arithmetic(ratio, intercept, storage, portion):
    rng = np.random.default_rng([5, int(10 * ratio), intercept, len(storage)])
    known, proved, zero = 0, 0, 0
    for _ in range(portion(80)):
        n, d = int(rng.integers(4, 12)), int(rng.integers(3, 9))
        X = rng.normal(size=(n, d)) + 100.0 * (storage == "offset")
        X = X.astype(np.float32) if storage == "float32" else X
        X = np.where(rng.random((n, d)) < 0.4, X, 0.0) if storage == "sparse" else X
        y = (X[:, 0] - X[:, 0].mean()).astype(float) + 0.3 * rng.normal(size=n)
        weights = rng.integers(0, 4, size=n) + (np.arange(n) < 3) if storage == "weighted" else None
        regularizer = L1() if ratio == 1.0 else ElasticNet(ratio)
        design = sp.csr_array(X) if storage == "sparse" else X
        risk = MeanRisk("squared", y, weights)
        lam = float(10.0 ** rng.uniform(-2, 0) * np.max(np.abs(X.T.astype(float) @ (risk.shares * (y - y.mean())))))
        problem = Problem(design, risk, lam, regularizer, intercept=intercept)
        tight = solve(problem, tol=1e-13, max_iter=3000)
        optimum = exact_sparse_squares(X, y, risk.shares, problem.lam, ratio, intercept, tight.model.weights)
        if optimum is None:
            continue
        known += 1
        w, correlations = optimum
        for noise in NOISES:
            pair = perturbed(problem, w, noise, rng)
            mask = screened(problem, *pair).features
            assert mask.shape == (d,)
            for j in np.flatnonzero(mask):
                # strictly: then the weight is zero at every optimum
                assert abs(correlations[j]) < Fraction(problem.lam) * Fraction(ratio)
                assert w[j] == 0
        proved, zero = proved + int(mask.sum()), zero + sum(v == 0 for v in w)
    assert known > 5
    # at the optimum itself nearly all of them are proved, unless a sum of large numbers blurs them
    assert proved >= (0.5 if storage == "offset" else 0.9) * zero


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_screened_examples_are_on_their_bounds_in_rational_arithmetic(loss, intercept, portion):
    rng, known, proved = np.random.default_rng([6, intercept]), 0, 0
    for seed in range(portion(80)):
        X, y, weights, lam = random_problem(seed, loss, 100.0 * (seed % 4 == 1), seed % 4 == 2)
        problem = Problem(X, MeanRisk(loss, y, weights), lam, intercept=intercept)
        optimum = exact_optimum(loss, X, y, problem.risk.shares, lam, intercept)
        if optimum is None:
            continue
        known += 1
        w, b = optimum
        ends = optimal_intercepts(loss, X, y, problem.risk.shares, w, b) if intercept else [b]
        for noise in NOISES:
            found = screened(problem, *perturbed(problem, w, noise, rng))
            if loss == "squared":
                assert found.examples is None
                assert found.at_bound is None
                continue
            assert not np.any(found.examples & found.at_bound)
            proved += int(np.sum(found.examples | found.at_bound))
            for i in np.flatnonzero(found.examples | found.at_bound):
                if problem.risk.shares[i] == 0.0:
                    assert found.examples[i]
                    continue
                for end in ends:
                    score = sum(Fraction(float(a)) * v for a, v in zip(X[i], w, strict=True)) + end
                    low, high, bounds = exact_slopes(loss, y[i], score)
                    assert low == high
                    assert high == 0 if found.examples[i] else high in bounds and high != 0
    assert known > 3
    assert proved or loss == "squared"


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber_hinge", "huber", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_screened_features_of_smooth_losses_agree_with_a_tight_solve(loss, intercept, ratio):
    rng = np.random.default_rng([7, len(loss), intercept])
    X = rng.normal(size=(40, 60)) + 1.0
    y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=40)
    y = np.where(y > 0, 1.0, -1.0) if loss in ("logistic", "squared_hinge", "huber_hinge") else y
    problem = Problem(X, MeanRisk(loss, y), 0.05, L1() if ratio == 1.0 else ElasticNet(ratio), intercept=intercept)
    tight = solve(problem, tol=1e-12, max_iter=5000)
    slack = ratio - np.abs(tight.path_certificate.v)
    counts = []
    for tol in (1e-2, 1e-4, 1e-8):
        solution = solve(problem, tol=tol, max_iter=5000)
        mask = screened(problem, solution.model, solution.witness).features
        assert np.all(slack[mask] > 0.0)
        assert not np.any(tight.model.weights[mask])
        counts.append(int(mask.sum()))
        # the by-product of the solver proves a part of it
        squares = squares_of_columns(problem)
        assert (squares is not None) == (ratio == 1.0)
        if squares is not None:
            known = zero_weights(problem, solution.certificate, solution.path_certificate, squares)
            assert np.all(slack[known] > 0.0)
    assert counts[-1] >= 0.9 * np.sum(slack > 1e-3)


def test_several_outputs_are_screened_one_by_one():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 12))
    Y = np.stack([X[:, 0], X[:, 1] - X[:, 2]], axis=1)
    problem = Problem(X, MeanRisk("squared", Y), 0.2, L1(), intercept=True)
    solution = solve(problem, tol=1e-11)
    found = screened(problem, solution.model, solution.witness)
    assert found.features.shape == (2, 12)
    assert np.array_equal(found.features, solution.model.weights == 0.0)
    hinge = Problem(X, MeanRisk("hinge", np.sign(Y)), 0.2, L2())
    solution = solve(hinge, tol=1e-9)
    assert screened(hinge, solution.model, solution.witness).examples.shape == (30, 2)


def test_what_can_not_be_proved_is_none():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(20, 4)), np.sign(rng.normal(size=20))
    # the loss is not smooth, and the penalty not strongly convex
    for risk in (MeanRisk("hinge", y), MeanRisk(Quantile(0.3), y)):
        problem = Problem(X, risk, 0.1, L1())
        solution = solve(problem, tol=1e-6)
        found = screened(problem, solution.model, solution.witness)
        assert found.features is None
        assert found.examples is None
        assert "nothing" in str(found)
    # a witness that proves nothing
    problem = Problem(X, MeanRisk("logistic", y), 1e-3, L1())
    found = screened(problem, Model(np.zeros(4)), Witness(np.zeros(20)))
    assert not found.features.any()
