r"""The cutting planes of a bundle method: minorants of the risk, :math:`R(s) \ge a\cdot s + c`.

In the weights a plane is :math:`g\cdot w + c` with :math:`g = X^T a`.  Convex combinations of planes are planes.  The
coefficients :math:`\alpha` of the best combination are the dual variables of the inner problem and give the dual point
:math:`\theta = -\sum_j\alpha_j a_j` with :math:`R^*(-\theta) \le -\sum_j\alpha_j c_j`.

===================  ==========================================================
symbol               attribute
===================  ==========================================================
a, c, g              ``slopes``, ``offsets``, ``vectors``
:math:`\alpha`       ``weights``
===================  ==========================================================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats

#: initial capacity, in planes
_CAPACITY = 16


class Planes:
    """Planes with their weights.  An interrupt leaves it valid: a plane is counted after it has been written."""

    def __init__(self, features: int) -> None:
        #: number of planes
        self.count = 0
        #: a of each plane, in the shape of the scores
        self.slopes: list[Floats] = []
        self._vectors = np.empty((_CAPACITY, features))
        self._offsets = np.empty(_CAPACITY)
        self._weights = np.zeros(_CAPACITY)
        self._steps_without_weight = np.zeros(_CAPACITY, dtype=np.int64)
        #: g_i . g_j in the first ``count`` rows and columns
        self.gram = np.zeros((_CAPACITY, _CAPACITY))

    @property
    def vectors(self) -> Floats:
        """g of each plane, as rows."""
        return self._vectors[: self.count]

    @property
    def offsets(self) -> Floats:
        """c of each plane."""
        return self._offsets[: self.count]

    @property
    def weights(self) -> Floats:
        """alpha of each plane."""
        return self._weights[: self.count]

    @property
    def steps_without_weight(self) -> NDArray[np.int64]:
        """Consecutive steps in which each plane had weight zero."""
        return self._steps_without_weight[: self.count]

    @property
    def stored(self) -> int:
        """Number of stored entries."""
        return self.count * (self._vectors.shape[1] + self.slopes[0].size) if self.slopes else 0

    def add(self, slope: Array, offset: float, vector: Array, weight: float = 0.0) -> None:
        """Add a plane."""
        m = self.count
        if m == len(self._offsets):
            self._grow()
        self._vectors[m], self._offsets[m], self._weights[m], self._steps_without_weight[m] = vector, offset, weight, 0
        row = self._vectors[: m + 1] @ self._vectors[m]
        self.gram[m, : m + 1] = row
        self.gram[: m + 1, m] = row
        del self.slopes[m:]
        self.slopes.append(slope)
        self.count = m + 1

    def _grow(self) -> None:
        capacity = 2 * len(self._offsets)
        for name in ("_vectors", "_offsets", "_weights", "_steps_without_weight"):
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        gram = np.zeros((capacity, capacity))
        gram[: self.count, : self.count] = self.gram[: self.count, : self.count]
        self.gram = gram

    def set_weights(self, weights: Array) -> None:
        """Set the weights, and count the steps without weight."""
        self.steps_without_weight[:] = np.where(weights > 0.0, 0, self.steps_without_weight + 1)
        self.weights[:] = weights

    def combination(self) -> tuple[Floats, float, Floats]:
        """Return a, c and g of the weighted combination of the planes."""
        return self._combined(np.flatnonzero(self.weights))

    def _combined(self, members: Array) -> tuple[Floats, float, Floats]:
        shares = self.weights[members] / np.sum(self.weights[members])
        slope = np.zeros_like(self.slopes[0])
        for share, j in zip(shares, members, strict=True):
            slope += share * self.slopes[j]
        return slope, float(shares @ self.offsets[members]), shares @ self.vectors[members]

    def without(self, leaving: Array) -> Planes:
        """Return the planes without some: those of weight zero are dropped, the others are merged into one plane.

        The weighted combination, and with it the lower bound, stays the same.
        """
        fewer = Planes(self._vectors.shape[1])
        kept = np.flatnonzero(~leaving)
        fewer._vectors, fewer._offsets = self.vectors[kept], self.offsets[kept]
        fewer._weights, fewer._steps_without_weight = self.weights[kept], self.steps_without_weight[kept]
        fewer.gram = np.ascontiguousarray(self.gram[np.ix_(kept, kept)])
        fewer.slopes = [self.slopes[j] for j in kept]
        fewer.count = len(kept)
        merged = np.flatnonzero(leaving & (self.weights > 0.0))
        if merged.size:
            if not kept.size:
                fewer = Planes(self._vectors.shape[1])
            fewer.add(*self._combined(merged), weight=float(np.sum(self.weights[merged])))
        return fewer
