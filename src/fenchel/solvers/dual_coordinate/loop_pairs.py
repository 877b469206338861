r"""Sequential minimal optimization with rows of a Gram matrix, without an intercept: pairs of dual variables.

One variable could move alone, but two that are chosen together need fewer steps (Steinwart, Hush and Scovel, Training
SVMs without offset, JMLR 12, 2011): with the slopes u and l of ``loop_balanced_pairs`` i has the largest gain of one
variable, :math:`g_i^2/2K_{ii}` with the slope g of the direction in which the negative dual falls, and j the largest
gain of another one while i stays at its minimizer, :math:`g_j'^2/2(K_{jj} - K_{ij}^2/K_{ii})` with the slope
:math:`g_j'` after the step of i.

=====================  ===============================================================================
symbol                 here
=====================  ===============================================================================
s                      ``v``, without the intercept
u, l                   ``upper``, ``lower``
:math:`D_i`            ``table[i, SCALE]``, :math:`c_i/\lambda`
=====================  ===============================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import dual_step, fenchel_young_gap, kkt_margin, row_add
from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.epoch import begin, keep
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVATURE, LABEL, SCALE, add_intercept
from fenchel.solvers.dual_coordinate.loop_balanced_pairs import limit_of


class FreeAmong(NamedTuple):
    """The examples that pairs are chosen from."""

    #: in increasing order
    active: Any
    #: where in ``rows`` the row of each example is
    places: Any
    #: the least and the largest value of each alpha
    bounds: Any


#: a curvature along a pair below this share of the diagonal of K counts as this one, and one below this value
_FLATTEST, _LEAST = 1e-12, 1e-200
#: alternating steps on two variables end after this many, or when a step is this share of the longest
_ALTERNATIONS, _INNER_SHARE = 20, 1e-2


@helper
def _slopes(alpha: float, residual: float, bounds: Any, form: Any) -> Any:
    """u and l of one example with the residual s - y."""
    slope, epsilon = residual + form.kappa * alpha, form.epsilon
    upper = slope + (epsilon if alpha >= 0.0 else -epsilon) if alpha < bounds[1] else np.inf
    lower = slope + (epsilon if alpha > 0.0 else -epsilon) if alpha > bounds[0] else -np.inf
    return upper, lower


@helper
def _set_slopes(table: Any, targets: Any, v: Any, bounds: Any, form: Any, i: Any, slopes: Any) -> None:
    slopes[0][i], slopes[1][i] = _slopes(table[i, ALPHA], v[i] - targets[i], bounds[i], form)


@helper
def _begin(rows: Any, table: Any, targets: Any, v: Any, among: Any, form: Any, slopes: Any, curvatures: Any) -> None:
    """The slopes and the curvatures of the active examples."""
    active, places, bounds = among
    for t in range(np.uint64(len(active))):
        k = np.uint64(active[t])
        _set_slopes(table, targets, v, bounds, form, k, slopes)
        curvatures[k] = max(rows.values[places[k], k] + form.kappa / table[k, SCALE], _LEAST)


@helper
def _move(v: Any, slopes: Any, first: Any, second: Any, one: float, other: float) -> None:
    """Add multiples of two rows of K to the scores and slopes of all examples."""
    upper, lower = slopes
    for k in range(np.uint64(len(v))):
        change = one * first[k] + other * second[k]
        v[k] += change
        upper[k] += change
        lower[k] += change


@helper
def _slope(upper: float, lower: float) -> float:
    """The slope of the direction in which the negative dual falls; zero if there is none."""
    return upper if upper < 0.0 else max(lower, 0.0)


@helper
def _one_step(alpha: float, slope: float, curvature: float, scale: float, bounds: Any, epsilon: float) -> float:
    """The minimizer over one variable, up to the first bound or kink."""
    if slope < 0.0:
        return min(alpha - slope / (curvature * scale), limit_of(alpha, bounds[1], epsilon))
    if slope > 0.0:
        return max(alpha - slope / (curvature * scale), limit_of(alpha, bounds[0], epsilon))
    return alpha


@helper
def _both_steps(table: Any, bounds: Any, form: Any, pair: Any, scores: Any, curvatures: Any, across: float) -> Any:
    """The minimizer over two variables, nearly, by alternating steps; K_ij is ``across``."""
    (i, j), (score_i, score_j), first = pair, scores, 0.0
    alpha_i, alpha_j = table[i, ALPHA], table[j, ALPHA]
    for _ in range(_ALTERNATIONS):
        upper, lower = _slopes(alpha_i, score_i - table[i, LABEL], bounds[i], form)
        new = _one_step(alpha_i, _slope(upper, lower), curvatures[i], table[i, SCALE], bounds[i], form.epsilon)
        moved = abs(table[i, SCALE] * (new - alpha_i))
        score_j += table[i, SCALE] * (new - alpha_i) * across
        score_i += table[i, SCALE] * (new - alpha_i) * (curvatures[i] - form.kappa / table[i, SCALE])
        alpha_i = new
        upper, lower = _slopes(alpha_j, score_j - table[j, LABEL], bounds[j], form)
        new = _one_step(alpha_j, _slope(upper, lower), curvatures[j], table[j, SCALE], bounds[j], form.epsilon)
        moved = max(moved, abs(table[j, SCALE] * (new - alpha_j)))
        score_i += table[j, SCALE] * (new - alpha_j) * across
        score_j += table[j, SCALE] * (new - alpha_j) * (curvatures[j] - form.kappa / table[j, SCALE])
        alpha_j = new
        first = max(first, moved)
        if moved <= _INNER_SHARE * first:
            break
    return alpha_i, alpha_j


@loop
def optimize_free_pairs(rows: Any, table: Any, v: Any, among: Any, form: Any, violation: float, rounds: int) -> int:
    """Make at most that many steps on pairs of the active examples, without an intercept; how many.

    The steps end when no slope exceeds ``violation``.
    """
    (active, places, bounds), values, n, targets = among, rows.values, len(table), table[:, LABEL]
    upper, lower, curvatures = np.zeros(n), np.zeros(n), np.zeros(n)
    _begin(rows, table, targets, v, among, form, (upper, lower), curvatures)
    for steps in range(rounds):
        # the largest gain of one variable
        i, largest = np.uint64(active[0]), 0.0
        for t in range(np.uint64(len(active))):
            k = np.uint64(active[t])
            slope = _slope(upper[k], lower[k])
            if slope * slope > largest * curvatures[k]:
                i, largest = k, slope * slope / curvatures[k]
        if largest == 0.0 or abs(_slope(upper[i], lower[i])) <= violation:
            return steps
        # the largest gain of a second one, the first minimized over
        j, best, row, step = i, 0.0, values[places[i]], -_slope(upper[i], lower[i]) / curvatures[i]
        for t in range(np.uint64(len(active))):
            k = np.uint64(active[t])
            change = step * row[k]
            slope = _slope(upper[k] + change, lower[k] + change)
            along = max(curvatures[k] - row[k] * row[k] / curvatures[i], _FLATTEST * curvatures[k], _LEAST)
            if slope * slope > best * along and k != i:
                j, best = k, slope * slope / along
        if j != i:
            new_i, new_j = _both_steps(table, bounds, form, (i, j), (v[i], v[j]), curvatures, row[j])
            other = table[j, SCALE] * (new_j - table[j, ALPHA])
        else:
            # nothing is gained by a second one
            slope = _slope(upper[i], lower[i])
            new_i = _one_step(table[i, ALPHA], slope, curvatures[i], table[i, SCALE], bounds[i], form.epsilon)
            new_j, other = new_i, 0.0
        one = table[i, SCALE] * (new_i - table[i, ALPHA])
        if one == 0.0 and other == 0.0:
            return steps
        table[i, ALPHA], table[j, ALPHA] = new_i, new_j
        _move(v, (upper, lower), row, values[places[j]], one, other)
        _set_slopes(table, targets, v, bounds, form, i, (upper, lower))
        _set_slopes(table, targets, v, bounds, form, j, (upper, lower))
    return rounds


@loop
def add_rows(rows: Any, examples: Any, steps: Any, v: Any) -> None:
    """Add multiples of rows of K to the scores of all examples."""
    for a in range(len(examples)):
        if steps[a] != 0.0:
            row_add(rows, np.uint64(examples[a]), steps[a], v)


@loop
def tally_of(loss: Any, table: Any, v: Any, intercept: Any, part: Any) -> Any:
    """The ``Tally`` of a part at the present scores, without steps; a change is a step that would be one."""
    order, threshold = part.order, part.threshold
    remaining, violation, changes, gap = begin(part)
    state, projection, spread = intercept
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        i = np.uint64(order[t])
        label, alpha = table[i, LABEL], table[i, ALPHA]
        score = add_intercept(v[i], state, projection, spread, i)
        margin = kkt_margin(loss, label, alpha, score)
        if margin > threshold:
            continue
        remaining = keep(order, t, remaining)
        gap += table[i, SCALE] * fenchel_young_gap(loss, label, alpha, score)
        if margin > 0.0:
            continue
        violation = max(violation, -margin)
        if dual_step(loss, label, alpha, score, table[i, CURVATURE]) != alpha:
            changes += 1
    return remaining, violation, changes, gap
