"""Pegasos: its weights are those of its dual point, which is feasible; it approaches the optimum; what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from catalog import Case
from fenchel import FenchelError, Problem, Status, solve
from fenchel.certificate import judge
from fenchel.regularizers import ElasticNet
from fenchel.risks import MeanRisk
from fenchel.solvers import Pegasos
from fenchel.solvers.reference import pegasos as module

every_batch = pytest.mark.parametrize("batch", [1, 7, "all"])


def slow_pegasos(X, y, lam, batches):
    """The algorithm as it is written: w and the averaged, projected counts."""
    w, theta, n = np.zeros(X.shape[1]), np.zeros(len(y)), len(y)
    for t, batch in enumerate(batches, start=1):
        active = [i for i in batch if y[i] * (X[i] @ w) < 1]
        w, theta = (1 - 1 / t) * w, (1 - 1 / t) * theta
        for i in active:
            w = w + len(batches) / n * y[i] * X[i] / (lam * t)
            theta[i] += len(batches) / n * y[i] / t
        shrink = min(1.0, 1 / (np.sqrt(lam) * max(np.linalg.norm(w), 1e-300)))
        w, theta = shrink * w, shrink * theta
    return w, theta


@every_batch
def test_one_pass_is_the_algorithm_as_it_is_written(batch):
    X, y, _ = Case("hinge", n=30).data()
    problem, solver = Problem(X, MeanRisk("hinge", y), 1e-3), Pegasos(batch, seed=1)
    state = solver.start(problem, None)
    solver.step(state, None)
    batches = [state.order[a:b].astype(int) for a, b in zip(state.bounds[:-1], state.bounds[1:], strict=True)]
    w, theta = slow_pegasos(X, y, 1e-3, batches)
    model, witness = solver.propose(state)
    np.testing.assert_allclose(model.weights, w, rtol=1e-10)
    np.testing.assert_allclose(witness.theta, theta, atol=1e-13)


@pytest.mark.meetings(1)
@every_batch
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_dual_point_is_feasible_after_each_pass_and_makes_the_weights(batch, storage, weighted):
    problem = Case("hinge", storage, weighted=weighted, n=50, lam=1e-3).problem()
    solver = Pegasos(batch, seed=2)
    state = solver.start(problem, None)
    for _ in range(30):
        assert solver.step(state, None) == pytest.approx(1.0)
        model, witness = solver.propose(state)
        np.testing.assert_allclose(problem.risk.project(witness.theta), witness.theta, rtol=1e-12)
        np.testing.assert_allclose(problem.design.adjoint(witness.theta) / problem.lam, model.weights, rtol=1e-9)
        assert np.linalg.norm(model.weights) <= (1 + 1e-9) / np.sqrt(problem.lam)


@every_batch
def test_it_approaches_the_optimum_and_its_bounds_hold(batch):
    problem = Case("hinge", n=200, lam=0.02).problem()
    optimum = solve(problem, tol=1e-10).certificate.primal
    solution = solve(problem, Pegasos(batch), tol=1e-2, max_iter=5000)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.dual <= optimum <= solution.certificate.primal
    assert solution.certificate.recomputed
    again = solve(problem, Pegasos(batch), tol=1e-2, max_iter=5000)
    np.testing.assert_array_equal(solution.model.weights, again.model.weights)


@every_batch
def test_short_steps_make_the_same_passes(batch, monkeypatch):
    problem, solver = Case("hinge", n=60).problem(), Pegasos(batch, seed=3)
    whole, parts = solver.start(problem, None), solver.start(problem, None)
    solver.step(whole, None)
    monkeypatch.setattr(module, "_STEP_ENTRIES", 20)
    passes = 0.0
    while passes < 1.0 - 1e-9:
        passes += solver.step(parts, None)
        judge(problem, *solver.propose(parts))
    np.testing.assert_array_equal(whole.u, parts.u)


def test_what_it_refuses():
    X, y = np.eye(2), np.array([1.0, -1.0])
    hinge = MeanRisk("hinge", y)
    assert "intercept" in Pegasos().supports(Problem(X, hinge, 1.0, intercept=True))
    assert "ridge" in Pegasos().supports(Problem(X, hinge, 1.0, ElasticNet(0.5)))
    assert "hinge" in Pegasos().supports(Problem(X, MeanRisk("logistic", y), 1.0))
    assert Pegasos().supports(Problem(sp.csr_array(X), hinge, 1.0)) is None
    for batch in (0, -1, 1.5, True, "some"):
        with pytest.raises(FenchelError, match="batch must be a positive integer or 'all'"):
            Pegasos(batch)
