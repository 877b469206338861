"""Shrinking, as in LIBLINEAR, for methods on the dual: which examples take part in an epoch, in random order.

An example is shrunk (removed from the active set) if its KKT margin exceeds a tenth of the largest violation of the
last epoch.  All examples become active again after every certificate, when the largest violation in the active set has
fallen to 0.3 of that in the last full epoch, and when the steps in the active set have cost as much as twenty full
epochs.  LIBLINEAR shrinks beyond the whole of the largest violation and restores at the end: measured, that takes more
steps, most of all to a rough answer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array
from fenchel.compile.loop import helper
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.compile.primitives.random_order import shuffle

#: an example is shrunk if its KKT margin exceeds this share of the largest violation of the last epoch
_SHRINK_SHARE = 0.1
#: all examples are restored when the largest violation has fallen to this share of that in the last full epoch
_RESTORE_SHARE = 0.3
#: or after as many turns of active examples as this many full epochs have
_RESTORE_EPOCHS = 20
#: multiple of the gap at the end of an epoch, extrapolated from the last two epochs, that is expected
_CAUTION = 3.0


@helper
def after_epoch(
    examples: int,
    size: int,
    full: bool,
    remaining: int,
    violation: float,
    full_violation: float,
    turns_since_full: int,
) -> tuple[float, float, int, bool]:
    """The rule after an epoch over ``size`` of the examples, of which ``remaining`` were not shrunk.

    Returns the next threshold, the largest violation in the last full epoch, the turns since then, and whether all
    examples become active again.  Loops that run several epochs call it too.
    """
    threshold = _SHRINK_SHARE * violation if violation > 0.0 else np.inf
    if full:
        return threshold, violation, 0, remaining == 0
    turns = turns_since_full + size
    improved = violation <= _RESTORE_SHARE * full_violation
    overdue = turns >= _RESTORE_EPOCHS * examples
    return threshold, full_violation, turns, remaining == 0 or improved or overdue


class ActiveSet:
    """The examples that have not been shrunk, the position in the present epoch over them, and what it found so far.

    Parameters
    ----------
    counted : array of int
        The examples with a positive weight.
    examples : int
        The number of all examples.
    shrinks_classes : bool, default=False
        Whether epochs after a full one look at some of the classes of each example only.
    block_rows : int or None, default=None
        The examples that are visited together, if their rows are read from a file (``Design.block_rows``).
    extrapolates : bool, default=False
        Whether the gap at the end of an epoch is extrapolated from the last two epochs where it falls fast.
    """

    def __init__(
        self,
        counted: Array,
        examples: int,
        *,
        shrinks_classes: bool = False,
        block_rows: int | None = None,
        extrapolates: bool = False,
    ) -> None:
        self.order: Array = counted.astype(np.uint32 if examples < 2**32 else np.uint64)
        self.shrinks_classes, self.extrapolates = shrinks_classes, extrapolates
        #: None if one block holds all examples
        self.block_rows = block_rows if block_rows is not None and block_rows < examples else None
        #: how many epochs have ended
        self.epochs = 0
        #: whether the present epoch looks at some classes only
        self.classes_shrunk = False
        #: how many examples, at the front of ``order``, are active in this epoch
        self.size = 0
        self.position = 0
        #: as in ``Tally``, since the epoch began
        self.remaining = 0
        self.violation = 0.0
        self.changes = 0
        self.gap = 0.0
        #: the sum of the examples' gaps in the last epoch, each at the time of its turn, or less: ``_gap_expected``
        self.expected_gap = np.inf
        #: that sum itself
        self.last_gap = np.inf
        #: examples with a larger KKT margin are shrunk
        self.threshold = np.inf
        #: largest violation in the last full epoch, and turns of examples since then
        self.full_violation = np.inf
        self.turns_since_full = 0
        #: whether all examples take part in the next epoch, and the number of certificates when that was last decided
        self.restore = True
        self.certificates = 0
        #: whether running sums were recomputed since the last change
        self.refreshed = False
        #: whether a full epoch with recomputed sums changed nothing
        self.stalled = False

    def restore_after(self, certificates: int) -> None:
        """Restore all examples if there is a new certificate: it begins a new round."""
        if certificates != self.certificates:
            self.certificates, self.restore = certificates, True

    def next_part(self, most: int, random: Array, shrinking: bool, shuffled: bool = True) -> Part:
        """The next part of the epoch, of at most ``most`` examples; an epoch first shuffles or sorts them."""
        if self.position == 0:
            self.classes_shrunk = self.shrinks_classes and shrinking and not self.restore
            if self.restore or not shrinking:
                self.size, self.restore = len(self.order), False
            if shuffled:
                shuffle(self.order, self.size, random)
            else:
                self.order[: self.size].sort()
            if shuffled and self.block_rows is not None:
                self._visit_by_blocks(self.block_rows, random)
            self.remaining, self.violation, self.changes, self.gap = 0, 0.0, 0, 0.0
        end = min(self.size, self.position + max(1, most))
        return Part(self.order, self.position, end, self.remaining, self.threshold if shrinking else np.inf)

    def _visit_by_blocks(self, block_rows: int, random: Array) -> None:
        """Bring the shuffled active examples into a random order of their blocks, which stay shuffled inside."""
        active = self.order[: self.size]
        blocks = active // self.order.dtype.type(block_rows)
        ranks = np.arange(int(blocks.max(initial=0)) + 1, dtype=self.order.dtype)
        shuffle(ranks, len(ranks), random)
        self.order[: self.size] = active[np.argsort(ranks[blocks], kind="stable")]

    def record(self, tally: tuple[Any, float, int, float], end: int, lam: float) -> bool:
        """Add what a loop found on its way to ``end``; returns whether that ends the epoch."""
        found = Tally(*tally)
        self.remaining, self.changes = int(found.remaining), self.changes + found.changes
        self.violation = max(self.violation, found.violation)
        self.gap += lam * found.gap
        self.position = end
        return end == self.size

    def pass_over(self, epochs: int, size: int, full_violation: float, turns_since_full: int) -> None:
        """Take over the epochs that a loop ran after the present one; ``size`` examples take part in the last of them.

        That one is not at its end for this object: ``record`` and ``end_epoch`` follow.
        """
        if epochs:
            self.epochs += epochs
            self.size, self.full_violation, self.turns_since_full = size, full_violation, turns_since_full
            # every epoch before the last one changed something
            self.refreshed = False

    @property
    def full(self) -> bool:
        """Whether all examples take part in this epoch, with all of their classes."""
        return self.size == len(self.order) and not self.classes_shrunk

    def goes_on(self, target_gap: float, most: float) -> bool:
        """Whether another epoch is worth while before a certificate, after the end of one, with at most these turns."""
        turns = len(self.order) if self.restore else self.size
        return self.position == 0 and not self.stalled and self.expected_gap > target_gap and turns <= most

    @property
    def unchanged(self) -> bool:
        """Whether this is a full epoch in which no dual variable changed."""
        return self.full and self.changes == 0

    def needs_refresh(self, fixed_point: bool) -> bool:
        """Whether running sums have to be recomputed at the end of an epoch, that is, at a fixed point.

        A fixed point with recomputed sums is final: ``stalled``.
        """
        self.stalled = fixed_point and self.refreshed
        self.refreshed = fixed_point
        return fixed_point

    def end_epoch(self) -> None:
        """Decide which examples take part in the next epoch."""
        self.epochs += 1
        self.threshold, self.full_violation, self.turns_since_full, restore = after_epoch(
            len(self.order),
            self.size,
            self.full,
            self.remaining,
            self.violation,
            self.full_violation,
            self.turns_since_full,
        )
        self.restore = self.restore or restore
        self.size, self.position, self.expected_gap = self.remaining, 0, self._gap_expected()
        self.last_gap = self.gap

    def _gap_expected(self) -> float:
        """The gap at the end of an epoch.

        The sum over its turns is about the gap at its beginning.  Where epochs divide the gap by a number, it is at the
        end what the next epoch would sum up, so that a solve with a smooth loss would end an epoch late.
        """
        if not self.extrapolates or not 0.0 < _CAUTION * self.gap < self.last_gap < np.inf:
            return self.gap
        return self.gap * (_CAUTION * self.gap / self.last_gap)


def random_state(seed: int) -> NDArray[np.uint64]:
    """A state for the xorshift generator, never zero."""
    return np.array([_first_state(seed)], np.uint64)


@lru_cache
def _first_state(seed: int) -> int:
    """The number that a seed stands for, whose computation takes as long as an epoch over small data."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
