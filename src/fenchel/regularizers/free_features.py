r"""Free features of a regularizer other than ridge: Zhang (2002), App. C and D, where C selects features.

With a nonzero entry :math:`a_k` in each row of C, of the feature :math:`j_k`, the equality :math:`Cv = b` fixes the
components :math:`v_F = \beta`, :math:`\beta_k = b_k/a_k`, of the free features F, and

.. math::
    \Omega(w) = \inf_{u_F}\; \Omega_0(u_F, w_R) + \beta\cdot(w_F - u_F), \qquad
    \Omega^*(v) = \Omega_0^*(\beta, v_R) \text{ where } v_F = \beta.

The base knows the best :math:`u_F` (``Regularizer.completed``).  Any other is an upper bound of the infimum, so its
rounding is no error of the value.  Other directions are free features too, of a design with the additional columns
:math:`XC^T`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.balls import Ball, as_ball, where
from fenchel.numerics.rounding import gamma
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.enclosures import EnclosedRegularizer


@dataclass(frozen=True)
class FreeFeatures:
    """The base, the free features F, and beta as the quotient of prices and entries of C."""

    base: Regularizer
    indices: NDArray[np.intp]
    prices: Floats
    entries: Floats

    @classmethod
    def of(cls, directions: Array | sp.csr_array, prices: Floats, base: Regularizer) -> FreeFeatures:
        """Raise unless every row of C has one nonzero entry and the base supports free features."""
        found = sp.coo_array(directions)
        found.sum_duplicates()
        found.eliminate_zeros()
        order = np.argsort(found.row, kind="stable")
        rows, columns = found.row[order], found.col[order].astype(np.intp)
        if len(rows) != len(prices):
            raise FenchelError(
                f"directions must have one nonzero entry in each row, a free feature, with base={base.name!r}; append "
                "the columns X @ C.T to X, and use FreeDirections.of_features for them"
            )
        one = cls(base, columns, prices, found.data[order])
        at = np.zeros(found.shape[1])
        if base.completed(at, columns, np.zeros(len(columns))) is None:
            raise FenchelError(
                f"base does not support free features, got {base.name!r}; use L2(), ElasticNet(), QuadraticForm(K), "
                "QNorm(), UnnormalizedEntropy() or Entropy(balanced=True)"
            )
        if base.completed(at, columns, one.slopes) is None:
            raise FenchelError(f"prices must be zero with base={base.name!r}, got {prices.tolist()}")
        return one

    @property
    def slopes(self) -> Floats:
        """Beta."""
        return self.prices / self.entries

    def complete(self, weights: Array) -> Floats:
        """The weights u: those of the free features are the best ones for the base."""
        found = self.base.completed(weights, self.indices, self.slopes)
        assert found is not None
        return found

    def fixed(self, v: Array) -> Floats:
        """The dual vector v with beta in the place of v_F."""
        found = np.array(v, dtype=np.float64)
        found[..., self.indices] = self.slopes
        return found

    def value(self, weights: Array) -> float:
        """Return Omega(w)."""
        u = self.complete(weights)
        return self.base.value(u) + float(np.sum((np.asarray(weights) - u)[..., self.indices] @ self.slopes))

    def value_error(self, weights: Array) -> float:
        """The error of the base at u, and that of the prices."""
        u = self.complete(weights)
        sizes = (np.abs(weights) + np.abs(u))[..., self.indices] @ np.abs(self.slopes)
        return self.base.value_error(u, self.base.value(u)) + gamma(np.size(weights) + 8) * float(np.sum(sizes))

    def enclosure(self, features: int) -> EnclosedFreeFeatures | None:
        """The same in ball arithmetic, if the base has it."""
        base = self.base.enclosure(features)
        return None if base is None else EnclosedFreeFeatures(self, base)


@dataclass(frozen=True)
class EnclosedFreeFeatures:
    """Free features in ball arithmetic."""

    features: FreeFeatures
    base: EnclosedRegularizer

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        u, free, slopes = self.features.complete(weights), self.features.indices, self._slopes()
        exact, value = self.base.primal(u)
        price = ((as_ball(weights[..., free]) - as_ball(u[..., free])) * slopes).sum()
        return where(self._is_free(weights.shape[-1]), weights, exact), value + price

    def conjugate(self, v: Ball) -> Ball:
        """Omega* of a v with v_F = beta: that is for the dual point to guarantee."""
        count = v.shape[-1]
        filled = np.zeros(count), np.zeros(count), np.zeros(count)
        slopes = self._slopes()
        for part, known in zip(filled, (slopes.high, slopes.low, slopes.radius), strict=True):
            part[self.features.indices] = known
        return self.base.conjugate(where(self._is_free(count), Ball(*filled), v))

    def _slopes(self) -> Ball:
        return as_ball(self.features.prices) / as_ball(self.features.entries)

    def _is_free(self, count: int) -> NDArray[np.bool_]:
        return np.isin(np.arange(count), self.features.indices)
