"""Every regularizer keeps its own bounds on rounding errors.

The exact value, at the weights that the stored ones stand for, is at most the computed one and ``value_error``; the
exact conjugate at any v' near v is at most the computed one and ``conjugate_error``.
"""

import math
from decimal import Decimal

import numpy as np
import pytest

import exact_regularizers as exact
from exact_losses import DIGITS, digits
from fenchel.kernels import GramDesign, GramNorm
from fenchel.numerics.rounding import UNIT
from fenchel.regularizers import L1, L2, ElasticNet, Entropy, FreeDirections, QNorm, QuadraticForm, UnnormalizedEntropy

FEATURES = 5
#: badly conditioned, and not symmetric in its last bits
HILBERT = 1.0 / (np.arange(FEATURES)[:, None] + np.arange(FEATURES) + 1.0)
PRIOR = np.array([1e-6, 0.3, 1.0, 2.0, 1e3])
REGULARIZERS = [
    L2(),
    L1(),
    *(ElasticNet(l1_ratio=rho) for rho in (0.1, 0.5, 0.999)),
    *(QNorm(q=q, power=power) for q in (1.1, 1.5, 2.0, 3.0, 7.0) for power in (1.7, 2.0, 3.0)),
    QuadraticForm(PRIOR),
    QuadraticForm(HILBERT + 1e-3 * np.eye(FEATURES)),
    *(Entropy(balanced=balanced) for balanced in (False, True)),
    *(Entropy(prior=PRIOR, balanced=balanced) for balanced in (False, True)),
    Entropy(mass=0.3, balanced=True),
    *(UnnormalizedEntropy(balanced=balanced) for balanced in (False, True)),
    *(UnnormalizedEntropy(prior=PRIOR, balanced=balanced) for balanced in (False, True)),
]
every_regularizer = pytest.mark.parametrize("regularizer", REGULARIZERS, ids=repr)
every_size = pytest.mark.parametrize("size", [1e-140, 1e-9, 1e-3, 1.0, 30.0, 1e8, 1e140])
every_output = pytest.mark.parametrize("outputs", [None, 3])


def random_array(rng, size, outputs):
    """Entries of this size, some of them much smaller, some zero."""
    found = size * rng.normal(size=FEATURES if outputs is None else (outputs, FEATURES))
    found *= rng.choice([1.0, 1.0, 1e-3, 1e-12, 0.0], size=found.shape)
    return found


def weights_of(regularizer, rng, size, outputs):
    """Weights in the domain of Omega; with a mass, at and near its ends too."""
    found = random_array(rng, size, outputs)
    if regularizer.name == "unnormalized_entropy" and not regularizer.balanced:
        return np.abs(found)
    if regularizer.fixes_mass:
        with np.errstate(over="ignore"):
            return regularizer.grad_conjugate(found)
    return found


def rounded_up(error):
    return Decimal(error) + Decimal(2.0**-1060)


@pytest.mark.meetings(1)
@every_regularizer
@every_size
@every_output
def test_values(regularizer, size, outputs):
    rng = np.random.default_rng([1, FEATURES if outputs else 0])
    for _ in range(6):
        weights = weights_of(regularizer, rng, size, outputs)
        with np.errstate(over="ignore", invalid="ignore"):
            computed = regularizer.value(weights)
            error = regularizer.value_error(weights, computed)
        if not math.isfinite(computed + error):
            assert math.inf in (computed, error)
            continue
        true = exact.value(regularizer, exact.normalized(regularizer, exact.decimals(weights)))
        assert true - Decimal(computed) <= rounded_up(error), (computed, error, f"{true:.20}")
        assert error <= 1e-12 * (abs(computed) + 1e3 * float(np.sum(np.abs(weights))) + 1e5)


