"""Newton's method on q-norms with q > 2: the second derivative, optima of a conic solver, degenerate data."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from fenchel import FenchelError, Problem, solve
from fenchel.regularizers import QNorm
from fenchel.regularizers.q_norm import DiagonalPlusRankOne
from fenchel.risks import MeanRisk
from slow_conic import conic_with, norm_cone

NORMS = [QNorm(q, power) for q, power in ((2.5, 3.0), (3.0, 2.0), (4.0, 1.3), (10.0, 2.0), (3.0, 5.0))]
every_norm = pytest.mark.parametrize("norm", NORMS, ids=lambda norm: f"{norm.q:g}-{norm.power:g}")


def matrix_of(hess: DiagonalPlusRankOne):
    return np.diag(hess.diagonal) + hess.outer * np.outer(hess.vector, hess.vector)


@every_norm
def test_the_hessian_is_the_second_derivative_where_the_dual_is_the_gradient(norm):
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e3):
        w = size * rng.uniform(0.3, 1.0, 4) * [1, -1, 1, -1]
        h = 1e-6 * size
        numeric = [(norm.gradient(w + h * e) - norm.gradient(w - h * e)) / (2 * h) for e in np.eye(4)]
        scale = np.max(np.abs(numeric))
        np.testing.assert_allclose(matrix_of(norm.hessian(w, norm.gradient(w))), numeric, atol=1e-6 * scale)


@every_norm
def test_the_hessian_is_positive_semidefinite_and_finite(norm):
    rng = np.random.default_rng(1)
    for _ in range(50):
        w, v = 10 ** rng.uniform(-4, 4, (2, 5)) * rng.choice([-1.0, 0.0, 1.0], (2, 5))
        matrix = matrix_of(norm.hessian(w, v))
        assert np.all(np.isfinite(matrix))
        values = np.linalg.eigvalsh(matrix)
        assert values[0] >= -1e-12 * values[-1]


def data_of(n=30, d=5, zeros=0.0):
    rng = np.random.default_rng([2, n, d])
    X = rng.standard_normal((n, d))
    X[rng.random(X.shape) < zeros] = 0.0
    y = np.where(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) + 0.3 > 0, 1.0, -1.0)
    return X, y


CASES = [
    *itertools.product(("hinge", "logistic"), ((2.5, 3.0), (3.0, 2.0), (10.0, 2.0)), (False, True), ("dense",)),
    ("hinge", (4.0, 1.3), True, "sparse"),
    ("logistic", (4.0, 2.0), False, "sparse"),
]


@pytest.mark.parametrize(("loss", "exponents", "intercept", "storage"), CASES)
def test_solved_to_the_conic_optimum(loss, exponents, intercept, storage):
    X, y = data_of(zeros=0.5 if storage == "sparse" else 0.0)
    problem = Problem(
        sp.csr_array(X) if storage == "sparse" else X, MeanRisk(loss, y), 0.1, QNorm(*exponents), intercept
    )
    solution = solve(problem, tol=1e-7)
    assert solution.solver == "newton"
    assert solution.certificate.relative_gap <= 1e-7
    w, b = conic_with(loss, X, y, slow.shares(len(y)), 0.1, intercept, norm_cone(*exponents))
    optimum = 0.1 * problem.regularizer.value(w) + float(np.mean(slow.FORMULAS[loss](X @ w + b, y)))
    assert solution.certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert solution.certificate.dual <= optimum + solution.certificate.rounding_floor


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_large_q_takes_few_passes(loss):
    X, y = data_of(200, 20)
    for q, C in itertools.product((3.0, 10.0), (0.01, 100.0)):
        solution = solve(Problem(X, MeanRisk(loss, y), 1.0 / (200 * C), QNorm(q), True), tol=1e-6)
        assert solution.converged
        assert solution.passes <= 100


@every_norm
def test_odd_data(norm):
    """More features than rows, an empty one, two alike, sizes that differ; several outputs; a warm start."""
    X, y = data_of(20, 30)
    X[:, 3], X[:, 4] = 0.0, X[:, 5]
    X[:, 6] *= 1e3
    problem = Problem(X, MeanRisk("logistic", np.column_stack([y, -y])), 0.01, norm, True)
    solution = solve(problem, tol=1e-8)
    assert solution.converged, str(solution)
    np.testing.assert_array_equal(solution.model.weights[:, 3], 0.0)
    # Omega is strictly convex: features that are alike have one weight
    np.testing.assert_allclose(solution.model.weights[:, 4], solution.model.weights[:, 5], rtol=1e-2)
    assert solve(problem, tol=1e-8, warm_start=solution).passes == 0


def test_what_newton_does_not_take_says_why(plain_loops):
    y = np.array([1.0, -1.0])
    with pytest.raises(FenchelError, match="q > 2"):
        solve(Problem(np.eye(2), MeanRisk("hinge", y), 0.1, QNorm(1.5)), "newton")
    wide = Problem(
        sp.csr_array(([1.0, 1.0], ([0, 1], [0, 4999])), shape=(2, 5000)), MeanRisk("hinge", y), 0.1, QNorm(3.0)
    )
    with pytest.raises(FenchelError, match="4000 features"):
        solve(wide, "newton")
    assert solve(wide, tol=1e-3).solver == "dual_coordinate"
