"""Brackets of line searches."""

import math

import numpy as np
import pytest

from fenchel.numerics.line_search import Bracket, parallel_line_search, wolfe_step


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


@pytest.mark.parametrize("root", [1e-6, 0.03, 0.26, 0.9, 1.2, 40.0, 1e6])
@pytest.mark.parametrize("curved", [False, True])
def test_several_steps_at_once_find_a_root_in_few_calls(root, curved):
    calls = []

    def derivatives(steps):
        # linear, or with a bend at the root beyond which it is a hundred times as steep
        calls.append(steps)
        slopes = np.where(curved & (steps > root), 100.0, 1.0) / root
        return slopes * (steps - root), slopes

    step = parallel_line_search(derivatives, -1.0, 0.1)
    assert abs(derivatives(np.array([step]))[0][0]) <= 0.1
    # near 1 a Newton step from the first call suffices
    assert len(calls) - 1 <= (2 if 0.2 < root < 2.0 and not curved else 10)


def test_several_steps_at_once_end_where_rounding_hides_the_root():
    jump = math.nextafter(1.0, 0.0)
    step = parallel_line_search(lambda steps: (np.where(steps > jump, 1.0, -1.0), np.zeros(len(steps))), -1.0, 0.1)
    assert step == jump


def test_several_steps_at_once_stay_at_zero_if_none_decreases_the_function():
    # a derivative that was computed with the wrong sign, and one that overflows
    assert parallel_line_search(lambda steps: (np.ones(len(steps)), np.zeros(len(steps))), -1.0, 0.1) < 1e-60
    assert parallel_line_search(lambda steps: (np.full(len(steps), np.nan),) * 2, -1.0, 0.1) == 0.0
