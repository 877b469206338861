r"""Consistency check of upper bounds on the conjugate that are taken on trust.

Where a risk has no conjugate in closed form, the witness includes an upper bound on it.  Any scores s may refute it:

.. math:: R^*(-\theta) \ge -\theta\cdot s - R(s).
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError

#: violation that counts as rounding, relative to the terms of the comparison
_TRUST_TOLERANCE = 1e-9


def refute(conjugate: float, theta: Array, scores: Array, risk: float, magnitude: float) -> None:
    """Raise if an upper bound on the conjugate is below the lower bound from these scores."""
    least = -float(np.vdot(theta, scores)) - risk
    if conjugate < least - _TRUST_TOLERANCE * (magnitude + abs(risk)):
        raise FenchelError(
            f"conjugate_bound={conjugate:.6g} of the witness is too small: at the model's scores the conjugate is at "
            f"least {least:.6g}. Pass an upper bound, or omit the witness"
        )
