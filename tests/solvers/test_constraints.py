"""Losses that are constraints: laws, optima of a conic solver, and proofs that nothing meets them."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import slow_reference as slow
from agreement import assert_sound
from fenchel import FenchelError, LinearClassifier, LinearRegressor, Model, Problem, Status, solve
from fenchel.certificate import judge
from fenchel.losses import INFINITE, HardMargin, Hinge, Interpolation, NegativeLog
from fenchel.regularizers import L2, ElasticNet, Entropy
from fenchel.risks import MeanRisk
from slow_conic import conic_optimum
from strategies import curvatures

LOSSES = {loss.name: loss for loss in (HardMargin(), Interpolation(), NegativeLog())}
EPS = np.finfo(float).eps


def regularizer_of(l1_ratio):
    return ElasticNet(l1_ratio) if l1_ratio else L2()


def separable(rng, n=40, d=6, gap=0.05, zeros=0.0):
    """Rows and labels of classes that some weights separate, without an intercept."""
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    X[rng.random(X.shape) < zeros] = 0.0
    y = np.where(X @ w > 0, 1.0, -1.0)
    return X + gap * y[:, None] * w / (w @ w), y


def test_the_names():
    assert set(LOSSES) == set(INFINITE) == set(slow.INFINITE)


def test_an_interval_of_tiny_intercepts_has_its_middle():
    """Reciprocals of its numbers overflow."""
    score = np.array([1e-310, -3e-310])
    assert NegativeLog().best_intercept(score, np.array([1.0, -1.0]), np.array([0.5, 0.5])) == pytest.approx(
        1e-310, rel=1e-9
    )


@pytest.mark.parametrize("name", list(LOSSES))
def test_values_and_conjugates(name):
    loss, rng = LOSSES[name], np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 300)
    s = np.where(rng.random(300) < 0.5, y + rng.choice([0.0, 1e-10, -1e-10], 300), 2 * rng.standard_normal(300))
    np.testing.assert_array_equal(loss.value(s, y), slow.FORMULAS[name](s, y))
    low, high = loss.domain(y)
    np.testing.assert_array_equal((low, high), np.broadcast_arrays(*slow.slopes_of(name, y)))
    u = np.clip(rng.standard_normal(300), low + (low == 0) * 1e-3, high - (high == 0) * 1e-3)
    conjugate = loss.conjugate(u, y)
    # the supremum over points where f is finite, close to each other or at the ends
    points = {
        "hard_margin": lambda y: y * np.linspace(1, 50, 491),
        "interpolation": lambda y: y + 0.999999 * slow.TOLERANCE * np.array([-1.0, 0.0, 1.0]),
        "negative_log": lambda y: y * np.geomspace(1e-4, 1e4, 20001),
    }
    for i in range(300):
        at = points[name](y[i])
        best = np.max(u[i] * at - slow.FORMULAS[name](at, y[i]))
        assert conjugate[i] == pytest.approx(best, abs=1e-6)
        assert conjugate[i] >= best - 1e-12
    assert name != "negative_log" or np.all(np.isinf(loss.conjugate(0 * u, y)))


@example("interpolation", 1.0, 1.0, 5.0, 1.0)
@given(st.sampled_from(list(LOSSES)), st.sampled_from([-1.0, 1.0]), st.floats(0, 20), st.floats(-30, 30), curvatures)
def test_the_dual_step_minimizes(name, y, size, s, q):
    loss, alpha = LOSSES[name], y * size
    found = float(loss.compiled().dual_step(y, alpha, s, q))
    low, high = (-float(end) for end in reversed(slow.slopes_of(name, np.float64(y))))
    assert low <= found <= high
    slack = loss.compiled().kkt_margin(y, alpha, s)
    assert slack <= 0 or found == alpha or (q == 0.0 and found == 0.0)
    if q < 1e-3:
        return
    reach = 100 + 4 * abs(found)
    tiny = 1e-300 if name == "negative_log" else 0.0
    brute = slow.dual_step(name, y, alpha, s, q, max(low + tiny, -reach), min(high - tiny, reach))
    # slopes at the found point and at the brute one differ by rounding
    scale = 1 + abs(s) + q * (abs(alpha) + abs(found))
    value, best = (slow.step_objective(name, y, alpha, s, q, a) for a in (found, brute))
    assert value <= best + 64 * EPS * scale * (abs(found - alpha) + EPS * (1 + abs(alpha)))


SOLVES = [
    *(("hard_margin", *rest) for rest in itertools.product((False, True), (0.0, 0.5), (False,))),
    ("hard_margin", True, 0.0, True),
    ("interpolation", False, 0.0, False),
    ("interpolation", True, 0.0, False),
    ("negative_log", False, 0.0, False),
    ("negative_log", False, 0.5, False),
]


@pytest.mark.meetings(1)
@pytest.mark.parametrize(("name", "intercept", "l1_ratio", "sparse"), SOLVES)
def test_solved_to_the_conic_optimum(name, intercept, l1_ratio, sparse, rarely_compiled):
    rng = np.random.default_rng([2, intercept, sparse])
    X, y = separable(rng, zeros=0.5 if sparse else 0.0)
    if name == "interpolation":
        X, y = rng.standard_normal((8, 20)), rng.standard_normal(8)
    design, lam = sp.csr_array(X) if sparse else X, 0.1
    problem = Problem(design, MeanRisk(LOSSES[name], y), lam, regularizer_of(l1_ratio), intercept=intercept)
    solution = solve(problem, tol=1e-7, max_iter=20000)
    assert solution.status is Status.CONVERGED, str(solution)
    w, b, _ = conic_optimum(name, X, y, slow.shares(len(y)), lam, intercept, l1_ratio)
    # the conic solver misses constraints by roundings: what it found is compared without them
    risk = (
        slow.primal(name, X, y, slow.shares(len(y)), lam, w, b) - lam * slow.omega(w) if name == "negative_log" else 0
    )
    optimum = float(lam * slow.omega(w, l1_ratio) + risk)
    assert solution.certificate.primal == pytest.approx(optimum, rel=3e-7)
    assert_sound(solution, (X, y, None), name, lam, l1_ratio, optimum * (1 + np.sign(optimum) * 1e-7))


def test_the_hard_margin_is_the_limit_of_the_hinge():
    X, y = separable(np.random.default_rng(4))
    hard = solve(Problem(X, MeanRisk(HardMargin(), y), 1.0, intercept=True), tol=1e-8, max_iter=20000)
    soft = solve(Problem(X, MeanRisk(Hinge(), y), 1e-7, intercept=True), tol=1e-8, max_iter=20000)
    np.testing.assert_allclose(hard.model.weights, soft.model.weights, rtol=1e-4)
    scores = X @ hard.model.weights + hard.model.intercept
    assert np.min(y * scores) >= 1.0 - 1e-12


def proves_infeasibility(solution, X, y, sign, intercept):
    """The witness is a Farkas ray: theta in the domain whose rows add up to (nearly) nothing, but not its gain."""
    theta = solution.witness.theta / np.max(np.abs(solution.witness.theta))
    gain = theta @ y
    assert not sign or np.all(y * theta >= 0)
    assert gain > 1e-6
    assert np.linalg.norm(X.T @ theta) <= 1e-7 * gain * np.linalg.norm(X, axis=1).max()
    assert not intercept or abs(theta.sum()) <= 1e-12


@pytest.mark.parametrize(
    ("intercept", "sparse", "l1_ratio"), [(False, False, 0.0), (True, True, 0.0), (True, False, 0.5)]
)
def test_classes_that_nothing_separates(intercept, sparse, l1_ratio):
    rng = np.random.default_rng(5)
    X, y = separable(rng)
    y[:2] *= -1.0
    problem = Problem(
        sp.csr_array(X) if sparse else X, MeanRisk(HardMargin(), y), 0.1, regularizer_of(l1_ratio), intercept=intercept
    )
    solution = solve(problem, max_iter=1000)
    assert solution.status is Status.INFEASIBLE
    assert not solution.converged
    assert solution.certificate.primal == math.inf
    assert "the constraints are infeasible" in str(solution) and "infinite" in str(solution)
    proves_infeasibility(solution, X, y, True, intercept)


@pytest.mark.parametrize("intercept", [False, True])
def test_targets_that_nothing_goes_through(intercept):
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    solution = solve(Problem(X, MeanRisk(Interpolation(), y), 0.1, intercept=intercept), max_iter=1000)
    assert solution.status is Status.INFEASIBLE
    proves_infeasibility(solution, X, y, False, intercept)
    # but through those of some weights
    y = X @ rng.standard_normal(5) + intercept
    solution = solve(Problem(X, MeanRisk(Interpolation(), y), 0.1, intercept=intercept), tol=1e-6, max_iter=20000)
    assert solution.converged, str(solution)


def test_degenerate_constraints():
    rng = np.random.default_rng(7)
    X, y = separable(rng, n=12, d=3)
    X[3] = 0.0
    # a row without features can't have a margin, unless there is an intercept
    assert solve(Problem(X, MeanRisk(HardMargin(), y), 1.0)).status is Status.INFEASIBLE
    # twice the same row with both labels
    X, y = np.repeat(rng.standard_normal((3, 3)), 2, axis=0), np.tile([1.0, -1.0], 3)
    assert solve(Problem(X, MeanRisk(HardMargin(), y), 1.0, intercept=True)).status is Status.INFEASIBLE
    # without weight it does not count
    weighted = MeanRisk(HardMargin(), y, [1, 0, 0, 1, 1, 0])
    assert solve(Problem(X, weighted, 1.0, intercept=True), tol=1e-6, max_iter=20000).converged
    # one class needs an intercept only
    alone = solve(Problem(X, MeanRisk(HardMargin(), np.ones(6)), 1.0, intercept=True))
    assert alone.converged
    assert np.all(alone.model.weights == 0.0)
    # one example: w = y x / |x|^2
    single = solve(Problem(X[:1], MeanRisk(HardMargin(), [-1.0]), 1.0), tol=1e-9)
    np.testing.assert_allclose(single.model.weights, -X[0] / (X[0] @ X[0]), rtol=1e-9)


def test_a_logarithm_without_a_feasible_model_proves_nothing_and_says_so():
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])
    solution = solve(Problem(X, MeanRisk(NegativeLog(), y), 1.0), max_iter=50)
    assert not solution.converged
    assert solution.certificate.primal == math.inf
    with pytest.raises(FenchelError, match="not bounded below"):
        solve(Problem(X, MeanRisk(NegativeLog(), y), 1.0, intercept=True))


def test_a_logarithm_with_small_margins_is_not_infeasible():
    """Weights of bounded size have a small penalty, and a risk of any size: -log of the smallest margin."""
    X = [[0.247, 0.027], [-0.697, -0.824], [0.197, 0.320], [-1.339, -0.474], [1.306, 2.376], [-1.116, 0.710]]
    X, y = np.array([*X, [1.827, 0.618], [0.921, 0.832]]), np.array([-1.0, 1, -1, 1, -1, -1, -1, -1])
    regularizer = Entropy(prior=0.01, balanced=True)
    problem = Problem(X, MeanRisk("negative_log", y), 0.12, regularizer, intercept=True)
    feasible = Model(np.array([-0.0095, -0.0029]), -0.0088)
    solution = solve(problem, tol=1e-3, max_iter=100)
    known = judge(problem, feasible, solution.witness).certificate
    assert np.isfinite(known.upper)
    assert known.upper < problem.level_bound
    assert solution.status is not Status.INFEASIBLE
    assert solution.certificate.lower <= known.upper


def test_estimators_say_that_it_is_infeasible():
    rng = np.random.default_rng(8)
    X, y = separable(rng)
    model = LinearClassifier("hard_margin", random_state=0, tol=1e-6, max_iter=20000).fit(X, y)
    assert model.score(X, y) == 1.0
    y[:3] *= -1.0
    with pytest.raises(FenchelError, match=r"the constraints are infeasible.*hard_margin"):
        LinearClassifier("hard_margin", random_state=0).fit(X, y)
    with pytest.raises(FenchelError, match="the constraints are infeasible"):
        LinearRegressor("interpolation", random_state=0).fit(X, y)


@pytest.mark.parametrize("solver", ["newton", "bundle", "smoothing", "agm", "pegasos"])
def test_other_solvers_say_why_not(solver):
    X, y = separable(np.random.default_rng(9))
    for loss in LOSSES.values():
        with pytest.raises(FenchelError, match=solver):
            solve(Problem(X, MeanRisk(loss, y), 1.0), solver)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan, math.inf, True, "1"])
def test_bad_tolerances_are_named(tolerance):
    with pytest.raises(FenchelError, match="tolerance must"):
        Interpolation(tolerance)
