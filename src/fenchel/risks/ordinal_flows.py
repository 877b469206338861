r"""Flows by bits: upper bounds on the conjugate of the ordinal hinge.

The ordinal hinge is a sum over the bits of the numbers of the labels: a pair belongs to the highest bit in which its
two labels differ.  Within a bit each group of labels that agree above it is a ROC area, whose conjugate is minus the
total flow, so with the rows :math:`\theta = \sum_b\theta_b` of a decomposition

.. math:: R^*(-\theta) \le \sum_b R_b^*(-\theta_b) = -\sum_b\sum_{i\text{ upper in }b}\theta_{bi}.

The rows are mapped to net flows (``projections.flows``), and theta is their sum: what a witness states beside them only
chooses the multiple t of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.numerics.rounding import absolute_sum, gamma
from fenchel.risks.decomposition import multiple_of

if TYPE_CHECKING:
    from fenchel.risks.graded_pairs import GradedPairs

#: roundings of x, of M, of U and of the tolerance, beside those of the running sums; in units of u
_ROUNDINGS = 64.0
#: roundings of a running sum for each term: extended precision has 11 more bits
_PER_TERM = 2.0**-11 if np.finfo(np.longdouble).nmant >= 63 else 1.0


class FlowsByBits:
    """The bound of the rows of a decomposition, and of their multiples."""

    def __init__(self, risk: GradedPairs, rows: Array) -> None:
        self.decomposition = np.zeros((risk.bits, risk.examples))
        self._theta, self._flow, size = np.zeros(risk.examples), 0.0, 0.0
        for bit, row in enumerate(rows):
            sides = risk.sides[bit]
            upper, own = sides.upper, row[sides.rows]
            x = sides.net_flows(np.where(upper, own, -own))
            self.decomposition[bit][sides.rows] = np.where(upper, x, -x)
            self._theta += self.decomposition[bit]
            self._flow += float(np.sum(x[upper], dtype=np.longdouble))
            size += absolute_sum(x)
        self._size = absolute_sum(self._theta)
        #: of all flows together, in the 1-norm
        self._distance = 3.0 * gamma(_ROUNDINGS + len(rows) + 4.0 * _PER_TERM * risk.examples) * size

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """-t times the total flow, an upper bound on R*(-theta); infinite outside the domain (beyond rounding)."""
        if not feasible and np.max(np.abs(theta - self.project(theta))) > DOMAIN_TOLERANCE * max(self._size, 1.0):
            return math.inf
        # 0 - x is never minus zero
        return 0.0 - self._multiple(theta) * self._flow

    def project(self, theta: Array) -> Floats:
        """The multiple of the sum of the rows with the 1-norm of theta."""
        return self._multiple(theta) * self._theta

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        return self._multiple(theta) * (self._distance + gamma(_ROUNDINGS) * self._flow)

    def largest_scale(self, theta: Array) -> float:
        return 1.0

    def domain_distance(self, theta: Array) -> float:
        return self._multiple(theta) * self._distance

    def unbalanced(self, theta: Array) -> Floats:
        # the risk does not depend on an intercept
        return np.zeros(1)

    def _multiple(self, theta: Array) -> float:
        """T: the 1-norm of theta over that of the sum of the rows."""
        return multiple_of(theta, self._size)


def flows_form(risk: GradedPairs, theta: Array, decomposition: Array | None) -> FlowsByBits | None:
    """The bound of rows, one for each bit; theta itself is the row of two labels; None for rows that are not finite."""
    if decomposition is None and risk.bits > 1:
        return None
    rows = np.asarray(theta[None] if decomposition is None else decomposition, dtype=np.float64)
    if rows.shape != (risk.bits, risk.examples):
        raise FenchelError(
            f"the decomposition of a witness must have the shape (bits of the labels, examples) = "
            f"{(risk.bits, risk.examples)}, got {rows.shape}"
        )
    return FlowsByBits(risk, rows) if np.all(np.isfinite(rows)) else None
