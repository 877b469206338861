r"""The mean hinge loss of long rows: Zhang, Saha and Vishwanathan (2010), Theorem 5.

:math:`y_i = (-1)^i` and :math:`x_i = y_i(n e_{i+1} + \sqrt n e_1)` with :math:`\lambda = 1`, so that

.. math:: J(w) = \tfrac12\|w\|^2 + \tfrac1n\sum_i [1 - \sqrt n w_1 - n w_{i+1}]_+, \qquad
          w^* = \tfrac12(n^{-1/2}, n^{-1}, \ldots, n^{-1}),\ J^* = \frac1{4n}

From :math:`w_0 = (n^{-1/2}, 0, \ldots)`, where every example is at its kink, the adversary gives the slope of one
example that was not seen yet: :math:`w_k = (n^{-1/2}, 1/k, \ldots, 1/k, 0, \ldots)` and :math:`J(w_k) - J^* =
\tfrac1{2k} + \tfrac1{4n}` for k <= n.  :math:`n = \lfloor1/\varepsilon\rfloor` (with the ceiling that is printed the
conclusion fails for some :math:`\varepsilon`), and :math:`w_0` itself is better than all that follow.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.lowerbounds.construction import EveryKink, wrong_or_first
from fenchel.problem import Problem
from fenchel.risks import MeanRisk


class OneAtItsKink(MeanRisk):
    """The mean hinge loss; only the first example at its kink is active."""

    def __init__(self, labels: Array) -> None:
        super().__init__("hinge", labels)

    def subgradient(self, scores: Array) -> Floats:
        """The adversarial choice of the theorem."""
        counted = wrong_or_first(1.0 - self.labels * scores, scores)
        return np.where(counted, -self.labels * self.shares, 0.0)


class HingeLoss(EveryKink):
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
