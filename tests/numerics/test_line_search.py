"""Brackets of line searches."""

import math

import pytest

from fenchel.numerics.line_search import Bracket, wolfe_step


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


@pytest.mark.parametrize("first", [1e-6, 0.3, 1.0, 50.0])
def test_a_wolfe_step_decreases_a_convex_function_and_knows_where_it_is(first):
    def at(step):
        return math.expm1(step) - 2.0, math.expm1(step) - 3.0 * step, step

    step, found = wolfe_step(at, -2.0, first)
    assert step == found
    # c_1 and c_2 of Nocedal and Wright
    assert math.expm1(step) - 3.0 * step <= -1e-4 * 2.0 * step
    assert abs(math.expm1(step) - 2.0) <= 0.9 * 2.0


def test_no_wolfe_step_increases_the_function():
    # a derivative that was computed with the wrong sign
    assert wolfe_step(lambda step: (1.0, step, None), -1.0, 1.0) is None
