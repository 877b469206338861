"""Several epochs of block coordinate descent in one call are the epochs that Python would run one by one."""

import math

import numpy as np
import pytest

from catalog import JointCase
from fenchel import solve
from fenchel.solvers import BlockCoordinate, Hint
from fenchel.solving.schedule import Schedule


def one_by_one(state, *arguments):
    """``State.epochs`` without the epochs that follow."""
    part, entries, target, _, shrinking = arguments
    return type(state).epochs(state, part, entries, target, 0.0, shrinking)


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shrinking", [False, True], ids=["all", "shrinking"])
@pytest.mark.parametrize("target", [0.0, 1e-3], ids=["to the limit", "to a gap"])
def test_the_iterates_are_those_of_single_epochs(risk, intercept, shrinking, target):
    problem = JointCase(risk, n=60, d=4, k=5, lam=0.01, intercept=intercept).problem()
    solver = BlockCoordinate(shrinking=shrinking, seed=3)
    together, alone = solver.start(problem, None), solver.start(problem, None)
    calls = [0, 0]

    def counted(which, run):
        def call(*arguments):
            calls[which] += 1
            return run(*arguments)

        return call

    together.epochs = counted(0, together.epochs)
    alone.epochs = counted(1, lambda *arguments: one_by_one(alone, *arguments))
    hint = Hint(None, target, lambda: False, passes=25.0)
    for _ in range(4):
        used = [solver.step(state, hint) for state in (together, alone)]
        assert used[0] == used[1]
        np.testing.assert_array_equal(together.blocks.alpha, alone.blocks.alpha)
        np.testing.assert_array_equal(together.active_set.order, alone.active_set.order)
        for name in ("epochs", "size", "remaining", "threshold", "full_violation", "turns_since_full", "restore"):
            assert getattr(together.active_set, name) == getattr(alone.active_set, name), name
        assert together.active_set.expected_gap == pytest.approx(alone.active_set.expected_gap, rel=1e-12)
        (found, _), (wanted, _) = solver.propose(together), solver.propose(alone)
        np.testing.assert_allclose(found.weights, wanted.weights, rtol=1e-12, atol=1e-15)
        if intercept:
            np.testing.assert_allclose(found.intercept, wanted.intercept, rtol=1e-12, atol=1e-15)
    assert calls[0] < calls[1]


def test_epochs_before_the_earliest_certificate_do_not_end_at_the_target():
    """All of the passes before it are used in one step, and after it the target ends the step."""
    problem = JointCase("weston_watkins", n=60, d=4, k=5, lam=0.1).problem()
    solver = BlockCoordinate(seed=3)
    state = solver.start(problem, None)
    used = solver.step(state, Hint(None, np.inf, lambda: False, passes=20.0, early=6.0))
    assert 5.0 < used <= 6.0
    assert solver.step(state, Hint(None, np.inf, lambda: False, passes=20.0)) <= 1.0


@pytest.mark.parametrize("every", [None, 3.0])
def test_the_earliest_certificate_of_the_schedule(every):
    """No certificate before ``passes_early``, even at a gap of zero; one there."""
    schedule = Schedule(1000.0, patient=True, every=every)
    schedule.begin(0.0, after_one=False)
    schedule.postpone(20.0, 0.0)
    early = schedule.passes_early(20.0)
    assert early == pytest.approx(2.0 if every is None else 3.0)
    assert schedule.is_early(20.0 + 0.99 * early, 0.0, 1.0, on_time=False)
    assert not schedule.is_early(20.0 + early, 0.0, 1.0, on_time=False)
    assert schedule.passes_early(30.0) == 0.0


def test_small_data_take_few_steps_between_certificates():
    """Python is asked once for many passes: descent of hundreds of passes over 60 examples takes some tens of steps."""
    problem = JointCase("weston_watkins", n=60, d=4, k=5, lam=1e-4).problem()
    steps = []

    class Counted(BlockCoordinate):
        def step(self, state, hint):
            steps.append(super().step(state, hint))
            return steps[-1]

    found = solve(problem, Counted(), tol=1e-6)
    assert math.isfinite(found.certificate.gap)
    assert sum(steps) > 100.0
    assert len(steps) < 0.25 * sum(steps)
