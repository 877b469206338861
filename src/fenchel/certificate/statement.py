"""What a certificate says."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """A proof of how far a model is from the best one: ``gap >= objective - optimum``.

    Attributes
    ----------
    primal : the objective P of the model
    dual : a lower bound D on the objective of every model
    rounding_floor : how much of the gap may be rounding of the evaluation itself
    recomputed : whether everything was recomputed from the data; False if a bound was taken on trust
    """

    primal: float
    dual: float
    rounding_floor: float
    recomputed: bool = True

    @property
    def gap(self) -> float:
        """P - D, never clamped."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """gap / max(abs(P), abs(D)); 0/0 is 0, and infinite if P is."""
        if math.isinf(self.gap):
            return self.gap
        return self.gap / self.scale if self.scale > 0 else 0.0

    @property
    def scale(self) -> float:
        """max(abs(P), abs(D)), of those that are finite."""
        return max((abs(value) for value in (self.primal, self.dual) if math.isfinite(value)), default=0.0)

    @property
    def at_floor(self) -> bool:
        """Whether the gap can't be told from rounding."""
        return self.gap <= self.rounding_floor

    def meets(self, tol: float) -> bool:
        """Whether this proves a relative gap of at most ``tol``, or the gap is at the rounding floor."""
        return self.relative_gap <= tol or self.at_floor

    def __add__(self, other: Certificate) -> Certificate:
        """The certificate of two separate problems taken together."""
        return Certificate(
            self.primal + other.primal,
            self.dual + other.dual,
            self.rounding_floor + other.rounding_floor,
            self.recomputed and other.recomputed,
        )

    def __str__(self) -> str:
        trust = "" if self.recomputed else " (the lower bound was taken on trust from the solver)"
        if math.isinf(self.primal):
            return f"The objective is infinite, so this model proves nothing: no model is below {self.dual:.6g}{trust}."
        if self.at_floor:
            return (
                f"The objective {self.primal:.6g} is optimal to the accuracy of the arithmetic: no model is below "
                f"{self.dual:.6g}{trust}."
            )
        return (
            f"The objective {self.primal:.6g} is proved to be within {self.gap:.2g} ({100 * self.relative_gap:.2g}%) "
            f"of the optimum: no model is below {self.dual:.6g}{trust}."
        )
