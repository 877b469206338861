r"""Epochs of dual coordinate descent with a Gram matrix of which some rows are cached: Zhang (2002), eq. (15).

As ``loop.epoch`` with a Gram matrix: ``v`` holds the scores :math:`K\theta/\lambda` of all examples, the turn of an
example reads one of them, and a step changes all of them along row i of K.  The score and the curvature alone tell
whether there is a step, so an example without a step needs no row.  At a step whose row is not cached the loop stops
and returns its position; ``missing_rows`` finds the rows that the next examples need if no score changes meanwhile, so
that they are computed together.

A violation below ``least.computed`` is not worth the computation of a row, and one below ``least.used`` not worth a
step: the step is postponed to a later epoch, in which the violation is large beside the others.  It counts as a change,
for the dual point is not a fixed point.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import dual_step, fenchel_young_gap, kkt_margin, row_add
from fenchel.compile.loop import loop
from fenchel.compile.primitives.epoch import begin, keep
from fenchel.solvers.dual_coordinate.loop import (
    ALPHA,
    CURVATURE,
    LABEL,
    SCALE,
    add_intercept,
    move_intercept,
)


class Cache(NamedTuple):
    """Which rows of K are cached, and when each was last used."""

    #: where in ``rows`` the row of an example is, -1 if it is not cached
    slots: Any
    #: the time of the last step with the row in a slot
    stamps: Any
    #: the present time
    clock: int


class LeastViolations(NamedTuple):
    """The KKT violations from which on a row is computed, and a cached row is used for a step."""

    computed: float
    used: float


@loop
def epoch_cached_gram(
    rows: Any, cache: Any, loss: Any, table: Any, v: Any, intercept: Any, part: Any, least: Any
) -> tuple[Any, int]:
    """One part of an epoch, up to an example that needs a row which is not cached; the ``Tally`` and the position."""
    order, threshold = part.order, part.threshold
    remaining, violation, changes, gap = begin(part)
    (state, projection, spread), (slots, stamps, clock) = intercept, cache
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        i = np.uint64(order[t])
        label, old, scale = table[i, LABEL], table[i, ALPHA], table[i, SCALE]
        score = add_intercept(v[i], state, projection, spread, i)
        margin = kkt_margin(loss, label, old, score)
        if margin > threshold:
            continue
        new = old if margin > 0.0 else dual_step(loss, label, old, score, table[i, CURVATURE])
        slot = slots[i]
        if new != old and slot < 0 and -margin >= least.computed:
            return (remaining, violation, changes, gap), int(np.int64(t))
        remaining = keep(order, t, remaining)
        gap += scale * fenchel_young_gap(loss, label, old, score)
        violation = max(violation, -margin)
        if new == old:
            continue
        changes += 1
        if slot < 0 or -margin < least.used:
            continue
        # update v and alpha
        row_add(rows, np.uint64(slot), scale * (new - old), v)
        stamps[slot] = clock
        move_intercept(state, projection, i, scale * (new - old))
        table[i, ALPHA] = new
    return (remaining, violation, changes, gap), part.end


@loop
def missing_rows(
    cache: Any, loss: Any, table: Any, v: Any, intercept: Any, part: Any, computed: float, found: Any
) -> int:
    """The first examples of the part whose rows are needed at the present scores and not cached; how many."""
    count, order, slots, (state, projection, spread) = 0, part.order, cache.slots, intercept
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        i = np.uint64(order[t])
        if slots[i] >= 0:
            continue
        label, old = table[i, LABEL], table[i, ALPHA]
        score = add_intercept(v[i], state, projection, spread, i)
        margin = kkt_margin(loss, label, old, score)
        if margin > 0.0 or -margin < computed or dual_step(loss, label, old, score, table[i, CURVATURE]) == old:
            continue
        found[count] = i
        count += 1
        if count == len(found):
            break
    return count
