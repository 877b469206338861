r"""When a solver hands over to the next one: not before its progress says that the next one will be done earlier.

The gaps that a solver expects are compared between two quarters of its passes, (p/2, 3p/4] and (3p/4, p], whose
largest ones are g' and g: the gap of an epoch over a small active set says nothing.  Descent on the dual of a hinge
first decreases the gap by a power of the passes and, once the active set is known, geometrically; by the power law

.. math:: g(q) \propto q^{-a}, \qquad a = \log(g'/g)/\log(3/2), \qquad
    \text{passes left} = \tfrac34 p\,(g/\text{target})^{1/a} - p,

which is pessimistic for the second kind, and corrects itself.  The gaps of epochs over the active set and over all
examples differ, so a solver is slow only if every estimate over the last fifth of its passes says so; once it has used
as many passes as the next one costs, a single estimate is enough (benchmarks/solvers.py, "nearly separable", C = 1 to
1e-6: 181 data passes to 73; no change on a9a, w8a and covtype).
"""

from __future__ import annotations

import math

#: where the two quarters begin, as shares of the passes: the largest gaps are there
_BEFORE, _AFTER = 0.5, 0.75
#: data passes of one step at most, as a share of those before, while the pace is watched
STEP_SHARE = 0.2
#: a solver is slow if it has been so since this share of its passes
_SUSTAINED = 0.8


class Pace:
    """The gaps that a solver has expected, by the data passes that it had used."""

    def __init__(self) -> None:
        self._found: list[tuple[float, float]] = []
        #: the passes at the first of the estimates, all of them slow, that lead to the present one
        self._slow_since = math.inf

    def record(self, passes: float, expected_gap: float) -> None:
        """Add what the solver expects after ``passes`` data passes of its own."""
        if math.isfinite(expected_gap):
            self._found.append((passes, expected_gap))

    def passes_left(self, target_gap: float) -> float:
        """The data passes to the target at the present pace; infinite if there is no progress or nothing is known."""
        if not self._found:
            return math.inf
        now = self._found[-1][0]
        before = [gap for passes, gap in self._found if _BEFORE * now < passes <= _AFTER * now]
        after = [gap for passes, gap in self._found if passes > _AFTER * now]
        if not before or max(after) >= max(before) or target_gap <= 0.0:
            return math.inf
        if max(after) <= target_gap:
            return 0.0
        power = math.log(max(before) / max(after)) / math.log(_AFTER / _BEFORE)
        exponent = math.log(max(after) / target_gap) / power
        return max(0.0, now * (_AFTER * math.exp(exponent) - 1.0)) if exponent < 100.0 else math.inf

    def is_slow(self, target_gap: float, most: float) -> bool:
        """Whether estimates of more than ``most`` passes to the target have been sustained.

        After ``most`` passes one of them is enough: a handover then loses no more than what the next solver costs.
        """
        now = self._found[-1][0] if self._found else 0.0
        self._slow_since = min(self._slow_since, now) if self.passes_left(target_gap) > most else math.inf
        return self._slow_since <= (_SUSTAINED if now < most else 1.0) * now
