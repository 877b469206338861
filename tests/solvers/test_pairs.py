"""Kernels in memory: steps on pairs and projected Newton steps, against random epochs and recomputed sums."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel import Problem, solve
from fenchel.kernels import GramDesign, GramNorm
from fenchel.losses import Quantile, as_loss
from fenchel.problem import Model, Witness
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate
from fenchel.solvers.base import Hint, Start
from fenchel.solvers.dual_coordinate.pairs import descend_on_pairs, free_pairs_among
from fenchel.solvers.dual_coordinate.projected_newton import newton_step

PIECEWISE = ("hinge", "squared_hinge", "huber_hinge", "epsilon_insensitive", "squared_epsilon_insensitive", "huber")
#: no KKT margin tells anything: random epochs
OTHERS = ("logistic", "exponential")


def _problem(
    loss: object, intercept: bool = False, seed: int = 0, n: int = 60, weights: bool = False, width: float = 1.0
) -> Problem:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 3))
    # equal rows: K is singular
    X[: n // 6] = X[n // 6 : 2 * (n // 6)]
    distances = np.sum((X[:, None] - X) ** 2, axis=2)
    gram = GramDesign(np.exp(-width * distances))
    y = np.where(X[:, 0] + random.standard_normal(n) > 0, 1.0, -1.0)
    if as_loss(loss).task == "regression":
        y = np.abs(X[:, 0] + 0.3 * random.standard_normal(n))
    share = random.integers(0, 3, n).astype(float) if weights else None
    return Problem(gram, MeanRisk(loss, y, share), 1.0 / (50.0 * n), GramNorm(gram), intercept)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [*PIECEWISE, *OTHERS, Quantile(0.8)], ids=str)
def test_agrees_with_random_epochs(loss: object, intercept: bool, weights: bool) -> None:
    problem = _problem(loss, intercept, weights=weights)
    found = solve(problem, DualCoordinate(), tol=1e-7, max_iter=20000).certificate
    other = solve(problem, DualCoordinate(rule="exact"), tol=1e-4, max_iter=20000).certificate
    assert found.meets(1e-7)
    assert found.lower <= other.upper
    assert other.lower <= found.upper


def _started(problem: Problem) -> tuple[DualCoordinate, object]:
    solver = DualCoordinate(seed=0)
    return solver, solver.start(problem, None)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", PIECEWISE)
def test_running_sums_are_those_of_theta(loss: str, intercept: bool) -> None:
    solver, state = _started(_problem(loss, intercept))
    for _ in range(5):
        solver.step(state, Hint(None, 0.0, lambda: False, passes=1.0))
    [output] = state.outputs
    kept, sums = output.v.copy(), output.intercept.copy()
    assert np.any(output.v)
    state.refresh(output)
    np.testing.assert_allclose(kept, output.v, atol=1e-9 * np.max(np.abs(output.v)))
    np.testing.assert_allclose(sums, output.intercept, atol=1e-9 * np.max(np.abs(output.v)))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "squared_hinge"])
def test_running_sums_of_pairs_among_few_examples(loss: str, count: int) -> None:
    """Of one example, or of several of which one gains alone, the partner of a step is none."""
    problem = _problem(loss)
    for first in range(0, problem.risk.examples, 7):
        _, state = _started(problem)
        [output] = state.outputs
        active = np.arange(first, min(first + count, problem.risk.examples))
        steps = free_pairs_among(state, output, active, np.arange(problem.risk.examples), 0.0, 40)
        assert steps > 0
        kept = output.v.copy()
        state.refresh(output)
        np.testing.assert_allclose(kept, output.v, atol=1e-12 * np.max(np.abs(output.v)))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", PIECEWISE)
def test_steps_never_lower_the_dual(loss: str, intercept: bool) -> None:
    _, state = _started(_problem(loss, intercept, seed=1))
    [output] = state.outputs

    def dual() -> float:
        # the augmented Lagrangian that the steps maximize: with the constant feature and the present centre
        value = state.objective()
        total, centre, lam = output.intercept[0], output.intercept[2], state.problem.lam
        return value - lam * total * (0.5 * output.constant * total + centre)

    for _ in range(6):
        part = output.active_set.next_part(10**6, state.random, True)
        before = dual()
        descend_on_pairs(state, output, part, 6)
        between = dual()
        assert between >= before - 1e-12
        newton_step(state, output, 10**6)
        assert dual() >= between - 1e-12


@pytest.mark.parametrize("loss", [*PIECEWISE, Quantile(0.8)], ids=str)
def test_steps_keep_the_sum_of_theta_and_its_bounds(loss: object) -> None:
    problem = _problem(loss, intercept=True, weights=True, seed=4)
    _, state = _started(problem)
    [output] = state.outputs
    for _ in range(8):
        part = output.active_set.next_part(10**6, state.random, True)
        descend_on_pairs(state, output, part, 20)
        newton_step(state, output, 10**6)
        theta = state.theta()
        assert abs(np.sum(theta)) <= 1e-12 * max(1.0, np.sum(np.abs(theta)))
        low, high = problem.mean_risk.loss.domain(output.table[:, 0])
        assert np.all(-output.table[:, 1] >= low) and np.all(-output.table[:, 1] <= high)
    assert np.any(theta)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_pairs_are_chosen_by_second_order(loss: str) -> None:
    """The first pair is the one that WSS 2 of Fan, Chen and Lin takes, by its formula over all pairs."""
    problem = _problem(loss, intercept=True, seed=5)
    _, state = _started(problem)
    [output] = state.outputs
    gram, form = problem.gram_in_memory.descending().values, problem.mean_risk.loss.piecewise_quadratic()
    part = output.active_set.next_part(10**6, state.random, True)
    low, high = (-bound for bound in reversed(problem.mean_risk.loss.domain(output.table[:, 0])))
    up = np.where(high > 0.0, form.epsilon - output.table[:, 0], np.inf)
    down = np.where(low < 0.0, -form.epsilon - output.table[:, 0], -np.inf)
    curvature = np.diag(gram) + form.kappa / output.table[:, 3]
    i = int(np.argmin(up))
    gains = np.where(
        down > up[i], (down - up[i]) ** 2 / np.maximum(curvature[i] + curvature - 2.0 * gram[i], 1e-12), 0.0
    )
    descend_on_pairs(state, output, part, 2)
    assert set(np.flatnonzero(output.table[:, 1])) == {i, int(np.argmax(gains))}


def test_a_warm_start_whose_sum_is_not_zero() -> None:
    problem = _problem("hinge", intercept=True, seed=6)
    theta = np.where(problem.mean_risk.labels > 0.0, 1.0, -0.25) / 60.0
    start = Start(Model(theta / problem.lam, None), Witness(theta))
    assert solve(problem, DualCoordinate(), tol=1e-8, warm_start=start, max_iter=5000).converged


def test_one_newton_step_is_exact_where_no_bound_is_reached() -> None:
    """The squared loss has no bounds: the first undamped step solves the linear system."""
    problem = _problem("squared", seed=2, width=4.0)
    _, state = _started(problem)
    [output] = state.outputs
    output.table[:, 1] = 1e-3
    state.refresh(output)
    output.damping = 0.0
    assert newton_step(state, output, 10**6) == problem.risk.examples
    gram = problem.gram_in_memory.descending().values
    theta = np.linalg.solve(gram / problem.lam + np.eye(60) / problem.risk.shares, problem.mean_risk.labels)
    np.testing.assert_allclose(state.theta(), theta, atol=1e-10 * np.max(np.abs(theta)))


def test_several_outputs() -> None:
    random = np.random.default_rng(3)
    X = random.standard_normal((50, 2))
    gram = GramDesign(X @ X.T + 1.0)
    labels = np.where(random.standard_normal((50, 3)) + X[:, :1] > 0, 1.0, -1.0)
    problem = Problem(gram, MeanRisk("hinge", labels), 1e-3, GramNorm(gram))
    assert solve(problem, DualCoordinate(), tol=1e-6, max_iter=20000).converged


def test_max_iter_is_kept() -> None:
    """Pairs of few examples: each call makes about one pass before a Newton step and the next look at limits."""
    random = np.random.default_rng(60)
    X = random.standard_normal((60, 2))
    y = np.where(X[:, 0] + 0.5 * random.standard_normal(60) > 0, 1.0, -1.0)
    gram = GramDesign(np.exp(-0.1 * np.sum((X[:, None] - X) ** 2, axis=2)))
    problem = Problem(gram, MeanRisk("hinge", y), 1.0 / (1e5 * 60), GramNorm(gram))
    assert solve(problem, DualCoordinate(), tol=1e-3, max_iter=20).passes <= 24
    assert solve(problem, DualCoordinate(), tol=1e-3, max_iter=1000).converged


@pytest.mark.parametrize("intercept", [False, True])
def test_rows_of_zeros_have_no_curvature(intercept: bool) -> None:
    """A linear kernel with rows of zeros: their variables move without a change of any score."""
    random = np.random.default_rng(7)
    X = random.standard_normal((40, 3))
    X[::4] = 0.0
    y = np.where(X[:, 0] + 0.3 * random.standard_normal(40) > 0, 1.0, -1.0)
    gram = GramDesign(X @ X.T)
    problem = Problem(gram, MeanRisk("hinge", y), 1e-2, GramNorm(gram), intercept)
    found = solve(problem, DualCoordinate(), tol=1e-8, max_iter=5000)
    linear = solve(Problem(X, MeanRisk("hinge", y), 1e-2, intercept=intercept), tol=1e-8).certificate
    assert found.converged
    assert found.certificate.lower <= linear.upper and linear.lower <= found.certificate.upper
