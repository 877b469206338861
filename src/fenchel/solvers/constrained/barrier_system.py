r"""The linear system of a Newton step of ``constrained.barrier``.

.. math:: H = \operatorname{diag}(e') + X B X^T/\lambda + \ell\mathbf 1\mathbf 1^T, \qquad
    B = \operatorname{diag}(h) + k\,gg^T = \Omega^{*\prime\prime}

With a free intercept the sum of the solution is given, so the last term changes only the multiplier of this equality;
it keeps H well conditioned.  H is inverted in one of two ways:

- few constraints: H is formed and factorized;
- many more constraints than features, and all :math:`e' > 0`: with :math:`B = FF^T`,
  :math:`F = \operatorname{diag}(\sqrt h)(I - c\,uu^T)`, :math:`u = g/\sqrt h` and :math:`2c - c^2|u|^2 = -k`, and
  :math:`Z = [XF/\sqrt\lambda, \sqrt\ell\mathbf 1]`, it is :math:`H^{-1} = E - EZ(I + Z^TEZ)^{-1}Z^TE` with
  :math:`E = \operatorname{diag}(1/e')` (Sherman-Morrison-Woodbury formula), whose matrix has the order of the features.

Iterative refinement, with residuals from products with X, removes the effect of the ridge of the Cholesky factor and of
cancellation in the second way.

=====================  ==========================================================
symbol                 here
=====================  ==========================================================
:math:`e'`             ``barrier_hess``
h, k, g                ``hess.diagonal``, ``hess.outer``, ``hess.vector``
:math:`\ell`           ``level``
=====================  ==========================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Floats
from fenchel.numerics.linear_algebra import cholesky_solver
from fenchel.regularizers.base import DiagonalPlusRankOne

#: steps of iterative refinement
_REFINEMENTS = 2
#: constraints per feature above which the second way is used
TALL = 2.0


class System:
    """H: products with it, and its inverse."""

    def __init__(
        self,
        rows: Any,
        hess: DiagonalPlusRankOne,
        lam: float,
        barrier_hess: Floats,
        *,
        intercept: bool,
        all_positive: bool,
    ) -> None:
        self.rows, self.barrier_hess = rows, barrier_hess
        self.inner, self.outer, self.product = hess.diagonal / lam, hess.outer / lam, rows @ hess.vector
        self.level, self.finite = 0.0, True
        self._inverse: Callable[[Floats], Floats]
        if all_positive and len(barrier_hess) > TALL * rows.shape[1]:
            self._by_features(hess, lam, intercept)
        else:
            self._by_constraints(intercept)

    def solve(self, right: Floats) -> Floats:
        """Return H^-1 right."""
        found = self._inverse(right)
        for _ in range(_REFINEMENTS):
            found = found + self._inverse(right - self._times(found))
        return found

    def _times(self, vector: Floats) -> Floats:
        product = self.rows @ (self.inner * (self.rows.T @ vector)) + self.barrier_hess * vector
        return product + self.outer * float(self.product @ vector) * self.product + self.level * float(np.sum(vector))

    def _by_constraints(self, intercept: bool) -> None:
        rows, inner = self.rows, self.inner
        matrix = (rows @ sp.diags_array(inner) @ rows.T).toarray() if sp.issparse(rows) else (rows * inner) @ rows.T
        if self.outer != 0.0:
            matrix += self.outer * np.outer(self.product, self.product)
        self.level = float(np.trace(matrix)) / len(self.barrier_hess) if intercept else 0.0
        matrix += self.level
        matrix[np.diag_indices(len(self.barrier_hess))] += self.barrier_hess
        self.finite = bool(np.all(np.isfinite(matrix)))
        if self.finite:
            self._inverse = cholesky_solver(matrix)

    def _by_features(self, hess: DiagonalPlusRankOne, lam: float, intercept: bool) -> None:
        root = np.sqrt(hess.diagonal)
        u = np.divide(hess.vector, root, out=np.zeros_like(root), where=root > 0.0)
        rows = self.rows.toarray() if sp.issparse(self.rows) else self.rows
        factor = rows * (root / math.sqrt(lam))
        square = float(u @ u)
        if hess.outer != 0.0 and square > 0.0:
            # 1 + k |u|^2 >= 0 as B is positive semidefinite
            c = (1.0 - math.sqrt(max(0.0, 1.0 + hess.outer * square))) / square
            factor -= c * np.outer(factor @ u, u)
        if intercept:
            self.level = float(np.vdot(factor, factor)) / len(self.barrier_hess)
            factor = np.column_stack([factor, np.full(len(self.barrier_hess), math.sqrt(self.level))])
        over = factor / self.barrier_hess[:, None]
        matrix = factor.T @ over
        matrix[np.diag_indices(len(matrix))] += 1.0
        self.finite = bool(np.all(np.isfinite(matrix)))
        if self.finite:
            small = cholesky_solver(matrix)
            self._inverse = lambda right: right / self.barrier_hess - over @ small(over.T @ right)
