"""The solvers smoothing and agm: optima of other methods, certificates, mu, every storage, and how they end."""

import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import slow_measures
from agreement import assert_same_optimum
from catalog import Case
from fenchel import FenchelError, Problem, Status, certify, solve
from fenchel.regularizers import ElasticNet
from fenchel.risks import F1, AbsoluteError, BreakEven, MeanRisk, PrecisionAtK, RecallAtK, RocAUC
from fenchel.solvers import AGM, Smoothing
from fenchel.solvers.base import Hint
from fenchel.solvers.smoothing.spaces import RowSpan, space_for

SOLVERS = ("smoothing", "agm")
both = pytest.mark.parametrize("solver", SOLVERS)


def data(n=40, d=4, seed=0, share=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X @ rng.normal(size=d) + rng.normal(size=n)
    return X, np.where(signal > np.quantile(signal, 1 - share), 1.0, -1.0)


def risks(y):
    return {"roc_auc": RocAUC(y), "prbep": BreakEven(y), "recall_at_k": RecallAtK(y, int(np.sum(y > 0)) + 1)}


MEASURES = tuple(risks(np.array([1.0, -1.0])))


@pytest.mark.meetings(1)
@both
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("lam", [1e-2, 1.0])
def test_optima_are_those_of_the_conic_solver(name, lam, solver, request):
    if (name, lam, solver) == ("prbep", 1e-2, "agm"):
        # with seed 1 it stays at a gap of 12% for 400,000 passes, depending on the processor's rounding
        request.applymarker(pytest.mark.xfail(reason="agm may stop making progress"))
    for seed, share in ((0, 0.4), (1, 0.75), (2, 0.1)):
        X, y = data(n=10, d=3, seed=seed, share=share)
        risk = risks(y)[name]
        _, _, best = slow_measures.optimum(name, X, y, lam, parameter=getattr(risk, "k", None))
        # the steps of agm grow with the root of 1 / (lam mu)
        tol = 1e-6 if solver == "smoothing" else 1e-3
        solution = solve(Problem(X, risk, lam), solver, tol=tol, max_iter=50_000)
        assert solution.converged, (seed, solution.certificate)
        assert solution.certificate.recomputed
        assert solution.certificate.primal == pytest.approx(best, rel=1.1 * tol, abs=1e-9)
        assert solution.certificate.dual <= best + 1e-9


@pytest.mark.meetings(1)
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("lam", [1e-2, 0.3])
def test_smoothing_agm_and_bundle_agree(name, lam):
    X, y = data()
    problem = Problem(X, risks(y)[name], lam)
    one, *others = (solve(problem, solver, tol=1e-6, max_iter=50_000) for solver in (*SOLVERS, "bundle"))
    assert one.converged
    for other in others:
        assert other.converged
        assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-6)
        assert_same_optimum(problem, one, other, tol=1e-6)
    assert one.passes < 300
    assert [solve(problem, tol=1e-3).solver] == ["smoothing"]


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "absolute", "quantile", "logistic", "squared_hinge"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.meetings(1)
def test_means_agree_with_other_solvers(loss, intercept, outputs):
    problem = Case(loss, intercept=intercept, weighted=True, outputs=outputs).problem()
    known = solve(problem, "newton", tol=1e-9)
    for solver in SOLVERS:
        if solver == "agm" and intercept:
            continue
        found = solve(problem, solver, tol=1e-6, max_iter=50_000)
        assert found.converged, solver
        assert found.certificate.primal == pytest.approx(known.certificate.primal, rel=1e-6)
        assert_same_optimum(problem, found, known, tol=1e-6)


