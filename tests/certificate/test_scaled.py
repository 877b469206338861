"""A certificate in the units of another objective: its bounds hold exactly."""

from fractions import Fraction

import numpy as np
import pytest

from fenchel import Certificate, FenchelError


def test_bounds_of_a_multiple_hold_exactly():
    rng = np.random.default_rng(0)
    for _ in range(200):
        dual, gap, factor = rng.normal(), rng.exponential(1e-3), rng.lognormal(0.0, 5.0)
        one = Certificate(dual + gap, dual, *(10.0 ** rng.uniform(-18, -12, 2)), about="a mean")
        many = one.scaled(factor, "a sum")
        exact = Fraction(factor)
        # the exact objective is at most primal + primal_error, and no model is below dual - dual_error
        assert Fraction(many.upper) >= exact * (Fraction(one.primal) + Fraction(one.primal_error))
        assert Fraction(many.lower) <= exact * (Fraction(one.dual) - Fraction(one.dual_error))
        assert many.relative_gap == pytest.approx(one.relative_gap, rel=1e-9)
        assert many.about == "a sum"


def test_bounds_that_are_too_large_for_floats_prove_nothing():
    # the exact lower bounds are far below
    for sign in (1.0, -1.0):
        found = Certificate(sign * 1e300, sign * 9e299, dual_error=8.9e299).scaled(1e10)
        assert found.lower == -np.inf
        assert found.upper == np.inf


@pytest.mark.parametrize("factor", [0.0, -1.0, np.inf, np.nan])
def test_factors_are_positive(factor):
    with pytest.raises(FenchelError, match="factor must be a positive number"):
        Certificate(1.0, 0.5).scaled(factor)


def test_zero_and_infinity_stay():
    assert Certificate(0.0, 0.0).scaled(7.0) == Certificate(0.0, 0.0)
    found = Certificate(np.inf, 1.0, dual_error=1e-16).scaled(2.0)
    assert found.primal == np.inf
    assert found.primal_error == 0.0
    assert found.lower <= 2.0
