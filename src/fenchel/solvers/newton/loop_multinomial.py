r"""Products with the rows of X for several classes at once, as Newton's method on the multinomial risk needs them.

The k numbers of a feature lie side by side: weights and results are (d, k), scores and probabilities (n, k) by position
in ``selected``.  The Hessian of an example's loss is :math:`\operatorname{diag}(p) - pp^T`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import loop
from fenchel.compile.primitives.class_rows import add_row, add_scores


@loop
def multiply_classes(rows: Any, selected: Any, weights: Any, result: Any) -> None:
    """Add X W."""
    for t in range(np.uint64(len(selected))):
        add_scores(rows, np.uint64(selected[t]), weights, result[t])


@loop
def pull_classes(rows: Any, selected: Any, theta: Any, result: Any) -> None:
    """Add X^T theta."""
    for t in range(np.uint64(len(selected))):
        add_row(rows, np.uint64(selected[t]), theta[t], result)


@loop
def bend_classes(
    rows: Any, selected: Any, probabilities: Any, shares: Any, weights: Any, change: Any, result: Any, total: Any
) -> None:
    """Add X W to ``change``, then to ``result`` X^T of the bent changes, whose sums are added to ``total``."""
    bent = np.zeros(len(total))
    for t in range(np.uint64(len(selected))):
        i, line, p = np.uint64(selected[t]), change[t], probabilities[t]
        add_scores(rows, i, weights, line)
        mean = 0.0
        for j in range(np.uint64(len(bent))):
            bent[j] = p[j] * line[j]
            mean += bent[j]
        for j in range(np.uint64(len(bent))):
            bent[j] = shares[t] * (bent[j] - mean * p[j])
            total[j] += bent[j]
        add_row(rows, i, bent, result)


@loop
def square_classes(rows: Any, selected: Any, bend: Any, result: Any) -> None:
    """Add the squares of X, transposed, times the curvature of each class."""
    for t in range(np.uint64(len(selected))):
        i, change = np.uint64(selected[t]), bend[t]
        for k in range(row_begin(rows, i), row_end(rows, i)):
            value, line = row_entry(rows, i, k), result[row_column(rows, i, k)]
            for j in range(np.uint64(len(change))):
                line[j] += value * value * change[j]


@loop
def unpack(rows: Any, selected: Any, result: Any) -> None:
    """Add the selected rows to a dense array."""
    for t in range(np.uint64(len(selected))):
        i = np.uint64(selected[t])
        for k in range(row_begin(rows, i), row_end(rows, i)):
            result[t, row_column(rows, i, k)] += row_entry(rows, i, k)
