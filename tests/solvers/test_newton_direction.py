"""Sums over a sample, the quadratic model of a Newton step in its three ways, and the line search."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel.solvers.threads as parts_module
from catalog import labels_from
from fenchel import Problem
from fenchel.numerics.line_search import line_search
from fenchel.risks import MeanRisk
from fenchel.solvers.newton.direction import Quadratic
from fenchel.solvers.newton.sample import Sample
from newton_parts import WAYS, both_storages, choose_way, close, intercepts


def some_sample(storage, n=60, d=5, seed=6, weighted=False, scale=1.0):
    """A sample of some rows of a problem with curvature on two thirds of them, and its rows as an array."""
    rng = np.random.default_rng(seed)
    X = np.round(4 * rng.normal(size=(n, d))) / 4 * scale
    X[rng.random(X.shape) < 0.3] = 0.0
    y = labels_from("classification", X[:, 0], rng)
    design = sp.csr_array(X) if storage == "sparse" else X
    problem = Problem(design, MeanRisk("hinge", y, rng.random(n) if weighted else None), 0.1)
    selected = np.sort(rng.permutation(n)[: n - 7]).astype(np.uint32)
    sample = Sample(problem, y, selected, None)
    sample.hess[:] = np.where(rng.random(len(selected)) < 0.33, 0.0, rng.random(len(selected))) * sample.shares
    return sample, X[selected]


def hessian(sample, rows, ridge, intercept):
    """H as an array."""
    wide = np.column_stack([rows, np.ones(len(rows))]) if intercept else rows
    H = wide.T @ (sample.hess[:, None] * wide)
    H[np.arange(rows.shape[1]), np.arange(rows.shape[1])] += ridge
    return H


@both_storages
@pytest.mark.parametrize("parts", [1, 4])
def test_sums_over_a_sample(storage, parts, monkeypatch):
    """Every method of a sample is what NumPy makes of its rows, in one part and in several."""
    if parts > 1:
        monkeypatch.setattr(parts_module, "PART_ENTRIES", 30)
        monkeypatch.setattr(parts_module, "ENTRIES_PER_GRAM_ENTRY", 0)
    sample, rows = some_sample(storage, weighted=True)
    assert (sample.parts.count > 1) == (parts > 1)
    rng = np.random.default_rng(7)
    w, result = rng.normal(size=5), np.empty(len(rows))
    sample.multiply(w, 0.3, result)
    close(result, rows @ w + 0.3)
    sample.theta[:] = rng.normal(size=len(rows)) * (rng.random(len(rows)) < 0.7)
    close(sample.adjoint(), rows.T @ sample.theta)
    active = np.flatnonzero(sample.hess)[::2]
    hess = np.zeros(len(rows))
    hess[active] = sample.hess[active]
    product, total = sample.hess_product(active, w, 0.3)
    close(product, rows.T @ (hess * (rows @ w + 0.3)))
    assert total == pytest.approx(hess @ (rows @ w + 0.3), rel=1e-12)
    gram, border = sample.gram(active)
    close(gram, rows.T @ np.diag(hess) @ rows)
    close(border, rows.T @ hess)
    assert np.sum(sample.shares) == pytest.approx(1.0, rel=1e-14)


@both_storages
@intercepts
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ridge", [1e-3, 2.0])
def test_quadratic_solve_in_each_of_its_ways(way, storage, intercept, ridge, monkeypatch):
    choose_way(way, monkeypatch)
    sample, rows = some_sample(storage)
    H, rng = hessian(sample, rows, ridge, intercept), np.random.default_rng(8)
    right = rng.normal(size=len(H))
    quadratic = Quadratic(sample, ridge, intercept, np.random.default_rng(0), exact=False)
    assert (quadratic.matrix is None) == (way == "many")
    if way != "many":
        assert quadratic.exact == (way == "exact")
    direction = rng.normal(size=len(H))
    close(quadratic.times(direction), H @ direction)
    if way == "exact":
        close(quadratic.matrix, H)
    np.testing.assert_allclose(quadratic.solve(right), np.linalg.solve(H, right), rtol=1e-7, atol=1e-8)
    assert quadratic.rows_read > 0


@both_storages
@intercepts
@pytest.mark.parametrize("way", WAYS[1:])
def test_a_rough_solution_is_a_direction_of_descent(way, storage, intercept, monkeypatch):
    choose_way(way, monkeypatch, residual=0.1)
    sample, rows = some_sample(storage)
    H, rng = hessian(sample, rows, 1e-3, intercept), np.random.default_rng(9)
    for _ in range(20):
        right = rng.normal(size=len(H))
        quadratic = Quadratic(sample, 1e-3, intercept, rng, exact=False)
        p = quadratic.solve(right)
        # conjugate gradients from zero: the model falls with every product
        assert 0.5 * p @ H @ p - right @ p < 0.0
        assert p @ right > 0.0


@pytest.mark.parametrize(
    "scale, ridge, expected",
    [(1.0, 1e-3, True), (1.0, 1e-12, False), (1e15, 1e25, False), (1e-15, 1e-3, False)],
    ids=["ordinary", "small_ridge", "overflow", "underflow"],
)
def test_a_preconditioner_is_of_single_precision_only_where_its_rounding_is_below_the_ridge(
    scale, ridge, expected, monkeypatch
):
    choose_way("subsample", monkeypatch)
    sample, rows = some_sample("dense", scale=scale)
    plain, asked = sample.gram, []
    sample.gram = lambda active, single: asked.append(single) or plain(active, single=single)
    quadratic = Quadratic(sample, ridge, True, np.random.default_rng(0), exact=False)
    assert asked == [expected]
    right = np.random.default_rng(8).normal(size=6) * scale
    expected_solution = np.linalg.solve(hessian(sample, rows, ridge, True), right)
    np.testing.assert_allclose(quadratic.solve(right), expected_solution, rtol=1e-6)
    Quadratic(sample, ridge, True, np.random.default_rng(0), exact=True)
    # H itself is of double precision
    assert asked == [expected, False]


@both_storages
@intercepts
@pytest.mark.parametrize("way", WAYS)
def test_quadratic_without_any_curvature(way, storage, intercept, monkeypatch):
    """Without active rows H is the ridge, which also takes the place of the curvature of the intercept."""
    choose_way(way, monkeypatch)
    sample, _ = some_sample(storage)
    sample.hess[:] = 0.0
    right = np.random.default_rng(10).normal(size=5 + intercept)
    quadratic = Quadratic(sample, 0.5, intercept, np.random.default_rng(0), exact=False)
    found = quadratic.solve(right)
    close(found[:5], right[:5] / 0.5)
    assert np.all(np.isfinite(found))
    assert found @ right > 0.0


def best_of_signs(H, g, limits, start):
    """min g.(z - start) + 1/2 (z - start)^T H (z - start) + limits.|z| by trying every pattern of signs."""
    free, best, found = limits == 0.0, math.inf, None
    for signs in itertools.product(*[(0,) if f else (-1, 0, 1) for f in free]):
        signs = np.array(signs, dtype=float)
        moving = free | (signs != 0)
        z = np.zeros(len(g))
        # H_m (z_m - start_m) + H_m,rest (0 - start_rest) + g_m + limits_m signs_m = 0
        if np.any(moving):
            rest = H[np.ix_(moving, ~moving)] @ start[~moving]
            right = H[np.ix_(moving, moving)] @ start[moving] + rest - (g + limits * signs)[moving]
            z[moving] = np.linalg.solve(H[np.ix_(moving, moving)], right)
        p = z - start
        value = g @ p + 0.5 * p @ H @ p + limits @ np.abs(z)
        if value < best:
            best, found = value, z
    return found, best


@pytest.mark.meetings(1)
@both_storages
@intercepts
@pytest.mark.parametrize("threshold", [1e-3, 0.05, 0.4, 50.0])
def test_solve_with_l1_equals_the_best_of_all_signs(storage, intercept, threshold):
    sample, rows = some_sample(storage)
    H, rng = hessian(sample, rows, 1e-2, intercept), np.random.default_rng([11, int(1e3 * threshold)])
    for _ in range(10):
        w = rng.normal(size=5) * (rng.random(5) < 0.6)
        g = rng.normal(size=len(H))
        quadratic = Quadratic(sample, 1e-2, intercept, rng, exact=True)
        p = quadratic.solve_with_l1(g, w, threshold)
        limits, start = np.full(len(H), threshold), np.zeros(len(H))
        start[:5] = w
        if intercept:
            limits[-1] = 0.0
        z, _ = best_of_signs(H, g, limits, start)
        np.testing.assert_allclose(start + p, z, rtol=1e-7, atol=1e-8)
        np.testing.assert_array_equal(w + p[:5] != 0.0, z[:5] != 0.0)
        if threshold == 50.0:
            np.testing.assert_array_equal(w + p[:5], 0.0)


def test_solve_with_l1_and_a_singular_matrix():
    """Two equal columns and hardly any ridge: the minimum is attained all the same."""
    rng = np.random.default_rng(12)
    column = rng.normal(size=30)
    X = np.column_stack([column, column, rng.normal(size=30)])
    y = labels_from("classification", column, rng)
    sample = Sample(Problem(X, MeanRisk("hinge", y), 0.1), y, np.arange(30, dtype=np.uint32), None)
    sample.hess[:] = sample.shares
    H, g = X.T @ (sample.shares[:, None] * X) + 1e-12 * np.eye(3), np.array([-1.0, -1.0, 0.2])
    p = Quadratic(sample, 1e-12, False, rng, exact=True).solve_with_l1(g, np.zeros(3), 0.1)
    slope = g + H @ p
    assert np.all(np.abs(slope) <= 0.1 + 1e-9)
    np.testing.assert_allclose(slope[p != 0.0], -0.1 * np.sign(p[p != 0.0]), atol=1e-9)


#: derivatives of convex functions: first and second derivative at a step, by name
CURVES = {
    "quadratic": lambda t: (t - 1.0, 1.0),
    "short": lambda t: (1e3 * (t - 1e-3), 1e3),
    "far": lambda t: (t - 1000.0, 1.0),
    "quartic": lambda t: (4 * (t - 3.0) ** 3, 12 * (t - 3.0) ** 2),
    "hinges": lambda t: (float(-1.0 + 0.7 * (t > 0.2) + 0.7 * (t > 5.0) + 1e-3 * t), 1e-3),
    "without_bend": lambda t: (-1.0 if t < 7.3 else (0.0 if t == 7.3 else 1.0), 0.0),
    "exponential": lambda t: (math.expm1(min(t, 700.0) - 2.0), math.exp(min(t, 700.0) - 2.0)),
    "flat_bottom": lambda t: (min(t - 2.0, 0.0) + max(t - 5.0, 0.0), float(t < 2.0 or t > 5.0)),
}


@pytest.mark.parametrize("enough", [0.5, 0.1, 1e-3])
@pytest.mark.parametrize("name", CURVES)
def test_line_minimum_ends_where_the_slope_is_small_or_changes_sign(name, enough):
    seen = []

    def derivative(step):
        seen.append(step)
        return CURVES[name](step)

    first = CURVES[name](0.0)[0]
    step = line_search(derivative, first, enough)
    assert seen[0] == 1.0
    assert step > 0.0
    assert len(seen) <= 60
    small = abs(CURVES[name](step)[0]) <= enough * abs(first)
    # or it is at a jump of the slope, to the last bits
    jump = CURVES[name](step * (1 - 1e-12))[0] <= 0.0 <= CURVES[name](step * (1 + 1e-12))[0]
    assert small or jump
    # never higher than at zero
    grid = np.linspace(0.0, step, 2001)
    assert np.mean([CURVES[name](t)[0] for t in 0.5 * (grid[1:] + grid[:-1])]) <= 1e-9 * abs(first)


def test_line_minimum_takes_the_full_step_where_it_is_right():
    assert line_search(lambda t: (t - 1.0, 1.0), -1.0, 0.1) == 1.0
