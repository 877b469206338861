"""Laws of dual variables that stay beside their groups: the same iterates, few numbers in an exchange, and losses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fenchel import Problem, certify, solve
from fenchel.dask import CoCoA
from fenchel.dask.in_process import in_groups
from fenchel.dask.resident import Resident, Turn
from fenchel.risks import MeanRisk, WestonWatkins

LAM, ENDS = 0.02, [31, 60]
#: more than the features and classes have together, so that vectors of examples are told apart
ROWS = 120


def problem_of(name, intercept=True):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((ROWS, 4))
    signal = X[:, 0] + 0.5 * rng.standard_normal(ROWS)
    y = np.where(signal > 0.1, 1.0, -1.0)
    risk = (
        WestonWatkins(np.digitize(signal, [-0.5, 0.5])) if name == "joint" else MeanRisk(name, y, np.arange(ROWS) % 3)
    )
    return Problem(in_groups(X, ENDS), risk, LAM, intercept=intercept), Problem(X, risk, LAM, intercept=intercept)


def run(problem, rounds, losses=0):
    solver = CoCoA(seed=3)
    state = solver.start(problem, None)
    state.losses = losses
    for _ in range(rounds):
        solver.step(state, None)
    return state


def lose(state, group=1):
    """As after the death of a worker: what stays beside a group is made again, without its dual variables."""
    state.held[group] = Resident(state.held[group].kept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["hinge", "logistic", "joint"])
def test_iterates_are_those_of_dual_variables_that_travel(name, intercept):
    split, _ = problem_of(name, intercept)
    staying, travelling = run(split, 8), run(split, 8, losses=100)
    assert travelling.travels
    assert not staying.travels
    assert_array_equal(staying.theta, travelling.theta)
    assert_array_equal(staying.v, travelling.v)
    assert np.any(staying.theta)


@pytest.mark.parametrize("name", ["hinge", "joint"])
def test_no_numbers_of_examples_are_exchanged_in_a_round(name, monkeypatch):
    split, _ = problem_of(name)
    solver = CoCoA(seed=3)
    state = solver.start(split, None)
    # the first round sends where it begins
    solver.step(state, None)
    ends, largest = in_groups(np.zeros((ROWS, 1)), ENDS).spans, []
    shortest = min(span.stop - span.start for span in ends)
    groups = split.design.groups
    original = groups.map

    def counted(function, held, turns, *each, **common):
        found = original(function, held, turns, *each, **common)
        largest.append(max(np.size(value) for result in found for value in result if value is not None))
        assert all(turn.alpha is None for turn in turns)
        return found

    monkeypatch.setattr(groups, "map", counted)
    for _ in range(5):
        solver.step(state, None)
    assert len(largest) == 5
    assert max(largest) < shortest


@pytest.mark.parametrize("name", ["hinge", "joint"])
def test_after_a_loss_rounds_go_on_from_the_dual_variables_that_were_gathered_last(name):
    split, whole = problem_of(name)
    solver = CoCoA(seed=3)
    state = solver.start(split, None)
    for _ in range(4):
        solver.step(state, None)
    known = state.propose()[1].theta
    for _ in range(3):
        solver.step(state, None)
    lose(state)
    model, witness = state.propose()
    assert_array_equal(witness.theta, known)
    solver.step(state, None)
    assert state.losses == 1
    # the weights follow the dual variables
    v = split.design.adjoint(state.theta).T / LAM
    assert_allclose(state.v, v, rtol=1e-12, atol=1e-12)
    for _ in range(100):
        solver.step(state, None)
    assert state.losses == 1
    found, expected = certify(split, *state.propose()), solve(whole, tol=1e-8).certificate
    assert found.relative_gap < certify(split, model, witness).relative_gap
    assert found.dual <= expected.primal + 1e-12
    assert expected.dual <= found.primal + 1e-12


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "joint"])
@pytest.mark.parametrize("every", [1, 3, 50])
def test_fits_converge_whatever_is_lost(name, every, monkeypatch):
    split, whole = problem_of(name)
    groups, calls = split.design.groups, []
    original, place = groups.map, groups.place
    held = []

    def remembered(function, *each, **common):
        found = place(function, *each, **common)
        if isinstance(found[0], Resident):
            held[:] = [found]
        return found

    def losing(function, *each, **common):
        calls.append(function)
        if held and len(calls) % every == 0:
            k = len(calls) % len(held[0])
            held[0][k] = Resident(held[0][k].kept)
        return original(function, *each, **common)

    monkeypatch.setattr(groups, "place", remembered)
    monkeypatch.setattr(groups, "map", losing)
    found = solve(split, CoCoA(seed=3), tol=1e-3, max_iter=20_000)
    expected = solve(whole, tol=1e-8).certificate
    assert found.converged
    assert len(calls) > every
    assert found.certificate.dual <= expected.primal + 1e-12
    assert expected.dual <= found.certificate.primal + 1e-12


def test_a_task_that_runs_twice_begins_at_the_same_place():
    own, before, after = Resident(None), np.zeros(3), np.ones(3)
    assert own.begin(Turn(1, 1.0)) is None
    first = Turn(1, 1.0, before)
    for _ in range(2):
        assert_array_equal(own.begin(first), before)
        own.end(first, before, after)
    second = Turn(2, 0.25)
    for _ in range(2):
        assert_array_equal(own.begin(second), [0.25] * 3)
        own.end(second, own.begin(second), 2.0 * after)
    # a copy that missed a round has nothing to begin with
    assert own.begin(Turn(4, 1.0)) is None
    # bounds of the domain are kept bit by bit
    assert own.begin(Turn(3, 1.0))[0] == 2.0
