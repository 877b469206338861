"""The interior-point method for joint hinges: right answers whatever the sizes of features, weights and costs."""

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

import slow_multiclass as slow
from agreement import assert_same_optimum, distance_bound
from catalog import JOINT_CASES, JOINT_RISKS, JointCase, joint_risk
from fenchel import FenchelError, LinearClassifier, Problem, Status, solve
from fenchel.problem import Model, Witness
from fenchel.regularizers import ElasticNet
from fenchel.risks import CrammerSinger
from fenchel.solvers import STALLED, Hint, InteriorPoint, choose
from fenchel.solvers.base import Start
from fenchel.solvers.interior_point.pair_matrix import Rows, complete, inverse, star

CASES = [case for case in JOINT_CASES if case.inner == "root"]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_risk = pytest.mark.parametrize("risk", JOINT_RISKS)
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
HINT = Hint(None, 0.0, lambda: False)


@functools.cache
def wine():
    return load_wine(return_X_y=True)


def assert_optimal(problem, solution, risk, X, y, costs, rel=1e-8):
    """The conic solver has the same objective and weights, and a certificate tells no more than there is."""
    W, _, best = slow.optimum(
        risk, X, y, problem.risk.outputs, problem.risk.shares, problem.lam, problem.intercept, costs
    )
    certificate = solution.certificate
    assert solution.converged
    assert solution.solver == "interior_point"
    assert certificate.primal == pytest.approx(best, rel=rel)
    assert certificate.dual <= best * (1 + 1e-9) + certificate.rounding_floor
    apart = distance_bound(problem, certificate.gap + rel * best)
    assert np.linalg.norm(solution.model.weights - W) <= 2 * apart
    assert np.sum(solution.model.intercept) == pytest.approx(0.0, abs=1e-10 * (1 + np.max(np.abs(X))))


@pytest.mark.meetings(1)
@every_case
def test_the_conic_solvers_optimum(case):
    X, y, _, costs = case.data()
    problem = case.problem()
    assert_optimal(problem, solve(problem, "interior_point", tol=1e-9), case.risk, X, y, costs)


@pytest.mark.meetings(1)
@every_risk
@with_and_without
@pytest.mark.parametrize("kind", ["sizes", "separable", "repeated", "constant", "two", "short"])
def test_degenerate_data(kind, risk, intercept):
    case = JointCase(risk, intercept=intercept, k=2 if kind == "two" else 4)
    X, y, _, costs = case.data()
    lam, rng = case.lam, np.random.default_rng(5)
    if kind == "sizes":
        X = X * 10.0 ** np.arange(-2, 3)
    if kind == "separable":
        X, lam = np.eye(4)[y] * 3 + 0.1 * X[:, :4], 1e-3
    if kind == "repeated":
        X, y = np.repeat(X[:6], 4, axis=0), rng.integers(0, 4, 24)
        y[:4] = np.arange(4)
    if kind == "constant":
        X[:, 0], X[:, 1], X[3] = 7.0, 0.0, 0.0
    if kind == "short":
        X, y = rng.standard_normal((6, 20)), np.array([0, 1, 2, 3, 0, 1])
    problem = Problem(X, joint_risk(risk, y, case.k, None, costs), lam, intercept=intercept)
    assert_optimal(problem, solve(problem, "interior_point", tol=1e-9), risk, X, y, costs, rel=1e-7)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_features_of_any_size_at_any_strength_to_the_rounding_floor(risk, C):
    X, y = wine()
    solution = solve(Problem(X, joint_risk(risk, y, 3), 1 / (C * len(y)), intercept=True), "interior_point", tol=0.0)
    assert solution.certificate.relative_gap <= 1e-9
    assert solution.passes < 500


@pytest.mark.meetings(1)
@pytest.mark.parametrize("multi_class", ["auto", "weston_watkins", "crammer_singer", "ovr", "ovo"])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_wine_as_it_comes_converges(multi_class, tol):
    X, y = wine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearClassifier(multi_class=multi_class, tol=tol).fit(X, y)
    assert model.converged_
    assert model.certificate_.relative_gap <= tol
    assert model.score(X, y) > 0.95


def test_descent_hands_over_and_polishes():
    X, y = wine()
    problem = Problem(X, joint_risk("weston_watkins", y, 3), 1e-2, intercept=True)
    assert [candidate.solver.name for candidate in choose(problem, "auto")][:2] == [
        "interior_point",
        "block_coordinate",
    ]
    scaled = Problem(X / np.std(X, axis=0), joint_risk("weston_watkins", y, 3), 1e-2, intercept=True)
    names = [(candidate.solver.name, candidate.patience) for candidate in choose(scaled, "auto")]
    assert [name for name, _ in names[:3]] == ["block_coordinate", "interior_point", "block_coordinate"]
    assert names[0][1] < np.inf


@pytest.mark.meetings(1)
@every_risk
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_every_storage_gives_the_answer_of_its_values_in_float64(risk, dtype, own_storage):
    X, y, _, costs = JointCase(risk).data()
    X = np.round(3 * X).astype(dtype)
    make = functools.partial(Problem, risk=joint_risk(risk, y, 4, None, costs), lam=0.1, intercept=True)
    plain = solve(make(X.astype(float)), "interior_point", tol=1e-10)
    for design in (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X)):
        assert_same_optimum(make(X.astype(float)), solve(make(design), "interior_point", tol=1e-10), plain)


