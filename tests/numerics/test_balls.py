"""Balls contain the exact results of sums, products, quotients, roots and elementary functions, with 28 digits."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_losses import digits, log1p
from fenchel.errors import FenchelError
from fenchel.numerics import ball_functions, error_free
from fenchel.numerics.ball_functions import LN2
from fenchel.numerics.balls import Ball, as_ball

#: examples of the loaded profile: more in ``make test-all``, see conftest.py
EXAMPLES = settings.default.max_examples
#: digits in which sums and products of pairs of floats are exact, and others accurate enough
DIGITS = 1400
#: relative radius of a result in ordinary cases
NARROW = Decimal(10) ** -28

wide = st.floats(-1e300, 1e300, allow_nan=False)
ordinary = st.floats(1e-5, 1e5).flatmap(lambda size: st.sampled_from([size, -size]))


def pair(high, low):
    """A number of two floats."""
    return as_ball([high]) + low * high


def centre(ball):
    return Decimal(float(ball.high[0])) + Decimal(float(ball.low[0]))


def contains(found, true, narrow=False):
    radius = float(found.radius[0])
    if np.isinf(radius):
        return not narrow
    error = abs(centre(found) - true)
    return error <= Decimal(radius) and (not narrow or Decimal(radius) <= NARROW * abs(true))


def check_arithmetic(a, b, narrow):
    with digits(DIGITS):
        x, y = centre(a), centre(b)
        # a difference of two numbers may cancel
        assert contains(a + b, x + y, narrow and x * y > 0)
        assert contains(a - b, x - y)
        assert contains(a * b, x * y, narrow)
        assert contains(abs(a).sqrt(), abs(x).sqrt(), narrow)
        assert contains(a.maximum(b), max(x, y))
        assert contains(a.minimum(b), min(x, y))
        if y:
            assert contains(a / b, x / y, narrow)


@settings(max_examples=3 * EXAMPLES)
@given(wide, wide, st.floats(-1e-16, 1e-16), st.floats(-1e-16, 1e-16))
def test_arithmetic_over_the_whole_range(a, b, c, d):
    check_arithmetic(pair(a, c), pair(b, d), narrow=False)


@settings(max_examples=2 * EXAMPLES)
@given(ordinary, ordinary, st.floats(-1e-16, 1e-16), st.floats(-1e-16, 1e-16))
def test_ordinary_arithmetic_has_28_digits(a, b, c, d):
    check_arithmetic(pair(a, c), pair(b, d), narrow=True)


@settings(max_examples=EXAMPLES)
@given(st.one_of(wide, ordinary, st.floats(-50.0, 50.0)), st.floats(-1e-16, 1e-16))
def test_elementary_functions(a, c):
    x = pair(a, c)
    narrow = 1e-5 <= abs(a) <= 100.0
    with digits(120):
        true = centre(x)
        size = abs(true)
        if size < 10**6:
            assert contains(ball_functions.exp(x), true.exp(), narrow)
            near = size < Decimal(10) ** -40
            assert contains(ball_functions.expm1(x), true if near else true.exp() - 1, narrow) or near
        if size:
            assert contains(ball_functions.log(abs(x)), size.ln()) or abs(size - 1) < Decimal(10) ** -80
            assert contains(ball_functions.power(abs(x), 1.75), size ** Decimal("1.75"), narrow)
            if size > Decimal(10) ** -40:
                assert contains(ball_functions.log1p(abs(x)), log1p(size), narrow)
                root = (1 + size * size).sqrt()
                assert contains(ball_functions.asinh(abs(x)), (size + root).ln(), narrow)


def test_zero_is_exact_in_elementary_functions():
    zero = as_ball([0.0])
    for name, true in (("expm1", 0.0), ("log1p", 0.0), ("asinh", 0.0), ("xlogx", 0.0), ("exp", 1.0)):
        found = getattr(ball_functions, name)(zero)
        assert (found.high[0], found.low[0]) == (true, 0.0), name
        assert found.radius[0] <= 1e-300, name


def test_the_logarithm_of_two():
    with digits(60):
        assert abs(Decimal(2).ln() - Decimal(float(LN2.high)) - Decimal(float(LN2.low))) <= Decimal(float(LN2.radius))


def test_a_wrong_guess_of_numpy_is_no_wrong_logarithm(monkeypatch):
    """Nothing is assumed about the accuracy of NumPy's logarithm."""
    x = as_ball([0.7, 3.0])
    true = ball_functions.log(x)
    monkeypatch.setattr(np, "log1p", lambda w, log1p=np.log1p: log1p(w) + 1e-9)
    near = ball_functions.log(x)
    assert np.all(np.abs((true - near).high) <= near.radius + true.radius)
    assert np.all(near.radius < 1e-25)
    monkeypatch.setattr(np, "log1p", lambda w: w + 1.0)
    assert np.all(np.isinf(ball_functions.log(x).radius))


