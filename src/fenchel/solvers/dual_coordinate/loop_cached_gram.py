r"""Passes of dual coordinate descent in kernel form over rows of K of which some are here: Zhang (2002), eq. (15).

As ``loops.dual_coordinate.visit`` with a Gram matrix: ``u`` holds the scores :math:`K\theta/\lambda` of all examples, a
visit reads one of them, and a step moves all along row i.  The score and the curvature alone tell whether there is a
step, so a visit that does not move needs no row.  At a step whose row is not here the loop stops and says where;
``wanted`` looks ahead which rows the next visits need if nothing moves meanwhile, so that they are computed together.

Violations of less than ``computed`` are not worth a row that is not here, and those of less than ``used`` no step at
all: they are left for a later pass, in which they are large beside the others.  They count as changed, for the pass has
not come to rest.

The arguments are those of ``visit``; ``slots`` tells where in ``rows`` the row of an example is, -1 if it is not, and
``stamps`` note by slots when a row last moved something.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import dual_step, fenchel_young_gap, kkt_margin, row_add
from fenchel.compile.loop import helper, loop
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, CURVE, LABEL, OFFSET, SCALE, SUM

_ONE = np.uint64(1)


@helper
def _score(i: Any, u: Any, free: Any, projection: Any, spread: float) -> float:
    """c_2 of (14), with the intercept of (27)."""
    if len(projection) == 0:
        return u[i]
    return u[i] + free[SUM] * (spread - projection[i]) - free[OFFSET] + free[CENTRE]


@loop
def visit_kept(
    rows: Any,
    slots: Any,
    stamps: Any,
    clock: int,
    loss: Any,
    book: Any,
    u: Any,
    free: Any,
    projection: Any,
    spread: float,
    order: Any,
    begin: int,
    end: int,
    kept: int,
    threshold: float,
    computed: float,
    used: float,
) -> tuple[int, float, int, float, int]:
    """Visit the examples ``order[begin:end]`` once, up to one that needs a row which is not here.

    Returns what ``visit`` does, and where it stopped.
    """
    front = np.uint64(kept)
    worst, changed, gap = 0.0, 0, 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        i = np.uint64(order[t])
        label, old = book[i, LABEL], book[i, ALPHA]
        score = _score(i, u, free, projection, spread)
        rest = kkt_margin(loss, label, old, score)
        if rest > threshold:
            continue
        new = old if rest > 0.0 else dual_step(loss, label, old, score, book[i, CURVE])
        slot = slots[i]
        if new != old and slot < 0 and -rest >= computed:
            return int(front), worst, changed, gap, int(np.int64(t))
        order[t] = order[front]
        order[front] = i
        front += _ONE
        gap += book[i, SCALE] * fenchel_young_gap(loss, label, old, score)
        worst = max(worst, -rest)
        if new == old:
            continue
        changed += 1
        if slot < 0 or -rest < used:
            continue
        # update v and alpha
        step = book[i, SCALE] * (new - old)
        row_add(rows, np.uint64(slot), step, u)
        stamps[slot] = clock
        if len(projection) > 0:
            free[SUM] += step
            free[OFFSET] += step * projection[i]
        book[i, ALPHA] = new
    return int(front), worst, changed, gap, end


@loop
def wanted(
    slots: Any,
    loss: Any,
    book: Any,
    u: Any,
    free: Any,
    projection: Any,
    spread: float,
    order: Any,
    begin: int,
    end: int,
    computed: float,
    found: Any,
) -> int:
    """The first examples of ``order[begin:end]`` whose rows would be needed now and are not here; how many."""
    count = 0
    for t in range(np.uint64(begin), np.uint64(end)):
        i = np.uint64(order[t])
        if slots[i] >= 0:
            continue
        label, old = book[i, LABEL], book[i, ALPHA]
        score = _score(i, u, free, projection, spread)
        rest = kkt_margin(loss, label, old, score)
        if rest > 0.0 or -rest < computed or dual_step(loss, label, old, score, book[i, CURVE]) == old:
            continue
        found[count] = i
        count += 1
        if count == len(found):
            break
    return count
