"""Lanes: compiled code computes what the plain Python functions do, and these what NumPy does."""

import numba
import numpy as np
import pytest

from fenchel.compile.lanes import (
    CACHE_LINE,
    LANES,
    add,
    aligned_zeros,
    any_nonzero,
    divide,
    larger,
    largest_of,
    least_of,
    load,
    multiply,
    multiply_add,
    narrow,
    padded,
    smaller,
    spread,
    store,
    subtract,
    sum_of,
    where_positive,
    widen,
    zeros,
)  # fmt: skip


def everything(x, y, out):
    """All functions on the lanes of two arrays; the results as rows of ``out``, and the reductions."""
    one, other = widen(load(x, np.uint64(LANES))), widen(load(y, np.uint64(LANES)))
    store(out[0], np.uint64(0), add(one, other))
    store(out[1], np.uint64(0), subtract(one, 2.0))
    store(out[2], np.uint64(0), multiply(one, other))
    store(out[3], np.uint64(0), smaller(one, other))
    store(out[4], np.uint64(0), larger(0.5, other))
    store(out[5], np.uint64(0), where_positive(one, other, -1.0))
    store(out[6], np.uint64(0), multiply_add(spread(1.0), 0.5, other))
    store(out[7], np.uint64(0), multiply_add(zeros(x), 0.1, load(x, np.uint64(0))))
    store(out[8], np.uint64(0), divide(narrow(one), narrow(add(multiply(other, other), 1.0))))
    some = any_nonzero(one), any_nonzero(load(x, np.uint64(0))), any_nonzero(zeros(y))
    return sum_of(one), least_of(load(y, np.uint64(0))), largest_of(other), *some


@pytest.mark.meetings(1)
@pytest.mark.parametrize("kinds", [("f8", "f8"), ("f4", "f8"), ("f8", "f4")], ids="-".join)
@pytest.mark.parametrize("result", ["f4", "f8"])
def test_compiled_lanes_are_those_of_plain_python(kinds, result):
    rng = np.random.default_rng(0)
    compiled = numba.njit(everything)
    for _ in range(20):
        x, y = (rng.integers(-3, 4, 3 * LANES).astype(kind) * rng.choice([0.5, 1.7]) for kind in kinds)
        x, y = x.astype(kinds[0]), y.astype(kinds[1])
        found, expected = (np.zeros((9, LANES), result) for _ in range(2))
        assert compiled(x, y, found) == pytest.approx(everything(x, y, expected), rel=1e-15)
        np.testing.assert_allclose(found, expected, rtol=1e-6 if "f4" in (*kinds, result) else 1e-15, atol=0)
        one, other = x[LANES : 2 * LANES].astype(float), y[LANES : 2 * LANES].astype(float)
        np.testing.assert_allclose(expected[2], (one * other).astype(result))
        np.testing.assert_array_equal(expected[5], np.where(one > 0, other, -1.0).astype(result))


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_any_nonzero_sees_each_lane_and_no_nan(kind):
    def seen(x):
        return any_nonzero(load(x, np.uint64(0)))

    compiled = numba.njit(seen)
    for value, expected in ((0.0, False), (-0.0, False), (np.nan, False), (1e-40, True), (-1.0, True), (np.inf, True)):
        for place in range(LANES):
            x = np.zeros(LANES, kind)
            x[place] = value
            assert seen(x) is compiled(x) is expected


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0,), (1,), (0, 8), (7, 16), (3, 5, 8)])
def test_aligned_zeros_begin_a_cache_line(shape, kind):
    for _ in range(5):
        found = aligned_zeros(shape, kind)
        assert found.shape == shape
        assert found.dtype == kind
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert not found.any()
        assert found.ctypes.data % CACHE_LINE == 0 or not found.size


def test_padded_is_the_next_multiple():
    assert [padded(count) for count in (1, LANES, LANES + 1, 77)] == [LANES, LANES, 2 * LANES, 80]


def test_a_nan_is_not_positive():
    assert where_positive(np.full(LANES, np.nan), 1.0, 2.0).tolist() == [2.0] * LANES


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("width", [8, 16, 24, 32, 56, 80])
def test_products_of_a_row_with_the_weights_of_all_classes(kind, width):
    """Against NumPy, for every number of lanes and of entries; lanes without a change keep every bit."""
    from fenchel.compile.primitives.class_lanes import add_class_row, add_class_scores
    from fenchel.designs import DenseDesign

    rng = np.random.default_rng(width)
    for entries in (1, 3, 4, 11):
        X, weights = rng.standard_normal((2, entries)), rng.standard_normal((entries, width)).astype(kind)
        rows, scores = DenseDesign(X).rows(), rng.standard_normal(width)
        expected = scores + X[1] @ weights.astype(float)
        add_class_scores(rows, np.uint64(1), weights, scores)
        np.testing.assert_allclose(scores, expected, atol=1e-5 if kind == "f4" else 1e-13)
        change = np.where(np.arange(width) // LANES % 3 == 1, 0.0, rng.standard_normal(width)).astype(kind)
        before = weights.copy()
        add_class_row(rows, np.uint64(1), change, weights)
        np.testing.assert_allclose(weights, before + np.outer(X[1], change), atol=1e-5 if kind == "f4" else 1e-13)
        np.testing.assert_array_equal(weights[:, change == 0.0], before[:, change == 0.0])
