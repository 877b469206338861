"""Laws of the regularizers that tie weights together or have a domain: entropies, q-norms, squares with an operator."""

import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from fenchel import FenchelError, Problem
from fenchel.certificate import judge
from fenchel.problem import Model, Witness
from fenchel.regularizers import REGULARIZERS, Entropy, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import MeanRisk

MU = np.array([0.3, 0.05, 1.0, 0.65])
ROTATION = np.linalg.qr(np.random.default_rng(8).normal(size=(4, 4)))[0]
DENSE = ROTATION @ np.diag([0.5, 1.0, 2.0, 7.0]) @ ROTATION.T


class Factored:
    """An operator that can only be solved with."""

    def solve(self, v):
        return np.linalg.solve(DENSE, v)


OBJECTS = [
    UnnormalizedEntropy(),
    UnnormalizedEntropy(MU),
    UnnormalizedEntropy(0.5, balanced=True),
    UnnormalizedEntropy(MU, balanced=True),
    Entropy(),
    Entropy(prior=MU),
    Entropy(2.5, balanced=True),
    Entropy(prior=MU, balanced=True),
    Entropy(prior=0.7, balanced=True),
    QNorm(),
    QNorm(1.1),
    QNorm(3.0),
    QNorm(1.5, power=1.3),
    QNorm(2.5, power=4.0),
    QNorm(2.0),
    QuadraticForm(MU),
    QuadraticForm(DENSE),
    QuadraticForm(Factored()),
]
every = pytest.mark.parametrize("regularizer", OBJECTS, ids=lambda one: f"{one.name}-{OBJECTS.index(one)}")
every_shape = pytest.mark.parametrize("shape", [(4,), (3, 4)], ids=str)


def inside(regularizer, rng, shape):
    """Weights where Omega is finite."""
    w = rng.normal(size=shape) * 2
    if isinstance(regularizer, Entropy):
        mass = regularizer.total(4)
        share = softmax(rng.normal(size=shape) * 2, axis=-1) * mass
        return share * np.sign(w) * rng.random((*shape[:-1], 1)) if regularizer.balanced else share
    return w if regularizer.finite else np.abs(w)


@pytest.mark.meetings(1)
@every
@every_shape
def test_fenchel_young_with_equality_at_the_transfer(regularizer, shape):
    rng = np.random.default_rng(0)
    for _ in range(50):
        w, v = inside(regularizer, rng, shape), rng.normal(size=shape) * 3
        conjugate = regularizer.conjugate(v)
        scale = 1 + abs(conjugate) + abs(np.sum(w * v))
        assert regularizer.value(w) + conjugate - np.sum(w * v) >= -1e-12 * scale
        best = regularizer.grad_conjugate(v)
        assert best.shape == shape
        assert best.dtype == np.float64
        assert regularizer.value(best) + conjugate == pytest.approx(np.sum(best * v), rel=1e-10, abs=1e-10)
        # several outputs add up
        if len(shape) == 2:
            assert regularizer.value(w) == pytest.approx(sum(regularizer.value(row) for row in w), rel=1e-12)
            assert conjugate == pytest.approx(sum(regularizer.conjugate(row) for row in v), rel=1e-12)


