"""Pairs of L-BFGS and the two-loop recursion: Nocedal and Wright, Numerical Optimization (2nd ed., 2006), Sec. 7.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import daxpy

from fenchel.arrays import Array, Floats

#: a pair is kept if s . y exceeds this multiple of |s| |y|, so that H stays positive definite
_LEAST_COSINE = 1e-10

Dot = Callable[[Array, Array], float]


@dataclass
class Pairs:
    """The last pairs of a displacement s_k and a change y_k of the gradient."""

    memory: int = 20
    #: s_k, y_k and rho_k = 1 / (s_k . y_k), newest last
    stored: list[tuple[Floats, Floats, float]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.stored)

    def append(self, displacement: Array, gradient_change: Array, dot: Dot) -> None:
        """Add a pair of positive curvature, and remove pairs beyond the memory."""
        norms = np.sqrt(max(0.0, dot(displacement, displacement) * dot(gradient_change, gradient_change)))
        product = dot(displacement, gradient_change)
        if product > _LEAST_COSINE * norms:
            self.stored.append((displacement, gradient_change, 1.0 / product))
        del self.stored[: -self.memory]

    def times(self, gradient: Array, dot: Dot, inverse: Callable[[Array], Array] | None) -> Floats:
        """Return H times the gradient (algorithm 7.4); ``inverse`` multiplies with the initial matrix."""
        # daxpy adds in place: with millions of weights, a temporary array takes longer than the sum
        result, alphas = np.array(gradient, dtype=np.float64), []
        for s, y, rho in reversed(self.stored):
            alphas.append(rho * dot(s, result))
            result = daxpy(y, result, a=-alphas[-1])
        if inverse is not None:
            result = inverse(result)
        elif self.stored:
            # (7.20)
            _, y, rho = self.stored[-1]
            result *= 1.0 / (rho * dot(y, y))
        for (s, y, rho), alpha in zip(self.stored, reversed(alphas), strict=True):
            result = daxpy(s, result, a=alpha - rho * dot(y, result))
        return result
