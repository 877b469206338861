r"""The F1 score: Zhang, Saha and Vishwanathan (2010), Theorem 6.

One positive :math:`x_n = \tfrac{\sqrt3n}2 e_1 + \tfrac n2 e_{n+1}` and n - 1 negatives :math:`x_i = -\tfrac
n{2\sqrt3}e_1 - \tfrac n2 e_{i+1}`, with :math:`\lambda = 1` and :math:`n = \lceil1/\varepsilon\rceil + 1`.  From
:math:`w_0 = e_1/\sqrt3` the adversary calls one negative positive that it has not called so yet:
:math:`w_k = (1/\sqrt3, 1/k, \ldots, 1/k, 0, \ldots)` for k < n,

.. math:: J(w_k) = \tfrac16 + \tfrac1{2k}, \qquad J^* = \frac{n + 8}{6(n + 11)}, \qquad
          J(w_k) - J^* = \frac1{2k} + \frac1{2(n + 11)}

(:math:`w_0` itself is better than every :math:`w_k`.)  The paper's risk has twice the score term of ours: rows are
twice as long here.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.lowerbounds.construction import TIE, SizedConstruction, first_tied, inverse
from fenchel.problem import Problem
from fenchel.risks import F1
from fenchel.risks.base import CuttingPlane


class OneFalsePositive(F1):
    """F1; if a single false positive attains the maximum, the first such example is chosen."""

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The adversarial choice of the theorem."""
        worst = self.value(scores)
        j = self._negatives[first_tied(scores[self._negatives])]
        delta = float(self.delta(np.array(0), np.array(1)))
        height = delta + float(scores[j]) / self.examples
        if height < worst - TIE * (1.0 + abs(worst)):
            return super().cutting_plane(scores)
        slope = np.zeros(self.examples)
        slope[j] = 1.0 / self.examples
        return slope, delta, worst


class F1Score(SizedConstruction):
    """One positive and n - 1 negatives in n + 1 dimensions."""

    name: ClassVar[str] = "F1"
    reference: ClassVar[str] = "003, Theorem 6"

    @classmethod
    def for_accuracy(cls, epsilon: float) -> Self:
        return cls(math.ceil(inverse(epsilon)) + 1)

    def _problem(self) -> Problem:
        n = self.n
        X = np.column_stack([np.full(n, -n / (2.0 * math.sqrt(3.0))), -n / 2.0 * np.eye(n)])
        X[-1] *= -1.0
        X[-1, 0] = math.sqrt(3.0) * n / 2.0
        labels = np.append(-np.ones(n - 1), 1.0)
        return Problem(as_design(2.0 * X), OneFalsePositive(labels), 1.0)

    @property
    def start(self) -> Floats:
        return np.append(1.0 / math.sqrt(3.0), np.zeros(self.n))

    @property
    def optimum(self) -> float:
        return (self.n + 8.0) / (6.0 * (self.n + 11.0))

    @property
    def last(self) -> int:
        return self.n - 1

    def iterate(self, k: int) -> Floats:
        weights = self.start
        weights[1 : k + 1] = 1.0 / k
        return weights

    def gap(self, k: int) -> float:
        return 1.0 / (2.0 * k) + 1.0 / (2.0 * (self.n + 11.0))
