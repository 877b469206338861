r"""Epochs of block coordinate descent on the dual of a joint multiclass risk: Wang and Scott (2021), Algorithm 1.

The k numbers of a feature lie side by side: ``v`` is (d, k), and so are scores and blocks.

=====================  ===========================  =============================================================
symbol                 argument                     meaning
=====================  ===========================  =============================================================
:math:`y_i`            ``blocks.classes[i]``        label
:math:`\alpha_i`       ``blocks.alpha[i]``          dual block; :math:`\theta_i = c_i\alpha_i`
:math:`q_i`            ``table[i, CURVATURE]``      :math:`c_i(\|x_i - m\|^2 + B^2)/\lambda`
:math:`c_i/\lambda`    ``table[i, SCALE]``          v changes by this multiple of x_i when alpha changes by one
:math:`\|m\|^2-p_i`    ``table[i, CENTRING]``       with :math:`p_i = m\cdot x_i`; zero without intercepts
v                      ``blocks.v``                 :math:`X^T\theta/\lambda`; for kernels :math:`K\theta/\lambda`
S, b, m·v              ``intercepts.state``         :math:`\sum\theta/\lambda`, the intercepts, and :math:`m\cdot v`
:math:`B^2`            ``intercepts.constant``      square of the constant feature; zero without intercepts
=====================  ===========================  =============================================================

With many classes most variables of a block are zero and stay so.  The turn of an example in a full epoch looks at all
classes and lists those that may leave zero (``ClassLists``); in an epoch with shrunk classes it looks at these only, in
a block of their own that is solved as exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.loop import helper, loop, summing_helper
from fenchel.compile.primitives.class_rows import add_row, add_row_to_some, add_scores, add_some_scores
from fenchel.compile.primitives.epoch import begin, keep
from fenchel.solvers.block_coordinate.loop_blocks import block

#: columns of the table of examples
CURVATURE, SCALE, CENTRING = range(3)
#: rows of ``Intercepts.state``
SUM, INTERCEPT, OFFSET = range(3)
#: v is changed class by class where at most one class in this many changes (a vectorized change of all is as fast)
_SPARSE_CHANGE = 4


class Blocks(NamedTuple):
    """The dual blocks of all examples and the constants of their subproblems; the loops change ``alpha`` and ``v``."""

    #: (n, k)
    alpha: Any
    #: (d, k)
    v: Any
    #: the labels, (n,)
    classes: Any
    #: CURVATURE, SCALE and CENTRING of each example
    table: Any
    #: of -alpha_j for each label, (k, k)
    bounds: Any
    #: of the sum of -alpha_j over the other classes: 1 for Crammer-Singer, infinite for Weston-Watkins
    sum_bound: float


class Intercepts(NamedTuple):
    """Unregularized intercepts as in ``dual_coordinate``: a constant feature B, and rows that are centred on m."""

    #: SUM, INTERCEPT and OFFSET of each class, (3, k), which the loops change
    state: Any
    #: B^2
    constant: float
    #: |m|^2
    square: float


class ClassLists(NamedTuple):
    """The classes of each example that are not shrunk, its label first."""

    #: (n, most); empty if classes are not shrunk
    classes: Any
    #: how many; 0 where they are more than fit
    sizes: Any


class _Workspace(NamedTuple):
    """Arrays of k numbers for the subproblem of one example."""

    scores: Any
    #: the linear term of eq. (4), the paper's v
    linear: Any
    beta: Any
    #: of v, as a multiple of x_i
    change: Any
    #: the classes that changed
    moves: Any


@summing_helper
def block_margin(alpha: Any, scores: Any, bounds: Any, label: int, sum_bound: float) -> tuple[float, float]:
    """The KKT margin of a block (negative: the largest violation), and its Fenchel-Young gap.

    Without a branch for each class, as in ``loop_blocks``.
    """
    mass, worst, total, bounded = 0.0, 0.0, 0.0, not np.isinf(sum_bound)
    own = 1.0 - scores[label]
    for j in range(np.uint64(len(scores))):
        margin = own + scores[j] if bounds[j] > 0.0 else 0.0
        here = np.float64(alpha[j]) if bounds[j] > 0.0 else 0.0
        mass -= here
        total += here * margin + (0.0 if bounded else bounds[j] * max(margin, 0.0))
        worst = max(worst, margin)
    # with a bound on the sum, margins count relative to the multiplier of that bound
    price = worst if bounded and mass >= sum_bound * (1.0 - 1e-12) else 0.0
    if bounded:
        total += worst
    least = np.inf
    for j in range(np.uint64(len(scores))):
        margin = own + scores[j] - price
        inside = -abs(margin)
        resting = margin if (-alpha[j] >= bounds[j]) & (not bounded) else inside
        # all of the sum on the worst class rests as far as its price is above zero
        whole = bounded & (-alpha[j] >= sum_bound * (1.0 - 1e-15)) & (margin >= 0.0)
        resting = price if whole else resting
        resting = -margin if alpha[j] >= 0.0 else resting
        least = min(least, resting if bounds[j] > 0.0 else np.inf)
    return least, total


@helper
def _without_features(scores: Any, bounds: Any, beta: Any, label: int, sum_bound: float) -> None:
    """The best block of a row without features, whose scores do not depend on it."""
    worst = -1
    for j in range(len(beta)):
        margin = 1.0 - scores[label] + scores[j]
        beta[j] = bounds[j] if margin > 0.0 and np.isinf(sum_bound) else 0.0
        if bounds[j] > 0.0 and margin > 0.0 and (worst < 0 or scores[j] > scores[worst]):
            worst = j
    if not np.isinf(sum_bound) and worst >= 0:
        beta[worst] = sum_bound


@helper
def _improve(inner: Any, sum_bound: float, example: Any, label: int, line: Any, bound: Any, work: Any) -> int:
    """Lines 5 to 7 for one block: the new ``line`` and its change; how many classes besides the label changed.

    ``example`` is the example's line of the table; ``line`` and ``bound`` may be those of some classes only.
    """
    size, change, moves = len(line), work.change, work.moves
    scores, linear, beta, total = work.scores[:size], work.linear[:size], work.beta[:size], 0.0
    scale, curvature = example[SCALE], example[CURVATURE]
    for j in range(np.uint64(size)):
        beta[j] = -np.float64(line[j]) if j != label else 0.0
        total += beta[j]
    if curvature > 0.0:
        for j in range(np.uint64(size)):
            linear[j] = (1.0 - scores[label] + scores[j]) / curvature + beta[j] + total
        linear[label] = 0.0
        block(inner, linear, bound, beta, label)
    else:
        _without_features(scores, bound, beta, label, sum_bound)
    # v changes by what is stored, also in single precision
    moved, total = 0, 0.0
    for j in range(np.uint64(size)):
        if j != label:
            before = np.float64(line[j])
            line[j] = -beta[j]
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
def intercept_scores(state: Any, centring: float, scores: Any) -> None:
    """The part of the scores that intercepts and centring make: b - m.v + (|m|^2 - x_i.m) S."""
    for j in range(np.uint64(len(scores))):
        scores[j] = state[INTERCEPT, j] - state[OFFSET, j] + centring * state[SUM, j]


@helper
def move_intercepts(state: Any, constant: float, projection: float, change: Any) -> None:
    """Update S, b and m.v after v has changed by change x_i^T, where ``projection`` is m.x_i."""
    for j in range(np.uint64(len(change))):
        state[SUM, j] += change[j]
        state[INTERCEPT, j] += constant * change[j]
        state[OFFSET, j] += projection * change[j]


@helper
def _move_some_intercepts(state: Any, constant: float, projection: float, change: Any, places: Any, count: int) -> None:
    """The same for the first ``count`` classes in ``places``."""
    for place in range(np.uint64(count)):
        j = places[place]
        state[SUM, j] += change[j]
        state[INTERCEPT, j] += constant * change[j]
        state[OFFSET, j] += projection * change[j]


@helper
def _gather(
    alpha: Any, bounds: Any, state: Any, centring: float, listed: Any, line: Any, bound: Any, scores: Any
) -> None:
    """The block of the classes in ``listed``, with ``intercept_scores``."""
    for p in range(np.uint64(len(line))):
        j = listed[p]
        line[p], bound[p] = alpha[j], bounds[j]
        scores[p] = state[INTERCEPT, j] - state[OFFSET, j] + centring * state[SUM, j]


@helper
def _scatter(listed: Any, line: Any, change: Any, alpha: Any, moves: Any, all_changes: Any) -> int:
    """Store a block of the classes in ``listed``; its changes go to their classes, noted in ``moves``."""
    for p in range(np.uint64(len(line))):
        j = np.uint64(listed[p])
        alpha[j], all_changes[j], moves[p] = line[p], change[p], j
    return len(line)


@helper
def list_classes(line: Any, scores: Any, bound: Any, label: int, sum_bound: float, threshold: float, found: Any) -> int:
    """The label and the classes that are not at zero with a KKT margin above ``threshold``; 0 if they are too many."""
    price = 0.0
    if not np.isinf(sum_bound):
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
def epoch_blocks(
    rows: Any, images: Any, inner: Any, blocks: Any, intercepts: Any, lists: Any, classes_shrunk: bool, part: Any
) -> Any:
    """One part of an epoch of Algorithm 1; returns its ``Tally``.

    ``rows`` give the scores of an example and ``images`` the changes of v by a step: both X, but for kernels.
    """
    alpha, v, classes, table, bounds, sum_bound = blocks
    (state, constant, square), (listed_classes, sizes) = intercepts, lists
    order, threshold = part.order, part.threshold
    remaining, violation, changes, gap = begin(part)
    count, room = v.shape[1], listed_classes.shape[1]
    work = _Workspace(
        np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.uint64)
    )
    scores, change, moves, all_changes = work.scores, work.change, work.moves, np.zeros(count)
    some_alpha, some_bounds = np.zeros(room, dtype=alpha.dtype), np.zeros(room)
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        i = np.uint64(order[t])
        label, line, bound, size = classes[i], alpha[i], bounds[classes[i]], count
        some = classes_shrunk and sizes[i] > 0
        if some:
            listed, label, size = listed_classes[i], 0, np.int64(sizes[i])
            line, bound = some_alpha[:size], some_bounds[:size]
            _gather(alpha[i], bounds[classes[i]], state, table[i, CENTRING], listed, line, bound, scores)
            add_some_scores(rows, i, v, listed, size, scores)
        else:
            # (x_i - m).(v - m S) + b = x_i.v - m.v + (|m|^2 - x_i.m) S + b
            intercept_scores(state, table[i, CENTRING], scores)
            add_scores(rows, i, v, scores)
        margin, own_gap = block_margin(line, scores[:size], bound, label, sum_bound)
        if margin > threshold:
            continue
        remaining = keep(order, t, remaining)
        gap += table[i, SCALE] * own_gap
        violation = max(violation, -margin)
        # lines 5 to 7
        moved = _improve(inner, sum_bound, table[i], label, line, bound, work) if margin <= 0.0 else 0
        if room and not some:
            # after the step, for every class that has left zero must be listed
            sizes[i] = list_classes(line, scores, bound, label, sum_bound, threshold, listed_classes[i])
        if moved == 0:
            continue
        changes += 1
        # line 8
        if some:
            moved = _scatter(listed_classes[i], line, change, alpha[i], moves, all_changes)
            add_row_to_some(images, i, all_changes, moves, moved, v)
            _move_some_intercepts(state, constant, square - table[i, CENTRING], all_changes, moves, moved)
        elif _SPARSE_CHANGE * (moved + 1) <= count:
            moves[moved] = label
            add_row_to_some(images, i, change, moves, moved + 1, v)
            _move_some_intercepts(state, constant, square - table[i, CENTRING], change, moves, moved + 1)
        else:
            add_row(images, i, change, v)
            move_intercepts(state, constant, square - table[i, CENTRING], change)
    return remaining, violation, changes, gap
