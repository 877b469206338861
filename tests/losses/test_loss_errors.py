"""Every loss keeps its own bound on rounding errors, over the whole range of floats.

The value at s is within K roundings of f and K' roundings of L (|s| + ``score_offset``), L the largest slope that near,
with ``roundings`` and ``score_roundings``; the conjugate at u is within K roundings of f* and K' + k roundings of |u|
``conjugate_slope``, with ``conjugate_roundings``, from the exact conjugate of every u' that is k roundings from u.
Infinities are never on the unsafe side.
"""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exact_losses as exact
from exact_losses import LABELS, SCORES, STEPS, labels_of
from fenchel.losses import Poisson
from fenchel.numerics.rounding import UNIT, gamma
from fenchel.risks import MeanRisk

#: an underflow of a term, and the share of a number that the exact formulas may miss
UNDERFLOW, DIGITS = Decimal(4.0 * 2.0**-1074), Decimal("1e-75")
LARGEST = Decimal(np.finfo(np.float64).max)
#: relative errors of u that a witness may have, in roundings
NEAR = (0.0, -4.0, 4.0)

every_loss = pytest.mark.parametrize("loss", exact.EVERY_LOSS, ids=repr)
floats = st.floats(-1e300, 1e300, allow_nan=False)
moderate = st.floats(-50.0, 50.0, allow_nan=False)


def check_value(loss, s, y):
    with np.errstate(all="ignore"):
        computed = float(loss.value(np.array([s]), np.array([y]))[0])
        offset = float(loss.score_offset(np.array([y]))[0])
    score, label = Decimal(s), Decimal(y)
    own, near = (Decimal(gamma(many)) for many in (loss.roundings, loss.score_roundings))
    with exact.digits(exact.DIGITS):
        true = exact.value(loss, score, label)
        if math.isinf(computed) or true.is_infinite():
            assert computed == math.inf, f"{computed} at s={s!r}, y={y!r} for {true:.6}"
            assert true > LARGEST * (1 - own - near)
            return
        size = abs(score) + Decimal(offset)
        slope = max(exact.slope(loss, score + sign * near * size, label) for sign in (-1, 0, 1))
        if slope.is_infinite():
            return
        error, allowed = abs(Decimal(computed) - true), (own + DIGITS) * abs(true) + near * slope * size + UNDERFLOW
        assert error <= allowed, f"{computed!r} at s={s!r}, y={y!r} for {true:.20}: {error / allowed:.3} times"


def check_conjugate(loss, u, y):
    low, high = (float(end[0]) for end in loss.domain(np.array([y])))
    u = min(max(u, low), high)
    with np.errstate(all="ignore"):
        computed = float(loss.conjugate(np.array([u]), np.array([y]))[0])
        slope = float(loss.conjugate_slope(np.array([u]), np.array([y]))[0])
    for near in NEAR:
        with exact.digits(exact.DIGITS):
            own, of_u = (Decimal(gamma(many + abs(near))) for many in loss.conjugate_roundings)
            moved = min(max(Decimal(u) * (1 + Decimal(near * UNIT)), Decimal(low)), Decimal(high))
            true = exact.conjugate(loss, moved, Decimal(y))
            if math.isinf(computed) or math.isnan(computed) or true.is_infinite():
                assert computed == math.inf, f"{computed} at u={u!r}, y={y!r} for {true:.6}"
                # a term that overflows may be cancelled by another
                assert true.is_infinite() or abs(true) + abs(Decimal(u)) * (
                    Decimal(slope) + abs(Decimal(y))
                ) > LARGEST * (1 - own - of_u)
                continue
            size = abs(Decimal(u)) * Decimal(slope) if u else Decimal(0)
            error, allowed = abs(Decimal(computed) - true), (own + DIGITS) * abs(true) + of_u * size + UNDERFLOW
            assert error <= allowed, f"{computed!r} at u={u!r}, y={y!r} for {true:.20}: {error / allowed:.3} times"


@pytest.mark.meetings(1)
@every_loss
def test_values_on_a_grid(loss):
    for y in labels_of(loss):
        kinks = [1.0 / y] if loss.task == "classification" else [y, y - 0.25, y + 0.1, y + 1e-2, y + 1.35]
        if loss.name == "poisson" and y > 0.0:
            kinks.append(math.log(y))
        for s in [*SCORES, *(kink + sign * step for kink in kinks for step in STEPS for sign in (1.0, -1.0))]:
            check_value(loss, s, y)


@pytest.mark.meetings(1)
@every_loss
def test_conjugates_on_a_grid(loss):
    for y in labels_of(loss):
        low, high = (float(end[0]) for end in loss.domain(np.array([y])))
        ends = [end for end in (low, high) if math.isfinite(end)]
        inside = [end * (1.0 - step) - math.copysign(step, end) * (end == 0.0) for end in ends for step in STEPS]
        for u in [*SCORES, *inside, *(-end for end in inside)]:
            if low <= u <= high:
                check_conjugate(loss, u, y)


@pytest.mark.meetings(1)
@every_loss
@given(data=st.data())
def test_values_anywhere(loss, data):
    label = st.sampled_from(labels_of(loss)) | (floats if loss.task == "regression" else st.nothing())
    y = abs(data.draw(label)) if loss.name == "poisson" else data.draw(label)
    check_value(loss, data.draw(floats | moderate), y)


@pytest.mark.meetings(1)
@every_loss
@given(data=st.data())
def test_conjugates_anywhere(loss, data):
    label = st.sampled_from(labels_of(loss)) | (floats if loss.task == "regression" else st.nothing())
    y = abs(data.draw(label)) if loss.name == "poisson" else data.draw(label)
    check_conjugate(loss, data.draw(floats | moderate | st.floats(-1.0, 1.0)), y)


@every_loss
def test_the_largest_conjugate_slope_bounds_every_slope(loss):
    largest = loss.largest_conjugate_slope
    if math.isinf(largest):
        return
    for y in LABELS[loss.task]:
        label = np.array([y])
        offset = max(float(loss.score_offset(label)[0]), 1.0 if loss.task == "classification" else 0.0)
        low, high = (float(end[0]) for end in loss.domain(label))
        for u in np.linspace(low, high, 41):
            assert float(loss.conjugate_slope(np.array([u]), label)[0]) <= largest * offset * (1.0 + 1e-12)


def test_a_count_of_zero_has_no_logarithm():
    """The logarithm of y is in no formula of y = 0, so bounds must not be those of a tiny y."""
    loss, zero = Poisson(), np.zeros(1)
    assert loss.score_offset(zero) <= 1.0
    assert loss.conjugate_slope(np.ones(1), zero) <= 2.0
    # exp(0) = 1 and 1 ln 1 - 1 = -1 with bounds of a few roundings
    risk = MeanRisk(loss, np.zeros(8))
    assert risk.conjugate_error(np.full(8, -1 / 8), -1.0) <= 2.0**-46
