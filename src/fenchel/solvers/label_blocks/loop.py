r"""Epochs of block coordinate descent on the dual of the multilabel hinge: exact steps of one example's block.

A block is :math:`\alpha\in R^k` with :math:`\alpha_p\ge 0` for the labels p that the example has, :math:`\alpha_q =
-\beta_q\le 0` for the others, and the mass :math:`m = \sum_p\alpha_p = \sum_q\beta_q\le 1`.  A step minimizes

.. math:: -m + s\cdot(\alpha - \alpha_0) + \tfrac q2\|\alpha - \alpha_0\|^2

over the block.  With :math:`g_p = \alpha_{0p} + (1 - s_p)/q` and :math:`h_q = \beta_{0q} + s_q/q` the minimizer is
:math:`\alpha_p = [g_p - \tau]_+, \beta_q = [h_q + \tau]_+`, where tau is the root of :math:`\sum_p[g_p - \tau]_+ =
\sum_q[h_q + \tau]_+`, both sides piecewise linear; if the mass there exceeds one, it is that of two projections onto
simplices, :math:`\sum_p[g_p - \tau]_+ = 1 = \sum_q[h_q - \tau']_+`.

=====================  =======================  =============================================================
symbol                 argument                 meaning
=====================  =======================  =============================================================
:math:`Y_i`            ``has[i]``               whether the example has each label; columns that pad are 0
:math:`\alpha_i`       ``alpha[i]``             dual block; :math:`\theta_i = c_i\alpha_i`
:math:`q_i`            ``table[i, CURVATURE]``  :math:`c_i(\|x_i\|^2 + B^2)/\lambda`
:math:`c_i/\lambda`    ``table[i, SCALE]``      v changes by this multiple of x_i when alpha changes by one
v                      ``v``                    :math:`X^T\theta/\lambda`, (d, k): the labels of a feature side by side
S, b                   ``intercepts``           :math:`\sum\theta/\lambda`, and the intercepts
:math:`B^2`            ``constant``             square of the constant feature; zero without intercepts
=====================  =======================  =============================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.class_lanes import add_class_row, add_class_scores
from fenchel.compile.primitives.epoch import begin, keep

#: columns of the table of examples
CURVATURE, SCALE = range(2)
#: rows of ``intercepts``
SUM, INTERCEPT = range(2)
#: looks at the pieces of a block, at most: each that is no Newton step halves a bracket
_MOST_LOOKS = 200


@helper
def simplex_shift(values: Any, side: Any, sign: bool) -> float:
    """tau with sum_j [values_j - tau]_+ = 1 over the entries of one side, by Newton steps from below."""
    high = -np.inf
    for j in range(len(side)):
        if (side[j] > 0) == sign:
            high = max(high, values[j])
    tau, count = high - 1.0, 0
    while True:
        total, above = 0.0, 0
        for j in range(len(side)):
            if (side[j] > 0) == sign and values[j] > tau:
                total += values[j] - tau
                above += 1
        if above == count or above == 0:
            return tau
        # the sum is convex in tau, so that steps stay below the root; a piece that returns is the last
        count = above
        tau += (total - 1.0) / above


@helper
def balanced_shift(values: Any, side: Any) -> float:
    """tau with sum_p [g_p - tau]_+ = sum_q [h_q + tau]_+; NaN if both are zero: the block is zero.

    ``values`` are g at the labels of the example and h at the others.
    """
    high, low = -np.inf, -np.inf
    for j in range(len(side)):
        if side[j] > 0:
            high = max(high, values[j])
        else:
            low = max(low, values[j])
    low = -low
    if low >= high:
        return np.nan
    tau, were_up, were_down = 0.5 * (low + high), -1, -1
    for _ in range(_MOST_LOOKS):
        surplus, up, down = 0.0, 0, 0
        for j in range(len(side)):
            if side[j] > 0 and values[j] > tau:
                surplus += values[j] - tau
                up += 1
            elif side[j] == 0 and values[j] > -tau:
                surplus -= values[j] + tau
                down += 1
        if surplus == 0.0 or (up == were_up and down == were_down):
            break
        were_up, were_down = up, down
        if surplus > 0.0:
            low = tau
        else:
            high = tau
        following = tau + surplus / (up + down) if up + down > 0 else 0.5 * (low + high)
        if not low < following < high:
            following, were_up = 0.5 * (low + high), -1
            if not low < following < high:
                break
        tau = following
    return tau


@helper
def improved(line: Any, side: Any, scores: Any, curvature: float, values: Any, found: Any) -> None:
    """The best block for these scores, into ``found``."""
    count = len(side)
    if curvature <= 0.0:
        # without features and intercepts no step changes the scores: all mass on the worst pair
        low, high = -1, -1
        for j in range(count):
            found[j] = 0.0
            if side[j] > 0 and (low < 0 or scores[j] < scores[low]):
                low = j
            if side[j] == 0 and (high < 0 or scores[j] > scores[high]):
                high = j
        if 1.0 - scores[low] + scores[high] > 0.0:
            found[low], found[high] = 1.0, -1.0
        return
    for j in range(count):
        values[j] = line[j] + (1.0 - scores[j]) / curvature if side[j] > 0 else scores[j] / curvature - line[j]
    tau, mass = balanced_shift(values, side), 0.0
    other = -tau
    for j in range(count):
        found[j] = 0.0
        if side[j] > 0 and values[j] > tau:
            mass += values[j] - tau
    if np.isnan(tau):
        return
    if mass > 1.0:
        tau, other = simplex_shift(values, side, True), simplex_shift(values, side, False)
    for j in range(count):
        found[j] = max(values[j] - tau, 0.0) if side[j] > 0 else min(other - values[j], 0.0)


@helper
def standing(line: Any, side: Any, scores: Any) -> tuple[float, float]:
    """The KKT margin of a block, negative for a violation, and its Fenchel-Young gap."""
    low, high, mass, product = np.inf, -np.inf, 0.0, 0.0
    for j in range(len(side)):
        product += line[j] * scores[j]
        if side[j] > 0:
            low = min(low, scores[j])
            mass += line[j]
        else:
            high = max(high, scores[j])
    hinge = 1.0 - low + high
    gap = max(hinge, 0.0) - mass + product
    if mass <= 0.0:
        return -hinge, gap
    violation = hinge if mass < 1.0 else 0.0
    violation = max(violation, -hinge)
    for j in range(len(side)):
        if line[j] > 0.0:
            violation = max(violation, scores[j] - low)
        elif line[j] < 0.0:
            violation = max(violation, high - scores[j])
    return -violation, gap


@loop
def epoch_labels(
    rows: Any, has: Any, alpha: Any, v: Any, table: Any, intercepts: Any, constant: float, part: Any
) -> Any:
    """One part of an epoch; returns its ``Tally``."""
    order, threshold = part.order, part.threshold
    remaining, violation, changes, gap = begin(part)
    count, width = has.shape[1], v.shape[1]
    scores, values, found, change = np.zeros(width), np.zeros(count), np.zeros(count), np.zeros(width)
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        i = np.uint64(order[t])
        side, line = has[i], alpha[i]
        for j in range(count):
            scores[j] = intercepts[INTERCEPT, j]
        for j in range(count, width):
            scores[j] = 0.0
        add_class_scores(rows, i, v, scores)
        margin, own_gap = standing(line, side, scores)
        if margin > threshold:
            continue
        remaining = keep(order, t, remaining)
        gap += table[i, SCALE] * own_gap
        violation = max(violation, -margin)
        if margin >= 0.0:
            continue
        improved(line, side, scores, table[i, CURVATURE], values, found)
        moved = 0.0
        for j in range(count):
            step = found[j] - line[j]
            moved = max(moved, abs(step))
            change[j] = table[i, SCALE] * step
            line[j] = found[j]
        if not moved > 0.0:
            continue
        changes += 1
        add_class_row(rows, i, change, v)
        for j in range(count):
            intercepts[SUM, j] += change[j]
            intercepts[INTERCEPT, j] += constant * change[j]
    return remaining, violation, changes, gap
