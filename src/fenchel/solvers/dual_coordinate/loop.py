r"""Epochs of dual coordinate descent: Zhang (2002), Algorithm 1, with exact steps.

The step of example i minimizes the dual over its own variable, eq. (13):

.. math:: \min_a\; f^*(-a, y_i) + s_i (a - \alpha_i) + \tfrac{q_i}{2}(a - \alpha_i)^2

For a regularizer other than ridge the weights are :math:`w = \nabla\Omega^*(v)`, component by component, with
:math:`v = X^T\theta/\lambda`.  The step then minimizes a quadratic upper bound of the negative dual: the curvature at
the present point gives a step that is long enough, and the largest curvature within that step one that is safe.

With an unregularized intercept and ridge, the loop centres the rows, :math:`x_i - m`, at the cost of a few scalars:
with :math:`v = X^T\theta/\lambda` and :math:`S = \sum\theta/\lambda` the weights are :math:`w = v - S m` and the
score is

.. math:: (x_i - m)\cdot(v - S m) + s + B^2 S = x_i\cdot v - S p_i - m\cdot v + (M + B^2) S + s

=================  =========================  ==============================================================
symbol             argument                   meaning
=================  =========================  ==============================================================
:math:`y_i`        ``table[i, LABEL]``        label
:math:`\alpha_i`   ``table[i, ALPHA]``        dual variable; :math:`\theta_i = c_i \alpha_i`
:math:`q_i`        ``table[i, CURVATURE]``    :math:`c_1` of (14), for the centred row and the constant feature
:math:`c_i/λ`      ``table[i, SCALE]``        v changes by this multiple of x_i when alpha changes by one
v                  ``v``                      :math:`X^T\theta/\lambda`; with a Gram matrix :math:`K\theta/\lambda`
S, m·v, s          ``intercept.state``        the three numbers of an intercept that change
:math:`p_i`        ``intercept.projection``   :math:`m\cdot x_i`; empty without an intercept
:math:`M + B^2`    ``intercept.spread``       :math:`\|m\|^2` plus the square of the constant feature
=================  =========================  ==============================================================

The four numbers of an example lie side by side, so that a step loads one cache line for them.

Free directions, Algorithm 3.  The step minimizes (**) for ridge and

.. math::
    \bar h_{s,\mu}(v) = \tfrac12\|v\|^2 + s\cdot e + \tfrac{\kappa}{2}\|e\|^2, \qquad e = g - b, \quad
    g = B^T\theta/\lambda, \quad \kappa = \lambda n/\mu.

The loop centres the rows, :math:`x_i - MB_i`, which changes nothing where e = 0 (``free_directions``): with the weights
:math:`v - Me` the score is

.. math:: (x_i - MB_i)\cdot(v - Me) + B_i\cdot(s + \kappa e) = x_i\cdot v - p_i\cdot e + B_i\cdot(t + \kappa e),
    \qquad t = s - M^T(v - Me)

and a step of length :math:`\delta` along the row adds :math:`\delta B_i` to e and :math:`\delta q_i` to t.

=================  ==================================  ========================================================
symbol             argument                            meaning
=================  ==================================  ========================================================
e                  ``intercept.state[SUM]``            residual of the equality constraints
t                  ``intercept.state[OFFSET]``         the multipliers s less :math:`M^T(v - Me)`
s                  ``intercept.state[CENTRE]``         the multipliers, which the loop does not need
:math:`\kappa`     ``intercept.spread``                weight of the quadratic term
:math:`B_i`        ``intercept.projection[i, :m]``     the example in the free directions
:math:`p_i`        ``intercept.projection[i, m:2m]``   :math:`M^Tx_i`
:math:`q_i`        ``intercept.projection[i, 2m:]``    :math:`M^TMB_i - p_i`
=================  ==================================  ========================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
from fenchel.compile.primitives.epoch import begin, keep
from fenchel.designs.rows import prefetch

#: columns of the table of examples
LABEL, ALPHA, CURVATURE, SCALE = range(4)
#: S, m.v and s of an intercept
SUM, OFFSET, CENTRE = range(3)
_ONE = np.uint64(1)
#: examples between the prefetch of a row and its use; twice that for the index and the table (measured: numba.md)
_AHEAD = np.uint64(8)


class Intercept(NamedTuple):
    """An unregularized intercept as the loops see it: a constant feature B, and rows that are centred on m.

    Or m free directions, among them the intercept.
    """

    #: S, m.v and s, which the loops change; with free directions e, t and s of each, (3, m)
    state: Any
    #: m.x_i of each example; empty where the rows are not centred by the loop; with free directions B_i, p_i and q_i
    projection: Any
    #: |m|^2 + B^2; with free directions kappa
    spread: float


@helper
def add_intercept(score: float, state: Any, projection: Any, spread: float, i: Any) -> float:
    """Add the intercept of (27), or the free directions of (**), to the score of example i."""
    # numba compiles one of the branches only: it knows the number of axes
    if state.ndim == 1:
        if len(projection) == 0:
            return score
        return score + (state[SUM] * (spread - projection[i]) - state[OFFSET] + state[CENTRE])
    count = np.uint64(state.shape[1])
    for k in range(count):
        score += (
            projection[i, k] * (state[OFFSET, k] + spread * state[SUM, k]) - projection[i, count + k] * state[SUM, k]
        )
    return score


@helper
def move_intercept(state: Any, projection: Any, i: Any, step: float) -> None:
    """Update S and m.v, or e and t, after v has moved by step times x_i."""
    if state.ndim == 1:
        if len(projection) > 0:
            state[SUM] += step
            state[OFFSET] += step * projection[i]
    else:
        count = np.uint64(state.shape[1])
        for k in range(count):
            state[SUM, k] += step * projection[i, k]
            state[OFFSET, k] += step * projection[i, count + count + k]


@helper
def intercept_along(state: Any, projection: Any, spread: float, i: Any) -> tuple[float, float]:
    """The intercept, or the part of free directions, of example i where rows are not centred, and its growth.

    The score grows by that much where v moves by x_i.
    """
    if state.ndim == 1:
        return state[CENTRE] + spread * state[SUM], spread
    total, square = 0.0, 0.0
    for k in range(np.uint64(state.shape[1])):
        total += projection[i, k] * (state[CENTRE, k] + spread * state[SUM, k])
        square += projection[i, k] * projection[i, k]
    return total, spread * square


@helper
def move_sums(state: Any, projection: Any, i: Any, step: float) -> None:
    """Update S, or e, after v has moved by step times x_i."""
    if state.ndim == 1:
        state[SUM] += step
    else:
        for k in range(np.uint64(state.shape[1])):
            state[SUM, k] += step * projection[i, k]


@helper
def _dot_weights(regularizer: Any, rows: Any, i: Any, v: Any) -> float:
    """x_i . w for the weights w = grad Omega*(v)."""
    total = 0.0
    for k in range(row_begin(rows, i), row_end(rows, i)):
        total += row_entry(rows, i, k) * weight(regularizer, v[row_column(rows, i, k)])
    return total


@helper
def _curvature_within(regularizer: Any, rows: Any, i: Any, v: Any, reach: float) -> float:
    """The largest curvature of the conjugate along x_i within ``reach`` of v."""
    total = 0.0
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value = row_entry(rows, i, k)
        total += value * value * hess_bound(regularizer, v[row_column(rows, i, k)], reach * abs(value))
    return total


@helper
def part_of_epoch(rows: Any, loss: Any, regularizer: Any, table: Any, v: Any, intercept: Any, part: Any) -> Any:
    """One part of an epoch of Algorithm 1, or of Algorithm 3 with free directions; returns its ``Tally``."""
    order, threshold, stop, sigma = part.order, part.threshold, np.uint64(part.end), part.sigma
    remaining, violation, changes, gap = begin(part)
    state, projection, spread = intercept
    worst, listed_from = part.worst, part.listed_from
    room = np.uint64(len(worst) - 1)
    listed = np.uint64(worst[room])
    if listed == room:
        listed_from = np.inf
    centred = len(projection) > 0
    for t in range(np.uint64(part.begin), stop):
        i = np.uint64(order[t])
        if t + _AHEAD + _AHEAD < stop:
            index_prefetch(rows, order[t + _AHEAD + _AHEAD])
            prefetch(table, order[t + _AHEAD + _AHEAD])
            row_prefetch(rows, order[t + _AHEAD])
        label, old, scale = table[i, LABEL], table[i, ALPHA], table[i, SCALE]
        # c_2 of (14), with the intercept of (27)
        score = row_dot(rows, i, v) if linear(regularizer) else _dot_weights(regularizer, rows, i, v)
        if centred:
            score = add_intercept(score, state, projection, spread, i)
        margin = kkt_margin(loss, label, old, score)
        if margin > threshold:
            continue
        remaining = keep(order, t, remaining)
        gap += scale * fenchel_young_gap(loss, label, old, score)
        if margin > 0.0:
            continue
        violation = max(violation, -margin)
        if -margin > listed_from:
            worst[listed] = i
            listed += _ONE
            if listed == room:
                # a branch that is never taken again costs nothing
                listed_from = np.inf
        # (*) minimize (13) exactly, or a quadratic upper bound of it
        curvature = sigma * table[i, CURVATURE]
        if not linear(regularizer):
            least = scale * (_curvature_within(regularizer, rows, i, v, 0.0) + spread)
            reach = scale * abs(dual_step(loss, label, old, score, least) - old)
            curvature = scale * (_curvature_within(regularizer, rows, i, v, reach) + spread)
        new = dual_step(loss, label, old, score, curvature)
        if new != old:
            # update v and alpha
            row_add(rows, i, sigma * scale * (new - old), v)
            if centred:
                move_intercept(state, projection, i, sigma * scale * (new - old))
            table[i, ALPHA] = new
            changes += 1
    worst[room] = listed
    return remaining, violation, changes, gap


#: the same, called from Python
epoch = loop(part_of_epoch)