@pytest.mark.meetings(1)
@every_risk
@with_and_without
def test_zero_weight_is_a_removed_row_and_integer_weight_a_repeated_one(risk, intercept):
    X, y, _, costs = JointCase(risk).data()
    weights = np.random.default_rng(3).integers(0, 4, len(y))
    weights[:4] = 1
    rows = np.repeat(np.arange(len(y)), weights)
    one = Problem(X, joint_risk(risk, y, 4, weights, costs), 0.05, intercept=intercept)
    other = Problem(X[rows], joint_risk(risk, y[rows], 4, None, costs), 0.05, intercept=intercept)
    found, repeated = (solve(problem, InteriorPoint(), tol=1e-11) for problem in (one, other))
    assert_same_optimum(one, found, repeated, 1e-10)
    assert np.all(found.witness.theta[weights == 0] == 0)
    # the steps are the same, not just where they lead
    states = [InteriorPoint().start(problem, None) for problem in (one, other)]
    for _ in range(5):
        for state in states:
            InteriorPoint().step(state, HINT)
    np.testing.assert_allclose(states[0].point.weights, states[1].point.weights, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("free", [False, True])
def test_the_matrix_is_the_sum_over_the_rows(free, monkeypatch):
    monkeypatch.setattr("fenchel.solvers.interior_point.pair_matrix._BLOCK_ENTRIES", 100)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 4, 30)
    rows = Rows(Problem(X, CrammerSinger(y, 4), 0.1, intercept=free))
    x = np.hstack([X - X.mean(axis=0), np.ones((30, 1))]) if free else X
    h, scale = rng.random((30, 4)), rng.random(30)
    stars, whole = np.zeros((2, 4 * x.shape[1], 4 * x.shape[1]))
    for i in range(30):
        for j in range(4):
            for m in range(j):
                e = np.eye(4)[j] - np.eye(4)[m]
                pair = np.kron(np.outer(e, e), np.outer(x[i], x[i]))
                whole += scale[i] * h[i, j] * h[i, m] * pair
                stars += (h[i, j] if m == y[i] else h[i, m] if j == y[i] else 0.0) * pair
    found = star(rows, h)
    np.testing.assert_allclose(found.reshape(stars.shape), stars, atol=1e-12)
    np.testing.assert_allclose(complete(rows, h, scale).reshape(whole.shape), whole, atol=1e-12)
    ridge = np.append(np.full(3, 0.1), np.zeros(int(free)))
    right = rng.standard_normal((4, x.shape[1]))
    right -= right.mean(axis=0)
    solution = inverse(found, ridge)(right)
    np.testing.assert_allclose((stars + np.diag(np.tile(ridge, 4))) @ solution.ravel(), right.ravel(), atol=1e-9)
    np.testing.assert_allclose(solution.sum(axis=0), 0.0, atol=1e-12)


@every_risk
def test_dual_points_are_inside_and_the_state_survives_an_interruption(risk, monkeypatch):
    case = JointCase(risk, intercept=True)
    problem, solver = case.problem(), InteriorPoint()
    state = solver.start(problem, None)
    for step in range(6):
        before = solver.propose(state)
        if step == 3:
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(Rows, "scores", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
                solver.step(state, HINT)
            np.testing.assert_array_equal(solver.propose(state)[0].weights, before[0].weights)
        assert solver.step(state, HINT) > 0
        _, witness = solver.propose(state)
        np.testing.assert_allclose(problem.risk.project(witness.theta), witness.theta, rtol=1e-14, atol=1e-17)
        assert np.all(state.point.u > 0)
        assert np.all(state.point.xi > 0)


def test_limits_interrupts_and_the_end():
    problem = JointCase("weston_watkins").problem()
    assert solve(problem, InteriorPoint(), time_limit=0.0, tol=1e-9).status is Status.TIME_LIMIT
    assert solve(problem, InteriorPoint(), stop_requested=lambda: True, tol=1e-9).status is Status.INTERRUPTED
    solver = InteriorPoint()
    state = solver.start(problem, Start(Model(np.ones((4, 5))), Witness(np.ones(3))))
    passes = [solver.step(state, HINT) for _ in range(60)]
    assert passes[-1] == STALLED
    assert state.best_gap <= 1e-12
    nothing = Problem(np.ones((3, 1)), joint_risk("costs", np.array([0, 1, 1]), 2, None, np.zeros((2, 2))), 1.0)
    assert solve(nothing, "interior_point").converged


def test_what_is_not_supported_says_why():
    risk = joint_risk("weston_watkins", np.array([0, 1, 1]), 3)
    with pytest.raises(FenchelError, match="pairwise costs that connect all classes"):
        solve(Problem(np.eye(3), risk, 1.0, intercept=True), "interior_point")
    assert solve(Problem(np.eye(3), risk, 1.0), "interior_point").converged
    others = [candidate.solver.name for candidate in choose(Problem(np.eye(3), risk, 1.0, intercept=True), "auto")]
    assert others[0] == "block_coordinate"
    assert "interior_point" not in others
    with pytest.raises(FenchelError, match="requires the regularizer 'l2'"):
        solve(Problem(np.eye(3), risk, 1.0, ElasticNet(0.5)), "interior_point")
    with pytest.raises(FenchelError, match="at most 3000 weights"):
        solve(Problem(sp.csr_array((3, 1001)), risk, 1.0), "interior_point")
    with pytest.raises(FenchelError, match="NaN or infinity"):
        solve(Problem(np.full((3, 2), np.inf), risk, 1.0), "interior_point")
