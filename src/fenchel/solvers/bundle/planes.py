r"""The planes of a bundle method: each is below the risk everywhere, :math:`R(s) \ge a\cdot s + c`.

In the weights it is :math:`g\cdot w + c` with :math:`g = X^T a`.  A mixture of planes is a plane; the weights
:math:`\alpha` of the best mixture are the dual variables of the inner problem, and make the witness
:math:`\theta = -\sum_j\alpha_j a_j` with :math:`R^*(-\theta) \le -\sum_j\alpha_j c_j`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: room for so many planes at first
_ROOM = 16


class Planes:
    """Planes with their weights.  It is valid at any moment: a plane counts when all of it is there."""

    def __init__(self, features: int) -> None:
        #: how many there are; a plane is written before it is counted
        self.count = 0
        #: a, in the shape of scores
        self.slopes: list[NDArray[np.float64]] = []
        self._vectors = np.empty((_ROOM, features))
        self._offsets = np.empty(_ROOM)
        self._weights = np.zeros(_ROOM)
        self._idle = np.zeros(_ROOM, dtype=np.int64)
        #: g_i . g_j with room to grow; only the first rows and columns count
        self.gram = np.zeros((_ROOM, _ROOM))

    @property
    def vectors(self) -> NDArray[np.float64]:
        """The g of each plane, a row each."""
        return self._vectors[: self.count]

    @property
    def offsets(self) -> NDArray[np.float64]:
        """The c of each plane."""
        return self._offsets[: self.count]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The alpha of each plane."""
        return self._weights[: self.count]

    @property
    def idle(self) -> NDArray[np.int64]:
        """For how many rounds each plane has had no weight."""
        return self._idle[: self.count]

    @property
    def stored(self) -> int:
        """How many numbers the planes take."""
        return self.count * (self._vectors.shape[1] + self.slopes[0].size) if self.slopes else 0

    def add(self, slope: NDArray, offset: float, vector: NDArray, weight: float = 0.0) -> None:
        """One more plane."""
        m = self.count
        if m == len(self._offsets):
            self._grow()
        self._vectors[m], self._offsets[m], self._weights[m], self._idle[m] = vector, offset, weight, 0
        row = self._vectors[: m + 1] @ self._vectors[m]
        self.gram[m, : m + 1] = row
        self.gram[: m + 1, m] = row
        del self.slopes[m:]
        self.slopes.append(slope)
        self.count = m + 1

    def _grow(self) -> None:
        room = 2 * len(self._offsets)
        for name in ("_vectors", "_offsets", "_weights", "_idle"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        gram = np.zeros((room, room))
        gram[: self.count, : self.count] = self.gram[: self.count, : self.count]
        self.gram = gram

    def reweigh(self, weights: NDArray) -> None:
        """Take other weights."""
        self.idle[:] = np.where(weights > 0.0, 0, self.idle + 1)
        self.weights[:] = weights

    def mixture(self) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """The plane that the weights make: a, c and g."""
        return self._mixed(np.flatnonzero(self.weights))

    def _mixed(self, members: NDArray) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        shares = self.weights[members] / np.sum(self.weights[members])
        slope = np.zeros_like(self.slopes[0])
        for share, j in zip(shares, members, strict=True):
            slope += share * self.slopes[j]
        return slope, float(shares @ self.offsets[members]), shares @ self.vectors[members]

    def without(self, leaving: NDArray) -> Planes:
        """The same without these: idle ones are dropped, those with weight become one, so no bound is lowered."""
        fewer = Planes(self._vectors.shape[1])
        kept = np.flatnonzero(~leaving)
        fewer._vectors, fewer._offsets = self.vectors[kept], self.offsets[kept]
        fewer._weights, fewer._idle = self.weights[kept], self.idle[kept]
        fewer.gram = np.ascontiguousarray(self.gram[np.ix_(kept, kept)])
        fewer.slopes = [self.slopes[j] for j in kept]
        fewer.count = len(kept)
        merged = np.flatnonzero(leaving & (self.weights > 0.0))
        if merged.size:
            if not kept.size:
                fewer = Planes(self._vectors.shape[1])
            fewer.add(*self._mixed(merged), weight=float(np.sum(self.weights[merged])))
        return fewer
