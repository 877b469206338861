"""Bounds on rounding errors are proved: they see n, cancellation, and any order of summation."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fenchel import LinearClassifier, Model, Problem, Witness, solve
from fenchel.certificate import judge
from fenchel.certificate.rounding import adjoint_spread
from fenchel.numerics.rounding import UNIT, gamma, tree_depth, tree_sum
from fenchel.regularizers import FreeDirections
from fenchel.risks import MeanRisk
from fenchel.solving.solution import Status


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64, min_value=-1e300, max_value=1e300)))
def test_a_sum_by_a_tree_keeps_its_bound(values):
    values = np.array(values, dtype=np.float64) / 2.0 ** max(0, len(values).bit_length())
    exact, sizes = sum(map(Fraction, values)), sum(map(abs, map(Fraction, values)))
    assert abs(Fraction(tree_sum(values)) - exact) <= Fraction(gamma(tree_depth(len(values)))) * sizes


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 31, 255, 256, 257, 1000, 4099])
def test_a_term_takes_part_in_no_more_additions_than_the_depth(count):
    # 1 + u rounds to 1, so every addition of a tiny term to a one is seen as an error of u at most
    values = np.full(count, 1.0)
    values[1:] += np.arange(count - 1) % 7 * 2.0**-52 if count else 0.0
    exact = sum(map(Fraction, values))
    assert abs(Fraction(tree_sum(values)) - exact) <= Fraction(gamma(tree_depth(count))) * exact
    assert tree_depth(count) <= 16 + max(1, count).bit_length()
    assert tree_sum(np.ones(count)) == count


def test_gamma():
    assert gamma(0) == 0.0
    assert gamma(1) >= UNIT
    assert gamma(1 / UNIT) == math.inf


def test_a_fit_whose_rounding_exceeds_tol_has_not_converged():
    X = [[99999.3, 99999.8, 100001.7], [100000.7, 99998.4, 100000], [99999.4, 100000.1, 99998.4]]
    X, y = np.array([*X, [100000.2, 100000.2, 100001.6]]), np.array([1, 1, -1, -1])
    # at this seed the fit ends where rounding exceeds tol; others may find a model that proves it
    with pytest.warns(UserWarning, match="rounding"):
        model = LinearClassifier("hinge", C=1e12, random_state=0).fit(X, y)
    w, b, lam = [Fraction(v) for v in model.coef_[0]], Fraction(model.intercept_[0]), Fraction(1, 4 * 10**12)
    scores = [sum(Fraction(x) * v for x, v in zip(row, w, strict=True)) + b for row in X]
    losses = [max(Fraction(0), 1 - int(label) * score) for label, score in zip(y, scores, strict=True)]
    exact = lam * sum(v * v for v in w) / 2 + sum(losses) / 4
    certificate = model.certificate_
    assert Fraction(certificate.upper) >= exact
    assert not model.converged_


@pytest.mark.parametrize(("n", "dtype"), [(10**5, np.float64), (3 * 10**6, np.float32)])
def test_the_floor_sees_the_number_of_examples(n, dtype, full_products):
    n = n if full_products else min(n, 10**6)
    problem = Problem(sp.csr_array(np.ones((n, 1), dtype=dtype)), MeanRisk("hinge", np.ones(n)), 2.0)
    certificate = judge(problem, Model(np.array([0.5])), Witness(np.full(n, 1.0 / n))).certificate
    # P = lam w^2 / 2 + 1 - w = 0.75, the optimum
    assert certificate.lower <= 0.75 <= certificate.upper
    assert certificate.rounding_floor <= 1e-8
    assert not certificate.contradictory


def test_many_float32_rows_do_not_contradict_themselves(portion, full_products):
    rng = np.random.default_rng(0)
    n = portion(2_000_000)
    hot = rng.integers(0, 3, n)
    X = np.zeros((n, 3), dtype=np.float32)
    X[np.arange(n), hot] = 1.0
    y = np.where(rng.random(n) < np.array([0.3, 0.5, 0.8])[hot], 1, -1)
    # Newton steps for the logistic loss are compiled in every run
    model = LinearClassifier("squared_hinge" if full_products else "logistic").fit(X, y)
    assert model.converged_
    assert not model.certificate_.contradictory


@pytest.mark.parametrize("count", [1.0, 100.0, 1e8])
def test_equal_counts_are_explained_by_the_intercept(count):
    X = np.random.default_rng(0).standard_normal((50, 3))
    solution = solve(Problem(X, MeanRisk("poisson", np.full(50, count)), 0.1, intercept=True))
    assert solution.converged
    # the optimum is zero
    assert solution.certificate.lower <= 0.0 <= solution.certificate.upper


@pytest.mark.parametrize("seed", range(20))
def test_errors_with_free_directions_are_not_negative(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 4)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    problem = Problem(X, MeanRisk("hinge", y), 0.1, FreeDirections.of_features([0], 4), intercept=seed % 2 == 0)
    for size in (0.0, 1e-3, 0.1, 10.0):
        intercept = None if problem.intercept else 0.0
        pair = Model(size * rng.standard_normal(4), intercept), Witness(size * rng.standard_normal(30))
        certificate = judge(problem, *pair).certificate
        assert certificate.primal_error >= 0.0 and certificate.dual_error >= 0.0


def test_a_tolerance_below_rounding_is_said_to_be_unresolved():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)) + 1e7, np.where(rng.random(40) < 0.5, 1.0, -1.0)
    solution = solve(Problem(X, MeanRisk("squared", y), 1e-6, intercept=True), tol=1e-14, max_iter=200)
    assert not solution.converged
    assert solution.status is Status.UNRESOLVED


def test_rounding_that_exceeds_everything_proves_nothing():
    """Where the zero model is as good only because nothing is known, the model is not called optimal."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)) * 1e20, np.where(rng.random(20) < 0.5, 1.0, -1.0)
    problem = Problem(X, MeanRisk("hinge", y), 1e-3)
    certificate = judge(problem, Model(np.array([1.0, -1.0])), Witness(np.zeros(20))).certificate
    assert not certificate.trivial
    assert not certificate.meets(0.0)


