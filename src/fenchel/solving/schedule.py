"""When certificates are made.

A certificate costs about as much as a pass over the data.  It is made when the solver expects to be done, and besides
after numbers of passes that grow, so that certifying stays a fixed share of the work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: data passes between certificates grow by this factor
_GROWTH = 4.0
#: the first certificate is made after so many passes, unless the solver expects to be done before
_FIRST = 3.0
#: the same factor for a solver that can't tell what gap it expects
_BLIND_GROWTH = 1.5
#: a solver that does not expect to be done is left alone for so many times as long, if certificates are dear
_POSTPONE = 4.0
#: up to so many entries of X a certificate takes about a millisecond
_CHEAP = 1 << 17
#: a solver that expects to be done is judged, but not again before it made so many times the passes
_RETRY = 1.1
#: steps are shares of a pass, whose sum misses a whole number of passes by rounding
ROUNDING = 1e-9


@dataclass
class Schedule:
    """Between which passes the next certificate is made."""

    most: float
    #: entries of X, and whether somebody wants to see certificates on the way
    entries: int
    watched: bool
    #: passes between certificates, if they were asked for
    every: float | None = None
    #: not before, and at the latest then
    first: float = 0.0
    due: float = 0.0

    def begin(self, passes: float, *, after_one: bool) -> None:
        """A solver begins; ``after_one`` asks for a certificate after its first pass."""
        wait = 1.0 if self.every or after_one else _FIRST
        self.first, self.due = passes, min(passes + wait, self.most)

    def go_on(self, passes: float, expected_gap: float) -> None:
        """A certificate was made, and it was not enough."""
        growth = _BLIND_GROWTH if math.isnan(expected_gap) else _GROWTH
        self.first = max(passes * _RETRY, passes + 1.0)
        self.due = min(passes + (self.every or max(passes * (growth - 1.0), 1.0)), self.most)

    def is_early(self, passes: float, expected_gap: float, target_gap: float, *, on_time: bool) -> bool:
        """Whether the next certificate can wait; ``on_time`` takes no notice of what the solver expects."""
        passes += ROUNDING
        if math.isnan(expected_gap) or self.every is not None or on_time:
            return passes < self.due
        if expected_gap <= target_gap:
            return passes < self.first
        patient = math.isinf(expected_gap) or not (self.watched or self.entries <= _CHEAP)
        return passes < (_POSTPONE * self.due if patient else self.due)
