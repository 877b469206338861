"""Inequalities that must hold up to rounding, for the checks of users' own formulas."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Floats

#: relative accuracy that is asked of formulas; a wrong one misses by far more
ACCURACY = 1e-7


def violated(excess: Floats, size: Floats) -> tuple[int, ...] | None:
    """The index of the largest ``excess`` that is above rounding of numbers of this ``size``; None if none is.

    NaN counts as a violation.
    """
    beyond = np.asarray(excess) - ACCURACY * (1.0 + np.abs(size))
    beyond = np.where(np.isnan(beyond), np.inf, beyond)
    if beyond.size == 0 or not np.any(beyond > 0.0):
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(beyond)), beyond.shape))
