"""When a solve ends at its rounding floor, where the computed gap is as small as its rounding errors."""

from __future__ import annotations

import math

from fenchel.certificate import Certificate

#: certificates within the rounding floor, while that floor is large, before a solve ends as UNRESOLVED
_UNRESOLVED_ROUNDS = 3

#: factor by which the gap must fall from one certificate to the next for a solve with tol = 0 to go on at the floor
_STILL_FALLING = 0.8
#: certificates without that, in a row, that end a solve with tol = 0
_ROUNDS_AT_FLOOR = 3
#: multiple of the floor below which a gap that does not fall ends a solver with tol = 0, and certificates in a row
_NEAR_FLOOR, _ROUNDS_NEAR_FLOOR = 6.0, 10
#: factor of the gap that counts as a fall there
_FALLING_AT_ALL = 0.999


class RoundsAtFloor:
    """Counts the certificates of a solve that are within its rounding floor."""

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self._unresolved = self._not_falling = self._resting = 0
        #: the smallest gap that was within the floor, for tol = 0, and the smallest of all
        self._gap = self._least = math.inf

    @property
    def unresolved(self) -> bool:
        """Whether the floor has been too large for tol in several certificates: it may fall as the model changes."""
        return self._unresolved >= _UNRESOLVED_ROUNDS

    def enough(self, certificate: Certificate) -> bool:
        """Count this certificate: whether it proves tol, or with tol = 0 whether the gap at the floor falls no more.

        The proved floor takes every rounding for the worst one, and the gap can be far below it.
        """
        at_floor = certificate.at_floor or certificate.contradictory
        self._unresolved += at_floor and not certificate.meets(self._tol)
        near = certificate.gap <= _NEAR_FLOOR * certificate.rounding_floor and not certificate.optimal
        rests = near and certificate.gap > _FALLING_AT_ALL * self._least
        self._resting = self._resting + 1 if rests else 0
        self._least = min(self._least, certificate.gap)
        if self._tol > 0 or not certificate.optimal:
            return certificate.meets(self._tol)
        falls = self._gap > 0.0 and certificate.gap < _STILL_FALLING * self._gap
        self._not_falling = 0 if falls else self._not_falling + 1
        self._gap = min(self._gap, certificate.gap)
        # the model still improves for a round where the gap has no digits left: the gap is quadratic in its error
        return self._not_falling >= (1 if certificate.gap <= 0.0 else _ROUNDS_AT_FLOOR)

    @property
    def stalled(self) -> bool:
        """Whether the gap has not fallen for many certificates, a little above the floor, with tol = 0."""
        return self._tol == 0.0 and self._resting >= _ROUNDS_NEAR_FLOOR

    def begin(self) -> None:
        """Another solver begins."""
        self._resting = 0
