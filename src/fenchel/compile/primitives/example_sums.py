r"""Sums over examples for Newton's method: scores, gradients and Hessians, each over a range of rows.

The smoothed loss of an example is :math:`\max_a -f^*(-a) - a s - \tfrac{\mu}{2}(a - \bar\alpha)^2`.  Its maximizer a is
a dual step from the centre :math:`\bar\alpha` with curvature :math:`\mu`, its derivative in s is :math:`-a` and its
second derivative is :math:`h = 1/(f^{*\prime\prime}(-a) + \mu)`, which is zero where a is at a bound of its domain.

=======================  ==================================================================
symbol                   argument (all by position in ``selected``)
=======================  ==================================================================
:math:`y_i, c_i`         ``labels``, ``shares``
:math:`s_i, \bar\alpha`  ``scores``, ``centre``
:math:`c_i a_i`          ``theta``
:math:`c_i h_i`          ``hess``
=======================  ==================================================================

Every loop works on positions ``begin`` to ``end``, so that threads can divide the examples among them.  Those named
``sum_...`` can be called from other loops as well; what Python calls are the loops at the end of this file.
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
from fenchel.compile.loop import helper, loop

_ONE, _TWO = np.uint64(1), np.uint64(2)
#: radius relative to a score over which a difference quotient has four digits
_LEAST_RADIUS = 1e-12


@loop
def multiply(rows: Any, selected: Any, w: Any, result: Any, begin: int, end: int) -> None:
    """Write X w for the selected rows into ``result``."""
    for t in range(np.uint64(begin), np.uint64(end)):
        result[t] = row_dot(rows, np.uint64(selected[t]), w)


@helper
def sum_dual_points(
    loss: Any,
    labels: Any,
    shares: Any,
    centre: Any,
    scores: Any,
    mu: float,
    theta: Any,
    hess: Any,
    begin: int,
    end: int,
) -> tuple[float, float]:
    """Update theta and the Hessian at the scores; return the Fenchel-Young gap of the risk and the sum of theta.

    Without smoothing theta is minus the gradient of the risk, and the Fenchel-Young gap is zero.
    """
    gap, total = 0.0, 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        a = dual_step(loss, labels[t], centre[t], scores[t], mu)
        theta[t] = shares[t] * a
        hess[t] = shares[t] / (hess_conjugate(loss, labels[t], a) + mu)
        if mu > 0.0:
            gap += shares[t] * fenchel_young_gap(loss, labels[t], a, scores[t])
        total += theta[t]
    return gap, total


@helper
def sum_average_hess(
    loss: Any,
    labels: Any,
    shares: Any,
    centre: Any,
    scores: Any,
    mu: float,
    radius: float,
    hess: Any,
    begin: int,
    end: int,
) -> None:
    """Average the second derivative over scores up to ``radius`` away: a difference quotient of the derivative."""
    for t in range(np.uint64(begin), np.uint64(end)):
        if radius <= _LEAST_RADIUS * abs(scores[t]):
            # the quotient would be rounding error
            continue
        below = dual_step(loss, labels[t], centre[t], scores[t] - radius, mu)
        above = dual_step(loss, labels[t], centre[t], scores[t] + radius, mu)
        hess[t] = shares[t] * (below - above) / (2.0 * radius)


@helper
def sum_derivatives(
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
    """Return the first and second derivative of the smoothed risk in the step, at ``scores + step * change``."""
    first, second = 0.0, 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        a = dual_step(loss, labels[t], centre[t], scores[t] + step * change[t], mu)
        first -= shares[t] * a * change[t]
        second += shares[t] / (hess_conjugate(loss, labels[t], a) + mu) * change[t] * change[t]
    return first, second


@loop
def add_adjoint(rows: Any, selected: Any, theta: Any, result: Any, begin: int, end: int) -> None:
    """Add X^T theta to ``result``."""
    for t in range(np.uint64(begin), np.uint64(end)):
        if theta[t] != 0.0:
            row_add(rows, np.uint64(selected[t]), theta[t], result)


@loop
def add_squares(rows: Any, selected: Any, hess: Any, result: Any, begin: int, end: int) -> None:
    """Add the diagonal of X^T diag(hess) X to ``result``; a column that a row repeats counts each entry alone."""
    for t in range(np.uint64(begin), np.uint64(end)):
        i = np.uint64(selected[t])
        for k in range(np.uint64(row_begin(rows, i)), np.uint64(row_end(rows, i))):
            value = row_entry(rows, i, k)
            result[row_column(rows, i, k)] += hess[t] * value * value


@loop
def half_gram(rows: Any, selected: Any, hess: Any, result: Any, border: Any, begin: int, end: int) -> None:
    """Add a matrix A with A + A^T = X^T diag(hess) X to ``result``, and X^T hess to ``border``."""
    for t in range(np.uint64(begin), np.uint64(end)):
        if hess[t] == 0.0:
            continue
        i = np.uint64(selected[t])
        start, stop = np.uint64(row_begin(rows, i)), np.uint64(row_end(rows, i))
        # two rows of A at a time, so that the entries before are loaded once for both
        for k in range(start, stop - (stop - start) % _TWO, _TWO):
            value, column = row_entry(rows, i, k), row_column(rows, i, k)
            second, second_column = row_entry(rows, i, k + _ONE), row_column(rows, i, k + _ONE)
            scaled, second_scaled = hess[t] * value, hess[t] * second
            for other in range(start, k):
                before, other_column = row_entry(rows, i, other), row_column(rows, i, other)
                result[column, other_column] += scaled * before
                result[second_column, other_column] += second_scaled * before
            result[second_column, column] += second_scaled * value
            result[column, column] += 0.5 * scaled * value
            result[second_column, second_column] += 0.5 * second_scaled * second
            border[column] += scaled
            border[second_column] += second_scaled
        if (stop - start) % _TWO == _ONE:
            last = stop - _ONE
            value, column = row_entry(rows, i, last), row_column(rows, i, last)
            scaled = hess[t] * value
            for other in range(start, last):
                result[column, row_column(rows, i, other)] += scaled * row_entry(rows, i, other)
            result[column, column] += 0.5 * scaled * value
            border[column] += scaled


@loop
def hess_product(rows: Any, selected: Any, hess: Any, w: Any, b: float, result: Any, begin: int, end: int) -> float:
    """Add X^T diag(hess) (X w + b) to ``result``, and return the sum of hess (X w + b)."""
    total = 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        if hess[t] != 0.0:
            i = np.uint64(selected[t])
            value = hess[t] * (row_dot(rows, i, w) + b)
            row_add(rows, i, value, result)
            total += value
    return total


smoothed_dual_point = loop(sum_dual_points)
mean_hess = loop(sum_average_hess)
directional_derivatives = loop(sum_derivatives)
