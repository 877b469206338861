r"""Dual decomposition with a Gram matrix in memory: the most violating examples are optimized together.

With a Gram matrix a step on one example changes the scores of all, so a step costs n whatever the example, and a look
at all KKT violations costs no more.  Random epochs spend most of their steps on examples that violate their conditions
by little.  So, as in SVM-light (Joachims 1998), each round

1. selects the q active examples that promise the largest gain, violation^2 / curvature;
2. minimizes the dual over their variables, the others fixed, by greedy coordinate descent: on q scores and a q x q
   part of K, a step costs q instead of n;
3. adds the changes to the scores of all examples, along q rows of K.

An intercept changes the kernel and nothing else: in the notation of ``loop``, a step on example j changes the score of
example i by a multiple of

.. math:: \tilde K_{ij} = K_{ij} - p_i - p_j + M + B^2.

=====================  ==============================================================
symbol                 here
=====================  ==============================================================
q                      ``len(chosen)``
:math:`\tilde K`       ``gram``, of the chosen examples
:math:`c_j/\lambda`    ``table[j, SCALE]``
=====================  ==============================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import dual_step, fenchel_young_gap, kkt_margin, row_add
from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.epoch import begin, keep
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVATURE, LABEL, SCALE, add_intercept, move_intercept

#: the inner problem ends when its largest gain has fallen to this share of the first one
_INNER_SHARE = 1e-2
#: steps of the inner problem, as a multiple of q
_INNER_STEPS = 10
#: a curvature below this one counts as this one
_FLATTEST = 1e-300


@helper
def _gain(loss: Any, label: float, alpha: float, score: float, curvature: float) -> float:
    """The gain that a KKT violation promises; zero without one."""
    margin = kkt_margin(loss, label, alpha, score)
    return margin * margin / max(curvature, _FLATTEST) if margin < 0.0 else 0.0


@helper
def _smallest(values: Any) -> int:
    found = 0
    for k in range(len(values)):
        if values[k] < values[found]:
            found = k
    return found


@helper
def _select(loss: Any, table: Any, v: Any, intercept: Any, order: Any, size: Any, chosen: Any, gains: Any) -> int:
    """The active examples with the largest gains; how many."""
    (state, projection, spread), count, least = intercept, 0, 0
    for t in range(np.uint64(size)):
        i = np.uint64(order[t])
        score = add_intercept(v[i], state, projection, spread, i)
        gain = _gain(loss, table[i, LABEL], table[i, ALPHA], score, table[i, CURVATURE])
        if gain == 0.0:
            continue
        if count < len(chosen):
            chosen[count], gains[count] = i, gain
            count += 1
            least = _smallest(gains) if count == len(chosen) else 0
        elif gain > gains[least]:
            chosen[least], gains[least] = i, gain
            least = _smallest(gains)
    return count


@helper
def _gather(rows: Any, v: Any, intercept: Any, chosen: Any, count: int, gram: Any, scores: Any) -> None:
    """K~ and the scores of the chosen examples."""
    state, projection, spread = intercept
    for a in range(count):
        i = chosen[a]
        scores[a] = add_intercept(v[i], state, projection, spread, i)
        for b in range(count):
            j = chosen[b]
            value = rows.values[i, j]
            if len(projection) > 0:
                value += spread - projection[i] - projection[j]
            gram[a, b] = value


@helper
def _descend(loss: Any, table: Any, chosen: Any, count: int, gram: Any, scores: Any, alphas: Any) -> None:
    """Greedy coordinate descent on the variables of the chosen examples."""
    first = 0.0
    for _ in range(_INNER_STEPS * count):
        best, largest = 0, 0.0
        for a in range(count):
            i = chosen[a]
            gain = _gain(loss, table[i, LABEL], alphas[a], scores[a], table[i, CURVATURE])
            if gain > largest:
                best, largest = a, gain
        first = max(first, largest)
        if largest <= _INNER_SHARE * first:
            break
        i = chosen[best]
        new = dual_step(loss, table[i, LABEL], alphas[best], scores[best], table[i, CURVATURE])
        step = table[i, SCALE] * (new - alphas[best])
        if step == 0.0:
            break
        alphas[best] = new
        for a in range(count):
            scores[a] += step * gram[best, a]


@loop
def optimize_working_sets(
    rows: Any, loss: Any, table: Any, v: Any, intercept: Any, part: Any, largest: int, rounds: int
) -> int:
    """Optimize that many working sets of at most ``largest`` active examples; how many examples were in them."""
    size, turns = min(largest, part.end), 0
    chosen, gains = np.empty(size, np.uint64), np.empty(size)
    gram, scores, alphas = np.empty((size, size)), np.empty(size), np.empty(size)
    state, projection, _ = intercept
    for _ in range(rounds):
        # 1. the largest gains
        count = _select(loss, table, v, intercept, part.order, part.end, chosen, gains)
        # 2. the inner problem
        _gather(rows, v, intercept, chosen, count, gram, scores)
        for a in range(count):
            alphas[a] = table[chosen[a], ALPHA]
        _descend(loss, table, chosen, count, gram, scores, alphas)
        # 3. update v and alpha
        changes = 0
        for a in range(count):
            i = chosen[a]
            if alphas[a] != table[i, ALPHA]:
                step = table[i, SCALE] * (alphas[a] - table[i, ALPHA])
                row_add(rows, i, step, v)
                move_intercept(state, projection, i, step)
                table[i, ALPHA] = alphas[a]
                changes += 1
        turns += changes
        if changes == 0:
            break
    return turns


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
