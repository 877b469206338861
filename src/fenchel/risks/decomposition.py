r"""Risks whose conjugate has no closed form but is bounded by a decomposition of the dual point.

.. math:: R^*(-\theta) \le \sum_k p_k R^*(-\theta_k), \qquad \theta = \sum_k p_k\theta_k, \quad p\ge 0,\ \sum_k p_k = 1

by convexity, and :math:`R^*(-\theta) \le \sum_k R_k^*(-\theta_k)` for :math:`R = \sum_k R_k` and :math:`\theta =
\sum_k\theta_k`.  Where the right-hand sides are known, a witness that holds the decomposition proves its bound.

==================  ========================================================================
risk                decomposition
==================  ========================================================================
contingency table   mixture of labellings: a weight and the counts fn and fp of each, (m, 3)
ordered labels      the flows of the pairs of each bit of the labels' numbers, (bits, n)
pairwise hinge      the same, with the flows within queries
smooth pairs        weights and scores of which theta is minus the mean gradient, (m, 1 + n)
chains, max-margin  labellings of each sequence with weights, flat (``chains.labellings``)
chains, log-loss    Gibbs distributions: a weight and all scores of each, (m, 1 + n)
==================  ========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import absolute_sum
from fenchel.risks.protocols import ClosedForm


class DecomposedForm(ClosedForm, Protocol):
    """The upper bound on the conjugate of a decomposition, as a conjugate with a domain of its own.

    The domain contains the multiples t theta, 0 <= t <= 1, of the theta that was decomposed.
    """

    @property
    def decomposition(self) -> Floats:
        """The decomposition, where needed with other parts than those that were given."""
        ...

    def domain_distance(self, theta: Array) -> float:
        """A bound on the 1-norm between a theta of ``project`` and some point that is in the domain exactly."""
        ...

    def unbalanced(self, theta: Array) -> Floats:
        """Bounds on the absolute sums of each output of that point; zero where they are exactly zero."""
        ...


class Decomposable(Protocol):
    """A risk whose conjugate is bounded by a decomposition of theta, so that certificates are recomputed."""

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        """The decomposition of minus the subgradient of the cutting plane at s."""
        ...

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        """The decomposition of the convex combination with these weights."""
        ...

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> DecomposedForm | None:
        """The bound of a decomposition, or without one of any that is found from theta; None if it proves nothing.

        ``balanced``: the sum of theta over the examples must be zero.
        """
        ...


def multiple_of(theta: Array, own: float) -> float:
    """T of t theta_0, at most 1: the 1-norm of theta over ``own``, that of theta_0 by ``absolute_sum``.

    No t below 1 counts as 1, however near: the lasso asks for multiples that are feasible by a few roundings.
    """
    return min(absolute_sum(np.asarray(theta, dtype=np.float64)) / own, 1.0) if own > 0.0 else 0.0
