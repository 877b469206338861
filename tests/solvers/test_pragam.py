"""The excessive gap method: its invariant at every step, its bound, its proximal steps, and the optimum of others."""

import itertools

import numpy as np
import pytest

import slow_dual_steps
import slow_multiclass
import slow_ordinal
from catalog import Case
from fenchel import FenchelError, Problem, solve
from fenchel.lowerbounds import FourPoints
from fenchel.lowerbounds.report import rate
from fenchel.regularizers import ElasticNet
from fenchel.risks import CrammerSinger, MeanRisk, MultilabelHinge, Multinomial, OrdinalHinge, WestonWatkins
from fenchel.solvers import Pragam
from fenchel.solvers.base import STALLED, Hint
from fenchel.solvers.reference.dual_sets import squared_length
from fenchel.solvers.reference.excessive_gap import dual_set

LOSSES = ("hinge", "absolute", "epsilon_insensitive")
HINT = Hint(None, 0.0, lambda: False)


def several(kind, seed=0, n=30, d=4, k=4, lam=0.05, weights=None, intercept=False):
    rng = np.random.default_rng(seed)
    X, classes = rng.normal(size=(n, d)), rng.integers(0, k, n)
    if intercept:
        # classes of different sizes, one of them far away
        classes = np.minimum(classes, rng.integers(0, k, n))
        X[:, 0] += np.where(classes == k - 1, 3.0, 1.0)
    return Problem(X, kind(classes, k, weights=weights), lam, intercept=intercept)


PROBLEMS = {
    f"{loss}-{'bias' if intercept else 'plain'}": Case(loss, intercept=intercept, lam=0.05).problem()
    for loss, intercept in itertools.product(LOSSES, (False, True))
}
PROBLEMS["hinge-weighted"] = Case("hinge", intercept=True, weighted=True, lam=0.05).problem()
PROBLEMS["quantile-bias"] = Case("quantile", intercept=True, lam=0.01).problem()
PROBLEMS["hinge-outputs"] = Case("hinge", outputs=3, lam=0.05).problem()
PROBLEMS["logistic-plain"] = Case("logistic", lam=0.05).problem()
PROBLEMS["huber-bias"] = Case("huber", intercept=True, lam=0.05).problem()
PROBLEMS["crammer_singer"] = several(CrammerSinger)
PROBLEMS["weston_watkins"] = several(WestonWatkins)
PROBLEMS["multilabel"] = several(lambda classes, k, weights: MultilabelHinge(np.tri(k)[classes, ::-1], weights), seed=1)
PROBLEMS["crammer_singer-bias"] = several(
    CrammerSinger, seed=1, weights=np.random.default_rng(3).integers(0, 4, 30), intercept=True
)
PROBLEMS["weston_watkins-bias"] = several(WestonWatkins, seed=1, lam=0.2, intercept=True)
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def gap_and_excess(problem, state, intercept, duals):
    """J(w) - D(theta), and J_mu(w) - D(theta), computed independently; theta maximizes J_mu by a step from the centre.

    The intercepts are the optimal or the proposed ones.
    """
    weights, theta, risk, lam = state.weights, state.theta, problem.risk, problem.lam
    scores = problem.design.scores(weights)
    best = duals.step(state.centre, scores, state.mu)
    penalty = 0.5 * lam * float(np.vdot(weights, weights))
    smoothed = penalty - float(np.vdot(best, scores)) - risk.conjugate(best, feasible=True)
    smoothed -= 0.5 * state.mu * squared_length(risk, best - state.centre)
    pull = problem.design.adjoint(theta)
    dual = -float(np.vdot(pull, pull)) / (2 * lam) - risk.conjugate(theta, feasible=True)
    if problem.intercept:
        for point in (best, theta):
            assert np.max(np.abs(np.sum(point, axis=0))) <= 1e-12 * np.sum(np.abs(point))
    shift = risk.best_intercept(scores) if intercept is None else intercept
    return penalty + risk.value(scores + shift) - dual, smoothed - dual


def exact_lipschitz(problem):
    """sigma_max(C^(1/2) X)^2 / lam."""
    X = problem.design.scores(np.eye(problem.design.shape[1]))
    return float(np.linalg.norm(np.sqrt(problem.risk.shares)[:, None] * X, 2) ** 2 / problem.lam)


def widest(problem, centre):
    """A bound on D_2 seen from the centre."""
    here = np.sqrt(squared_length(problem.risk, centre) / 2)
    return (np.sqrt(dual_set(problem).d_range) + here) ** 2