def test_wide_balls_contain_all_results():
    rng = np.random.default_rng(0)
    middle, radius = rng.uniform(0.5, 3.0, 50), 10.0 ** rng.uniform(-9.0, -1.0, 50)
    x = as_ball(middle).widened(radius)
    functions = {"exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "asinh": np.arcsinh}
    for name, function in functions.items():
        found = getattr(ball_functions, name)(x)
        for share in (-0.999, 0.0, 0.999):
            error = np.abs(function(middle + share * radius) - found.high)
            assert np.all(error <= found.radius * (1.0 + 1e-6) + 1e-14), name
    for share in (-0.999, 0.999):
        moved = middle + share * radius
        assert np.all(np.abs(np.sqrt(moved) - x.sqrt().high) <= x.sqrt().radius + 1e-14)
        assert np.all(np.abs(moved / moved[::-1] - (x / x[::-1]).high) <= (x / x[::-1]).radius + 1e-14)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 1000])
def test_sums_of_numbers_that_cancel(count):
    rng = np.random.default_rng(count)
    values = rng.normal(size=count) * 10.0 ** rng.uniform(-8.0, 8.0, count)
    values = np.concatenate([values, -values, [1e-9]])
    found = as_ball(values).sum()
    assert abs(float(found.high) - 1e-9) <= float(found.radius) + 1e-25
    assert float(found.radius) <= 1e-22 * max(1.0, count)
    columns = as_ball(np.stack([values, 2.0 * values], axis=1)).sum(axis=0)
    assert np.all(np.abs(columns.high - [1e-9, 2e-9]) <= columns.radius + 1e-25)


def test_comparisons_and_overflow():
    largest = as_ball([1.7e308])
    for unknown in (largest + largest, largest * 2.0, largest / 0.0, ball_functions.exp(largest)):
        assert unknown.upper()[0] == np.inf
        assert unknown.lower()[0] == -np.inf
        assert not unknown.nonnegative()[0]
    one = as_ball([1.0])
    assert (one - 1.0).nonnegative()[0]
    assert not (one - 1.0).positive()[0]
    # 1 - 1e-20 is below one though its first float is not
    below = one - 1e-20
    assert below.high[0] == 1.0
    assert (1.0 - below).positive()[0]
    assert not Ball(np.array([1.0]), np.zeros(1), np.array([1.0 + 1e-9])).nonnegative()[0]


def test_flush_to_zero_is_refused(monkeypatch):
    error_free.check_arithmetic()
    monkeypatch.setattr(error_free, "np", _Flushing())
    with pytest.raises(FenchelError, match="gradual underflow"):
        error_free.check_arithmetic()


class _Flushing:
    """NumPy in a process that flushes subnormal numbers to zero."""

    any = staticmethod(np.any)

    @staticmethod
    def array(values):
        found = np.array(values)
        return np.where(np.abs(found) < 2.0**-1022, 0.0, found)


def test_asinh_just_above_one():
    """The high part of the midpoint is one, and the number is not."""
    with digits(60):
        low = 3.93e-17
        size = Decimal(1) + Decimal(low)
        found = ball_functions.asinh(Ball(np.array([1.0]), np.array([low]), np.array([0.0])))
        assert contains(found, (size + (size * size + 1).sqrt()).ln(), narrow=True)
