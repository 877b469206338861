"""Dual ridge regression by preconditioned conjugate gradients: sweeps, iterates and optima as dense matrices say."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

import slow_ridge as slow
from catalog import Case
from fenchel import FenchelError, Problem, solve
from fenchel.certificate import judge
from fenchel.kernels import GramDesign, GramNorm
from fenchel.regularizers import ElasticNet, QuadraticForm
from fenchel.risks import MeanRisk
from fenchel.solvers import DualConjugateGradient
from fenchel.solvers.base import STALLED
from fenchel.solvers.reference.dual_conjugate_gradient import System

FORMS = ("dense", "sparse", "gram")
every_form = pytest.mark.parametrize("form", FORMS)
every_intercept = pytest.mark.parametrize("intercept", [False, True])


def problem_of(X, y, lam, *, form="dense", intercept=False, weights=None):
    risk = MeanRisk("squared", y, weights)
    if form == "gram":
        design = GramDesign(X @ X.T)
        return Problem(design, risk, lam, GramNorm(design), intercept)
    return Problem(sp.csr_array(X) if form == "sparse" else X, risk, lam, intercept=intercept)


def degenerate(seed=0):
    """Rows of zeros, equal rows with different labels, and rows without weight; equal columns too."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 5)) * (rng.random((24, 5)) < 0.7)
    X[3] = X[11] = 0.0
    X[5] = X[6] = X[20]
    X[:, 4] = X[:, 1]
    weights = rng.integers(0, 4, 24).astype(float)
    weights[[0, 11, 23]] = 0.0
    return X, rng.normal(size=24) + 2.0, weights


def weights_in_features(problem, model, X):
    return model.weights @ X if isinstance(problem.regularizer, GramNorm) else model.weights


@every_form
@every_intercept
def test_a_sweep_and_back_is_the_inverse_of_the_preconditioner(form, intercept):
    X, y, weights = degenerate()
    system = System(problem_of(X, y, 0.05, form=form, intercept=intercept, weights=weights))
    c = weights / weights.sum()
    A = slow.matrix(X, c, 0.05, intercept)
    built = np.stack([system.sweep(column)[0] for column in np.eye(24)], axis=1)
    np.testing.assert_allclose(built, np.linalg.inv(slow.preconditioner(A)), atol=1e-12)
    np.testing.assert_allclose(built, built.T, atol=1e-12)
    assert np.min(np.linalg.eigvalsh(built + built.T)) > 0.0
    # the weights that a sweep leaves behind are those of its result, and make the product with A
    t, left = system.sweep(y)
    np.testing.assert_allclose(left, system.weights(t), atol=1e-12)
    np.testing.assert_allclose(system.product(t, left), A @ t, atol=1e-12)


