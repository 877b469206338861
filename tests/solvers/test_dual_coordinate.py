"""Dual coordinate descent: its compiled loop and its slow twin, shrinking, seeds, every dtype and layout.

What every solver must do is in ``test_every_problem`` and ``test_every_solver``.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from agreement import assert_same_optimum
from catalog import LOSS_OBJECTS, PLAIN_CASES, PLAIN_SPARSE_CASES, Case, loss_id
from fenchel import Problem, solve
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.compile.primitives.random_order import shuffle
from fenchel.compile.primitives.row_norms import squared_norms
from fenchel.designs import as_design
from fenchel.regularizers import L2
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate, Hint
from fenchel.solvers.curvature import squared_norms as norms_of
from fenchel.solvers.dual_coordinate.loop import ALPHA, Intercept, epoch
from fenchel.solvers.shrinking import ActiveSet, random_state

plain_cases = pytest.mark.parametrize("case", PLAIN_CASES, ids=str)
both_plain_cases = pytest.mark.parametrize("case", [*PLAIN_CASES, *PLAIN_SPARSE_CASES], ids=str)


@pytest.mark.parametrize("loss", LOSS_OBJECTS, ids=loss_id)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("constant", [None, 2.5], ids=["plain", "centred"])
@pytest.mark.meetings(1)
def test_compiled_loop_equals_slow_reference(loss, storage, constant):
    """With a free intercept the loop centres the rows in passing; the reference works on centred rows."""
    case = Case(loss.name, storage, n=23, d=4)
    X, y, _ = case.data()
    c = slow.shares(len(y), np.random.default_rng(11).random(len(y)))
    design = as_design(sp.csr_array(X) if storage == "sparse" else X)
    gain = constant or 0.0
    mean = c @ X if constant else np.zeros(4)
    projection = X @ mean if constant else np.zeros(0)
    centred, scale = X - mean, c / case.lam
    curvature, spread = scale * ((centred**2).sum(axis=1) + gain), mean @ mean + gain
    table = np.column_stack([y, np.zeros(len(y)), curvature, scale])
    alpha, v, intercept = table[:, ALPHA], np.zeros(4), Intercept(np.zeros(3), projection, spread)
    slow_alpha, slow_w, slow_b = alpha.copy(), v.copy(), 0.0
    order, state = np.arange(len(y), dtype=np.uint32), 88172645463325252
    random = np.array([state], dtype=np.uint64)
    for _ in range(3):
        expected, state = slow.shuffled(order, state)
        shuffle(order, len(order), random)
        np.testing.assert_array_equal(order, expected)
        assert int(random[0]) == state
        slow_alpha, slow_w, slow_b, slow_gap = slow.coordinate_pass(
            centred, y, loss, c, case.lam, gain, expected, slow_alpha, slow_w, slow_b
        )
        part = Part(order, 0, len(order), 0, np.inf)
        tally = Tally(*epoch(design.rows(), loss.compiled(), L2().compiled(), table, v, intercept, part))
        assert case.lam * tally.gap == pytest.approx(slow_gap, rel=1e-9, abs=1e-13)
        np.testing.assert_allclose(alpha, slow_alpha, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(v - intercept.state[0] * mean, slow_w, rtol=1e-11, atol=1e-13)
        assert intercept.state[2] + gain * intercept.state[0] == pytest.approx(slow_b, rel=1e-11, abs=1e-13)
        assert tally.remaining == len(order)
        assert tally.violation >= 0
        assert 0 <= tally.changes <= tally.remaining
    np.testing.assert_allclose(v, X.T @ (c * alpha) / case.lam, rtol=1e-10, atol=1e-12)


def test_squared_norms_ask_for_care_where_columns_do_not_rise():
    norms = np.empty(3)
    assert squared_norms(as_design(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])).rows(), norms) == 0
    np.testing.assert_array_equal(norms, [5.0, 0.0, 25.0])
    repeated = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 1, 0]), np.array([0, 1, 2, 4])), shape=(3, 2)
    )
    assert squared_norms(as_design(repeated).rows(), norms) == 1
    np.testing.assert_array_equal(norms, [1.0, 4.0, -1.0])


def test_shuffle_permutes_the_front_only():
    order, random = np.arange(20, dtype=np.uint32), np.array([5], dtype=np.uint64)
    shuffle(order, 8, random)
    assert sorted(order[:8]) == list(range(8))
    np.testing.assert_array_equal(order[8:], np.arange(8, 20))


def test_examples_that_rest_are_set_aside_but_not_lost():
    X, y = np.array([[3.0], [0.1], [4.0], [0.2]]), np.ones(4)
    order = np.arange(4, dtype=np.uint32)
    (loss,) = [loss for loss in LOSS_OBJECTS if loss.name == "hinge"]
    table = np.column_stack([y, np.zeros(4), np.ones(4), np.full(4, 1e-9)])
    arguments = (as_design(X).rows(), loss.compiled(), L2().compiled(), table)
    # margins 3, 0.1, 4, 0.2: the first and third rest by more than 1
    intercept = Intercept(np.zeros(3), np.zeros(0), 0.0)
    tally = Tally(*epoch(*arguments, np.array([1.0]), intercept, Part(order, 0, 4, 0, 1.0)))
    assert tally.remaining == 2
    assert set(order[:2]) == {1, 3}
    assert sorted(order) == [0, 1, 2, 3]
    assert tally.violation == pytest.approx(0.9)
    assert tally.changes == 2


@pytest.mark.meetings(1)
@both_plain_cases
def test_deterministic_for_a_seed_and_right_for_each(case):
    problem = case.problem()
    first, again, other = (solve(problem, "dual_coordinate", tol=1e-10, max_iter=3000, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.model.weights, again.model.weights)
    np.testing.assert_array_equal(first.witness.theta, again.witness.theta)
    assert first.passes == again.passes
    assert not np.array_equal(first.witness.theta, other.witness.theta)
    assert_same_optimum(problem, first, other)


@pytest.mark.meetings(1)
@both_plain_cases
def test_shrinking_changes_nothing_but_the_time(case):
    problem = case.problem()
    with_it, without = (solve(problem, DualCoordinate(shrinking=on), tol=1e-10, max_iter=20000) for on in (True, False))
    assert with_it.converged
    assert without.converged
    assert_same_optimum(problem, with_it, without)


@pytest.mark.meetings(1, only=["dtype", "layout"])
@plain_cases
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("layout", ["C", "F", "csr", "csr64"])
def test_every_dtype_gives_the_answer_of_its_values_in_float64(case, dtype, layout, own_storage, rarely_compiled):
    X, y, _ = case.data()
    X = np.round(2 * X).astype(dtype)
    stored = np.array(X, order=layout) if layout in "CF" else sp.csr_array(X)
    if layout == "csr64":
        stored.indices, stored.indptr = stored.indices.astype(np.int64), stored.indptr.astype(np.int64)
    problems = [
        Problem(data, MeanRisk(case.loss, y), case.lam, intercept=case.intercept)
        for data in (stored, X.astype(np.float64))
    ]
    solutions = [solve(problem, "dual_coordinate", tol=1e-9, max_iter=5000) for problem in problems]
    assert all(solution.converged for solution in solutions)
    assert_same_optimum(problems[0], *solutions)


def test_norms_of_rows_are_computed_once_for_a_path_and_never_changed():
    X = np.random.default_rng(6).normal(size=(30, 4))
    labels = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    problem = Problem(X, MeanRisk("hinge", labels), 0.1, intercept=True)
    first = norms_of(problem)
    np.testing.assert_allclose(first, np.sum(X**2, axis=1))
    before = first.copy()
    for lam in (0.1, 0.01):
        again = replace(problem, lam=lam)
        assert solve(again, "dual_coordinate", tol=1e-3).converged
        assert norms_of(again) is first
    np.testing.assert_array_equal(first, before)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_expected_objective_is_the_dual_objective(loss, intercept):
    """It scales the target before the first certificate; an intercept has a constant feature beside it."""
    case = Case(loss, "sparse", n=40, d=6, intercept=intercept)
    problem, solver = case.problem(), DualCoordinate(seed=0)
    state = solver.start(problem, None)
    solver.step(state, Hint(None, 0.0, lambda: False))
    theta, shift = solver.propose(state)[1].theta, state.outputs[0].intercept[0]
    v = (case.data()[0].T @ theta) / problem.lam - (shift * state.mean if intercept else 0.0)
    dual = -0.5 * problem.lam * float(v @ v) - problem.risk.conjugate(theta)
    assert np.any(theta)
    assert solver.expected_objective(state) == pytest.approx(dual, rel=1e-9)


@pytest.mark.parametrize(("extrapolates", "expected"), [(True, 3e-4 * 1e-2), (False, 1e-3 * 0.1)])
def test_the_gap_at_the_end_of_an_epoch_is_extrapolated_where_it_falls_fast(extrapolates, expected):
    active_set = ActiveSet(np.arange(4), 4, extrapolates=extrapolates)
    random, gaps = random_state(0), []
    for gap in (1.0, 0.5, 1e-2, 1e-4):
        part = active_set.next_part(4, random, True)
        active_set.record((4, 1.0, 1, gap), part.end, 1.0)
        active_set.end_epoch()
        gaps.append(active_set.expected_gap)
    # the first epoch and one that halves the gap say nothing about the end
    assert gaps[:2] == [1.0, 0.5]
    assert gaps[3] == pytest.approx(expected)
    assert gaps[2] == pytest.approx(6e-4 if extrapolates else 1e-2)
