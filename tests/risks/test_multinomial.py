"""The multinomial risk: values, gradient, conjugate, projection, balance, intercepts and certificates."""

import math

import numpy as np
import pytest

import slow_multinomial as slow
from fenchel import FenchelError, Model, Problem, Witness, solve
from fenchel.certificate import judge
from fenchel.projections.zero_sum import column_sums
from fenchel.risks import MeanRisk, Multinomial


def random_risk(rng, n=6, k=4, weighted=True):
    y = rng.integers(0, k, n)
    risk = Multinomial(y, k, rng.integers(1, 4, n) if weighted else None)
    return risk, y, risk.shares


def random_theta(rng, y, c, k):
    """A dual point in the domain, of which some entries are zero and some rows at their bound."""
    beta = rng.random((len(y), k)) * rng.integers(0, 2, (len(y), k))
    beta[np.arange(len(y)), y] = 0.0
    total = beta.sum(axis=1, keepdims=True)
    beta /= np.where(rng.integers(0, 2, total.shape) & (total > 0), total, np.maximum(1.0, total))
    theta = -c[:, None] * beta
    theta[np.arange(len(y)), y] = -theta.sum(axis=1)
    return theta


@pytest.mark.parametrize("size", [1e-8, 1.0, 30.0, 1e3, 1e300])
def test_the_value_is_the_formula(size):
    rng = np.random.default_rng(0)
    for _ in range(30):
        risk, y, c = random_risk(rng, k=int(rng.integers(2, 7)))
        scores = rng.standard_normal((len(y), risk.outputs)) * size
        assert risk.value(scores) == pytest.approx(float(slow.value(scores, y, c)), rel=1e-13)
        # no accuracy is lost where every example is right by far
        scores = 30.0 * np.eye(risk.outputs)[y] + rng.standard_normal(scores.shape)
        assert risk.value(scores) == pytest.approx(float(slow.value(scores, y, c)), rel=1e-12)
    assert risk.value_at_zero == pytest.approx(math.log(risk.outputs), rel=1e-15)


def test_the_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(1)
    for _ in range(20):
        risk, y, c = random_risk(rng)
        scores = rng.standard_normal((len(y), 4)) * 3
        slope, h = risk.subgradient(scores), 1e-5
        np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-16)
        for i in range(len(y)):
            for j in range(4):
                up, down = scores.copy(), scores.copy()
                up[i, j] += h
                down[i, j] -= h
                expected = float((slow.value(up, y, c) - slow.value(down, y, c)) / (2 * h))
                assert slope[i, j] == pytest.approx(expected, abs=1e-10)
        assert np.sum(np.abs(slope)) <= risk.subgradient_norm_bound()


@pytest.mark.parametrize("k", [2, 3, 6])
def test_the_conjugate_is_that_of_a_conic_solver(k):
    rng = np.random.default_rng([2, k])
    for _ in range(20):
        y = rng.integers(0, k, 1)
        theta = random_theta(rng, y, np.ones(1), k)
        assert Multinomial(y, k).conjugate(theta) == pytest.approx(slow.conjugate(theta[0], int(y[0])), abs=2e-7)
        outside = theta.copy()
        outside[0, y[0]] += 0.1
        assert Multinomial(y, k).conjugate(outside) == np.inf
        outside = theta.copy()
        outside[0, (y[0] + 1) % k] = 0.1
        outside[0, y[0]] -= outside.sum()
        assert Multinomial(y, k).conjugate(outside) == np.inf


def test_fenchel_and_young():
    rng = np.random.default_rng(3)
    for _ in range(200):
        risk, y, c = random_risk(rng)
        scores, theta = rng.standard_normal((len(y), 4)) * 10.0 ** rng.uniform(-2, 2), random_theta(rng, y, c, 4)
        size = 1.0 + np.max(np.abs(scores))
        assert risk.value(scores) + risk.conjugate(theta) >= -np.sum(theta * scores) - 1e-14 * size
        best = -risk.subgradient(scores)
        found = risk.value(scores) + risk.conjugate(best)
        assert found == pytest.approx(-np.sum(best * scores), abs=1e-14 * size)
    assert risk.conjugate(np.zeros_like(theta)) == risk.conjugate_at_zero == 0.0


