r"""Hinges that are all at their kinks at the start: the mean hinge loss and the area under the ROC curve.

The mean hinge loss of long rows: Zhang, Saha and Vishwanathan (2010), Theorem 5.

:math:`y_i = (-1)^i` and :math:`x_i = y_i(n e_{i+1} + \sqrt n e_1)` with :math:`\lambda = 1`, so that

.. math:: J(w) = \tfrac12\|w\|^2 + \tfrac1n\sum_i [1 - \sqrt n w_1 - n w_{i+1}]_+, \qquad
          w^* = \tfrac12(n^{-1/2}, n^{-1}, \ldots, n^{-1}),\ J^* = \frac1{4n}

From :math:`w_0 = (n^{-1/2}, 0, \ldots)`, where every example is at its kink, the adversary gives the slope of one
example that was not seen yet: :math:`w_k = (n^{-1/2}, 1/k, \ldots, 1/k, 0, \ldots)` and :math:`J(w_k) - J^* =
\tfrac1{2k} + \tfrac1{4n}` for k <= n.  :math:`n = \lfloor1/\varepsilon\rfloor` (with the ceiling that is printed the
conclusion fails for some :math:`\varepsilon`), and :math:`w_0` itself is better than all that follow.

The area under the ROC curve: Zhang, Saha and Vishwanathan (2012), Theorem 5.

One positive :math:`x_1 = \sqrt n e_2` and n negatives :math:`x_i = -n e_{i+1}`, :math:`\lambda = 1` and :math:`n =
\lfloor1/\varepsilon\rfloor`, so that

.. math:: J(w) = \tfrac12\|w\|^2 + \tfrac1n\sum_i [1 - \langle w, \sqrt n e_2 + n e_{i+1}\rangle]_+, \qquad
          J^* = \frac1{4n}

From :math:`w_0 = e_1 + e_2/\sqrt n`, where every pair is at its kink, the adversary gives one pair that was not seen
yet: :math:`w_k = e_2/\sqrt n + \tfrac1k\sum_{i=3}^{k+2}e_i` for k <= n, and :math:`J(w_k) - J^* = \tfrac1{2k} +
\tfrac1{4n}`.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.lowerbounds.construction import TIE, SizedConstruction, inverse
from fenchel.problem import Problem
from fenchel.risks import MeanRisk, RocAUC
from fenchel.risks.base import CuttingPlane


class _EveryKink(SizedConstruction):
    """The mean of n hinges that are all at their kinks at the start; and again at the minimum."""

    @classmethod
    def for_accuracy(cls, epsilon: float) -> Self:
        return cls(math.floor(inverse(epsilon)))

    @property
    def optimum(self) -> float:
        return 1.0 / (4.0 * self.n)

    @property
    def last(self) -> int:
        return self.n

    def gap(self, k: int) -> float:
        return 1.0 / (2.0 * k) + 1.0 / (4.0 * self.n)


def _wrong_or_first(short: Array, scores: Array) -> NDArray[np.bool_]:
    """The hinges that are active: all below their margin, and the first one at its kink, up to rounding."""
    near = TIE * (1.0 + float(np.max(np.abs(scores))))
    counted = short > near
    counted[np.flatnonzero(np.abs(short) <= near)[:1]] = True
    return counted


class OneAtItsKink(MeanRisk):
    """The mean hinge loss; only the first example at its kink is active."""

    def __init__(self, labels: Array) -> None:
        super().__init__("hinge", labels)

    def subgradient(self, scores: Array) -> Floats:
        """The adversarial choice of the theorem."""
        counted = _wrong_or_first(1.0 - self.labels * scores, scores)
        return np.where(counted, -self.labels * self.shares, 0.0)


class HingeLoss(_EveryKink):
    """n examples in n + 1 dimensions."""

    name: ClassVar[str] = "hinge"
    reference: ClassVar[str] = "003, Theorem 5"

    def _problem(self) -> Problem:
        n = self.n
        labels = np.where(np.arange(1, n + 1) % 2 == 0, 1.0, -1.0)
        X = labels[:, None] * np.column_stack([np.full(n, math.sqrt(n)), n * np.eye(n)])
        return Problem(as_design(X), OneAtItsKink(labels), 1.0)

    @property
    def start(self) -> Floats:
        return np.append(1.0 / math.sqrt(self.n), np.zeros(self.n))

    def iterate(self, k: int) -> Floats:
        weights = self.start
        weights[1 : k + 1] = 1.0 / k
        return weights


class OnePair(RocAUC):
    """ROC area with one positive; of the pairs at their kinks the first one counts as wrong, the others as right."""

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The adversary's."""
        (i,) = self.positives
        short = 1.0 - scores[i] + scores[self.negatives]
        counted = _wrong_or_first(short, scores)
        slope = np.zeros(self.examples)
        slope[self.negatives[counted]] = 1.0 / len(short)
        slope[i] = -float(np.sum(slope))
        return slope, -float(slope[i]), self.value(scores)

    def subgradient(self, scores: Array) -> Floats:
        """The adversary's."""
        return self.cutting_plane(scores)[0]


class RocCurve(_EveryKink):
    """One positive and n negatives in n + 2 dimensions."""

    name: ClassVar[str] = "ROC area"
    reference: ClassVar[str] = "001, Theorem 5"

    def _problem(self) -> Problem:
        n = self.n
        X = np.zeros((n + 1, n + 2))
        X[0, 1] = math.sqrt(n)
        X[1:, 2:] = -n * np.eye(n)
        return Problem(as_design(X), OnePair(np.append(1.0, -np.ones(n))), 1.0)

    @property
    def start(self) -> Floats:
        return np.concatenate([[1.0, 1.0 / math.sqrt(self.n)], np.zeros(self.n)])

    def iterate(self, k: int) -> Floats:
        weights = self.start
        weights[0] = 0.0
        weights[2 : k + 2] = 1.0 / k
        return weights
