"""The curve of a loss, the second derivative of its conjugate: what Newton's method asks of a dual step."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slow_reference as slow
from catalog import LOSS_OBJECTS, example_labels, loss_id
from strategies import losses, slope_at

EPS = np.finfo(float).eps
every_loss = pytest.mark.parametrize("loss", LOSS_OBJECTS, ids=loss_id)
#: without mu the step of a loss with a kink jumps
STEPS = [(loss, mu) for loss in LOSS_OBJECTS for mu in (0.0, 0.1, 3.0) if mu > 0.0 or loss.smooth]


def step_slopes(kernel, y, centre, s, mu, h=1e-6):
    """Differences of the dual step in the score, to the left and to the right."""
    left, middle, right = (kernel.dual_step(y, centre, score, mu) for score in (s - h, s, s + h))
    return (middle - left) / h, (right - middle) / h


@pytest.mark.parametrize(("loss", "mu"), STEPS, ids=[f"{loss.name}-{mu}" for loss, mu in STEPS])
def test_curve_gives_the_slope_of_the_dual_step(loss, mu):
    """alpha minimizes f*(-a) + s (a - centre) + mu/2 (a - centre)^2, so d alpha/d s = -1/(curve(alpha) + mu)."""
    kernel, compared, flat = loss.compiled(), 0, 0
    scores, rng = np.linspace(-6, 6, 97) + 0.0137, np.random.default_rng(14)
    for y, s in itertools.product(example_labels(loss).tolist(), scores.tolist()):
        centre = -slope_at(loss, y, rng.choice([0.0, rng.random(), 1.0]))
        left, right = step_slopes(kernel, y, centre, s, mu)
        curve = kernel.hess_conjugate(y, kernel.dual_step(y, centre, s, mu))
        assert curve >= 0.0
        # at a kink of the step the two sides differ
        if abs(left - right) > 1e-4 * (1 + abs(left)):
            continue
        compared, flat = compared + 1, flat + (curve == math.inf)
        assert 0.5 * (left + right) == pytest.approx(-1 / (curve + mu), rel=1e-4, abs=1e-7)
    assert compared >= 0.95 * len(scores) * len(example_labels(loss))
    # a step rests in places exactly if the slope does: on a bound of the conjugate or at a kink of it
    fine = np.linspace(-6, 6, 1001)
    slopes = [loss.derivative(fine, np.full_like(fine, y)) for y in example_labels(loss)]
    assert (flat > 0) == bool(np.any(np.diff(slopes) == 0.0))


@every_loss
@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.2, 0.5, 0.71, 0.99, 1.0])
def test_curve_is_the_second_derivative_of_the_conjugate(loss, fraction):
    for y in example_labels(loss).tolist():
        u, (low, high) = slope_at(loss, y, fraction), loss.domain(np.float64(y))
        curve, h, f = loss.compiled().hess_conjugate(y, -u), np.longdouble(1e-5), slow.CONJUGATES[loss.name]
        tube = slow.RESIDUAL.get(loss.name, (0.0,))[0]
        if u in (low, high) or (u == 0.0 and tube > 0.0):
            assert curve == math.inf
        else:
            points = u - h, np.longdouble(u), u + h
            left, numeric, right = ((f(at + h, y) - 2 * f(at, y) + f(at - h, y)) / h**2 for at in points)
            # a linear conjugate leaves nothing but rounding
            if abs(left - right) <= 0.01 * (left + right) + 1e-6:
                assert curve == pytest.approx(float(numeric), rel=1e-5, abs=1e-6)
            else:
                # where the second derivative jumps, it is that of one side
                assert any(curve == pytest.approx(float(side), rel=1e-3) for side in (left, right))


@given(losses, st.data())
def test_curve_of_strange_numbers(loss, data):
    y = data.draw(st.sampled_from(example_labels(loss).tolist()))
    low, high = (max(min(-float(end), 1e300), -1e300) for end in reversed(loss.domain(np.float64(y))))
    inside = st.sampled_from((low, high, 0.0, -0.0, 1e-320, -1e-320, 1e-300, 1 - EPS / 2, EPS / 2 - 1, 1e-17, -1e-17))
    alpha = min(max(data.draw(inside), low), high)
    curve = loss.compiled().hess_conjugate(y, alpha)
    assert isinstance(curve, float)
    assert curve >= 0.0
