r"""Passes of dual coordinate descent for regularizers whose weights are no linear function of the dual vector.

Zhang (2002), Algorithm 1.  With :math:`\Omega^*(v) = G(\sum_j h_j(v_j))` (``regularizers.base.CompiledMirrorMap``) the
score of example i, as a function of its own dual variable a, is

.. math:: s(a) = G'(z)\sum_j x_{ij} h_j'(u_j + t x_{ij}) + b + B^2 t, \qquad t = \tfrac{c_i}{\lambda}(a - \alpha_i),
    \qquad z = \sum_{j\notin i} h_j(u_j) + \sum_{j\in i} h_j(u_j + t x_{ij})

which costs the non-zeros of the row: :math:`h_j'` and :math:`h_j` are kept for every feature, and z as a running sum.
Both are computed anew against drift, z every few rows and the others after every pass.  The step (*) minimizes
:math:`f^*(-a, y_i) + \int s`, whose derivative rises with a.  A trial a comes from ``dual_step`` with a straight line
for s.  If the derivative has not changed its sign there, the dual has risen all the way; else the optimum is between,
and the secant through both is the next straight line.

- ``newton``: the first trial that does not pass the optimum is taken.  The slope of the line is what the last visit
  of the example met (its secant), a little steepened, so that one trial is nearly always enough;
- ``exact``: trials go on to the optimum, or to the t-fold step of Sec. 6.2, whose line is 1/t as steep;
- ``gradient``: eq. (11), with a line of slope :math:`c_i/(\lambda\eta_i)`, taken as it is.  The loss's own part of the
  derivative is taken where the step ends, which keeps it inside the domain (and is (23) itself for the hinge).

=================  ===================  ==============================================================
symbol             argument             meaning
=================  ===================  ==============================================================
:math:`h_j', h_j`  ``nodes``            columns GRAD and VALUE, in the frame of ``carry``
z                  ``carry[TOTAL]``     in the same frame
S, s               ``free``             as in ``loops.dual_coordinate``; b = s + B^2 S
:math:`B^2`        ``spread``           square of the constant feature
=================  ===================  ==============================================================

In ``book`` the column CURVE holds the slope of the line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import (
    can_update,
    coupled,
    dual_step,
    fenchel_young_gap,
    grad_and_value,
    index_prefetch,
    kkt_margin,
    outer_grad,
    rescale,
    row_begin,
    row_column,
    row_end,
    row_entry,
    row_prefetch,
    update,
)
from fenchel.compile.loop import helper, loop
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, CURVE, LABEL, SCALE, SUM

GRAD, VALUE = range(2)
FRAME, FLOOR, TOTAL, HIGHEST = range(4)
#: inner rules
NEWTON, EXACT, GRADIENT = range(3)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_AHEAD = np.uint64(8)
#: a line that is steeper by this much than the last secant rarely passes the optimum
_STEEPER = 1.05
#: a trial is at least so far into the bracket, so that a wild first trial is left soon
_LEAST = 0.05
#: trials of a step; an exact step is exact long before
_TRIALS, _MOST = 12, 60
#: relative accuracy of an exact step
_ACCURACY = 1e-12
#: the running sum is summed anew when it has fallen by this factor, or has left this range, or after so many entries
_FALL, _RANGE, _ENTRIES = 1e-3, 1e120, 4


@helper
def _fill(regularizer: Any, u: Any, priors: Any, nodes: Any, carry: Any) -> None:
    """Nodes, frame and running sum from u alone."""
    top, bottom = -np.inf, np.inf
    for j in range(np.uint64(len(u))):
        top, bottom = max(top, u[j]), min(bottom, u[j])
    frame, floor = rescale(regularizer, top, bottom)
    total = 0.0
    for j in range(np.uint64(len(u))):
        grad, value = grad_and_value(regularizer, u[j], priors[j], frame, floor)
        nodes[j, GRAD], nodes[j, VALUE] = grad, value
        total += value
    carry[FRAME], carry[FLOOR], carry[TOTAL], carry[HIGHEST] = frame, floor, total, total


@helper
def refresh(regularizer: Any, u: Any, priors: Any, nodes: Any, carry: Any) -> None:
    """Sum the running sum anew, in a new frame if it has left the range."""
    total = 0.0
    for j in range(np.uint64(len(u))):
        total += nodes[j, VALUE]
    carry[TOTAL] = carry[HIGHEST] = total
    if not 1.0 / _RANGE < total < _RANGE:
        _fill(regularizer, u, priors, nodes, carry)


@loop
def rebuild(regularizer: Any, u: Any, priors: Any, nodes: Any, carry: Any) -> None:
    """Nodes, frame and running sum from u alone."""
    _fill(regularizer, u, priors, nodes, carry)


@loop
def largest_entries(rows: Any, result: Any) -> None:
    """The largest absolute value of each row."""
    for i in range(np.uint64(len(result))):
        largest = 0.0
        for k in range(row_begin(rows, i), row_end(rows, i)):
            largest = max(largest, abs(row_entry(rows, i, k)))
        result[i] = largest


@helper
def along(
    regularizer: Any, rows: Any, i: Any, t: float, u: Any, priors: Any, nodes: Any, carry: Any, trial: Any
) -> Any:
    """Sums of x h' and of h over the row, t further along x; the nodes go to ``trial``."""
    dot, total, frame, floor = 0.0, 0.0, carry[FRAME], carry[FLOOR]
    begin = row_begin(rows, i)
    for k in range(begin, row_end(rows, i)):
        j = row_column(rows, i, k)
        entry = row_entry(rows, i, k)
        shift = t * entry
        if can_update(regularizer, u[j], shift):
            grad, value = update(regularizer, nodes[j, GRAD], nodes[j, VALUE], u[j], shift, frame)
        else:
            grad, value = grad_and_value(regularizer, u[j] + shift, priors[j], frame, floor)
        trial[k - begin, GRAD], trial[k - begin, VALUE] = grad, value
        dot += entry * grad
        total += value
    return dot, total


