r"""Coordinate descent over the columns of X for a quadratic model plus absolute values.

.. math::
    \min_{w, \delta}\; \sum_i r_i\,(X w - Xw_0 + \delta)_i + \tfrac12 h_i\,(X w - Xw_0 + \delta)_i^2 + \lambda\|w\|_1

One visit minimizes over one weight exactly.  With a free intercept :math:`\delta` follows at once: where the slopes add
up to zero, a step of weight k moves it by :math:`-h\cdot x_k/\sum h` times as much, so that every column is centred by
its weighted mean, at the cost of a few scalars.

==========================  ==============================================================
symbol                      argument
==========================  ==============================================================
columns of X                ``columns``, each a row of a transposed design
:math:`r + h\,(Xw - Xw_0)`  ``slope``
:math:`h_i`                 ``bend``
:math:`\delta`              ``shift[0]``
:math:`h\cdot x_k`          ``first[k]``; zero without an intercept
curvature of weight k       ``second[k]``, :math:`h\cdot x_k^2 - (h\cdot x_k)^2/\sum h`
==========================  ==============================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_begin, row_column, row_dot, row_end, row_entry
from fenchel.compile.loop import helper, loop


@loop
def moments(columns: Any, bend: Any, first: Any, second: Any) -> None:
    """h . x_k and h . x_k^2 of every column."""
    for k in range(np.uint64(len(first))):
        mean, square = 0.0, 0.0
        for t in range(row_begin(columns, k), row_end(columns, k)):
            value = row_entry(columns, k, t)
            weighted = bend[row_column(columns, k, t)] * value
            mean += weighted
            square += weighted * value
        first[k], second[k] = mean, square


@helper
def _visit(
    columns: Any, k: Any, weights: Any, slope: Any, bend: Any, shift: Any, first: Any, second: Any, total: Any, lam: Any
) -> float:
    """Minimize over one weight; how much its slope changed by that."""
    old, curve = weights[k], second[k]
    target = old - (row_dot(columns, k, slope) + shift[0] * first[k]) / curve
    size = abs(target) - lam / curve
    new = 0.0
    if size > 0.0:
        new = size if target > 0.0 else -size
    step = new - old
    if step == 0.0:
        return 0.0
    weights[k] = new
    for t in range(row_begin(columns, k), row_end(columns, k)):
        i = row_column(columns, k, t)
        slope[i] += step * bend[i] * row_entry(columns, k, t)
    if total > 0.0:
        shift[0] -= step * first[k] / total
    return abs(step) * curve


@loop
def descend(
    columns: Any,
    weights: Any,
    slope: Any,
    bend: Any,
    shift: Any,
    first: Any,
    second: Any,
    total: float,
    lam: float,
    enough: float,
    most: int,
) -> tuple[int, int]:
    """Visit all columns, then those with a weight until they rest, and so on until all do or ``most`` passes are made.

    Rest is a change of every slope by at most ``enough``.  Returns how many passes over all columns, and over those
    with a weight, were made.
    """
    full, partial = 0, 0
    while full + partial < most:
        worst = 0.0
        for k in range(np.uint64(len(weights))):
            worst = max(worst, _visit(columns, k, weights, slope, bend, shift, first, second, total, lam))
        full += 1
        if worst <= enough:
            break
        while full + partial < most:
            worst = 0.0
            for k in range(np.uint64(len(weights))):
                if weights[k] != 0.0:
                    worst = max(worst, _visit(columns, k, weights, slope, bend, shift, first, second, total, lam))
            partial += 1
            if worst <= 0.5 * enough:
                break
    return full, partial