def test_a_lasso_whose_dual_sensitivity_rounds_to_zero():
    """X^T theta is computed as zero, and every multiple of zero is feasible; the exact one is far outside the ball."""
    a, b = 0.1, 0.7
    X, theta, lam = np.array([[a], [b], [-(a + b)]]), np.full(3, 0.25), 1e-19
    problem = Problem(X, MeanRisk("squared", np.full(3, 0.75)), lam, "l1")
    assert not np.any(problem.design.adjoint(theta))
    used = judge(problem, Model(np.zeros(1)), Witness(theta)).witness.theta
    assert abs(sum(Fraction(x) * Fraction(t) for x, t in zip(X[:, 0], used, strict=True))) <= Fraction(lam)


@pytest.mark.parametrize("rows", [1, 5, 4096, 4097, 10_000])
def test_few_rows_have_few_roundings(rows):
    counted = Problem(np.ones((rows, 2)), MeanRisk("squared", np.ones(rows)), 1.0).design.adjoint_roundings
    assert min(rows, 4096) <= counted <= min(rows, 4096) + rows // 4096 + 1


@pytest.mark.parametrize("seed", range(6))
def test_a_risk_without_a_lower_bound_is_balanced_by_one_entry(seed):
    """The objective of ``negative_log`` may be negative, so that it bounds no weights and no intercept."""
    rng = np.random.default_rng(seed)
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    X = (rng.normal(size=(5, 3)) + 3.0 * y[:, None]) * 10.0 ** rng.integers(0, 4)
    problem = Problem(X, MeanRisk("negative_log", y, rng.uniform(0.1, 2.0, size=5)), 1e-3, intercept=True)

    def objective(point):
        return 0.5e-3 * point[:3] @ point[:3] + problem.risk.value(X @ point[:3] + point[3])

    start = np.append(np.mean(y[:, None] * X, axis=0), 0.0)
    best = minimize(objective, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-13}).x
    theta = -problem.risk.subgradient(X @ best[:3] + best[3])
    bounds = []
    for step in (0.0, 1e-9, 1e-6, 1e-3):
        model = Model(best[:3] * (1.0 + step * rng.normal(size=3)), best[3] + step)
        bounds.append(judge(problem, model, Witness(theta)).certificate)
    assert bounds[0].primal < 0.0
    assert max(each.lower for each in bounds) <= min(each.upper for each in bounds)
    assert bounds[0].gap < 1.0


@pytest.mark.meetings(1)
@pytest.mark.parametrize("examples", [40, 3000])
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
def test_fine_errors_say_whether_their_spread_is_that_of_a_proved_ball(examples, regularizer):
    """A proved ball takes the spread of the certificate in the place of another one: to the last bit."""
    rng = np.random.default_rng(examples)
    X = rng.normal(size=(examples, 3))
    labels = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    problem = Problem(X, MeanRisk("squared_hinge", labels), 0.01, regularizer, intercept=True)
    solution = solve(problem, tol=0.0)
    known = judge(problem, solution.model, solution.witness)
    errors = known.path_certificate.errors
    assert errors.fine
    assert errors.spread == adjoint_spread(problem, known.witness.theta, fine=True)
    assert not known.path_certificate.errors_at(0.02, 1.0).fine
