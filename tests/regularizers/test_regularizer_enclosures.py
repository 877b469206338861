"""Every regularizer and its conjugate lie in their balls: upper ends are bounds, with 25 digits in ordinary cases."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import exact_regularizers as exact
from exact_losses import DIGITS, digits
from fenchel import FenchelError
from fenchel.numerics.balls import as_ball
from fenchel.regularizers import L1, L2, ElasticNet, Entropy, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.regularizers.enclosures import EnclosedQuadraticForm, smallest_eigenvalue

FEATURES = 4
_rng = np.random.default_rng(5)
_root = _rng.normal(size=(FEATURES, FEATURES))
REGULARIZERS = [
    L2(),
    L1(),
    ElasticNet(0.3),
    QNorm(1.5),
    QNorm(3.0, 1.5),
    QuadraticForm(np.array([0.1, 1.0, 3.0, 1e3])),
    QuadraticForm(_root @ _root.T + 0.01 * np.eye(FEATURES)),
    Entropy(mass=2.0),
    Entropy(mass=2.0, balanced=True),
    Entropy(prior=np.array([0.1, 0.2, 0.3, 5.0]), balanced=True),
    UnnormalizedEntropy(0.1),
    UnnormalizedEntropy(0.1, balanced=True),
]
every_regularizer = pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda given: repr(given)[:40])
SCALES = [1.0, 1e-3, 1e-8, 1e-30, 1e3, 1e100]
#: relative radius in ordinary cases, and relative error of the exact values
NARROW, EXACT = Decimal(10) ** -25, Decimal(10) ** -40


def check(found, true, narrow):
    """Assert that a number lies in a ball; a bound that is attained for the exact optimum only lies below it."""
    radius = float(found.radius)
    with digits(DIGITS):
        upper = Decimal(float(found.high)) + Decimal(float(found.low)) + Decimal(radius if radius < np.inf else 0)
        assert radius == np.inf or true <= upper + EXACT * (1 + abs(true)), f"{true:.40} > {upper:.40}"
        if narrow:
            assert upper - true <= NARROW * (1 + abs(true)), f"{upper - true:.5} above {true:.20}"


@pytest.mark.meetings(1)
@every_regularizer
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("outputs", [1, 2])
def test_omega_lies_in_its_ball(regularizer, scale, outputs):
    rng = np.random.default_rng(7)
    weights = scale * rng.normal(size=(outputs, FEATURES))
    if not regularizer.finite:
        weights = regularizer.grad_conjugate(rng.normal(size=weights.shape) * min(scale, 30.0))
    weights = weights[0] if outputs == 1 else weights
    stands_for, found = regularizer.enclosure(FEATURES).primal(weights)
    rows = exact.normalized(regularizer, exact.decimals(weights))
    with digits(DIGITS):
        flat = [entry for row in rows for entry in row]
        parts = zip(np.ravel(stands_for.high), np.ravel(stands_for.low), np.ravel(stands_for.radius), strict=True)
        for entry, (high, low, radius) in zip(flat, parts, strict=True):
            error = abs(Decimal(float(high)) + Decimal(float(low)) - entry)
            assert error <= Decimal(float(radius)) + EXACT * abs(entry)
    check(found, exact.value(regularizer, rows), narrow=scale in (1.0, 1e-3, 1e-8))


@pytest.mark.meetings(1)
@every_regularizer
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_conjugate_lies_in_its_ball(regularizer, scale, outputs):
    rng = np.random.default_rng(8)
    if regularizer.name in ("entropy", "unnormalized_entropy"):
        scale = min(scale, 100.0)
    v = scale * rng.normal(size=(outputs, FEATURES))
    v = v[0] if outputs == 1 else v
    true = exact.conjugate(regularizer, exact.decimals(v))
    found = regularizer.enclosure(FEATURES).conjugate(as_ball(v))
    if true.is_infinite():
        assert np.isinf(found.radius)
    else:
        check(found, true, narrow=scale in (1.0, 1e-3, 1e-8))


@every_regularizer
def test_wide_balls_contain_the_conjugates_of_their_vectors(regularizer):
    rng = np.random.default_rng(9)
    v, radius = 0.3 * rng.normal(size=FEATURES), 1e-3 * rng.random(FEATURES)
    found = regularizer.enclosure(FEATURES).conjugate(as_ball(v).widened(radius))
    for _ in range(10):
        moved = v + radius * rng.uniform(-1.0, 1.0, FEATURES)
        check(found, exact.conjugate(regularizer, exact.decimals(moved)), narrow=False)


def is_positive_definite(matrix, shift):
    """Whether a matrix less a multiple of the identity has positive pivots, in rational arithmetic."""
    rows = [
        [Fraction(entry) - shift * (i == j) for j, entry in enumerate(row)] for i, row in enumerate(matrix.tolist())
    ]
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [entry - factor * other for entry, other in zip(rows[i], rows[k], strict=True)]
    return True


def symmetric_matrix(rng, size, condition):
    """A matrix with random eigenvectors and eigenvalues from 1 to 1/condition."""
    vectors, _ = np.linalg.qr(rng.normal(size=(size, size)))
    matrix = vectors * np.geomspace(1.0, 1.0 / condition, size) @ vectors.T
    return 0.5 * (matrix + matrix.T)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("condition", [1e1, 1e8, 1e11, 1e13, 1e14, 1e16])
def test_strong_convexity_is_proved(size, condition):
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e-100, 1e100):
        for _ in range(5):
            try:
                form = QuadraticForm(scale * symmetric_matrix(rng, size, condition))
            except FenchelError:
                # not positive definite after its entries were rounded
                assert condition > 1e14
                continue
            proved, width = Fraction(form.strong_convexity), Fraction(np.trace(form.operator)) * (size + 3) / 2**49
            assert proved == 0 or is_positive_definite(form.operator, proved)
            assert not is_positive_definite(form.operator, proved + width)


def test_without_strong_convexity_nothing_is_known():
    form, v = QuadraticForm(np.full((3, 3), 1.0) + 4e-16 * np.eye(3)), np.ones(3)
    assert form.strong_convexity == 0.0
    assert form.radius(1.0) == form.grad_conjugate_error(v, 0.0) == math.inf
    assert form.conjugate_error(v, form.conjugate(v), 0.0, 0.0) == math.inf


def test_the_smallest_eigenvalue_of_other_matrices():
    assert smallest_eigenvalue(np.array([[4.0]])) == pytest.approx(4.0, rel=1e-14)
    assert smallest_eigenvalue(np.array([[1.0, 2.0], [2.0, 1.0]])) < 0.0
    # nothing is proved about a matrix that is singular up to rounding
    assert smallest_eigenvalue(np.full((3, 3), 1.0)) <= 0.0
    # a graded matrix: the eigenvalues are 1e16 + 0.01 and 0.99, up to 1e-16
    assert 0.5 <= smallest_eigenvalue(np.array([[1e16, 1e7], [1e7, 1.0]])) <= 0.99
    assert 0.5 <= smallest_eigenvalue(np.diag([1e16, 1.0])) <= 1.0


@pytest.mark.parametrize("factor", [0.0, 0.9, 1.1])
def test_a_poor_solution_of_a_quadratic_form_is_no_wrong_bound(factor):
    """The residual of the approximate solution of K w = v counts, over the smallest eigenvalue."""
    form = REGULARIZERS[6]
    v = np.random.default_rng(4).normal(size=FEATURES)
    poor = EnclosedQuadraticForm(form.operator, lambda right: factor * form.grad_conjugate(right))
    found = poor.conjugate(as_ball(v))
    check(found, exact.conjugate(form, exact.decimals(v)), narrow=False)
    assert np.isfinite(found.radius)


def test_an_operator_with_solve_alone_has_no_enclosure():
    class Operator:
        def solve(self, v):
            return v

    assert QuadraticForm(Operator()).enclosure(3) is None
