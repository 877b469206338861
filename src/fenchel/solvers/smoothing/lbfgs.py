"""Pairs of L-BFGS and the two-loop recursion: Nocedal and Wright, Numerical Optimization (2nd ed., 2006), Sec. 7.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fenchel.arrays import Array, Floats

#: a pair is kept if s . y exceeds this multiple of |s| |y|, so that H stays positive definite
_LEAST_COSINE = 1e-10

Dot = Callable[[Array, Array], float]


@dataclass
class Pairs:
    """The last displacements s_k and gradient changes y_k, newest last."""

    memory: int = 20
    displacements: list[Floats] = field(default_factory=list)
    gradient_changes: list[Floats] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.displacements)

    def clear(self) -> None:
        """Remove all pairs."""
        self.displacements.clear()
        self.gradient_changes.clear()

    def append(self, displacement: Array, gradient_change: Array, dot: Dot) -> None:
        """Add a pair of positive curvature, and remove pairs beyond the memory."""
        norms = np.sqrt(max(0.0, dot(displacement, displacement) * dot(gradient_change, gradient_change)))
        if dot(displacement, gradient_change) > _LEAST_COSINE * norms:
            self.displacements.append(displacement)
            self.gradient_changes.append(gradient_change)
        del self.displacements[: -self.memory], self.gradient_changes[: -self.memory]

    def times(self, gradient: Array, dot: Dot, inverse: Callable[[Array], Array] | None) -> Floats:
        """Return H times the gradient (algorithm 7.4); ``inverse`` multiplies with the initial matrix."""
        if not self.displacements:
            return gradient.copy() if inverse is None else inverse(gradient)
        result, alphas = gradient.copy(), []
        pairs = list(zip(self.displacements, self.gradient_changes, strict=True))
        rhos = [1.0 / dot(s, y) for s, y in pairs]
        for (s, y), rho in zip(reversed(pairs), reversed(rhos), strict=True):
            alpha = rho * dot(s, result)
            result -= alpha * y
            alphas.append(alpha)
        if inverse is None:
            # (7.20)
            result *= 1.0 / (rhos[-1] * dot(pairs[-1][1], pairs[-1][1]))
        else:
            result = inverse(result)
        for (s, y), rho, alpha in zip(pairs, rhos, reversed(alphas), strict=True):
            result += (alpha - rho * dot(y, result)) * s
        return result
