r"""Passes of dual coordinate descent: Zhang (2002), Algorithm 1, with exact steps.

One visit of example i minimizes the dual over its own variable, eq. (13):

.. math:: \min_a\; f^*(-a, y_i) + s_i (a - \alpha_i) + \tfrac{q_i}{2}(a - \alpha_i)^2

For a regularizer other than the square the weights are :math:`w = \nabla\Omega^*(u)`, component by component, with
:math:`u = X^T\theta/\lambda`.  A quadratic that lies above the dual along the step replaces it: the curvature at the
present point gives a step that is long enough, and the largest curvature within that step one that is safe.

With a free intercept and the square, the rows are centred on the way, :math:`x_i - m`, at the cost of a few scalars:
with :math:`u = X^T\theta/\lambda` and :math:`S = \sum\theta/\lambda` the weights are :math:`w = u - S m` and the
score is

.. math:: (x_i - m)\cdot(u - S m) + s + B^2 S = x_i\cdot u - S p_i - m\cdot u + (M + B^2) S + s

=================  ===================  ==============================================================
symbol             argument             meaning
=================  ===================  ==============================================================
:math:`y_i`        ``book[i, LABEL]``   label
:math:`\alpha_i`   ``book[i, ALPHA]``   dual variable; :math:`\theta_i = c_i \alpha_i`
:math:`q_i`        ``book[i, CURVE]``   :math:`c_1` of (14), for the centred row and the constant feature
:math:`c_i/λ`      ``book[i, SCALE]``   what one unit of alpha adds to u, as a multiple of x_i
u                  ``u``                :math:`X^T\theta/\lambda`
S, m·u, s          ``free``             the three numbers of a free intercept that change
:math:`p_i`        ``projection``       :math:`m\cdot x_i`; empty without an intercept
:math:`M + B^2`    ``spread``           :math:`\|m\|^2` plus the square of the constant feature
=================  ===================  ==============================================================

The four numbers of an example lie side by side, so that a visit loads one cache line for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import (
    dual_step,
    fenchel_young_gap,
    hess_bound,
    index_prefetch,
    kkt_margin,
    linear,
    row_add,
    row_begin,
    row_column,
    row_dot,
    row_end,
    row_entry,
    row_prefetch,
    weight,
)
from fenchel.compile.loop import helper, loop
from fenchel.designs.rows import prefetch

#: columns of the book of examples
LABEL, ALPHA, CURVE, SCALE = range(4)
#: S, m.u and s of a free intercept
SUM, OFFSET, CENTRE = range(3)
_ONE = np.uint64(1)
#: visits between the prefetch of a row and its use; twice that for the index and the example's own numbers
_AHEAD = np.uint64(8)


@helper
def _dot_through(regularizer: Any, rows: Any, i: Any, u: Any) -> float:
    """x_i . w for the weights that belong to u."""
    total = 0.0
    for k in range(row_begin(rows, i), row_end(rows, i)):
        total += row_entry(rows, i, k) * weight(regularizer, u[row_column(rows, i, k)])
    return total


@helper
def _curvature_within(regularizer: Any, rows: Any, i: Any, u: Any, reach: float) -> float:
    """The largest curvature of the conjugate along x_i within ``reach`` of u."""
    total = 0.0
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value = row_entry(rows, i, k)
        total += value * value * hess_bound(regularizer, u[row_column(rows, i, k)], reach * abs(value))
    return total


@loop
def visit(
    rows: Any,
    loss: Any,
    regularizer: Any,
    book: Any,
    u: Any,
    free: Any,
    projection: Any,
    spread: float,
    order: Any,
    begin: int,
    end: int,
    kept: int,
    threshold: float,
) -> tuple[int, float, int, float]:
    """Visit the examples ``order[begin:end]`` once.

    An example that rests on a bound by more than ``threshold`` is set aside: the others are gathered at the front of
    ``order``, of which ``kept`` are there already.  Returns the number kept, the worst violation of an optimality
    condition that was met, how many dual variables changed, and the sum of the examples' shares in the gap as met.
    """
    stop, front = np.uint64(end), np.uint64(kept)
    worst, changed, gap = 0.0, 0, 0.0
    centred = len(projection) > 0
    for t in range(np.uint64(begin), stop):
        i = np.uint64(order[t])
        if t + _AHEAD + _AHEAD < stop:
            index_prefetch(rows, order[t + _AHEAD + _AHEAD])
            prefetch(book, order[t + _AHEAD + _AHEAD])
            row_prefetch(rows, order[t + _AHEAD])
        label, old = book[i, LABEL], book[i, ALPHA]
        # c_2 of (14), with the intercept of (27)
        score = row_dot(rows, i, u) if linear(regularizer) else _dot_through(regularizer, rows, i, u)
        if centred:
            score += free[SUM] * (spread - projection[i]) - free[OFFSET] + free[CENTRE]
        rest = kkt_margin(loss, label, old, score)
        if rest > threshold:
            continue
        order[t] = order[front]
        order[front] = i
        front += _ONE
        gap += book[i, SCALE] * fenchel_young_gap(loss, label, old, score)
        if rest > 0.0:
            continue
        worst = max(worst, -rest)
        # (*) minimize (13) exactly, or a quadratic above it
        curvature = book[i, CURVE]
        if not linear(regularizer):
            least = book[i, SCALE] * (_curvature_within(regularizer, rows, i, u, 0.0) + spread)
            reach = book[i, SCALE] * abs(dual_step(loss, label, old, score, least) - old)
            curvature = book[i, SCALE] * (_curvature_within(regularizer, rows, i, u, reach) + spread)
        new = dual_step(loss, label, old, score, curvature)
        if new != old:
            # update v and alpha
            step = book[i, SCALE] * (new - old)
            row_add(rows, i, step, u)
            if centred:
                free[SUM] += step
                free[OFFSET] += step * projection[i]
            book[i, ALPHA] = new
            changed += 1
    return int(front), worst, changed, gap
