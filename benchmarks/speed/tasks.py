"""What is minimized: |w|²/2 + C Σ loss, for the losses of the table; the same written as a Fenchel problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

#: the tube of the epsilon-insensitive loss; targets have standard deviation one
EPSILON = 0.1


@dataclass(frozen=True)
class Loss:
    """A loss in plain NumPy, so that the judge depends on no solver."""

    title: str
    #: each example's loss from scores and labels
    values: Callable[[np.ndarray, np.ndarray], np.ndarray]
    #: each example's derivative by the score, where it exists everywhere
    slopes: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    #: lines (slope, offset) for all examples whose maximum with 0 is the loss, where it is piecewise linear
    lines: Callable[[np.ndarray], list[tuple[np.ndarray, np.ndarray]]] | None = None
    regression: bool = False


def _squared_hinge_slopes(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return -2.0 * labels * np.maximum(0.0, 1.0 - labels * scores)


def _logistic_slopes(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    # the logistic function without overflow
    return -0.5 * labels * (1.0 - np.tanh(0.5 * labels * scores))


def _tube(labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    up = np.ones_like(labels)
    return [(up, -labels - EPSILON), (-up, labels - EPSILON)]


#: scale and names are scikit-learn's and LIBLINEAR's
LOSSES: dict[str, Loss] = {
    "hinge": Loss(
        "Hinge",
        lambda scores, labels: np.maximum(0.0, 1.0 - labels * scores),
        lines=lambda labels: [(-labels, np.ones_like(labels))],
    ),
    "squared_hinge": Loss(
        "Squared hinge",
        lambda scores, labels: np.maximum(0.0, 1.0 - labels * scores) ** 2,
        slopes=_squared_hinge_slopes,
    ),
    "logistic": Loss(
        "Logistic",
        lambda scores, labels: np.logaddexp(0.0, -labels * scores),
        slopes=_logistic_slopes,
    ),
    "epsilon_insensitive": Loss(
        "Epsilon-insensitive",
        lambda scores, labels: np.maximum(0.0, np.abs(scores - labels) - EPSILON),
        lines=_tube,
        regression=True,
    ),
}


@dataclass(frozen=True)
class Task:
    """|w|²/2 + C Σ loss, with a free intercept or none."""

    matrix: sp.csr_matrix | np.ndarray
    labels: np.ndarray
    C: float
    intercept: bool = False
    loss: str = "hinge"

    @property
    def lam(self) -> float:
        """The λ of λ/2·|w|² + mean loss."""
        return 1.0 / (self.C * len(self.labels))


def fenchel_problem(task: Task) -> Any:
    """The task as Fenchel's users would write it."""
    from fenchel import Problem
    from fenchel.losses import EpsilonInsensitive
    from fenchel.risks import MeanRisk

    loss = EpsilonInsensitive(epsilon=EPSILON) if task.loss == EpsilonInsensitive.name else task.loss
    return Problem(task.matrix, MeanRisk(loss, task.labels), lam=task.lam, intercept=task.intercept)