def test_a_free_intercept_of_recall_at_k():
    X, y = data(n=10, d=2)
    risk = RecallAtK(y, int(np.sum(y > 0)) + 2)
    _, _, best = slow_measures.optimum("recall_at_k", X, y, 0.05, True, risk.k)
    solution = solve(Problem(X, risk, 0.05, intercept=True), "smoothing", tol=1e-6, max_iter=5000)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(best, rel=2e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_the_smoothed_objective_falls_and_mu_shrinks_only_when_smoothing_dominates(name):
    X, y = data(n=80, d=10)
    problem, solver = Problem(X, risks(y)[name], 1e-3), Smoothing()
    state, hint = solver.start(problem, None), Hint(None, 1e-5, lambda: False)
    mus = []
    for _ in range(120):
        before, parts = state.objective, (state.point.at.excess, state.objective.distance(state.point))
        value, evaluations = before.value(state.point), state.evaluations
        assert solver.step(state, hint) >= 0.0
        assert state.evaluations - evaluations < 45
        if state.objective.mu == before.mu:
            assert state.objective.value(state.point) <= value * (1 + 1e-14)
        else:
            assert parts[1] <= parts[0]
            assert parts[0] > 0.5 * hint.target_gap
            mus.append(state.objective.mu)
        if solver.expected_gap(state) <= hint.target_gap:
            break
    assert solver.expected_gap(state) <= hint.target_gap
    assert len(mus) >= 3
    # what it expects is what is certified
    model, witness = solver.propose(state)
    np.testing.assert_allclose(state.point.scores, X @ model.weights, rtol=1e-10, atol=1e-12)
    from fenchel.certificate import judge

    certificate = judge(problem, model, witness).certificate
    assert certificate.gap == pytest.approx(solver.expected_gap(state), rel=1e-4)
    assert certificate.primal == pytest.approx(solver.expected_objective(state), rel=1e-12)


@both
def test_the_papers_fixed_mu(solver):
    X, y = data(n=60)
    kind = {"smoothing": Smoothing, "agm": AGM}[solver]
    for risk in risks(y).values():
        problem, epsilon = Problem(X, risk, 1e-2), 1e-3
        method = kind(fixed=True, epsilon=epsilon, c_mu=10.0)
        state = method.start(problem, None)
        assert state.objective.mu == pytest.approx(10.0 * epsilon / risk.smoothing_range)
        solution = solve(problem, method, tol=1e-9, max_iter=50_000)
        best = solve(problem, "smoothing", tol=1e-7, max_iter=5000).certificate.primal
        assert solution.status is Status.STALLED
        assert best - 1e-12 <= solution.certificate.primal <= best + 10.0 * epsilon
        assert solution.certificate.gap <= 10.1 * epsilon


@pytest.mark.meetings(1)
@both
@pytest.mark.parametrize("name", ["roc_auc", "prbep"])
def test_every_storage_gives_the_same_answer(name, solver, own_storage):
    X, y = data(n=50, d=3)
    X[np.abs(X) < 0.4] = 0.0
    X = np.round(X, 2).astype(np.float32)
    problems = [
        Problem(stored, risks(y)[name], 0.05)
        for stored in (X.astype(np.float64), X, np.asfortranarray(X), sp.csr_array(X), sp.csr_array(X.astype(float)))
    ]
    first, *others = [solve(problem, solver, tol=1e-5, max_iter=20_000) for problem in problems]
    for other in others:
        assert other.converged
        assert_same_optimum(problems[0], first, other, tol=1e-5)


@pytest.mark.meetings(1)
@both
@pytest.mark.parametrize("build", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_many_more_columns_than_rows(build, solver, full_products):
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(25, 80)), 1) * (rng.random((25, 80)) < 0.3)
    y = np.where(X[:, :5].sum(axis=1) + 0.5 * rng.normal(size=25) > 0.1, 1.0, -1.0)
    # the same problem from the side of the rows: distances between them are all that counts
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    every = (*risks(y).values(), MeanRisk("hinge", y)) if solver == "smoothing" else (BreakEven(y),)
    for risk in every if full_products else every[-2:]:
        wide, square = Problem(build(X), risk, 0.05), Problem(left * sizes, risk, 0.05)
        assert isinstance(space_for(wide), RowSpan)
        assert not isinstance(space_for(square), RowSpan)
        tol = 1e-5 if solver == "smoothing" else 1e-3
        one, other = (solve(problem, solver, tol=tol, max_iter=20_000) for problem in (wide, square))
        assert one.converged
        assert other.converged
        assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2 * tol)
        again = solve(replace(wide, lam=0.052), solver, tol=1e-3, warm_start=one, max_iter=20_000)
        assert again.converged


