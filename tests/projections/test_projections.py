"""The projection onto a box with one equality: against a conic solver, its conditions, ties and all scales."""

import math

import numpy as np
import pytest

import slow_projection
import slow_smoothing as slow
from fenchel import FenchelError
from fenchel.projections import onto_box_and_equalities, onto_box_and_equality, onto_box_and_sum
from fenchel.projections.zero_sum import column_sums
from fenchel.solvers.reference.dual_sets import project_blocks


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
    from fenchel.projections import box_and_equality

    looks, plain = [], box_and_equality._clipped
    monkeypatch.setattr(box_and_equality, "_clipped", lambda *a: looks.append(len(a[0])) or plain(*a))
    rng = np.random.default_rng(2)
    n = 100_000
    for scale in (1e-3, 1.0):
        looks.clear()
        x = onto_box_and_sum(rng.standard_cauchy(n), np.zeros(n), np.ones(n), n / 10, scale)
        assert np.sum(x) == pytest.approx(n / 10, rel=1e-12)
        # the two last ones and a geometric series
        assert sum(looks) <= 9 * n


def test_an_impossible_sum_is_refused():
    with pytest.raises(FenchelError, match="infeasible"):
        onto_box_and_sum(np.zeros(3), np.zeros(3), np.ones(3), 3.5)


def general_case(rng, n):
    """Any weights and scales; some bounds equal, some infinite, some ties."""
    low, high = np.sort(np.round(rng.normal(size=(2, n)), int(rng.integers(0, 3))), axis=0)
    target = np.round(2 * rng.normal(size=n), int(rng.integers(0, 3)))
    weights = rng.choice([-2.0, -1.0, 0.5, 1.0, 3.0], n)
    scales = rng.choice([0.5, 1.0, 2.0], n)
    equal = rng.random(n) < 0.2
    high = np.where(equal, low, high)
    share = rng.choice([0.0, 1.0, rng.random()])
    ends = np.sort([weights * low, weights * high], axis=0).sum(axis=1)
    return target, low, high, float(ends[0] + share * (ends[1] - ends[0])), weights, scales


def by_rows(target, low, high, total, weights=1.0, scales=1.0):
    return project_blocks(target, low, high, total, weights=weights, scales=scales)


def by_numpy(target, low, high, total, weights=1.0, scales=1.0):
    return onto_box_and_equality(target, low, high, total, weights=weights, scales=scales)


both = pytest.mark.parametrize("project", [by_numpy, by_rows])


@both
def test_general_weights_are_the_answer_of_the_conic_solver(project):
    rng = np.random.default_rng(3)
    for round in range(90):
        target, low, high, total, weights, scales = general_case(rng, int(rng.integers(2, 12)))
        if round % 3 == 0:
            open_low, open_high = rng.random((2, len(low))) < 0.3
            low, high = np.where(open_low, -np.inf, low), np.where(open_high, np.inf, high)
            weights = np.where(rng.random(len(low)) < 0.1, 0.0, weights)
            weights[0] = 1.0
            inside = np.clip(target + rng.normal(size=len(low)), low, high)
            total = float(weights @ inside)
        expected = slow_projection.by_conic_solver(target, low, high, total, weights, scales)
        found = project(target, low, high, total, weights, scales)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        assert np.all((low <= found) & (found <= high))


@both
def test_general_weights_are_the_answer_of_exact_arithmetic_at_every_range(project):
    rng = np.random.default_rng(4)
    for round in range(60):
        target, low, high, total, weights, scales = general_case(rng, int(rng.integers(1, 9)))
        # each part in a unit of its own: a range of 1e+-8
        unit, weight_unit, scale_unit = (10.0 ** rng.integers(-8, 9) for _ in range(3))
        weights, scales = weights * weight_unit, scales * scale_unit
        target, low, high = target * unit, low * unit, high * unit
        if round % 2:
            scales = scales * 10.0 ** rng.uniform(-4, 4, len(low))
        total = total * unit * weight_unit
        sums = np.sort([weights * low, weights * high], axis=0).sum(axis=1)
        total = float(np.clip(total, *sums))
        expected = slow_projection.by_fractions(target, low, high, total, weights, scales)
        found = project(target, low, high, total, weights, scales)
        np.testing.assert_allclose(found, expected, atol=1e-10 * unit, rtol=1e-10)


