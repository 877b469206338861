"""Many classes: visits that look at some classes of a block only, and examples whose whole sum rests on one class."""

import itertools

import numpy as np
import pytest

import slow_multiclass as slow
from catalog import JointCase
from fenchel import solve
from fenchel.compile.lanes import padded
from fenchel.solvers import STALLED, BlockCoordinate, Hint
from fenchel.solvers.block_coordinate import solver as module
from fenchel.solvers.block_coordinate.loop import list_classes
from fenchel.solvers.block_coordinate.loop_blocks import RootBlock, solve_block
from fenchel.solvers.block_coordinate.loop_standing import simplex_standing

RISKS = ("weston_watkins", "crammer_singer", "costs")
every_risk = pytest.mark.parametrize("risk", RISKS)
NO_HINT = Hint(None, 0.0, lambda: False)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Classes are shrunk from eight on, so that small problems will do."""
    monkeypatch.setattr(module, "_MANY_CLASSES", 8)


def many_classes(risk, **changes):
    return JointCase(risk, **{"k": 12, "n": 60, "d": 4, "lam": 0.01, **changes})


@every_risk
def test_narrow_visits_ascend_and_touch_their_classes_only(risk, monkeypatch):
    monkeypatch.setattr(module, "_STEP_ENTRIES", 1)
    case = many_classes(risk)
    X, y, _, _ = case.data()
    problem, solver = case.problem(), BlockCoordinate()
    state = solver.start(problem, None)
    before, values, narrow = np.zeros((case.n, case.k)), [0.0], 0
    for _ in range(30 * case.n):
        sizes = state.lists.sizes.copy()
        if solver.step(state, NO_HINT) is STALLED:
            break
        theta = solver.propose(state)[1].theta
        moved = np.flatnonzero(np.any(theta != before, axis=1))
        assert len(moved) <= 1
        # one whose list was too long is looked at as a whole
        if state.active_set.classes_shrunk and len(moved) and sizes[moved[0]]:
            i = moved[0]
            listed = state.lists.classes[i, : sizes[i]]
            assert listed[0] == y[i]
            assert set(np.flatnonzero(theta[i] != before[i])) <= set(listed.tolist())
            narrow += 1
        before = theta
        values.append(float(slow.dual(X, y, case.lam, theta)))
    assert all(after >= previous - 1e-14 * values[-1] for previous, after in itertools.pairwise(values))
    # most steps are such
    assert narrow > 5 * case.n


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@every_risk
def test_the_optimum_is_the_same(risk, intercept, full_products):
    case = many_classes(risk, k=8, n=40 if full_products else 20, intercept=intercept, weighted=True)
    X, y, weights, costs = case.data()
    c = weights / weights.sum()
    *_, best = slow.optimum(risk, X, y, case.k, c, case.lam, intercept, costs)
    found = [solve(case.problem(), BlockCoordinate(shrinking=s), tol=1e-9, max_iter=50_000) for s in (True, False)]
    for solution in found:
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(best, rel=1e-7)
        primal = slow.primal(
            risk, X, y, c, case.lam, solution.model.weights, np.broadcast_to(solution.model.intercept, case.k), costs
        )
        assert float(primal) == pytest.approx(best, rel=1e-7)


@every_risk
def test_lists_hold_the_label_and_what_is_not_at_rest(risk):
    """By the definition, for random blocks; in a solve they are in use, and no longer than their room."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        k, room = int(rng.integers(3, 12)), int(rng.integers(1, 8))
        label, threshold = int(rng.integers(k)), float(rng.choice([0.0, 0.5, 2.0]))
        scores, line = rng.integers(-3, 4, k) / 2, -rng.integers(0, 2, k) * rng.random(k)
        bound = np.where((np.arange(k) == label) | (rng.random(k) < 0.3), 0.0, np.inf)
        most = 1.0 if risk == "crammer_singer" else np.inf
        margins = {j: 1 - scores[label] + scores[j] for j in range(k) if bound[j] > 0}
        price = max(0.0, *margins.values()) if most == 1.0 and margins else 0.0
        expected = [label] + [j for j, z in margins.items() if line[j] < 0 or z - price > -threshold]
        found = np.zeros(room, dtype=np.uint32)
        size = list_classes(-line, 1 - scores[label] + scores, bound, label, most, threshold, found)
        assert size == (len(expected) if len(expected) <= room else 0)
        assert found[:size].tolist() == expected[:size]
    case = many_classes(risk, k=20)
    solver, narrow = BlockCoordinate(), 0
    state = solver.start(case.problem(), None)
    assert state.lists.classes.shape == (60, 16)
    for _ in range(30):
        solver.step(state, NO_HINT)
        narrow += state.active_set.classes_shrunk
    assert narrow > 10
    assert np.count_nonzero(state.lists.sizes) > 30
    assert state.lists.sizes.max() <= 16


