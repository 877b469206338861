r"""The area under the ROC curve: Zhang, Saha and Vishwanathan (2012), Theorem 5.

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
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.lowerbounds.construction import EveryKink, wrong_or_first
from fenchel.problem import Problem
from fenchel.risks import RocAUC
from fenchel.risks.base import CuttingPlane


class OnePair(RocAUC):
    """ROC area with one positive; of the pairs at their kinks the first one counts as wrong, the others as right."""

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The adversary's."""
        (i,) = self.positives
        short = 1.0 - scores[i] + scores[self.negatives]
        counted = wrong_or_first(short, scores)
        slope = np.zeros(self.examples)
        slope[self.negatives[counted]] = 1.0 / len(short)
        slope[i] = -float(np.sum(slope))
        return slope, -float(slope[i]), self.value(scores)

    def subgradient(self, scores: Array) -> Floats:
        """The adversary's."""
        return self.cutting_plane(scores)[0]


class RocCurve(EveryKink):
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
