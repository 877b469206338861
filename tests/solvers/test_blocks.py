"""One block: eq. (4) of Wang and Scott is solved exactly, whatever the values, ties, bounds and numbers of classes."""

import numpy as np
import pytest

import slow_multiclass as slow
from fenchel.solvers.block_coordinate.loop_blocks import GreedyBlock, RootBlock, SortedBlock, solve_block

EXACT = ["root", "walrus"]
KINDS = ["normal", "ties", "equal", "negative", "spread", "at_the_bound", "one_large", "nearly_equal"]
#: instances of each kind: 10,000 in all
EACH = 1250


def classes_count(rng, round):
    """Mostly few, rarely thousands."""
    return {7: 64, 107: 512, 207: 4096}.get(round) or int(rng.integers(1, 40))


def instance(kind, rng, k):
    """v and C of eq. (4)."""
    bound = 10.0 ** rng.uniform(-8, 8)
    size = 10.0 ** rng.uniform(-3, 3)
    v = {
        "normal": lambda: size * rng.standard_normal(k) + size * rng.uniform(-1, 3),
        "ties": lambda: size * rng.integers(-1, 3, k).astype(float),
        "equal": lambda: np.full(k, size * rng.uniform(-0.1, 1)),
        "negative": lambda: -size * rng.exponential(size=k) * (rng.random(k) < 0.8),
        "spread": lambda: rng.choice([-1.0, 1.0, 1.0], k) * 10.0 ** rng.uniform(-8, 8, k),
        "at_the_bound": lambda: bound * rng.integers(-1, 5, k).astype(float),
        "one_large": lambda: np.where(np.arange(k) == rng.integers(k), 1e8, rng.standard_normal(k)),
        "nearly_equal": lambda: size * (1 + 1e-15 * rng.integers(-3, 4, k)),
    }[kind]()
    if kind in ("normal", "ties", "equal", "nearly_equal") and rng.random() < 0.5:
        bound = size * 10.0 ** rng.uniform(-1, 1)
    elif kind == "one_large":
        bound = 10.0 ** rng.uniform(-2, 2)
    return v, bound


def with_label(values, label):
    return np.insert(np.asarray(values, dtype=np.float64), label, 0.0)


def solved(inner, v, bounds, start=None, label=0):
    """The b that an inner solver makes of v, bounds and a start, for a label at some place."""
    b = with_label(np.zeros(len(v)) if start is None else start, label)
    solve_block(inner, with_label(v, label), with_label(bounds, label), b)
    assert b[label] == 0.0
    return np.delete(b, label)


def exact_block(name, bound):
    return RootBlock(np.inf) if name == "root" else SortedBlock(bound)


def residual(v, bounds, b):
    return np.max(np.abs(b - np.clip(v - b.sum(), 0.0, bounds)))


def natural_size(b):
    """Of the numbers that eq. (4) decides on: entries far above their bound do not count."""
    return b.sum() + np.finfo(float).tiny


@pytest.mark.meetings(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXACT)
def test_the_exact_solvers_satisfy_the_conditions(name, kind):
    rng = np.random.default_rng([1, KINDS.index(kind)])
    for round in range(EACH):
        k = classes_count(rng, round)
        v, bound = instance(kind, rng, k)
        start = [None, bound * rng.random(k)][round % 2]
        b = solved(exact_block(name, bound), v, np.full(k, bound), start, label=int(rng.integers(k + 1)))
        assert np.all((b >= 0) & (b <= bound))
        assert residual(v, bound, b) <= 1e-12 * natural_size(b), (round, k, bound)


@pytest.mark.parametrize("name", EXACT)
def test_the_exact_solvers_agree_with_a_conic_solver(name):
    rng = np.random.default_rng(2)
    for round in range(200):
        k = int(rng.integers(1, 20))
        v, bound = rng.standard_normal(k) * 2 + 1, 10.0 ** rng.uniform(-1, 1)
        if round % 3 == 0:
            v, bound = np.round(v), float(np.ceil(bound))
        b = solved(exact_block(name, bound), v, np.full(k, bound))
        np.testing.assert_allclose(b, slow.conic_block(v, np.full(k, bound)), atol=1e-6)