@helper
def commit(rows: Any, i: Any, t: float, u: Any, nodes: Any, trial: Any) -> None:
    """Move u by t x and take over the nodes of the trial."""
    begin = row_begin(rows, i)
    for k in range(begin, row_end(rows, i)):
        j = row_column(rows, i, k)
        u[j] += t * row_entry(rows, i, k)
        nodes[j, GRAD], nodes[j, VALUE] = trial[k - begin, GRAD], trial[k - begin, VALUE]


@helper
def _kept_inside(next: float, low: float, high: float, rule: int, attempt: int, finite: bool) -> float:
    """The next trial, away from the lower end of its bracket and not beyond the upper one."""
    width = high - low
    share = (next - low) / width if width != 0.0 else 0.0
    if not finite:
        share = 0.1
    elif not share <= 1.0 or (rule == EXACT and attempt % 3 == 2):
        # the middle now and then, so that the bracket is sure to close
        share = 0.5
    # the secant's optimum may lie a little beyond the true one
    return low + max(share, _LEAST) * width / (_STEEPER if rule == NEWTON else 1.0)


@helper
def _search(
    regularizer: Any,
    loss: Any,
    rows: Any,
    i: Any,
    example: Any,
    u: Any,
    priors: Any,
    nodes: Any,
    carry: Any,
    trial: Any,
    score: float,
    intercept: float,
    spread: float,
    others: float,
    rule: int,
    stretch: float,
) -> Any:
    """The new dual variable, the slope of the line to it, and z there; ``trial`` holds its nodes."""
    label, old, scale, curve = example[LABEL], example[ALPHA], example[SCALE], example[CURVE]
    firm, total, last = scale * spread, carry[TOTAL], rule == GRADIENT
    low, low_score, high, at, at_score, best = old, score, np.nan, old, score, old
    line = (_STEEPER if rule == NEWTON else 1.0) * curve + firm
    for attempt in range(_MOST):
        next = dual_step(loss, label, low, low_score, line)
        if attempt > 0 and not last:
            # the line goes through the last trial: its optimum tells whether that one has passed the true optimum
            finite = np.isfinite(at_score)
            if finite and (next - at) * (at - low) >= 0.0:
                low, low_score = at, at_score
                curve = max((at_score - score) / (at - old) - firm, 0.0)
                if rule == NEWTON:
                    break
                done = abs(next - at) <= _ACCURACY * abs(at)
            else:
                high = at
                done = abs(high - low) <= _ACCURACY * abs(high)
            if not np.isnan(high):
                next = _kept_inside(next, low, high, rule, attempt, finite)
            if rule == NEWTON and attempt > _TRIALS:
                return old, curve, total
            if rule == EXACT and (done or attempt > _MOST - 4):
                if low == old or (low == at and stretch == 1.0):
                    break
                # once more to the best trial, or t times as far
                last, line, best, low, low_score = True, (curve + firm) / stretch, low, old, score
                continue
        if last and rule == EXACT and stretch == 1.0:
            next = best
        if next == low:
            if last or low in (old, at):
                break
            # the nodes are those of another trial
            last = True
        step = scale * (next - old)
        dot, own = along(regularizer, rows, i, step, u, priors, nodes, carry, trial)
        at, total = next, others + own
        if last:
            return at, curve, total
        at_score = outer_grad(regularizer, total, carry[FRAME]) * dot + intercept + spread * step
        line = max((at_score - low_score) / (at - low), firm)
    return low, curve, total


