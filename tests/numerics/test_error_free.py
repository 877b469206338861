"""Sums that are rounded once."""

import math

import numpy as np
import pytest

from fenchel.numerics.error_free import exact_sum


def columns(rng, count):
    """Numbers of one size, of all sizes, with cancellation, with zeros, huge and tiny ones."""
    values = rng.normal(size=count)
    yield values
    yield values * 10.0 ** rng.integers(-300, 300, size=count)
    yield np.concatenate([values * 1e200, -values * 1e200, values])
    yield np.where(rng.random(count) < 0.5, 0.0, values)
    yield np.zeros(count)
    yield values * 2.0**-1060
    yield values * 1e300 / count
    yield np.full(count, 0.1)
    yield np.nextafter(np.ones(count), 2.0) * np.where(np.arange(count) % 2, -1.0, 1.0)


@pytest.mark.parametrize("count", [0, 1, 7, 1023, 1024, 65_537, 200_000])
def test_sums_are_rounded_once(count):
    for values in columns(np.random.default_rng(count), count):
        assert exact_sum(values) == math.fsum(values)


def test_sums_of_other_arrays():
    values = np.random.default_rng(0).normal(size=(3000, 4))
    assert exact_sum(values[:, 1]) == math.fsum(values[:, 1])
    single = values.astype(np.float32)
    assert exact_sum(single) == math.fsum(single.ravel())
    values[5, 2] = np.nan
    assert math.isnan(exact_sum(values))
    values[5, 2] = -np.inf
    assert exact_sum(values) == -np.inf
