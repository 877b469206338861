r"""Exponentials of the scores of pairs of labels, in the recursions of ``oracles``.

With :math:`E^{(t)} = e^{T^{(t)} - p_t}`, :math:`p_t` the largest entry of :math:`T^{(t)}`, a step forward is
:math:`f_{t-1}\mapsto E^{(t)T}f_{t-1}`, one backward :math:`r_t\mapsto E^{(t)}r_t`, and the marginals of a pair are
:math:`E^{(t)}\circ f_{t-1}r_t^T` over their sum.  Rows of the arrays are sequences; pairs are named by the tokens that
end them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.risks.chains.edges import EdgeFeatures
from fenchel.risks.chains.sequences import Integers


class PairExponentials(Protocol):
    """Steps of the recursions over pairs of tokens."""

    def ahead(self, tokens: Integers, f: Array) -> tuple[Floats, Floats | float]:
        """The step forward, and the p of each pair."""
        ...

    def behind(self, tokens: Integers, f: Array, right: Array, shares: Array, total: Array) -> Floats:
        """The step backward; adds the marginals of the pairs, times the shares of their sequences, to ``total``."""
        ...

    def finish(self, total: Array) -> None:
        """Complete the sum of the marginals of all pairs."""
        ...


class AlikePairs:
    """All pairs have the same matrix: sums of marginals are products of matrices, multiplied with E at the end."""

    def __init__(self, transitions: Array) -> None:
        self._peak = float(np.max(transitions))
        self._E = np.exp(transitions - self._peak)

    def ahead(self, tokens: Integers, f: Array) -> tuple[Floats, Floats | float]:
        return f @ self._E, self._peak

    def behind(self, tokens: Integers, f: Array, right: Array, shares: Array, total: Array) -> Floats:
        found: Floats = right @ self._E.T
        total += (f * (shares / np.sum(f * found, axis=1, keepdims=True))).T @ right
        return found

    def finish(self, total: Array) -> None:
        total *= self._E


class FeaturedPairs:
    """Every pair has a matrix of its own, made when a step needs it."""

    def __init__(self, edges: EdgeFeatures, transitions: Array) -> None:
        self._edges, self._transitions = edges, transitions

    def ahead(self, tokens: Integers, f: Array) -> tuple[Floats, Floats | float]:
        E, peaks = self._exponentials(tokens)
        return np.matmul(f[:, None, :], E)[:, 0], peaks

    def behind(self, tokens: Integers, f: Array, right: Array, shares: Array, total: Array) -> Floats:
        E, _ = self._exponentials(tokens)
        E *= right[:, None, :]
        found: Floats = np.sum(E, axis=2)
        E *= (f * (shares / np.sum(f * found, axis=1, keepdims=True)))[:, :, None]
        self._edges.add(total, tokens, E)
        return found

    def finish(self, total: Array) -> None:
        """Nothing: ``behind`` has added the marginals themselves."""

    def _exponentials(self, tokens: Integers) -> tuple[Floats, Floats]:
        E = self._edges.scores(self._transitions, tokens)
        peaks = np.max(E, axis=(1, 2))
        E -= peaks[:, None, None]
        return np.exp(E, out=E), peaks
