"""Brackets of line searches."""

import pytest

from fenchel.numerics.line_search import Bracket


@pytest.mark.parametrize("high", [1.0, 1e-3, 1e3])
def test_the_secant_does_not_creep_where_the_function_is_flat(high):
    """-1e4 at zero and 1e3 beyond a root near zero, as the derivative of a log-loss: regula falsi takes 0.91 a step."""
    bracket, step, tried = Bracket(-1e4), high, []
    for _ in range(6):
        tried.append(step)
        step = bracket.secant(step, 1e3)
        assert bracket.low < step < bracket.high
    assert step < 0.1 * high
    assert tried == sorted(tried, reverse=True)


def test_ends_that_alternate_are_as_they_were():
    bracket = Bracket(-2.0)
    assert bracket.secant(1.0, 2.0) == 0.5
    # the root of the line through (0.5, -1) and (1, 2)
    assert bracket.secant(0.5, -1.0) == pytest.approx(0.5 + 0.5 / 3.0)
