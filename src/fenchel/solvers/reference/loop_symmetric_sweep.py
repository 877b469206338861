r"""One triangular half of the symmetrized Gauss-Seidel sweep over the dual of ridge regression: Zhang (2002), Sec. 4.

The matrix :math:`A = I + \tfrac1\lambda C^{1/2}ZZ^TC^{1/2} = L + G + L^T` is never formed.  Visiting the rows in order
and keeping :math:`u = \tfrac1\lambda Z^TC^{1/2}t` over the rows seen so far solves :math:`(G + L)t = g`, eq. (13) with
the variables that come later at zero; in the opposite order it solves :math:`(G + L^T)t = g`.  A visit costs the
non-zeros of its row.

With a free intercept the rows are centred on the way, :math:`z_i = x_i - m`, as in ``loops.dual_coordinate``.

===================  ================  ====================================================================
symbol               argument          meaning
===================  ================  ====================================================================
g, t                 ``given``, ``t``  right side and solution
:math:`G_{ii}`       ``diagonal``      :math:`1 + c_i\|z_i\|^2/\lambda`
:math:`c_i^{1/2}`    ``root``          root of the share of an example
u                    ``u``             sum of the rows x_i, not centred; begins and ends as the caller needs it
S, m·u               ``free``          sum of the steps, and its product with the mean
:math:`p_i`          ``projection``    :math:`m\cdot x_i`; empty without an intercept
:math:`\|m\|^2`      ``spread``
===================  ================  ====================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_add, row_dot
from fenchel.compile.loop import loop

#: entries of ``free``
SUM, OFFSET = range(2)
_ONE = np.uint64(1)


@loop
def half_sweep(
    rows: Any,
    root: Any,
    diagonal: Any,
    lam: float,
    projection: Any,
    spread: float,
    backward: bool,
    given: Any,
    t: Any,
    u: Any,
    free: Any,
) -> None:
    """Solve (G + L) t = given, or (G + L^T) t = given if ``backward``; u and free begin at zero."""
    count = np.uint64(len(given))
    centred = len(projection) > 0
    for k in range(count):
        i = count - _ONE - k if backward else k
        # a row without weight has t_i = g_i and moves nothing
        if root[i] == 0.0:
            t[i] = given[i]
            continue
        score = row_dot(rows, i, u)
        if centred:
            score += free[SUM] * (spread - projection[i]) - free[OFFSET]
        t[i] = (given[i] - root[i] * score) / diagonal[i]
        step = root[i] * t[i] / lam
        if step != 0.0:
            row_add(rows, i, step, u)
            if centred:
                free[SUM] += step
                free[OFFSET] += step * projection[i]