def test_projection_and_balance_stay_in_the_domain():
    rng = np.random.default_rng(4)
    for round in range(200):
        risk, y, c = random_risk(rng, n=12)
        theta = random_theta(rng, y, c, 4)
        np.testing.assert_allclose(risk.project(theta), theta, atol=1e-15)
        if round % 2:
            theta = theta * rng.uniform(-1, 3, theta.shape)
        projected = risk.project(theta)
        balanced, left = risk.balance(projected)
        for found in (projected, balanced):
            others = -found.copy()
            others[np.arange(12), y] = 0.0
            assert np.all(others >= 0)
            assert np.all(others.sum(axis=1) <= c * (1 + 1e-14))
            assert math.isfinite(risk.conjugate(found))
        np.testing.assert_allclose(np.abs(balanced.sum(axis=0)), left, atol=1e-15)


def test_sums_of_columns_are_those_of_exact_arithmetic():
    rng = np.random.default_rng(5)
    for _ in range(100):
        theta = rng.standard_normal((int(rng.integers(1, 500)), 3)) * 10.0 ** rng.uniform(-200, 100, 3)
        theta -= theta.mean(axis=0) * rng.integers(0, 2)
        theta[:, 2] *= rng.integers(0, 2)
        exact = np.array([math.fsum(column) for column in theta.T])
        found, error = column_sums(theta)
        assert np.all(np.abs(found - exact) <= error)
        assert np.all(error <= 1e-25 * len(theta) ** 3 * np.max(np.abs(theta), axis=0) + 2.3e-16 * np.abs(exact))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("size", [0.1, 3.0, 300.0])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_the_best_intercepts_have_no_slope(size, weighted):
    rng = np.random.default_rng(6)
    for _ in range(40):
        y = rng.permutation(np.arange(40) % 4)
        risk = Multinomial(y, 4, rng.integers(0, 3, 40) + (np.arange(40) < 20) if weighted else None)
        scores = rng.standard_normal((40, 4)) * size + rng.standard_normal(4) * 3 * size
        b = risk.best_intercept(scores)
        assert b.sum() == pytest.approx(0.0, abs=1e-13 * max(1.0, np.max(np.abs(b))))
        assert risk.value(scores + b) <= risk.value(scores) * (1 + 1e-13)
        slope = risk.subgradient(scores + b).sum(axis=0)
        assert np.max(np.abs(slope)) <= 1e-13 * (1 + size)


@pytest.mark.parametrize("scores", [np.zeros(4), np.array([5.0, -300.0, 0.1, 1.0])], ids=["zero", "constant"])
def test_the_best_intercepts_of_constant_scores_give_the_frequencies(scores, monkeypatch):
    """Without a search, which takes several passes."""
    monkeypatch.setattr("fenchel.risks.multiclass.multinomial._best_intercept", None)
    y = np.array([0, 1, 1, 2, 2, 2, 2])
    risk = Multinomial(y, 4, np.array([2.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.0]))
    b = risk.best_intercept(np.tile(scores, (7, 1)))
    assert b.sum() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(risk.probabilities(scores[None] + b)[0], [4 / 11, 4 / 11, 3 / 11, 0.0], atol=1e-15)


def test_a_class_without_examples_costs_next_to_nothing():
    risk, present = Multinomial([0, 1, 1], 3), Multinomial([0, 1, 1], 2)
    scores = np.random.default_rng(7).standard_normal((3, 3)) * 5
    expected = present.value(scores[:, :2] + present.best_intercept(scores[:, :2]))
    assert risk.value(scores + risk.best_intercept(scores)) == pytest.approx(expected, rel=1e-14)
    balanced, left = risk.balance(-risk.subgradient(scores))
    assert np.all(balanced[:, 2] == 0.0) and left[2] == 0.0


