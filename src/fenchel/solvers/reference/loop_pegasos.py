r"""Epochs of Pegasos: stochastic subgradient steps on the hinge loss with ridge.

Step t with a batch A, one of m batches of an epoch, is

.. math::
    w_{t+1} = (1 - \tfrac1t)\,w_t + \frac{m}{\lambda t}\sum_{i\in A,\ y_i x_i\cdot w_t < 1} c_i y_i x_i

followed by the projection onto :math:`\|w\| \le \lambda^{-1/2}`.  The weights are represented as
:math:`w = \frac{\kappa}{\lambda t} u` with :math:`u = X^T\beta`, so that a step reads only the rows of its batch, and
:math:`\theta = \kappa\beta/t` is the dual point.

==============================  =========================  ====================================
symbol                          argument                   meaning
==============================  =========================  ====================================
:math:`\beta_i`                 ``counts``                 times :math:`m c_i y_i`: steps with a positive loss of i
:math:`m c_i y_i`               ``gains``                  contribution of an active example
t, :math:`\kappa`, |u|^2        ``scalars``                changed in place
==============================  =========================  ====================================
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_add, row_dot
from fenchel.compile.loop import loop

#: t, kappa and |u|^2
TIME, KAPPA, SQUARE = range(3)
#: kappa is normalized to one when it is below this
_SMALLEST_KAPPA = 1e-100


@loop
def pegasos_steps(
    rows: Any,
    labels: Any,
    gains: Any,
    counts: Any,
    u: Any,
    scalars: Any,
    order: Any,
    bounds: Any,
    begin: int,
    end: int,
    lam: float,
) -> None:
    """Make the steps of batches ``begin`` to ``end``; batch b is ``order[bounds[b]:bounds[b + 1]]``."""
    active = np.empty(len(order), np.bool_)
    for b in range(begin, end):
        first, last = np.uint64(bounds[b]), np.uint64(bounds[b + 1])
        time, kappa = scalars[TIME], scalars[KAPPA]
        scale = kappa / (lam * time) if time > 0.0 else 0.0
        for t in range(first, last):
            i = order[t]
            active[t] = labels[i] * scale * row_dot(rows, i, u) < 1.0
        square = scalars[SQUARE]
        for t in range(first, last):
            if active[t]:
                i = order[t]
                gain = gains[i] / kappa
                before = row_dot(rows, i, u)
                row_add(rows, i, gain, u)
                after = row_dot(rows, i, u)
                # |u + g x|^2 = |u|^2 + g (x.u + x.(u + g x))
                square += gain * (before + after)
                counts[i] += 1.0 / kappa
        time += 1.0
        # |w| = kappa |u| / (lam t) at most 1 / sqrt(lam)
        length = kappa * math.sqrt(max(square, 0.0)) / (math.sqrt(lam) * time)
        if length > 1.0:
            kappa /= length
        if kappa < _SMALLEST_KAPPA:
            for j in range(len(u)):
                u[j] *= kappa
            for j in range(len(counts)):
                counts[j] *= kappa
            square *= kappa * kappa
            kappa = 1.0
        scalars[TIME], scalars[KAPPA], scalars[SQUARE] = time, kappa, square
