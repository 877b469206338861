"""The certificate: primal and dual objective, their gap, and the rounding floor."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: largest rounding floor, relative to the objective, at which a gap below the floor counts as optimal
RESOLVED = 1e-6


@dataclass(frozen=True)
class Certificate:
    """A proof of how far a model is from the best one: ``gap >= objective - optimum``.

    Parameters
    ----------
    primal : float
        The primal objective P of the model.
    dual : float
        The dual objective D, a lower bound on the objective of every model.
    rounding_floor : float
        Bound on the part of the gap that may be rounding of the evaluation itself.
    recomputed : bool, default=True
        Whether everything was recomputed from the data; False if a bound was taken on trust from a solver.
    resolved : bool, default=True
        Whether the rounding floor is a small share of the objective; if not, a gap below the floor proves little.  It
        is also True where even the model without weights is at the floor.
    consistent : bool, default=True
        False for a sum of certificates of which one contradicts itself.

    See Also
    --------
    certify : Compute the certificate of a model.
    Solution : A model with its certificate.

    Examples
    --------
    >>> from fenchel import Certificate
    >>> certificate = Certificate(primal=1.0, dual=0.998, rounding_floor=1e-15)
    >>> certificate.meets(tol=0.01)
    True
    >>> print(certificate)
    The objective 1 is proved to be within 0.002 (0.2%) of the optimum: no model is below 0.998.
    """

    primal: float
    dual: float
    rounding_floor: float
    recomputed: bool = True
    resolved: bool = True
    consistent: bool = True

    @property
    def gap(self) -> float:
        """Duality gap P - D, never clamped."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Relative duality gap, gap / max(abs(P), abs(D)); 0/0 is 0, and infinite if P is."""
        if math.isinf(self.gap):
            return self.gap
        return self.gap / self.scale if self.scale > 0 else 0.0

    @property
    def scale(self) -> float:
        """The largest finite one of abs(P) and abs(D)."""
        return max((abs(value) for value in (self.primal, self.dual) if math.isfinite(value)), default=0.0)

    @property
    def at_floor(self) -> bool:
        """Whether the gap is within the rounding floor."""
        return self.consistent and abs(self.gap) <= self.rounding_floor

    @property
    def contradictory(self) -> bool:
        """Whether the objective is below its lower bound by more than rounding: then the certificate is invalid."""
        return not self.consistent or self.gap < -self.rounding_floor

    @property
    def optimal(self) -> bool:
        """Whether the gap is within rounding, and rounding is a small share of the objective."""
        return self.at_floor and self.resolved

    def meets(self, tol: float) -> bool:
        """Whether this proves a relative gap of at most ``tol``, or that the model is optimal up to rounding."""
        return not self.contradictory and (self.relative_gap <= tol or self.optimal)

    def __add__(self, other: Certificate) -> Certificate:
        """The certificate of two separate problems taken together."""
        return Certificate(
            self.primal + other.primal,
            self.dual + other.dual,
            self.rounding_floor + other.rounding_floor,
            self.recomputed and other.recomputed,
            self.resolved and other.resolved,
            not (self.contradictory or other.contradictory),
        )

    def __str__(self) -> str:
        trust = "" if self.recomputed else " (the lower bound was taken on trust from the solver)"
        # adding zero turns -0.0 into 0
        primal, below = f"{self.primal + 0.0:.6g}", f"{self.dual + 0.0:.6g}"
        if math.isinf(self.primal):
            return f"The objective of this model is infinite: no model is below {below}{trust}."
        if self.contradictory:
            where = f"the objective {primal} is below its lower bound {below}"
            if not self.consistent:
                where = f"one of the objectives that add up to {primal} is below its lower bound"
            return (
                f"The objective and its lower bound are inconsistent: {where} by more than rounding explains{trust}; "
                "a kernel must be positive semi-definite to this accuracy: scale or centre X."
            )
        if self.optimal:
            exact = "optimal to the accuracy of the arithmetic"
            return f"The objective {primal} is {exact}: no model is below {below}{trust}."
        if self.at_floor:
            return (
                f"The objective {primal} is known only up to rounding errors of {self.rounding_floor:.2g}: no model is "
                f"below {below}{trust}. Scale X."
            )
        return (
            f"The objective {primal} is proved to be within {self.gap:.2g} ({100 * self.relative_gap:.2g}%) "
            f"of the optimum: no model is below {below}{trust}."
        )