def textbook(regularizer, parts):
    """Omega of the weights (or of both parts of balanced ones) from the formulas of the paper."""
    if isinstance(regularizer, QNorm):
        return np.sum(np.abs(parts) ** regularizer.q) ** (regularizer.power / regularizer.q) / regularizer.power
    if isinstance(regularizer, QuadraticForm):
        matrix = np.diag(MU) if regularizer.diagonal else DENSE
        return 0.5 * parts @ matrix @ parts
    prior = np.tile(regularizer.priors(4), len(parts) // 4)
    return np.sum(parts * np.log(parts / prior) - parts + prior)


@every
def test_conjugate_against_a_search_in_the_primal(regularizer):
    """sup w.v - Omega(w), with w = w+ - w- for balanced ones, by a general optimizer."""
    rng = np.random.default_rng(1)
    balanced = getattr(regularizer, "balanced", False)
    for _ in range(4):
        v = rng.normal(size=4)
        signs = np.concatenate([v, -v]) if balanced else v
        if isinstance(regularizer, (QNorm, QuadraticForm)):
            options = {"gtol": 1e-11}
            found = minimize(lambda w, v=v: textbook(regularizer, w) - w @ v, np.full(4, 0.1), options=options)
        elif isinstance(regularizer, UnnormalizedEntropy):
            found = minimize(
                lambda z, s=signs: textbook(regularizer, np.exp(z)) - np.exp(z) @ s, np.zeros(len(signs)), tol=1e-12
            )
        else:
            mass = regularizer.total(4)
            found = minimize(
                lambda z, s=signs, A=mass: textbook(regularizer, A * softmax(z)) - A * softmax(z) @ s,
                np.zeros(len(signs)),
                tol=1e-12,
            )
        assert regularizer.conjugate(v) == pytest.approx(-found.fun, rel=1e-7, abs=1e-9)


@every
@every_shape
def test_transfer_is_the_gradient_of_the_conjugate(regularizer, shape):
    rng, h = np.random.default_rng(2), 1e-5
    for size in (1.0, 5.0):
        v, direction = rng.normal(size=shape) * size, rng.normal(size=shape)
        slope = (regularizer.conjugate(v + h * direction) - regularizer.conjugate(v - h * direction)) / (2 * h)
        assert np.sum(regularizer.grad_conjugate(v) * direction) == pytest.approx(slope, rel=1e-6, abs=1e-7)
        for scale in (0.0, 0.3, 2.0):
            assert regularizer.conjugate(v, scale) == pytest.approx(regularizer.conjugate(scale * v), rel=1e-12)
            by_hand = np.sum(regularizer.grad_conjugate(scale * v) * v)
            assert regularizer.conjugate_derivative(v, scale) == pytest.approx(by_hand, rel=1e-11, abs=1e-13)
            short = regularizer.compress(v)
            assert regularizer.conjugate(short, scale) == pytest.approx(regularizer.conjugate(v, scale), rel=1e-12)
            assert regularizer.conjugate_derivative(short, scale) == pytest.approx(by_hand, rel=1e-11, abs=1e-13)


@pytest.mark.meetings(1)
@every
@every_shape
def test_gradient_is_a_subgradient_that_the_transfer_undoes(regularizer, shape):
    rng = np.random.default_rng(3)
    for _ in range(50):
        w, other = inside(regularizer, rng, shape), inside(regularizer, rng, shape)
        below = regularizer.value(w) + np.sum(regularizer.gradient(w) * (other - w))
        assert regularizer.value(other) >= below - 1e-10 * (1 + abs(below))
        np.testing.assert_allclose(regularizer.grad_conjugate(regularizer.gradient(w)), w, rtol=1e-8, atol=1e-9)


@every
def test_the_centre_is_the_smallest_and_zero(regularizer):
    assert regularizer.conjugate(np.zeros(4)) == 0.0
    for shape in ((4,), (2, 4)):
        centre = regularizer.centre(shape)
        np.testing.assert_allclose(regularizer.grad_conjugate(np.zeros(shape)), centre, rtol=1e-14)
        assert regularizer.value(centre) == pytest.approx(0.0, abs=1e-14)


@every
@pytest.mark.parametrize("size", [1e-6, 1e-3])
def test_values_near_the_centre_have_their_digits(regularizer, size):
    """They are multiplied by lam, which may be huge: a rounding of the prior would be seen."""
    rng = np.random.default_rng(9)
    for _ in range(20):
        v = rng.normal(size=4) * size
        w = regularizer.grad_conjugate(v)
        # Omega(w) = w.v - Omega*(v) cancels; half of (w - centre).v is right to first order in the size
        half = 0.5 * np.sum((w - regularizer.centre((4,))) * v)
        if isinstance(regularizer, (Entropy, UnnormalizedEntropy)):
            assert regularizer.value(w) == pytest.approx(half, rel=2 * size)


@pytest.mark.meetings(1)
@every
@pytest.mark.parametrize("level", [0.0, 0.01, 0.5, 10.0, 1e4])
def test_radius_bounds_the_level_set(regularizer, level):
    radius, rng = regularizer.radius_of_features(level, 4), np.random.default_rng(4)
    assert math.isfinite(radius)
    for size in (1e-3, 1.0, 30.0, 1e3):
        for _ in range(50):
            w = inside(regularizer, rng, (4,))
            w = w if isinstance(regularizer, Entropy) else w * size * (rng.random(4) < 0.6)
            assert regularizer.value(w) > level or np.linalg.norm(w) <= radius * (1 + 1e-12)
    if regularizer.finite and not (isinstance(regularizer, QNorm) and regularizer.q > 2) and level > 0:
        # along the longest axis it is reached
        axes = ROTATION.T if isinstance(regularizer, QuadraticForm) and not regularizer.diagonal else np.eye(4)
        assert min(regularizer.value(axis * radius * (1 - 1e-6)) for axis in axes) <= level


@pytest.mark.meetings(1)
@every
def test_strong_convexity(regularizer):
    rng, modulus = np.random.default_rng(5), regularizer.strong_convexity
    for _ in range(200):
        a, b, t = inside(regularizer, rng, (4,)), inside(regularizer, rng, (4,)), rng.uniform(0.1, 0.9)
        sag = t * regularizer.value(a) + (1 - t) * regularizer.value(b) - regularizer.value(t * a + (1 - t) * b)
        assert sag >= modulus * 0.5 * t * (1 - t) * np.sum((a - b) ** 2) - 1e-10 * (1 + abs(sag))


@every
def test_objects_are_values(regularizer):
    assert [other for other in OBJECTS if other == regularizer] == [regularizer]
    assert regularizer != "something else"
    if isinstance(regularizer, QuadraticForm) and not isinstance(regularizer.operator, np.ndarray):
        return
    again = pickle.loads(pickle.dumps(regularizer))
    assert again == regularizer
    assert hash(again) == hash(regularizer)


@every
@pytest.mark.parametrize("size", [0.0, 1e-6, 1.0, 40.0, 700.0])
def test_the_kernel_makes_the_weights(regularizer, size):
    kernel = regularizer.compiled_mirror_map(4)
    if kernel is None:
        assert isinstance(regularizer, QuadraticForm)
        return
    assert all(type(number) is float for number in kernel)
    v = np.random.default_rng(6).uniform(-1, 1, 4) * size
    if isinstance(regularizer, UnnormalizedEntropy):
        v = np.minimum(v, 600.0)
    frame, floor = kernel.rescale(float(v.max()), float(v.min()))
    pairs = zip(v.tolist(), regularizer.priors(4).tolist(), strict=True)
    nodes = np.array([kernel.grad_and_value(x, mu, frame, floor) for x, mu in pairs])
    assert np.all(np.isfinite(nodes))
    weights = kernel.outer_grad(math.fsum(nodes[:, 1]), frame) * nodes[:, 0]
    expected = regularizer.grad_conjugate(v)
    np.testing.assert_allclose(weights, expected, rtol=1e-10, atol=1e-12 * max(1e-300, np.abs(expected).max()))


@every
def test_the_kernel_moves_its_nodes(regularizer):
    kernel, rng = regularizer.compiled_mirror_map(4), np.random.default_rng(7)
    if kernel is None:
        return
    frame, floor = kernel.rescale(2.0, -3.0)
    used = 0
    for _ in range(300):
        v, mu = float(rng.uniform(-3, 2)), float(rng.uniform(0.1, 2))
        shift = float(rng.normal() * 10.0 ** rng.uniform(-9, 1))
        v, shift = rng.choice([0.0, 1.0], p=[0.1, 0.9]) * v, rng.choice([0.0, 1.0], p=[0.1, 0.9]) * shift
        if kernel.can_update(v, shift):
            found = kernel.update(*kernel.grad_and_value(v, mu, frame, floor), v, shift, frame)
            grad, value = kernel.grad_and_value(v + shift, mu, frame, floor)
            np.testing.assert_allclose(found, (grad, value), rtol=2e-14 * max(1.0, abs(v)), atol=1e-15 * abs(value))
            used += 1
    cheap = isinstance(regularizer, QuadraticForm) or (
        isinstance(regularizer, QNorm) and regularizer.q in (1.5, 2.0, 3.0)
    )
    assert (used == 0) == cheap


@pytest.mark.parametrize("balanced", [False, True])
def test_a_long_dual_vector_does_not_overflow(balanced):
    v, entropy = np.array([1e6, -2e6, 3e6, 0.0]), Entropy(2.0, balanced=balanced)
    assert entropy.conjugate(v) == pytest.approx(2.0 * (3e6 + math.log(1 / (8 if balanced else 4))), rel=1e-15)
    np.testing.assert_array_equal(entropy.grad_conjugate(v), [0.0, 0.0, 2.0, 0.0])
    assert entropy.value(entropy.grad_conjugate(v)) == pytest.approx(2.0 * math.log(8 if balanced else 4), rel=1e-12)


def test_weights_outside_the_domain_are_refused():
    assert Entropy().value(np.array([0.5, 0.6])) == math.inf
    assert Entropy().value(np.array([1.5, -0.5])) == math.inf
    assert Entropy(balanced=True).value(np.array([0.6, -0.5])) == math.inf
    assert UnnormalizedEntropy().value(np.array([0.5, -0.1])) == math.inf
    problem = Problem(np.eye(2), MeanRisk("hinge", [1, -1]), 1.0, "entropy")
    with pytest.raises(FenchelError, match="infinite at these weights"):
        judge(problem, Model(np.array([0.5, 0.6])), Witness(np.zeros(2)))


@pytest.mark.parametrize("name", ["entropy", "unnormalized_entropy", "q_norm"])
def test_names(name):
    assert REGULARIZERS[name]() == Problem(np.eye(2), MeanRisk("hinge", [1, -1]), 1.0, name).regularizer


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Entropy(0.0), "mass"),
        (lambda: Entropy(True), "mass"),
        (lambda: Entropy(1.0, prior=MU), "agree"),
        (lambda: Entropy(1.0, prior=0.1), "only one of prior and mass"),
        (lambda: UnnormalizedEntropy(-1.0), "prior"),
        (lambda: UnnormalizedEntropy([1.0, 0.0]), "prior"),
        (lambda: UnnormalizedEntropy([[1.0]]), "prior"),
        (lambda: UnnormalizedEntropy("much"), "prior"),
        (lambda: UnnormalizedEntropy(MU).value(np.ones(3)), "agree"),
        (lambda: QNorm(1.0), "q must"),
        (lambda: QNorm(math.inf), "q must"),
        (lambda: QNorm(2.0, power=1.0), "power must"),
        (lambda: QuadraticForm([1.0, -1.0]), "positive"),
        (lambda: QuadraticForm([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: QuadraticForm([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (lambda: QuadraticForm("K"), "operator"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(FenchelError, match=message):
        make()
