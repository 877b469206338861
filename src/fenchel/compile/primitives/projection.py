r"""Many projections onto boxes with one linear equality each, in linear time: the search of ``projections`` compiled.

.. math:: \min_x\; \tfrac12\sum_i d_i^2 (x_i - m_i)^2 \quad\text{with } l \le x \le u,\ \sum_i\sigma_i x_i = z

for every row of a matrix: one long row or many short ones (the simplices of a risk of several classes).  As in
``projections.box_and_equality``, :math:`p_i = \sigma_i x_i = \mathrm{clip}((v_i - \tau)/s_i, l'_i, u'_i)` with
:math:`v = m d^2/\sigma, s = d^2/\sigma^2`, and :math:`\sum p` falls with :math:`\tau`.  What App. B of Saha, Zhang and
Vishwanathan calls aggregation: an entry without a kink strictly inside the bracket is a constant or a line there, is
added to the sums of those and left out from then on, so that a look costs as much as there are kinks left.

Lines are added up at the present :math:`\tau`, where their values lie between their bounds: no digits cancel.

A long row asks a sample of its entries for a narrow bracket first; if the root is in it, as nearly always, one look at
the row leaves out nearly everything, and a second one writes the answer.

==================  =============================  ==================
symbol              argument                       shape
==================  =============================  ==================
m, l, u             ``target, low, high``          rows x entries
:math:`\sigma, d^2` ``weights, squares``           rows x entries
z                   ``totals``                     rows
x                   ``found``, written             rows x entries
==================  =============================  ==================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.projection_search import bracket, look, whole

#: what rounding alone may add to what a box allows, relative to the sums of its bounds
_ROUNDING = 1e-12
#: entries in the sample of a longer row from which its search gets a first bracket
_SAMPLE = 4096
#: how many standard deviations of the sum of a sample its bracket reaches
_MARGIN = 5.0
#: a sum that is off by no more than this share of its terms is right
_EXACT = 4e-15
#: widenings, at most, of a bracket whose kinks are equal up to rounding
_WIDENINGS = 60


@helper
def _entry(box: Any, i: int) -> tuple[float, float, float, float]:
    """v, s and the bounds of p = sigma x, for entry i."""
    target, weights, squares, low, high = box
    weight, square = weights[i], squares[i]
    if weight == 1.0:
        return target[i] * square, square, low[i], high[i]
    one, other = weight * low[i], weight * high[i]
    return target[i] * square / weight, square / (weight * weight), min(one, other), max(one, other)


@helper
def _prepared(box: Any, step: int, work: Any) -> int:
    """Fill the work space with every ``step``-th entry; return the number of entries filled."""
    (v, s, least, most), weights, count = work, box[1], 0
    for i in range(0, len(weights), step):
        if weights[i] != 0.0:
            v[count], s[count], least[count], most[count] = _entry(box, i)
            count += 1
    return count


@helper
def _allowed(box: Any, total: float) -> tuple[bool, float]:
    """Whether a point of the box has this total, and what rounding may add to sums."""
    (_, weights, _, low, high), lowest, highest, size = box, 0.0, 0.0, abs(total)
    for i in range(len(weights)):
        one, other = weights[i] * low[i], weights[i] * high[i]
        if weights[i] == 0.0:
            one, other = 0.0, 0.0
        lowest, highest = lowest + min(one, other), highest + max(one, other)
        size += (abs(one) if np.isfinite(one) else 0.0) + (abs(other) if np.isfinite(other) else 0.0)
    slack = _ROUNDING * size
    return lowest - slack <= total <= highest + slack, slack


@helper
def _narrowed(box: Any, total: float, work: Any) -> Any:
    """The bracket and the root of a long row, from a bracket of a sample; NaN if the root is not inside that."""
    (v, s, least, most), weights = work, box[1]
    step = len(weights) // _SAMPLE
    few = _prepared(box, step, work)
    if few < _SAMPLE // 4:
        return np.nan, np.nan, np.nan
    share = total / step
    kept = v[:few].copy(), s[:few].copy(), least[:few].copy(), most[:few].copy()
    _, _, guess = whole(work, few, share)
    # how much of the total a sample of this size may be off, and what shift that is
    present, moving = look(kept, few, guess)
    spread = 0.0
    for i in range(few):
        p = min(max((kept[0][i] - guess) / kept[1][i], kept[2][i]), kept[3][i]) - present / few
        spread += p * p
    if not moving > 0.0:
        return np.nan, np.nan, np.nan
    width = _MARGIN * np.sqrt(spread) / moving
    begin, end = guess - width, guess + width
    above, below, count, fixed, linear, slope = 0.0, 0.0, 0, 0.0, 0.0, 0.0
    for i in range(len(weights)):
        if weights[i] == 0.0:
            continue
        centre, scale, lower, upper = _entry(box, i)
        if centre - scale * upper >= end:
            fixed += upper
        elif centre - scale * lower <= begin:
            fixed += lower
        elif centre - scale * upper <= begin and centre - scale * lower >= end:
            linear += (centre - guess) / scale
            slope += 1.0 / scale
        else:
            v[count], s[count], least[count], most[count] = centre, scale, lower, upper
            above += min(max((centre - begin) / scale, lower), upper)
            below += min(max((centre - end) / scale, lower), upper)
            count += 1
    if not below - slope * width <= total - fixed - linear <= above + slope * width:
        return np.nan, np.nan, np.nan
    return bracket(work, count, total, guess, begin, end, (fixed, linear, slope))


@helper
def _written(box: Any, root: float, x: Any) -> tuple[float, float]:
    """x at a shift; the weighted sum and the sum of its sizes."""
    (target, weights, _, low, high), total, size = box, 0.0, 0.0
    for i in range(len(target)):
        if weights[i] == 0.0:
            x[i] = min(max(target[i], low[i]), high[i])
            continue
        v, s, least, most = _entry(box, i)
        p = (v - root) / s
        if p >= most:
            p, x[i] = most, high[i] if weights[i] > 0.0 else low[i]
        elif p <= least:
            p, x[i] = least, low[i] if weights[i] > 0.0 else high[i]
        else:
            x[i] = min(max(p / weights[i], low[i]), high[i])
        total += p
        size += abs(p)
    return total, size


@helper
def _sums(box: Any, begin: float, end: float) -> tuple[float, float, float, float, float]:
    """The sum of what rests on a bound in the bracket; of all else those of both bounds and of p at both ends."""
    weights, fixed, lowest, highest, above, below = box[1], 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(weights)):
        if weights[i] == 0.0:
            continue
        v, s, least, most = _entry(box, i)
        at_high, at_low = v - s * most >= end, v - s * least <= begin
        if at_high != at_low:
            fixed += most if at_high else least
        else:
            lowest, highest = lowest + least, highest + most
            above += min(max((v - begin) / s, least), most)
            below += min(max((v - end) / s, least), most)
    return fixed, lowest, highest, above, below


@helper
def _one(box: Any, total: float, x: Any, work: Any) -> bool:
    """Project one row; False if no point of the box has this total."""
    possible, slack = _allowed(box, total)
    if not possible:
        return False
    begin, end, root = np.nan, np.nan, np.nan
    if len(x) >= 8 * _SAMPLE:
        begin, end, root = _narrowed(box, total, work)
    if np.isnan(root):
        count = _prepared(box, 1, work)
        if count > 0:
            begin, end, root = whole(work, count, total)
    reached, size = _written(box, root, x)
    if not abs(reached - total) <= _EXACT * (size + abs(total)):
        _mix(box, total, begin, end, slack, x)
    return True


@helper
def _mix(box: Any, total: float, begin: float, end: float, slack: float, x: Any) -> None:
    """Where one shift has too few digits: the mixture of both ends of the bracket."""
    ulp = np.finfo(np.float64).eps * max(abs(begin), abs(end))
    fixed, lowest, highest, above, below = _sums(box, begin, end)
    for _ in range(_WIDENINGS):
        if lowest - slack <= total - fixed <= highest + slack:
            break
        # kinks closer together than the spacing of floats
        begin, end, ulp = begin - ulp, end + ulp, 2.0 * ulp
        fixed, lowest, highest, above, below = _sums(box, begin, end)
    rest = total - fixed
    # between the ends p is a line; of the bounds themselves, if rounding leaves no other
    by_bounds = (above < rest - slack or below > rest + slack) and np.isfinite(lowest) and np.isfinite(highest)
    if by_bounds:
        above, below = highest, lowest
    _, weights, _, low, high = box
    share = min(max((above - rest) / (above - below), 0.0), 1.0) if above > below else 0.0
    for i in range(len(x)):
        if weights[i] == 0.0:
            continue
        centre, scale, lower, upper = _entry(box, i)
        at_high, at_low = centre - scale * upper >= end, centre - scale * lower <= begin
        if at_high != at_low:
            x[i] = high[i] if at_high == (weights[i] > 0.0) else low[i]
        else:
            one = upper if by_bounds else min(max((centre - begin) / scale, lower), upper)
            other = lower if by_bounds else min(max((centre - end) / scale, lower), upper)
            x[i] = min(max((one + share * (other - one)) / weights[i], low[i]), high[i])


@loop
def project_rows(target: Any, weights: Any, squares: Any, low: Any, high: Any, totals: Any, found: Any) -> int:
    """Project every row; the first one without an answer, or -1."""
    room = np.empty((4, target.shape[1]))
    work = room[0], room[1], room[2], room[3]
    for row in range(len(target)):
        box = target[row], weights[row], squares[row], low[row], high[row]
        if not _one(box, totals[row], found[row], work):
            return row
    return -1