def test_intercepts_are_within_their_bound():
    rng = np.random.default_rng(8)
    for _ in range(300):
        y, X, W = rng.permutation(np.arange(10) % 4), rng.standard_normal((10, 3)), rng.standard_normal((4, 3))
        b = rng.standard_normal(4) * 10.0 ** rng.uniform(-1, 3)
        risk, reach = Multinomial(y, 4), np.max(np.abs(X @ W.T), axis=1)
        assert np.ptp(b) <= np.max(risk.intercept_bound(risk.value(X @ W.T + b), reach))


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_no_witness_proves_too_much(intercept):
    """Weak duality with corrupted witnesses: no bound is above the optimum, and every bound is at most D(theta)."""
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 3
    c, lam = np.full(20, 1 / 20), 0.05
    problem = Problem(X, Multinomial(y), lam, intercept=intercept)
    W, b, best = slow.optimum(X, y, 3, c, lam, intercept)
    good = -problem.risk.subgradient(X @ W.T + b)
    for round in range(200):
        noise = rng.standard_normal(good.shape) * 10.0 ** rng.uniform(-9, 2)
        theta = good + noise if round % 3 else good * rng.uniform(-1, 3, good.shape)
        if round % 20 == 19:
            theta[rng.integers(20), rng.integers(3)] = rng.choice([np.inf, np.nan, 1e200])
        verdict = judge(problem, Model(W, b), Witness(theta))
        assert verdict.certificate.dual <= best * (1 + 1e-12)
        assert verdict.certificate.dual >= 0.0
        found = float(slow.dual(X, y, c, lam, verdict.witness.theta))
        assert verdict.certificate.dual <= found + verdict.certificate.rounding_floor
    assert judge(problem, Model(W, b), Witness(good)).certificate.relative_gap <= 1e-7


def test_slopes_near_bound_the_slopes():
    rng = np.random.default_rng(10)
    for _ in range(200):
        risk, y, _ = random_risk(rng)
        scores, near = rng.standard_normal((2, len(y), 4)) * [[[3.0]], [[10.0 ** rng.uniform(-8, 1)]]]
        near = np.abs(near)
        moved = scores + near * rng.uniform(-1, 1, near.shape)
        assert np.all(np.abs(risk.subgradient(moved)) <= risk.subgradient_bounds(scores, near) * (1 + 1e-12))


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_two_classes_are_the_binary_problem_with_twice_the_c(intercept, weighted):
    """W = (-v/2, v/2) has the penalty lam/4 |v|^2, and the loss is the logistic one of v . x."""
    rng = np.random.default_rng(12)
    X = rng.standard_normal((50, 4)) + 0.5
    y = (X[:, 0] + 0.5 * rng.standard_normal(50) > 0.3).astype(int)
    weights = rng.integers(0, 4, 50) if weighted else None
    two = solve(Problem(X, Multinomial(y, 2, weights), 0.02, intercept=intercept), tol=1e-13)
    one = solve(Problem(X, MeanRisk("logistic", 2.0 * y - 1, weights), 0.01, intercept=intercept), tol=1e-13)
    assert two.certificate.primal == pytest.approx(one.certificate.primal, rel=1e-12)
    np.testing.assert_allclose(two.model.weights[1] - two.model.weights[0], one.model.weights, atol=1e-6)
    shift = np.asarray(two.model.intercept)
    np.testing.assert_allclose(shift[1] - shift[0], one.model.intercept, atol=1e-6)


@pytest.mark.parametrize(("classes", "count"), [([0.5, 1.0], None), ([-1, 0], None), ([0, 1, 2], 2), ([0], None)])
def test_bad_classes_are_refused(classes, count):
    with pytest.raises(FenchelError, match=r"classes must be|count must be"):
        Multinomial(classes, count)
