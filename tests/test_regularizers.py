"""Laws of a regularizer: Fenchel-Young, biconjugate, transfer is the gradient of the conjugate, radius."""

import pickle

import numpy as np
import pytest

from catalog import REGULARIZER_OBJECTS
from slow_reference import minimize_convex

every_regularizer = pytest.mark.parametrize("regularizer", REGULARIZER_OBJECTS, ids=lambda r: r.name)
SHAPES = [(1,), (5,), (3, 4)]


@every_regularizer
@pytest.mark.parametrize("shape", SHAPES)
def test_fenchel_young_with_equality_at_the_transfer(regularizer, shape):
    rng = np.random.default_rng(0)
    for _ in range(100):
        w, v = rng.normal(size=shape) * 3, rng.normal(size=shape) * 3
        assert regularizer.value(w) + regularizer.conjugate(v) - np.sum(w * v) >= -1e-12
        best = regularizer.transfer(v)
        assert best.shape == shape
        assert best.dtype == np.float64
        assert regularizer.value(best) + regularizer.conjugate(v) == pytest.approx(np.sum(best * v), abs=1e-12)


@every_regularizer
def test_conjugate_and_biconjugate_by_brute_force(regularizer):
    for x in (-3.0, -0.2, 0.0, 0.7, 4.0):
        for function, other in (
            (regularizer.conjugate, regularizer.value),
            (regularizer.value, regularizer.conjugate),
        ):
            best = minimize_convex(lambda z, other=other, x=x: other(np.array([z])) - x * z, -50.0, 50.0)
            assert function(np.array([x])) == pytest.approx(x * best - other(np.array([best])), abs=1e-12)


@every_regularizer
@pytest.mark.parametrize("shape", SHAPES)
def test_transfer_is_the_gradient_of_the_conjugate(regularizer, shape):
    rng = np.random.default_rng(1)
    v, direction, h = rng.normal(size=shape), rng.normal(size=shape), 1e-5
    slope = (regularizer.conjugate(v + h * direction) - regularizer.conjugate(v - h * direction)) / (2 * h)
    assert np.sum(regularizer.transfer(v) * direction) == pytest.approx(slope, rel=1e-8, abs=1e-9)


@every_regularizer
def test_transfer_leaves_its_argument_alone(regularizer):
    v = np.arange(4.0)
    before = v.copy()
    regularizer.transfer(v)
    np.testing.assert_array_equal(v, before)


@every_regularizer
@pytest.mark.parametrize("level", [0.0, 1e-9, 0.5, 10.0])
def test_radius_bounds_the_level_set_tightly(regularizer, level):
    radius = regularizer.radius(level)
    rng = np.random.default_rng(2)
    longest = 0.0
    for _ in range(200):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        assert regularizer.value(direction * radius * (1 + 1e-9) + 1e-12 * direction) > level
        inside = direction * radius * (1 - 1e-12)
        longest = max(longest, np.linalg.norm(inside) if regularizer.value(inside) <= level else 0.0)
    assert longest == pytest.approx(radius, rel=1e-9)


@every_regularizer
def test_strong_convexity(regularizer):
    rng = np.random.default_rng(3)
    modulus = regularizer.strong_convexity
    for _ in range(100):
        a, b, t = rng.normal(size=4), rng.normal(size=4), rng.random()
        chord = t * regularizer.value(a) + (1 - t) * regularizer.value(b)
        assert regularizer.value(t * a + (1 - t) * b) <= (
            chord - 0.5 * modulus * t * (1 - t) * np.sum((a - b) ** 2) + 1e-12
        )


@every_regularizer
def test_objects_are_values(regularizer):
    assert pickle.loads(pickle.dumps(regularizer)) == regularizer
    assert hash(type(regularizer)()) == hash(regularizer)
    assert regularizer.value(np.zeros(3)) == 0.0
