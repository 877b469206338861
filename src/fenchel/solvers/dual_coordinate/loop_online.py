r"""One epoch of the online algorithms that large-margin methods come from: Zhang (2002), eq. (24).

.. math:: \Delta v = \eta\,y_i x_i \text{ if } y_i\,x_i\cdot w \le 0, \qquad w = \nabla\Omega^*(v)

Ridge gives the Perceptron, an entropy Winnow, a q-norm the p-norm algorithm.  The last component of v belongs to a
constant feature, which no row holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import coupled, grad_and_value, outer_grad, row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import loop
from fenchel.solvers.dual_coordinate.loop_mirror import FLOOR, FRAME, GRAD, TOTAL, VALUE, accept, refresh, terms_along


@loop
def online_epoch(
    rows: Any, regularizer: Any, labels: Any, mirror: Any, rate: float, constant: float, order: Any
) -> int:
    """One epoch in the given order; returns the number of mistakes."""
    v, priors, terms, running = mirror.v, mirror.priors, mirror.terms, mirror.running
    last, mistakes, entries_moved = np.uint64(len(v) - 1), 0, 0
    for t in range(np.uint64(len(order))):
        i = np.uint64(order[t])
        dot, own = constant * terms[last, GRAD], terms[last, VALUE]
        for k in range(row_begin(rows, i), row_end(rows, i)):
            j = row_column(rows, i, k)
            dot += row_entry(rows, i, k) * terms[j, GRAD]
            own += terms[j, VALUE]
        if labels[i] * outer_grad(regularizer, running[TOTAL], running[FRAME]) * dot > 0.0:
            continue
        mistakes += 1
        step = rate * labels[i]
        _, total = terms_along(regularizer, rows, i, step, mirror)
        accept(rows, i, step, mirror)
        v[last] += step * constant
        terms[last, GRAD], terms[last, VALUE] = grad_and_value(
            regularizer, v[last], priors[last], running[FRAME], running[FLOOR]
        )
        running[TOTAL] += total + terms[last, VALUE] - own
        entries_moved += int(row_end(rows, i) - row_begin(rows, i)) + 1
        if coupled(regularizer) and (entries_moved > 4 * len(v) or not 1e-100 < running[TOTAL] < 1e100):
            refresh(regularizer, mirror)
            entries_moved = 0
    return mistakes
