"""Wang and Scott, visit by visit: every step on a block ascends the dual, and the variants of the problem are one."""

import itertools
import sys

import numpy as np
import pytest

import slow_multiclass as slow
from catalog import JointCase, joint_risk
from fenchel import Problem, solve
from fenchel.compile.primitives.epoch import Tally
from fenchel.kernels import GramDesign, GramNorm
from fenchel.risks import WestonWatkins
from fenchel.solvers import STALLED, BlockCoordinate, Hint
from fenchel.solvers.block_coordinate import solver as module
from fenchel.solvers.block_coordinate.loop import Workspace, epoch_blocks


def visits(problem, solver, most):
    """The dual points after each visit of a single example."""
    state = solver.start(problem, None)
    for _ in range(most):
        if solver.step(state, Hint(None, 0.0, lambda: False)) is STALLED:
            return
        yield solver.propose(state)[1].theta


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer", "costs"])
@pytest.mark.parametrize("stretch", [1.0, 1.5, 1.99])
def test_every_over_relaxed_visit_ascends_by_a_share_of_its_square(risk, stretch, monkeypatch):
    """At least (1/omega - 1/2) q |change|^2, with q the curvature of the block."""
    monkeypatch.setattr(module, "_STEP_ENTRIES", 1)
    case = JointCase(risk, lam=0.01)
    X, y, _, _ = case.data()
    before, value = np.zeros((case.n, case.k)), 0.0
    for theta in visits(case.problem(), BlockCoordinate(stretch=stretch), 10 * case.n):
        after, change = float(slow.dual(X, y, case.lam, theta)), theta - before
        least = (1.0 / stretch - 0.5) * float(np.sum((X @ X.T).diagonal() @ change**2)) / case.lam
        assert after - value >= least - 1e-13 * after
        before, value = theta, after
    assert value > 0.0


def test_over_relaxed_steps_need_fewer_passes_where_examples_depend_on_each_other():
    """More examples than features, all of which share a direction; without it steps of 1.5 are hardly better."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    X = rng.standard_normal((4, 20))[y] + rng.standard_normal((300, 20)) + 1.0
    passes = {}
    for stretch in (1.0, 1.5):
        problem = Problem(X, WestonWatkins(y), 1e-4)
        passes[stretch] = solve(problem, BlockCoordinate(stretch=stretch), tol=1e-4, max_iter=10_000).passes
    assert passes[1.5] < 0.85 * passes[1.0]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("shrinking", [False, True], ids=["all", "shrinking"])
@pytest.mark.parametrize(
    ("risk", "inner"),
    [("weston_watkins", inner) for inner in ("root", "walrus", "greedy")]
    + [("crammer_singer", "root"), ("costs", "root")],
)
@pytest.mark.parametrize("kernel", [False, True], ids=["linear", "kernel"])
def test_every_visit_ascends(risk, inner, shrinking, kernel, monkeypatch, rarely_compiled):
    monkeypatch.setattr(module, "_STEP_ENTRIES", 1)
    case = JointCase(risk, lam=0.01)
    X, y, _, costs = case.data()
    solver = BlockCoordinate(inner=inner, shrinking=shrinking)
    problem = case.problem()
    if kernel:
        design = GramDesign(X @ X.T)
        problem = Problem(design, joint_risk(risk, y, case.k, None, costs), case.lam, GramNorm(design))
    before, values = np.zeros((case.n, case.k)), [0.0]
    for theta in visits(problem, solver, 15 * case.n):
        assert np.count_nonzero(np.any(theta != before, axis=1)) <= 1
        before = theta
        values.append(float(slow.dual(X, y, case.lam, theta)))
    assert all(after >= previous - 1e-14 * values[-1] for previous, after in itertools.pairwise(values))
    assert values[-1] > 2 * values[case.n // 4] > 0


def test_proposition_a_29_by_its_formulas():
    """F_{4C}(u) = 4 G_C(u / 2) for every u, hence the same minimizers up to the factor."""

    def hinges(scale, w, X, y):
        return sum(
            max(0.0, 1.0 - scale * float(x @ (w[label] - w[j])))
            for x, label in zip(X, y, strict=True)
            for j in range(len(w))
            if j != label
        )

    rng = np.random.default_rng(0)
    for _ in range(50):
        k, C = int(rng.integers(2, 6)), 10.0 ** rng.uniform(-3, 3)
        X, y, u = rng.standard_normal((7, 3)), rng.integers(0, k, 7), rng.standard_normal((k, 3)) * 3
        variant = 0.5 * np.sum(u**2) + 4 * C * hinges(0.5, u, X, y)
        ours = 0.5 * np.sum((u / 2) ** 2) + C * hinges(1.0, u / 2, X, y)
        assert variant == pytest.approx(4 * ours, rel=1e-12)
        # and the second is P / lam of this library
        lam = 1 / (7 * C)
        primal = slow.primal("weston_watkins", X, y, np.full(7, 1 / 7), lam, u / 2, np.zeros(k))
        assert ours == pytest.approx(float(primal) / lam, rel=1e-12)


@pytest.mark.parametrize("risk", ["weston_watkins", "crammer_singer"])
def test_epochs_that_count_no_references_are_those_of_plain_python_and_leave_the_counts(risk):
    """The compiled epoch against the same lines in plain Python; every array is referenced as often as before it."""
    solver, problem = BlockCoordinate(), JointCase(risk, lam=0.01).problem()
    compiled, plain = solver.start(problem, None), solver.start(problem, None)
    arrays = [*compiled.blocks[:5], compiled.intercepts.state, *compiled.rows]
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(3):
        parts = [state.active_set.next_part(10**6, state.random, True) for state in (compiled, plain)]
        found = compiled.epoch(parts[0], 1)
        work = Workspace(*np.zeros((4, plain.blocks.v.shape[1])), np.zeros(0), np.zeros(0))
        fixed = plain.rows, plain.images, plain.inner, plain.blocks, plain.intercepts, plain.lists, work, False
        wanted = Tally(*epoch_blocks.__wrapped__(*fixed, parts[1]))
        for state, tally in ((compiled, found), (plain, wanted)):
            assert state.active_set.record(tally, parts[0].end, problem.lam)
            state.active_set.end_epoch()
        np.testing.assert_allclose(compiled.alpha, plain.alpha, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(compiled.blocks.v, plain.blocks.v, rtol=1e-9, atol=1e-9)
        assert found.gap == pytest.approx(wanted.gap, rel=1e-9)
        assert found.remaining == wanted.remaining
    del parts
    assert [sys.getrefcount(array) for array in arrays] == before
