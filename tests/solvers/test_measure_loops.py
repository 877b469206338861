"""Smoothed measures by compiled loops, their curvature, and products that threads share."""

import numpy as np
import pytest
import scipy.sparse as sp
from test_smoothed_risks import every_point
from test_smoothing import data, risks

import fenchel.solvers.smoothing.curvature as curvature_module
import fenchel.solvers.threads as parts_module
from fenchel import Problem, solve
from fenchel.risks import BreakEven, RecallAtK, RocAUC
from fenchel.solvers import AGM, Bundle, Smoothing
from fenchel.solvers.smoothing.curvature import Curvature, curvature_for
from fenchel.solvers.smoothing.measures import evaluator
from fenchel.solvers.threads import PartedDesign, Parts, in_parts


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2))])
def test_loops_give_what_numpy_gives(seed):
    for name, _, _, _, risk, scores, mu in every_point(seed):
        expected, found = risk.smoothed(scores, mu), evaluator(risk)(scores, mu)
        size = 1e-13 * (1 + np.abs(scores).max())
        np.testing.assert_allclose(found.theta, expected.theta, rtol=0, atol=1e-13, err_msg=f"{name} {mu} {scores}")
        for field in ("value", "risk", "excess"):
            assert getattr(found, field) == pytest.approx(getattr(expected, field), abs=size), (name, field, mu)


def test_roc_area_keeps_its_digits_with_many_examples():
    rng = np.random.default_rng(5)
    n = 2000
    y, scores = np.where(rng.random(n) < 0.3, 1.0, -1.0), 40 * rng.normal(size=n)
    scores[:300] = np.round(scores[:300])
    for weights in (np.ones(n), rng.random(n)):
        a, b = (weights[own] / weights[own].sum() for own in (y > 0, y < 0))
        z = 1 - scores[y > 0][:, None] + scores[y < 0][None, :]
        for mu in (1e-6, 1e-3, 1.0, 100.0):
            beta = np.clip(z / mu, 0, 1)
            found = evaluator(RocAUC(y, weights))(scores, mu)
            np.testing.assert_allclose(found.theta[y > 0], a * (beta @ b), rtol=0, atol=1e-12 * a.max())
            np.testing.assert_allclose(found.theta[y < 0], -b * (a @ beta), rtol=0, atol=1e-12 * b.max())
            assert found.value == pytest.approx(a @ (beta * z - mu / 2 * beta**2) @ b, rel=1e-12)
            assert found.excess == pytest.approx(a @ (np.maximum(z, 0) - beta * z) @ b, rel=1e-6, abs=1e-13)


def curved(name, seed, mu, **changes):
    """A problem with few columns, scores, and the inverse of H there."""
    X, y = data(n=600, d=5, seed=seed)
    problem = Problem(X, risks(y)[name], 0.01)
    scores = X @ np.random.default_rng(seed).normal(size=5)
    curvature = curvature_for(problem, Parts(problem.design))
    assert isinstance(curvature, Curvature)
    for key, value in changes.items():
        setattr(curvature, key, value)
    inverse = curvature.inverse(scores, problem.risk.smoothed(scores, mu).theta, mu)
    return problem, scores, np.array([inverse(column) for column in np.eye(5)])


def exact(problem, scores, mu):
    """H by finite differences of the gradient."""
    X, step = np.stack([problem.design.scores(column) for column in np.eye(5)], axis=1), 1e-6
    ends = [[problem.risk.smoothed(scores + sign * step * column, mu).theta for column in X.T] for sign in (1.0, -1.0)]
    return -(np.array(ends[0]) - np.array(ends[1])) @ X / (2 * step) + problem.lam * np.eye(5)


def distance(H, inverse):
    """How far H times its approximate inverse is from the identity."""
    eigenvalues = np.linalg.eigvals(H @ inverse)
    return float(np.max(np.abs(np.log(np.abs(eigenvalues)))))


