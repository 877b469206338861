r"""Epochs of block coordinate descent on the dual of a joint multiclass risk: Wang and Scott (2021), Algorithm 1.

The k numbers of a feature lie side by side: ``v`` is (d, k), and so are scores and blocks.

=====================  ===========================  =============================================================
symbol                 argument                     meaning
=====================  ===========================  =============================================================
:math:`y_i`            ``blocks.classes[i]``        label
:math:`\alpha_i`       ``blocks.alpha[i]``          dual block; :math:`\theta_i = c_i\alpha_i`
:math:`q_i`            ``table[i, CURVATURE]``      :math:`c_i(\|x_i - m\|^2 + B^2)/\lambda` over the stretch
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

from fenchel.compile.dispatch import index_prefetch, row_begin, row_column, row_end, row_prefetch
from fenchel.compile.lanes import (
    CACHE_LINE,
    LANES,
    add,
    aligned_zeros,
    any_nonzero,
    load,
    multiply,
    multiply_add,
    smaller,
    spread,
    store,
    subtract,
    sum_of,
    widen,
)  # fmt: skip
from fenchel.compile.loop import helper, loop, uncounted_loop
from fenchel.compile.primitives.class_lanes import add_class_row, add_class_scores
from fenchel.compile.primitives.class_rows import add_row_to_some, add_some_scores
from fenchel.compile.primitives.epoch import Part, Tally, begin, keep
from fenchel.designs.rows import Rows, prefetch
from fenchel.solvers.block_coordinate.loop_blocks import RootBlock, block
from fenchel.solvers.block_coordinate.loop_intercepts import (
    INTERCEPT,
    OFFSET,
    SUM,
    Intercepts,
    intercept_scores,
    move_intercepts,
)
from fenchel.solvers.block_coordinate.loop_standing import box_standing, first_guess, simplex_standing, without_features

#: columns of the table of examples
CURVATURE, SCALE, CENTRING = range(3)
_ONE, _STEP = np.uint64(1), np.uint64(LANES)
#: examples between the prefetch of a row and its use; twice that for the index and the table
_AHEAD = np.uint64(2)
#: weights from which on those of the next example are prefetched: half a megabyte or more is not in the nearest cache
_MANY_WEIGHTS = 1 << 17


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


class ClassLists(NamedTuple):
    """The classes of each example that are not shrunk, its label first."""

    #: (n, most); empty if classes are not shrunk
    classes: Any
    #: how many; 0 where they are more than fit
    sizes: Any


class Workspace(NamedTuple):
    """Arrays of K numbers for the subproblem of one example, and of those of the block of some classes."""

    #: the scores, and then the margins 1 - s_y + s_j
    scores: Any
    #: the linear term of eq. (4), the paper's v
    linear: Any
    beta: Any
    #: of v, as a multiple of x_i, in the kind of v
    change: Any
    #: alpha and bounds of some classes
    some_alpha: Any
    some_bounds: Any


@helper
def _improve(
    inner: Any,
    sum_bound: float,
    example: Any,
    sigma: float,
    label: int,
    line: Any,
    bound: Any,
    standing: Any,
    work: Any,
) -> bool:
    """Lines 5 to 7 for one block: the new ``line`` and its change; whether it changed.

    ``example`` is the example's line of the table; ``line`` and ``bound`` may be those of some classes only.
    """
    size = len(line)
    margins, linear, beta, change = work.scores[:size], work.linear[:size], work.beta[:size], work.change[:size]
    scale, curvature, mass = sigma * example[SCALE], sigma * example[CURVATURE], standing[2]
    if curvature > 0.0:
        inverse = 1.0 / curvature
        for place in range(np.uint64(size) // _STEP):
            p = place * _STEP
            store(linear, p, multiply_add(add(load(beta, p), mass), inverse, load(margins, p)))
        block(inner, linear, bound, beta, first_guess(standing, curvature, sum_bound))
    else:
        without_features(margins, bound, beta, sum_bound)
    # v changes by what is stored, also in single precision
    own, masses, moved = np.float64(line[label]), spread(0.0), False
    for place in range(np.uint64(size) // _STEP):
        p = place * _STEP
        # at the label alpha is positive, and beta is zero
        before = smaller(widen(load(line, p)), 0.0)
        store(line, p, subtract(0.0, load(beta, p)))
        after = widen(load(line, p))
        step = subtract(after, before)
        masses, moved = subtract(masses, after), moved | any_nonzero(step)
        store(change, p, multiply(step, scale))
    line[label] = sum_of(masses)
    change[label] = scale * (np.float64(line[label]) - own)
    return moved


@helper
def _gather(
    alpha: Any, bounds: Any, state: Any, centring: float, listed: Any, count: int, line: Any, bound: Any, scores: Any
) -> None:
    """The block of the first ``count`` classes in ``listed``, with ``intercept_scores``; zero in the lanes behind."""
    for p in range(np.uint64(len(line))):
        line[p], bound[p], scores[p] = 0.0, 0.0, 0.0
    for p in range(np.uint64(count)):
        j = listed[p]
        line[p], bound[p] = alpha[j], bounds[j]
        scores[p] = state[INTERCEPT, j] - state[OFFSET, j] + centring * state[SUM, j]


@helper
def _scatter(
    listed: Any, count: int, line: Any, change: Any, alpha: Any, state: Any, constant: float, projection: float
) -> None:
    """Store a block of the first ``count`` classes in ``listed``, with ``move_intercepts``."""
    for p in range(np.uint64(count)):
        j = np.uint64(listed[p])
        alpha[j] = line[p]
        state[SUM, j] += change[p]
        state[INTERCEPT, j] += constant * change[p]
        state[OFFSET, j] += projection * change[p]


@helper
def list_classes(
    beta: Any, margins: Any, bound: Any, label: int, sum_bound: float, threshold: float, found: Any
) -> int:
    """The label and the classes that are not at zero with a KKT margin above ``threshold``; 0 if they are too many."""
    price = 0.0
    if not np.isinf(sum_bound):
        for j in range(len(margins)):
            price = max(price, margins[j] if bound[j] > 0.0 else 0.0)
    found[0] = label
    size = 1
    for j in range(len(margins)):
        if bound[j] > 0.0 and (beta[j] > 0.0 or margins[j] - price > -threshold):
            if size == len(found):
                return 0
            found[size] = j
            size += 1
    return size


@helper
def _prefetch_block(line: Any) -> None:
    """Start to load a block, a cache line at a time."""
    for place in range(np.uint64(len(line)) // _STEP):
        prefetch(line, place * _STEP)


@helper
def _prefetch_weights(rows: Any, i: Any, v: Any) -> None:
    """Start to load the weights of the features of row i."""
    for k in range(row_begin(rows, i), row_end(rows, i)):
        line = v[row_column(rows, i, k)]
        for place in range(0, len(line), CACHE_LINE // v.itemsize):
            prefetch(line, place)


@helper
def part_of_epoch(
    rows: Any,
    images: Any,
    inner: Any,
    blocks: Any,
    intercepts: Any,
    lists: Any,
    work: Any,
    classes_shrunk: bool,
    part: Any,
) -> Any:
    """One part of an epoch of Algorithm 1; returns its ``Tally``."""
    alpha, v, classes, table, bounds, sum_bound = blocks
    (state, constant, square), (listed_classes, sizes) = intercepts, lists
    order, threshold, sigma = part.order, part.threshold, part.sigma
    remaining, violation, changes, gap = begin(part)
    count, room = v.shape[1], listed_classes.shape[1]
    stop, beyond_cache = np.uint64(part.end), v.size >= _MANY_WEIGHTS
    for t in range(np.uint64(part.begin), stop):
        i = np.uint64(order[t])
        if t + _AHEAD + _AHEAD < stop:
            index_prefetch(rows, order[t + _AHEAD + _AHEAD])
            prefetch(table, order[t + _AHEAD + _AHEAD])
            prefetch(classes, order[t + _AHEAD + _AHEAD])
            row_prefetch(rows, order[t + _AHEAD])
            _prefetch_block(alpha[order[t + _AHEAD]])
            if beyond_cache:
                _prefetch_weights(rows, order[t + _ONE], v)
        label, line, bound, size, projection = classes[i], alpha[i], bounds[classes[i]], count, table[i, CENTRING]
        some = classes_shrunk and sizes[i] > 0
        if some:
            label, listed, listed_count = 0, listed_classes[i], np.int64(sizes[i])
            size = -(-listed_count // LANES) * LANES
            line, bound = work.some_alpha[:size], work.some_bounds[:size]
            _gather(alpha[i], bounds[classes[i]], state, projection, listed, listed_count, line, bound, work.scores)
            add_some_scores(rows, i, v, listed, listed_count, work.scores)
        else:
            # (x_i - m).(v - m S) + b = x_i.v - m.v + (|m|^2 - x_i.m) S + b
            if constant > 0.0:
                intercept_scores(state, projection, work.scores)
            else:
                work.scores[:] = 0.0
            add_class_scores(rows, i, v, work.scores)
        if np.isinf(sum_bound):
            standing = box_standing(line, work.scores[:size], bound, label, work.beta)
        else:
            standing = simplex_standing(line, work.scores[:size], bound, label, work.beta, sum_bound)
        margin = standing[0]
        if margin > threshold:
            continue
        remaining = keep(order, t, remaining)
        gap += table[i, SCALE] * standing[1]
        violation = max(violation, -margin)
        # lines 5 to 7
        moved = margin <= 0.0 and _improve(inner, sum_bound, table[i], sigma, label, line, bound, standing, work)
        if room and not some:
            # after the step, for every class that has left zero must be listed
            sizes[i] = list_classes(work.beta, work.scores, bound, label, sum_bound, threshold, listed_classes[i])
        if not moved:
            continue
        changes += 1
        # line 8
        if some:
            _scatter(listed, listed_count, line, work.change, alpha[i], state, constant, square - projection)
            add_row_to_some(images, i, work.change, listed, listed_count, v)
        else:
            add_class_row(images, i, work.change, v)
            move_intercepts(state, constant, square - projection, work.change)
    return remaining, violation, changes, gap


#: with ``RootBlock``, which makes no array
epoch_blocks = uncounted_loop(part_of_epoch)
#: with the others, one of which sorts; both, so that their times compare
counted_epoch_blocks = loop(part_of_epoch)


def workspace(blocks: Blocks, lists: ClassLists) -> Workspace:
    """Arrays for the loops over these blocks."""
    count, room = blocks.v.shape[1], lists.classes.shape[1]
    scores, linear, beta = aligned_zeros((3, count))
    change, some_alpha = aligned_zeros((count,), blocks.v.dtype), aligned_zeros((room,), blocks.alpha.dtype)
    return Workspace(scores, linear, beta, change, some_alpha, aligned_zeros((room,)))


def run_epoch(
    rows: Rows,
    images: Rows,
    inner: Any,
    blocks: Blocks,
    intercepts: Intercepts,
    lists: ClassLists,
    classes_shrunk: bool,
    part: Part,
) -> Tally:
    """One part of an epoch of Algorithm 1.

    ``rows`` give the scores of an example and ``images`` the changes of v by a step: both X, but for kernels.
    """
    work = workspace(blocks, lists)
    compiled = epoch_blocks if isinstance(inner, RootBlock) else counted_epoch_blocks
    return Tally(*compiled(rows, images, inner, blocks, intercepts, lists, work, classes_shrunk, part))
