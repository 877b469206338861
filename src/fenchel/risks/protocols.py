"""What some risks can do beside a value and a subgradient; the accessors of ``Risk`` return them under these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fenchel.arrays import Array, Floats

if TYPE_CHECKING:
    from fenchel.risks.ranking.queries import Queries
    from fenchel.risks.smoothing import Smoothed


class ClosedForm(Protocol):
    """A risk whose conjugate is known in closed form, so that certificates are recomputed from theta alone."""

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta), infinite outside its domain (beyond rounding); ``feasible``: theta came from ``project``."""
        ...

    def project(self, theta: Array) -> Floats:
        """A point near theta that is in the domain of the conjugate in exact arithmetic."""
        ...

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        """A bound on the rounding error of R*(-theta), which was computed as ``conjugate``, for this very theta."""
        ...

    def largest_scale(self, theta: Array) -> float:
        """A number t >= 1 such that t theta lies in the domain of the conjugate if theta does."""
        ...


class Smoothable(Protocol):
    """A risk with a smoothing R_mu <= R <= R_mu + mu D."""

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        """R_mu at these scores, with the dual point that attains it."""
        ...

    @property
    def smoothing_range(self) -> float:
        """D; infinite if the smoothing is not uniform."""
        ...


class Intercepts(Protocol):
    """A risk that depends on an intercept added to all scores of an output."""

    def best_intercept(self, scores: Array) -> float | Floats:
        """The b that minimizes R(s + b)."""
        ...

    def intercept_bound(self, level: float, score_bounds: Array) -> Floats:
        """A bound on |b| of each output wherever R(s + b) <= level and |s_i| <= score_bounds_i."""
        ...

    def balance(self, theta: Array, *, overwrite: bool = False) -> tuple[Floats, Floats]:
        """A point of the domain near theta with columns that sum to zero, and bounds on the sums after rounding."""
        ...


class PairwiseRanking(Smoothable, Protocol):
    """A mean over queries of a loss of the difference of the scores of each pair of a query."""

    name: str
    queries: Queries
