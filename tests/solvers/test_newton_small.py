"""The compiled steps of Newton's method on small problems against its steps in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from catalog import CASES, Case
from fenchel import Problem, solve
from fenchel.risks import MeanRisk
from fenchel.solvers import Hint, Newton
from fenchel.solvers.newton import sample as module
from fenchel.solvers.newton import solver as solver_module
from fenchel.solvers.newton import step as step_module

RIDGE_CASES = [case for case in CASES if case.l1_ratio == 0.0 and Newton().supports(case.problem()) is None]
STEPS = 4


def _points(problem, passes):
    """Weights, intercepts and gaps after steps that may use this many data passes."""
    state, solver = Newton(sampling=False).start(problem, None), Newton(sampling=False)
    for _ in range(STEPS * len(state.outputs)):
        solver.step(state, Hint(None, 0.0, lambda: False, passes=passes))
    return [(output.weights, output.intercept, output.gap, output.mu) for output in state.outputs]


@pytest.fixture(autouse=True)
def no_tiny_steps(monkeypatch):
    """Those of tiny problems are in test_newton_tiny.py."""
    for one in (module, solver_module):
        monkeypatch.setattr(one, "is_tiny", lambda *_: False)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("case", RIDGE_CASES, ids=str)
def test_compiled_steps_are_the_steps(case, monkeypatch):
    problem = case.problem()
    compiled = _points(problem, 1.0)
    monkeypatch.setattr(module, "_FEW_FEATURES", 0)
    for found, expected in zip(compiled, _points(problem, 1.0), strict=True):
        scale = 1.0 + np.max(np.abs(expected[0]))
        np.testing.assert_allclose(found[0], expected[0], rtol=0.0, atol=1e-8 * scale)
        assert found[1] == pytest.approx(expected[1], abs=1e-8 * scale)
        assert found[2] == pytest.approx(expected[2], rel=1e-4, abs=1e-10 * problem.risk.value_at_zero)
        assert found[3] == expected[3]


def test_several_steps_in_one_call_are_several_steps():
    problem = Case("hinge", intercept=True, n=200).problem()
    one, solver = Newton(sampling=False).start(problem, None), Newton(sampling=False)
    several = solver.start(problem, None)
    reads = [solver.step(one, Hint(None, 0.0, lambda: False)) for _ in range(5)]
    # the fifth step begins before these passes are used up, and a sixth one would begin after that
    passes = sum(reads[:4]) + 0.5 * reads[4]
    assert solver.step(several, Hint(None, 0.0, lambda: False, passes=passes)) == pytest.approx(sum(reads))
    np.testing.assert_array_equal(one.outputs[0].weights, several.outputs[0].weights)


def test_long_steps_are_divided_among_calls(monkeypatch):
    """A call of a larger problem makes fewer steps, so that limits end it between calls; the steps are the same."""
    problem, hint = Case("squared_hinge", intercept=True, n=200).problem(), Hint(None, 0.0, lambda: False, passes=1e3)
    solver, steps, counts = Newton(sampling=False), step_module.newton_steps, []
    monkeypatch.setattr(step_module, "newton_steps", lambda *a: counts.append(steps(*a)) or counts[-1])
    together, apart = solver.start(problem, None), solver.start(problem, None)
    counts.clear()
    solver.step(together, hint)
    made = counts[-1][0]
    assert made > 2
    monkeypatch.setattr(step_module, "_WORK_BETWEEN_STOP_POINTS", 200 * problem.design.shape[1] ** 2)
    while sum(count for count, _ in counts[1:]) < made:
        solver.step(apart, hint)
        # one step, and another one for its work
        assert counts[-1][0] <= 2
    np.testing.assert_allclose(apart.outputs[0].weights, together.outputs[0].weights, rtol=1e-12)


def test_a_step_does_not_go_beyond_the_target():
    problem = Case("hinge", intercept=True, n=200).problem()
    solver = Newton(sampling=False)
    state = solver.start(problem, None)
    target = 0.01 * problem.risk.value_at_zero
    passes = solver.step(state, Hint(None, target, lambda: False, passes=1000.0))
    assert solver.expected_gap(state) <= target
    assert passes < 100.0


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "X",
    [np.zeros((3, 2)), np.ones((1, 1)), np.array([[1.0, 1.0], [1.0, 1.0]]), np.full((4, 2), 1e9), np.eye(3) * 1e-9],
    ids=["zero", "one row", "equal", "large", "small"],
)
def test_degenerate_problems(X, intercept, loss):
    labels = np.where(np.arange(len(X)) % 2 == 0, 1.0, -1.0)
    solution = solve(Problem(X, MeanRisk(loss, labels), 0.1, intercept=intercept), "newton", tol=1e-6)
    assert solution.converged


def test_steps_without_progress_are_counted_within_a_call():
    """Weights of 1e3 and 1e-4: rounding keeps the gap of Newton's method at 1e-13, and another solver ends it."""
    rng = np.random.default_rng(0)
    X, labels = 20.0 * rng.normal(size=(50, 2)), np.where(np.arange(50) % 2 == 0, 1.0, -1.0)
    weights = np.where(labels > 0, 1e3, 1e-4)
    problem = Problem(X, MeanRisk("hinge", labels, weights), 1.0 / np.sum(weights), intercept=True)
    solution = solve(problem, tol=0.0)
    assert solution.converged
    assert solution.passes < 1000


def test_no_intercept_of_a_first_step_is_far_from_the_best_one():
    """The best one of the logistic loss: from the mean of the labels, or by a search where one class is rare."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 2))
    for positives in (1, 200, 1000):
        labels = np.where(np.arange(2000) < positives, 1.0, -1.0)
        problem = Problem(X, MeanRisk("logistic", labels), 0.1, intercept=True)
        first = Newton(sampling=False).start(problem, None).outputs[0].intercept
        best = problem.risk.constant_intercept
        value = [problem.risk.value(np.full(2000, b)) for b in (first, best)]
        assert value[0] <= (1.0 + 1e-12) * value[1]
        assert positives > 1 or first == best


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [[7, 1, 4], range(12)])
def test_the_rows_of_a_sample_are_those_of_the_design(sparse, rows):
    X = np.random.default_rng(0).standard_normal((12, 3)) * (np.arange(36).reshape(12, 3) % 4 > 0)
    problem = Problem(sp.csr_array(X) if sparse else X, MeanRisk("logistic", np.ones(12)), 0.1)
    sample = module.Sample(problem, np.ones(12), np.array(rows, dtype=np.uint32), None)
    np.testing.assert_array_equal(sample.small.X, X[list(rows)])
    assert sample.small.X.flags.c_contiguous
