r"""Epochs of dual coordinate descent for regularizers whose mirror map v -> w = grad Omega*(v) is not linear.

Zhang (2002), Algorithm 1.  With :math:`\Omega^*(v) = G(\sum_j h_j(v_j))` (``regularizers.compiled.CompiledMirrorMap``)
the score of example i, as a function of its own dual variable a, is

.. math:: s(a) = G'(z)\sum_j x_{ij} h_j'(v_j + t x_{ij}) + b + B^2 t, \qquad t = \tfrac{c_i}{\lambda}(a - \alpha_i),
    \qquad z = \sum_{j\notin i} h_j(v_j) + \sum_{j\in i} h_j(v_j + t x_{ij})

which costs the non-zeros of the row: :math:`h_j'` and :math:`h_j` are stored for every feature, and z as a running sum.
Both are recomputed against rounding errors, z every few rows and the others after every epoch.  The step (*) minimizes
:math:`f^*(-a, y_i) + \int s`, whose derivative rises with a, by a line search: ``dual_step`` with a secant in the place
of s gives a trial a.  If the derivative has not changed its sign there, the dual has risen all the way; else the
optimum is between, and the secant through both is the next one.

- ``newton``: the first trial that does not pass the optimum is taken.  The slope of the secant is what the last step
  of the example met, a little steepened, so that one trial is nearly always enough;
- ``exact``: trials go on to the optimum, or to the t-fold step of Sec. 6.2, whose secant is 1/t as steep;
- ``gradient``: eq. (11), with a line of slope :math:`c_i/(\lambda\eta_i)`, taken as it is.  The loss's own part of the
  derivative is taken where the step ends, which keeps it inside the domain (and is (23) itself for the hinge).

=================  ============================  ==============================================================
symbol             argument                      meaning
=================  ============================  ==============================================================
v                  ``mirror.v``                  :math:`X^T\theta/\lambda`
:math:`h_j', h_j`  ``mirror.terms``              columns GRAD and VALUE, in the units FRAME of ``mirror.running``
z                  ``mirror.running[TOTAL]``     in the same units
S, s               ``intercept.state``           as in ``loop``; b = s + B^2 S
:math:`B^2`        ``intercept.spread``          square of the constant feature
=================  ============================  ==============================================================

In ``table`` the column CURVATURE holds the slope of the secant.

Free directions, Algorithm 3: with B_i of the example in them, e, s and kappa as in ``loop``, the score has
:math:`B_i\cdot(s + \kappa e)` in the place of b, and :math:`\kappa\|B_i\|^2` in that of :math:`B^2`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
from fenchel.compile.primitives.epoch import begin, keep
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVATURE, LABEL, SCALE, intercept_along, move_sums

#: columns of ``Mirror.terms``
GRAD, VALUE = range(2)
#: entries of ``Mirror.running``: the units and the lower end of ``rescale``, z, and the largest z since it was summed
FRAME, FLOOR, TOTAL, HIGHEST = range(4)
#: how a step is found
NEWTON, EXACT, GRADIENT = range(3)
#: examples between the prefetch of a row and its use, as in ``loop``
_AHEAD = np.uint64(8)
#: the first secant of a Newton step is this many times as steep as the last one: it rarely passes the optimum
_STEEPER = 1.05
#: a trial lies at least this share of the bracket inside it, so that a bad first trial is left soon
_LEAST_SHARE = 0.05
#: evaluations of the score in one Newton step and in one exact step at most
_NEWTON_TRIALS, _EXACT_TRIALS = 12, 60
#: relative accuracy of the dual variable after an exact step
_ACCURACY = 1e-12
#: z is summed again when it has fallen to this share of its largest value (cancellation), when it is outside of
#: (1/_RANGE, _RANGE), or after steps over this many times the number of features
_FALL, _RANGE, _SUMS = 1e-3, 1e120, 4


class Mirror(NamedTuple):
    """The dual vector v and what is stored to evaluate the mirror map at v + t x_i; the loops change all but priors."""

    v: Any
    #: of the entropies, one for each feature
    priors: Any
    #: h'_j(v_j) and h_j(v_j), (d, 2)
    terms: Any
    #: FRAME, FLOOR, TOTAL and HIGHEST
    running: Any
    #: the terms of the features of one row at the last trial point, (longest row, 2)
    row_terms: Any


class Rule(NamedTuple):
    """How a step is found: NEWTON, EXACT or GRADIENT, and the over-relaxation factor of an exact step (Sec. 6.2)."""

    kind: int
    stretch: float


class ScoreLine(NamedTuple):
    """The score of one example along its step: s(t) = G'(others + sum h) (x . h') + intercept + constant t."""

    #: s(0)
    score: float
    intercept: float
    constant: float
    #: the sum of h_j over the features that are not in the row
    others: float


@helper
def _fill(regularizer: Any, mirror: Any) -> None:
    """Compute terms, frame and running sum from v."""
    v, terms, running = mirror.v, mirror.terms, mirror.running
    top, bottom = -np.inf, np.inf
    for j in range(np.uint64(len(v))):
        top, bottom = max(top, v[j]), min(bottom, v[j])
    frame, floor = rescale(regularizer, top, bottom)
    total = 0.0
    for j in range(np.uint64(len(v))):
        grad, value = grad_and_value(regularizer, v[j], mirror.priors[j], frame, floor)
        terms[j, GRAD], terms[j, VALUE] = grad, value
        total += value
    running[FRAME], running[FLOOR], running[TOTAL], running[HIGHEST] = frame, floor, total, total


@helper
def refresh(regularizer: Any, mirror: Any) -> None:
    """Recompute the running sum, in a new frame if it has left the range."""
    terms, total = mirror.terms, 0.0
    for j in range(np.uint64(len(terms))):
        total += terms[j, VALUE]
    mirror.running[TOTAL] = mirror.running[HIGHEST] = total
    if not 1.0 / _RANGE < total < _RANGE:
        _fill(regularizer, mirror)


@loop
def rebuild(regularizer: Any, mirror: Any) -> None:
    """Compute terms, frame and running sum from v."""
    _fill(regularizer, mirror)


@loop
def largest_entries(rows: Any, result: Any) -> None:
    """The largest absolute value of each row."""
    for i in range(np.uint64(len(result))):
        largest = 0.0
        for k in range(row_begin(rows, i), row_end(rows, i)):
            largest = max(largest, abs(row_entry(rows, i, k)))
        result[i] = largest


@helper
def terms_along(regularizer: Any, rows: Any, i: Any, t: float, mirror: Any) -> Any:
    """Sums of x h' and of h over row i at v + t x_i; the terms go to ``row_terms``."""
    v, priors, terms, running, row_terms = mirror
    dot, total, frame, floor = 0.0, 0.0, running[FRAME], running[FLOOR]
    first = row_begin(rows, i)
    for k in range(first, row_end(rows, i)):
        j = row_column(rows, i, k)
        entry = row_entry(rows, i, k)
        shift = t * entry
        if can_update(regularizer, v[j], shift):
            grad, value = update(regularizer, terms[j, GRAD], terms[j, VALUE], v[j], shift, frame)
        else:
            grad, value = grad_and_value(regularizer, v[j] + shift, priors[j], frame, floor)
        row_terms[k - first, GRAD], row_terms[k - first, VALUE] = grad, value
        dot += entry * grad
        total += value
    return dot, total


