"""The compiled loops of the lasso against slow formulas: columns, faces, and points from one Gram matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from fenchel import Problem, solve
from fenchel.certificate import judge_all
from fenchel.designs import as_design
from fenchel.risks import MeanRisk
from fenchel.solvers.l1.gram_path import propose_points
from fenchel.solvers.l1.loop import QuadraticModel, descend, moments, new_schedule
from fenchel.solvers.l1.loop_gram import descend_path
from fenchel.solvers.l1.working_set import columns_of

storages = pytest.mark.parametrize("storage", ["dense", "sparse"])
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def stored(X, storage):
    return as_design(sp.csr_matrix(X) if storage == "sparse" else X)


def correlated(rng, n, d):
    """Columns that are nearly collinear, two of them equal and one without entries."""
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, d)) + 0.5 * rng.normal(size=(n, d))
    X *= rng.random((n, d)) < 0.6
    X[:, 1], X[:, 2] = X[:, 0], 0.0
    return X


def slow_minimum(H, q, lam, free):
    """min 1/2 z H z + q z + lam |z|_1, the last ``free`` entries without penalty: plain sweeps, and their number."""
    z, thresholds = np.zeros(len(q)), np.full(len(q), lam)
    thresholds[len(q) - free :] = 0.0
    for sweeps in range(1, 3001):  # noqa: B007 (returned)
        before = z.copy()
        for j in np.flatnonzero(np.diag(H) > 0):
            target = z[j] - (H[j] @ z + q[j]) / H[j, j]
            z[j] = np.sign(target) * max(abs(target) - thresholds[j] / H[j, j], 0.0)
        if np.max(np.abs(before - z) * np.diag(H)) <= 1e-12:
            break
    return 0.5 * z @ H @ z + q @ z + thresholds @ np.abs(z), sweeps


@intercepts
@storages
@pytest.mark.parametrize("seed", range(6))
def test_the_quadratic_model_is_minimized_over_columns(seed, storage, intercept):
    rng = np.random.default_rng(seed)
    n, d, lam = 30, 9, 10.0 ** rng.uniform(-3, 0)
    X, theta, hess = correlated(rng, n, d), rng.normal(size=n), rng.random(n) * (rng.random(n) < 0.9)
    columns = stored(X, storage).transposed().rows()
    first, second = np.zeros(d), np.zeros(d)
    moments(columns, hess, first, second)
    np.testing.assert_allclose(first, X.T @ hess, atol=1e-12)
    np.testing.assert_allclose(second, (X**2).T @ hess, atol=1e-12)
    total = hess.sum() if intercept else 0.0
    if intercept:
        # rows without curvature must not have a slope: the model is unbounded otherwise
        theta *= hess > 0
    weights, gradient, shift = np.zeros(d), -theta, np.zeros(1)
    if intercept:
        shift[0] = theta.sum() / total
        second = second - first**2 / total
    else:
        first[:] = 0.0
    model = QuadraticModel(gradient, hess, shift, first, np.maximum(second, 1e-300), total, lam)
    # some passes at a time, as limits need it
    schedule = new_schedule()
    assert any(descend(columns, weights, model, schedule, 1e-12, 7)[2] for _ in range(1000))
    Z = np.column_stack([X, np.ones(n)]) if intercept else X
    H, q = Z.T @ (hess[:, None] * Z), -Z.T @ theta
    point = np.append(weights, shift) if intercept else weights
    value = 0.5 * point @ H @ point + q @ point + lam * np.abs(weights).sum()
    best, _ = slow_minimum(H, q, lam, int(intercept))
    assert value == pytest.approx(best, rel=1e-9, abs=1e-12)
    # the gradient in the scores, which the steps update, is that of the last weights
    np.testing.assert_allclose(gradient, hess * (X @ weights) - theta, atol=1e-9 * (1 + np.abs(theta).max()))


def test_conjugate_gradients_save_passes_on_correlated_columns():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 15)) + 0.1 * rng.normal(size=(60, 15))
    columns, hess, theta = (
        as_design(sp.csr_matrix(X)).transposed().rows(),
        np.full(60, 1 / 60),
        rng.normal(size=60) / 60,
    )
    first, second, weights = np.zeros((3, 15))
    moments(columns, hess, first, second)
    model = QuadraticModel(-theta, hess, np.zeros(1), np.zeros(15), second, 0.0, 1e-4)
    best, sweeps = slow_minimum(X.T @ X / 60, -X.T @ theta, 1e-4, 0)
    full, partial, converged = descend(columns, weights, model, new_schedule(), 1e-12, 3000)
    assert converged
    assert full + partial < 0.5 * sweeps
    scores = X @ weights
    assert 0.5 * scores @ scores / 60 - theta @ scores + 1e-4 * np.abs(weights).sum() <= best + 1e-12


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_are_those_of_x(dtype):
    rng = np.random.default_rng(0)
    X = sp.random(30, 20, 0.2, "csr", random_state=1, dtype=dtype)
    selected = np.array([0, 3, 4, 11, 19])
    unsorted = X[:, ::-1][:, ::-1].tocsr()
    unsorted.indices, unsorted.data = unsorted.indices.copy(), unsorted.data.copy()
    for i in range(30):
        part = slice(*unsorted.indptr[i : i + 2])
        order = rng.permutation(part.stop - part.start)
        unsorted.indices[part], unsorted.data[part] = unsorted.indices[part][order], unsorted.data[part][order]
    unsorted.has_sorted_indices = False
    repeated = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    for matrix in (X, unsorted, repeated, X.toarray()):
        found = columns_of(as_design(matrix), selected)
        assert found.shape == (5, 30)
        np.testing.assert_array_equal(found.sparse().toarray(), X.toarray()[:, selected].T.astype(np.float64))
    assert columns_of(as_design(X), np.zeros(0, dtype=int)).shape == (0, 30)


@pytest.mark.meetings(1)
@intercepts
@storages
@pytest.mark.parametrize("weighted", [False, True])
def test_points_from_a_gram_matrix_are_those_of_single_solves(weighted, storage, intercept):
    rng = np.random.default_rng(5)
    X = correlated(rng, 60, 9) + (3.0 if storage == "dense" else 0.0)
    y, weights = X[:, 0] - X[:, 5] + rng.normal(size=60), rng.integers(0, 3, 60) if weighted else None
    problem = Problem(stored(X, storage), MeanRisk("squared", y, weights), 1.0, "l1", intercept=intercept)
    lams, tol = [1.0, 0.3, 0.1, 0.03, 1e-3], 1e-7
    c = slow.shares(60, weights)
    (block,) = propose_points(problem, lams, tol)
    owns = [Problem(problem.design, problem.risk, lam, "l1", intercept=intercept) for lam in lams]
    verdicts = judge_all(owns, block)
    for lam, own, model, verdict in zip(lams, owns, block, verdicts, strict=True):
        scores = X @ model.weights
        scores += c @ (y - scores) if intercept else 0.0
        objective = lam * np.abs(model.weights).sum() + 0.5 * c @ (scores - y) ** 2
        assert objective == pytest.approx(solve(own, tol=1e-10).certificate.primal, rel=2e-7)
        # of all multiples of minus the gradient the best is taken
        slopes = c * (y - scores)
        t = float(verdict.witness.theta @ slopes) / float(slopes @ slopes)
        np.testing.assert_allclose(verdict.witness.theta, t * slopes, atol=1e-12)
        assert verdict.certificate.relative_gap <= 10.0 * tol


@pytest.mark.parametrize("sweeps", [3, 300])
def test_weights_that_are_much_too_large_do_not_end_the_sweeps(sweeps):
    """Along residuals that point away from y, as early ones may, D of a negative multiple is large and infeasible."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    for j in range(1, 60):
        X[:, j] = 0.99 * X[:, j - 1] + 0.14 * X[:, j]
    y, lam, weights = X[:, ::7].sum(axis=1) + rng.normal(size=400), 1e-4, np.zeros((1, 60))
    moments = X.T @ X / 400, X.T @ y / 400, float(y @ y) / 400
    found = descend_path(*moments, np.array([lam]), np.zeros(60), 1e-6, sweeps, weights)
    residual = (y - X @ weights[0]) / 400
    primal = 200.0 * residual @ residual + lam * np.abs(weights).sum()
    t = np.linspace(0.0, lam / np.abs(X.T @ residual).max(), 10001)
    gap = 1.0 - np.max(t * (residual @ y) - 200.0 * t**2 * (residual @ residual)) / primal
    assert (found > 1e-6) == (gap > 1e-6)
    assert found >= 0.9 * gap


@pytest.mark.parametrize("seed", range(4))
def test_the_gap_that_ends_the_sweeps_is_the_gap_of_the_point(seed):
    rng = np.random.default_rng(seed)
    X, y, lam = rng.normal(size=(30, 6)), rng.normal(size=30), 10.0 ** rng.uniform(-3, -1)
    gram, correlations, weights = X.T @ X / 30, X.T @ y / 30, np.zeros((1, 6))
    found = descend_path(gram, correlations, float(y @ y) / 30, np.array([lam]), np.zeros(6), 0.0, 1, weights)
    w = weights[0]
    residual = (y - X @ w) / 30
    primal = 0.5 * 30 * residual @ residual + lam * np.abs(w).sum()
    end = lam / np.abs(X.T @ residual).max()
    t = np.linspace(0.0, end, 100001)
    dual = np.max(t * (residual @ y) - 15 * t**2 * (residual @ residual))
    assert found == pytest.approx((primal - dual) / primal, rel=1e-6, abs=1e-9)
