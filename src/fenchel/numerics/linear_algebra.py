"""Symmetric matrices: positive definite linear systems, and exact symmetry."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from fenchel.arrays import Array, Floats

#: ridge that makes a singular matrix of unit diagonal factorizable; multiplied by ten until the factorization succeeds
RIDGE = 1e-14
#: smallest diagonal entry that is scaled to one
_TINY = 1e-300
#: entries of a block that is mirrored (8 MB)
_MIRRORED_ENTRIES = 1 << 20
#: rows and columns of a tile (512 kB)
_TILE = 256


def cholesky_solver(matrix: Array) -> Callable[[Array], Array]:
    """Return a function that solves systems with a symmetric positive semidefinite matrix.

    The matrix is scaled to a unit diagonal and factorized by Cholesky's method, with the smallest ridge 1e-14, 1e-13,
    ... for which the factorization succeeds.
    """
    inverse = 1.0 / np.sqrt(np.maximum(np.diagonal(matrix), _TINY))
    ridge = RIDGE
    while True:
        scaled = matrix * inverse[:, None]
        scaled *= inverse
        scaled.flat[:: len(inverse) + 1] += ridge
        # the transpose lies in LAPACK's order of columns, so that it needs no copy
        factor, failed = dpotrf(scaled.T, lower=True, clean=False, overwrite_a=True)
        if not failed:
            return partial(_solve, factor, inverse)
        ridge *= 10.0


def _solve(factor: Floats, inverse: Array, right: Array) -> Floats:
    """The solution for a vector, or for each column of a matrix; ``inverse`` are those of the scale."""
    by = inverse if right.ndim == 1 else inverse[:, None]
    found: Floats = dpotrs(factor, right * by, lower=True)[0]
    return found * by


def conjugate_gradients(
    product: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array],
    *,
    tolerance: float,
    max_products: int,
    on_step: Callable[[float], None] = lambda step: None,
    stop: Callable[[Array, float], bool] = lambda residual, decrease: False,
) -> Floats:
    """Solve H z = right approximately by preconditioned conjugate gradients from z = 0.

    Nocedal and Wright, Numerical Optimization (2nd ed., 2006), algorithm 5.3.

    Parameters
    ----------
    product : callable
        Returns H p for a direction p.
    right : ndarray
        The right-hand side, of any shape; inner products are those of the flattened arrays.
    precondition : callable
        Returns M^-1 r for a residual r.
    tolerance : float
        The iteration ends when the residual's norm in M^-1 is at most this multiple of the first one.
    max_products : int
        The largest number of products with H.
    on_step : callable
        Is called with the step length after each product.
    stop : callable
        Further stopping test: receives the residual and its squared norm in M^-1 as a share of the first one.

    Returns
    -------
    ndarray
        The approximate solution; zero if the first direction has no positive curvature.
    """
    solution, residual = np.zeros_like(right), right.copy()
    direction = precondition(residual)
    squared_norm = first = float(np.vdot(residual, direction))
    for _ in range(max_products):
        image = product(direction)
        curvature = float(np.vdot(direction, image))
        if not 0.0 < curvature < np.inf:
            break
        step = squared_norm / curvature
        solution += step * direction
        residual -= step * image
        on_step(step)
        conditioned = precondition(residual)
        before, squared_norm = squared_norm, float(np.vdot(residual, conditioned))
        if not squared_norm > tolerance**2 * first or stop(residual, squared_norm / first):
            break
        direction = conditioned + (squared_norm / before) * direction
    return solution


def mirror_lower_triangle(matrix: Array) -> None:
    """Overwrite the entries above the diagonal by those below it, in blocks."""
    step = max(1, _MIRRORED_ENTRIES // max(1, len(matrix)))
    for begin in range(0, len(matrix), step):
        end = begin + step
        matrix[:begin, begin:end] = matrix[begin:end, :begin].T
        square = matrix[begin:end, begin:end]
        upper = np.triu_indices(len(square), 1)
        square[upper] = square.T[upper]


def size_and_asymmetry(matrix: Array) -> tuple[float, float]:
    """The largest absolute value of a square matrix, and that of its difference from its transpose.

    NaN if the matrix holds NaN.  By tiles, of which both and their difference stay in the cache.
    """
    size, asymmetry, n = np.float64(0.0), np.float64(0.0), len(matrix)
    with np.errstate(invalid="ignore", over="ignore"):
        for begin in range(0, n, _TILE):
            for left in range(0, begin + 1, _TILE):
                tile = matrix[begin : begin + _TILE, left : left + _TILE]
                other = matrix[left : left + _TILE, begin : begin + _TILE]
                difference = np.abs(tile - other.T).max()
                # of NaN and a number np.maximum is NaN
                size = np.maximum(size, np.maximum(tile.max(), -tile.min()))
                if difference != 0.0:
                    size = np.maximum(size, np.abs(other).max())
                asymmetry = np.maximum(asymmetry, difference)
    return float(size), float(asymmetry)
