"""Intervals of optimal intercepts of joint risks: sound for every change of the scores within the radii."""

import itertools

import numpy as np
import pytest

from fenchel.certificate.intercept_interval import _first_positive, _smallest_tree_edge, joint_interval
from fenchel.risks import Multinomial, WestonWatkins


@pytest.mark.parametrize("seed", range(10))
def test_the_smallest_edge_of_the_tree_is_the_smallest_cut_by_its_largest_edge(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    weights = rng.random((k, k))
    weights += weights.T
    cuts = [set(some) for size in range(1, k) for some in itertools.combinations(range(k), size)]
    largest = [max(weights[i, j] for i in some for j in set(range(k)) - some) for some in cuts]
    assert _smallest_tree_edge(weights) == min(largest)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("distance", [1e-13, 3e-4, 7.0, 1e12])
def test_the_end_of_an_interval_is_near_the_first_positive_derivative(sign, distance):
    found = _first_positive(sign, 2.0, 1e-12, lambda side, b: side * (b - 2.0) - distance)
    assert distance < sign * (found - 2.0) <= max(1.02 * distance, 2e-12)
    assert _first_positive(sign, 2.0, 1e-12, lambda side, b: -distance) == sign * np.inf


@pytest.mark.parametrize("risk", [Multinomial, WestonWatkins])
@pytest.mark.parametrize("seed", range(5))
def test_intercepts_of_changed_scores_stay_within_the_bound(risk, seed):
    rng = np.random.default_rng([seed, 3])
    classes = np.concatenate([np.arange(3), rng.integers(0, 3, 37)])
    made, scores, radii = risk(classes), rng.normal(size=(40, 3)), 0.3 * rng.random(40)
    intercept, bound = joint_interval(made, scores, radii)
    assert np.isfinite(bound)
    for _ in range(10):
        # two scores of an example move by at most its radius against each other
        moved = scores + 0.5 * radii[:, None] * rng.uniform(-1.0, 1.0, (40, 3))
        change = made.best_intercept(moved) - intercept
        assert np.ptp(change) <= bound * (1.0 + 1e-9)