@helper
def accept(rows: Any, i: Any, t: float, mirror: Any) -> None:
    """Move v to v + t x_i, whose terms are in ``row_terms``."""
    v, terms, row_terms = mirror.v, mirror.terms, mirror.row_terms
    first = row_begin(rows, i)
    for k in range(first, row_end(rows, i)):
        j = row_column(rows, i, k)
        v[j] += t * row_entry(rows, i, k)
        terms[j, GRAD], terms[j, VALUE] = row_terms[k - first, GRAD], row_terms[k - first, VALUE]


@helper
def _inside_bracket(next: float, low: float, high: float, kind: int, attempt: int, finite: bool) -> float:
    """The next trial, away from the lower end of its bracket and not beyond the upper one."""
    width = high - low
    share = (next - low) / width if width != 0.0 else 0.0
    if not finite:
        share = 0.1
    elif not share <= 1.0 or (kind == EXACT and attempt % 3 == 2):
        # the middle now and then, so that the bracket is sure to close
        share = 0.5
    # the secant's optimum may lie a little beyond the true one
    return low + max(share, _LEAST_SHARE) * width / (_STEEPER if kind == NEWTON else 1.0)


@helper
def _search(
    regularizer: Any, loss: Any, rows: Any, i: Any, example: Any, mirror: Any, along: Any, rule: Any
) -> tuple[float, float, float]:
    """The new dual variable, the slope of the secant to it, and z there; ``row_terms`` holds its terms.

    ``example`` is the line of the table and ``along`` the ``ScoreLine`` of example i.
    """
    label, old, scale, curvature = example[LABEL], example[ALPHA], example[SCALE], example[CURVATURE]
    score, kind, stretch = along.score, rule.kind, rule.stretch
    least, total, last = scale * along.constant, mirror.running[TOTAL], kind == GRADIENT
    low, low_score, high, at, at_score, best = old, score, np.nan, old, score, old
    line = (_STEEPER if kind == NEWTON else 1.0) * curvature + least
    for attempt in range(_EXACT_TRIALS):
        next = dual_step(loss, label, low, low_score, line)
        if attempt > 0 and not last:
            # the secant goes through the last trial: its optimum tells whether that one has passed the true optimum
            finite = np.isfinite(at_score)
            if finite and (next - at) * (at - low) >= 0.0:
                low, low_score = at, at_score
                curvature = max((at_score - score) / (at - old) - least, 0.0)
                if kind == NEWTON:
                    break
                done = abs(next - at) <= _ACCURACY * abs(at)
            else:
                high = at
                done = abs(high - low) <= _ACCURACY * abs(high)
            if not np.isnan(high):
                next = _inside_bracket(next, low, high, kind, attempt, finite)
            if kind == NEWTON and attempt > _NEWTON_TRIALS:
                return old, curvature, total
            if kind == EXACT and (done or attempt > _EXACT_TRIALS - 4):
                if low == old or (low == at and stretch == 1.0):
                    break
                # once more to the best trial, or t times as far
                last, line, best, low, low_score = True, (curvature + least) / stretch, low, old, score
                continue
        if last and kind == EXACT and stretch == 1.0:
            next = best
        if next == low:
            if last or low in (old, at):
                break
            # row_terms are those of another trial
            last = True
        step = scale * (next - old)
        dot, own = terms_along(regularizer, rows, i, step, mirror)
        at, total = next, along.others + own
        if last:
            return at, curvature, total
        at_score = outer_grad(regularizer, total, mirror.running[FRAME]) * dot + along.intercept + along.constant * step
        line = max((at_score - low_score) / (at - low), least)
    return low, curvature, total


