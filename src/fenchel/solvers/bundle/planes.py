r"""The cutting planes of a bundle method: minorants of the risk, :math:`R(s) \ge a\cdot s + c`.

In the weights a plane is :math:`g\cdot w + c` with :math:`g = X^T a`.  Convex combinations of planes are planes.  The
coefficients :math:`\alpha` of the best combination are the dual variables of the inner problem and give the dual point
:math:`\theta = -\sum_j\alpha_j a_j` with :math:`R^*(-\theta) \le -\sum_j\alpha_j c_j`.  Where a decomposition of
:math:`\theta` proves that bound, each plane has its own.

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
from fenchel.risks.decomposition import Decomposable
from fenchel.stopping import stop_point

#: initial capacity, in planes
_CAPACITY = 16


class Planes:
    """Planes with their weights.  An interrupt leaves it valid: a plane is counted after it has been written."""

    def __init__(self, features: int, risk: Decomposable | None = None) -> None:
        #: a of each plane, in the shape of the scores
        self.slopes: list[Floats] = []
        #: of each plane, where the risk has decompositions
        self.decompositions: list[Floats] = []
        self._risk = risk
        self._vectors = np.empty((_CAPACITY, features))
        #: c and alpha of each plane
        self.offsets, self.weights = np.zeros(0), np.zeros(0)
        #: consecutive steps in which each plane had weight zero
        self.steps_without_weight: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        #: g_i . g_j
        self.gram = np.zeros((0, 0))

    @property
    def count(self) -> int:
        """Number of planes."""
        return len(self.slopes)

    @property
    def vectors(self) -> Floats:
        """g of each plane, as rows."""
        return self._vectors[: self.count]

    def add(
        self, slope: Array, offset: float, vector: Array, weight: float = 0.0, decomposition: Array | None = None
    ) -> None:
        """Add a plane."""
        m = self.count
        if m == len(self._vectors):
            vectors = np.empty((max(2 * m, _CAPACITY), self._vectors.shape[1]))
            for j in range(m):
                stop_point()
                vectors[j] = self._vectors[j]
            self._vectors = vectors
        stop_point()
        self._vectors[m] = vector
        gram = np.empty((m + 1, m + 1))
        gram[:m, :m] = self.gram
        gram[m] = gram[:, m] = self._vectors[: m + 1] @ self._vectors[m]
        offsets, weights = np.append(self.offsets, offset), np.append(self.weights, weight)
        steps, slopes = np.append(self.steps_without_weight, 0), [*self.slopes, slope]
        decompositions = self.decompositions if decomposition is None else [*self.decompositions, decomposition]
        # no calls from here on: an interrupt comes before or after all assignments
        self.offsets, self.weights, self.steps_without_weight = offsets, weights, steps
        self.gram, self.slopes, self.decompositions = gram, slopes, decompositions

    def set_weights(self, weights: Array) -> None:
        """Set the weights, and count the steps without weight."""
        self.steps_without_weight = np.where(weights > 0.0, 0, self.steps_without_weight + 1)
        self.weights = weights.copy()

    def combination(self) -> tuple[Floats, float]:
        """Return a and c of the weighted combination of the planes; g has an entry for each feature and class."""
        return self._combined(np.flatnonzero(self.weights))

    def decomposition(self) -> Floats | None:
        """Return the decomposition of minus a of the weighted combination."""
        return self._mixed(np.flatnonzero(self.weights))

    def _mixed(self, members: Array) -> Floats | None:
        if self._risk is None:
            return None
        return self._risk.mixed(self.weights[members], [self.decompositions[j] for j in members])

    def _shares(self, members: Array) -> Floats:
        return self.weights[members] / np.sum(self.weights[members])

    def _combined(self, members: Array) -> tuple[Floats, float]:
        shares, slope = self._shares(members), np.zeros_like(self.slopes[0])
        for share, j in zip(shares, members, strict=True):
            slope += share * self.slopes[j]
        return slope, float(shares @ self.offsets[members])

    def without(self, leaving: Array) -> Planes:
        """Return the planes without some: those of weight zero are dropped, the others are merged into one plane.

        The weighted combination, and with it the lower bound, stays the same.
        """
        fewer, kept = Planes(self._vectors.shape[1], self._risk), np.flatnonzero(~leaving)
        fewer._vectors, fewer.offsets, fewer.weights = self.vectors[kept], self.offsets[kept], self.weights[kept]
        fewer.steps_without_weight = self.steps_without_weight[kept]
        fewer.gram = np.ascontiguousarray(self.gram[np.ix_(kept, kept)])
        fewer.slopes = [self.slopes[j] for j in kept]
        if self._risk is not None:
            fewer.decompositions = [self.decompositions[j] for j in kept]
        merged = np.flatnonzero(leaving & (self.weights > 0.0))
        if merged.size:
            weight = float(np.sum(self.weights[merged]))
            vector = self._shares(merged) @ self.vectors[merged]
            fewer.add(*self._combined(merged), vector, weight=weight, decomposition=self._mixed(merged))
        return fewer
