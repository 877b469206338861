r"""Loops of rankings: losses of all pairs of a query, and the nearest points of permutahedra.

The rows are query by query and in order of falling grades, so that the rows that the row p should be above are a
contiguous range.  ``pair_losses`` has one branch for each loss of :math:`x = 1 - t` or t, with :math:`t = s_i - s_j`:

==========================  =====================  =====================================================
loss                        value                  flow
==========================  =====================  =====================================================
``SMOOTHED_HINGE``          :math:`[x]_+`          :math:`\mathrm{clip}(x/\mu, 0, 1)`
``SQUARED_HINGE``           :math:`[x]_+^2`        :math:`2[x]_+`
``LOGISTIC``                log(1 + exp(-t))       1 / (1 + exp(t))
==========================  =====================  =====================================================

``nearest_rankings`` pools adjacent violators; entries of a pool are computed from its means, as in
``projections.permutahedron``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fenchel.compile.loop import loop

SMOOTHED_HINGE, SQUARED_HINGE, LOGISTIC = 0, 1, 2


@loop
def pair_losses(
    loss: int, s: Any, first: Any, ends: Any, share: Any, mu: float, theta: Any
) -> tuple[float, float, float]:
    """Add the net flows of all pairs to ``theta``; return R_mu, R and the excess."""
    value, risk, excess = 0.0, 0.0, 0.0
    for i in range(np.uint64(len(s))):
        own_value, own_risk, own_excess, flows = 0.0, 0.0, 0.0, 0.0
        price = share[i]
        for j in range(np.uint64(first[i]), np.uint64(ends[i])):
            t = s[i] - s[j]
            flow = 0.0
            if loss == LOGISTIC:
                small = math.exp(-abs(t))
                flow = (small if t > 0.0 else 1.0) / (1.0 + small)
                own_value += max(-t, 0.0) + math.log1p(small)
            elif t < 1.0:
                x = 1.0 - t
                if loss == SQUARED_HINGE:
                    flow = 2.0 * x
                    own_value += x * x
                elif x < mu:
                    flow = x / mu
                    own_value += 0.5 * x * flow
                    own_risk += x
                    own_excess += x - x * flow
                else:
                    flow = 1.0
                    own_value += x - 0.5 * mu
                    own_risk += x
            flows += flow
            theta[j] -= price * flow
        theta[i] += price * flows
        value += price * own_value
        risk += price * (own_risk if loss == SMOOTHED_HINGE else own_value)
        excess += price * own_excess
    return value, risk, excess


@loop
def nearest_rankings(
    order: Any, z: Any, ideal: Any, d: Any, starts: Any, sizes: Any, mu: float, sums: Any, counts: Any, a: Any
) -> None:
    """Write the points of the permutahedra nearest to ideal + z / mu; ``sums`` and ``counts`` are space for pools."""
    for q in range(len(starts)):
        begin, top = starts[q], 0
        # 1. pools of the falling regression on z + mu (ideal - d)
        for r in range(begin, begin + sizes[q]):
            total, count = z[order[r]] + mu * (ideal[order[r]] - d[r]), 1
            while top > 0 and sums[top - 1] * count <= total * counts[top - 1]:
                top -= 1
                total, count = total + sums[top], count + counts[top]
            sums[top], counts[top] = total, count
            top += 1
        # 2. the entries of each pool around its means
        r = begin
        for k in range(top):
            end, mean_z, mean_ideal, mean_d = r + counts[k], 0.0, 0.0, 0.0
            for place in range(r, end):
                mean_z += z[order[place]]
                mean_ideal += ideal[order[place]]
                mean_d += d[place]
            mean_z, mean_ideal, mean_d = mean_z / counts[k], mean_ideal / counts[k], mean_d / counts[k]
            for place in range(r, end):
                own = order[place]
                a[own] = (z[own] - mean_z) / mu + (ideal[own] - mean_ideal) + mean_d
            r = end
