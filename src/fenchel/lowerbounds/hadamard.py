r"""Orthonormal pieces: Saha, Zhang and Vishwanathan, Theorems 6 and 7.

.. math:: J(w) = \max_i\,\langle a_i, w\rangle + \tfrac\lambda2\|w\|^2

with the columns :math:`a_i` of :math:`H_d/\sqrt d`.  (In the matrix that is printed column i + d/2 is minus column i,
and two steps are enough.)  From :math:`w_0 = 0` the adversary gives a piece that was not seen yet, which is as large as
any: :math:`w_t = -\tfrac1{t\lambda}\sum_{i\le t} a_i`,

.. math:: J(w_t) = \frac1{2\lambda t}, \quad J_t(w_t) = -\frac1{2\lambda t}, \quad J^* = -\frac1{2\lambda d}, \quad
          J(w_t) - J^* = \frac1{2\lambda t} + \frac1{2\lambda d} \quad (1 \le t < d)
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import hadamard

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.lowerbounds.construction import Construction, first_tied, inverse
from fenchel.problem import Problem
from fenchel.risks.base import Risk
from fenchel.risks.protocols import ClosedForm


class LargestScore(Risk):
    """R(s) = max s; ties go to the first score."""

    name = "largest_score"
    #: R is not bounded below, so zero is no dual point
    conjugate_at_zero = math.inf
    value_at_zero = 0.0

    def __init__(self, examples: int) -> None:
        self.examples = examples

    def closed_form(self) -> ClosedForm:
        return self

    def value(self, scores: Array) -> float:
        """R(s)."""
        return float(np.max(scores))

    def subgradient(self, scores: Array) -> Floats:
        """The unit vector of the first largest score."""
        slope = np.zeros(self.examples)
        slope[first_tied(scores)] = 1.0
        return slope

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta): zero where -theta is a convex combination."""
        mixture = -np.asarray(theta, dtype=np.float64)
        inside = np.min(mixture) >= -1e-12 and abs(float(np.sum(mixture)) - 1.0) <= 1e-12
        return 0.0 if feasible or inside else math.inf

    def project(self, theta: Array) -> Floats:
        """A theta near this one, such that -theta is a convex combination."""
        mixture = np.maximum(-np.asarray(theta, dtype=np.float64), 0.0)
        total = float(np.sum(mixture))
        return -mixture / total if total > 0.0 else np.full(self.examples, -1.0 / self.examples)

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 1.0

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        return np.ones(self.examples)


class Hadamard(Construction):
    """d orthonormal pieces, d a power of two."""

    name: ClassVar[str] = "Hadamard"
    reference: ClassVar[str] = "000, Theorems 6 and 7"

    def __init__(self, d: int, lam: float = 1.0) -> None:
        if d < 2 or d & (d - 1):
            raise FenchelError(f"d must be a power of two, got {d}")
        self.d, self.lam = d, lam
        self._pieces = hadamard(d) / math.sqrt(d)

    @classmethod
    def for_accuracy(cls, epsilon: float) -> Self:
        return cls(2 ** math.ceil(math.log2(2.0 * inverse(epsilon))))

    @cached_property
    def problem(self) -> Problem:
        return Problem(as_design(self._pieces.T), LargestScore(self.d), self.lam)

    @property
    def start(self) -> Floats:
        return np.zeros(self.d)

    @property
    def optimum(self) -> float:
        return -1.0 / (2.0 * self.lam * self.d)

    @property
    def last(self) -> int:
        return self.d - 1

    def iterate(self, k: int) -> Floats:
        return -np.sum(self._pieces[:, :k], axis=1) / (k * self.lam)

    def gap(self, k: int) -> float:
        return 1.0 / (2.0 * self.lam * k) - self.optimum

    def bound(self, k: int) -> float:
        """J_k(w_k), the lower bound of a bundle method on J*."""
        return -1.0 / (2.0 * self.lam * k)
