"""Symmetric positive definite systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

#: ridge, relative to the unit diagonal, that makes a singular matrix factorizable; raised tenfold until it does
RIDGE = 1e-14


def factorized(matrix: NDArray) -> Callable[[NDArray], NDArray]:
    """The inverse of a symmetric positive matrix, with as much ridge as it takes, after scaling its diagonal to one."""
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    scaled = matrix / scale[:, None] / scale[None, :]
    ridge = RIDGE
    while True:
        scaled[np.arange(len(scale)), np.arange(len(scale))] += ridge
        try:
            factor: Any = cho_factor(scaled, check_finite=False)
        except LinAlgError:
            ridge *= 10.0
            continue
        return lambda right: cho_solve(factor, right / scale, check_finite=False) / scale
