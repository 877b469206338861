"""Products of few dense rows, for loops that make whole steps of Newton's method: x w, and X^T diag(h) X."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, summing_helper


@summing_helper
def dense_dot(x: Any, w: Any) -> float:
    """The scalar product of two rows."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * w[j]
    return total


@helper
def add_gram(X: Any, hess: Any, matrix: Any, size: int) -> None:
    """Add h (x, 1)(x, 1)^T of all rows below the diagonal, without the last entry; ``size`` is d, or d + 1 with the 1.

    Rows without a weight are not read.
    """
    rows, count = np.zeros(4, np.intp), 0
    for t in range(len(hess)):
        if hess[t] != 0.0:
            rows[count] = t
            count += 1
            if count == 4:
                _add_outer_products(X, hess, rows, count, matrix, size)
                count = 0
    if count:
        _add_outer_products(X, hess, rows, count, matrix, size)


@summing_helper
def _add_outer_products(X: Any, hess: Any, rows: Any, count: int, matrix: Any, size: int) -> None:
    """Add those of the first ``count`` of four rows.

    Four rows at a time read and write the matrix once for all of them.
    """
    d = X.shape[1]
    # a row that is missing counts with a weight of zero
    x, y, z, u = X[rows[0]], X[rows[1]], X[rows[2]], X[rows[3]]
    p, q, r, s = hess[rows[0]], hess[rows[1]], hess[rows[2]], hess[rows[3]]
    q, r, s = (q if count > 1 else 0.0), (r if count > 2 else 0.0), (s if count > 3 else 0.0)
    for j in range(d):
        a, b, c, e = p * x[j], q * y[j], r * z[j], s * u[j]
        for k in range(j + 1):
            matrix[j, k] += a * x[k] + b * y[k] + c * z[k] + e * u[k]
    if size > d:
        for k in range(d):
            matrix[d, k] += p * x[k] + q * y[k] + r * z[k] + s * u[k]
