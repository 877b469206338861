r"""One pass of the online algorithms that large-margin methods come from: Zhang (2002), eq. (24).

.. math:: \Delta v = \eta\,y_i x_i \text{ if } y_i\,x_i\cdot w \le 0, \qquad w = \nabla\Omega^*(v)

The square gives the Perceptron, an entropy Winnow, a q-norm the p-norm algorithm.  The last component of v belongs to
a constant feature, which no row holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import coupled, grad_and_value, outer_grad, row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import loop
from fenchel.solvers.dual_coordinate.loop_mirror import FLOOR, FRAME, GRAD, TOTAL, VALUE, along, commit, refresh


@loop
def online_pass(
    rows: Any,
    regularizer: Any,
    labels: Any,
    v: Any,
    priors: Any,
    nodes: Any,
    carry: Any,
    trial: Any,
    rate: float,
    constant: float,
    order: Any,
) -> int:
    """Visit the examples in this order; returns how many were on the wrong side when met."""
    last, mistakes, moved = np.uint64(len(v) - 1), 0, 0
    for t in range(np.uint64(len(order))):
        i = np.uint64(order[t])
        dot, own = constant * nodes[last, GRAD], nodes[last, VALUE]
        for k in range(row_begin(rows, i), row_end(rows, i)):
            j = row_column(rows, i, k)
            dot += row_entry(rows, i, k) * nodes[j, GRAD]
            own += nodes[j, VALUE]
        if labels[i] * outer_grad(regularizer, carry[TOTAL], carry[FRAME]) * dot > 0.0:
            continue
        mistakes += 1
        step = rate * labels[i]
        _, total = along(regularizer, rows, i, step, v, priors, nodes, carry, trial)
        commit(rows, i, step, v, nodes, trial)
        v[last] += step * constant
        nodes[last, GRAD], nodes[last, VALUE] = grad_and_value(
            regularizer, v[last], priors[last], carry[FRAME], carry[FLOOR]
        )
        carry[TOTAL] += total + nodes[last, VALUE] - own
        moved += int(row_end(rows, i) - row_begin(rows, i)) + 1
        if coupled(regularizer) and (moved > 4 * len(v) or not 1e-100 < carry[TOTAL] < 1e100):
            refresh(regularizer, v, priors, nodes, carry)
            moved = 0
    return mistakes
