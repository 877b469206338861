"""Several epochs of block coordinate descent in one call, as ``BlockCoordinate`` would run them one by one.

Epochs over the active examples of small data take microseconds, and what Python does between two of them a tenth of a
millisecond.  The rules are those of ``shrinking``, ``averaging`` and ``loop_intercepts``, so that the iterates are the
same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.loop import uncounted_loop
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.compile.primitives.random_order import permute
from fenchel.designs.rows import Rows
from fenchel.solvers.block_coordinate.loop import Blocks, ClassLists, part_of_epoch, workspace
from fenchel.solvers.block_coordinate.loop_average import Averages, record
from fenchel.solvers.block_coordinate.loop_blocks import RootBlock
from fenchel.solvers.block_coordinate.loop_intercepts import Intercepts, recentre
from fenchel.solvers.shrinking import after_epoch


class Repetition(NamedTuple):
    """When the epochs end, and what the rule of shrinking knows before the first of them."""

    #: turns of examples in all of them at most
    most: int
    #: of the sum of the examples' gaps; epochs end when it is reached
    target: float
    lam: float
    #: whether examples are shrunk
    shrinking: bool
    #: as in ``ActiveSet``
    full_violation: float
    turns_since_full: int
    #: the state of the random numbers
    random: Any
    #: v and the state of the intercepts again, flat
    flat_v: Any
    flat_intercepts: Any


class Epochs(NamedTuple):
    """What the call found: the tally of the last epoch, and what preceded it."""

    tally: Tally
    #: epochs before the last one, the examples of the last one, and the turns of all
    before: int
    size: int
    turns: int
    full_violation: float
    turns_since_full: int


def _epochs(
    rows: Any,
    images: Any,
    inner: Any,
    blocks: Any,
    intercepts: Any,
    lists: Any,
    work: Any,
    averages: Any,
    classes_shrunk: bool,
    part: Any,
    repetition: Any,
) -> Any:
    """Epochs until one of them has to end in Python; the numbers of ``Epochs``, those of the tally first."""
    most, target, lam, shrinking, full_violation, turns_since_full, random, flat_v, flat_intercepts = repetition
    order, state, constant = part.order, intercepts.state, intercepts.constant
    examples, size, turns, before = len(order), int(part.end), int(part.end - part.begin), 0
    count, lists_classes = len(blocks.classes), lists.classes.shape[1] > 0
    while True:
        remaining, violation, changes, gap = part_of_epoch(
            rows, images, inner, blocks, intercepts, lists, work, classes_shrunk, part
        )
        active, full = int(np.int64(remaining)), size == examples and not classes_shrunk
        threshold, next_violation, next_turns, restore = after_epoch(
            examples, size, full, active, violation, full_violation, turns_since_full
        )
        following = examples if restore or not shrinking else active
        # Python restores the lists of classes, and decides on fixed points
        if lam * gap <= target or turns + following > most or changes == 0 or (lists_classes and (full or restore)):
            break
        recentre(state, constant)
        record(averages, flat_v, flat_intercepts, size / count, lam * gap)
        full_violation, turns_since_full = next_violation, next_turns
        size, turns, before = following, turns + following, before + 1
        permute(order, size, random)
        limits = (threshold if shrinking else np.inf, part.sigma, part.worst, part.listed_from)
        part = Part(order, 0, size, 0, *limits)
    return remaining, violation, changes, gap, before, size, turns, full_violation, turns_since_full


#: makes no array
epochs_of_blocks = uncounted_loop(_epochs)


def run_epochs(
    rows: Rows,
    images: Rows,
    inner: RootBlock,
    blocks: Blocks,
    intercepts: Intercepts,
    lists: ClassLists,
    averages: Averages,
    classes_shrunk: bool,
    part: Part,
    repetition: Repetition,
) -> Epochs:
    """One part of an epoch, or if it is a whole one, this and those that follow."""
    fixed = rows, images, inner, blocks, intercepts, lists, workspace(blocks, lists), averages
    found = epochs_of_blocks(*fixed, classes_shrunk, part, repetition)
    return Epochs(Tally(*found[:4]), *found[4:])
