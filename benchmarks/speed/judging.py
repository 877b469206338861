"""The judge of everyone's weights: plain NumPy, and a certified lower bound on the optimum (references.py).

The relative suboptimality of weights w is (P(w) - D) / D with P(w) = lam/2 |w|² + mean loss, lam = 1/(C n), and D the
dual value of a certificate.  So it is never less than the true one, and more by the reference's own relative gap at
most, which is kept with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.speed.tasks import LOSSES, Task


@dataclass(frozen=True)
class Reference:
    """A certified optimum: ``dual`` is a lower bound, ``primal`` is attained."""

    primal: float
    dual: float
    method: str
    seconds: float

    @property
    def relative_gap(self) -> float:
        return (self.primal - self.dual) / abs(self.primal)


class Judge:
    """Objective and relative suboptimality of anyone's weights on one task."""

    def __init__(self, task: Task, reference: Reference) -> None:
        self.task, self.reference = task, reference

    def objective(self, weights: np.ndarray, intercept: float = 0.0) -> float:
        """P(w, b)."""
        losses = LOSSES[self.task.loss].values(self.task.matrix @ weights + intercept, self.task.labels)
        return 0.5 * self.task.lam * float(weights @ weights) + float(np.mean(losses))

    def suboptimality(self, weights: np.ndarray, intercept: float = 0.0) -> float:
        """How far above the proved lower bound, relative to it."""
        return (self.objective(weights, intercept) - self.reference.dual) / abs(self.reference.dual)
