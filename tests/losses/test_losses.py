"""Laws of one loss: Fenchel-Young, the conjugate, derivatives, the exact dual step, smoothing."""

import math
import pickle
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import slow_reference as slow
from catalog import LOSS_OBJECTS, example_labels, loss_id
from fenchel.compile.primitives.dual_steps import dual_steps
from fenchel.losses import NAMED, Exponential, Interpolation, Squared
from fenchel.losses.intercept import newton_root
from fenchel.losses.residual import ResidualLoss
from strategies import EXTREME_SCORES, curvatures, fractions, loss_points, losses, scores, slope_at

EPS = np.finfo(float).eps
every_loss = pytest.mark.parametrize("loss", LOSS_OBJECTS, ids=loss_id)


def grid(loss, low=-8.0, high=8.0, count=161):
    """Every label with every score of a grid that misses the kinks."""
    s, y = np.meshgrid(np.linspace(low, high, count) + 0.0137, example_labels(loss))
    return s.ravel(), y.ravel()


@every_loss
def test_formula_and_cone_are_known(loss):
    assert loss.name in slow.FORMULAS
    assert loss.name in slow.CONJUGATES
    s, y = grid(loss)
    np.testing.assert_allclose(loss.value(s, y), slow.FORMULAS[loss.name](s, y), rtol=4 * EPS, atol=0)


def test_the_squared_loss_is_that_of_its_family_bit_by_bit():
    scores, labels = np.random.default_rng(0).normal(size=(2, 1000)) * np.geomspace(1e-150, 1e150, 1000)
    scores[:3] = labels[:3]
    np.testing.assert_array_equal(Squared().value(scores, labels), ResidualLoss.value(Squared(), scores, labels))


@given(loss_points())
def test_fenchel_young(point):
    loss, y, s, u = point
    s, y, u = np.float64(s), np.float64(y), np.float64(u)
    value, conjugate = loss.value(s, y), loss.conjugate(u, y)
    noise = 8 * EPS * (abs(value) + abs(conjugate) + abs(u * s) + abs(u * y) + 0.5 * u * u + abs(s))
    assert value + conjugate - u * s >= -noise


@given(loss_points())
def test_fenchel_young_is_tight_at_the_subgradient(point):
    loss, y, s, _ = point
    s, y = np.float64(s), np.float64(y)
    u = loss.derivative(s, y)
    low, high = loss.domain(y)
    assert low <= u <= high
    value, conjugate = loss.value(s, y), loss.conjugate(u, y)
    noise = 8 * EPS * (abs(value) + abs(conjugate) + abs(u * s) + abs(u * y) + 0.5 * u * u + abs(s) + 1)
    assert abs(value + conjugate - u * s) <= noise


@pytest.mark.meetings(1)
@every_loss
@pytest.mark.parametrize("fraction", [0.0, 1e-9, 0.1, 0.37, 0.5, 0.9, 1 - 1e-9, 1.0])
def test_conjugate_against_brute_force(loss, fraction):
    for y in example_labels(loss):
        u = slope_at(loss, y, fraction)
        assert loss.conjugate(np.float64(u), y) == pytest.approx(slow.conjugate(loss.name, u, y), abs=1e-12, rel=1e-12)


@every_loss
def test_conjugate_is_infinite_outside_its_domain(loss):
    for y in example_labels(loss):
        for end, outward in zip(loss.domain(np.float64(y)), (-1.0, 1.0), strict=True):
            if np.isfinite(end):
                near, far = (slow.conjugate(loss.name, end + 0.1 * outward, y, reach) for reach in (1e3, 1e6))
                assert far > near + 1e3


