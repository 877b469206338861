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

With many classes most variables of a block are zero and stay so.  A wide visit looks at all classes and notes those
that are not at rest there (``lists`` and their ``sizes``); a narrow one looks at these only, in a block of their own
that is solved as exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop, summing_helper
from fenchel.compile.primitives.class_rows import add_row, add_row_to_some, add_scores, add_some_scores
from fenchel.solvers.block_coordinate.loop_blocks import block

#: columns of the book of examples
CURVE, SCALE, AHEAD = range(3)
#: rows of the numbers of free intercepts
SUM, INTERCEPT, OFFSET = range(3)
_ONE = np.uint64(1)
#: weights are changed class by class where at most one in so many classes moves
_FEW = 4


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
        # all of the sum on the worst class rests as far as its price is above zero
        whole = bounded & (-alpha[j] >= most * (1.0 - 1e-15)) & (margin >= 0.0)
        resting = price if whole else resting
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


@helper
def _improve(
    inner: Any,
    most: float,
    numbers: tuple[float, float],
    label: int,
    line: Any,
    scores: Any,
    bound: Any,
    v: Any,
    b: Any,
    change: Any,
    moves: Any,
) -> int:
    """Lines 5 to 7 for one block: the new ``line`` and its ``change``; how many classes besides the label moved.

    ``numbers`` are the scale and the curvature of the example, ``moves`` the classes that moved.
    """
    (scale, curve), total = numbers, 0.0
    for j in range(np.uint64(len(line))):
        b[j] = -np.float64(line[j]) if j != label else 0.0
        total += b[j]
    if curve > 0.0:
        for j in range(np.uint64(len(line))):
            v[j] = (1.0 - scores[label] + scores[j]) / curve + b[j] + total
        v[label] = 0.0
        block(inner, v, bound, b, label)
    else:
        _without_features(scores, bound, b, label, most)
    # what is stored is what is added, also in single precision
    moved, total = 0, 0.0
    for j in range(np.uint64(len(line))):
        if j != label:
            before = np.float64(line[j])
            line[j] = -b[j]
            after = np.float64(line[j])
            change[j] = scale * (after - before)
            total += after
            moves[moved] = j
            moved += 1 if after != before else 0
    if moved:
        before = np.float64(line[label])
        line[label] = -total
        change[label] = scale * (np.float64(line[label]) - before)
    return moved


@helper
def _gather(alpha: Any, bounds: Any, free: Any, ahead: float, own: Any, line: Any, bound: Any, scores: Any) -> None:
    """The block of the classes in ``own``."""
    for p in range(np.uint64(len(line))):
        j = own[p]
        line[p], bound[p] = alpha[j], bounds[j]
        scores[p] = free[INTERCEPT, j] - free[OFFSET, j] + ahead * free[SUM, j]


@helper
def _scatter(own: Any, size: int, line: Any, change: Any, alpha: Any, moves: Any, wide: Any) -> int:
    """A block of some classes back into its place; the changes go into ``wide`` at ``moves``."""
    for p in range(np.uint64(size)):
        j = np.uint64(own[p])
        alpha[j], wide[j], moves[p] = line[p], change[p], j
    return size


@helper
def _shift(free: Any, constant: float, offset: float, change: Any, places: Any, count: int) -> None:
    """What the changes of some classes do to the free intercepts."""
    for place in range(np.uint64(count)):
        j = places[place]
        free[SUM, j] += change[j]
        free[INTERCEPT, j] += constant * change[j]
        free[OFFSET, j] += offset * change[j]


@helper
def _note(line: Any, scores: Any, bound: Any, label: int, most: float, threshold: float, found: Any) -> int:
    """The label and the classes that do not rest at zero by more than ``threshold``; 0 if they are too many."""
    price = 0.0
    if not np.isinf(most):
        for j in range(len(scores)):
            if bound[j] > 0.0:
                price = max(price, 1.0 - scores[label] + scores[j])
    found[0] = label
    size = 1
    for j in range(len(scores)):
        margin = 1.0 - scores[label] + scores[j] - price
        if bound[j] > 0.0 and (line[j] < 0.0 or margin > -threshold):
            if size == len(found):
                return 0
            found[size] = j
            size += 1
    return size


@loop
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
    lists: Any,
    sizes: Any,
    constant: float,
    square: float,
    order: Any,
    begin: int,
    end: int,
    kept: int,
    threshold: float,
    narrow: bool,
) -> tuple[int, float, int, float]:
    """Visit the examples ``order[begin:end]`` once; see ``loops.dual_coordinate.visit`` for what is returned.

    ``rows`` read the scores of an example and ``images`` are what its steps add: both X, but for kernels.
    """
    front, worst, changed, gap = np.uint64(kept), 0.0, 0, 0.0
    count, room = weights.shape[1], lists.shape[1]
    scores, v, b, change = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    moves, limits = np.zeros(count, dtype=np.uint64), np.zeros(room)
    part = np.zeros(room, dtype=alpha.dtype)
    for t in range(np.uint64(begin), np.uint64(end)):
        i = np.uint64(order[t])
        label, line, bound, size = classes[i], alpha[i], bounds[classes[i]], count
        few = narrow and sizes[i] > 0
        if few:
            own, label, size = lists[i], 0, np.int64(sizes[i])
            line, bound = part[:size], limits[:size]
            _gather(alpha[i], bounds[classes[i]], free, book[i, AHEAD], own, line, bound, scores)
            add_some_scores(rows, i, weights, own, size, scores)
        else:
            for j in range(np.uint64(count)):
                # (x_i - m).(u - m S) + b = x_i.u - m.u + (|m|^2 - x_i.m) S + b
                scores[j] = free[INTERCEPT, j] - free[OFFSET, j] + book[i, AHEAD] * free[SUM, j]
            add_scores(rows, i, weights, scores)
        rest, excess = _look(line, scores[:size], bound, label, most)
        if rest > threshold:
            continue
        order[t] = order[front]
        order[front] = i
        front += _ONE
        gap += book[i, SCALE] * excess
        moved = 0
        if rest <= 0.0:
            worst = max(worst, -rest)
            # lines 5 to 7
            numbers = (book[i, SCALE], book[i, CURVE])
            moved = _improve(inner, most, numbers, label, line, scores[:size], bound, v[:size], b[:size], change, moves)
        if room and not few:
            # after the step, for every class that has left zero must be on the list
            sizes[i] = _note(line, scores, bound, label, most, threshold, lists[i])
        if moved == 0:
            continue
        changed += 1
        # line 8
        if few:
            moved = _scatter(lists[i], size, line, change, alpha[i], moves, v)
            add_row_to_some(images, i, v, moves, moved, weights)
            _shift(free, constant, square - book[i, AHEAD], v, moves, moved)
        elif _FEW * (moved + 1) <= count:
            moves[moved] = label
            add_row_to_some(images, i, change, moves, moved + 1, weights)
            _shift(free, constant, square - book[i, AHEAD], change, moves, moved + 1)
        else:
            add_row(images, i, change, weights)
            for j in range(np.uint64(count)):
                free[SUM, j] += change[j]
                free[INTERCEPT, j] += constant * change[j]
                free[OFFSET, j] += (square - book[i, AHEAD]) * change[j]
    return int(front), worst, changed, gap
