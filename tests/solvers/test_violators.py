"""More turns for the examples that violate most: they raise the dual, and end the crawl of a few near duplicates."""

import numpy as np
import pytest

from dual_coordinate_parts import dual_value, small_problem
from fenchel import Problem, solve
from fenchel.compile.primitives.epoch import Part
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate, Hint
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVATURE, LABEL, SCALE, Intercept, epoch
from fenchel.solvers.dual_coordinate.violators import Violators


def _started(problem, steps=3):
    solver = DualCoordinate()
    state = solver.start(problem, None)
    for _ in range(steps):
        solver.step(state, Hint(None, 0.0, lambda: False))
    return state, state.outputs[0]


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber_hinge", "epsilon_insensitive"])
def test_epochs_over_a_list_raise_the_dual_and_keep_the_sums(loss, intercept, as_sparse):
    problem = small_problem(loss, intercept, as_sparse)
    state, output = _started(problem)
    before, old, table = dual_value(state), output.table[:, ALPHA].copy(), output.table.copy()
    listed = np.array([3, 17, 20, 41, 59, 0, 5], dtype=np.uint32)
    violators = Violators(np.append(listed, np.zeros(4, np.uint32)))
    violators.worst[-1] = len(listed)
    turns = violators.settle(state, output, 400, 1000)
    assert 0 < turns <= 100 + len(listed)
    assert dual_value(state) > before
    alpha = output.table[:, ALPHA]
    np.testing.assert_array_equal(np.delete(alpha, listed), np.delete(old, listed))
    np.testing.assert_array_equal(output.table[:, [LABEL, CURVATURE, SCALE]], table[:, [LABEL, CURVATURE, SCALE]])
    theta = problem.risk.shares * alpha
    low, high = problem.mean_risk.loss.domain(problem.mean_risk.labels)
    assert np.all((alpha >= -high) & (alpha <= -low))
    np.testing.assert_allclose(output.v, problem.design.adjoint(theta) / problem.lam, atol=1e-12)
    if intercept:
        assert output.intercept[0] == pytest.approx(np.sum(theta) / problem.lam, abs=1e-12)
        assert output.intercept[1] == pytest.approx(state.mean @ output.v, abs=1e-10)


@pytest.mark.parametrize("room", [0, 1, 5, 60])
def test_an_epoch_lists_the_examples_that_violate_most_until_there_is_no_room(room):
    problem = small_problem("hinge", intercept=False)
    state, output = _started(problem, steps=1)
    # steps that are too short to change a violation
    output.table[:, CURVATURE] = 1e9
    margins = 1.0 - output.table[:, LABEL] * problem.design.scores(output.v)
    beta = output.table[:, LABEL] * output.table[:, ALPHA]
    violations = np.where(beta <= 0, np.maximum(margins, 0), np.where(beta >= 1, np.maximum(-margins, 0), abs(margins)))
    least = float(np.quantile(violations, 0.8))
    order = np.random.default_rng(1).permutation(60).astype(np.uint32)
    expected = [i for i in order if violations[i] > least][:room]
    worst = np.zeros(room + 1, dtype=np.uint32)
    rest = (output.table, output.v, Intercept(output.intercept, np.zeros(0), 0.0))
    # in two parts, as large data have them
    for begin, end in ((0, 20), (20, 60)):
        part = Part(order, begin, end, begin, np.inf, worst=worst, listed_from=least)
        epoch(state.rows, state.loss, state.regularizer, *rest, part)
    assert worst[-1] == len(expected)
    np.testing.assert_array_equal(worst[: len(expected)], expected)


def test_full_lists_and_lists_of_one_example_are_of_no_use():
    state, output = _started(small_problem("hinge", intercept=False))
    old = output.table.copy()
    for count, room in ((0, 3), (1, 3), (3, 3)):
        worst = np.arange(room + 1, dtype=np.uint32)
        worst[-1] = count
        assert Violators(worst).settle(state, output, 60, 1000) == 0
    np.testing.assert_array_equal(output.table, old)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_few_near_duplicates_take_fewer_passes(monkeypatch, intercept):
    """Epochs alone move the variables of near duplicates by little at a time, for hundreds of passes."""
    random = np.random.default_rng(1)
    X = random.standard_normal((600, 900)) / 30.0
    X[:10] = X[10:20] + 3e-3 * random.standard_normal((10, 900))
    y = np.where(random.standard_normal(600) > 0, 1.0, -1.0)
    y[:10] = y[10:20]
    problem = Problem(X, MeanRisk("hinge", y), 1.0 / len(y), intercept=intercept)

    def passes():
        found = [solve(problem, DualCoordinate(), tol=1e-6, seed=seed, max_iter=3000) for seed in range(3)]
        return sum(one.passes for one in found)

    with_lists = passes()
    monkeypatch.setattr(Violators, "settle", lambda *_: 0)
    assert with_lists < 0.6 * passes()


@pytest.mark.parametrize("options", [{"stretch": 1.2}, {"rule": "exact"}, {"shuffle": False}, {"shrinking": False}])
def test_steps_of_the_papers_stay_as_they_are(options):
    problem, solver = small_problem("hinge", intercept=False), DualCoordinate(**options)
    assert solver.start(problem, None).outputs[0].violators is None


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_exact_steps_solve_few_orthogonal_rows_in_few_passes(loss, intercept):
    """Over-relaxed ones overshoot each of them, in every epoch."""
    random = np.random.default_rng(0)
    y = random.standard_normal(30) if loss == "epsilon_insensitive" else np.where(np.arange(30) % 2, 1.0, -1.0)
    X = random.standard_normal((30, 1500))
    problem = Problem(X, MeanRisk(loss, y), 3.0, intercept=intercept)
    found = [solve(problem, DualCoordinate(), tol=1e-3, seed=seed) for seed in range(5)]
    assert all(one.converged for one in found)
    assert sum(one.passes for one in found) < 5 * 70


def test_near_duplicates_among_few_rows_are_solved_within_the_limit_of_passes():
    """Lists of violators have hardly any room there: steps on all free variables follow sooner."""
    random = np.random.default_rng(6)
    X = random.standard_normal((100, 60))
    X[:33] = X[33:66] + 1e-3 * random.standard_normal((33, 60))
    y = np.where(X @ random.standard_normal(60) + random.standard_normal(100) > 0, 1.0, -1.0)
    problem = Problem(X, MeanRisk("hinge", y), 0.006, intercept=True)
    assert all(solve(problem, DualCoordinate(), tol=1e-6, seed=seed).converged for seed in range(8))
