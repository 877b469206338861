"""The inner problem of a bundle method: the best combination of planes, against a conic solver; planes come and go."""

import numpy as np
import pytest

from fenchel.solvers.bundle.inner_problem import Penalty, best_combination
from fenchel.solvers.bundle.loop import maximize_on_simplex
from fenchel.solvers.bundle.planes import Planes
from slow_planes import conic_inner

KINDS = ("plain", "same_slopes", "repeated", "ties", "zero_slopes", "dependent", "scales")


def planes_of(G, c):
    planes = Planes(G.shape[1])
    for g, offset in zip(G, c, strict=True):
        planes.add(np.zeros(2), offset, g)
    return planes


def some_planes(kind, rng, m, d):
    G, c = rng.normal(size=(m, d)), rng.normal(size=m)
    again = rng.integers(0, m, m)
    if kind == "same_slopes":
        G = G[again]
    elif kind == "repeated":
        G, c = G[again], c[again]
    elif kind == "ties":
        G, c = np.round(G), np.round(c)
    elif kind == "zero_slopes":
        G[: m // 2 + 1] = 0.0
    elif kind == "dependent":
        G = rng.normal(size=(m, 2)) @ rng.normal(size=(2, d))
    elif kind == "scales":
        G *= 10.0 ** rng.uniform(-8, 0, size=(m, 1))
    return G, c


@pytest.mark.meetings(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threshold", [0.0, 0.2], ids=["square", "elastic_net"])
@pytest.mark.parametrize("proximal", [False, True], ids=["plain", "proximal"])
def test_the_conic_solver_finds_the_same(kind, threshold, proximal):
    for seed in range(12):
        rng = np.random.default_rng([1, len(kind), seed])
        m, d, curvature = int(rng.integers(1, 50)), int(rng.integers(1, 25)), 10.0 ** rng.integers(-3, 3)
        G, c = some_planes(kind, rng, m, d)
        penalty = Penalty(curvature, threshold, curvature * rng.normal(size=d) if proximal else 0.0)
        start = rng.random(m) * (rng.random(m) < 0.3)
        start[0] += 0.1
        found = best_combination(planes_of(G, c), penalty, start, 0.0)
        value, w = conic_inner(G, c, curvature, threshold, penalty.linear)
        size = abs(value) + np.max(np.abs(c))
        assert np.all(found.combination >= 0.0)
        assert np.sum(found.combination) == pytest.approx(1.0, abs=1e-14)
        # the value is a lower bound by itself, the gap says how good it is
        assert found.value == pytest.approx(value, abs=1e-8 * size)
        assert -1e-14 * size <= found.gap <= 1e-8 * size
        # curvature/2 |w - w*|^2 is at most what the conic solver leaves
        assert np.linalg.norm(found.weights - w) <= 2.0 * np.sqrt(2e-9 * size / curvature)
        # ... and is what the weights say
        values = G @ found.weights + c
        norm = 0.5 * curvature * found.weights @ found.weights + threshold * np.sum(np.abs(found.weights))
        primal = norm - np.sum(penalty.linear * found.weights) + np.max(values)
        assert primal - found.value == pytest.approx(found.gap, abs=1e-11 * (size + norm))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("threshold", [0.0, 0.1])
def test_units_do_not_matter(scale, threshold):
    """With slopes times q and a curvature times q^2 the weights are divided by q and the value is the same."""
    rng = np.random.default_rng(5)
    G, c, start = rng.normal(size=(40, 12)), rng.normal(size=40), np.eye(40)[3]
    one = best_combination(planes_of(G, c), Penalty(0.01, threshold), start, 0.0)
    other = best_combination(planes_of(scale * G, c), Penalty(0.01 * scale**2, scale * threshold), start, 0.0)
    assert other.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(scale * other.weights, one.weights, atol=1e-7)
    # and in units of the value
    third = best_combination(planes_of(scale * G, scale * c), Penalty(0.01 * scale, scale * threshold), start, 0.0)
    assert third.value == pytest.approx(scale * one.value, rel=1e-12)


@pytest.mark.parametrize("threshold", [0.0, 0.1])
def test_hundreds_of_planes_that_come_one_by_one_never_lower_the_value(threshold):
    rng = np.random.default_rng(6)
    planes, penalty, last = Planes(30), Penalty(1e-3, threshold), -np.inf
    for j in range(400):
        g = rng.normal(size=30)
        planes.add(np.zeros(2), float(rng.normal()), g, weight=1.0 if j == 0 else 0.0)
        found = best_combination(planes, penalty, planes.weights, 0.0 if j % 10 == 0 else 1e-3)
        assert found.value >= last - 1e-13 * abs(last)
        assert found.gap <= max(1e-3, 1e-9 * abs(found.value))
        planes.set_weights(found.combination)
        last = found.value
    value, _ = conic_inner(planes.vectors, planes.offsets, 1e-3, threshold, 0.0)
    assert best_combination(planes, penalty, planes.weights, 0.0).value == pytest.approx(value, rel=1e-8)


def test_a_start_at_the_optimum_stays_there_and_a_tolerance_ends_early():
    rng = np.random.default_rng(7)
    planes, penalty = planes_of(rng.normal(size=(30, 8)), rng.normal(size=30)), Penalty(0.1, 0.0)
    start = np.full(30, 1 / 30)
    optimum = best_combination(planes, penalty, start, 0.0)
    again = best_combination(planes, penalty, optimum.combination, 1e-9)
    np.testing.assert_array_equal(again.weights, optimum.weights)
    lazy = best_combination(planes, penalty, start, np.inf)
    np.testing.assert_allclose(lazy.combination, start)
    assert lazy.value <= optimum.value <= lazy.value + lazy.gap


def test_pivots_are_bounded_and_leave_a_feasible_point():
    rng = np.random.default_rng(8)
    G = rng.normal(size=(60, 5))
    hessian, ridge = G @ G.T, np.full(60, 1e-9)
    for most in range(1, 30):
        slopes, weights = rng.normal(size=60), np.full(60, 1 / 60)
        before = slopes @ weights
        first = weights.copy()
        gain = slopes.copy()
        assert maximize_on_simplex(hessian, slopes, ridge, weights, 1e-12, most) <= most
        change = weights - first
        assert np.all(weights >= 0.0)
        assert np.sum(weights) == pytest.approx(1.0, abs=1e-10)
        assert gain @ change - 0.5 * change @ hessian @ change >= -1e-12 * abs(before)


def test_planes_leave_without_a_change_of_their_combination():
    rng = np.random.default_rng(9)
    planes = Planes(4)
    for _ in range(40):
        planes.add(rng.normal(size=7), float(rng.normal()), rng.normal(size=4))
    weights = np.where(np.arange(40) % 3 == 0, 0.0, rng.random(40))
    planes.set_weights(weights / weights.sum())
    np.testing.assert_array_equal(planes.steps_without_weight, np.arange(40) % 3 == 0)
    whole = (*planes.combination(), planes.weights @ planes.vectors)
    for leaving in (planes.weights == 0.0, np.arange(40) < 20, rng.random(40) < 0.5, np.ones(40, dtype=bool)):
        fewer = planes.without(leaving)
        assert fewer.count == np.sum(~leaving) + bool(np.any(planes.weights[leaving] > 0))
        for one, other in zip((*fewer.combination(), fewer.weights @ fewer.vectors), whole, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-14)
        np.testing.assert_allclose(fewer.gram[: fewer.count, : fewer.count], fewer.vectors @ fewer.vectors.T)
        fewer.add(np.ones(7), 1.0, np.ones(4))
        np.testing.assert_allclose(fewer.gram[: fewer.count, : fewer.count], fewer.vectors @ fewer.vectors.T)
        assert len(fewer.slopes) == fewer.count
