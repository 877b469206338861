r"""Passes of block coordinate descent on the dual of a risk of several classes: Wang and Scott, Algorithm 1.

The k weights of a feature lie side by side: ``weights`` is (d, k), and so are scores and blocks.

=========================  ======================  ==========================================================
symbol                     argument                meaning
=========================  ======================  ==========================================================
:math:`y_i`                ``classes``             label
:math:`\alpha_i`           ``alpha``               dual block; :math:`\theta_i = c_i\alpha_i`
:math:`q_i`                ``book[i, CURVE]``      :math:`c_i(\|x_i\|^2 + B^2)/\lambda`
:math:`c_i/\lambda`        ``book[i, SCALE]``      what one unit of alpha adds to the weights, as a multiple of x_i
w                          ``weights``             :math:`X^T\theta/\lambda`; scores :math:`K\theta/\lambda` for kernels
S, b                       ``free``                :math:`\sum\theta/\lambda` and the present intercepts
B squared                  ``constant``            square of the constant feature; zero without intercepts
=========================  ======================  ==========================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.loops.blocks import block
from fenchel.loops.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.loops.kernel import helper, kernel, summing_helper

#: columns of the book of examples
CURVE, SCALE, AHEAD = range(3)
#: rows of the numbers of free intercepts
SUM, INTERCEPT, OFFSET = range(3)
_ONE = np.uint64(1)
#: weights are changed class by class where at most one in so many classes moves
_FEW = 4


@helper
def _scores(rows: Any, i: Any, weights: Any, scores: Any) -> None:
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        for j in range(np.uint64(len(scores))):
            scores[j] += value * line[j]


@helper
def _add(rows: Any, i: Any, change: Any, weights: Any) -> None:
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        for j in range(np.uint64(len(change))):
            line[j] += value * change[j]


@helper
def _add_some(rows: Any, i: Any, change: Any, places: Any, count: int, weights: Any) -> None:
    """The same for the few classes that change."""
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        for place in range(np.uint64(count)):
            line[places[place]] += value * change[places[place]]


@summing_helper
def _look(alpha: Any, scores: Any, bounds: Any, label: int, most: float) -> tuple[float, float]:
    """How firmly the block rests on its bounds (negative: the worst violation), and its share in the gap.

    Without a branch for each class, as in ``blocks``.
    """
    mass, worst, total, bounded = 0.0, 0.0, 0.0, not np.isinf(most)
    own = 1.0 - scores[label]
    for j in range(np.uint64(len(scores))):
        margin = own + scores[j] if bounds[j] > 0.0 else 0.0
        here = np.float64(alpha[j]) if bounds[j] > 0.0 else 0.0
        mass -= here
        total += here * margin + (0.0 if bounded else bounds[j] * max(margin, 0.0))
        worst = max(worst, margin)
    # with a bound on the sum, margins count relative to the multiplier of that bound
    price = worst if bounded and mass >= most * (1.0 - 1e-12) else 0.0
    if bounded:
        total += worst
    rest = np.inf
    for j in range(np.uint64(len(scores))):
        margin = own + scores[j] - price
        inside = -abs(margin)
        resting = margin if (-alpha[j] >= bounds[j]) & (not bounded) else inside
        resting = -margin if alpha[j] >= 0.0 else resting
        rest = min(rest, resting if bounds[j] > 0.0 else np.inf)
    return rest, total


@helper
def _without_features(scores: Any, bounds: Any, b: Any, label: int, most: float) -> None:
    """The best block of a row without features, whose scores do not depend on it: all there can be."""
    worst = -1
    for j in range(len(b)):
        margin = 1.0 - scores[label] + scores[j]
        b[j] = bounds[j] if margin > 0.0 and np.isinf(most) else 0.0
        if bounds[j] > 0.0 and margin > 0.0 and (worst < 0 or scores[j] > scores[worst]):
            worst = j
    if not np.isinf(most) and worst >= 0:
        b[worst] = most


@kernel
def visit_blocks(
    rows: Any,
    images: Any,
    inner: Any,
    most: float,
    alpha: Any,
    weights: Any,
    classes: Any,
    book: Any,
    bounds: Any,
    free: Any,
    constant: float,
    square: float,
    order: Any,
    begin: int,
    end: int,
    kept: int,
    threshold: float,
) -> tuple[int, float, int, float]:
    """Visit the examples ``order[begin:end]`` once; see ``loops.dual_coordinate.visit`` for what is returned.

    ``rows`` read the scores of an example and ``images`` are what its steps add: both X, but for kernels.
    """
    front, worst, changed, gap = np.uint64(kept), 0.0, 0, 0.0
    count = weights.shape[1]
    scores, v, b, change = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    places = np.zeros(count, dtype=np.uint64)
    for t in range(np.uint64(begin), np.uint64(end)):
        i = np.uint64(order[t])
        label, line, bound = classes[i], alpha[i], bounds[classes[i]]
        # line 5: v
        for j in range(np.uint64(count)):
            # (x_i - m).(u - m S) + b = x_i.u - m.u + (|m|^2 - x_i.m) S + b
            scores[j] = free[INTERCEPT, j] - free[OFFSET, j] + book[i, AHEAD] * free[SUM, j]
        _scores(rows, i, weights, scores)
        rest, excess = _look(line, scores, bound, label, most)
        if rest > threshold:
            continue
        order[t] = order[front]
        order[front] = i
        front += _ONE
        gap += book[i, SCALE] * excess
        if rest > 0.0:
            continue
        worst = max(worst, -rest)
        curve, total = book[i, CURVE], 0.0
        for j in range(np.uint64(count)):
            b[j] = -np.float64(line[j]) if j != label else 0.0
            total += b[j]
        if curve > 0.0:
            for j in range(np.uint64(count)):
                v[j] = (1.0 - scores[label] + scores[j]) / curve + b[j] + total
            v[label] = 0.0
            # line 6
            block(inner, v, bound, b, label)
        else:
            _without_features(scores, bound, b, label, most)
        # lines 7 and 8; what is stored is what is added, also in single precision
        moved, total = 0, 0.0
        for j in range(np.uint64(count)):
            if j != label:
                before = np.float64(line[j])
                line[j] = -b[j]
                after = np.float64(line[j])
                change[j] = book[i, SCALE] * (after - before)
                total += after
                places[moved] = j
                moved += 1 if after != before else 0
        if moved:
            before = np.float64(line[label])
            line[label] = -total
            change[label] = book[i, SCALE] * (np.float64(line[label]) - before)
            if _FEW * (moved + 1) <= count:
                places[moved] = label
                _add_some(images, i, change, places, moved + 1, weights)
            else:
                _add(images, i, change, weights)
            for j in range(np.uint64(count)):
                free[SUM, j] += change[j]
                free[INTERCEPT, j] += constant * change[j]
                free[OFFSET, j] += (square - book[i, AHEAD]) * change[j]
            changed += 1
    return int(front), worst, changed, gap
