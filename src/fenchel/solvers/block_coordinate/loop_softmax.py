r"""Epochs of block coordinate descent on the dual of multinomial logistic regression.

The step of an example minimizes the dual over the probabilities p of an example, on the simplex:

.. math:: \min_p\; \sum_j p_j\log p_j - s\cdot p + \tfrac q2\|p - p^0\|^2, \qquad
    \log p_j + q p_j = s_j + q p^0_j + \nu

This is the subproblem of Yu, Huang and Lin (2011), Sec. 4, whose two-level method goes from class to class.  Here all
classes move at once: Newton's method in :math:`\log p` and :math:`\nu`, with :math:`\sum p = 1` restored after each
step, needs one exponential for each class, and no matrix.  Near the solution one step is enough.

=====================  ======================  ==================================================================
symbol                 argument                meaning
=====================  ======================  ==================================================================
s                      ``scores``              present scores
:math:`p^0`            ``before``              probabilities before the step, :math:`\alpha = e_y - p^0`
p, log p               ``p``, ``log_p``        probabilities and their logarithms, the rows of ``logs``
q                      ``curvature``           ``table[i, CURVATURE]``
=====================  ======================  ==================================================================

The other arguments are those of ``loop.run_epoch``.  All probabilities are positive, so no example is shrunk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.lanes import aligned_zeros
from fenchel.compile.loop import helper, summing_helper, uncounted_loop
from fenchel.compile.primitives.class_lanes import add_class_row, add_class_scores
from fenchel.compile.primitives.copying import copy
from fenchel.compile.primitives.epoch import Part, Tally, begin, keep
from fenchel.designs.rows import Rows
from fenchel.risks import MulticlassRisk
from fenchel.solvers.block_coordinate.loop import CENTRING, CURVATURE, SCALE, Blocks
from fenchel.solvers.block_coordinate.loop_intercepts import Intercepts, intercept_scores, move_intercepts

#: log 0, as a number whose product with zero is zero: an example before its first step has p = e_y
UNSEEN = -1e300
#: a class without examples begins with a probability below exp(-this)
_NEVER = 40.0
#: a block is solved when the squared Newton step is this share of the distance of p from where the block began
_ACCURACY = 0.1
#: Newton steps on one block at most; one or two are the rule
_NEWTON_STEPS = 100
#: a block is unchanged if p moves by no more than this in the 1-norm (rounding)
_UNCHANGED = 4.0 * float(np.finfo(np.float64).eps)


def logarithms(alpha: Array, classes: Array) -> Floats:
    """Of the probabilities e_y - alpha; zero has a finite one."""
    places = np.arange(len(alpha)), classes[: len(alpha)]
    with np.errstate(divide="ignore"):
        found = np.log(-alpha, out=np.full(alpha.shape, UNSEEN), where=alpha < 0.0)
        found[places] = np.log1p(-np.minimum(alpha[places], 1.0))
    return np.maximum(found, UNSEEN)


def first_intercept(risk: MulticlassRisk) -> Floats:
    """The best intercepts without weights: those of the frequencies of the classes."""
    frequencies = np.bincount(risk.classes, risk.shares, risk.outputs)
    found = np.log(frequencies, out=np.full(risk.outputs, -_NEVER), where=frequencies > 0.0)
    found[frequencies == 0.0] += np.min(found)
    return found - np.mean(found)


@summing_helper
def second_order_gap(scores: Any, log_p: Any, before: Any) -> float:
    """The Fenchel-Young gap, KL(p, softmax(s)), to second order: half the variance of s - log p."""
    mean, square = 0.0, 0.0
    for j in range(np.uint64(len(log_p))):
        apart = scores[j] - log_p[j]
        mean += before[j] * apart
        square += before[j] * apart * apart
    return 0.5 * max(square - mean * mean, 0.0)


@helper
def first_step(scores: Any, label: int, curvature: float, p: Any, log_p: Any) -> float:
    """Where to begin from p = e_y: the softmax, held back by the curvature; the Fenchel-Young gap, f(s)."""
    largest, total, beside = scores[0], 0.0, 0.0
    for j in range(len(p)):
        largest = max(largest, scores[j])
    for j in range(len(p)):
        p[j] = np.exp(scores[j] - largest)
        total += p[j]
    normalizer = largest + np.log(total)
    for j in range(len(p)):
        p[j] /= total
        log_p[j] = scores[j] - normalizer
        if j != label:
            log_p[j] -= np.log1p(curvature * p[j])
            p[j] /= 1.0 + curvature * p[j]
            beside += p[j]
    # the others have become less, so this one has become more
    p[label] = max(p[label], 1.0 - beside)
    log_p[label] = max(log_p[label], np.log(p[label]) if p[label] > 0.0 else log_p[label])
    return normalizer - scores[label]


@summing_helper
def _newton(scores: Any, before: Any, curvature: float, p: Any, log_p: Any) -> tuple[float, float]:
    """One step; how much it has left to do, to first order, and how far p is from ``before``."""
    count = np.uint64(len(p))
    slope, room = 0.0, 0.0
    for j in range(count):
        weight = p[j] / (1.0 + curvature * p[j])
        slope += weight * (scores[j] + curvature * (before[j] - p[j]) - log_p[j])
        room += weight
    level = -slope / room
    left, away, total = 0.0, 0.0, 0.0
    for j in range(count):
        step = (scores[j] + curvature * (before[j] - p[j]) - log_p[j] + level) / (1.0 + curvature * p[j])
        # no probability is more than one
        log_p[j] = min(log_p[j] + step, 0.0)
        after = np.exp(log_p[j])
        left += max(after, p[j]) * step * step
        p[j] = after
        total += after
    normalizer, scale = np.log(total), 1.0 / total
    for j in range(count):
        log_p[j] -= normalizer
        p[j] *= scale
        away += abs(p[j] - before[j])
    return left, away


@helper
def solve_softmax_block(scores: Any, before: Any, curvature: float, p: Any, log_p: Any) -> float:
    """Move p and log_p from where they are to the solution; how far p is from ``before``."""
    away = 0.0
    for _ in range(_NEWTON_STEPS):
        left, away = _newton(scores, before, curvature, p, log_p)
        if left <= max(_ACCURACY * away, _UNCHANGED):
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


class Workspace(NamedTuple):
    """Arrays for the subproblem of one example: of k numbers, and of K with the lanes that pad them."""

    #: K
    scores: Any
    before: Any
    p: Any
    log_p: Any
    #: of v, as a multiple of x_i; K, of which those behind k stay zero
    change: Any


@uncounted_loop
def epoch_softmax(rows: Any, images: Any, blocks: Any, logs: Any, intercepts: Any, work: Any, part: Any) -> Any:
    """One part of an epoch; returns its ``Tally``.  ``blocks.bounds`` and ``sum_bound`` are not used."""
    alpha, v, classes, table = blocks.alpha, blocks.v, blocks.classes, blocks.table
    (state, constant, square), order = intercepts, part.order
    scores, before, p, log_p, change = work
    count = np.uint64(len(p))
    remaining, violation, changes, gap = begin(part)
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        i = np.uint64(order[t])
        label, scale, curvature, new = classes[i], table[i, SCALE], table[i, CURVATURE], False
        for j in range(count):
            before[j], log_p[j] = -alpha[i, j], logs[i, j]
            new |= log_p[j] <= UNSEEN
        before[label] += 1.0
        intercept_scores(state, table[i, CENTRING], scores)
        add_class_scores(rows, i, v, scores)
        if new:
            own_gap = first_step(scores, label, curvature, p, log_p)
        else:
            copy(before, p)
            own_gap = second_order_gap(scores, log_p, before)
        away = solve_softmax_block(scores, before, curvature, p, log_p)
        remaining = keep(order, t, remaining)
        gap += scale * own_gap
        if away <= _UNCHANGED:
            continue
        violation = max(violation, away)
        changes += 1
        copy(log_p, logs[i])
        _store(alpha[i], p, label, scale, change)
        add_class_row(images, i, change, v)
        move_intercepts(state, constant, square - table[i, CENTRING], change)
    return remaining, violation, changes, gap


def run_epoch_softmax(
    rows: Rows, images: Rows, blocks: Blocks, logs: Floats, intercepts: Intercepts, part: Part
) -> Tally:
    """One part of an epoch; ``rows`` and ``images`` are as in ``loop.run_epoch``."""
    scores, change = aligned_zeros((2, blocks.v.shape[1]))
    before, p, log_p = np.zeros((3, logs.shape[1]))
    work = Workspace(scores, before, p, log_p, change)
    return Tally(*epoch_softmax(rows, images, blocks, logs, intercepts, work, part))
