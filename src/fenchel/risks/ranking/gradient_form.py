r"""Smooth risks whose conjugate is known at gradients: the bound of scores at which a witness is the gradient.

For a differentiable R, Fenchel-Young holds with equality at every u,

.. math:: R^*(\nabla R(u)) = \nabla R(u)\cdot u - R(u),

so with :math:`\theta = -\sum_k p_k\nabla R(u_k),\ p\ge 0,\ \sum_k p_k = 1` the convexity of :math:`R^*` bounds
:math:`R^*(-\theta)` by :math:`\sum_k p_k\,(\nabla R(u_k)\cdot u_k - R(u_k))`.  A decomposition is the rows
:math:`(p_k, u_k)`: one row for the gradient at some scores, several for a combination of cutting planes.  theta is
computed from them; what a witness states beside them only chooses the multiple t of it, with :math:`R^*(-t\theta) \le
t R^*(-\theta)` where :math:`R^*(0) = 0`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.numerics.rounding import absolute_sum, gamma
from fenchel.risks.decomposition import multiple_of

#: roundings of a multiple of theta and of the sum over rows
_ROUNDINGS = 16.0


class AtGradient(NamedTuple):
    """Minus the gradient of a risk at some scores, with its conjugate there, and bounds on their rounding errors."""

    theta: Floats
    conjugate: float
    #: of theta in the 1-norm, and of the conjugate
    theta_error: float
    conjugate_error: float


class SmoothRisk(Protocol):
    """A smooth risk with infimum zero."""

    name: str
    examples: int

    def at_gradient(self, scores: Array) -> AtGradient:
        """Minus the gradient at s, with its conjugate."""
        ...


class GradientForm:
    """The bound of the rows of a decomposition, and of their multiples."""

    def __init__(self, risk: SmoothRisk, rows: Array) -> None:
        self.decomposition = np.asarray(rows, dtype=np.float64)
        shares = self.decomposition[:, 0] / math.fsum(self.decomposition[:, 0])
        self._theta, self._conjugate = np.zeros(risk.examples), 0.0
        self._distance, self._error, size = 0.0, 0.0, 0.0
        for share, scores in zip(shares.tolist(), self.decomposition[:, 1:], strict=True):
            found = risk.at_gradient(scores)
            self._theta += share * found.theta
            self._conjugate += share * found.conjugate
            self._distance += share * found.theta_error
            self._error += share * (found.conjugate_error + gamma(_ROUNDINGS) * abs(found.conjugate))
            size += share * absolute_sum(found.theta)
        self._distance += gamma(_ROUNDINGS + len(shares)) * size
        self._error += gamma(len(shares)) * abs(self._conjugate)
        self._size = absolute_sum(self._theta)

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """T times the bound on R*, for the multiple t; infinite for other theta (beyond rounding)."""
        if not feasible and np.max(np.abs(theta - self.project(theta))) > DOMAIN_TOLERANCE * max(self._size, 1.0):
            return math.inf
        return self._multiple(theta) * self._conjugate + 0.0

    def project(self, theta: Array) -> Floats:
        """The multiple of the theta of the rows with the 1-norm of theta."""
        return self._multiple(theta) * self._theta

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        return self._multiple(theta) * self._error + gamma(_ROUNDINGS) * abs(conjugate)

    def largest_scale(self, theta: Array) -> float:
        return 1.0

    def domain_distance(self, theta: Array) -> float:
        return self._multiple(theta) * self._distance + gamma(_ROUNDINGS) * absolute_sum(theta)

    def unbalanced(self, theta: Array) -> Floats:
        # a ranking does not depend on an intercept
        return np.zeros(1)

    def _multiple(self, theta: Array) -> float:
        """T: the 1-norm of theta over that of the theta of the rows, at most 1."""
        return multiple_of(theta, self._size)


def gradient_form(risk: SmoothRisk, decomposition: Array | None) -> GradientForm | None:
    """The bound of rows (p_k, u_k); None without them, or for rows that prove nothing."""
    if decomposition is None:
        return None
    rows = np.asarray(decomposition, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != risk.examples + 1:
        raise FenchelError(
            f"the decomposition of a witness of {risk.name!r} must have the shape (rows, 1 + examples) = "
            f"(rows, {risk.examples + 1}), a weight and scores in each row; got {rows.shape}"
        )
    usable = np.all(np.isfinite(rows)) and np.all(rows[:, 0] >= 0.0) and np.any(rows[:, 0] > 0.0)
    return GradientForm(risk, rows[rows[:, 0] > 0.0]) if usable else None