@every_loss
def test_derivative_by_finite_differences(loss):
    s, y = grid(loss)
    h = 1e-5
    difference = (loss.value(s + h, y) - loss.value(s - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(s, y), difference, rtol=1e-8, atol=1e-9)


@every_loss
def test_derivative_grows_and_smooth_says_the_truth(loss):
    s = np.linspace(-6, 6, 100_001)
    for y in example_labels(loss):
        slopes = loss.derivative(s, np.full_like(s, y))
        assert np.all(np.diff(slopes) >= -4 * EPS)
        assert loss.smooth == bool(np.max(np.diff(slopes)) < 1e-3)


@st.composite
def step_points(draw):
    loss, y, s, u = draw(loss_points())
    return loss, y, -u, s, draw(curvatures)


def domain_of_alpha(loss, y):
    low, high = loss.domain(np.float64(y))
    return -float(high), -float(low)


def step_of(loss, y, alpha, s, q):
    return float(loss.compiled().dual_step(float(y), float(alpha), float(s), float(q)))


@given(step_points())
def test_dual_step_is_no_worse_than_brute_force(point):
    loss, y, alpha, s, q = point
    low, high = domain_of_alpha(loss, y)
    reach = 100 + abs(alpha) + abs(s) + abs(y)
    brute = slow.dual_step(loss.name, y, alpha, s, q, max(low, -reach), min(high, reach))
    step = step_of(loss, y, alpha, s, q)
    assert low <= step <= high
    found, best = (slow.step_objective(loss.name, y, alpha, s, q, a) for a in (step, brute))
    noise = 8 * EPS * (abs(s) + abs(y) + abs(alpha) + 1) * (abs(step - alpha) + EPS * (abs(step) + 1))
    reference = 8 * np.finfo(np.longdouble).eps * abs(best)
    assert found <= best + noise + reference + 64 * EPS**2 * q * (1 + abs(step)) ** 2


@given(st.sampled_from([-1.0, 1.0]), fractions, scores, curvatures)
@example(1.0, 0.0, -2.656393447010318, 100.0)
@example(1.0, 1.0, 2.939659443483537, 30.0)
@example(-1.0, 0.0, 3.0, 28.0)
@example(-1.0, 0.0, 0.0, 1e12)
def test_logistic_step_to_machine_accuracy(y, beta, s, q):
    """Against bisection in extended precision: the error in t is that of the equation's own terms."""
    (loss,) = [loss for loss in LOSS_OBJECTS if loss.name == "logistic"]
    m = np.longdouble(y * s)
    low, high = -m - q * np.longdouble(1 - beta), -m + q * np.longdouble(beta)
    for _ in range(200):
        t = (low + high) / 2
        sigma = 1 / (1 + np.exp(-t)) if t >= -11000 else np.longdouble(0)
        low, high = (t, high) if t + m + q * (sigma - beta) < 0 else (low, t)
    curve = sigma * (1 - sigma)
    rounding = (abs(t) + abs(m) + q * max(sigma, beta)) * curve / (1 + q * curve)
    step = step_of(loss, y, y * beta, s, q)
    assert abs(np.longdouble(y * step) - sigma) <= 8 * EPS * (sigma + rounding) + np.finfo(float).tiny


@every_loss
@pytest.mark.parametrize("q", [0.0, 0.3, 1e6])
def test_steps_of_arrays_are_those_of_one_example(loss, q):
    s, y = grid(loss)
    alpha = -loss.derivative(np.roll(s, 7), y)
    expected = [step_of(loss, *numbers, q) for numbers in zip(y, alpha, s, strict=True)]
    np.testing.assert_array_equal(loss.dual_step(y, alpha, s, q), expected)
    # compiled functions may differ from Python's in the last bits
    compiled = dual_steps(loss, y, alpha, s, q)
    np.testing.assert_allclose(compiled, expected, rtol=64 * EPS, atol=32 * EPS * (1 + np.max(np.abs(s))))


@given(step_points())
def test_slack_agrees_with_the_step(point):
    loss, y, alpha, s, q = point
    slack = loss.compiled().kkt_margin(y, alpha, s)
    assert not math.isnan(slack)
    if slack > 0:
        assert step_of(loss, y, alpha, s, q) == alpha
    elif slack < -1e-6 and q <= 1e6:
        assert step_of(loss, y, alpha, s, q) != alpha


@given(loss_points())
def test_a_step_to_the_optimum_rests(point):
    loss, y, s, _ = point
    alpha = -float(loss.derivative(np.float64(s), np.float64(y)))
    scale = 1 + abs(alpha) + abs(s) + abs(y)
    for q in (0.0, 1.0, 1e12):
        if loss.smooth or q > 0:
            assert step_of(loss, y, alpha, s, q) == pytest.approx(alpha, rel=0, abs=16 * EPS * scale)


@given(losses, st.data(), st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 10.0]))
def test_smoothing_sandwich_and_derivative(loss, data, mu):
    y = data.draw(st.sampled_from(list(example_labels(loss))))
    s = np.float64(data.draw(st.floats(-30, 30)))
    value, slope = loss.smoothed(s, np.float64(y), mu)
    exact = loss.value(s, np.float64(y))
    noise = 32 * EPS * (1 + exact + abs(s))
    assert value <= exact + noise
    assert exact <= value + mu * loss.smoothing_width + noise
    h = 1e-6 * max(1.0, mu)
    ahead, behind = (loss.smoothed(s + step, np.float64(y), mu)[0] for step in (h, -h))
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=2e-7 + h / mu + 1e-9 * (1 + exact))


