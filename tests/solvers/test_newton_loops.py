"""The compiled loops of Newton's method against slow twins, and the gram matrix of a dense design."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel.designs.dense as dense_module
import slow_reference as slow
from catalog import LOSS_OBJECTS, labels_from
from fenchel.compile.primitives import example_sums as loops
from fenchel.compile.primitives.coordinate_descent import descend_coordinates
from fenchel.designs import as_design
from newton_parts import close, every_loss, smoothed_value

pytestmark = pytest.mark.usefixtures("own_storage")

STORAGES = ("C", "F", "float32", "int8", "csr", "csr32", "unsorted", "duplicates")
#: compiled with ``--full-products`` only: another stride, and another type beside float32
SELDOM = ("F", "int8")
N, D = 13, 5
#: positions that a loop works on: all, some, one, none
PARTS = ((0, 9), (2, 7), (8, 9), (4, 4))
every_storage = pytest.mark.parametrize("storage", STORAGES)
every_part = pytest.mark.parametrize(("begin", "end"), PARTS, ids=[f"{begin}-{end}" for begin, end in PARTS])


@pytest.fixture(autouse=True)
def seldom(request):
    if "storage" in request.fixturenames and request.getfixturevalue("storage") in SELDOM:
        request.getfixturevalue("rarely_compiled")


def matrix():
    """Small integers and zeros, exact in every type, with an empty row and an empty column."""
    X = np.random.default_rng(1).integers(-4, 5, (N, D)).astype(float)
    X[3], X[:, 2] = 0.0, 0.0
    return X


def stored(storage):
    """The design of ``matrix()`` in a storage."""
    X = matrix()
    if storage in ("C", "F"):
        return as_design(np.array(X, order=storage))
    if storage in ("float32", "int8"):
        return as_design(X.astype(storage))
    sparse = sp.csr_array(X.astype(np.float32) if storage == "csr32" else X)
    if storage == "unsorted":
        for start, stop in itertools.pairwise(sparse.indptr):
            sparse.indices[start:stop] = sparse.indices[start:stop][::-1].copy()
            sparse.data[start:stop] = sparse.data[start:stop][::-1].copy()
    if storage == "duplicates":
        # every entry in two unequal parts, the second ones after all the first ones of a row
        rows = [slice(start, stop) for start, stop in itertools.pairwise(sparse.indptr)]
        data = np.concatenate([np.concatenate([2 * sparse.data[row], -sparse.data[row]]) for row in rows])
        indices = np.concatenate([np.tile(sparse.indices[row], 2) for row in rows])
        sparse = sp.csr_array((data, indices, 2 * sparse.indptr), shape=sparse.shape)
    return as_design(sparse)


def drawn(begin, end, seed=2):
    """Nine rows in some order, numbers for them (zeros among them), and zeros outside of the part."""
    rng = np.random.default_rng(seed)
    selected = rng.permutation(N)[:9].astype(np.uint32)
    values = np.where(np.arange(9) % 3 == 1, 0.0, rng.random(9))
    inside = (np.arange(9) >= begin) & (np.arange(9) < end)
    return selected, values, np.where(inside, values, 0.0), rng


@pytest.mark.meetings(1)
@every_storage
@every_part
def test_multiply(storage, begin, end):
    selected, _, _, rng = drawn(begin, end)
    w, result = rng.normal(size=D), np.full(9, 7.0)
    loops.multiply(stored(storage).rows(), selected, w, result, begin, end)
    expected = matrix()[selected] @ w
    close(result[begin:end], expected[begin:end])
    assert np.all(np.delete(result, np.s_[begin:end]) == 7.0)


@pytest.mark.meetings(1)
@every_storage
@every_part
def test_pull_adds_the_transposed_product(storage, begin, end):
    selected, theta, inside, rng = drawn(begin, end)
    before = rng.normal(size=D)
    result = before.copy()
    loops.add_adjoint(stored(storage).rows(), selected, theta, result, begin, end)
    close(result, before + matrix()[selected].T @ inside)


@pytest.mark.meetings(1)
@every_storage
@every_part
def test_half_gram_and_its_transpose_are_the_gram_matrix(storage, begin, end):
    selected, hess, inside, rng = drawn(begin, end)
    before, border = rng.normal(size=D), np.zeros(D)
    half, border = np.zeros((D, D)), before.copy()
    loops.half_gram(stored(storage).rows(), selected, hess, half, border, begin, end)
    rows = matrix()[selected]
    close(half + half.T, rows.T @ np.diag(inside) @ rows)
    close(border, before + rows.T @ inside)


@pytest.mark.meetings(1)
@every_storage
@every_part
def test_second_directional_derivative_is_a_product_with_the_hessian(storage, begin, end):
    selected, hess, inside, rng = drawn(begin, end)
    w, b, result = rng.normal(size=D), 0.7, np.zeros(D)
    total = loops.hess_product(stored(storage).rows(), selected, hess, w, b, result, begin, end)
    rows = matrix()[selected]
    close(result, rows.T @ (inside * (rows @ w + b)))
    assert total == pytest.approx(inside @ (rows @ w + b), rel=1e-12)


def smoothed_data(loss, seed=3, n=40):
    """Labels, shares, a centre in the domain, scores and a change, with scores on kinks and bounds among them."""
    rng = np.random.default_rng(seed)
    labels = labels_from(loss.task, rng.normal(size=n), rng)
    shares, scores, change = slow.shares(n, rng.random(n)), 2 * rng.normal(size=n), rng.normal(size=n)
    low, high = (np.clip(end, -3.0, 3.0) for end in loss.domain(labels))
    centre = -(low + rng.choice([0.0, 0.2, 0.7, 1.0], n) * (high - low))
    scores[:3] = labels[:3]
    return labels, shares, centre, scores, change


def mus(loss):
    return (0.0, 0.3, 5.0) if loss.smooth else (0.3, 5.0)


SMOOTHED = [(loss, mu) for loss in LOSS_OBJECTS for mu in mus(loss)]
every_smoothing = pytest.mark.parametrize(("loss", "mu"), SMOOTHED, ids=[f"{loss.name}-{mu}" for loss, mu in SMOOTHED])


@pytest.mark.meetings(1)
@every_smoothing
@pytest.mark.parametrize(("begin", "end"), [(0, 40), (5, 17), (9, 9)], ids=["all", "some", "none"])
def test_slopes(loss, mu, begin, end):
    labels, shares, centre, scores, _ = smoothed_data(loss)
    theta, hess = np.full(40, 7.0), np.full(40, 7.0)
    kernel, inside = loss.compiled(), np.s_[begin:end]
    gap, total = loops.smoothed_dual_point(kernel, labels, shares, centre, scores, mu, theta, hess, begin, end)
    value, a = smoothed_value(loss, labels, centre, scores, mu)
    close(theta[inside], (shares * a)[inside])
    curves = np.array(
        [kernel.hess_conjugate(float(y), float(alpha)) for y, alpha in zip(labels, theta / shares, strict=True)]
    )
    # theta / shares may leave a bound by a rounding: compare where the compiled loop saw a bound, too
    expected = shares / (curves + mu)
    sure = np.isclose(hess, expected, rtol=1e-12) | (np.abs(loss_bound_distance(loss, labels, a)) < 1e-12)
    assert np.all(sure[inside])
    excess = slow.FORMULAS[loss.name](scores, labels) + slow.CONJUGATES[loss.name](-a, labels) + a * scores
    assert gap == pytest.approx(float(shares[inside] @ excess[inside]), rel=1e-9, abs=1e-13)
    assert total == pytest.approx(float(np.sum((shares * a)[inside])), rel=1e-9, abs=1e-13)
    for array in (theta, hess):
        assert np.all(np.delete(array, inside) == 7.0)
    assert np.all(value <= slow.FORMULAS[loss.name](scores, labels) + 1e-12)


def loss_bound_distance(loss, labels, a):
    """How far a dual variable is from the nearest bound or from the kink at zero."""
    low, high = loss.domain(labels)
    return np.minimum(np.minimum(np.abs(a + low), np.abs(a + high)), np.abs(a))


@every_smoothing
def test_hessian_is_the_derivative_of_theta_in_the_score(loss, mu):
    """Away from kinks of the dual step, where the differences to both sides differ."""
    labels, shares, centre, scores, _ = smoothed_data(loss, seed=4)
    found, h = {}, 1e-6
    for move in (-h, 0.0, h):
        theta, hess = np.empty(40), np.empty(40)
        loops.smoothed_dual_point(loss.compiled(), labels, shares, centre, scores + move, mu, theta, hess, 0, 40)
        found[move] = theta, hess
    left, right = (found[0.0][0] - found[-h][0]) / h, (found[h][0] - found[0.0][0]) / h
    plain = np.abs(left - right) <= 1e-4 * (shares + np.abs(left))
    assert np.count_nonzero(plain) >= 30
    np.testing.assert_allclose(-0.5 * (left + right)[plain], found[0.0][1][plain], rtol=1e-4, atol=1e-8)


@pytest.mark.meetings(1)
@every_loss
@pytest.mark.parametrize("radius", [1e-3, 0.5, 4.0])
def test_mean_hessian_is_the_mean_of_the_hessians(loss, radius):
    labels, shares, centre, scores, _ = smoothed_data(loss)
    mu, mean = 0.4, np.full(40, 7.0)
    loops.mean_hess(loss.compiled(), labels, shares, centre, scores, mu, radius, mean, 3, 33)
    a, b = (smoothed_value(loss, labels, centre, scores + move, mu)[1] for move in (-radius, radius))
    expected = shares * (a - b) / (2 * radius)
    np.testing.assert_allclose(mean[3:33], expected[3:33], rtol=1e-9, atol=1e-11)
    assert np.all(mean[:3] == 7.0)
    assert np.all(mean[33:] == 7.0)
    # the mean over a fine grid of the curvature itself
    grid, total = np.linspace(-radius, radius, 4001), np.zeros(40)
    for move in 0.5 * (grid[1:] + grid[:-1]):
        hess = np.empty(40)
        loops.smoothed_dual_point(loss.compiled(), labels, shares, centre, scores + move, mu, np.empty(40), hess, 0, 40)
        total += hess
    np.testing.assert_allclose(mean[3:33], (total / 4000)[3:33], atol=2e-3 * np.max(shares) / mu)


@every_smoothing
@pytest.mark.parametrize("step", [0.0, 0.4, -1.3])
def test_slope_along_is_the_derivative_of_the_smoothed_risk(loss, mu, step):
    labels, shares, centre, scores, change = smoothed_data(loss)

    def risk(step):
        return float(shares @ smoothed_value(loss, labels, centre, scores + step * change, mu)[0])

    first, second = loops.directional_derivatives(
        loss.compiled(), labels, shares, centre, scores, change, step, mu, 0, 40
    )
    h = 1e-5
    assert first == pytest.approx((risk(step + h) - risk(step - h)) / (2 * h), rel=1e-5, abs=1e-5)
    theta, hess = np.empty(40), np.empty(40)
    loops.smoothed_dual_point(loss.compiled(), labels, shares, centre, scores + step * change, mu, theta, hess, 0, 40)
    assert first == pytest.approx(-theta @ change, rel=1e-10, abs=1e-13)
    assert second == pytest.approx(hess @ change**2, rel=1e-10)
    parts = [
        loops.directional_derivatives(loss.compiled(), labels, shares, centre, scores, change, step, mu, begin, end)
        for begin, end in ((0, 11), (11, 11), (11, 40))
    ]
    close(np.sum(parts, axis=0), (first, second))


def positive_matrix(rng, size):
    A = rng.normal(size=(2 * size, size))
    return A.T @ A / size


def test_descend_coordinates_is_exact_along_each_and_keeps_the_slope():
    rng = np.random.default_rng(5)
    H, g, limits = positive_matrix(rng, 6), 3 * rng.normal(size=6), np.array([0.5, 2.0, 0.0, 1.0, 9.0, 0.3])
    point = np.array([0.0, 1.0, -1.0, 0.5, 0.0, -0.2])
    slope, expected = g + H @ point, point.copy()
    for _ in range(3):
        largest = 0.0
        for j in range(6):

            def along(value, j=j):
                moved = expected.copy()
                moved[j] = value
                return 0.5 * moved @ H @ moved + g @ moved + limits @ np.abs(moved)

            best = slow.minimize_convex(along, -50.0, 50.0)
            best = 0.0 if along(0.0) <= along(best) else best
            largest = max(largest, abs(best - expected[j]) * H[j, j])
            expected[j] = best
        trial = (point.copy(), slope.copy())
        assert not descend_coordinates(H, limits, *trial, largest - 1e-5, 0.0, 1)
        assert descend_coordinates(H, limits, point, slope, largest + 1e-5, 0.0, 1)
        np.testing.assert_allclose(point, expected, atol=1e-6)
        np.testing.assert_allclose(slope, g + H @ point, rtol=1e-12, atol=1e-12)
    # an optimum does not move
    descend_coordinates(H, limits, point, slope, 0.0, 0.0, 2000)
    before = point.copy()
    assert descend_coordinates(H, limits, point, slope, 1e-12, 0.0, 1)
    np.testing.assert_allclose(point, before, atol=1e-13)


def test_descend_coordinates_leaves_what_has_no_curvature():
    H, point, slope = np.diag([1.0, 0.0]), np.array([3.0, 5.0]), np.array([3.0, -1.0])
    descend_coordinates(H, np.zeros(2), point, slope, 0.0, 0.0, 1)
    np.testing.assert_array_equal(point, [0.0, 5.0])


@pytest.mark.parametrize("block", [1 << 20, 12, 5, 1], ids=["one_block", "of_12", "of_5", "of_1"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint8", "bool", "float16"])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_gram_of_a_dense_design(dtype, layout, block, monkeypatch):
    monkeypatch.setattr(dense_module, "BLOCK", block)
    X = (np.abs(matrix()) if dtype in ("uint8", "bool") else matrix()).astype(dtype)
    kept = np.repeat(X, 2, axis=1)[:, ::2] if layout == "strided" else np.array(X, order=layout)
    before = kept.tobytes()
    selected, weights, _, _ = drawn(0, 9)
    gram, border = as_design(kept).gram(selected, weights)
    rows = X.astype(np.float64)[selected]
    close(gram, rows.T @ np.diag(weights) @ rows)
    close(border, rows.T @ weights)
    np.testing.assert_array_equal(gram, gram.T)
    assert kept.tobytes() == before
    single, single_border = as_design(kept).gram(selected, weights, single=True)
    # products of 9 rows and their sums, each relative to its terms
    size = 16.0 * np.finfo(np.float32).eps
    assert np.all(np.abs(single - gram) <= size * (np.abs(rows).T @ np.diag(np.abs(weights)) @ np.abs(rows)))
    assert np.all(np.abs(single_border - border) <= size * (np.abs(rows).T @ np.abs(weights)))
    assert single.dtype == np.float64 and kept.tobytes() == before
    empty, nothing = as_design(kept).gram(selected[:0], weights[:0])
    np.testing.assert_array_equal(empty, np.zeros((D, D)))
    np.testing.assert_array_equal(nothing, np.zeros(D))
