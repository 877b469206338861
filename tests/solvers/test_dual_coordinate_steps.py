"""Steps of dual coordinate descent: bounded, resumable in the middle of a pass, and they end without a tolerance."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from catalog import CASES, PLAIN_CASES, Case
from fenchel import Problem, Status, solve
from fenchel.losses import LOSSES
from fenchel.risks import MeanRisk
from fenchel.solvers import STALLED, DualCoordinate, Hint
from fenchel.solvers.dual_coordinate import solver as module

plain_cases = pytest.mark.parametrize("case", PLAIN_CASES, ids=str)
CLASSIFICATION = [name for name, loss in LOSSES.items() if loss.task == "classification"]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_tol_zero_ends_quickly_with_a_status(case):
    begin = time.process_time()
    solution = solve(case.problem(), tol=0.0, max_iter=100_000)
    assert solution.status in (Status.FLOOR, Status.STALLED, Status.CONVERGED)
    assert solution.certificate.at_floor or solution.certificate.relative_gap <= 1e-12
    assert time.process_time() - begin < 10


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("entries", [1, 20])
def test_bounded_steps_resume_in_the_middle_of_a_pass(case, entries, monkeypatch):
    whole = solve(case.problem(), tol=1e-10, max_iter=5000)
    monkeypatch.setattr(module, "_STEP_ENTRIES", entries)
    problem, solver = case.problem(), DualCoordinate()
    per_row = max(1, problem.design.stored_entries // problem.design.shape[0])
    state, outputs = solver.start(problem, None), problem.risk.outputs or 1
    for _ in range(50):
        used = solver.step(state, Hint(None, 0.0, lambda: False))
        assert 0 < used * problem.design.shape[0] * outputs <= max(1, entries // per_row) + 1e-9
        assert sorted(state.outputs[0].active_set.order) == list(np.flatnonzero(problem.risk.shares > 0))
    pieces = solve(problem, tol=1e-10, max_iter=5000)
    assert pieces.converged
    assert pieces.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-9)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_state_is_valid_after_any_step_and_proposals_are_copies(case, monkeypatch):
    monkeypatch.setattr(module, "_STEP_ENTRIES", 30)
    problem, solver = case.problem(), DualCoordinate()
    state = solver.start(problem, None)
    for _ in range(30):
        solver.step(state, Hint(None, 0.0, lambda: False))
        model, witness = solver.propose(state)
        kept = witness.theta.copy(), model.weights.copy()
        assert model.weights.shape == problem.weights_shape
        assert witness.theta.shape == problem.theta_shape
        # w = X^T theta / lam (for centred rows if the intercept is free), and theta is in the domain
        mean = problem.design.adjoint(problem.risk.shares) if problem.intercept else np.zeros(problem.design.shape[1])
        centred = problem.design.adjoint(witness.theta) - np.multiply.outer(witness.theta.sum(axis=0), mean)
        np.testing.assert_allclose(model.weights, centred / problem.lam, atol=1e-12)
        np.testing.assert_allclose(problem.risk.project(witness.theta), witness.theta, rtol=1e-14, atol=1e-18)
    solver.step(state, Hint(None, 0.0, lambda: False))
    np.testing.assert_array_equal(kept[0], witness.theta)
    np.testing.assert_array_equal(kept[1], model.weights)


def test_dual_objective_never_falls_without_an_intercept():
    for loss in LOSSES:
        problem, solver = Case(loss, lam=0.01).problem(), DualCoordinate(shrinking=False)
        state, last = solver.start(problem, None), -np.inf
        for _ in range(40):
            solver.step(state, Hint(None, 0.0, lambda: False))
            theta = solver.propose(state)[1].theta
            v = problem.design.adjoint(theta) / problem.lam
            value = -problem.lam * problem.regularizer.conjugate(v) - problem.risk.conjugate(theta)
            assert value >= last - 1e-14
            last = value


def test_a_solved_problem_stalls():
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    problem, solver = Problem(X, MeanRisk("hinge", y), 0.5), DualCoordinate()
    state = solver.start(problem, None)
    used = [solver.step(state, Hint(None, 0.0, lambda: False)) for _ in range(20)]
    assert used[-1] == STALLED
    np.testing.assert_allclose(solver.propose(state)[0].weights, [1.0])


@pytest.mark.parametrize("label", [1.0, -1.0])
@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_one_class_with_an_intercept_has_optimum_zero(loss, label):
    X = np.random.default_rng(13).normal(size=(7, 3))
    solution = solve(Problem(X, MeanRisk(loss, np.full(7, label)), 0.1, intercept=True), tol=1e-8)
    assert solution.converged
    assert solution.certificate.primal <= 1e-8
    np.testing.assert_allclose(solution.model.weights, 0, atol=1e-6)
    assert solution.model.intercept * label > 0


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("X", [np.array([[2.0, 0.0]]), np.zeros((1, 2)), np.zeros((5, 2)), np.ones((5, 1))])
def test_degenerate_data(loss, intercept, X):
    y = np.where(np.arange(len(X)) % 2 == 0, 1.0, -1.0)
    for design in (X, sp.csr_array(X)):
        solution = solve(Problem(design, MeanRisk(loss, y), 0.1, intercept=intercept), tol=1e-9)
        assert solution.converged
        assert np.all(np.isfinite(solution.model.weights))
        assert np.isfinite(solution.model.intercept)
        assert np.all(solution.model.weights[~X.any(axis=0)] == 0)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("lam", [1e-6, 1e-4, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_scale_of_lam(loss, lam, intercept):
    """Large C means large curvature: steps must stay exact there."""
    case = Case(loss, intercept=intercept, lam=lam, n=30, d=40)
    solution = solve(case.problem(), tol=1e-4, max_iter=20000)
    assert solution.converged, str(solution)


@pytest.mark.parametrize("lam", [1.0, 1e2, 1e3, 1e4])
@pytest.mark.parametrize(("loss", "y"), [("squared", [1, 3, 2]), ("logistic", [1, 1, -1]), ("hinge", [1, 1, -1])])
def test_a_strong_regularizer_does_not_hold_back_the_free_intercept(loss, y, lam):
    """The intercept is not regularized, so a large lam must not slow its way to the optimum."""
    problem = Problem(np.array([[0.0], [1.0], [3.0]]), MeanRisk(loss, y), lam, intercept=True)
    solution = solve(problem, tol=1e-6, max_iter=1000)
    assert solution.converged, str(solution)


@plain_cases
def test_a_midpoint_intercept_where_the_minimizer_is_an_interval(case):
    """Two points far apart: any b with margins above 1 is optimal for the hinge; the middle is taken."""
    y, s = np.array([1.0, -1.0]), np.linspace(-3, 3, 7)
    problem = Problem(np.zeros((2, 1)), MeanRisk(case.loss, y), 1.0, intercept=True)
    solution = solve(problem, tol=0.0)
    formula = slow.FORMULAS[case.loss]
    if np.array_equal(formula(s, 1.0), formula(-s, -1.0)):
        assert solution.model.intercept == pytest.approx(0.0, abs=1e-12)
    else:
        low, high = slow.intercept_minimizers(case.loss, 0.0 * y, y, np.full(2, 0.5))
        assert solution.model.intercept == pytest.approx((low + high) / 2, abs=1e-6)