@every_loss
@pytest.mark.parametrize("level", [1e-300, 1e-9, 0.3, 1.0, 5.0, 1e3])
def test_sublevel_is_where_the_loss_is_below_the_level(loss, level):
    for y in example_labels(loss):
        low, high = loss.sublevel(np.float64(level), np.float64(y))
        assert low <= high
        for end, outward in ((low, -1.0), (high, 1.0)):
            if np.isfinite(end):
                assert loss.value(end, y) == pytest.approx(level, rel=1e-9, abs=4 * EPS * (1 + abs(end)))
                assert loss.value(end + 0.1 * outward, y) > level
                assert loss.value(max(low, min(high, end - 0.1 * outward)), y) <= level * (1 + 1e-9) + 4 * EPS
            else:
                assert loss.value(outward * 1e6, y) <= level


@st.composite
def intercept_data(draw):
    loss = draw(losses)
    n = draw(st.integers(1, 7))
    ties = st.sampled_from([0.0, 1.0, -1.0, 0.5])
    s = np.array(draw(st.lists(st.one_of(ties, st.floats(-5, 5)), min_size=n, max_size=n)))
    values = st.sampled_from([-1.0, 1.0]) if loss.task == "classification" else st.floats(-5, 5)
    y = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    c = np.array(draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.3]), min_size=n, max_size=n)))
    assume(c.sum() > 0)
    return loss, s, y, c / c.sum()


@given(intercept_data())
def test_best_intercept_against_brute_force(data):
    loss, s, y, c = data
    b = loss.best_intercept(s, y, c)
    low, high = slow.intercept_minimizers(loss.name, s, y, c)
    formula = slow.FORMULAS[loss.name]
    if loss.task == "classification" and len(set(y[c > 0])) == 1:
        # one class: there is no finite minimizer (logistic) or only one finite end (hinge)
        assert math.isfinite(b)
        assert c @ formula(s + b, y) <= c @ formula(s + low, y) + 1e-15
        return
    found, brute = (float(c @ formula(s + at, y)) for at in (b, low))
    assert found <= brute + 8 * EPS * (1 + brute)
    if not loss.smooth:
        assert b == pytest.approx((low + high) / 2, abs=1e-12)
    else:
        assert abs(c @ loss.derivative(s + b, y)) <= 16 * EPS * (1 + np.abs(s).max() + np.abs(y).max())


@pytest.mark.filterwarnings("error")
@every_loss
@pytest.mark.parametrize("score", EXTREME_SCORES)
def test_extreme_scores_give_no_warning_and_no_nan(loss, score):
    for y in example_labels(loss):
        s, y = np.array([score]), np.array([y])
        results = [loss.value(s, y), loss.derivative(s, y), loss.conjugate(loss.derivative(s, y), y)]
        results += [step_of(loss, y[0], 0.0, score, q) for q in (0.0, 1.0, 1e12)]
        results += [loss.smoothed(s, y, 0.5)[1], loss.compiled().kkt_margin(y[0], 0.0, score)]
        for result in results:
            assert not np.any(np.isnan(result))


