"""The schedule of certificates.

A certificate costs about as much as a pass over the data, and at least some tenths of a millisecond.  It is computed
when the solver expects the target gap, and otherwise at geometrically growing numbers of passes, so that certificates
take a bounded share of the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fenchel.solving.handover import STEP_SHARE

#: ratio of the data passes at consecutive certificates
_GROWTH = 4.0
#: data passes before the first certificate, unless the solver expects the target gap earlier
_FIRST = 3.0
#: the same ratio for a solver without an expected gap
_BLIND_GROWTH = 1.5
#: factor of the due pass while the solver expects a larger gap than the target, and if it computes its gap
_POSTPONE, _POSTPONE_COMPUTED = 4.0, 16.0
#: entries of X that a solver reads in the half millisecond of a small certificate, and the passes of that time at most
_CERTIFICATE_ENTRIES, _MOST_WAITING = 1 << 19, 64.0
#: share of the passes of that time that a step takes at most while a certificate waits
_WAITING_SHARE = 0.125
#: ratio of data passes between two certificates of a solver that expects the target gap
_RETRY = 1.1
#: data passes; steps are fractions of a pass, whose sum differs from an integer by rounding
PASS_ROUNDING = 1e-9


@dataclass
class Schedule:
    """The range of data passes in which the next certificate is computed."""

    most: float
    #: whether a certificate may wait for longer while the solver expects a larger gap than the target
    patient: bool
    #: the argument ``certify_every``
    every: float | None = None
    #: the stored entries of X
    entries: int = _CERTIFICATE_ENTRIES
    #: the earliest and the latest data pass of the next certificate
    first: float = 0.0
    due: float = 0.0
    #: ``Solver.computes_gap`` of the present solver
    computed: bool = False

    def begin(self, passes: float, *, after_one: bool, computed: bool = False) -> None:
        """Start a solver; ``after_one`` requires a certificate after its first pass."""
        wait, self.computed = 1.0 if self.every or after_one else _FIRST, computed
        self.first, self.due = passes, min(passes + wait, self.most)

    def postpone(self, passes: float, expected_gap: float) -> None:
        """Schedule the next certificate, after one that did not stop the solve."""
        growth = _BLIND_GROWTH if math.isnan(expected_gap) else _GROWTH
        self.first = max(passes * _RETRY, passes + 1.0)
        self.due = min(passes + (self.every or max(passes * (growth - 1.0), 1.0)), self.most)

    def is_early(self, passes: float, expected_gap: float, target_gap: float, *, on_time: bool) -> bool:
        """Whether the next certificate is not due yet; ``on_time`` ignores the gap that the solver expects."""
        passes += PASS_ROUNDING
        if math.isnan(expected_gap) or self.every is not None or on_time:
            return passes < self.due
        if expected_gap <= target_gap:
            return passes < self.first
        if not self.patient and not math.isinf(expected_gap):
            return passes < self.due
        # on small data many passes take less time than a certificate that proves too little
        return passes < self._postponed + (self._waiting if math.isfinite(expected_gap) else 0.0)

    @property
    def _postponed(self) -> float:
        """The data pass of the next certificate while the solver expects a larger gap than the target."""
        return (_POSTPONE_COMPUTED if self.computed else _POSTPONE) * self.due

    @property
    def _waiting(self) -> float:
        """The data passes that take as long as a certificate of small data."""
        return min(_MOST_WAITING, _CERTIFICATE_ENTRIES / max(1, self.entries))

    def passes_left(self, passes: float, *, on_time: bool) -> float:
        """The data passes that a solver may use before its next certificate, one at least."""
        patient = self.patient and not on_time and self.every is None
        # steps while a certificate waits for a smaller gap: short beside the wait, and not cut where a pace is watched
        waiting = min(_WAITING_SHARE * self._waiting, STEP_SHARE * passes) if patient else 0.0
        return max(1.0, waiting, min(self._postponed if patient else self.due, self.most) - passes)

    def passes_early(self, passes: float) -> float:
        """The data passes before which there is no certificate, even if the solver expects the target gap."""
        return max(0.0, (self.first if self.every is None else self.due) - passes)