@loop
def visit_transferred(
    rows: Any,
    loss: Any,
    regularizer: Any,
    book: Any,
    u: Any,
    priors: Any,
    nodes: Any,
    carry: Any,
    trial: Any,
    free: Any,
    spread: float,
    rule: int,
    stretch: float,
    order: Any,
    begin: int,
    end: int,
    kept: int,
    threshold: float,
) -> tuple[int, float, int, float]:
    """Visit the examples ``order[begin:end]`` once; returns what ``loops.dual_coordinate.visit`` does."""
    stop, front, features = np.uint64(end), np.uint64(kept), len(u)
    worst, changed, gap, entries_moved = 0.0, 0, 0.0, 0
    for t in range(np.uint64(begin), stop):
        i = np.uint64(order[t])
        if t + _AHEAD + _AHEAD < stop:
            index_prefetch(rows, order[t + _AHEAD + _AHEAD])
            row_prefetch(rows, order[t + _AHEAD])
        label, old, scale = book[i, LABEL], book[i, ALPHA], book[i, SCALE]
        dot, own = 0.0, 0.0
        for k in range(row_begin(rows, i), row_end(rows, i)):
            j = row_column(rows, i, k)
            dot += row_entry(rows, i, k) * nodes[j, GRAD]
            own += nodes[j, VALUE]
        intercept = free[CENTRE] + spread * free[SUM]
        score = outer_grad(regularizer, carry[TOTAL], carry[FRAME]) * dot + intercept
        rest = kkt_margin(loss, label, old, score)
        if rest > threshold:
            continue
        order[t] = order[front]
        order[front] = i
        front += _ONE
        gap += scale * fenchel_young_gap(loss, label, old, score)
        if rest > 0.0:
            continue
        worst = max(worst, -rest)
        # (*) minimize (13) with the true score; what is not in the row stays
        entries = int(row_end(rows, i) - row_begin(rows, i))
        others = 0.0 if entries == features else max(carry[TOTAL] - own, 0.0)
        new, curve, total = _search(
            regularizer,
            loss,
            rows,
            i,
            book[i],
            u,
            priors,
            nodes,
            carry,
            trial,
            score,
            intercept,
            spread,
            others,
            rule,
            stretch,
        )
        book[i, CURVE] = curve
        if new == old:
            continue
        # update v and alpha
        step = scale * (new - old)
        commit(rows, i, step, u, nodes, trial)
        free[SUM] += step
        book[i, ALPHA] = new
        changed += 1
        if coupled(regularizer):
            entries_moved += entries
            carry[TOTAL], carry[HIGHEST] = total, max(carry[HIGHEST], total)
            inside = 1.0 / _RANGE < total < _RANGE
            if entries_moved > _ENTRIES * features or total < _FALL * carry[HIGHEST] or not inside:
                refresh(regularizer, u, priors, nodes, carry)
                entries_moved = 0
    return int(front), worst, changed, gap
