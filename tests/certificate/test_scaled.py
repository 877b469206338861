"""A certificate in the units of another objective: its bounds hold exactly."""

from fractions import Fraction

import numpy as np
import pytest

from fenchel import Certificate


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


def test_zero_and_infinity_stay():
    assert Certificate(0.0, 0.0).scaled(7.0) == Certificate(0.0, 0.0)
    found = Certificate(np.inf, 1.0, dual_error=1e-16).scaled(2.0)
    assert found.primal == np.inf
    assert found.primal_error == 0.0
    assert found.lower <= 2.0
