"""Block coordinate descent for the multilabel hinge: exact steps of a block, and optima beside those of ``bundle``."""

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import FenchelError, Problem, Status, solve
from fenchel.regularizers import ElasticNet
from fenchel.risks import CrammerSinger, MultilabelHinge
from fenchel.solvers import LabelBlocks
from fenchel.solvers.label_blocks.loop import improved, standing

#: small problems, for which compiling would take longer than running
pytestmark = pytest.mark.usefixtures("plain_loops")


def onto_simplex(point, total):
    """The nearest point that is not negative and adds up to ``total``, by sorting."""
    falling = np.sort(point)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, len(point) + 1)
    return np.maximum(point - shifts[np.flatnonzero(falling > shifts)[-1]], 0.0) if total > 0.0 else 0.0 * point


def objective(block, before, side, scores, curvature):
    move = block - before
    return -np.sum(block[side > 0]) + scores @ move + 0.5 * curvature * move @ move


def best_block(before, side, scores, curvature):
    """The least objective over a fine grid of masses, refined twice; each mass has two projections onto simplices."""
    target, found, low, high = before - scores / curvature, None, 0.0, 1.0
    for _ in range(3):
        for mass in np.linspace(low, high, 101):
            block = np.zeros(len(side))
            block[side > 0] = onto_simplex(target[side > 0], mass)
            block[side == 0] = -onto_simplex(-target[side == 0], mass)
            value = objective(block, before, side, scores, curvature)
            if found is None or value < found[0]:
                found = value, mass
        low, high = max(0.0, found[1] - (high - low) / 50), min(1.0, found[1] + (high - low) / 50)
    return found[0]


def feasible_block(rng, side, mass):
    have, lack = np.flatnonzero(side > 0), np.flatnonzero(side == 0)
    block = np.zeros(len(side))
    block[have] = mass * rng.dirichlet(np.ones(len(have)))
    block[lack] = -mass * rng.dirichlet(np.ones(len(lack)))
    return block


@pytest.mark.parametrize("seed", range(30))
def test_a_step_is_the_best_of_its_block(seed):
    rng = np.random.default_rng([16, seed])
    k = int(rng.integers(2, 9))
    side = np.zeros(k, dtype=np.uint8)
    side[rng.permutation(k)[: rng.integers(1, k)]] = 1
    before = feasible_block(rng, side, rng.choice([0.0, 0.3, 1.0]))
    scores = rng.choice([0.0, 0.1, 1.0, 10.0]) * rng.standard_normal(k)
    if seed % 3 == 0:
        # ties
        scores = np.round(scores)
    curvature = 10.0 ** rng.uniform(-3, 3)
    found, values = np.zeros(k), np.zeros(k)
    improved(before, side, scores, curvature, values, found)
    assert np.all(found[side > 0] >= 0.0)
    assert np.all(found[side == 0] <= 0.0)
    mass = np.sum(found[side > 0])
    assert mass <= 1.0 + 1e-12
    assert abs(np.sum(found)) <= 1e-12 * max(1.0, np.max(np.abs(values)))
    least = best_block(before, side, scores, curvature)
    assert objective(found, before, side, scores, curvature) <= least + 1e-9 * max(1.0, abs(least))


def test_without_features_all_mass_is_on_the_worst_pair():
    side, found = np.array([1, 0, 1, 0], dtype=np.uint8), np.zeros(4)
    improved(np.zeros(4), side, np.array([0.5, 0.0, 0.2, 0.1]), 0.0, np.zeros(4), found)
    np.testing.assert_array_equal(found, [0.0, 0.0, 1.0, -1.0])
    improved(found.copy(), side, np.array([3.0, 0.0, 2.0, 0.1]), 0.0, np.zeros(4), found)
    np.testing.assert_array_equal(found, np.zeros(4))


def test_the_margin_is_negative_where_a_step_would_help():
    rng, side = np.random.default_rng(0), np.array([1, 0, 1, 0, 0], dtype=np.uint8)
    risk = MultilabelHinge(side[None, :])
    for scale in (0.1, 1.0, 5.0):
        for mass in (0.0, 0.4, 1.0):
            block, scores = feasible_block(rng, side, mass), scale * rng.standard_normal(5)
            margin, gap = standing(block, side, scores)
            young = risk.value(scores[None, :]) + risk.conjugate(block[None, :]) + block @ scores
            assert gap == pytest.approx(young, abs=1e-12)
            assert (margin >= 0.0) == (gap <= 1e-12)


def data(seed, n=30, d=3, k=4):
    """Labels of very different frequency; some examples have all labels or none, some no weight, one no features."""
    rng = np.random.default_rng([17, seed])
    X = rng.standard_normal((n, d))
    X[3] = 0.0
    labels = X @ rng.standard_normal((d, k)) + 0.5 * rng.standard_normal((n, k)) > rng.normal(size=k)
    labels[:2] = [[True] * k, [False] * k]
    return X, labels, rng.integers(0, 3, n).astype(float) if seed % 2 else None


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_optima_are_those_of_bundle(seed, intercept):
    X, labels, weights = data(seed, k=3 + seed)
    for lam in (1.0, 0.02):
        problem = Problem(X, MultilabelHinge(labels, weights), lam, intercept=intercept)
        best = solve(problem, "bundle", tol=1e-9).certificate
        for design in (X, sp.csr_array(X)):
            for solver in (LabelBlocks(), LabelBlocks(shrinking=False, seed=3)):
                own = Problem(design, problem.risk, lam, intercept=intercept)
                found = solve(own, solver, tol=1e-6, max_iter=20_000)
                assert found.status is Status.CONVERGED
                assert found.certificate.recomputed
                assert found.certificate.dual <= best.primal + 1e-12
                assert best.dual - 1e-12 <= found.certificate.primal <= best.primal * (1.0 + 2e-6)


def test_one_label_for_each_example_is_crammer_singer():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 4)), rng.integers(0, 3, 40)
    own, other = (
        solve(Problem(X, risk, 0.05), solver, tol=1e-6)
        for risk, solver in ((MultilabelHinge(np.eye(3)[y]), "label_blocks"), (CrammerSinger(y, 3), "block_coordinate"))
    )
    assert own.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-6)


def test_warm_starts_and_what_is_refused():
    X, labels, _ = data(0)
    problem = Problem(X, MultilabelHinge(labels), 0.1, intercept=True)
    first = solve(problem, "label_blocks", tol=1e-6)
    again = solve(problem, "label_blocks", tol=1e-6, warm_start=first)
    assert again.certificate.relative_gap <= 1e-6
    assert again.passes <= first.passes / 2
    with pytest.raises(FenchelError, match="requires the regularizer 'l2'"):
        solve(Problem(X, MultilabelHinge(labels), 0.1, ElasticNet(0.5)), "label_blocks")
    with pytest.raises(FenchelError, match="requires the multilabel hinge"):
        solve(Problem(X, CrammerSinger(labels[:, 0].astype(int), 2), 0.1), "label_blocks")
