r"""Products with the rows of X for several classes at once, for Newton's method on the multinomial risk.

Weights and results are (d, k), scores and probabilities (n, k) by position in ``selected``, in C order, so that the k
numbers of a feature or an example are contiguous.  The Hessian of an example's loss is
:math:`\operatorname{diag}(p) - pp^T`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import loop
from fenchel.compile.primitives.class_rows import add_row, add_scores


@loop
def multiply_classes(rows: Any, selected: Any, weights: Any, result: Any) -> None:
    """Add X W to ``result``."""
    for t in range(np.uint64(len(selected))):
        add_scores(rows, np.uint64(selected[t]), weights, result[t])


@loop
def add_adjoint_classes(rows: Any, selected: Any, theta: Any, result: Any) -> None:
    """Add X^T theta to ``result``."""
    for t in range(np.uint64(len(selected))):
        add_row(rows, np.uint64(selected[t]), theta[t], result)


@loop
def hess_product_classes(
    rows: Any, selected: Any, probabilities: Any, shares: Any, weights: Any, change: Any, result: Any, total: Any
) -> None:
    """Add X W to ``change``, X^T H_i change_i to ``result`` and the sums of H_i change_i to ``total``.

    H_i is the Hessian of the loss of example i, times its share.
    """
    image = np.zeros(len(total))
    for t in range(np.uint64(len(selected))):
        i, line, p = np.uint64(selected[t]), change[t], probabilities[t]
        add_scores(rows, i, weights, line)
        mean = 0.0
        for j in range(np.uint64(len(image))):
            image[j] = p[j] * line[j]
            mean += image[j]
        for j in range(np.uint64(len(image))):
            image[j] = shares[t] * (image[j] - mean * p[j])
            total[j] += image[j]
        add_row(rows, i, image, result)


@loop
def add_hess_diag_classes(rows: Any, selected: Any, hess: Any, result: Any) -> None:
    """Add sum_i x_il^2 h_ij to ``result``, for every feature l and class j."""
    for t in range(np.uint64(len(selected))):
        i, change = np.uint64(selected[t]), hess[t]
        for k in range(row_begin(rows, i), row_end(rows, i)):
            value, line = row_entry(rows, i, k), result[row_column(rows, i, k)]
            for j in range(np.uint64(len(change))):
                line[j] += value * value * change[j]


@loop
def add_dense_rows(rows: Any, selected: Any, result: Any) -> None:
    """Add the selected rows to a dense array."""
    for t in range(np.uint64(len(selected))):
        i = np.uint64(selected[t])
        for k in range(row_begin(rows, i), row_end(rows, i)):
            result[t, row_column(rows, i, k)] += row_entry(rows, i, k)