@pytest.mark.parametrize("seed", range(2))
def test_the_curvature_of_counts_is_that_of_finite_differences(seed, monkeypatch):
    monkeypatch.setattr(curvature_module, "_AVERAGING_RADIUS", 1e-5)
    for name in ("prbep", "recall_at_k"):
        for mu in (0.5, 5.0):
            problem, scores, inverse = curved(name, seed, mu)
            assert distance(exact(problem, scores, mu), inverse) < 0.01, (name, mu)


@pytest.mark.parametrize("seed", range(2))
def test_the_curvature_of_pairs_is_that_of_finite_differences_the_more_bins_there_are(seed, monkeypatch):
    for bins, near in ((6, 0.3), (100, 0.03)):
        monkeypatch.setattr(curvature_module, "_BINS_PER_MU", bins)
        monkeypatch.setattr(curvature_module, "_MOST_BINS", 40 * bins)
        for mu in (0.2, 1.0, 20.0):
            problem, scores, inverse = curved("roc_auc", seed, mu)
            assert distance(exact(problem, scores, mu), inverse) < near, (bins, mu)


@pytest.mark.parametrize("name", ["roc_auc", "prbep"])
def test_a_sample_of_the_rows_gives_about_the_same_curvature(name):
    problem, scores, inverse = curved(name, 0, 2.0, rows=300)
    assert distance(exact(problem, scores, 2.0), inverse) < 1.5


def test_where_there_is_no_curvature():
    X, y = data(n=600, d=4)
    for problem in (
        Problem(X[:15], RocAUC(y[:15]), 0.1),
        Problem(X, RecallAtK(y, 500), 0.1, intercept=True),
    ):
        assert curvature_for(problem, Parts(problem.design)) is None
    one_class = np.where(np.arange(600) < 1, 1.0, -1.0)
    problem = Problem(X, RocAUC(one_class), 0.1)
    curvature = curvature_for(problem, Parts(problem.design))
    curvature.rows = 20
    gradient = curvature.inverse(np.zeros(600), np.zeros(600), 1e-3)(np.ones(4))
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("name", ["roc_auc", "prbep", "recall_at_k"])
def test_the_curvature_saves_steps_and_changes_no_optimum(name):
    X, y = data(n=600, d=12, seed=3)
    X *= 10.0 ** np.linspace(-1, 1, 12)
    problem = Problem(X, risks(y)[name], 1e-4)
    plain, curved = (solve(problem, Smoothing(curvature=use), tol=1e-5, max_iter=20_000) for use in (False, True))
    assert plain.converged
    assert curved.converged
    assert plain.certificate.primal == pytest.approx(curved.certificate.primal, rel=2e-5)
    assert curved.passes < 0.7 * plain.passes


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32), np.asfortranarray])
@pytest.mark.meetings(1)
def test_results_do_not_depend_on_the_number_of_threads(build, monkeypatch, full_products):
    most = 60 if full_products else 20
    monkeypatch.setattr(parts_module, "PART_ENTRIES", 60)
    monkeypatch.setattr(curvature_module, "_FEWEST_ROWS", 100)
    X, y = data(n=150, d=4)
    X = build(np.round(X, 3))
    for risk in (RocAUC(y), BreakEven(y)):
        problem = Problem(X, risk, 1e-3)
        shared, parts = in_parts(problem, 2)
        assert isinstance(shared.design, PartedDesign)
        assert parts.count > 3
        theta = np.random.default_rng(0).normal(size=150)
        np.testing.assert_allclose(shared.design.adjoint(theta), problem.design.adjoint(theta), atol=1e-12)
        np.testing.assert_allclose(shared.design.scores(theta[:4]), problem.design.scores(theta[:4]), atol=1e-12)
        for solver in (Smoothing(), Smoothing(curvature=False), AGM(), Bundle()):
            one, two, three = (solve(problem, solver, tol=1e-2, n_jobs=jobs, max_iter=most) for jobs in (1, 2, 3))
            assert np.array_equal(one.model.weights, two.model.weights), solver
            assert np.array_equal(one.model.weights, three.model.weights), solver
            assert one.certificate == two.certificate == three.certificate
