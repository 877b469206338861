r"""Sequential minimal optimization with rows of a Gram matrix: pairs of dual variables that keep their sum.

With a free intercept a step on one dual variable changes :math:`\sum\theta`, which the augmented Lagrangian pays for
later.  A step on two, :math:`\theta_i/\lambda + d` and :math:`\theta_j/\lambda - d`, keeps the sum.  For a loss with
:math:`f^*(-\alpha, y) = -y\alpha + \epsilon|\alpha| + \tfrac\kappa2\alpha^2` on its domain the negative dual has the
slopes, from above and from below,

.. math:: u_i = s_i - y_i + \kappa\alpha_i \pm \epsilon, \qquad l_i = s_i - y_i + \kappa\alpha_i \pm \epsilon

(with the sign of :math:`\alpha_i` after an increase, a decrease; :math:`\infty` and :math:`-\infty` at a bound).  The
dual point is optimal if :math:`\min u \ge \max l`; the intercept is minus a number between them.  Each step takes i
with the smallest u, and the j that promises the largest gain (Fan, Chen and Lin, Working set selection using second
order information for training support vector machines, JMLR 6, 2005, WSS 2):

.. math:: \frac{(l_j - u_i)^2}{2 a_{ij}}, \qquad a_{ij} = K_{ii} + K_{jj} - 2K_{ij} + \kappa/D_i + \kappa/D_j

and :math:`d = (l_j - u_i)/a_{ij}`, cut at the first bound or kink.

Rows may be missing.  Pairs are then chosen among the active examples whose rows are there, until their largest
violation is a given share of that of all active ones; the caller computes the rows of the worst.

A step reads two rows and passes twice over all examples, eight at a time (``compile.lanes``): once for j, and once to
move the scores and find the next i.  Extrema are found in blocks, and their examples by a search in one block.

=====================  ===============================================================================
symbol                 here
=====================  ===============================================================================
s                      ``v``, without the intercept
u, l                   ``v + above``, ``v + below``
:math:`D_i`            ``table[i, SCALE]``, :math:`c_i/\lambda`
=====================  ===============================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.lanes import (
    LANES,
    add,
    divide,
    larger,
    largest_of,
    least_of,
    load,
    multiply,
    multiply_add,
    narrow,
    smaller,
    spread,
    store,
    subtract,
    widen,
)  # fmt: skip
from fenchel.compile.loop import helper, loop
from fenchel.solvers.dual_coordinate.loop import ALPHA, LABEL, OFFSET, SCALE, SUM


class Among(NamedTuple):
    """The examples that pairs are chosen from."""

    #: in increasing order
    active: Any
    #: where in ``rows`` the row of each example is, -1 if it is missing
    places: Any
    #: the least and the largest value of each alpha
    bounds: Any
    #: K_ii
    diagonal: Any
    #: the time of the last step with the row in each place, and the present time
    stamps: Any
    clock: int


class Ends(NamedTuple):
    """When steps end."""

    #: the largest violation is at most this,
    violation: float
    #: or at most this share of that of all active examples, those without rows included,
    share: float
    #: or this many steps have been made
    steps: int


#: a curvature along a pair below this share of the diagonal of K counts as this one, and one below this value
_FLATTEST, _LEAST = 1e-12, 1e-200
#: and one above this multiple of K_ii counts as this multiple in the search for j
_STEEPEST = 1e30
#: examples of a block, a multiple of ``LANES``
_BLOCK = 256
#: steps between two looks at the examples without rows
_STEPS_BETWEEN = 32


@helper
def _offsets(alpha: float, label: float, bounds: Any, form: Any) -> Any:
    """u and l of one example less its score."""
    slope, epsilon = form.kappa * alpha - label, form.epsilon
    above = slope + (epsilon if alpha >= 0.0 else -epsilon) if alpha < bounds[1] else np.inf
    below = slope + (epsilon if alpha > 0.0 else -epsilon) if alpha > bounds[0] else -np.inf
    return above, below


@helper
def limit_of(alpha: float, bound: float, epsilon: float) -> float:
    """The first value at which the quadratic along this variable ends: the kink at zero, or the bound."""
    return 0.0 if epsilon > 0.0 and alpha * bound < 0.0 else bound


@helper
def _move(v: Any, first: Any, second: Any, one: float, other: float, above: Any, below: Any, least: Any) -> float:
    """Add multiples of two rows to the scores; the largest l, and the smallest u of each block in ``least``."""
    n, most = np.uint64(len(v)), spread(-np.inf)
    whole = n // np.uint64(LANES) * np.uint64(LANES)
    block = np.uint64(0)
    for begin in range(np.uint64(0), n, np.uint64(_BLOCK)):
        low = spread(np.inf)
        for k in range(begin, min(begin + np.uint64(_BLOCK), whole), np.uint64(LANES)):
            moved = multiply_add(load(v, k), one, widen(load(first, k)))
            moved = multiply_add(moved, other, widen(load(second, k)))
            store(v, k, moved)
            low = smaller(low, add(moved, load(above, k)))
            most = larger(most, add(moved, load(below, k)))
        least[block] = least_of(low)
        block += np.uint64(1)
    greatest, last = largest_of(most), len(least) - 1
    for k in range(whole, n):
        v[k] += one * first[k] + other * second[k]
        least[last] = min(least[last], v[k] + above[k])
        greatest = max(greatest, v[k] + below[k])
    return greatest


@helper
def _smallest(v: Any, above: Any, least: Any) -> Any:
    """The example with the smallest u, from those of the blocks, and its u."""
    block = 0
    for b in range(len(least)):
        if least[b] < least[block]:
            block = b
    begin, found = block * _BLOCK, block * _BLOCK
    for k in range(begin, min(begin + _BLOCK, len(v))):
        if v[k] + above[k] < v[found] + above[found]:
            found = k
    return np.uint64(found), v[found] + above[found]


@helper
def _partner(v: Any, below: Any, row: Any, curvatures: Any, i: Any, smallest: float, width: float, gains: Any) -> Any:
    """The j of the largest gain with i."""
    n, own, unit = np.uint64(len(v)), curvatures[i], 1.0 / width
    whole, flattest = n // np.uint64(LANES) * np.uint64(LANES), max(_FLATTEST * own, _LEAST)
    block = np.uint64(0)
    for begin in range(np.uint64(0), n, np.uint64(_BLOCK)):
        best = narrow(spread(0.0))
        for k in range(begin, min(begin + np.uint64(_BLOCK), whole), np.uint64(LANES)):
            # in units of the largest violation and of K_ii, which float32 can hold
            difference = multiply(larger(subtract(add(load(v, k), load(below, k)), smallest), 0.0), unit)
            along = larger(multiply_add(add(load(curvatures, k), own), -2.0, widen(load(row, k))), flattest)
            along = smaller(multiply(along, 1.0 / own), _STEEPEST)
            gain = divide(narrow(multiply(difference, difference)), narrow(along))
            best = larger(best, gain)
        gains[block] = largest_of(best)
        block += np.uint64(1)
    best_block, most, last = 0, 0.0, len(gains) - 1
    for k in range(whole, n):
        gains[last] = max(gains[last], _gain(v, below, row, curvatures, k, own, smallest, unit, flattest))
    for b in range(len(gains)):
        if gains[b] > gains[best_block]:
            best_block = b
    j = i
    for k in range(np.uint64(best_block * _BLOCK), min(np.uint64((best_block + 1) * _BLOCK), n)):
        gain = _gain(v, below, row, curvatures, k, own, smallest, unit, flattest)
        if gain > most:
            j, most = k, gain
    return j


@helper
def _gain(
    v: Any, below: Any, row: Any, curvatures: Any, k: Any, own: float, smallest: float, unit: float, flattest: float
) -> float:
    difference = max(v[k] + below[k] - smallest, 0.0) * unit
    return difference * difference / (max(own + curvatures[k] - 2.0 * row[k], flattest) / own)


@helper
def _extrema(v: Any, table: Any, targets: Any, some: Any, bounds: Any, form: Any) -> Any:
    """The smallest u and the largest l of some examples."""
    least, most = np.inf, -np.inf
    for t in range(len(some)):
        k = np.uint64(some[t])
        above, below = _offsets(table[k, ALPHA], targets[k], bounds[k], form)
        least, most = min(least, v[k] + above), max(most, v[k] + below)
    return least, most


@loop
def optimize_pairs(
    rows: Any, table: Any, v: Any, intercept: Any, among: Any, form: Any, ends: Any
) -> tuple[int, float, float, bool]:
    """Make steps on pairs of the active examples whose rows are there.

    Returns the number of steps, the smallest u and the largest l of all active examples, and whether rows are missing
    for further steps.
    """
    (state, projection, _), values, n = intercept, rows.values, len(table)
    active, places, bounds, diagonal, stamps, clock = among
    blocks = -(-n // _BLOCK)
    above, below, curvatures = np.full(n, np.inf), np.full(n, -np.inf), np.ones(n)
    least, gains = np.full(blocks, np.inf), np.zeros(blocks, np.float32)
    # rows are centred: a sum of theta that is not zero changes the scores
    targets = table[:, LABEL] + state[SUM] * projection
    missing, count = np.empty(len(active), active.dtype), 0
    for t in range(len(active)):
        k = np.uint64(active[t])
        curvatures[k] = max(diagonal[k] + form.kappa / table[k, SCALE], _LEAST)
        if places[k] < 0:
            missing[count] = active[t]
            count += 1
        else:
            above[k], below[k] = _offsets(table[k, ALPHA], targets[k], bounds[k], form)
    missing = missing[:count]
    most = _move(v, v, v, 0.0, 0.0, above, below, least)
    others, steps, stuck = _extrema(v, table, targets, missing, bounds, form), 0, False
    while True:
        i, smallest = _smallest(v, above, least)
        if steps % _STEPS_BETWEEN == 0:
            others = _extrema(v, table, targets, missing, bounds, form)
        enough = max(ends.violation, ends.share * (max(most, others[1]) - min(smallest, others[0])))
        if count == 0:
            enough = ends.violation
        if steps == ends.steps or not smallest < most - enough:
            break
        row = values[places[i]]
        j = _partner(v, below, row, curvatures, i, smallest, most - smallest, gains)
        if j == i:
            stuck = True
            break
        # the step, up to the first bound or kink
        both = curvatures[i] + curvatures[j]
        along = max(both - 2.0 * row[j], _FLATTEST * both, _LEAST)
        highest = limit_of(table[i, ALPHA], bounds[i, 1], form.epsilon)
        lowest = limit_of(table[j, ALPHA], bounds[j, 0], form.epsilon)
        room = table[i, SCALE] * (highest - table[i, ALPHA])
        other = table[j, SCALE] * (table[j, ALPHA] - lowest)
        step = min((v[j] + below[j] - smallest) / along, room, other)
        new_i = highest if step == room else table[i, ALPHA] + step / table[i, SCALE]
        new_j = lowest if step == other else table[j, ALPHA] - step / table[j, SCALE]
        if new_i == table[i, ALPHA] or new_j == table[j, ALPHA]:
            stuck = True
            break
        table[i, ALPHA], table[j, ALPHA] = new_i, new_j
        above[i], below[i] = _offsets(new_i, targets[i], bounds[i], form)
        above[j], below[j] = _offsets(new_j, targets[j], bounds[j], form)
        most = _move(v, row, values[places[j]], step, -step, above, below, least)
        stamps[places[i]] = clock
        stamps[places[j]] = clock
        state[OFFSET] += step * (projection[i] - projection[j])
        steps += 1
    others = _extrema(v, table, targets, missing, bounds, form)
    lowest_of_all, highest_of_all = min(smallest, others[0]), max(most, others[1])
    needs_rows = count > 0 and not stuck and steps < ends.steps
    needs_rows = needs_rows and lowest_of_all < highest_of_all - ends.violation
    return steps, lowest_of_all, highest_of_all, needs_rows