@loop
def epoch_mirror(
    rows: Any, loss: Any, regularizer: Any, table: Any, mirror: Any, intercept: Any, rule: Any, part: Any
) -> Any:
    """One part of an epoch of Algorithm 1; returns its ``Tally``."""
    order, threshold, stop = part.order, part.threshold, np.uint64(part.end)
    remaining, violation, changes, gap = begin(part)
    state, projection, spread = intercept
    terms, running, features, entries_moved = mirror.terms, mirror.running, len(mirror.v), 0
    for t in range(np.uint64(part.begin), stop):
        i = np.uint64(order[t])
        if t + _AHEAD + _AHEAD < stop:
            index_prefetch(rows, order[t + _AHEAD + _AHEAD])
            row_prefetch(rows, order[t + _AHEAD])
        label, old, scale = table[i, LABEL], table[i, ALPHA], table[i, SCALE]
        dot, own = 0.0, 0.0
        for k in range(row_begin(rows, i), row_end(rows, i)):
            j = row_column(rows, i, k)
            dot += row_entry(rows, i, k) * terms[j, GRAD]
            own += terms[j, VALUE]
        b, constant = intercept_along(state, projection, spread, i)
        score = outer_grad(regularizer, running[TOTAL], running[FRAME]) * dot + b
        margin = kkt_margin(loss, label, old, score)
        if margin > threshold:
            continue
        remaining = keep(order, t, remaining)
        gap += scale * fenchel_young_gap(loss, label, old, score)
        if margin > 0.0:
            continue
        violation = max(violation, -margin)
        # (*) minimize (13) with the true score; h_j of the features that are not in the row stay
        entries = int(row_end(rows, i) - row_begin(rows, i))
        others = 0.0 if entries == features else max(running[TOTAL] - own, 0.0)
        along = ScoreLine(score, b, constant, others)
        new, slope, total = _search(regularizer, loss, rows, i, table[i], mirror, along, rule)
        table[i, CURVATURE] = slope
        if new == old:
            continue
        # update v and alpha
        accept(rows, i, scale * (new - old), mirror)
        move_sums(state, projection, i, scale * (new - old))
        table[i, ALPHA] = new
        changes += 1
        if coupled(regularizer):
            entries_moved += entries
            running[TOTAL], running[HIGHEST] = total, max(running[HIGHEST], total)
            inside = 1.0 / _RANGE < total < _RANGE
            if entries_moved > _SUMS * features or total < _FALL * running[HIGHEST] or not inside:
                refresh(regularizer, mirror)
                entries_moved = 0
    return remaining, violation, changes, gap
