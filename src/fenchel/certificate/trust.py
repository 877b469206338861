r"""Bounds that are taken on trust, and what can be said against them.

Where a risk has no conjugate in closed form, a witness brings an upper bound on it.  Any scores s may refute that:

.. math:: R^*(-\theta) \ge -\theta\cdot s - R(s).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError

#: a bound is refuted if it is too low by more than this share of what enters the comparison
_ROUNDING = 1e-9


def refute(conjugate: float, theta: NDArray, scores: NDArray, risk: float, magnitude: float) -> None:
    """Raise if a bound on the conjugate is below what the scores, with this risk, say of it."""
    least = -float(np.vdot(theta, scores)) - risk
    if conjugate < least - _ROUNDING * (magnitude + abs(risk)):
        raise FenchelError(
            f"the conjugate_bound of the witness is refuted by the model's own scores: the conjugate of the risk is at "
            f"least {least:.6g}, not {conjugate:.6g}; give an upper bound on it, or no witness"
        )
