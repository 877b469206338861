"""Dual points that add up to zero, as far as floats go."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)


def balanced(theta: NDArray) -> NDArray[np.float64]:
    """Theta with its heavier sign made smaller until the sum is zero up to the rounding of one small entry.

    Zero lies in the domain, and an entry nearer to zero stays in its interval.  An entry of a balanced theta keeps
    every bit but for one.
    """
    up, down = float(np.sum(theta[theta > 0.0])), -float(np.sum(theta[theta < 0.0]))
    if abs(up - down) > 4.0 * _EPS * max(up, down):
        heavier = theta > 0.0 if up > down else theta < 0.0
        theta = np.where(heavier, theta * (min(up, down) / max(up, down)), theta)
    rest = math.fsum(theta)
    movable = np.flatnonzero((np.abs(theta) >= abs(rest)) & (np.sign(theta) == np.sign(rest)))
    if rest == 0.0 or not movable.size:
        return theta
    # the smallest entry that can take the rest has the finest spacing of floats
    smallest = movable[np.argmin(np.abs(theta[movable]))]
    theta = theta.copy()
    theta[smallest] -= rest
    return theta
