"""Averages of the weights of block coordinate descent, against the plain formula and the last weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fenchel import Problem, certify, solve
from fenchel.risks import CrammerSinger, WestonWatkins
from fenchel.solvers import BlockCoordinate
from fenchel.solvers.base import Hint
from fenchel.solvers.block_coordinate.averaging import RunningAverage


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_averages_are_the_weighted_sums_of_the_definition(kind: type) -> None:
    rng = np.random.default_rng(0)
    # more numbers than are averaged at a time
    array = rng.standard_normal((5, 20_000)).astype(kind)
    average = RunningAverage((array,), interval=0.0)
    weights, seen, gap = [], [], math.inf
    for passes, new_gap in [(1.0, 4.0), (0.2, 3.9), (0.3, 1.0), (2.0, 1.5), (0.1, 1.4)]:
        array[:] = rng.standard_normal(array.shape)
        average.record(passes, new_gap)
        kept = min(math.exp(-passes), new_gap / gap if new_gap < gap else 1.0) if seen else 0.0
        weights, seen, gap = [kept * one for one in weights] + [1.0 - kept], [*seen, array.copy()], new_gap
    expected = sum(one * old.astype(float) for one, old in zip(weights, seen, strict=True))
    np.testing.assert_allclose(average.present(1.4)[0], expected, rtol=0.0, atol=100.0 * np.finfo(kind).eps)
    assert sum(weights) == pytest.approx(1.0)


def test_an_interval_between_updates_counts_the_passes_of_all() -> None:
    array = np.zeros(3)
    often, seldom = RunningAverage((array,), 0.0), RunningAverage((array,), 10.0)
    for average in (often, seldom):
        average.record(20.0, 1.0)
    array[:] = 1.0
    for average in (often, seldom):
        average.record(0.5, 1.0)
        average.record(0.5, 1.0)
    np.testing.assert_allclose(often.present(1.0)[0], 1.0 - math.exp(-1.0))
    np.testing.assert_allclose(seldom.averages[0], 0.0)
    np.testing.assert_allclose(seldom.present(1.0)[0], 1.0 - math.exp(-1.0))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("risk", [WestonWatkins, CrammerSinger], ids=["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("intercept", [False, True])
def test_averaged_weights_have_a_smaller_objective_than_the_last(risk: type, intercept: bool) -> None:
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((4, 10))
    classes = rng.integers(0, 4, 800)
    X = centres[classes] + 1.2 * rng.standard_normal((800, 10))
    problem = Problem(X, risk(classes, 4), 1e-3, intercept=intercept)
    solver = BlockCoordinate(seed=0)
    averaged, last, kept = [], [], None
    state = solver.start(problem, None)
    hint = Hint(None, 0.0, lambda: False)
    for _ in range(25):
        solver.step(state, hint)
        model, witness = state.propose()
        averaged.append(certify(problem, model, witness).primal)
        if kept is not None:
            # proposals are copies
            assert all(np.array_equal(*pair) for pair in kept)
        kept = [(one, one.copy()) for one in (model.weights, witness.theta)]
        average, state.average = state.average, None
        last.append(certify(problem, *state.propose()).primal)
        state.average = average
    best = solve(problem, tol=1e-8).certificate.dual
    # the first epochs converge fast, and averages forget them
    assert np.mean(averaged[10:]) - best < 0.8 * (np.mean(last[10:]) - best)


def test_the_model_at_a_fixed_point_is_the_last_one() -> None:
    rng = np.random.default_rng(2)
    X, classes = rng.standard_normal((30, 4)), rng.integers(0, 3, 30)
    # every dual variable is at its bound after one epoch
    problem = Problem(X, WestonWatkins(classes, 3), 100.0)
    solver = BlockCoordinate(seed=0)
    state = solver.start(problem, None)
    hint = Hint(None, 0.0, lambda: False)
    for _ in range(30):
        if solver.step(state, hint) < 0.0:
            break
    assert state.active_set.stalled
    model, _ = state.propose()
    np.testing.assert_array_equal(np.asarray(model.weights), state.blocks.v[:, :3].T)
