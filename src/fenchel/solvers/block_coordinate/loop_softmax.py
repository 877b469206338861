r"""Passes of block coordinate descent on the dual of multinomial logistic regression.

One visit minimizes the dual over the probabilities p of an example, on the simplex:

.. math:: \min_p\; \sum_j p_j\log p_j - s\cdot p + \tfrac q2\|p - p^0\|^2, \qquad
    \log p_j + q p_j = s_j + q p^0_j + \nu

This is the subproblem of Yu, Huang and Lin (2011), Sec. 4, whose two-level method goes from class to class.  Here all
classes move at once: Newton's method in :math:`u = \log p` and :math:`\nu`, with :math:`\sum p = 1` restored after each
step, needs one exponential for each class, and no matrix.  Near the solution one step is enough.

=====================  ======================  ==================================================================
symbol                 argument                meaning
=====================  ======================  ==================================================================
s                      ``scores``              present scores
:math:`p^0`            ``before``              probabilities before the visit, :math:`\alpha = e_y - p^0`
p, u                   ``p``, ``u``            probabilities and their logarithms, the rows of ``logs``
q                      ``curve``               ``book[i, CURVE]``
=====================  ======================  ==================================================================

The other arguments are those of ``loops.block_coordinate``.  All probabilities are positive, so nobody rests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop, summing_helper
from fenchel.compile.primitives.class_rows import add_row, add_scores
from fenchel.solvers.block_coordinate.loop import AHEAD, CURVE, INTERCEPT, OFFSET, SCALE, SUM

#: the logarithm of zero, as a number whose product with zero is zero: examples that were not visited have p = e_y
UNSEEN = -1e300
#: a block is solved when what a Newton step leaves is this share of the way from where the block began
_SHARE = 0.1
#: steps on one block at most; one or two are the rule
_STEPS = 100
#: blocks that move no further than this rest
_REST = 4.0 * float(np.finfo(np.float64).eps)


@summing_helper
def _look(scores: Any, u: Any, before: Any) -> float:
    """The share in the gap, KL(p, softmax(s)), to second order: half the variance of s - log p."""
    mean, square = 0.0, 0.0
    for j in range(np.uint64(len(u))):
        apart = scores[j] - u[j]
        mean += before[j] * apart
        square += before[j] * apart * apart
    return 0.5 * max(square - mean * mean, 0.0)


@helper
def _first(scores: Any, label: int, curve: float, p: Any, u: Any) -> float:
    """Where to begin from p = e_y: the softmax, held back by the curvature; the share in the gap, f(s)."""
    largest, total, beside = scores[0], 0.0, 0.0
    for j in range(len(p)):
        largest = max(largest, scores[j])
    for j in range(len(p)):
        p[j] = np.exp(scores[j] - largest)
        total += p[j]
    normalizer = largest + np.log(total)
    for j in range(len(p)):
        p[j] /= total
        u[j] = scores[j] - normalizer
        if j != label:
            u[j] -= np.log1p(curve * p[j])
            p[j] /= 1.0 + curve * p[j]
            beside += p[j]
    # the others have become less, so this one has become more
    p[label] = max(p[label], 1.0 - beside)
    u[label] = max(u[label], np.log(p[label]) if p[label] > 0.0 else u[label])
    return normalizer - scores[label]


@summing_helper
def _newton(scores: Any, before: Any, curve: float, p: Any, u: Any) -> tuple[float, float]:
    """One step; how much it has left to do, to first order, and how far p is from ``before``."""
    count = np.uint64(len(p))
    slope, room = 0.0, 0.0
    for j in range(count):
        bend = p[j] / (1.0 + curve * p[j])
        slope += bend * (scores[j] + curve * (before[j] - p[j]) - u[j])
        room += bend
    level = -slope / room
    left, away, total = 0.0, 0.0, 0.0
    for j in range(count):
        step = (scores[j] + curve * (before[j] - p[j]) - u[j] + level) / (1.0 + curve * p[j])
        # no probability is more than one
        u[j] = min(u[j] + step, 0.0)
        after = np.exp(u[j])
        left += max(after, p[j]) * step * step
        p[j] = after
        total += after
    normalizer, scale = np.log(total), 1.0 / total
    for j in range(count):
        u[j] -= normalizer
        p[j] *= scale
        away += abs(p[j] - before[j])
    return left, away


@helper
def solve_softmax_block(scores: Any, before: Any, curve: float, p: Any, u: Any) -> float:
    """Move p and u from where they are to the solution; how far p is from ``before``."""
    away = 0.0
    for _ in range(_STEPS):
        left, away = _newton(scores, before, curve, p, u)
        if left <= max(_SHARE * away, _REST):
            break
    return away


@helper
def _store(alpha: Any, p: Any, label: int, scale: float, change: Any) -> None:
    """The new alpha, whose entries add up to zero, and what it changes."""
    beside = 0.0
    for j in range(np.uint64(len(p))):
        if j != label:
            change[j] = scale * (-p[j] - alpha[j])
            alpha[j] = -p[j]
            beside += p[j]
    change[label] = scale * (beside - alpha[label])
    alpha[label] = beside


@loop
def visit_softmax_blocks(
    rows: Any,
    images: Any,
    alpha: Any,
    logs: Any,
    weights: Any,
    classes: Any,
    book: Any,
    free: Any,
    constant: float,
    square: float,
    order: Any,
    begin: int,
    end: int,
) -> tuple[int, float, int, float]:
    """Visit the examples ``order[begin:end]`` once; returns what ``visit_blocks`` does."""
    worst, changed, gap, count = 0.0, 0, 0.0, np.uint64(weights.shape[1])
    scores, before, p, u, change = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    for t in range(np.uint64(begin), np.uint64(end)):
        i = np.uint64(order[t])
        label, new = classes[i], False
        for j in range(count):
            scores[j] = free[INTERCEPT, j] - free[OFFSET, j] + book[i, AHEAD] * free[SUM, j]
            before[j], u[j] = -alpha[i, j], logs[i, j]
            new |= u[j] <= UNSEEN
        before[label] += 1.0
        add_scores(rows, i, weights, scores)
        if new:
            excess = _first(scores, label, book[i, CURVE], p, u)
        else:
            p[:] = before
            excess = _look(scores, u, before)
        gap += book[i, SCALE] * excess
        away = solve_softmax_block(scores, before, book[i, CURVE], p, u)
        if away <= _REST:
            continue
        worst = max(worst, away)
        changed += 1
        logs[i] = u
        _store(alpha[i], p, label, book[i, SCALE], change)
        add_row(images, i, change, weights)
        for j in range(count):
            free[SUM, j] += change[j]
            free[INTERCEPT, j] += constant * change[j]
            free[OFFSET, j] += (square - book[i, AHEAD]) * change[j]
    return end, worst, changed, gap
