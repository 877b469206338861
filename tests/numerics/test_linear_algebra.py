"""Symmetric matrices: sizes, by tiles, against whole arrays, and linear systems against NumPy."""

import numpy as np
import pytest

from fenchel.numerics import linear_algebra
from fenchel.numerics.linear_algebra import cholesky_solver, size_and_asymmetry


@pytest.mark.parametrize("tile", [1, 3, 256])
@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_size_and_asymmetry(monkeypatch, n, tile):
    monkeypatch.setattr(linear_algebra, "_TILE", tile)
    matrix = np.random.default_rng(n).standard_normal((n, n))
    for some in (matrix, matrix + matrix.T, -np.abs(matrix), np.triu(matrix)):
        assert size_and_asymmetry(some) == (np.max(np.abs(some)), np.max(np.abs(some - some.T)))


@pytest.mark.parametrize("place", [(0, 0), (0, 8), (8, 0), (5, 2), (2, 5)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_size_is_not_finite_if_an_entry_is_not(monkeypatch, value, place):
    monkeypatch.setattr(linear_algebra, "_TILE", 4)
    matrix = np.ones((9, 9))
    matrix[place] = value
    assert not np.isfinite(size_and_asymmetry(matrix)[0])


def test_systems_are_solved_for_a_vector_and_for_the_columns_of_a_matrix():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(9, 9))
    matrix = root @ root.T + np.diag(10.0 ** np.arange(-4, 5))
    solve, right = cholesky_solver(matrix), rng.normal(size=(9, 4))
    np.testing.assert_allclose(solve(right), np.linalg.solve(matrix, right), rtol=1e-8)
    np.testing.assert_allclose(solve(right[:, 2]), solve(right)[:, 2], rtol=1e-12)