def within_reach(v, bound):
    """The same problem in numbers that a conic solver can take, and their size, by what is known before it is solved.

    b_j <= max(v_j, 0), so larger bounds are none; sum b <= k C, so v_j beyond (k + 1) C rests on its bound; v_j below
    zero stays at zero.  Eq. (4) is homogeneous in v and C.
    """
    bound = min(bound, max(float(np.max(v)), 0.0))
    v = np.clip(v, -bound, 2 * (len(v) + 1) * bound)
    scale = max(bound, np.finfo(float).tiny)
    return v / scale, bound / scale, scale


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_instances_agree_with_a_conic_solver(kind):
    """200 of the instances above."""
    rng = np.random.default_rng([13, KINDS.index(kind)])
    for round in range(25):
        k = int(rng.integers(1, 40))
        v, bound = instance(kind, rng, k)
        easy, limit, scale = within_reach(v, bound)
        expected = slow.conic_block(easy, np.full(k, limit)) if limit > 0 else np.zeros(k)
        for name in EXACT:
            b = solved(exact_block(name, bound), v, np.full(k, bound)) / scale
            np.testing.assert_allclose(b, expected, rtol=0, atol=1e-6 * max(1.0, b.sum()), err_msg=f"{name} {round}")


@pytest.mark.parametrize("kind", KINDS)
def test_the_greedy_solver_reaches_its_accuracy_on_degenerate_instances(kind):
    rng, accuracy = np.random.default_rng([14, KINDS.index(kind)]), 1e-9
    for _ in range(50):
        k = int(rng.integers(1, 30))
        v, bound = within_reach(*instance(kind, rng, k))[:2]
        b = solved(GreedyBlock(accuracy, 1e4), v, np.full(k, bound), bound * rng.random(k))
        assert np.all((b >= 0) & (b <= bound))
        assert residual(v, bound, b) <= 3 * accuracy


@pytest.mark.parametrize("kind", KINDS)
def test_both_exact_solvers_find_the_same(kind):
    rng = np.random.default_rng([3, KINDS.index(kind)])
    for round in range(100):
        k = classes_count(rng, round)
        v, bound = instance(kind, rng, k)
        one, other = (solved(exact_block(name, bound), v, np.full(k, bound)) for name in EXACT)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * natural_size(one) * max(1, k / 100))


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_their_own_for_each_class(kind):
    rng = np.random.default_rng([4, KINDS.index(kind)])
    for round in range(300):
        k = classes_count(rng, round)
        v, bound = instance(kind, rng, k)
        bounds = bound * rng.choice([0.0, 0.1, 1.0, 3.0], k)
        b = solved(RootBlock(np.inf), v, bounds, bounds * rng.random(k), label=int(rng.integers(k + 1)))
        assert np.all((b >= 0) & (b <= bounds))
        assert residual(v, bounds, b) <= 1e-12 * natural_size(b)


def test_bounds_of_their_own_agree_with_a_conic_solver():
    rng = np.random.default_rng(5)
    for _ in range(60):
        k = int(rng.integers(1, 15))
        v, bounds = rng.standard_normal(k) * 2 + 1, rng.choice([0.0, 0.3, 1.0, 5.0], k)
        np.testing.assert_allclose(solved(RootBlock(np.inf), v, bounds), slow.conic_block(v, bounds), atol=1e-6)


