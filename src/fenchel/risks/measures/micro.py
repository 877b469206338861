"""One measure over the scores of all classes: n k scores and n k labels make one table (micro averaging).

The classes share nothing but the table, so there is a weight vector for each of them.  An intercept of a class would
need planes whose slopes add up to zero for every class, which the measures here do not give: there is none, and a
threshold for all scores together is chosen afterwards.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.risks.measures.contingency import Plane


class MicroRisk:
    """A risk of n k scores as a risk of (n, k) scores; ``micro`` makes one."""

    smooth: ClassVar[bool] = False
    sees_intercept: ClassVar[bool] = False
    largest_label: ClassVar[float] = 1.0
    conjugate_at_zero: ClassVar[float] = 0.0

    def __init__(self, table: Any, outputs: int) -> None:
        #: the risk of all scores in one row
        self.table = table
        self.outputs = outputs
        self.name = f"micro {table.name}"

    @property
    def examples(self) -> int:
        return int(self.table.examples // self.outputs)

    @property
    def labels(self) -> NDArray[np.float64]:
        """-1 and +1, (n, k)."""
        return self._wide(self.table.labels)

    @property
    def shares(self) -> NDArray[np.float64]:
        """What each example counts, its scores taken together."""
        return self._wide(self.table.shares).sum(axis=1)

    @property
    def value_at_zero(self) -> float:
        """R(0): the natural scale of the objective."""
        return float(self.table.value_at_zero)

    def value(self, scores: NDArray) -> float:
        """R(s)."""
        return float(self.table.value(scores.ravel()))

    def subgradient(self, scores: NDArray) -> NDArray[np.float64]:
        """One element of the subdifferential of R at s."""
        return self._wide(self.table.subgradient(scores.ravel()))

    def plane(self, scores: NDArray) -> Plane:
        """The plane of the most violated labelling: its slope, its offset, and R(s)."""
        slope, offset, value = self.table.plane(scores.ravel())
        return self._wide(slope), offset, value

    def slope_bound(self, scores: NDArray) -> float:
        """A bound on the sum of the absolute slopes at s."""
        return float(self.table.slope_bound(scores.ravel()))

    def slopes_near(self, scores: NDArray, near: NDArray) -> NDArray[np.float64]:
        """Bounds on the absolute slopes at any scores within ``near`` of these."""
        scores, near = scores.ravel(), np.broadcast_to(near, scores.shape).ravel()
        if hasattr(self.table, "slopes_near"):
            return self._wide(self.table.slopes_near(scores, near))
        below, above = self.table.subgradient(scores - near), self.table.subgradient(scores + near)
        return self._wide(np.maximum(np.abs(below), np.abs(above)))

    def _wide(self, values: NDArray) -> NDArray[np.float64]:
        return values.reshape(-1, self.outputs)


class _ClosedMicroRisk(MicroRisk):
    """With the conjugate in closed form that its table has."""

    def conjugate(self, theta: NDArray, *, feasible: bool = False) -> float:
        """R*(-theta): infinite outside the domain (beyond rounding); ``feasible`` says that theta was projected."""
        return float(self.table.conjugate(theta.ravel(), feasible=feasible))

    def project(self, theta: NDArray) -> NDArray[np.float64]:
        """A dual point in the domain of the conjugate, near theta."""
        return self._wide(self.table.project(theta.ravel()))


def micro(table: Any, outputs: int) -> MicroRisk:
    """The risk of n k scores, example by example, as one of (n, k) scores."""
    return (_ClosedMicroRisk if hasattr(table, "conjugate") else MicroRisk)(table, outputs)