@every_loss
def test_extreme_scores_have_the_right_values(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for y in example_labels(loss):
            for score in (1e3, -1e3):
                expected = slow.FORMULAS[loss.name](np.longdouble(score), np.longdouble(y))
                assert loss.value(np.float64(score), np.float64(y)) == pytest.approx(float(expected), rel=4 * EPS)


@every_loss
def test_objects_are_values(loss):
    again = type(loss)(**loss.get_params())
    assert again == loss
    assert hash(again) == hash(loss)
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert [other for other in LOSS_OBJECTS if other == loss] == [loss]
    with pytest.raises(FrozenInstanceError):
        loss.name = "other"
    assert all(isinstance(field, float) for field in loss.compiled())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_exponential_loss_of_one_class_has_a_finite_best_intercept(sign):
    scores, labels, shares = np.array([0.3, -2.0]), np.full(2, sign), np.full(2, 0.5)
    best = Exponential().best_intercept(scores, labels, shares)
    assert np.isfinite(best)
    assert np.max(np.exp(-labels * (scores + best))) < 1e-290


def test_the_best_intercept_of_an_interpolation_has_the_smallest_largest_residual():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=7), rng.normal(size=7)
    best = Interpolation().best_intercept(scores, labels, np.full(7, 1 / 7))
    largest = [np.max(np.abs(scores + b - labels)) for b in (best, best - 1e-6, best + 1e-6)]
    assert largest[0] == min(largest)


@pytest.mark.parametrize("name", [name for name, loss in NAMED.items() if loss.task == "classification"])
def test_the_best_constant_in_closed_form_is_the_one_that_is_searched_for(name):
    loss, labels, known = NAMED[name](), np.array([-1.0, 1.0]), 0
    for mixture in (-0.998, -0.3, 0.0, 1e-9, 0.9):
        found = loss.constant_intercept(mixture)
        if found is not None:
            known += 1
            searched = loss.best_intercept(np.zeros(2), labels, 0.5 + 0.5 * mixture * labels)
            assert found == pytest.approx(searched, rel=1e-12, abs=1e-15)
    assert known == (5 if name in ("squared_hinge", "logistic", "exponential") else 0)


@pytest.mark.parametrize("root", [-4e7, -1e-9, 2e-12, 0.7, 5e6])
def test_newton_finds_a_root_of_any_size_to_rounding(root):
    """A root of t + t^3 with t = b/|root| - sign, which takes several steps from both sides."""
    size, sign = abs(root), np.sign(root)

    def derivative(b):
        t = b / size - sign
        return t + t**3, (1.0 + 3.0 * t * t) / size

    for start in (0.3 * root, 1.5 * root):
        assert newton_root(derivative, start) == pytest.approx(root, rel=1e-15, abs=0.0)


def test_the_best_intercept_of_the_exponential_loss_has_a_derivative_of_zero():
    rng = np.random.default_rng(7)
    score, label, share = rng.normal(size=30), np.where(rng.random(30) < 0.2, 1.0, -1.0), rng.dirichlet(np.ones(30))
    slopes = share * Exponential().derivative(score + Exponential().best_intercept(score, label, share), label)
    assert abs(np.sum(slopes)) <= 1e-14 * np.sum(np.abs(slopes))


@every_loss
@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.7, 0.9])
def test_no_example_rests_between_the_bounds(loss, fraction):
    """A positive KKT margin shrinks an example, so only one at a bound, or at the kink at zero, may have it."""
    for y in example_labels(loss):
        low, high = (max(min(float(end), 5.0), -5.0) for end in loss.domain(np.float64(y)))
        alpha = -(low + fraction * (high - low))
        for score in np.linspace(-3.0, 3.0, 13):
            assert loss.compiled().kkt_margin(y, alpha, float(score)) <= 0.0