@pytest.mark.meetings(1)
@every_problem
@pytest.mark.parametrize("lipschitz", ["adaptive", "data", "given", "warm"])
def test_the_excessive_gap_holds_at_every_step(problem, lipschitz):
    warm, option = None, lipschitz
    if lipschitz == "given":
        option = exact_lipschitz(problem)
    if lipschitz == "warm":
        other = "pragam" if problem.intercept and problem.risk.outputs else "bundle"
        warm, option = solve(problem, other, tol=1e-2), "adaptive"
    solver = Pragam(option)
    state = solver.start(problem, warm)
    accepted, centres, duals = [], set(), dual_set(problem)
    for k in range(90):
        width = widest(problem, state.centre)
        centres.add(state.centre.tobytes())
        gap, excess = gap_and_excess(problem, state, solver.propose(state)[0].intercept, duals)
        scale = problem.risk.value_at_zero
        assert excess <= 1e-12 * scale
        assert gap <= state.mu * width + 1e-12 * scale
        if solver.lipschitz != "adaptive":
            assert gap <= 4 * state.lipschitz * width / ((k + 1) * (k + 2)) + 1e-12 * scale
        accepted.append(state.accepted)
        assert solver.step(state, HINT) > 0
    assert max(accepted) <= state.lipschitz_bound * (1 + 1e-12)
    # it has restarted, and the excessive gap condition held throughout
    # a warm start may be good enough to need no restart
    assert lipschitz == "warm" or (len(centres) > 1) == (solver.lipschitz == "adaptive")


def ordered(weighted, lam=0.1):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(25, 3))
    y, weights = np.digitize(X[:, 0] + rng.normal(size=25), [-1.0, 0.0, 1.0]), rng.random(25) if weighted else None
    return Problem(X, OrdinalHinge(y, weights), lam), slow_ordinal.ordinal_pairs(y, weights)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("lipschitz", ["adaptive", "data", "given"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_excessive_gap_of_ordered_classes_holds_at_every_step(lipschitz, weighted):
    problem, pairs = ordered(weighted)
    (D, _, prices), lam, X = pairs, problem.lam, problem.design.scores(np.eye(3))
    exact = float(np.linalg.norm(np.sqrt(prices)[:, None] * (D @ X), 2) ** 2 / lam)
    solver = Pragam(exact if lipschitz == "given" else lipschitz)
    state = solver.start(problem, None)
    assert exact <= state.lipschitz_bound
    for k in range(90):
        scores, penalty = X @ state.weights, 0.5 * lam * float(state.weights @ state.weights)
        x = 1.0 - D @ scores
        beta = np.clip(x / state.mu, 0.0, 1.0)
        dual = state.negative_conjugate - float(np.sum((X.T @ state.theta) ** 2)) / (2 * lam)
        assert penalty + prices @ (beta * x - 0.5 * state.mu * beta**2) <= dual + 1e-12
        gap = penalty + slow_ordinal.value(pairs, scores) - dual
        assert gap <= 0.5 * state.mu + 1e-12
        assert solver.expected_gap(state) == pytest.approx(gap, abs=1e-12)
        if lipschitz != "adaptive":
            assert gap <= 2 * state.lipschitz / ((k + 1) * (k + 2)) + 1e-12
        if k % 30 == 0:
            np.testing.assert_allclose(state.decomposition.sum(axis=0), state.theta, atol=1e-13)
            assert slow_ordinal.conjugate(pairs, state.theta) <= -state.negative_conjugate + 1e-9
        assert solver.step(state, HINT) > 0
    assert state.lipschitz <= state.lipschitz_bound


@pytest.mark.parametrize("weighted", [False, True])
def test_it_finds_the_optimum_of_ordered_classes(weighted):
    problem, _ = ordered(weighted, lam=0.5)
    expected = solve(problem, "bundle", tol=1e-8).certificate
    for solver in ("pragam", "smoothing"):
        found = solve(problem, solver, tol=5e-6, max_iter=5_000)
        assert found.converged
        assert found.certificate.recomputed
        assert found.certificate.primal == pytest.approx(expected.primal, rel=1e-5)
        assert found.certificate.dual == pytest.approx(expected.dual, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "bias"])
def test_a_step_is_the_minimizer_of_the_conic_solver(loss, intercept):
    problem = Case(loss, n=12, intercept=intercept, weighted=True).problem()
    risk, rng = problem.risk, np.random.default_rng(1)
    counted = risk.shares > 0
    found = dual_set(problem)
    for curvature in (0.05, 1.0, 30.0):
        centre = found.feasible(rng.normal(size=12) * risk.shares)
        scores = 2 * rng.normal(size=12)
        parts = (risk.labels, risk.shares, centre, scores)
        expected = slow_dual_steps.mean_step(loss, *(part[counted] for part in parts), curvature, intercept)
        theta = found.step(centre, scores, curvature)
        np.testing.assert_allclose(theta[counted] / risk.shares[counted], expected / risk.shares[counted], atol=1e-6)
        assert np.all(theta[~counted] == 0)


@pytest.mark.parametrize("kind", [CrammerSinger, WestonWatkins])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "bias"])
def test_a_step_of_several_classes_is_the_minimizer_of_the_conic_solver(kind, intercept):
    problem = several(kind, n=8, intercept=intercept)
    risk, rng = problem.risk, np.random.default_rng(2)
    found = dual_set(problem)
    for curvature in (0.1, 1.0, 20.0):
        centre, scores = found.feasible(rng.normal(size=(8, 4)) / 8), rng.normal(size=(8, 4))
        expected = slow_dual_steps.class_step(
            kind.name, risk.classes, 4, risk.shares, centre, scores, curvature, intercept
        )
        np.testing.assert_allclose(found.step(centre, scores, curvature), expected, atol=1e-6)


