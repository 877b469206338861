"""The projection onto edge marginals: a conic solver, the printed scheme, all labellings, and its conditions."""

import itertools

import numpy as np
import pytest

import slow_chain_marginals as slow
import slow_chains
from fenchel import FenchelError
from fenchel.projections import onto_box_and_sum, onto_chain_marginals
from fenchel.projections.chain_marginals import _direction, _gradient, _trellis


def residual(alpha, counts):
    """The largest violation of the equalities."""
    worst, begin = 0.0, 0
    for count in counts:
        own = alpha[begin : begin + count]
        begin += count
        worst = max(worst, np.max(np.abs(own.sum(axis=(1, 2)) - 1.0)))
        worst = max(worst, np.max(np.abs(own[:-1].sum(axis=1) - own[1:].sum(axis=2)), initial=0.0))
    return worst


def target_of(rng, edges, m, kind):
    found = rng.choice([0.05, 1.0, 20.0]) * rng.standard_normal((edges, m, m))
    if kind == "ties":
        return np.round(found)
    if kind == "zero":
        return 0.0 * found
    if kind == "constant rows":
        return np.broadcast_to(found[:, :, :1], found.shape).copy()
    return found


KINDS = ["random", "ties", "zero", "constant rows"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_answer_of_the_conic_solver(kind, seed):
    rng = np.random.default_rng(seed)
    edges, m = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    scales = np.ones(edges) if seed % 2 else 10.0 ** rng.uniform(-1, 1, size=edges)
    target = target_of(rng, edges, m, kind)
    found = onto_chain_marginals(target, [edges], scales)
    assert np.min(found) >= 0.0
    assert residual(found, [edges]) <= 1e-12
    np.testing.assert_allclose(found, slow.by_conic_solver(target, scales), atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_no_labelling_is_a_direction_of_descent(kind, seed):
    """<d^2 (alpha - m), e(y) - alpha> >= 0 for every labelling y: the condition of a nearest point of their hull."""
    rng = np.random.default_rng(seed)
    edges, m = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    scales, target = 10.0 ** rng.uniform(-0.5, 0.5, size=edges), target_of(rng, edges, m, kind)
    found = onto_chain_marginals(target, [edges], scales)
    slope = (scales**2)[:, None, None] * (found - target)
    here, size = float(np.sum(slope * found)), np.max(np.abs(slope))
    for y in slow_chains.labellings(edges + 1, m):
        value = sum(slope[t, i, j] for t, (i, j) in enumerate(itertools.pairwise(y)))
        assert value >= here - 1e-12 * edges * (1.0 + size)


@pytest.mark.parametrize("seed", range(3))
def test_the_printed_scheme_converges_to_it(seed):
    rng = np.random.default_rng(seed)
    edges, m = int(rng.integers(2, 4)), 3
    scales = 1.0 + rng.random(edges)
    target = 0.3 * rng.standard_normal((edges, m, m))
    expected, rounds = slow.by_alternation(target, scales, 20000)
    found = onto_chain_marginals(target, [edges], scales)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    # and it is slow: the reason for Newton's method
    assert rounds > 10


def test_many_chains_are_projected_as_one():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, size=40)
    target = rng.standard_normal((counts.sum(), 4, 4)) * 10.0 ** rng.uniform(-2, 2, size=(counts.sum(), 1, 1))
    scales = 0.5 + rng.random(counts.sum())
    together, begin = onto_chain_marginals(target, counts, scales), 0
    for count in counts:
        part = slice(begin, begin + count)
        np.testing.assert_allclose(
            together[part], onto_chain_marginals(target[part], [count], scales[part]), atol=1e-11
        )
        begin += count
    assert residual(together, counts) <= 1e-12


def test_one_edge_is_a_simplex_and_one_label_is_certain():
    rng = np.random.default_rng(1)
    target = rng.standard_normal((1, 3, 3))
    expected = onto_box_and_sum(target.ravel(), np.zeros(9), np.ones(9), 1.0)
    np.testing.assert_allclose(onto_chain_marginals(target, [1])[0].ravel(), expected, atol=1e-14)
    np.testing.assert_allclose(onto_chain_marginals(rng.standard_normal((5, 1, 1)), [3, 2]), 1.0, atol=1e-14)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0])
def test_long_chains(scale):
    rng = np.random.default_rng(2)
    target = scale * rng.standard_normal((150, 4, 4))
    found = onto_chain_marginals(target, [150])
    assert residual(found, [150]) <= 1e-12
    # no better than the best of any labelling nearby: moves of all the flow to a random labelling ascend
    slope = found - target
    for _ in range(100):
        y = rng.integers(0, 4, size=151)
        assert np.sum(slope[np.arange(150), y[:-1], y[1:]]) >= np.sum(slope * found) - 1e-9
    if scale == 0.0:
        np.testing.assert_allclose(found, 1.0 / 16.0, atol=1e-13)


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_longer_chains_and_many_labels(scale):
    rng = np.random.default_rng(3)
    counts = [600, 300, 1]
    found = onto_chain_marginals(scale * rng.standard_normal((sum(counts), 5, 5)), counts)
    assert residual(found, counts) <= 1e-12
    counts = rng.integers(1, 14, size=60)
    found = onto_chain_marginals(scale * rng.standard_normal((counts.sum(), 26, 26)), counts)
    assert residual(found, counts) <= 1e-12
    target = scale * rng.standard_normal((40, 3, 3))
    expected = slow.by_conic_solver(target, np.ones(40))
    np.testing.assert_allclose(onto_chain_marginals(target, [40]), expected, atol=1e-5)


@pytest.mark.parametrize("size", [1e3, 1e8, 1e100])
def test_large_targets_give_the_best_labelling(size):
    rng = np.random.default_rng(4)
    target = rng.standard_normal((3, 3, 3))
    value = {y: sum(target[t, y[t], y[t + 1]] for t in range(3)) for y in slow_chains.labellings(4, 3)}
    best = max(value, key=value.get)
    found = onto_chain_marginals(size * target, [3])
    for t in range(3):
        assert found[t, best[t], best[t + 1]] == pytest.approx(1.0, abs=1e-12)


def test_newton_solves_its_block_tridiagonal_system():
    rng, m = np.random.default_rng(5), 3
    trellis, _ = _trellis(np.array([4]))
    # all entries positive: the Hessian without its shift is regular
    z, inverse = 1.0 + rng.random((4, m, m)), 1.0 / (1.0 + rng.random(4))
    flows = inverse[:, None, None] * z
    heads, lam = _direction(trellis, z > 0.0, inverse, *_gradient(trellis, flows))
    change = heads[:, None, :] - np.vstack([np.full(m, -lam[0]), heads[:-1]])[:, :, None]
    moved = inverse[:, None, None] * (z + change)
    assert residual(moved, [4]) <= 1e-9


@pytest.mark.parametrize(
    ("target", "counts", "scales"),
    [
        (np.ones((2, 2, 3)), [2], 1.0),
        (np.ones((2, 2)), [2], 1.0),
        (np.ones((2, 2, 2)), [1], 1.0),
        (np.ones((2, 2, 2)), [2, 0], 1.0),
        (np.full((2, 2, 2), np.nan), [2], 1.0),
        (np.ones((2, 2, 2)), [2], 0.0),
        (np.ones((2, 2, 2)), [2], [1.0, np.inf]),
    ],
)
def test_bad_input(target, counts, scales):
    with pytest.raises(FenchelError, match=r"targets must"):
        onto_chain_marginals(target, counts, scales)
