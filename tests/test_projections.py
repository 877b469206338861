"""The projection onto a box with one equality: against a conic solver, its conditions, ties and all scales."""

import numpy as np
import pytest

import slow_smoothing as slow
from fenchel import FenchelError
from fenchel.projections import onto_box_and_sum


def random_case(rng, n):
    low, high = np.sort(np.round(rng.normal(size=(2, n)), int(rng.integers(0, 3))), axis=0)
    point = np.round(rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0]), int(rng.integers(0, 3)))
    share = rng.choice([0.0, 1.0, rng.random()])
    return point, low, high, float(low.sum() + share * (high.sum() - low.sum()))


def test_it_is_the_answer_of_the_conic_solver():
    rng = np.random.default_rng(0)
    for _ in range(150):
        point, low, high, total = random_case(rng, int(rng.integers(1, 9)))
        found = onto_box_and_sum(point, low, high, total)
        np.testing.assert_allclose(found, slow.projection(point, low, high, total), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-14, 1e-6, 1e-2, 1.0, 1e3, 1e12])
def test_the_conditions_hold_at_every_scale(scale):
    rng = np.random.default_rng(1)
    for round in range(200):
        point, low, high, total = random_case(rng, int(rng.integers(1, 40)))
        if round % 4 == 0:
            point[:] = point[0]
        x = onto_box_and_sum(point, low, high, total, scale)
        assert np.all((low <= x) & (x <= high))
        assert np.sum(x) == pytest.approx(total, abs=1e-13 * (1 + np.abs(low).sum() + np.abs(high).sum()))
        # moving from i to k does not help: the smallest slope that can grow is no larger than any that can fall
        slope = scale * x - point
        # an entry at its kink is rounded like (v - tau) / mu
        near = np.minimum(1e-13 + 1e-15 * np.abs(point).max() / scale, 0.25 * (high - low))
        grow, fall = slope[x < high - near], slope[x > low + near]
        if len(grow) and len(fall):
            room = 1e-12 * (np.abs(point).max() + scale * (1.0 + np.abs(x).max()))
            assert np.max(fall) <= np.min(grow) + room


def test_every_entry_tied_and_a_tiny_scale():
    low, high = np.zeros(5), np.ones(5)
    for scale in (1e-300, 1e-20, 1.0, 1e20):
        np.testing.assert_allclose(onto_box_and_sum(np.full(5, 3.0), low, high, 2.0, scale), 0.4, rtol=1e-12)
    # the kinks {1, 2, 2} on which Alg. 2 of the paper does not end
    np.testing.assert_allclose(onto_box_and_sum(np.array([1.0, 2.0, 2.0]), np.zeros(3), np.ones(3), 1.0), [0, 0.5, 0.5])


def test_many_entries_take_few_looks(monkeypatch):
    from fenchel.projections import box_and_sum

    looks, plain = [], box_and_sum._clipped
    monkeypatch.setattr(box_and_sum, "_clipped", lambda *a: looks.append(len(a[0])) or plain(*a))
    rng = np.random.default_rng(2)
    n = 100_000
    for scale in (1e-3, 1.0):
        looks.clear()
        x = onto_box_and_sum(rng.standard_cauchy(n), np.zeros(n), np.ones(n), n / 10, scale)
        assert np.sum(x) == pytest.approx(n / 10, rel=1e-12)
        # the two last ones and a geometric series
        assert sum(looks) <= 9 * n


def test_an_impossible_sum_is_refused():
    with pytest.raises(FenchelError, match="no point of the box"):
        onto_box_and_sum(np.zeros(3), np.zeros(3), np.ones(3), 3.5)
