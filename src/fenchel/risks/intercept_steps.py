"""Intercepts of several outputs with a piecewise linear risk, by exact steps along one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.losses.intercept import weighted_quantile
from fenchel.stopping import stop_point

#: rounds over all intercepts
_ROUNDS = 3


def stepwise_intercepts(
    scores: Array, value: Callable[[Array], float], kinks: Callable[[Array, int], tuple[Array, Array, float]]
) -> Floats:
    """Intercepts that do not make R(s + b) larger and add up to zero.

    ``kinks(s, k)`` are the kinks of R along the intercept of output k, the jumps of its derivative there, and minus its
    derivative at -infinity.
    """
    outputs = scores.shape[1]
    found, best = np.zeros(outputs), value(scores)
    for _ in range(_ROUNDS):
        for k in range(outputs):
            stop_point()
            places, jumps, mass = kinks(scores + found, k)
            if not len(places):
                continue
            tried = found.copy()
            tried[k] += weighted_quantile(places, jumps, mass)
            reached = value(scores + tried)
            if reached < best:
                found, best = tried, reached
    return found - np.mean(found)