@pytest.mark.meetings(1)
@every_regularizer
@every_size
@every_output
@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-8, 1e-2])
def test_conjugates(regularizer, size, outputs, noise):
    rng = np.random.default_rng([2, FEATURES if outputs else 0])
    for _ in range(4):
        v = random_array(rng, size, outputs)
        if regularizer.name == "l1":
            most = regularizer.largest_scale(v, noise * size)
            v = min(most, 1.0) * v
        norm = noise * size * (1.0 if regularizer.name != "l1" else min(most, 1.0))
        largest = rng.choice([norm, 0.5 * norm])
        with np.errstate(over="ignore", invalid="ignore"):
            computed = regularizer.conjugate(v)
            error = regularizer.conjugate_error(v, computed, largest, norm)
            direction = np.sign(v) + (v == 0.0)
        if not math.isfinite(computed + error):
            assert math.inf in (computed, error)
            continue
        shapes = [direction, np.abs(direction), direction * (np.abs(v) == np.max(np.abs(v))), rng.normal(size=v.shape)]
        for shape in shapes:
            scale = min(largest / np.max(np.abs(shape)), norm / np.linalg.norm(shape))
            with digits(DIGITS):
                relative = 1 + Decimal(8.0 * UNIT * (-1.0 if regularizer.name == "l1" else rng.choice([-1.0, 1.0])))
                moved = [
                    [x * relative + Decimal(scale) * (1 - Decimal("1e-10")) * d for x, d in zip(*pair, strict=True)]
                    for pair in zip(exact.decimals(v), exact.decimals(shape), strict=True)
                ]
                true = exact.conjugate(regularizer, moved)
                assert true - Decimal(computed) <= rounded_up(error), (computed, error, f"{true:.20}")


@pytest.mark.parametrize("error", [0.0, 1e-17, 1e-9, 0.5])
def test_the_largest_scale_of_the_lasso_is_feasible_exactly(error):
    rng = np.random.default_rng(3)
    for _ in range(200):
        v = rng.normal(size=4) * 10.0 ** rng.uniform(-8, 8)
        error = error * np.max(np.abs(v))
        scale = L1().largest_scale(v, error)
        with digits(DIGITS):
            # eight roundings of a component, and one more of the product with the scale
            largest = (Decimal(float(np.max(np.abs(v)))) * (1 + 8 * Decimal(UNIT)) + Decimal(float(error))) * (
                1 + 4 * Decimal(UNIT)
            )
            assert Decimal(scale) * largest <= 1


@pytest.mark.meetings(1)
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("missed", [-1e-13, -3e-16, 0.0, 3e-16, 1e-13])
def test_weights_that_miss_their_mass_stand_for_their_multiple(balanced, missed):
    rng = np.random.default_rng(4)
    for _ in range(20):
        regularizer = Entropy(prior=rng.uniform(0.1, 1.0, size=6), balanced=balanced)
        weights = rng.dirichlet(np.ones(6)) * regularizer.total(6) * (1.0 + missed)
        rows, stored = exact.normalized(regularizer, exact.decimals(weights)), exact.decimals(weights)
        error = Decimal(regularizer.weights_error(weights)) + Decimal("1e-25")
        assert all(abs(a - b) <= error * abs(b) for a, b in zip(rows[0], stored[0], strict=True))
        computed = regularizer.value(weights)
        if not math.isfinite(computed):
            continue
        with digits(DIGITS):
            true = exact.value(regularizer, rows)
            assert true - Decimal(computed) <= Decimal(regularizer.value_error(weights, computed))


@every_output
def test_the_norm_of_a_gram_matrix(outputs):
    rng = np.random.default_rng(5)
    for size in (1.0, 1e6):
        points = size + rng.normal(size=(6, 2))
        gram = points @ points.T
        gram = 0.5 * (gram + gram.T)
        regularizer = GramNorm(GramDesign(gram))
        weights = rng.normal(size=6 if outputs is None else (outputs, 6))
        weights -= np.mean(weights, axis=-1, keepdims=True)
        computed = regularizer.value(weights)
        with digits(DIGITS):
            rows = exact.decimals(weights)
            entries = exact.decimals(gram)
            true = sum(row[i] * entries[i][j] * row[j] for row in rows for i in range(6) for j in range(6)) / 2
            assert abs(true - Decimal(computed)) <= Decimal(regularizer.value_error(weights, computed))


