"""The depth of ``tree_sum`` is counted, not derived."""

import math
from fractions import Fraction

import numpy as np
import pytest

from fenchel.numerics.rounding import absolute_sum, gamma, tree_depth, tree_sum, tree_total


class Term:
    """A number that counts the additions on its way."""

    def __init__(self, depth=0):
        self.depth = depth

    def __add__(self, other):
        return Term(max(self.depth, other.depth) + 1)

    def __float__(self):
        return float(self.depth)


@pytest.mark.parametrize("counts", [range(2, 600), [1000, 4095, 4096, 4097, 10001]], ids=["small", "large"])
def test_no_term_takes_part_in_more_additions_than_the_depth(counts):
    for count in counts:
        terms = np.array([Term() for _ in range(count)], dtype=object)
        # the last 128 floats are added up exactly, which takes objects up to seven additions, and rounded once
        assert tree_sum(terms) <= tree_depth(count) + 6


def test_few_terms_have_a_short_way():
    assert [tree_depth(count) for count in (0, 1, 2, 8, 128, 129, 256, 257, 4095)] == [0, 0, 1, 1, 1, 2, 2, 3, 6]


def test_a_sum_that_overflows_on_the_way_only_is_rounded_once():
    large = [1.5e308, 1.5e308, -1.5e308, -1.4e308, 1.0e292, 3.0]
    assert tree_sum(np.array(large)) == float(sum(map(Fraction, large)))
    assert tree_sum(np.array([1.5e308, 1.5e308])) == math.inf


def test_a_total_of_arrays_has_a_short_way_for_each():
    for count in range(1, 300):
        total = tree_total(Term() for _ in range(count))
        assert total.depth <= count.bit_length()
        ones = tree_total(np.ones(3) for _ in range(count))
        np.testing.assert_array_equal(ones, np.full(3, float(count)))


@pytest.mark.parametrize("count", [5, 4095, 4096, 70_001, 16 * 65_536 + 3])
def test_a_sum_of_terms_is_the_sum_of_an_array_of_them(count):
    values = np.random.default_rng(count).normal(size=count)
    assert tree_sum(values, np.square) == tree_sum(values * values)
    assert tree_sum(values, np.abs) == tree_sum(np.abs(values))
    assert tree_sum(values) == tree_sum(values.copy())


@pytest.mark.parametrize("count", [1, 5, 127, 128, 129, 300, 4095, 4096, 5000])
def test_floats_are_summed_as_exactly_as_the_depth_allows(count):
    random = np.random.default_rng(count)
    values = random.standard_normal(count) * 10.0 ** random.integers(-20, 20, count)
    error = abs(Fraction(tree_sum(values)) - sum(map(Fraction, values.tolist())))
    assert error <= Fraction(gamma(tree_depth(count))) * sum(abs(Fraction(value)) for value in values.tolist())


@pytest.mark.meetings(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.bool_])
@pytest.mark.parametrize("count", [3, 129, 5000, 70_001])
def test_narrow_numbers_are_summed_in_float64(count, dtype):
    values = (100 * np.random.default_rng(count).standard_normal(count)).astype(dtype)
    wide = values.astype(np.float64)
    for term in (np.copy, np.abs, np.square):
        assert tree_sum(values, term) == tree_sum(wide, term)
    exact = sum(abs(Fraction(value)) for value in wide.tolist())
    assert exact <= Fraction(absolute_sum(values)) <= exact * Fraction(1.00001)


@pytest.mark.parametrize("count", [2, 128, 129, 5000])
def test_sums_that_are_not_finite_are_returned(count):
    values = np.zeros(count)
    for pair, expected in (((np.inf, 1.0), np.inf), ((np.inf, -np.inf), np.nan), ((1e308, 1e308), np.inf)):
        values[[0, -1]] = pair
        with np.errstate(over="ignore", invalid="ignore"):
            np.testing.assert_equal(tree_sum(values), expected)
    kept = np.arange(float(count))
    tree_sum(kept)
    np.testing.assert_equal(kept, np.arange(float(count)))
