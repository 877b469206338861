"""Priors of the entropies: one positive number for all features, or one for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import kl_div, xlogy

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import FUNCTION, gamma
from fenchel.validation import is_number


def checked_prior(prior: Any) -> float | Floats:
    """A positive number, or a read-only array of them."""
    if is_number(prior):
        found: Any = float(prior)
    else:
        try:
            found = np.array(prior, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise FenchelError(f"prior must be a positive number or one for each feature, got {prior!r}") from error
        found.flags.writeable = False
        if found.ndim != 1 or found.size == 0:
            raise FenchelError(f"prior must be a positive number or one for each feature, got {prior!r}")
    if not np.all(np.isfinite(found)) or not np.all(np.asarray(found) > 0):
        raise FenchelError(
            "prior must be positive and finite; remove the features whose prior is 0, since their weights are 0"
        )
    return found


def spread_prior(prior: float | Floats, features: int) -> Floats:
    """The prior of each feature."""
    if isinstance(prior, np.ndarray) and len(prior) != features:
        raise FenchelError(f"prior has {len(prior)} entries for {features} features; they must agree")
    return np.full(features, prior) if np.ndim(prior) == 0 else np.asarray(prior)


def relative_entropy(weights: Array, prior: Array) -> Floats:
    """w ln(w/mu) - w + mu of each weight, accurate near the prior; infinite below zero."""
    excess = (weights - prior) / prior
    with np.errstate(divide="ignore", invalid="ignore"):
        near = prior * ((1.0 + excess) * np.log1p(excess) - excess)
    return np.where(np.abs(excess) < 0.5, near, kl_div(weights, prior))


def relative_entropy_error(weights: Array, prior: Array, value: float) -> float:
    """A bound on the rounding error of ``value``, the sum of ``relative_entropy``, for a prior with one rounding.

    A logarithm, w/mu, the excess and three products; w and mu of each sum; and the sum of terms >= 0.
    """
    logarithms = gamma(FUNCTION + 6.0) * np.abs(xlogy(weights, weights / prior))
    return (1.0 + 1e-6) * float(np.sum(logarithms + gamma(6.0) * (weights + prior))) + gamma(weights.size) * value


def largest_in_level_set(function: Callable[[float], float], level: float, start: float) -> float:
    """The largest x >= start with function(x) <= level, rounded up, for a function that increases from start on."""
    low, high = start, max(2.0 * start, 1.0)
    while function(high) <= level and high < 1e300:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if function(middle) <= level else (low, middle)
    return high