@every_form
@every_intercept
def test_iterates_are_those_of_dense_matrices_and_the_gap_is_half_the_squared_residual(form, intercept):
    X, y, weights = degenerate(1)
    c, lam = weights / weights.sum(), 0.02
    problem, solver = problem_of(X, y, lam, form=form, intercept=intercept, weights=weights), DualConjugateGradient()
    A = slow.matrix(X, c, lam, intercept)
    right = np.sqrt(c) * (y - c @ y if intercept else y)
    state = solver.start(problem, None)
    for t in slow.conjugate_gradient(A, right, slow.preconditioner(A), 3):
        assert solver.step(state, None) == (2.0 if form == "gram" else 2.5)
        np.testing.assert_allclose(state.outputs[0].t, t, atol=1e-10)
        model, witness = solver.propose(state)
        theta = np.sqrt(c) * t
        theta -= c * np.sum(theta) if intercept else 0.0
        np.testing.assert_allclose(witness.theta, theta, atol=1e-10)
        np.testing.assert_allclose(weights_in_features(problem, model, X), X.T @ theta / lam, atol=1e-9)
        gap = judge(problem, model, witness).certificate.gap
        residual = right - A @ (theta / np.sqrt(np.where(c > 0, c, 1.0)))
        assert gap == pytest.approx(0.5 * residual @ residual, rel=1e-6, abs=1e-13)
        assert gap <= solver.expected_gap(state) * (1 + 1e-6) + 1e-13
    dual = judge(problem, model, witness).certificate.dual
    assert intercept or solver.expected_objective(state) == pytest.approx(dual, rel=1e-10)


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    ("form", "intercept", "weighted"), list(itertools.product(FORMS, (False, True), (False, True)))
)
def test_the_optimum_is_the_closed_form(form, intercept, weighted):
    for seed, lam in itertools.product(range(3), (1e-4, 0.1, 10.0)):
        X, y, weights = degenerate(seed)
        weights = weights if weighted else np.ones(len(y))
        problem = problem_of(X, y, lam, form=form, intercept=intercept, weights=weights)
        solution = solve(problem, "dual_conjugate_gradient", tol=0, max_iter=1000)
        w, b, value = slow.optimum(X, y, weights / weights.sum(), lam, intercept)
        assert solution.converged
        assert solution.certificate.relative_gap <= 1e-10 or (
            solution.certificate.gap <= solution.certificate.rounding_floor
        )
        assert solution.certificate.primal == pytest.approx(value, rel=1e-9)
        apart = math.sqrt(2 * max(solution.certificate.gap, solution.certificate.rounding_floor) / lam)
        assert np.linalg.norm(weights_in_features(problem, solution.model, X) - w) <= apart + 1e-8
        assert solution.model.intercept == pytest.approx(b, abs=1e-4)


def operator_of(kind, d, seed=7):
    """K as a diagonal, a matrix or an object with ``solve``, and as a matrix."""
    rng = np.random.default_rng(seed)
    if kind == "diagonal":
        K = np.diag(np.exp(rng.normal(size=d)))
        return np.diagonal(K), K
    factor = rng.normal(size=(d, d))
    K = factor @ factor.T + 0.1 * np.eye(d)
    return (K if kind == "matrix" else Inverse(K)), K


class Inverse:
    def __init__(self, K):
        self.K = K

    def solve(self, v):
        return np.linalg.solve(self.K, v)


@pytest.mark.parametrize(
    ("kind", "form", "intercept"),
    [("diagonal", "sparse", True), ("diagonal", "dense", False), ("matrix", "dense", True), ("solve", "sparse", False)],
)
def test_quadratic_forms_have_the_iterates_and_the_optimum_of_dense_matrices(kind, form, intercept):
    X, y, weights = degenerate(2)
    (given, K), c, lam = operator_of(kind, X.shape[1]), weights / weights.sum(), 0.03
    design = sp.csr_array(X) if form == "sparse" else X
    problem = Problem(design, MeanRisk("squared", y, weights), lam, QuadraticForm(given), intercept)
    # A = I + C^1/2 Z K^-1 Z^T C^1/2 / lam
    Z = np.sqrt(c)[:, None] * (X - c @ X if intercept else X)
    A = np.eye(len(c)) + Z @ np.linalg.solve(K, Z.T) / lam
    right = np.sqrt(c) * (y - c @ y if intercept else y)
    solver = DualConjugateGradient()
    state = solver.start(problem, None)
    for t in slow.conjugate_gradient(A, right, slow.preconditioner(A), 3):
        solver.step(state, None)
        np.testing.assert_allclose(state.outputs[0].t, t, atol=1e-10)
        model, witness = solver.propose(state)
        np.testing.assert_allclose(model.weights, np.linalg.solve(K, X.T @ witness.theta) / lam, atol=1e-9)
        gap = judge(problem, model, witness).certificate.gap
        residual = right - A @ (witness.theta / np.sqrt(np.where(c > 0, c, 1.0)))
        assert gap == pytest.approx(0.5 * residual @ residual, rel=1e-6, abs=1e-13)
    solution = solve(problem, solver, tol=1e-10)
    w = np.linalg.solve(lam * K + Z.T @ Z, Z.T @ right)
    b = c @ (y - X @ w) if intercept else 0.0
    value = 0.5 * lam * w @ K @ w + 0.5 * c @ (X @ w + b - y) ** 2
    assert solution.converged
    certificate = solution.certificate
    assert certificate.dual - certificate.dual_error <= value * (1 + 1e-14)
    assert value * (1 - 1e-14) <= certificate.primal + certificate.primal_error
    np.testing.assert_allclose(solution.model.weights, w, atol=1e-4)
    again = solve(problem, solver, tol=1e-10, warm_start=solution)
    assert again.converged
    assert again.passes < 0.5 * solution.passes


