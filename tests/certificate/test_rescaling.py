"""The search for the best multiple of a dual point climbs a concave function, whose ends are known."""

import math

import numpy as np
import pytest

from fenchel.certificate.rescaling import _climb

#: the distance of two parabolas' maxima at which the search ends
ACCURACY = 1e-4


def climbed(function):
    """The best point that is found, and the evaluations that it takes."""
    tried, evaluated = {t: function(t) for t in (0.0, 1.0 - 1e-3, 1.0)}, []
    assert tried[1.0 - 1e-3] > tried[1.0]

    def counted(t):
        evaluated.append(t)
        return function(t)

    _climb(counted, tried, ACCURACY)
    assert all(0.0 < t < 1.0 for t in evaluated)
    return max(tried, key=tried.get), len(evaluated)


@pytest.mark.parametrize("top", [0.55, 0.9, 0.99])
def test_a_parabola_takes_one_evaluation(top):
    best, count = climbed(lambda t: 3.0 - 2.0 * (t - top) ** 2)
    assert best == pytest.approx(top, abs=1e-12)
    assert count == 1


def test_other_concave_functions_take_few():
    random = np.random.default_rng(0)
    for _ in range(200):
        a, b, c = random.uniform(0.1, 4.0, 3)
        at = random.uniform(0.02, 0.95)

        def function(t, a=a, b=b, c=c, at=at):
            # smooth, of another curvature on each side
            z = t - at
            return -a * (math.exp(b * z) - b * z) - c * z**4

        best, count = climbed(function)
        assert function(at) - function(best) <= 1e-6 * (function(at) - min(function(0.0), function(1.0)))
        assert count <= 16


def test_no_positive_multiple_may_be_best():
    best, count = climbed(lambda t: -t)
    assert best == 0.0
    assert count <= 20


def test_infinite_conjugates_are_bisected():
    best, _ = climbed(lambda t: t if t <= 0.5 else -1e300 * (1.0 + t))
    assert 0.45 <= best <= 0.5