def assert_optimal_with_bounded_sum(v, b, most):
    """b = max(v - t, 0) with t = sum b < most, or sum b = most <= t."""
    assert np.all(b >= 0)
    assert b.sum() <= most * (1 + 1e-12)
    t = b.sum() if b.sum() < most * (1 - 1e-12) else max(most, np.max((v - b)[b > 0]))
    np.testing.assert_allclose(b, np.maximum(v - t, 0.0), rtol=0, atol=1e-12 + 1e-14 * np.max(np.abs(v)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_on_the_sum(kind):
    rng = np.random.default_rng([6, KINDS.index(kind)])
    for round in range(300):
        k = classes_count(rng, round)
        v, _ = instance(kind, rng, k)
        start = rng.dirichlet(np.ones(k)) * rng.random()
        b = solved(RootBlock(1.0), v, np.ones(k), start, label=int(rng.integers(k + 1)))
        assert_optimal_with_bounded_sum(v, b, 1.0)


def test_a_bound_on_the_sum_against_every_support_and_a_conic_solver():
    rng = np.random.default_rng(7)
    for round in range(100):
        k = int(rng.integers(1, 6))
        v = rng.standard_normal(k) * 10.0 ** rng.uniform(-1, 1)
        v = np.round(v) if round % 3 == 0 else v
        b = solved(RootBlock(1.0), v, np.ones(k))
        np.testing.assert_allclose(b, slow.every_block(v, 1.0), atol=1e-12 * max(1.0, np.max(np.abs(v))))
        np.testing.assert_allclose(b, slow.conic_block(v, np.ones(k), 1.0), atol=1e-6)


@pytest.mark.parametrize("curvature", [1e-6, 1e-9, 1e-12, 1e-15])
def test_with_hardly_any_curvature_the_whole_sum_is_used(curvature):
    """Margins near one over a small curvature: v is large, and b = v - t cancels."""
    rng = np.random.default_rng(8)
    for k in (1, 2, 3, 9, 50):
        for margins in (np.ones(k), 1 + 1e-3 * rng.standard_normal(k), 1 + 0.1 * curvature * rng.random(k)):
            b = solved(RootBlock(1.0), margins / curvature, np.ones(k))
            assert b.sum() == pytest.approx(1.0, rel=1e-9)


def test_the_greedy_solver_reaches_its_accuracy():
    rng, accuracy = np.random.default_rng(9), 1e-12
    for _ in range(300):
        k = int(rng.integers(1, 30))
        v, bound = rng.standard_normal(k) * 2 + 1, 10.0 ** rng.uniform(-1, 1)
        b = solved(GreedyBlock(accuracy, 1e4), v, np.full(k, bound), bound * rng.random(k))
        assert np.all((b >= 0) & (b <= bound))
        # no variable moves by more than the accuracy: gradients are at most twice that
        assert residual(v, bound, b) <= 3 * accuracy
        np.testing.assert_allclose(b, solved(RootBlock(np.inf), v, np.full(k, bound)), atol=3 * k * accuracy)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["root", "walrus", "greedy", "short_greedy", "bounded_sum"])
def test_no_inner_step_increases_the_objective(name, kind):
    rng = np.random.default_rng([10, KINDS.index(kind)])
    for round in range(100):
        k = int(rng.integers(1, 40))
        v, bound = instance(kind, rng, k)
        start = bound * rng.random(k) * rng.integers(0, 2, k)
        inner = {
            "root": RootBlock(np.inf),
            "walrus": SortedBlock(bound),
            "greedy": GreedyBlock(1e-12, 10.0),
            "short_greedy": GreedyBlock(1e-12, 1.0),
            "bounded_sum": RootBlock(1.0),
        }[name]
        if name == "bounded_sum":
            bound, start = 1.0, rng.dirichlet(np.ones(k)) * rng.random()
        b = solved(inner, v, np.full(k, bound), start)
        before, after = slow.block_objective(v, start), slow.block_objective(v, b)
        rounding = 1e-13 * ((np.abs(v) + b.sum() + start.sum()) @ (b + start))
        assert after <= before + rounding, round


def test_a_start_at_the_solution_stays_there():
    rng = np.random.default_rng(11)
    for name in EXACT:
        for _ in range(100):
            k = int(rng.integers(1, 30))
            v, bound = instance("normal", rng, k)
            inner = exact_block(name, bound)
            once = solved(inner, v, np.full(k, bound))
            again = solved(inner, v, np.full(k, bound), once)
            np.testing.assert_allclose(again, once, rtol=0, atol=1e-14 * natural_size(once))


def test_all_classes_at_their_bound_is_the_answer_to_large_v():
    for name in EXACT:
        np.testing.assert_array_equal(solved(exact_block(name, 2.0), np.full(5, 100.0), np.full(5, 2.0)), 2.0)
        np.testing.assert_array_equal(solved(exact_block(name, 2.0), np.full(5, -1.0), np.full(5, 2.0)), 0.0)
        np.testing.assert_array_equal(solved(exact_block(name, 2.0), np.zeros(5), np.full(5, 2.0)), 0.0)


def test_one_class_beside_the_label_is_a_clipped_half():
    """k = 2: b = clip(v/2, 0, C)."""
    rng = np.random.default_rng(12)
    for _ in range(100):
        v, bound = 3 * rng.standard_normal(1), float(rng.exponential())
        for name in EXACT:
            assert solved(exact_block(name, bound), v, [bound]) == pytest.approx(np.clip(v / 2, 0, bound), rel=1e-15)
