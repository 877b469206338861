r"""Passes of the augmented Lagrangian for free directions: Zhang (2002), Algorithm 3, the loop over examples.

One visit of example i minimizes (**) over its own variable, for the square and

.. math::
    \bar h_{s,\mu}(v) = \tfrac12\|v\|^2 + s\cdot e + \tfrac{\kappa}{2}\|e\|^2, \qquad e = g - b, \quad
    g = B^T\theta/\lambda, \quad \kappa = \lambda n/\mu.

Rows are centred on the way, :math:`x_i - MB_i`, which changes nothing where e = 0 (``solvers.free_directions``): with
:math:`u = X^T\theta/\lambda` and :math:`v = u - Me` the score is

.. math:: (x_i - MB_i)\cdot v + B_i\cdot(s + \kappa e) = x_i\cdot u - p_i\cdot e + B_i\cdot(t + \kappa e), \qquad
    t = s - M^Tv

and a step of length :math:`\delta` along the row adds :math:`\delta B_i` to e and :math:`\delta q_i` to t.

=================  =====================  ==============================================================
symbol             argument               meaning
=================  =====================  ==============================================================
e, t               ``left``, ``tilt``     what is left of the equalities; the multipliers less :math:`M^Tv`
:math:`\kappa`     ``weight``
:math:`B_i`        ``sides[i, :m]``       the example in the free directions
:math:`p_i`        ``sides[i, m:2m]``     :math:`M^Tx_i`
:math:`q_i`        ``sides[i, 2m:]``      :math:`M^TMB_i - p_i`
=================  =====================  ==============================================================

The book of examples is that of ``loops.dual_coordinate``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import dual_step, fenchel_young_gap, kkt_margin, row_add, row_dot
from fenchel.compile.loop import loop
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVE, LABEL, SCALE

_ONE = np.uint64(1)


@loop
def epoch_with_equalities(
    rows: Any,
    loss: Any,
    book: Any,
    u: Any,
    sides: Any,
    left: Any,
    tilt: Any,
    weight: float,
    order: Any,
    begin: int,
    end: int,
    kept: int,
    threshold: float,
) -> tuple[int, float, int, float]:
    """Visit the examples ``order[begin:end]`` once; sets aside and returns what ``dual_coordinate.visit`` does."""
    front, count = np.uint64(kept), np.uint64(len(left))
    worst, changed, gap = 0.0, 0, 0.0
    for t in range(np.uint64(begin), np.uint64(end)):
        i = np.uint64(order[t])
        label, old = book[i, LABEL], book[i, ALPHA]
        score = row_dot(rows, i, u)
        for k in range(count):
            score += sides[i, k] * (tilt[k] + weight * left[k]) - sides[i, count + k] * left[k]
        rest = kkt_margin(loss, label, old, score)
        if rest > threshold:
            continue
        order[t] = order[front]
        order[front] = i
        front += _ONE
        gap += book[i, SCALE] * fenchel_young_gap(loss, label, old, score)
        if rest > 0.0:
            continue
        worst = max(worst, -rest)
        # (**) exactly
        new = dual_step(loss, label, old, score, book[i, CURVE])
        if new != old:
            # update v and alpha
            step = book[i, SCALE] * (new - old)
            row_add(rows, i, step, u)
            for k in range(count):
                left[k] += step * sides[i, k]
                tilt[k] += step * sides[i, count + count + k]
            book[i, ALPHA] = new
            changed += 1
    return int(front), worst, changed, gap
