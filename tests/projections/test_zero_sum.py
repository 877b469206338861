"""Dual points that sum to zero: the bound on the remainder of their sum is checked in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from fenchel.projections.zero_sum import zero_sum


def points(count):
    """Random dual points of both signs and of many sizes, some already balanced."""
    for seed in range(count):
        random = np.random.default_rng(seed)
        n = int(random.integers(1, 60)) if seed % 5 else 1500
        theta = random.standard_normal(n) * np.exp(3.0 * random.standard_normal(n)) * (random.random(n) < 0.8)
        yield np.concatenate([theta, -theta]) if seed % 7 == 0 else theta


def test_the_exact_sum_is_within_the_bound_and_entries_move_towards_zero():
    exact = 0
    for theta in points(300):
        found, left = zero_sum(theta)
        total = sum(map(Fraction, found.tolist()))
        assert abs(total) <= Fraction(left)
        assert np.all(np.abs(found) <= np.abs(theta)) and np.all(found * theta >= 0.0)
        exact += total == 0
        if len(theta) <= 1 << 10:
            # nothing is charged for few entries
            assert total == 0
    assert exact >= 240


def test_a_sum_that_is_finer_than_every_entry_moves_them_by_roundings():
    random, moved = np.random.default_rng(5), 0
    for _ in range(200):
        # as the dual points of a converged solver: of about the same size, with a sum of a few roundings
        theta = random.uniform(0.1, 1.0, 40) * np.where(np.arange(40) < 20, 1.0, -1.0)
        theta[0] -= float(sum(map(Fraction, theta.tolist())))
        found, left = zero_sum(theta)
        assert left == 0.0
        assert np.all(np.abs(found - theta) <= 2.0**-48)
        moved += np.count_nonzero(found != theta) > 2
    assert moved


@pytest.mark.parametrize("theta", [[0.0], [1.0], [-2.0, 0.0], [1.0, 1.0, 1e-300], [1e150, -1.0, 1e-150]])
def test_degenerate_points(theta):
    found, left = zero_sum(np.array(theta))
    assert abs(sum(map(Fraction, found.tolist()))) <= Fraction(left)
    assert left <= 1e-15 * np.max(np.abs(theta))
