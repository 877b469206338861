r"""Anderson extrapolation of the iterates of a fixed-point map.

Near a fixed point the map is affine, and an affine combination of its last iterates is nearer to the fixed point than
the last one (Scieur, d'Aspremont and Bach, NIPS 2016, algorithm 1; for coordinate descent Bertrand and Massias, AISTATS
2021, algorithm 1).  With the differences :math:`U = (z_1 - z_0, \ldots, z_K - z_{K-1})` it is

.. math:: z = \sum_k c_k z_k, \qquad c = \frac{(U^T U)^{-1} 1}{1^T (U^T U)^{-1} 1}

The caller checks that its objective falls.  All is written in scalar loops: expressions of whole arrays take seconds to
compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper

#: K: differences of iterates that are combined, as in the references
ANDERSON_DEPTH = 5
#: ridge of the linear system, relative to its trace: the differences are nearly parallel
_RIDGE = 1e-12


@helper
def anderson_coefficients(iterates: Any) -> Any:
    """Return c for the rows of ``iterates``, of which the first has the coefficient zero; all zero if there is none."""
    depth = len(iterates) - 1
    gram, solution, result = np.zeros((depth, depth)), np.ones(depth), np.zeros(depth + 1)
    for a in range(depth):
        for b in range(a + 1):
            total = 0.0
            for j in range(iterates.shape[1]):
                total += (iterates[a + 1, j] - iterates[a, j]) * (iterates[b + 1, j] - iterates[b, j])
            gram[a, b] = gram[b, a] = total
    trace = 0.0
    for a in range(depth):
        trace += gram[a, a]
    ridge = _RIDGE * trace
    if not 0.0 < ridge < np.inf:
        return result
    for a in range(depth):
        gram[a, a] += ridge
    # Gaussian elimination: the matrix is positive definite, so no pivot is zero
    for a in range(depth):
        for b in range(a + 1, depth):
            factor = gram[b, a] / gram[a, a]
            for c in range(a, depth):
                gram[b, c] -= factor * gram[a, c]
            solution[b] -= factor * solution[a]
    for a in range(depth - 1, -1, -1):
        for b in range(a + 1, depth):
            solution[a] -= gram[a, b] * solution[b]
        solution[a] /= gram[a, a]
    total = 0.0
    for a in range(depth):
        total += solution[a]
    if total != 0.0 and np.isfinite(total):
        for a in range(depth):
            result[a + 1] = solution[a] / total
    return result


@helper
def combined(coefficients: Any, rows: Any) -> tuple[Any, bool]:
    """Return sum_k c_k rows_k, and whether there are coefficients, not only zeros."""
    total, any_nonzero = np.zeros(rows.shape[1]), False
    for k in range(len(coefficients)):
        if coefficients[k] != 0.0:
            any_nonzero = True
            for j in range(np.uint64(len(total))):
                total[j] += coefficients[k] * rows[k, j]
    return total, any_nonzero