def ill_conditioned():
    """Rows whose lengths differ by a factor of a thousand."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 120)) * np.logspace(1, -2, 80)[:, None]
    return X, rng.normal(size=80)


def test_fewer_iterations_than_without_the_preconditioner():
    X, y = ill_conditioned()
    iterations = {}
    for preconditioned in (True, False):
        solver = DualConjugateGradient(preconditioned)
        state = solver.start(problem_of(X, y, 1e-3), None)
        first, iterations[preconditioned] = solver.expected_gap(state), 0
        while iterations[preconditioned] < 2000 and solver.expected_gap(state) > 1e-12 * first:
            solver.step(state, None)
            iterations[preconditioned] += 1
    assert 10 * iterations[True] <= iterations[False]


def test_far_from_zero_with_an_intercept():
    X, y, _ = Case("squared", n=60).data()
    one = solve(problem_of(X, y, 0.01, intercept=True), "dual_conjugate_gradient", tol=1e-10)
    far = solve(problem_of(X + 1e3, y + 1e3, 0.01, intercept=True), "dual_conjugate_gradient", tol=1e-8)
    assert one.converged
    assert far.converged
    np.testing.assert_allclose(far.model.weights, one.model.weights, atol=1e-3)


@every_form
def test_several_outputs_are_so_many_problems(form):
    X, _, _ = Case("squared", n=30).data()
    Y = X @ np.random.default_rng(4).normal(size=(6, 3)) + np.arange(3.0)
    together = solve(problem_of(X, Y, 0.1, form=form, intercept=True), "dual_conjugate_gradient", tol=0)
    assert together.converged
    for k in range(3):
        alone = solve(problem_of(X, Y[:, k], 0.1, form=form, intercept=True), "dual_conjugate_gradient", tol=0)
        np.testing.assert_allclose(
            together.model.weights[k] @ (X if form == "gram" else np.eye(6)),
            alone.model.weights @ (X if form == "gram" else np.eye(6)),
            atol=1e-5,
        )
        assert together.model.intercept[k] == pytest.approx(alone.model.intercept, abs=1e-5)


def test_it_ends_where_rounding_does():
    X, y = ill_conditioned()
    problem, solver = problem_of(X, y, 1e-6, intercept=True), DualConjugateGradient()
    state = solver.start(problem, None)
    for _ in range(3000):
        if solver.step(state, None) == STALLED:
            break
    else:
        pytest.fail("it does not end")
    certificate = judge(problem, *solver.propose(state)).certificate
    assert certificate.relative_gap <= 1e-10
    assert solver.expected_gap(state) <= 1e-10 * certificate.primal
    # labels that are all zero leave nothing to do
    state = solver.start(problem_of(X, 0.0 * y, 1e-6), None)
    assert [solver.step(state, None) for _ in range(2)][-1] == STALLED


def test_a_warm_start_has_less_to_do():
    problem = problem_of(*ill_conditioned(), 1e-3)
    solution = solve(problem, "dual_conjugate_gradient", tol=1e-8)
    again = solve(problem, "dual_conjugate_gradient", tol=1e-8, warm_start=solution)
    assert solution.converged
    assert again.converged
    assert again.passes < 0.2 * solution.passes


def test_what_it_refuses():
    X, y = np.eye(2), np.array([1.0, -1.0])
    solver = DualConjugateGradient()
    assert "loss 'squared'" in solver.supports(Problem(X, MeanRisk("hinge", y), 1.0))
    assert "ridge" in solver.supports(Problem(X, MeanRisk("squared", y), 1.0, ElasticNet(0.5)))
    with pytest.raises(FenchelError, match="repair or scale X"):
        solver.start(problem_of(1e160 * X, y, 1.0), None)
