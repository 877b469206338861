"""Losses with powers and with exponentials: laws of one example, named cases, and agreement with a conic solver."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import slow_reference as slow
from agreement import assert_sound
from fenchel import FenchelError, Problem, solve
from fenchel.losses import (
    NAMED,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Poisson,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    as_loss,
)
from fenchel.regularizers import L2, ElasticNet
from fenchel.risks import MeanRisk
from slow_conic import conic_optimum
from strategies import curvatures, fractions

EPS = np.finfo(float).eps
LOSSES = {
    **{f"hinge^{p}": Hinge(power=p) for p in (1.25, 1.5, 2.0, 3.0, 8.0)},
    **{f"tube^{p}": EpsilonInsensitive(slow.TUBE, power=p) for p in (1.25, 1.5, 2.0, 3.0, 8.0)},
    "poisson": Poisson(),
    "exponential": Exponential(),
}
every_loss = pytest.mark.parametrize("key", list(LOSSES))
names = st.sampled_from(list(LOSSES))
#: where neither an eighth power nor an exponential is beyond floats
moderate = st.one_of(st.floats(-30, 30, allow_subnormal=False), st.sampled_from((0.0, 1.0, -1.0, 1e-300, 1e-12, 600.0)))


def labels_of(key):
    if key == "poisson":
        return [0.0, 0.3, 1.0, 40.0]
    return [-1.0, 1.0] if LOSSES[key].task == "classification" else [-1.5, 0.0, 2.0]


def slope_at(key, y, fraction):
    low, high = (float(end) for end in slow.slopes_of(key, np.float64(y)))
    low, high = max(low, -20.0), min(high, 20.0)
    return min(max(low + fraction * (high - low), low), high)


@st.composite
def points(draw):
    key = draw(names)
    y = draw(st.sampled_from(labels_of(key)))
    return key, y, draw(moderate), slope_at(key, y, draw(fractions))


@every_loss
def test_value_derivative_and_domain(key):
    loss, s = LOSSES[key], np.linspace(-8, 8, 161) + 0.0137
    for y in labels_of(key):
        y = np.full_like(s, y)
        np.testing.assert_allclose(loss.value(s, y), slow.FORMULAS[key](s, y), rtol=1e-13, atol=1e-13 * np.max(y**2))
        h = 1e-5
        difference = (loss.value(s + h, y) - loss.value(s - h, y)) / (2 * h)
        np.testing.assert_allclose(loss.derivative(s, y), difference, rtol=1e-6, atol=1e-5)
        np.testing.assert_array_equal(loss.domain(y), np.broadcast_arrays(*slow.slopes_of(key, y)))


@pytest.mark.meetings(1)
@every_loss
@pytest.mark.parametrize("fraction", [0.0, 1e-9, 0.1, 0.37, 0.5, 0.9, 1.0])
def test_conjugate_by_brute_force(key, fraction):
    for y in labels_of(key):
        u = slope_at(key, y, fraction)
        found = float(LOSSES[key].conjugate(np.float64(u), np.float64(y)))
        # z = beta^(1/(p - 1)) is far away for a power near one
        reach = 1e6 if slow.POWERS.get(key, 2.0) < 2.0 else 80.0
        assert found == pytest.approx(slow.conjugate(key, u, y, reach), abs=1e-10, rel=1e-10)
        assert found == pytest.approx(float(slow.CONJUGATES[key](np.float64(u), y)), abs=1e-13, rel=1e-12)


@given(points())
def test_fenchel_young_and_excess(point):
    key, y, s, u = point
    loss = LOSSES[key]
    numbers = [float(number) for number in (loss.value(s, y), loss.conjugate(np.float64(u), y))]
    gap, noise = sum(numbers) - u * s, 64 * EPS * (1 + sum(map(abs, numbers)) + abs(u * s) + abs(u * y) + y * y)
    assert gap >= -noise or math.isinf(noise)
    excess = loss.compiled().fenchel_young_gap(y, -u, s)
    assert excess >= 0.0
    assert excess == pytest.approx(gap, abs=noise, rel=1e-9) or math.isinf(gap)
    # the slope at s makes it tight
    slope = loss.derivative(np.float64(s), np.float64(y))
    if math.isfinite(slope):
        terms = [float(loss.value(s, y)), float(loss.conjugate(slope, y)), float(-slope * s)]
        assert abs(sum(terms)) <= 64 * EPS * (1 + sum(map(abs, terms)) + y * y)


@given(points(), curvatures)
def test_the_dual_step_is_no_worse_than_brute_force(point, q):
    key, y, s, u = point
    loss, alpha = LOSSES[key], -u
    low, high = (-float(end) for end in reversed(slow.slopes_of(key, np.float64(y))))
    scalar = float(loss.compiled().dual_step(y, alpha, s, q))
    assert low <= scalar <= high
    if not math.isfinite(scalar) or abs(scalar) > 1e12:
        return
    reach = 100 + 2 * abs(scalar) + abs(alpha)
    brute = slow.dual_step(key, y, alpha, s, q, max(low, -reach), min(high, reach))
    found, best = (slow.step_objective(key, y, alpha, s, q, a) for a in (scalar, brute))
    size = abs(scalar) + abs(alpha) + abs(y) + 1
    noise = 64 * EPS * (abs(s) + size) * (abs(scalar - alpha) + EPS * size) + 64 * EPS**2 * q * size**2
    assert found <= best + noise + 8 * np.finfo(np.longdouble).eps * abs(best)


@given(points(), curvatures)
def test_at_rest_and_violated(point, q):
    key, y, s, u = point
    kernel = LOSSES[key].compiled()
    slack = kernel.kkt_margin(y, -u, s)
    if slack > 0.0:
        assert kernel.dual_step(y, -u, s, q) == -u
    elif slack < -1e-6 and q <= 1e6:
        assert kernel.dual_step(y, -u, s, q) != -u


@every_loss
@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.71, 0.99])
def test_curve_is_the_second_derivative_of_the_conjugate(key, fraction):
    h = np.longdouble(1e-5)
    for y in labels_of(key):
        u = slope_at(key, y, fraction)
        if min(abs(u), abs(u + y) if key == "poisson" else 1.0) < 1e-3:
            continue
        f, at = slow.CONJUGATES[key], np.longdouble(u)
        numeric = (f(at + h, y) - 2 * f(at, y) + f(at - h, y)) / h**2
        assert LOSSES[key].compiled().hess_conjugate(y, -u) == pytest.approx(float(numeric), rel=1e-4, abs=1e-6)


@every_loss
@pytest.mark.parametrize("level", [1e-300, 1e-9, 0.3, 5.0, 1e3])
def test_sublevel(key, level):
    loss = LOSSES[key]
    for y in labels_of(key):
        for end, outward in zip(loss.sublevel(np.float64(level), np.float64(y)), (-1.0, 1.0), strict=True):
            if np.isfinite(end):
                assert loss.value(end, y) == pytest.approx(level, rel=1e-8, abs=1e-14 * (1 + abs(y)))
                assert loss.value(end + 0.1 * outward, y) > level
            else:
                assert loss.value(outward * 1e6, y) <= level


@given(names, st.integers(0, 2**32 - 1), st.booleans())
def test_best_intercept(key, seed, ties):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    s = rng.integers(-2, 3, n) * 1.0 if ties else 3 * rng.standard_normal(n)
    y, c = rng.choice(labels_of(key), n), rng.choice([0.0, 1.0, 2.0], n)
    c[0] = 1.0
    loss = LOSSES[key]
    b = loss.best_intercept(s, y, c / c.sum())
    assert math.isfinite(b)
    found = float(c @ slow.FORMULAS[key](s + b, y))
    best = slow.minimize_convex(lambda at: float(c @ slow.FORMULAS[key](s + at, y)), -60.0, 60.0)
    brute = float(c @ slow.FORMULAS[key](s + best, y))
    assert found <= brute + 1e-13 * (1 + brute)


def test_best_intercept_where_rounding_moves_a_heavy_example_off_its_kink():
    """The derivative at the kink has then the sign of the other side, and no sign changes between the kinks."""
    score, label = (
        np.array([-0.535669373161111, 0.36159505490948474]),
        np.array([1.3040000451301372, 0.9470809631292422]),
    )
    share = np.array([1e-9, 1.0])
    loss = EpsilonInsensitive(epsilon=0.25, power=1.2)
    b = loss.best_intercept(score, label, share)
    values = [float(share @ loss.value(score + b + move, label)) for move in (-1e-6, 0.0, 1e-6)]
    assert min(values) == values[1]


@pytest.mark.filterwarnings("error")
@every_loss
@pytest.mark.parametrize("score", [1e3, -1e3, 1e300, -1e300])
def test_extreme_scores_give_no_warning_and_no_nan(key, score):
    loss, kernel = LOSSES[key], LOSSES[key].compiled()
    for y in labels_of(key):
        s, label = np.array([score]), np.array([y])
        slope = loss.derivative(s, label)
        found = [loss.value(s, label), slope, loss.conjugate(slope, label), kernel.kkt_margin(y, 0.0, score)]
        for q in (0.0, 1.0, 1e12):
            found += [kernel.dual_step(y, 0.0, score, q), loss.dual_step(label, 0 * label, s, np.array([q]))]
        assert not any(np.any(np.isnan(result)) for result in found)


@pytest.mark.parametrize("p", [1 + 1e-9, 1.0001, 1.01, 1.999, 2.001, 50.0, 1000.0])
def test_steps_with_strange_powers(p):
    """beta^(q-1) + c beta = t, checked in logarithms and extended precision."""
    kernel, rng = Hinge(power=p).compiled(), np.random.default_rng(5)
    for _ in range(200):
        alpha, score, q = float(rng.exponential()), float(3 * rng.standard_normal()), float(10 ** rng.uniform(-9, 9))
        beta = np.longdouble(kernel.dual_step(1.0, alpha, score, q))
        t = np.longdouble(1.0) - score + np.longdouble(q) * alpha
        if t <= 0:
            assert beta == 0.0
        elif beta > 0 and np.isfinite(beta):
            ahead, behind = (
                np.exp(np.log(b) / np.longdouble(p - 1)) + q * b - t
                for b in (beta * (1 + 1e-12 * p), beta * (1 - 1e-12 * p))
            )
            assert behind <= 64 * EPS * (q * alpha + abs(score))
            assert ahead >= -64 * EPS * (q * alpha + abs(score))


def test_the_powers_one_and_two_are_the_named_losses():
    rng = np.random.default_rng(0)
    s, y = 3 * rng.standard_normal(100), rng.choice([-1.0, 1.0], 100)
    for power, named, factor in ((1, "hinge", 1.0), (2, SquaredHinge(), 0.5)):
        np.testing.assert_allclose(Hinge(power).value(s, y), factor * as_loss(named).value(s, y), rtol=1e-15)
    for power, named, factor in ((1, EpsilonInsensitive(0.3), 1.0), (2, SquaredEpsilonInsensitive(0.3), 0.5)):
        found = EpsilonInsensitive(0.3, power=power)
        np.testing.assert_allclose(found.value(s, y), factor * named.value(s, y), rtol=1e-15)
    assert Hinge(1).compiled() == Hinge().compiled()
    assert Hinge() != Hinge(power=1.5)
    # near the limits too
    np.testing.assert_allclose(Hinge(1 + 1e-9).value(s, y), Hinge().value(s, y), rtol=1e-7)
    np.testing.assert_allclose(Hinge(2 + 1e-9).value(s, y), Hinge(2).value(s, y), rtol=1e-7)


@pytest.mark.parametrize("power", [0.5, 0, -1, math.nan, math.inf, True, "2"])
def test_bad_powers_are_named(power):
    for make in (lambda: Hinge(power=power), lambda: EpsilonInsensitive(power=power)):
        with pytest.raises(FenchelError, match="power must"):
            make()


def test_labels_of_counts():
    with pytest.raises(FenchelError, match="labels >= 0"):
        MeanRisk("poisson", [1.0, -1.0])
    assert set(slow.EXPONENTIAL) <= set(NAMED)


def small_problem(key, intercept, l1_ratio, sparse=False, lam=0.1):
    rng = np.random.default_rng([3, sparse])
    X, loss = rng.standard_normal((40, 6)), LOSSES[key]
    X[rng.random(X.shape) < (0.5 if sparse else 0.0)] = 0.0
    signal = X @ rng.standard_normal(6) + 0.4
    if key == "poisson":
        y = rng.poisson(np.exp(0.5 * signal)).astype(float)
    elif loss.task == "classification":
        y = np.where(signal + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
    else:
        y = signal + 0.3 * rng.standard_normal(40)
    regularizer = ElasticNet(l1_ratio) if l1_ratio else L2()
    problem = Problem(sp.csr_array(X) if sparse else X, MeanRisk(loss, y), lam, regularizer, intercept=intercept)
    return problem, X, y


SOLVES = [
    *itertools.product(LOSSES, (False, True), (0.0, 0.5), ("dual_coordinate",), (False,)),
    *itertools.product(("hinge^1.5", "tube^3.0", *slow.EXPONENTIAL), (False, True), (0.0, 0.5), ("newton",), (False,)),
    ("hinge^3.0", True, 0.0, "dual_coordinate", True),
    ("tube^1.5", False, 0.0, "bundle", False),
]


@pytest.mark.parametrize(("key", "intercept", "l1_ratio", "solver", "sparse"), SOLVES)
@pytest.mark.meetings(1)
def test_solved_to_the_conic_optimum(key, intercept, l1_ratio, solver, sparse):
    problem, X, y = small_problem(key, intercept, l1_ratio, sparse)
    solution = solve(problem, solver, tol=1e-8, max_iter=3000)
    assert solution.converged, str(solution)
    optimum = conic_optimum(key, X, y, slow.shares(40), 0.1, intercept, l1_ratio)[2]
    assert solution.certificate.primal == pytest.approx(optimum, rel=1e-7)
    assert_sound(solution, (X, y, None), key, 0.1, l1_ratio, optimum)


@pytest.mark.parametrize("key", slow.EXPONENTIAL)
@pytest.mark.parametrize("solver", ["dual_coordinate", "newton"])
def test_scores_that_overflow_on_the_way_end_in_a_finite_certificate(key, solver):
    """Rows a thousand times as long, of which one is wrong for classes; a first pass may leave e^1000 behind."""
    rng = np.random.default_rng(1)
    X = 1e3 * rng.standard_normal((20, 3))
    y = rng.poisson(2.0, 20) * 1.0 if key == "poisson" else np.where(X[:, 0] > 0, 1.0, -1.0)
    if key == "exponential":
        y[0] *= -1.0
    for most in (1, 2, 50, 2000):
        solution = solve(Problem(X, MeanRisk(LOSSES[key], y), 1e-3, intercept=True), solver, tol=1e-6, max_iter=most)
        certificate = solution.certificate
        assert math.isfinite(certificate.primal)
        assert certificate.primal <= MeanRisk(LOSSES[key], y).value_at_zero
        assert certificate.gap >= -certificate.rounding_floor
    assert solution.converged or solver == "dual_coordinate"
