"""The minimum of a quadratic plus a weighted l1 norm: coordinate descent, extrapolation, interior-point method."""

import numpy as np
import pytest

from fenchel.compile.primitives.anderson import ANDERSON_DEPTH, anderson_coefficients
from fenchel.solvers import quadratic_l1
from fenchel.solvers.quadratic_l1 import kkt_violation, minimize_quadratic_l1
from fenchel.solvers.quadratic_l1_interior import interior_minimizer


def slow_minimum(H, q, t, steps=200_000):
    """Plain coordinate descent."""
    z = np.zeros(len(q))
    for _ in range(steps):
        before = z.copy()
        for j in range(len(q)):
            target = z[j] - (H[j] @ z + q[j]) / H[j, j]
            z[j] = np.sign(target) * max(abs(target) - t[j] / H[j, j], 0.0)
        if np.max(np.abs(z - before)) <= 1e-15 * np.max(np.abs(z)):
            break
    return z


def quadratic(rng, size, rank):
    """A matrix of some rank, a linear term in its range, and thresholds of which the last is zero."""
    A = rng.normal(size=(rank, size))
    t = np.full(size, 0.1)
    t[-1] = 0.0
    return A.T @ A / rank, A.T @ rng.normal(size=rank) / rank, t


@pytest.mark.parametrize("seed", range(4))
def test_the_interior_minimum_is_that_of_coordinate_descent(seed):
    H, q, t = quadratic(np.random.default_rng(seed), 12, 30)
    best = slow_minimum(H, q, t)
    found = interior_minimizer(H, q, t, np.zeros(12))
    np.testing.assert_allclose(found, best, atol=1e-7)
    assert np.count_nonzero(best) < 12, "no weight is zero"


@pytest.mark.parametrize("curvature", [0.0, 1e-12])
def test_a_feature_without_entries_does_not_set_the_scale_of_the_interior_point_method(curvature):
    H, q, t = quadratic(np.random.default_rng(0), 12, 30)
    best = slow_minimum(H, q, t)
    wider, linear = np.zeros((13, 13)), np.append(0.0, q)
    wider[1:, 1:], wider[0, 0] = H, curvature
    found = interior_minimizer(wider, linear, np.append(0.1, t), np.zeros(13))
    np.testing.assert_allclose(found, np.append(0.0, best), atol=1e-6)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("rank", [30, 6], ids=["regular", "singular"])
def test_the_minimum_meets_its_conditions(rank, warm):
    rng = np.random.default_rng(rank)
    for _ in range(5):
        H, q, t = quadratic(rng, 12, rank)
        point = rng.normal(size=12) if warm else np.zeros(12)
        gradient = H @ point + q
        minimize_quadratic_l1(H, t, point, gradient, step_tolerance=0.0, tolerance=1e-10, sweeps=3)
        assert kkt_violation(t, point, H @ point + q) <= 1e-9
        np.testing.assert_allclose(gradient, H @ point + q, atol=1e-11)


def test_ill_conditioned_features_end_in_few_rounds(monkeypatch):
    """One-hot codes of several variables: each group sums to one, so H is nearly singular, and t is tiny."""
    rng = np.random.default_rng(3)
    X = np.hstack([np.eye(9)[rng.integers(0, 9, 400)] for _ in range(8)]) + 1e-4 * rng.normal(size=(400, 72))
    y = np.sign(rng.normal(size=400))
    H, q, t = X.T @ X / 400, -X.T @ y / 400, np.full(72, 1e-7)
    monkeypatch.setattr(quadratic_l1, "_MAX_ROUNDS", 8)
    point, gradient = np.zeros(72), q.copy()
    minimize_quadratic_l1(H, t, point, gradient, step_tolerance=0.0, tolerance=1e-3 * t[0], sweeps=50)
    assert kkt_violation(t, point, H @ point + q) <= 1e-2 * t[0]


def test_anderson_extrapolation_finds_the_fixed_point_of_an_affine_map():
    """K differences are enough for a map with K different eigenvalues; equal iterates have no extrapolation."""
    rng = np.random.default_rng(4)
    basis = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    rates = np.resize([0.9, 0.5, -0.3, 0.7], 9)
    fixed, iterates = rng.normal(size=9), [rng.normal(size=9)]
    for _ in range(ANDERSON_DEPTH):
        iterates.append(fixed + basis @ (rates * (basis.T @ (iterates[-1] - fixed))))
    coefficients = anderson_coefficients(np.array(iterates))
    assert coefficients.sum() == pytest.approx(1.0)
    distance = np.linalg.norm(coefficients @ np.array(iterates) - fixed)
    assert distance <= 1e-3 * np.linalg.norm(iterates[-1] - fixed)
    assert not np.any(anderson_coefficients(np.ones((ANDERSON_DEPTH + 1, 9))))
