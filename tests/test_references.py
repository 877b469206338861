"""The references agree: the conic solver and brute force find the optima that problems are built from."""

import numpy as np
import pytest

import slow_reference as slow
from catalog import L1_RATIOS, known_problem
from fenchel.losses import LOSSES
from slow_conic import conic_optimum

every_ratio = pytest.mark.parametrize("l1_ratio", L1_RATIOS)


@pytest.mark.meetings(1)
@every_ratio
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_conic_solver_finds_the_optimum_that_was_built_in(loss, intercept, l1_ratio):
    rng = np.random.default_rng([7, len(loss), intercept])
    for round in range(10):
        lam = 10.0 ** rng.uniform(-2, 1)
        X, y, weights, lam, w, b, theta = known_problem(rng, loss, intercept, bool(round % 2), lam, l1_ratio)
        c = slow.shares(len(y), weights)
        optimum = float(slow.primal(loss, X, y, c, lam, w, b, l1_ratio))
        assert optimum == pytest.approx(float(slow.dual(loss, X, y, c, lam, theta, l1_ratio)), rel=1e-11)
        found, _, value = conic_optimum(loss, X, y, c, lam, intercept, l1_ratio)
        assert value == pytest.approx(optimum, rel=1e-8)
        # lam (1 - rho)/2 |w - w*|^2 <= P(w) - P*
        apart = np.sqrt(2 * (max(value - optimum, 0) + 1e-11 * optimum) / (lam * (1 - l1_ratio)))
        assert np.linalg.norm(found - w) <= apart


@pytest.mark.meetings(1)
@every_ratio
@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_conic_solver_against_brute_force_over_one_weight(loss, l1_ratio):
    rng = np.random.default_rng(3)
    x, y, c = rng.normal(size=(7, 1)), np.where(rng.random(7) < 0.5, 1.0, -1.0), slow.shares(7, rng.random(7))

    def objective(w):
        return slow.primal(loss, x, y, c, 0.07, np.array([w]), 0.0, l1_ratio)

    brute = float(objective(slow.minimize_convex(objective, -100.0, 100.0)))
    assert conic_optimum(loss, x, y, c, 0.07, False, l1_ratio)[2] == pytest.approx(brute, rel=1e-8)


@every_ratio
def test_the_conjugate_of_the_regularizer_against_brute_force(l1_ratio):
    for v in (-2.0, -0.3, 0.0, 0.1, 0.99, 1.7):
        best = slow.minimize_convex(lambda w, v=v: slow.omega([w], l1_ratio) - v * w, -300.0, 300.0)
        brute = float(v * best - slow.omega([best], l1_ratio))
        assert float(slow.omega_conjugate([v], l1_ratio)) == pytest.approx(brute, rel=1e-12, abs=1e-15)


def test_several_outputs_are_separate_problems():
    rng = np.random.default_rng(4)
    X, y, c = rng.normal(size=(12, 3)), rng.normal(size=(12, 2)), slow.shares(12)
    w, b, value = conic_optimum("huber", X, y, c, 0.1, True, 0.5)
    parts = [conic_optimum("huber", X, column, c, 0.1, True, 0.5) for column in y.T]
    assert w.shape == (2, 3)
    assert b.shape == (2,)
    assert value == pytest.approx(sum(part[2] for part in parts), rel=1e-14)
