"""Laws of a regularizer: Fenchel-Young, biconjugate, transfer is the gradient of the conjugate, radius."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import slow_reference as slow
from catalog import L1_RATIOS, REGULARIZER_OBJECTS, Case, regularizer_id
from fenchel import FenchelError, Problem
from fenchel.regularizers import L2, ElasticNet
from slow_reference import minimize_convex

EPS = np.finfo(float).eps
SHAPES = [(1,), (5,), (3, 4)]
every_regularizer = pytest.mark.parametrize("regularizer", REGULARIZER_OBJECTS, ids=regularizer_id)
every_ratio = pytest.mark.parametrize("l1_ratio", L1_RATIOS)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
#: components of v around the thresholds, huge and tiny ones
components = st.one_of(
    st.floats(-5, 5), st.sampled_from((0.0, -0.0, 0.1, -0.1, 0.5, -0.5, 0.99, -0.99, 1e-300, -1e-300, 1e150, -1e150))
)


@every_regularizer
@every_shape
def test_fenchel_young_with_equality_at_the_transfer(regularizer, shape):
    rng = np.random.default_rng(0)
    for _ in range(100):
        w, v = rng.normal(size=shape) * 3, rng.normal(size=shape) * 3
        conjugate = regularizer.conjugate(v)
        assert regularizer.value(w) + conjugate - np.sum(w * v) >= -1e-12 * (1 + conjugate)
        best = regularizer.grad_conjugate(v)
        assert best.shape == shape
        assert best.dtype == np.float64
        assert regularizer.value(best) + conjugate == pytest.approx(np.sum(best * v), rel=1e-12, abs=1e-12)


@every_regularizer
def test_conjugate_and_biconjugate_by_brute_force(regularizer):
    for x in (-3.0, -0.2, 0.0, 0.7, 4.0):
        for function, other in (
            (regularizer.conjugate, regularizer.value),
            (regularizer.value, regularizer.conjugate),
        ):
            best = minimize_convex(lambda z, other=other, x=x: other(np.array([z])) - x * z, -500.0, 500.0)
            brute = x * best - other(np.array([best]))
            assert function(np.array([x])) == pytest.approx(brute, rel=1e-12, abs=1e-12)


@every_regularizer
@every_shape
def test_transfer_is_the_gradient_of_the_conjugate(regularizer, shape):
    rng, h = np.random.default_rng(1), 1e-5
    for _ in range(20):
        v, direction = rng.normal(size=shape), rng.normal(size=shape)
        # the second derivative jumps at the threshold: stay away by more than h
        v += np.where(np.abs(np.abs(v) - (regularizer.l1_ratio or 0.0)) < 1e-3, 0.01, 0.0)
        slope = (regularizer.conjugate(v + h * direction) - regularizer.conjugate(v - h * direction)) / (2 * h)
        assert np.sum(regularizer.grad_conjugate(v) * direction) == pytest.approx(slope, rel=1e-8, abs=1e-7)


@every_regularizer
@every_shape
def test_gradient_is_a_subgradient(regularizer, shape):
    rng = np.random.default_rng(4)
    for _ in range(100):
        w, other = rng.normal(size=shape), rng.normal(size=shape)
        w[rng.random(shape) < 0.3] = 0.0
        below = regularizer.value(w) + np.sum(regularizer.gradient(w) * (other - w))
        assert regularizer.value(other) >= below - 1e-12
        # and the transfer undoes it where the regularizer has a derivative
        np.testing.assert_allclose(regularizer.grad_conjugate(regularizer.gradient(w)), w, rtol=1e-12, atol=1e-13)


@every_regularizer
def test_transfer_leaves_its_argument_alone(regularizer):
    v = np.linspace(-2.0, 3.0, 12)
    before = v.copy()
    regularizer.grad_conjugate(v)
    np.testing.assert_array_equal(v, before)


@every_regularizer
@pytest.mark.parametrize("level", [0.0, 1e-9, 0.5, 10.0, 1e9])
def test_radius_bounds_the_level_set_tightly(regularizer, level):
    """The bound is attained: along an axis, where the absolute values add least."""
    radius, rng, longest = regularizer.radius(level), np.random.default_rng(2), 0.0
    random = [direction / np.linalg.norm(direction) for direction in rng.normal(size=(200, 3))]
    for direction in (*random, *np.eye(3), *-np.eye(3)):
        assert regularizer.value(direction * radius * (1 + 1e-9) + 1e-12 * direction) > level
        inside = direction * radius * (1 - 1e-12)
        longest = max(longest, np.linalg.norm(inside) if regularizer.value(inside) <= level else 0.0)
    assert longest == pytest.approx(radius, rel=1e-9)


@every_regularizer
def test_strong_convexity(regularizer):
    rng = np.random.default_rng(3)
    modulus, tightest = regularizer.strong_convexity, math.inf
    for _ in range(100):
        a, b, t = rng.normal(size=4), rng.normal(size=4), rng.uniform(0.1, 0.9)
        # the absolute values add nothing between points of one sign
        for one, other in ((a, b), (np.abs(a), np.abs(b) + np.abs(a))):
            bend = 0.5 * t * (1 - t) * np.sum((one - other) ** 2)
            chord = t * regularizer.value(one) + (1 - t) * regularizer.value(other)
            sag = chord - regularizer.value(t * one + (1 - t) * other)
            assert sag >= modulus * bend - 1e-12
            tightest = min(tightest, sag / bend)
    assert tightest == pytest.approx(modulus, rel=1e-9)


@every_regularizer
def test_objects_are_values(regularizer):
    assert pickle.loads(pickle.dumps(regularizer)) == regularizer
    assert hash(type(regularizer)(**vars(regularizer))) == hash(regularizer)
    assert [other for other in REGULARIZER_OBJECTS if other == regularizer] == [regularizer]
    assert regularizer.value(np.zeros(3)) == 0.0


@every_regularizer
@given(v=components, radius=st.one_of(st.sampled_from((0.0, 1e-9, 1.0)), st.floats(0, 3)))
@example(v=0.5, radius=0.0)
@example(v=-0.3, radius=0.2)
def test_compiled_regularizer_equals_the_vectorized_functions(regularizer, v, radius):
    compiled, ratio = regularizer.compiled(), (regularizer.l1_ratio or 0.0)
    assert compiled.linear() == isinstance(regularizer, L2)
    weight = compiled.weight(v)
    assert weight == pytest.approx(float(regularizer.grad_conjugate(np.array([v]))[0]), rel=2 * EPS, abs=0)
    hess_bound = compiled.hess_bound(v, radius)
    # a bound on the difference quotients within the radius, attained beyond the threshold
    ends = np.linspace(v - radius, v + radius, 41)
    weights = [compiled.weight(float(end)) for end in ends]
    noise = 4 * EPS * (1 + abs(v)) / (1 - ratio)
    assert np.all(np.abs(np.diff(weights)) <= hess_bound * np.diff(ends) + 4 * noise)
    if abs(v) + radius < ratio:
        assert hess_bound == 0.0
    elif abs(v) < 1e3:
        # no larger than the second derivative just beyond the radius
        wide = np.linspace(v - radius - 0.01, v + radius + 0.01, 401)
        quotients = np.diff([compiled.weight(float(end)) for end in wide]) / np.diff(wide)
        assert hess_bound <= np.max(quotients) * (1 + 1e-8)


@every_regularizer
def test_kernels_hold_python_floats_only(regularizer):
    assert all(type(number) is float for number in regularizer.compiled())


@every_ratio
@every_shape
def test_elastic_net_against_the_textbook(l1_ratio, shape):
    regularizer, rng = ElasticNet(l1_ratio), np.random.default_rng(5)
    for _ in range(50):
        v = rng.normal(size=shape)
        assert regularizer.value(v) == pytest.approx(float(slow.omega(v, l1_ratio)), rel=16 * EPS)
        assert regularizer.conjugate(v) == pytest.approx(float(slow.omega_conjugate(v, l1_ratio)), rel=1e-13, abs=1e-30)


@every_ratio
def test_weights_below_the_threshold_are_exactly_zero(l1_ratio):
    regularizer = ElasticNet(l1_ratio)
    edges = (0.0, 0.5 * l1_ratio, math.nextafter(l1_ratio, 0.0), l1_ratio)
    inside = np.array([sign * edge for edge in edges for sign in (1.0, -1.0)])
    beyond = np.array([sign * math.nextafter(l1_ratio, 2.0) for sign in (1.0, -1.0)])
    assert np.all(regularizer.grad_conjugate(inside) == 0.0)
    assert all(regularizer.compiled().weight(float(v)) == 0.0 for v in inside)
    np.testing.assert_array_equal(np.sign(regularizer.grad_conjugate(beyond)), [1.0, -1.0])
    assert regularizer.conjugate(inside) == 0.0


def test_no_absolute_values_is_the_square_regularizer():
    (square,) = [one for one in REGULARIZER_OBJECTS if one.name == "l2"]
    v, net = np.random.default_rng(6).normal(size=(3, 4)), ElasticNet(0.0)
    assert net.value(v) == pytest.approx(square.value(v), rel=1e-15)
    assert net.conjugate(v) == pytest.approx(square.conjugate(v), rel=1e-15)
    assert net.radius(0.7) == pytest.approx(square.radius(0.7), rel=1e-15)
    np.testing.assert_array_equal(net.grad_conjugate(v), v)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 99.0])
def test_the_paper_s_epsilon(epsilon):
    """Eq. (16) of Zhang (2002): lam (|w|^2/2 + epsilon |w|_1), w = sign(v) [|v| - epsilon]_+ with v = X^T theta/lam."""
    lam, rng = 0.3, np.random.default_rng(7)
    ours, regularizer = lam * (1 + epsilon), ElasticNet(epsilon / (1 + epsilon))
    w, total = rng.normal(size=6), rng.normal(size=6) * lam * (1 + epsilon)
    paper = lam * (0.5 * np.sum(w**2) + epsilon * np.sum(np.abs(w)))
    assert ours * regularizer.value(w) == pytest.approx(paper, rel=1e-13)
    weights = np.sign(total) * np.maximum(0, np.abs(total / lam) - epsilon)
    assert np.count_nonzero(weights) > 0
    np.testing.assert_allclose(regularizer.grad_conjugate(total / ours), weights, rtol=1e-11)
    assert ours * regularizer.conjugate(total / ours) == pytest.approx(lam / 2 * np.sum(weights**2), rel=1e-11)


@pytest.mark.parametrize(
    "l1_ratio", [-0.1, -1e-300, 1.0, 1, 1.5, math.nan, math.inf, True, False, "0.5", None, [0.5], np.array([0.5]), 0.5j]
)
def test_a_bad_l1_ratio_is_named(l1_ratio):
    with pytest.raises(FenchelError, match="l1_ratio"):
        ElasticNet(l1_ratio)


@pytest.mark.parametrize("l1_ratio", [np.float64(0.5), np.float32(0.5), np.float16(0.5)], ids=lambda r: r.dtype.name)
def test_every_kind_of_number_computes_in_double_precision(l1_ratio):
    w, plain = np.array([1 / 3, -0.7]), ElasticNet(0.5)
    regularizer = ElasticNet(l1_ratio)
    assert regularizer == plain
    # as Python floats: a float32 calls itself equal to every float that rounds to it
    assert float(regularizer.value(w)) == plain.value(w)
    assert float(regularizer.conjugate(w)) == plain.conjugate(w)
    assert float(regularizer.radius(1 / 3)) == plain.radius(1 / 3)
    np.testing.assert_array_equal(regularizer.grad_conjugate(w), plain.grad_conjugate(w))


def test_the_name_gives_the_default():
    problem = Case("hinge").problem()
    assert Problem(problem.design, problem.risk, 0.1, "elastic_net").regularizer == ElasticNet(0.5)
