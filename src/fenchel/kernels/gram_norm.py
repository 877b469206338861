r"""Kernel ridge: half the squared RKHS norm, :math:`\Omega(a) = \tfrac12 a^T K a = \tfrac12\|w\|^2`.

Weights :math:`w = \Phi^T a` and the dual vector v are represented by their coefficients (``kernels.gram``).  For
:math:`v` with coefficients :math:`\theta/\lambda` the conjugate is :math:`\tfrac{1}{2\lambda^2}\theta^T K\theta`, and
:math:`\nabla\Omega^*` keeps the coefficients; Zhang (2002), eq. (15).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.kernels.gram import EnclosedGram, KernelDesign
from fenchel.numerics.balls import Ball, as_ball
from fenchel.numerics.rounding import gamma, tree_depth, tree_sum
from fenchel.regularizers.base import Regularizer

#: relative errors of theta / lam: that of each quotient, and those of lam, which are common to all of them
_QUOTIENT_ROUNDINGS, _LAM_ROUNDINGS = 1.0, 4.0


class EnclosedGramNorm(NamedTuple):
    """a^T K a / 2 in ball arithmetic, of a K that is taken to be positive semi-definite."""

    gram: EnclosedGram

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        exact = as_ball(weights)
        return exact, self.conjugate(exact)

    def conjugate(self, v: Ball) -> Ball:
        product = self.gram.scores(v).map(np.transpose)
        return (v * product).sum() * 0.5


@dataclass(frozen=True, eq=False)
class GramNorm(Regularizer):
    r"""Half the squared RKHS norm of a kernel model, :math:`\tfrac12 a^T K a`.

    Parameters
    ----------
    gram : KernelDesign
        The Gram matrix K, the same object as the design of the problem.

    See Also
    --------
    GramDesign : The design that belongs to it.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.kernels import GramDesign, GramNorm
    >>> float(GramNorm(GramDesign(2.0 * np.eye(2))).value(np.array([1.0, 1.0])))
    2.0
    """

    gram: KernelDesign
    name: ClassVar[str] = "gram_norm"

    def kernel(self) -> KernelDesign:
        return self.gram

    def value(self, weights: Array) -> float:
        weights = np.asarray(weights, dtype=np.float64)
        return 0.5 * tree_sum(weights * self.gram.scores(weights).T)

    def gradient(self, weights: Array) -> Floats:
        """The gradient in w, in coefficients; the gradient in the coefficients is K times this."""
        return np.asarray(weights, dtype=np.float64)

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        return scale**2 * self.value(v)

    def conjugate_derivative(self, v: Array, scale: float) -> float:
        return 2.0 * scale * self.value(v)

    def grad_conjugate(self, v: Array) -> Floats:
        return np.asarray(v, dtype=np.float64)

    def level_bound(self, radius: float, features: int) -> float:
        """Half the squared norm, in the feature space."""
        return 0.5 * radius**2

    def radius(self, level: float) -> float:
        """Infinite: Omega does not bound the coefficients."""
        return math.inf

    def score_bounds(self, level: float, design: Any) -> Floats:
        """By the Cauchy-Schwarz inequality in the feature space."""
        return math.sqrt(2.0 * level) * np.sqrt(self.gram.diagonal)

    def norm_bound(self, v: Array) -> float:
        """The norm in the feature space, by the triangle inequality."""
        sizes = self._sizes(v)
        return math.sqrt(float(sizes @ sizes))

    def _sizes(self, coefficients: Array) -> Floats:
        """sum_i |a_i| sqrt(K_ii) of each output."""
        return np.abs(np.atleast_2d(coefficients)) @ np.sqrt(self.gram.diagonal)

    def value_error(self, weights: Array, value: float) -> float:
        return self._error(weights, 0.0)

    def _error(self, coefficients: Array, moved: float) -> float:
        r"""A bound on the error of a^T K a / 2, also if the coefficients have relative errors of ``moved`` roundings.

        The sum of all :math:`|a_i||K_{ij}||a_j|` is at most :math:`\|a\|\sum_i|a_i|r_i` with the norms r of the rows of
        K, and at most :math:`(\sum_i|a_i|\sqrt{K_{ii}})^2`, to which the errors of the entries are relative.
        """
        sizes, rows = self._sizes(coefficients), np.abs(np.atleast_2d(coefficients))
        norms = np.sqrt(np.sum(rows**2, axis=1)) * (rows @ self.gram.row_magnitudes)
        # a product with a_i, and a sum
        roundings = self.gram.score_roundings + 1 + tree_depth(rows.size)
        squares = sizes**2
        rounded = gamma(roundings + 2.0 * moved) * float(np.sum(np.minimum(squares, norms)))
        return (1.0 + 1e-6) * 0.5 * (rounded + self.gram.entry_error * float(np.sum(squares)))

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        """The coefficients v = theta / lam have relative errors; K is taken to be positive semi-definite."""
        own = self._error(v, _QUOTIENT_ROUNDINGS) + gamma(2.0 * _LAM_ROUNDINGS) * abs(conjugate)
        size = math.sqrt(2.0 * max(0.0, conjugate + own))
        return own + (1.0 + 1e-6) * norm * (size + 0.5 * norm)

    def enclosure(self, features: int) -> EnclosedGramNorm | None:
        """None unless the whole matrix is stored and symmetric."""
        stored = self.gram.in_memory()
        return None if stored is None or not stored.symmetric else EnclosedGramNorm(stored.enclosure())

    @property
    def strong_convexity(self) -> float:
        """0 in the coefficients, since K may be singular."""
        return 0.0
