"""The compiled proximal Newton steps of small problems, and the dual point of the quadratic model."""

import numpy as np
import pytest
import scipy.sparse as sp

from catalog import Case
from fenchel import Problem, certify, solve
from fenchel.losses import LOSSES
from fenchel.regularizers import L1
from fenchel.risks import MeanRisk
from fenchel.solvers import Hint, ProxNewton
from fenchel.solvers.l1 import newton_step as module
from fenchel.solvers.l1.loop_small import newton_steps

#: those whose curvature is bounded and not the same everywhere
CURVED = [name for name in LOSSES if name in ("logistic", "squared_hinge", "huber_hinge", "huber")]
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def problem_of(loss, intercept, weighted=True, lam=0.02):
    X, labels, weights = Case(loss, n=60, weighted=weighted).data()
    return Problem(X, MeanRisk(loss, labels, weights), lam, L1(), intercept=intercept)


@intercepts
@pytest.mark.parametrize("loss", CURVED)
def test_the_answer_is_that_of_the_steps_in_numpy(loss, intercept, monkeypatch):
    problem = problem_of(loss, intercept)
    compiled = solve(problem, ProxNewton(), tol=1e-10)
    assert compiled.converged
    monkeypatch.setattr(module, "FEW_FEATURES", 0)
    plain = solve(problem, ProxNewton(), tol=1e-10)
    np.testing.assert_allclose(compiled.model.weights, plain.model.weights, atol=1e-4)
    np.testing.assert_array_equal(compiled.model.weights == 0.0, plain.model.weights == 0.0)
    assert certify(problem, compiled.model).primal == pytest.approx(plain.certificate.primal, rel=1e-9)


@intercepts
def test_each_step_decreases_the_objective_and_keeps_the_scores(intercept):
    problem = problem_of("logistic", intercept)
    small, loss = module.small_problem(problem), problem.mean_risk.loss.compiled()
    small.numbers[module.DAMPING] = 1e-3
    objectives = [problem.risk.value_at_zero]
    for _ in range(6):
        if not newton_steps(loss, small, 0.0, 1):
            break
        at = problem.design.scores(small.weights) + small.numbers[module.INTERCEPT]
        np.testing.assert_allclose(small.scores, at, atol=1e-12)
        objectives.append(problem.lam * np.abs(small.weights).sum() + problem.risk.value(at))
    assert len(objectives) > 3
    assert np.all(np.diff(objectives) <= 1e-15)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_dual_point_of_the_model_is_feasible_where_it_is_proposed(storage):
    """One step before the gradient at the scores would be, and certified from the data as every other dual point."""
    X, labels, _ = Case("logistic", n=200, d=12).data()
    problem = Problem(sp.csr_array(X) if storage == "sparse" else X, MeanRisk("logistic", labels), 0.01, "l1")
    solver = ProxNewton()
    state = solver.start(problem, None)
    while state.outputs[0].witness is None:
        assert solver.step(state, Hint(None, 1e-3 * problem.risk.value_at_zero, lambda: False, passes=100.0)) > 0.0
    model, witness = solver.propose(state)
    gradient = -problem.risk.subgradient(problem.design.scores(model.weights))
    largest = [float(np.max(np.abs(problem.design.adjoint(theta)))) for theta in (witness.theta, gradient)]
    assert largest[0] / problem.lam - 1.0 < 0.1 * (largest[1] / problem.lam - 1.0)


@pytest.mark.parametrize(
    "X", [np.ones((1, 1)), np.zeros((5, 2)), np.repeat(np.eye(4), 3, axis=1), np.full((6, 1), 1e8)]
)
def test_degenerate_data_are_solved(X):
    labels = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    for intercept in (False, True):
        problem = Problem(X, MeanRisk("logistic", labels), 1e-3, "l1", intercept=intercept)
        assert solve(problem, ProxNewton(), tol=1e-6).converged
