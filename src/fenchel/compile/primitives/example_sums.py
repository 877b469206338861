r"""Sums over examples for Newton's method: scores, slopes, products and curvature, each over a range of rows.

The smoothed loss of an example is :math:`\max_a -f^*(-a) - a s - \tfrac{\mu}{2}(a - \bar\alpha)^2`; its maximizer is a
dual step from the centre :math:`\bar\alpha` with curvature :math:`\mu`, its slope is :math:`-a` and its second
derivative :math:`h = 1/(f^{*\prime\prime}(-a) + \mu)`, which is zero where a rests on a bound.

=======================  ==================================================================
symbol                   argument (all by position in ``selected``)
=======================  ==================================================================
:math:`y_i, c_i`         ``labels``, ``shares``
:math:`s_i, \bar\alpha`  ``scores``, ``centre``
:math:`c_i a_i`          ``theta``
:math:`c_i h_i`          ``bend``
=======================  ==================================================================

Every loop works on positions ``begin`` to ``end``, so that threads can share the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import (
    dual_step,
    fenchel_young_gap,
    hess_conjugate,
    row_add,
    row_begin,
    row_column,
    row_dot,
    row_end,
    row_entry,
)
from fenchel.compile.loop import loop


@loop
def multiply(rows: Any, selected: Any, w: Any, result: Any, begin: int, end: int) -> None:
    """X w for the selected rows."""
    for t in range(np.uint64(begin), np.uint64(end)):
        result[t] = row_dot(rows, np.uint64(selected[t]), w)


@loop
def slopes(
    loss: Any,
    labels: Any,
    shares: Any,
    centre: Any,
    scores: Any,
    mu: float,
    theta: Any,
    bend: Any,
    begin: int,
    end: int,
) -> tuple[float, float]:
    """Dual point and curvature at the present scores; the excess of the unsmoothed loss, and the sum of theta.

    Without smoothing the dual point is the slope itself, and the excess zero.
    """
    gap, total = 0.0, 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        a = dual_step(loss, labels[t], centre[t], scores[t], mu)
        theta[t] = shares[t] * a
        bend[t] = shares[t] / (hess_conjugate(loss, labels[t], a) + mu)
        if mu > 0.0:
            gap += shares[t] * fenchel_young_gap(loss, labels[t], a, scores[t])
        total += theta[t]
    return gap, total


@loop
def mean_bend(
    loss: Any,
    labels: Any,
    shares: Any,
    centre: Any,
    scores: Any,
    mu: float,
    radius: float,
    bend: Any,
    begin: int,
    end: int,
) -> None:
    """The curvature averaged over scores up to ``radius`` away: a difference quotient of the slope."""
    for t in range(np.uint64(begin), np.uint64(end)):
        below = dual_step(loss, labels[t], centre[t], scores[t] - radius, mu)
        above = dual_step(loss, labels[t], centre[t], scores[t] + radius, mu)
        bend[t] = shares[t] * (below - above) / (2.0 * radius)


@loop
def slope_along(
    loss: Any,
    labels: Any,
    shares: Any,
    centre: Any,
    scores: Any,
    change: Any,
    step: float,
    mu: float,
    begin: int,
    end: int,
) -> tuple[float, float]:
    """First and second derivative in the step of the smoothed risk at ``scores + step * change``."""
    first, second = 0.0, 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        a = dual_step(loss, labels[t], centre[t], scores[t] + step * change[t], mu)
        first -= shares[t] * a * change[t]
        second += shares[t] / (hess_conjugate(loss, labels[t], a) + mu) * change[t] * change[t]
    return first, second


@loop
def pull(rows: Any, selected: Any, theta: Any, result: Any, begin: int, end: int) -> None:
    """Add X^T theta."""
    for t in range(np.uint64(begin), np.uint64(end)):
        if theta[t] != 0.0:
            row_add(rows, np.uint64(selected[t]), theta[t], result)


@loop
def half_gram(rows: Any, selected: Any, bend: Any, result: Any, border: Any, begin: int, end: int) -> None:
    """Add half of X^T diag(bend) X (its transpose added makes it whole), and X^T bend to ``border``."""
    for t in range(np.uint64(begin), np.uint64(end)):
        if bend[t] == 0.0:
            continue
        i = np.uint64(selected[t])
        start = row_begin(rows, i)
        for k in range(start, row_end(rows, i)):
            value, column = bend[t] * row_entry(rows, i, k), row_column(rows, i, k)
            border[column] += value
            for other in range(start, k):
                result[column, row_column(rows, i, other)] += value * row_entry(rows, i, other)
            result[column, column] += 0.5 * value * row_entry(rows, i, k)


@loop
def bend_along(rows: Any, selected: Any, bend: Any, w: Any, b: float, result: Any, begin: int, end: int) -> float:
    """Add X^T diag(bend) (X w + b), and return the sum of bend (X w + b)."""
    total = 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        if bend[t] != 0.0:
            i = np.uint64(selected[t])
            value = bend[t] * (row_dot(rows, i, w) + b)
            row_add(rows, i, value, result)
            total += value
    return total


@loop
def descend_coordinates(matrix: Any, limits: Any, point: Any, slope: Any) -> float:
    """One pass of exact steps along coordinates for a quadratic plus ``limits . |point|``; the largest step's slope.

    ``slope`` is the gradient of the quadratic at ``point`` and is kept current.
    """
    worst = 0.0
    for j in range(np.uint64(len(point))):
        bend = matrix[j, j]
        if not bend > 0.0:
            continue
        target = point[j] - slope[j] / bend
        size = abs(target) - limits[j] / bend
        new = 0.0
        if size > 0.0:
            new = size if target > 0.0 else -size
        change = new - point[j]
        if change != 0.0:
            worst = max(worst, abs(change) * bend)
            for k in range(np.uint64(len(point))):
                slope[k] += matrix[j, k] * change
            point[j] = new
    return worst
