r"""One positive and n - 1 negatives: the F1 score and the precision/recall break-even point.

The F1 score: Zhang, Saha and Vishwanathan (2010), Theorem 6.

One positive :math:`x_n = \tfrac{\sqrt3n}2 e_1 + \tfrac n2 e_{n+1}` and n - 1 negatives :math:`x_i = -\tfrac
n{2\sqrt3}e_1 - \tfrac n2 e_{i+1}`, with :math:`\lambda = 1` and :math:`n = \lceil1/\varepsilon\rceil + 1`.  From
:math:`w_0 = e_1/\sqrt3` the adversary calls one negative positive that it has not called so yet:
:math:`w_k = (1/\sqrt3, 1/k, \ldots, 1/k, 0, \ldots)` for k < n,

.. math:: J(w_k) = \tfrac16 + \tfrac1{2k}, \qquad J^* = \frac{n + 8}{6(n + 11)}, \qquad
          J(w_k) - J^* = \frac1{2k} + \frac1{2(n + 11)}

(:math:`w_0` itself is better than every :math:`w_k`.)

The precision/recall break-even point: Zhang, Saha and Vishwanathan (2012), Theorem 4.

With :math:`c = \sqrt2/4` one positive :math:`x_1 = cn e_2` and n - 1 negatives :math:`x_i = -cn e_3 - cn e_{i+2}`,
:math:`\lambda = 1` and :math:`n = \lceil1/\varepsilon\rceil + 1`.  From :math:`w_0 = e_1 + 2ce_2 + 2ce_3` the adversary
swaps the positive with a negative that it has not swapped yet: :math:`w_k = 2ce_2 + 2ce_3 + \tfrac{2c}k\sum_{i=4}^{k+3}
e_i` for k < n,

.. math:: J(w_k) = \tfrac14(2 + \tfrac1k), \qquad J^* = \frac{n - 1}{2n - 1}, \qquad
          J(w_k) - J^* = \frac1{4k} + \frac1{4n - 2}

The papers' risks have twice the score term of ours: rows are twice as long here.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.lowerbounds.construction import TIE, SizedConstruction, first_tied, inverse
from fenchel.problem import Problem
from fenchel.risks import F1, BreakEven, Risk
from fenchel.risks.base import CuttingPlane

_C = math.sqrt(2.0) / 4.0


def _attained(risk: Risk, scores: Array, slope: Floats, delta: float) -> CuttingPlane | None:
    """The plane with this slope and offset if it attains the risk, up to rounding."""
    worst, height = risk.value(scores), delta + float(slope @ scores)
    return None if height < worst - TIE * (1.0 + abs(worst)) else (slope, delta, worst)


class _OnePositive(SizedConstruction):
    """One positive and n - 1 negatives, n = ceil(1/epsilon) + 1."""

    @classmethod
    def for_accuracy(cls, epsilon: float) -> Self:
        return cls(math.ceil(inverse(epsilon)) + 1)

    @property
    def last(self) -> int:
        return self.n - 1


class OneFalsePositive(F1):
    """F1; if a single false positive attains the maximum, the first such example is chosen."""

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The adversarial choice of the theorem."""
        slope = np.zeros(self.examples)
        slope[self.negatives[first_tied(scores[self.negatives])]] = 1.0 / self.examples
        delta = float(self.delta(np.array(0), np.array(1)))
        return _attained(self, scores, slope, delta) or super().cutting_plane(scores)


class F1Score(_OnePositive):
    """One positive and n - 1 negatives in n + 1 dimensions."""

    name: ClassVar[str] = "F1"
    reference: ClassVar[str] = "003, Theorem 6"

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

    def iterate(self, k: int) -> Floats:
        weights = self.start
        weights[1 : k + 1] = 1.0 / k
        return weights

    def gap(self, k: int) -> float:
        return 1.0 / (2.0 * k) + 1.0 / (2.0 * (self.n + 11.0))


class OneSwap(BreakEven):
    """Break-even with one positive; if a swap attains the maximum, the first such example is chosen."""

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The adversarial choice of the theorem."""
        slope = np.zeros(self.examples)
        slope[self.positives] = -1.0 / self.examples
        slope[self.negatives[first_tied(scores[self.negatives])]] = 1.0 / self.examples
        return _attained(self, scores, slope, 1.0) or super().cutting_plane(scores)


class BreakEvenPoint(_OnePositive):
    """One positive and n - 1 negatives in n + 2 dimensions."""

    name: ClassVar[str] = "PRBEP"
    reference: ClassVar[str] = "001, Theorem 4"

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

    def iterate(self, k: int) -> Floats:
        weights = self.start
        weights[0] = 0.0
        weights[3 : k + 3] = 2.0 * _C / k
        return weights

    def gap(self, k: int) -> float:
        return 1.0 / (4.0 * k) + 1.0 / (4.0 * self.n - 2.0)
