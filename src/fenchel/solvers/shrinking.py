"""The order of visits that descent methods on the dual share: passes in random order, and who is set aside when.

An example whose variables rest on their bounds by more than a tenth of the worst violation of the last pass is set
aside.  All examples come back after every certificate, when the worst violation among the active ones has become a
third of what the last full pass saw, and when the active ones were visited for as long as twenty full passes take.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.primitives.random_order import shuffle
from fenchel.compile.primitives.row_norms import squared_norms as compiled_norms
from fenchel.problem import Problem

#: an example is set aside if it rests by more than this share of the worst violation
_SET_ASIDE = 0.1
#: all examples come back when the worst violation among the active ones has fallen to this share
_RESTORE = 0.3
#: or when the active ones have been visited for as long as so many passes over all would take
_ASIDE = 20


class Descent:
    """Where a descent is within its passes."""

    def __init__(self, counted: NDArray, examples: int, *, narrows: bool = False) -> None:
        self.order: NDArray = counted.astype(np.uint32 if examples < 2**32 else np.uint64)
        #: whether passes after a full one look at part of each example only, and whether this one does
        self.narrows, self.narrow = narrows, False
        #: how many examples at the front of ``order`` take part
        self.active = 0
        #: position within the pass, examples kept so far in it, and what it met so far
        self.position = 0
        self.kept = 0
        self.worst = 0.0
        self.changed = 0
        self.gap = 0.0
        #: the gap that the last pass met, example by example, while it moved on
        self.expected_gap = np.inf
        #: set aside what rests by more than this
        self.threshold = np.inf
        #: worst violation in the last pass over all examples, and visits since then
        self.full_violation = np.inf
        self.visits_aside = 0
        self.restore = True
        #: whether running sums were recomputed since the last change
        self.refreshed = False
        self.stalled = False

    def begin(self, most: int, random: NDArray, shrinking: bool) -> tuple[int, int]:
        """Where the next visits begin and end: at most so many; a new pass is shuffled first."""
        if self.position == 0:
            self.narrow = self.narrows and shrinking and not self.restore
            if self.restore or not shrinking:
                self.active, self.restore = len(self.order), False
            shuffle(self.order, self.active, random)
            self.kept, self.worst, self.changed, self.gap = 0, 0.0, 0, 0.0
        return self.position, min(self.active, self.position + max(1, most))

    def add(self, found: tuple[int, float, int, float], end: int, lam: float) -> bool:
        """Take in what a loop met on its way to ``end``; whether that ends the pass."""
        self.kept, worst, changed, gap = found
        self.worst, self.changed = max(self.worst, worst), self.changed + changed
        self.gap += lam * gap
        self.position = end
        return end == self.active

    @property
    def full(self) -> bool:
        """Whether everyone took part in this pass, with all there is."""
        return self.active == len(self.order) and not self.narrow

    @property
    def at_rest(self) -> bool:
        """Whether everyone took part in this pass and nothing changed."""
        return self.full and self.changed == 0

    def settle(self, refresh: bool) -> bool:
        """At the end of a pass in which nothing moved (or not): whether running sums have to be recomputed.

        A fixed point of the running sums counts only if they are the true sums.
        """
        self.stalled = refresh and self.refreshed
        self.refreshed = refresh
        return refresh

    def finish(self) -> None:
        """End a pass: who takes part in the next one."""
        full = self.full
        if full:
            self.full_violation = self.worst
        self.threshold = _SET_ASIDE * self.worst if self.worst > 0.0 else np.inf
        self.visits_aside = 0 if full else self.visits_aside + self.active
        improved = self.worst <= _RESTORE * self.full_violation
        if self.kept == 0 or (not full and (improved or self.visits_aside >= _ASIDE * len(self.order))):
            self.restore = True
        self.active, self.position, self.expected_gap = self.kept, 0, self.gap


def squared_norms(problem: Problem) -> NDArray[np.float64]:
    """|x_i|^2 by a compiled loop; by the design itself, which is slower, if a row has unsorted or repeated entries.

    For a Gram matrix these are the squared lengths of the features.
    """
    kernel = problem.design.kernel()
    if kernel is not None:
        return kernel.diagonal
    norms = np.empty(problem.design.shape[0])
    return problem.design.squared_row_norms if compiled_norms(problem.design.rows(), norms) else norms


def random_state(seed: int) -> NDArray[np.uint64]:
    """A state for the xorshift generator, never zero."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