@both
def test_weights_of_roc_area_repeat_rows(solver):
    X, y = data(n=30, d=3)
    weights = np.random.default_rng(3).integers(0, 4, 30)
    rows = np.repeat(np.arange(30), weights)
    one, other = (
        solve(problem, solver, tol=1e-6, max_iter=50_000)
        for problem in (Problem(X, RocAUC(y, weights), 0.05), Problem(X[rows], RocAUC(y[rows]), 0.05))
    )
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-6)
    assert np.all(one.witness.theta[weights == 0] == 0.0)


@both
def test_warm_starts_and_certify(solver):
    X, y = data()
    problem = Problem(X, RocAUC(y), 0.02)
    cold = solve(problem, solver, tol=1e-5, max_iter=20_000)
    assert solve(problem, solver, tol=1e-5, warm_start=cold).passes == 0
    near = replace(problem, lam=0.021)
    warm, again = (solve(near, solver, tol=1e-3, max_iter=20_000, warm_start=start) for start in (cold, None))
    assert warm.converged
    assert warm.passes <= again.passes
    assert certify(problem, cold.model, effort=100).relative_gap < 1e-4


@both
def test_ends(solver):
    X, y = data(n=40_000, d=20)  # an idle machine reaches the rounding floor of 4,000 rows within 0.1 s
    problem = Problem(X, BreakEven(y), 1e-4)
    stopped = solve(problem, solver, tol=0.0, stop_requested=lambda: True)
    assert stopped.status is Status.INTERRUPTED
    begin = time.perf_counter()
    late = solve(problem, solver, tol=0.0, max_iter=1e9, time_limit=0.05)
    assert late.status is Status.TIME_LIMIT
    assert time.perf_counter() - begin < 2.0
    few = solve(problem, solver, tol=0.0, max_iter=7)
    assert few.status is Status.MAX_ITER
    for solution in (stopped, late, few):
        assert 0.0 <= solution.certificate.dual <= solution.certificate.primal <= problem.risk.value_at_zero


@both
def test_degenerate_data(solver):
    for X in (np.zeros((4, 2)), np.ones((4, 1)), np.array([[1.0], [1.0], [-1.0], [-1.0]]) * 1e3):
        y = np.array([1.0, 1.0, -1.0, -1.0])
        for risk in risks(y).values():
            solution = solve(Problem(X, risk, 0.1), solver, tol=1e-4, max_iter=5000)
            assert solution.converged, (X, risk.name, solution.certificate)


def test_what_is_refused_and_why():
    X, y = data()
    for solver in (Smoothing(), AGM()):
        assert "ridge" in solver.supports(Problem(X, RocAUC(y), 0.1, ElasticNet(0.5)))
        assert "requires a risk with a smoothing" in solver.supports(Problem(X, AbsoluteError(y), 0.1))
        for risk in (F1(y), PrecisionAtK(y, 2), RocAUC(y)):
            assert solver.supports(Problem(X, risk, 0.1)) is None
    assert "free intercept" in AGM().supports(Problem(X, MeanRisk("hinge", y), 0.1, intercept=True))
    for options in ({"epsilon": 0.0}, {"c_mu": -1.0}, {"memory": 0}):
        with pytest.raises(FenchelError, match=next(iter(options))):
            Smoothing(**options)
    with pytest.raises(FenchelError, match="NaN or infinity"):
        solve(Problem(np.full((40, 4), np.inf), RocAUC(y), 0.1), "smoothing")