@every_output
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e8])
def test_free_directions(outputs, size):
    """The part orthogonal to C, with C C^T inverted exactly."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        directions = rng.integers(-3, 4, size=(2, 5)) / 2.0
        if np.linalg.matrix_rank(directions) < 2:
            continue
        regularizer = FreeDirections(directions)
        v = size * rng.normal(size=5 if outputs is None else (outputs, 5)) + 1e6 * size * directions[0]
        norm = 1e-12 * size
        value, conjugate = regularizer.value(v), regularizer.relaxed_conjugate(v)
        rest, rows = regularizer.rest(v), exact.decimals(v)
        shift = exact.decimals(rest * (0.999999 * norm / np.linalg.norm(rest)))
        with digits(DIGITS):
            true = sum(_orthogonal(directions, row) for row in rows)
            assert true - Decimal(value) <= Decimal(regularizer.value_error(v, value))
            moved = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, shift, strict=True)]
            bound = regularizer.conjugate_error(v, conjugate, norm, norm)
            assert sum(_orthogonal(directions, row) for row in moved) - Decimal(conjugate) <= Decimal(bound)


def _orthogonal(directions, v):
    """Half the squared norm of v less its projection on two rows."""
    c = exact.decimals(directions)

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y, strict=True))

    first = c[0]
    second = [b - dot(c[1], first) / dot(first, first) * a for a, b in zip(first, c[1], strict=True)]
    for row in (first, second):
        factor = dot(v, row) / dot(row, row)
        v = [x - factor * a for x, a in zip(v, row, strict=True)]
    return dot(v, v) / 2


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("angle", [1.0, 1e-2, 1e-4])
def test_prices_of_directions_that_are_nearly_parallel(angle, outputs):
    """The shortest v with C v = b is known up to the condition of C only; the value and the conjugate depend on it."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        size = 1.0 if angle == 1.0 else 10.0 ** rng.integers(-3, 4)
        directions = size * rng.normal(size=(2, FEATURES))
        directions[1] = directions[0] + angle * directions[1]
        prices = rng.normal(size=2)
        regularizer = FreeDirections(directions, prices)
        vectors = random_array(rng, 3.0, outputs)
        value, conjugate = regularizer.value(vectors), regularizer.relaxed_conjugate(vectors)
        with digits(DIGITS):
            c, (b,) = exact.decimals(directions), exact.decimals(prices[None])
            rows = exact.decimals(np.atleast_2d(vectors))
            least = _along(c, b, [Decimal(0)] * FEATURES)
            penalty = sum(_orthogonal(directions, row) for row in rows)
            price = sum(_along(c, b, row) - least for row in rows)
            paid = len(rows) * least
            # Omega = |Pi w|^2/2 + v_0 . w - |v_0|^2/2, and |Pi v|^2/2 + |v_0|^2/2; ``least`` is the last number
            assert penalty + price - paid <= Decimal(value) + rounded_up(regularizer.value_error(vectors, value))
            below = penalty + paid - Decimal(conjugate)
            assert below <= rounded_up(regularizer.conjugate_error(vectors, conjugate, 0.0, 0.0))


def _along(c, b, w):
    """v_0 . w + |v_0|^2/2 for the shortest v_0 with two given products with rows of C, by Cramer's rule."""

    def dot(x, y):
        return sum(p * q for p, q in zip(x, y, strict=True))

    aa, ab, bb = dot(c[0], c[0]), dot(c[0], c[1]), dot(c[1], c[1])
    determinant = aa * bb - ab * ab
    first, second = (b[0] * bb - b[1] * ab) / determinant, (b[1] * aa - b[0] * ab) / determinant
    origin = [first * p + second * q for p, q in zip(*c, strict=True)]
    return dot(origin, w) + dot(origin, origin) / 2