@both
def test_degenerate_boxes(project):
    ones, three = np.ones(3), np.array([1.0, 2.0, 2.0])
    np.testing.assert_array_equal(project(three, ones, ones, 3.0), ones)
    np.testing.assert_array_equal(project(three, 0 * ones, ones, 3.0), ones)
    np.testing.assert_array_equal(project(three, 0 * ones, ones, 0.0), 0 * ones)
    # kinks {1, 2, 2}, on which Alg. 2 of the paper does not end
    np.testing.assert_allclose(project(three, 0 * ones, ones, 1.0), [0, 0.5, 0.5], atol=1e-15)
    # no bounds at all, and a negative weight
    np.testing.assert_allclose(project(three, -np.inf, np.inf, 2.0), three - 1)
    signs = np.array([1.0, -1.0, 1.0])
    np.testing.assert_allclose(project(three, -np.inf, np.inf, 1.0, signs), three, atol=1e-15)
    np.testing.assert_allclose(project(three, 0.0, np.inf, 1.0), [0, 0.5, 0.5], atol=1e-15)
    for scale in (1e-100, 1e-8, 1.0, 1e8):
        np.testing.assert_allclose(project(np.full(5, 3.0), 0.0, 1.0, 2.0, 1.0, np.sqrt(scale)), 0.4, rtol=1e-12)
    for bad in ({"total": 3.5}, {"total": -0.1}, {"total": np.nan}):
        with pytest.raises(FenchelError, match=r"infeasible|no point of the box"):
            project(three, 0.0, 1.0, **bad)
    with pytest.raises(FenchelError, match="low must be at most high"):
        project(three, 1.0, 0.0, 1.0)
    with pytest.raises(FenchelError, match="scales must not be zero"):
        project(three, 0.0, 1.0, 1.0, 1.0, 0.0)


def test_a_simplex_is_a_special_case():
    rng = np.random.default_rng(5)
    for _ in range(20):
        target = rng.normal(size=7)
        found = onto_box_and_equality(target, 0.0, np.inf, 1.0)
        ordered = np.sort(target)[::-1]
        above = (np.cumsum(ordered) - 1) / np.arange(1, 8)
        level = above[np.flatnonzero(ordered > above)[-1]]
        np.testing.assert_allclose(found, np.maximum(target - level, 0), atol=1e-14)


def test_many_blocks_are_each_their_own_projection():
    rng = np.random.default_rng(6)
    target, totals = rng.normal(size=(50, 6)), rng.uniform(0.5, 2, 50)
    found = project_blocks(target, 0.0, np.inf, totals)
    for row, point, total in zip(found, target, totals, strict=True):
        np.testing.assert_allclose(row, onto_box_and_equality(point, 0.0, np.inf, total), atol=1e-14)
    totals[17] = -1.0
    with pytest.raises(FenchelError, match="row 17"):
        project_blocks(target, 0.0, np.inf, totals)


@pytest.mark.parametrize("kind", ["normal", "ties", "wide", "sorted"])
def test_long_rows_agree_with_numpy(kind):
    rng = np.random.default_rng(7)
    n = 60_000
    target = {
        "normal": rng.normal(size=n),
        "ties": np.round(rng.normal(size=n)),
        "wide": rng.standard_cauchy(n) * 1e4,
        "sorted": np.concatenate([np.full(n // 2, -1e8), np.linspace(0, 1, n - n // 2)]),
    }[kind]
    weights, scales = rng.choice([-1.0, 1.0, 2.0], n), rng.choice([0.1, 1.0, 3.0], n)
    low, high = -rng.random(n), rng.random(n)
    for total in (0.0, 0.2 * n):
        found = project_blocks(target, low, high, total, weights=weights, scales=scales)
        expected = onto_box_and_equality(target, low, high, total, weights=weights, scales=scales)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        assert weights @ found == pytest.approx(total, abs=1e-9)


def test_nearest_points_of_a_box_with_equalities():
    rng = np.random.default_rng(2)
    for _ in range(20):
        low, high = -rng.random(12), rng.random(12)
        sides, ease = rng.standard_normal((12, 3)), 0.1 + rng.random(12)
        inside = low + (high - low) * rng.random(12)
        point = 2.0 * rng.standard_normal(12)
        target = sides.T @ inside
        x = onto_box_and_equalities(point, low, high, sides, target, ease)
        np.testing.assert_allclose(sides.T @ x, target, atol=1e-13)
        assert np.all((x >= low) & (x <= high))
        # no feasible direction goes down: the slope there is no better at any other point of the set
        slope = (x - np.clip(point, low, high)) / ease
        assert slope @ (inside - x) >= -1e-9


def test_fewer_entries_that_move_than_equalities():
    """The curvature is singular then: what can be met is met, and nothing is raised."""
    sides, ones = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]]), np.ones(3)
    for start, ease, expected in (
        ([0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([0.5, 0.2, 0.0], [0.0, 0.0, 0.0], [0.5, 0.2, 0.0]),
    ):
        x = onto_box_and_equalities(np.array(start), 0.0 * ones, ones, sides, np.zeros(2), np.array(ease))
        np.testing.assert_allclose(x, expected, atol=1e-14)


def test_sums_of_columns_are_rounded_once_and_never_raise():
    theta = np.random.default_rng(0).normal(size=(3000, 3)) * [1.0, 1e-200, 1e100]
    total, error = column_sums(theta)
    assert total.tolist() == [math.fsum(column) for column in theta.T]
    assert np.all(error >= 2.0**-53 * np.abs(total))
    assert np.all(np.isinf(column_sums(np.full((4, 2), 1.7e308))[1]))
    assert np.all(np.isinf(column_sums(np.array([[np.inf, 0.0], [-np.inf, 1.0]]))[1]))
