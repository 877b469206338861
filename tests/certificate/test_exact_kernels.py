"""Certificates of kernel models in exact arithmetic: Gram matrices in memory and cached by rows, with any history."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from exact_losses import DIGITS, digits
from fenchel import Model, Problem, Witness
from fenchel.certificate import judge
from fenchel.kernels import CachedGram, GramDesign, GramNorm
from fenchel.kernels.cached_gram import KernelRows
from fenchel.numerics.rounding import UNIT, gamma, tree_depth
from fenchel.risks import BreakEven, CrammerSinger, MeanRisk, MultilabelHinge, RocAUC

N, LAM = 24, 0.1


def fractions(values):
    return [Fraction(float(entry)) for entry in np.ravel(values)]


def product(gram, coefficients):
    used = [(a, row) for a, row in zip(coefficients, gram, strict=True) if a]
    return [sum((a * row[i] for a, row in used), Fraction(0)) for i in range(len(gram))]


def quadratic(gram, coefficients):
    return sum(a * b for a, b in zip(coefficients, product(gram, coefficients), strict=True)) / 2


def random_gram(seed, offset=0.0):
    X = np.random.default_rng([31, seed]).normal(size=(N, 4)) + offset
    lower = np.tril(X @ X.T + np.eye(N))
    return lower + np.tril(lower, -1).T


def cached(gram):
    """Three rows at a time, nine in the cache."""
    return CachedGram(lambda examples: gram[examples], np.diagonal(gram), 12 * 8 * N / 2**20)


def check(problem, gram, model, witness):
    """P <= upper and lower <= D for the hinge and the squared loss."""
    certificate, model, witness, _ = judge(problem, model, witness)
    a, theta, y, lam = fractions(model.weights), fractions(witness.theta), fractions(problem.risk.labels), Fraction(LAM)
    scores, c, zero = product(gram, a), Fraction(1, N), Fraction(0)
    primal, dual = lam * quadratic(gram, a), -quadratic(gram, theta) / lam
    for s, label, t in zip(scores, y, theta, strict=True):
        if problem.risk.loss.name == "hinge":
            primal += c * max(1 - label * s, zero)
            dual += label * t
        else:
            primal += c * (s - label) ** 2 / 2
            dual -= t * t / c / 2 - t * label
    assert primal <= Fraction(certificate.upper)
    assert Fraction(certificate.lower) <= dual


@pytest.mark.meetings(1)
@pytest.mark.parametrize("design", [GramDesign, cached])
@pytest.mark.parametrize("loss", ["hinge", "squared"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_gram_matrices_with_any_history(design, loss, offset):
    """Products with other coefficients come before: far larger ones of few examples, and small changes."""
    for seed in range(4):
        gram, rng = random_gram(seed, offset), np.random.default_rng([32, seed])
        exact = [fractions(row) for row in gram]
        stored = design(gram)
        problem = Problem(stored, MeanRisk(loss, np.sign(rng.normal(size=N))), LAM, GramNorm(stored))
        a = 0.1 * rng.normal(size=N)
        for size in (0.0, 1e4, 1e9, 1.0, 1e-3, 1e12):
            far = a.copy()
            far[rng.integers(N, size=2)] = size
            stored.scores(far)
            stored.scores(-0.5 * far)
            model, theta = Model(a.copy()), -LAM * a * rng.random(N)
            check(problem, exact, model, Witness(theta))
            a[rng.integers(N, size=3)] *= 1.0 + rng.normal()


def test_small_changes_are_updates_of_a_known_product():
    gram, rng = random_gram(0), np.random.default_rng(33)
    stored, a = cached(gram), rng.normal(size=N)
    stored.scores(a)
    before = stored.computed
    a[5] += 0.1
    np.testing.assert_allclose(stored.scores(a), gram @ a, rtol=1e-12)
    assert stored.computed == before + 1
    # the same change to a coefficient that is far larger than the others would leave nothing but rounding errors
    a[6] = 1e15
    stored.scores(a)
    a[6] = 0.5
    np.testing.assert_allclose(stored.scores(a), gram @ a, rtol=1e-12)


RISKS = {
    "roc_auc": lambda y, table: RocAUC(y),
    "prbep": lambda y, table: BreakEven(y),
    "multilabel": lambda y, table: MultilabelHinge(table),
    "crammer_singer": lambda y, table: CrammerSinger(np.arange(N) % 20, 20),
}


@pytest.mark.meetings(1)
@pytest.mark.parametrize("design", [GramDesign, cached])
@pytest.mark.parametrize("name", RISKS)
def test_a_theta_that_stands_for_a_point_near_it_is_charged(name, design):
    """Where the domain of R* has equalities, Omega* is bounded for every point that theta may stand for."""
    rng = np.random.default_rng(34)
    y, table = np.where(np.arange(N) % 3 == 0, 1.0, -1.0), rng.integers(0, 2, size=(N, 3))
    # the features of one example are far longer than the others
    sizes = np.where(np.arange(N) == 3, 1e6, 1.0)
    gram = random_gram(1) * sizes * sizes[:, None]
    stored, exact = design(gram), [fractions(row) for row in gram]
    risk = RISKS[name](y, table)
    problem = Problem(stored, risk, LAM, GramNorm(stored))
    shape = (N,) if risk.outputs is None else (N, risk.outputs)
    # small enough that D(theta) > D(0)
    theta = -1e-3 * risk.subgradient(rng.normal(size=shape))
    theta[3] *= 1e-12
    verdict = judge(problem, problem.zero_model(), Witness(theta))
    known, theta = verdict.path_certificate, verdict.witness.theta
    assert np.any(theta)
    columns = theta.reshape(N, -1).T
    allowed = Fraction(LAM * problem.regularizer.conjugate(known.v)) + Fraction(known.errors.regularizer)
    distance = Fraction(gamma(risk.dual_roundings)) * sum(map(abs, fractions(theta)))
    whole = sum(quadratic(exact, fractions(column)) for column in columns)
    for column in columns:
        entries, own = fractions(column), quadratic(exact, fractions(column))
        for i in range(N):
            # an entry at a label is off by a rounding for each class
            shift = distance or abs(entries[i]) * Fraction(gamma(risk.outputs))
            for sign in (1, -1):
                moved = [entry + (sign * shift if i == j else 0) for j, entry in enumerate(entries)]
                assert (whole - own + quadratic(exact, moved)) / Fraction(LAM) <= allowed


@pytest.mark.meetings(1)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_rows_of_every_kernel_are_as_accurate_as_they_say(kernel, scale, storage):
    """However many are computed at a time."""
    X = scale * np.random.default_rng(35).normal(size=(N, 6))
    X[1] = X[0] + 1e-3

    def values(A, B):
        found = A @ B.T
        found = found.toarray() if sp.issparse(found) else found
        return found if kernel == "linear" else (0.5 * found + 1.0) ** 3

    rows = KernelRows(values, storage(X), 0.5 if kernel == "rbf" else None, 3.0 if kernel == "poly" else 1.0)
    with digits(DIGITS):
        Z = [[Decimal(float(entry)) for entry in row] for row in X]
        dots = [[sum(a * b for a, b in zip(x, z, strict=True)) for z in Z] for x in Z]
        if kernel == "rbf":
            half = Decimal("0.5")
            exact = [[(-half * (dots[i][i] + dots[j][j] - 2 * dots[i][j])).exp() for j in range(N)] for i in range(N)]
        else:
            exact = dots if kernel == "linear" else [[(dot / 2 + 1) ** 3 for dot in row] for row in dots]
        lengths = [exact[i][i].sqrt() for i in range(N)]
        allowed = Decimal(rows.entry_roundings * UNIT) * Decimal("1.000001")
        for count in (1, 5, N):
            for begin in range(0, N, count):
                some = np.arange(begin, min(begin + count, N))
                for i, row in zip(some, rows(some), strict=True):
                    for j in range(N):
                        assert abs(Decimal(float(row[j])) - exact[i][j]) <= allowed * lengths[i] * lengths[j]


def test_a_matrix_that_is_symmetric_up_to_rounding_is_made_symmetric():
    gram = random_gram(2)
    given = gram * (1.0 + 2.0**-50 * np.triu(np.ones((N, N)), 1))
    kept = given.copy()
    assert np.array_equal(GramDesign(given).rows().values, gram)
    assert np.array_equal(given, kept)
    assert np.shares_memory(GramDesign(gram).rows().values, gram)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("n", [1, 7, 8, 9, 40, 150])
@pytest.mark.parametrize("design", ["stored", "cached"])
def test_products_by_blocks_keep_their_bounds(n, design):
    """K a and a^T K a / 2; sums of positive numbers, whose rounding errors are the largest."""
    X, rng = 1.0 + np.random.default_rng(36).random((n, 3)), np.random.default_rng(37)
    lower = np.tril(X @ X.T)
    gram = lower + np.tril(lower, -1).T
    exact, diagonal = [fractions(row) for row in gram], np.diagonal(gram)
    stored = GramDesign(gram)
    if design == "cached":
        stored = CachedGram(lambda examples: gram[examples], diagonal, 12 * 8 * n / 2**20)
    for a in (1.0 + rng.random(n), rng.normal(size=n)):
        coefficients = fractions(a)
        sizes = [sum(row[j] * abs(coefficients[j]) for j in range(n)) for row in exact]
        true = product(exact, coefficients)
        for found, score, size in zip(fractions(stored.scores(a)), true, sizes, strict=True):
            assert abs(found - score) <= Fraction(gamma(stored.score_roundings)) * size
        norm = GramNorm(stored)
        error = abs(Fraction(norm.value(a)) - quadratic(exact, coefficients))
        assert error <= Fraction(norm.value_error(a, norm.value(a)))
        # not more than the worst case of every term
        worst = Fraction(gamma(stored.score_roundings + 1 + tree_depth(n))) * sum(np.abs(a) * np.array(sizes)) / 2
        assert worst <= Fraction(norm.value_error(a, norm.value(a))) <= 4 * worst


def test_the_roundings_of_a_product_grow_slowly():
    for n in (100, 1000):
        assert GramDesign(np.eye(n)).score_roundings <= 8 + math.ceil(math.log2(n))


@pytest.mark.parametrize("design", [GramDesign, cached])
def test_magnitudes_of_scores_bound_the_sums_of_absolute_products(design):
    """Also where the features have very different lengths; they are far smaller there than norms of rows of K allow."""
    rng = np.random.default_rng(38)
    for spread in (0.0, 3.0, 12.0):
        sizes = 10.0 ** rng.uniform(-spread, spread, size=N)
        gram = random_gram(2) * sizes * sizes[:, None]
        exact, stored = [fractions(row) for row in gram], design(gram)
        for a in (rng.normal(size=N), rng.normal(size=N) / sizes**2, rng.normal(size=(2, N)) / sizes):
            found = stored.score_magnitudes(a, slice(3, N)).reshape(N - 3, -1).T
            for row, bounds in zip(np.atleast_2d(a), found, strict=True):
                absolute = [abs(entry) for entry in fractions(row)]
                true = [sum(abs(k) * b for k, b in zip(line, absolute, strict=True)) for line in exact[3:]]
                assert all(one <= Fraction(bound) for one, bound in zip(true, bounds.tolist(), strict=True))
        norms = stored.row_magnitudes * np.linalg.norm(1.0 / sizes**2)
        assert spread < 12.0 or np.max(stored.score_magnitudes(1.0 / sizes**2, slice(None))) < 1e-3 * np.max(norms)
