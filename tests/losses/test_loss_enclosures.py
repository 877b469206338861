"""Every loss and its conjugate lie in their balls, over the whole range of floats, and the balls have 25 digits."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exact_losses as exact
from exact_losses import SCORES, STEPS, labels_of
from fenchel.losses import CustomLoss
from fenchel.numerics.balls import as_ball

every_loss = pytest.mark.parametrize("loss", exact.EVERY_LOSS, ids=repr)
#: digits in which rational losses of floats are exact
RATIONAL_DIGITS = 1400
#: relative error of the exact values of other losses
EXACT = Decimal(10) ** -50
#: relative radius in ordinary cases
NARROW = Decimal(10) ** -25


@pytest.fixture
def slack_of(monkeypatch):
    """The relative error of the exact values of a loss, after its digits were set."""

    def set_digits(loss):
        rational = loss.piecewise_quadratic() is not None or loss.constraint is not None
        monkeypatch.setattr(exact, "DIGITS", RATIONAL_DIGITS if rational else exact.DIGITS)
        return Decimal(0) if rational else EXACT

    return set_digits


def true_value(loss, s, y):
    if loss.name != "quantile":
        return exact.value(loss, s, y)
    with exact.digits(RATIONAL_DIGITS):
        # the exact 1 - q, which is no float
        return Decimal(loss.quantile) * (y - s) if s < y else (1 - Decimal(loss.quantile)) * (s - y)


def true_conjugate(loss, u, y):
    if loss.name != "quantile":
        return exact.conjugate(loss, u, y)
    with exact.digits(RATIONAL_DIGITS):
        return u * y if -Decimal(loss.quantile) <= u <= 1 - Decimal(loss.quantile) else exact.INFINITE


def check(found, trues, slack, points):
    """Assert that balls contain the true numbers, and that infinite ones have an infinite radius."""
    rows = zip(found.high.tolist(), found.low.tolist(), found.radius.tolist(), trues, points, strict=True)
    with exact.digits(RATIONAL_DIGITS):
        for high, low, radius, true, point in rows:
            if true.is_infinite():
                assert radius == np.inf, f"finite ball {high!r} for an infinite number at {point}"
            elif radius < np.inf:
                error = abs(Decimal(high) + Decimal(low) - true) - slack * abs(true)
                assert error <= Decimal(radius), f"{error:.5} > {radius} at {point}"


def check_all(function, true, loss, points, slack, radius=0.0):
    at, labels = (np.array(column) for column in zip(*points, strict=True))
    found = function(as_ball(at).widened(radius), labels)
    check(found, [true(loss, Decimal(x), Decimal(y)) for x, y in points], slack, points)
    return found


@every_loss
def test_values_lie_in_their_balls(loss, slack_of):
    points = [(s, y) for y in labels_of(loss) for s in SCORES]
    points += [(y + sign * step, y) for y in labels_of(loss) for sign in (1.0, -1.0) for step in STEPS]
    check_all(loss.enclosure().value, true_value, loss, points, slack_of(loss))


@every_loss
def test_conjugates_lie_in_their_balls(loss, slack_of):
    points = [(u, y) for y in labels_of(loss) for u in SCORES]
    for y in labels_of(loss):
        ends = [float(end[0]) for end in loss.domain(np.array([y])) if np.isfinite(end[0])]
        points += [(end * (1.0 + sign * step), y) for end in ends for sign in (1.0, -1.0) for step in STEPS]
    check_all(loss.enclosure().conjugate, true_conjugate, loss, points, slack_of(loss))


@pytest.mark.meetings(1)
@every_loss
@settings(max_examples=3, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_ordinary_numbers_have_25_digits(loss, seed):
    """The balls of float64 arithmetic would be a billion times as wide."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], 20) if loss.task == "classification" else rng.uniform(0.0, 20.0, 20)
    low, high = (np.broadcast_to(end, 20) for end in loss.domain(labels))
    slopes = rng.uniform(np.maximum(low, -20.0), np.minimum(high, 20.0))
    scores = np.where(rng.random(20) < 0.5, 3.0 * labels, rng.uniform(-20.0, 20.0, 20))
    for at, function, true in (
        (scores, loss.enclosure().value, true_value),
        (slopes, loss.enclosure().conjugate, true_conjugate),
    ):
        points = list(zip(at.tolist(), labels.tolist(), strict=True))
        found = check_all(function, true, loss, points, EXACT)
        for (x, y), radius in zip(points, found.radius.tolist(), strict=True):
            size = true(loss, Decimal(x), Decimal(y))
            # terms of the size of the label and of the slope may cancel
            scale = max(abs(size), (1 + abs(Decimal(x))) * (1 + abs(Decimal(y))))
            assert size.is_infinite() or Decimal(radius) <= NARROW * scale


@every_loss
def test_wide_balls_contain_every_value(loss):
    """The radius of a score is part of the radius of the loss."""
    rng = np.random.default_rng(3)
    labels = rng.choice([-1.0, 1.0], 30) if loss.task == "classification" else np.abs(rng.normal(size=30))
    scores, radii = 2.0 * rng.normal(size=30), 10.0 ** rng.uniform(-12.0, -1.0, 30)
    found = loss.enclosure().value(as_ball(scores).widened(radii), labels)
    for share in (-1.0, -0.5, 0.3, 1.0):
        moved = [Decimal(s) + Decimal(share * r) for s, r in zip(scores, radii, strict=True)]
        trues = [true_value(loss, s, Decimal(y)) for s, y in zip(moved, labels, strict=True)]
        check(found, trues, EXACT, list(zip(moved, labels, strict=True)))


def test_a_custom_loss_has_no_enclosure():
    assert CustomLoss.enclosure(exact.EVERY_LOSS[0]) is None