def test_columns_add_up_to_zero_from_anywhere():
    """Absent classes, zero weights and costs, ties; curvatures for which the dual of the equalities is all kinks."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, k = rng.choice([3, 10, 40]), rng.choice([2, 3, 6])
        classes = rng.integers(0, rng.integers(1, k + 1), n)
        weights = None if seed % 3 else np.append(rng.integers(0, 3, n - 1), 1.0)
        kind = WestonWatkins(classes, k, weights, rng.integers(0, 3, (k, k))) if seed % 2 else None
        problem = Problem(np.ones((n, 1)), kind or CrammerSinger(classes, k, weights), 1.0, intercept=True)
        found, risk = dual_set(problem), problem.risk
        curvature, scores = 10.0 ** rng.uniform(-5, 2), 10.0 ** rng.uniform(-1, 2) * rng.normal(size=(n, k))
        scores = np.round(scores) if seed % 4 == 0 else scores
        theta = found.step(found.feasible(rng.normal(size=(n, k)) * risk.shares[:, None]), scores, curvature)
        assert np.isfinite(risk.conjugate(theta))
        allowed = 1e-12 * np.sum(np.abs(theta)) + 1e-14 * np.max(np.abs(scores)) / curvature
        assert np.max(np.abs(np.sum(theta, axis=0))) <= allowed


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "logistic-plain"])
@pytest.mark.meetings(1)
def test_it_finds_the_optimum_of_the_other_solvers(name):
    problem = PROBLEMS[name]
    found = solve(problem, "pragam", tol=2e-6, max_iter=5_000)
    assert found.converged
    others = ["bundle", "dual_coordinate" if isinstance(problem.risk, MeanRisk) else "block_coordinate"]
    if not isinstance(problem.risk, MeanRisk) and problem.intercept:
        others = ["interior_point"]
    for other in others[:1] if name == "multilabel" else others:
        expected = solve(problem, other, tol=1e-8, max_iter=20_000).certificate
        assert found.certificate.primal == pytest.approx(expected.primal, rel=1e-5)
        assert found.certificate.dual == pytest.approx(expected.dual, rel=1e-5)


@pytest.mark.parametrize(
    "name", [pytest.param("crammer_singer-bias", marks=pytest.mark.thorough), "weston_watkins-bias"]
)
def test_weights_and_intercepts_of_several_classes_are_those_of_the_conic_solver(name):
    problem = PROBLEMS[name]
    found, risk = solve(problem, "pragam", tol=1e-9, max_iter=5_000), problem.risk
    X = problem.design.scores(np.eye(problem.design.shape[1]))
    weights, intercepts, primal = slow_multiclass.optimum(
        risk.name, X, risk.classes, risk.outputs, risk.shares, problem.lam, True
    )
    assert found.converged
    assert found.certificate.primal == pytest.approx(primal, rel=1e-8)
    np.testing.assert_allclose(found.model.weights, weights, atol=1e-6)
    np.testing.assert_allclose(found.model.intercept, intercepts, atol=1e-6)
    assert abs(np.sum(found.model.intercept)) <= 1e-12


def test_its_rate_on_the_four_points_is_that_of_the_paper():
    for option in ("data", "adaptive"):
        assert rate("pragam", Pragam(option), FourPoints).exponent <= 0.6


def test_new_beginnings_lead_to_all_digits_and_can_be_left_out():
    problem = PROBLEMS["hinge-weighted"]
    tight, plain = (solve(problem, Pragam(restart=restart), tol=1e-12, max_iter=1500) for restart in (True, False))
    assert tight.certificate.relative_gap <= 1e-12
    assert plain.certificate.relative_gap > 1e-9


def test_rows_of_zeros_and_a_point_that_can_not_be_improved():
    problem = Problem(np.zeros((4, 2)), MeanRisk("hinge", [1, -1, 1, 1]), 1.0)
    solution = solve(problem, "pragam", tol=0.0, max_iter=100_000)
    assert solution.certificate.gap == pytest.approx(0, abs=1e-14)
    state = Pragam().start(problem, None)
    state.mu = 0.0
    assert Pragam().step(state, HINT) == STALLED


def test_what_it_can_not_take_is_named():
    labels, X = np.array([1.0, -1.0]), np.eye(2)
    for problem, reason in (
        (Problem(X, MeanRisk("squared", labels), 1.0), "bounded slopes"),
        (Problem(X, MeanRisk("hinge", labels), 1.0, ElasticNet(0.5)), "ridge"),
        (Problem(X, MeanRisk("logistic", labels), 1.0, intercept=True), "free intercept"),
        (Problem(X, MeanRisk("hinge", np.eye(2) * 2 - 1), 1.0, intercept=True), "several outputs"),
        (Problem(X, Multinomial([0, 1]), 1.0, intercept=True), "hinge risk of several classes"),
    ):
        assert reason in Pragam().supports(problem)
    for bad in (0.0, -1.0, np.inf, "fast", True):
        with pytest.raises(FenchelError, match="lipschitz must be"):
            Pragam(bad)
