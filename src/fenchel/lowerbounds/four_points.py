r"""Four examples in one dimension: Zhang, Saha and Vishwanathan (2010), Theorem 2 with Lemmas 3 and 4.

.. math:: J(w) = \tfrac1{32}w^2 + \tfrac12[1 - \tfrac w2]_+ + \tfrac12[1 - w]_+, \qquad w^* = 2,\ J^* = \tfrac18

The hinge loss of the examples -1, -1/2 (negative) and 1/2, 1 (positive) with :math:`\lambda = 1/16`; rows are short,
and there is no choice of subgradients.  From :math:`w_0 = 0` the line search bundle method gives, with
:math:`w = w_{2k-1}` and :math:`\alpha = \alpha_{2k-1,1}`, the weight of the first plane,

.. math::
    w_{2k} = 2 - \frac{8\alpha}{w}, \qquad w_{2k+1} = 2 + \frac{8\alpha(w - 4\alpha)}{w(w + 4\alpha)}, \qquad
    \alpha_{2k+1,1} = \frac{2(w - 4\alpha)}{w^2}\cdot\frac{w^2 + 16\alpha^2}{(w + 4\alpha)^2}\,\alpha

(the first factor is missing in eq. 12).  Hence :math:`k\,(J(w_k) - J^*) \to 1/8`, :math:`k\,|2 - w_k| \to 1` and
:math:`k\,\alpha_{2k-1,1} \to 1/8`: half of what is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np

from fenchel.arrays import Floats
from fenchel.designs import as_design
from fenchel.lowerbounds.construction import Construction, inverse
from fenchel.problem import Problem
from fenchel.risks import MeanRisk


def recursion(one: Any) -> Iterator[tuple[Any, Any]]:
    """w_k for k = 1, 2, ... with the weight of the first plane (None for even k), in the arithmetic of ``one``."""
    w, alpha = 12 * one, one
    while True:
        yield w, alpha
        # (11)
        yield 2 - 8 * alpha / w, None
        following = 2 + 8 * alpha * (w - 4 * alpha) / (w * (w + 4 * alpha))
        # (12), corrected
        shrinking = 2 * (w - 4 * alpha) / w**2 * (w**2 + 16 * alpha**2) / (w + 4 * alpha) ** 2
        w, alpha = following, shrinking * alpha


class FourPoints(Construction):
    """One problem for all accuracies: a strong lower bound."""

    name: ClassVar[str] = "four points"
    reference: ClassVar[str] = "003, Theorem 2"
    inner: ClassVar[str] = "line_search"
    #: k (J(w_k) - J*) tends to it
    limit: ClassVar[float] = 0.125

    @classmethod
    def for_accuracy(cls, epsilon: float) -> Self:
        inverse(epsilon)
        return cls()

    @cached_property
    def problem(self) -> Problem:
        X = np.array([[-1.0], [-0.5], [0.5], [1.0]])
        return Problem(as_design(X), MeanRisk("hinge", [-1.0, -1.0, 1.0, 1.0]), 1.0 / 16.0)

    @property
    def start(self) -> Floats:
        return np.zeros(1)

    @property
    def optimum(self) -> float:
        return 0.125

    @property
    def last(self) -> int:
        # as far as the formulas are worth computing
        return 1_000_000

    def iterate(self, k: int) -> Floats:
        w, _ = next(islice(recursion(1.0), k - 1, None))
        return np.array([w])

    def gap(self, k: int) -> float:
        # from w - 2, so that no digits cancel
        away = float(self.iterate(k)[0]) - 2.0
        return (away * away + 4.0 * away) / 32.0 + max(0.0, -away) / 4.0
