"""Conjugate gradients on the free dual variables: they raise the dual, and end the crawl of near duplicates."""

import numpy as np
import pytest

from dual_coordinate_parts import dual_value, small_problem
from fenchel import Problem, solve
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate, Hint
from fenchel.solvers.dual_coordinate import face
from fenchel.solvers.dual_coordinate.loop import ALPHA, LABEL
from fenchel.stopping import Stopped, stops_when


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_a_step_raises_the_dual_and_keeps_the_sums(loss, intercept, as_sparse):
    problem, solver = small_problem(loss, intercept, as_sparse), DualCoordinate()
    state = solver.start(problem, None)
    for _ in range(3):
        solver.step(state, Hint(None, 0.0, lambda: False))
    (output,) = state.outputs
    before, old = dual_value(state), output.table[:, ALPHA].copy()
    output.passes_before_face = 0.0
    assert face.face_step(state, output, 0) > 0
    assert dual_value(state) > before
    assert np.any(output.table[:, ALPHA] != old)
    theta = problem.risk.shares * output.table[:, ALPHA]
    low, high = problem.mean_risk.loss.domain(problem.mean_risk.labels)
    assert np.all((output.table[:, ALPHA] >= -high) & (output.table[:, ALPHA] <= -low))
    np.testing.assert_allclose(output.v, problem.design.adjoint(theta) / problem.lam, atol=1e-12)
    if intercept:
        assert output.intercept[0] == pytest.approx(np.sum(theta) / problem.lam, abs=1e-12)
        assert output.intercept[1] == pytest.approx(state.mean @ output.v, abs=1e-10)


def test_it_minimizes_over_the_free_variables(monkeypatch):
    """The gradient in the free variables is small after one call with enough products."""
    monkeypatch.setattr(face, "_ACCURACY", 1e-24)
    monkeypatch.setattr(face, "_MOST_PRODUCTS", 300)
    problem, solver = small_problem("squared_hinge", intercept=False), DualCoordinate()
    state = solver.start(problem, None)
    (output,) = state.outputs
    for _ in range(3):
        solver.step(state, Hint(None, 0.0, lambda: False))
    output.passes_before_face = 0.0
    face.face_step(state, output, 0)
    free = output.table[:, ALPHA] != 0.0
    slopes = problem.design.scores(output.v) - output.table[:, LABEL] + 0.5 * output.table[:, ALPHA]
    assert np.max(np.abs(slopes[free])) <= 1e-9


def test_near_duplicates_take_fewer_passes(monkeypatch):
    """Epochs alone move the variables of near duplicates by little at a time, for hundreds of passes."""
    random = np.random.default_rng(1)
    X = random.standard_normal((80, 200)) / np.sqrt(200.0)
    X = np.vstack([X, X + 1e-3 * random.standard_normal(X.shape)])
    y = np.tile(np.where(random.standard_normal(80) > 0, 1.0, -1.0), 2)
    problem = Problem(X, MeanRisk("hinge", y), 1.0 / (10.0 * len(y)))

    def passes():
        found = [solve(problem, DualCoordinate(), tol=1e-9, seed=seed, max_iter=3000) for seed in range(3)]
        return max(one.passes for one in found)

    with_steps = passes()
    monkeypatch.setattr(DualCoordinate, "_takes_faces", lambda *_: False)
    assert with_steps < 0.5 * passes()


def test_a_stop_between_products_leaves_the_dual_variables_as_they_were():
    problem, solver = small_problem("hinge", True), DualCoordinate()
    state = solver.start(problem, None)
    solver.step(state, Hint(None, 0.0, lambda: False))
    (output,) = state.outputs
    before, sums = output.table.copy(), output.v.copy()
    output.passes_before_face = 0.0
    with pytest.raises(Stopped), stops_when(lambda: True, lambda: 0.0):
        face.face_step(state, output, 0)
    np.testing.assert_array_equal(output.table, before)
    np.testing.assert_array_equal(output.v, sums)
