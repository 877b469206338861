"""More turns for the few examples that violate the KKT conditions most.

Two examples that are nearly the same tie their dual variables together: epochs move both by little, in opposite
directions, for tens or hundreds of epochs until one of them is at a bound, while all other variables have long been
where they belong.  On text to a relative gap of 1e-3, 20 of 6,200 active examples had violations above a tenth of the
largest one, and a fifth to a half of the gap.  So an epoch lists the examples that violate their KKT conditions by more
than a tenth of the largest violation of the epoch before it.  If those are few, epochs over them alone follow, of which
all together cost less than one epoch over the active examples, and in which steps are over-relaxed
(Zhang 2002, Sec. 6.2): a step of t < 2 times the exact one raises the dual.  A list that is full is of no use, since
violations are then spread over many examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Array
from fenchel.compile.primitives.epoch import Part
from fenchel.solvers.dual_coordinate.loop_violators import Settling, settle
from fenchel.solvers.dual_coordinate.state import OutputState, State

#: examples with violations above this share of the largest one of the last epoch are listed, and their epochs end when
#: the largest violation among them has fallen to this share (0.03 to 0.2 take about as long)
_SHARE = 0.1
#: an epoch over the list leaves out those that violate by less than this share of the largest violation in the last one
_LEFT_OUT = 0.3
#: listed examples at most, as a share of those of the epoch, and their number, whose rows stay in the nearest caches
_MOST_SHARE, _MOST = 0.05, 512
#: turns of listed examples after an epoch, as a share of its turns (0.25 to 1 take about as long)
_TURNS = 0.25
#: factor of exact steps (without it the hinge on 20news.binary takes a third more epochs)
_STRETCH = 1.5


@dataclass
class Violators:
    """The list of the present epoch."""

    #: its last entry is how many the others list
    worst: Array
    listed_from: float = np.inf

    @classmethod
    def none(cls, order: Array) -> Violators:
        """The list before the first epoch."""
        return cls(np.zeros(1, dtype=order.dtype))

    def listed(self, part: Part, size: int) -> Part:
        """A part of an epoch over that many examples, with the list."""
        if part.begin == 0:
            self.worst = np.zeros(1 + min(_MOST, int(_MOST_SHARE * size)), dtype=part.order.dtype)
        return part._replace(worst=self.worst, listed_from=self.listed_from)

    def settle(self, state: State, output: OutputState, size: int, most: int) -> int:
        """Epochs over the list, after the end of an epoch of that many examples; turns, about ``most`` at most."""
        count = int(self.worst[-1])
        self.listed_from = _SHARE * output.active_set.violation
        if not 1 < count < len(self.worst) - 1:
            return 0
        part = Part(self.worst[:count], 0, count, 0, np.inf, worst=np.zeros_like(self.worst[:1]))
        settling = Settling(min(most, int(_TURNS * size)), _SHARE, _LEFT_OUT, _STRETCH / state.stretch)
        arrays = (output.table, output.v, state.intercept(output), part)
        turns = settle(state.rows, state.loss, state.regularizer, *arrays, settling)
        # running sums have new rounding errors
        output.active_set.refreshed = False
        return int(turns)
