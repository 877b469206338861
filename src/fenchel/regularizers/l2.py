r"""Square regularization, :math:`\Omega(w) = \tfrac12\|w\|^2 = \Omega^*(w)`; Zhang (2002), eq. (12) with K = I."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.regularizers.base import Regularizer


@dataclass(frozen=True)
class L2(Regularizer):
    """Half the squared Euclidean norm."""

    name: ClassVar[str] = "l2"

    def value(self, weights: NDArray) -> float:
        flat = np.ravel(weights)
        return 0.5 * float(flat @ flat)

    def gradient(self, weights: NDArray) -> NDArray[np.float64]:
        return np.asarray(weights, dtype=np.float64)

    def conjugate(self, dual: NDArray) -> float:
        return self.value(dual)

    def transfer(self, dual: NDArray) -> NDArray[np.float64]:
        return np.asarray(dual, dtype=np.float64)

    def radius(self, level: float) -> float:
        return math.sqrt(2.0 * level)

    @property
    def strong_convexity(self) -> float:
        return 1.0
