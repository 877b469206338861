r"""The linear system of a Newton step of ``solvers.barrier``.

.. math:: H = \operatorname{diag}(e') + X B X^T/\lambda + \ell\mathbf 1\mathbf 1^T, \qquad
    B = \operatorname{diag}(h) + k\,gg^T = \Omega^{*\prime\prime}

Where the sum of the solution is given, as with a free intercept, the last term changes nothing but the multiplier of
that equality; it keeps H from being nearly singular.  Two ways:

- few constraints: H is formed and factorized;
- many more constraints than features, each with its own :math:`e' > 0`: with :math:`B = FF^T`,
  :math:`F = \operatorname{diag}(\sqrt h)(I - c\,uu^T)`, :math:`u = g/\sqrt h` and :math:`2c - c^2|u|^2 = -k`, and
  :math:`Z = [XF/\sqrt\lambda, \sqrt\ell\mathbf 1]`, it is :math:`H^{-1} = E - EZ(I + Z^TEZ)^{-1}Z^TE` with
  :math:`E = \operatorname{diag}(1/e')`, which takes a matrix of the features only.

Solutions are corrected by their residuals, which are products with X: the ridge of a factor, and what the second way
loses to cancellation, do not stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.numerics.linear_algebra import factorized
from fenchel.regularizers.base import DiagonalPlusRankOne

Vector = NDArray[np.float64]
#: corrections of a solution
_CORRECTIONS = 2
#: constraints for each feature from which on the second way is taken
TALL = 2.0


class System:
    """H, by products and inverse."""

    def __init__(
        self, rows: Any, bend: DiagonalPlusRankOne, lam: float, own: Vector, *, intercept: bool, separate: bool
    ) -> None:
        self.rows, self.own = rows, own
        self.inner, self.outer, self.product = bend.diagonal / lam, bend.outer / lam, rows @ bend.vector
        self.level, self.sound = 0.0, True
        self._inverse: Callable[[Vector], Vector]
        if separate and len(own) > TALL * rows.shape[1]:
            self._by_features(bend, lam, intercept)
        else:
            self._by_constraints(intercept)

    def solve(self, right: Vector) -> Vector:
        """H^-1 right."""
        found = self._inverse(right)
        for _ in range(_CORRECTIONS):
            found = found + self._inverse(right - self._times(found))
        return found

    def _times(self, vector: Vector) -> Vector:
        product = self.rows @ (self.inner * (self.rows.T @ vector)) + self.own * vector
        return product + self.outer * float(self.product @ vector) * self.product + self.level * float(np.sum(vector))

    def _by_constraints(self, intercept: bool) -> None:
        rows, inner = self.rows, self.inner
        matrix = (rows @ sp.diags_array(inner) @ rows.T).toarray() if sp.issparse(rows) else (rows * inner) @ rows.T
        if self.outer != 0.0:
            matrix += self.outer * np.outer(self.product, self.product)
        self.level = float(np.trace(matrix)) / len(self.own) if intercept else 0.0
        matrix += self.level
        matrix[np.diag_indices(len(self.own))] += self.own
        self.sound = bool(np.all(np.isfinite(matrix)))
        if self.sound:
            self._inverse = factorized(matrix)

    def _by_features(self, bend: DiagonalPlusRankOne, lam: float, intercept: bool) -> None:
        root = np.sqrt(bend.diagonal)
        u = np.divide(bend.vector, root, out=np.zeros_like(root), where=root > 0.0)
        rows = self.rows.toarray() if sp.issparse(self.rows) else self.rows
        factor = rows * (root / math.sqrt(lam))
        square = float(u @ u)
        if bend.outer != 0.0 and square > 0.0:
            # 1 + k |u|^2 >= 0 since B is positive
            c = (1.0 - math.sqrt(max(0.0, 1.0 + bend.outer * square))) / square
            factor -= c * np.outer(factor @ u, u)
        if intercept:
            self.level = float(np.vdot(factor, factor)) / len(self.own)
            factor = np.column_stack([factor, np.full(len(self.own), math.sqrt(self.level))])
        over = factor / self.own[:, None]
        matrix = factor.T @ over
        matrix[np.diag_indices(len(matrix))] += 1.0
        self.sound = bool(np.all(np.isfinite(matrix)))
        if self.sound:
            small = factorized(matrix)
            self._inverse = lambda right: right / self.own - over @ small(over.T @ right)
