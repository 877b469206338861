r"""The precision/recall break-even point: Zhang, Saha and Vishwanathan (2012), Theorem 4.

With :math:`c = \sqrt2/4` one positive :math:`x_1 = cn e_2` and n - 1 negatives :math:`x_i = -cn e_3 - cn e_{i+2}`,
:math:`\lambda = 1` and :math:`n = \lceil1/\varepsilon\rceil + 1`.  From :math:`w_0 = e_1 + 2ce_2 + 2ce_3` the adversary
swaps the positive with a negative that it has not swapped yet: :math:`w_k = 2ce_2 + 2ce_3 + \tfrac{2c}k\sum_{i=4}^{k+3}
e_i` for k < n,

.. math:: J(w_k) = \tfrac14(2 + \tfrac1k), \qquad J^* = \frac{n - 1}{2n - 1}, \qquad
          J(w_k) - J^* = \frac1{4k} + \frac1{4n - 2}

The paper's risk has twice the score term of ours: rows are twice as long here.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.lowerbounds.construction import TIE, SizedConstruction, first_tied, inverse
from fenchel.problem import Problem
from fenchel.risks import BreakEven
from fenchel.risks.base import CuttingPlane

_C = math.sqrt(2.0) / 4.0


class OneSwap(BreakEven):
    """Break-even with one positive; if a swap attains the maximum, the first such example is chosen."""

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The adversarial choice of the theorem."""
        worst = self.value(scores)
        (i,) = self._positives
        j = self._negatives[first_tied(scores[self._negatives])]
        height = 1.0 + float(scores[j] - scores[i]) / self.examples
        if height < worst - TIE * (1.0 + abs(worst)):
            return super().cutting_plane(scores)
        slope = np.zeros(self.examples)
        slope[i], slope[j] = -1.0 / self.examples, 1.0 / self.examples
        return slope, 1.0, worst


class BreakEvenPoint(SizedConstruction):
    """One positive and n - 1 negatives in n + 2 dimensions."""

    name: ClassVar[str] = "PRBEP"
    reference: ClassVar[str] = "001, Theorem 4"

    @classmethod
    def for_accuracy(cls, epsilon: float) -> Self:
        return cls(math.ceil(inverse(epsilon)) + 1)

    def _problem(self) -> Problem:
        n = self.n
        X = np.zeros((n, n + 2))
        X[0, 1] = _C * n
        X[1:, 2] = -_C * n
        X[1:, 3:] = -_C * n * np.eye(n - 1)
        return Problem(as_design(2.0 * X), OneSwap(np.append(1.0, -np.ones(n - 1))), 1.0)

    @property
    def start(self) -> Floats:
        return np.concatenate([[1.0, 2.0 * _C, 2.0 * _C], np.zeros(self.n - 1)])

    @property
    def optimum(self) -> float:
        return (self.n - 1.0) / (2.0 * self.n - 1.0)

    @property
    def last(self) -> int:
        return self.n - 1

    def iterate(self, k: int) -> Floats:
        weights = self.start
        weights[0] = 0.0
        weights[3 : k + 3] = 2.0 * _C / k
        return weights

    def gap(self, k: int) -> float:
        return 1.0 / (4.0 * k) + 1.0 / (4.0 * self.n - 2.0)
