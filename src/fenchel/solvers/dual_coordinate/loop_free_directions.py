r"""Epochs of the augmented Lagrangian for free directions: Zhang (2002), Algorithm 3, the loop over examples.

The step of example i minimizes (**) over its own variable, for ridge and

.. math::
    \bar h_{s,\mu}(v) = \tfrac12\|v\|^2 + s\cdot e + \tfrac{\kappa}{2}\|e\|^2, \qquad e = g - b, \quad
    g = B^T\theta/\lambda, \quad \kappa = \lambda n/\mu.

The loop centres the rows, :math:`x_i - MB_i`, which changes nothing where e = 0 (``free_directions``): with
:math:`v = X^T\theta/\lambda` and the weights :math:`v - Me` the score is

.. math:: (x_i - MB_i)\cdot(v - Me) + B_i\cdot(s + \kappa e) = x_i\cdot v - p_i\cdot e + B_i\cdot(t + \kappa e),
    \qquad t = s - M^T(v - Me)

and a step of length :math:`\delta` along the row adds :math:`\delta B_i` to e and :math:`\delta q_i` to t.

=================  ============================  ==============================================================
symbol             argument                      meaning
=================  ============================  ==============================================================
e                  ``equalities.residual``       residual of the equality constraints
t                  ``equalities.offset``         the multipliers less :math:`M^T(v - Me)`
:math:`\kappa`     ``equalities.penalty``        weight of the quadratic term
:math:`B_i`        ``equalities.sides[i, :m]``   the example in the free directions
:math:`p_i`        ``sides[i, m:2m]``            :math:`M^Tx_i`
:math:`q_i`        ``sides[i, 2m:]``             :math:`M^TMB_i - p_i`
=================  ============================  ==============================================================

The table of examples is that of ``loop``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import dual_step, fenchel_young_gap, kkt_margin, row_add, row_dot
from fenchel.compile.loop import loop
from fenchel.compile.primitives.epoch import begin, keep
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVATURE, LABEL, SCALE


class Equalities(NamedTuple):
    """The equality constraints; the loop changes ``residual`` and ``offset``."""

    sides: Any
    residual: Any
    offset: Any
    penalty: float


@loop
def epoch_with_equalities(rows: Any, loss: Any, table: Any, v: Any, equalities: Any, part: Any) -> Any:
    """One part of an epoch of Algorithm 3; returns its ``Tally``."""
    sides, residual, offset, penalty = equalities
    order, threshold, count = part.order, part.threshold, np.uint64(len(residual))
    remaining, violation, changes, gap = begin(part)
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        i = np.uint64(order[t])
        label, old, scale = table[i, LABEL], table[i, ALPHA], table[i, SCALE]
        score = row_dot(rows, i, v)
        for k in range(count):
            score += sides[i, k] * (offset[k] + penalty * residual[k]) - sides[i, count + k] * residual[k]
        margin = kkt_margin(loss, label, old, score)
        if margin > threshold:
            continue
        remaining = keep(order, t, remaining)
        gap += scale * fenchel_young_gap(loss, label, old, score)
        if margin > 0.0:
            continue
        violation = max(violation, -margin)
        # (**) exactly
        new = dual_step(loss, label, old, score, table[i, CURVATURE])
        if new != old:
            # update v and alpha
            step = scale * (new - old)
            row_add(rows, i, step, v)
            for k in range(count):
                residual[k] += step * sides[i, k]
                offset[k] += step * sides[i, count + count + k]
            table[i, ALPHA] = new
            changes += 1
    return remaining, violation, changes, gap
