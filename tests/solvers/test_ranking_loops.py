"""Smoothed risks of rankings by compiled loops: what NumPy gives, at any mu, in parts, and for long queries."""

import numpy as np
import pytest
from test_ranking import RANKINGS, cases

import fenchel.solvers.smoothing.rankings as rankings_module
import slow_ranking as slow
from fenchel.risks import PairwiseHinge, PairwiseLogistic, PairwiseSquaredHinge
from fenchel.solvers.smoothing.measures import evaluator


@pytest.mark.parametrize("kind", RANKINGS)
def test_loops_give_what_numpy_gives(kind):
    for y, queries, weights, scores in cases(30, 9):
        risk = kind(y, queries, weights)
        for mu in (1e-9, 1e-3, 0.4, 20.0):
            expected, found = risk.smoothed(scores, mu), evaluator(risk)(scores, mu)
            size = 1e-13 * (1 + np.abs(scores).max()) ** 2
            np.testing.assert_allclose(found.theta, expected.theta, rtol=0, atol=size + 1e-13 / mu * (mu < 1e-6))
            for field in ("risk", "excess"):
                assert getattr(found, field) == pytest.approx(getattr(expected, field), abs=size), (field, mu)
            value = expected.value
            if kind is PairwiseHinge:
                # the running sums of NumPy lose digits of R_mu at small mu: by every pair
                D, _, prices = slow.pairs(y, queries, weights)
                x = 1.0 - D @ scores
                flows = np.clip(x / mu, 0.0, 1.0)
                value = prices @ (flows * x - 0.5 * mu * flows**2)
            assert found.value == pytest.approx(value, abs=size), mu
            if expected.decompose is not None:
                np.testing.assert_array_equal(found.decompose(), expected.decompose())


@pytest.mark.parametrize("kind", RANKINGS[:3])
def test_pairs_in_several_parts(kind, monkeypatch):
    rng = np.random.default_rng(0)
    y, queries, scores = rng.integers(0, 3, 300), np.sort(rng.integers(0, 7, 300)), rng.normal(size=300)
    risk = kind(y, queries)
    expected = evaluator(risk)(scores, 0.3)
    monkeypatch.setattr(rankings_module, "_MOST_PAIRS", 500)
    parted = evaluator(risk)
    assert len(parted.cuts) > 5
    found = parted(scores, 0.3)
    np.testing.assert_allclose(found.theta, expected.theta, atol=1e-16)
    assert found.value == pytest.approx(expected.value, rel=1e-14)
    assert found.excess == pytest.approx(expected.excess, abs=1e-15)


def test_queries_with_many_pairs_are_left_to_running_sums():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    assert evaluator(PairwiseSquaredHinge(y)).sums
    assert not evaluator(PairwiseLogistic(y)).sums
    scores = rng.normal(size=3000)
    expected = np.mean(np.maximum(1.0 - scores[y == 1][:, None] + scores[y == 0], 0.0) ** 2)
    assert evaluator(PairwiseSquaredHinge(y))(scores, 0.0).value == pytest.approx(expected, rel=1e-12)