@pytest.mark.parametrize(
    ("options", "k"),
    [({"inner": "walrus"}, 12), ({"inner": "greedy"}, 12), ({"shrinking": False}, 12), ({}, 7)],
    ids=str,
)
def test_who_never_looks_at_some_classes_only(options, k, rarely_compiled, portion):
    case, solver = many_classes("weston_watkins", k=k, n=40), BlockCoordinate(**options)
    state = solver.start(case.problem(), None)
    assert state.lists.classes.shape == (40, 0)
    for _ in range(portion(60)):
        if solver.step(state, NO_HINT) is STALLED:
            break
        assert not state.active_set.classes_shrunk
    assert not state.lists.sizes.any()


def next_block(scores, alpha, label, curve):
    """The best block of an example with these scores, as ``loops.block_coordinate`` asks for it."""
    b = np.maximum(-alpha, 0.0)
    b[label] = 0.0
    v = (1.0 - scores[label] + scores) / curve + b + b.sum()
    v[label] = 0.0
    bounds = np.where(np.arange(len(scores)) == label, 0.0, np.inf)
    solve_block(RootBlock(1.0), v, bounds, b)
    return b


def block_margin(alpha, scores, bounds, label):
    """The KKT margin of a block with a bound of one on its sum."""
    width = padded(len(scores))
    wide = [np.concatenate([array, np.zeros(width - len(array))]) for array in (alpha, scores, bounds)]
    return simplex_standing(*wide, label, np.zeros(width), 1.0)[0]


def test_a_vertex_rests_as_far_as_its_scores_may_change():
    """Crammer-Singer: all of the sum on the worst class.

    It is the best block as long as that class stays the worst and its margin above zero: whatever changes each margin
    by less than half of what ``block_margin`` says; a little more in the wrong direction makes another block the best.
    """
    rng = np.random.default_rng(1)
    for _ in range(300):
        k = int(rng.integers(3, 10))
        label = int(rng.integers(k))
        others = np.delete(np.arange(k), label)
        scores, curve = rng.standard_normal(k), 10.0 ** rng.uniform(-2, 2)
        scores[label] = scores[others].max() + rng.uniform(-2.0, 0.9)
        worst = others[np.argmax(scores[others])]
        bounds, alpha = np.where(np.arange(k) == label, 0.0, np.inf), np.zeros(k)
        alpha[worst], alpha[label] = -1.0, 1.0
        rest = block_margin(alpha, scores, bounds, label)
        margins = 1.0 - scores[label] + scores
        second = max(margins[j] for j in others if j != worst)
        assert rest == pytest.approx(min(margins[worst], margins[worst] - second), rel=1e-12)
        shift = rng.uniform(-0.499, 0.499, k) * rest
        shift[label] = 0.0
        np.testing.assert_allclose(next_block(scores + shift, alpha, label, curve), np.maximum(-alpha, 0.0), atol=1e-9)
        # all margins down until the worst is below zero, or the worst down and the others up until they change places
        down = rest >= margins[worst]
        shift = np.full(k, -1.01 * rest) if down else np.where(np.arange(k) == worst, -0.505, 0.505) * rest
        shift[label] = 0.0
        assert np.abs(next_block(scores + shift, alpha, label, curve) - np.maximum(-alpha, 0.0)).max() > 0
        # all of the sum on another class violates by the difference
        other = int(rng.choice([j for j in others if j != worst]))
        alpha[[worst, other]] = 0.0, -1.0
        assert block_margin(alpha, scores, bounds, label) == pytest.approx(margins[other] - margins[worst], rel=1e-9)


def test_examples_at_a_vertex_are_shrunk():
    case = many_classes("crammer_singer", k=5, n=80, lam=0.003)
    solver = BlockCoordinate()
    state = solver.start(case.problem(), None)
    most = 0
    for _ in range(40):
        solver.step(state, NO_HINT)
        aside = state.active_set.order[state.active_set.size :]
        vertices = np.any(state.blocks.alpha[aside] <= -1.0, axis=1)
        most = max(most, np.count_nonzero(vertices))
    assert most >= 3
    # and that costs nothing
    found = [solve(case.problem(), BlockCoordinate(shrinking=s), tol=1e-9, max_iter=50_000) for s in (True, False)]
    assert found[0].certificate.primal == pytest.approx(found[1].certificate.primal, rel=1e-8)
