r"""One half of the symmetric Gauss-Seidel sweep over the dual of ridge regression: Zhang (2002), Sec. 4.

The matrix :math:`A = I + \tfrac1\lambda C^{1/2}ZZ^TC^{1/2} = L + G + L^T` is never formed.  A pass over the rows in
order, which updates :math:`u = \tfrac1\lambda Z^TC^{1/2}t` of the previous rows, solves :math:`(G + L)t = g` by forward
substitution; this is eq. (13) with the later variables at zero.  The opposite order solves :math:`(G + L^T)t = g`.
Each row costs its number of nonzeros.

With a free intercept the rows are centred implicitly, :math:`z_i = x_i - m`, as in ``dual_coordinate.loop``.

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
    """Solve (G + L) t = given, or (G + L^T) t = given if ``backward``; u and free must be zero at the start."""
    count = np.uint64(len(given))
    centred = len(projection) > 0
    for k in range(count):
        i = count - _ONE - k if backward else k
        # a row of weight zero has t_i = g_i and does not change u
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
