r"""Interior-point method for a convex quadratic plus a weighted l1 norm, where coordinate descent is slow.

.. math:: \min_{z, u}\; \tfrac12 z^T H z + q\cdot z + t\cdot u \qquad\text{with } u - z \ge 0,\; u + z \ge 0

The number of its steps hardly depends on the condition of H.  Mehrotra's predictor and corrector (Nocedal and Wright,
Numerical Optimization, 2nd ed., 2006, algorithm 16.4), with u eliminated from the Newton system

.. math::
    \begin{aligned}
    \Big(H + \mathrm{diag}\,\frac{4 d^- d^+}{d^- + d^+}\Big)\,\Delta z
        &= -r - (e^- - e^+) + \frac{d^- - d^+}{d^- + d^+}\,(e^- + e^+), \qquad d = \lambda / s, \\
    r &= Hz + q + \lambda^- - \lambda^+
    \end{aligned}

and :math:`e = (\sigma\mu - s\lambda - \Delta s\,\Delta\lambda) / s` with the predictor's steps.  The multipliers start
with :math:`\lambda^- + \lambda^+ = t`, which all steps keep.

============================  =============================================
symbol                        here
============================  =============================================
H, q, t                       ``matrix``, ``linear``, ``thresholds``
:math:`s = u \mp z`           ``slacks``, (2, d)
:math:`\lambda^-, \lambda^+`  ``multipliers``, (2, d)
============================  =============================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.linear_algebra import cholesky_solver

#: largest number of steps; about fifteen suffice
_MAX_STEPS = 60
#: share of the way to the nearest bound
_TO_BOUND = 0.995
#: sum of s lambda, relative to t . |z|, at which the method ends
_ACCURACY = 1e-9
_TINY = 1e-300


class _NewtonSystem(NamedTuple):
    """The Newton system of one step, factorized."""

    solve: Callable[[Array], Array]
    bounded: Array
    residual: Floats
    slacks: Floats
    multipliers: Floats

    def direction(self, change: Array) -> tuple[Array, Array, Array]:
        """The steps of z, of the slacks and of the multipliers that change the products s lambda by ``change``."""
        e, d = change / self.slacks, self.multipliers / self.slacks
        right, tilt = -self.residual, (d[0] - d[1]) / (d[0] + d[1])
        right[self.bounded] += e[1] - e[0] + tilt * (e[0] + e[1])
        dz = self.solve(right)
        du = (e[0] + e[1]) / (d[0] + d[1]) + tilt * dz[self.bounded]
        ds = np.stack([du - dz[self.bounded], du + dz[self.bounded]])
        return dz, ds, e - d * ds

    def longest(self, ds: Array, dm: Array) -> float:
        """The largest step up to 1 / _TO_BOUND for which slacks and multipliers stay non-negative."""
        values, change = np.concatenate([self.slacks, self.multipliers]), np.concatenate([ds, dm])
        falls = change < 0.0
        return float(np.min(-values[falls] / change[falls], initial=1.0 / _TO_BOUND))


def interior_minimizer(matrix: Array, linear: Array, thresholds: Array, point: Array) -> Floats:
    """Return a point near the minimum, with nonzero numbers for its zeros; ``point`` sets the scale of the start."""
    bounded = thresholds > 0.0
    z, limits, diagonal = point.copy(), thresholds[bounded], np.flatnonzero(bounded)
    # slacks of the size of one step of coordinate descent, whatever a feature with hardly any entries takes
    mean_curvature = float(np.mean(np.diagonal(matrix)[bounded]))
    size = np.mean(np.abs(point[bounded])) + np.mean(limits) / max(mean_curvature, _TINY)
    slacks = np.abs(z[bounded]) + size + np.array([[-1.0], [1.0]]) * z[bounded]
    multipliers = np.stack([0.5 * limits, 0.5 * limits])
    for _ in range(_MAX_STEPS):
        products = slacks * multipliers
        mean = float(np.mean(products))
        if 2.0 * mean * len(limits) <= _ACCURACY * float(limits @ np.abs(z[bounded])):
            break
        residual, curvature = matrix @ z + linear, matrix.copy()
        residual[bounded] += multipliers[0] - multipliers[1]
        d = multipliers / slacks
        curvature[diagonal, diagonal] += 4.0 * d[0] * d[1] / (d[0] + d[1])
        system = _NewtonSystem(cholesky_solver(curvature), bounded, residual, slacks, multipliers)
        _, ds, dm = system.direction(-products)
        step = system.longest(ds, dm)
        predicted = float(np.mean((slacks + step * ds) * (multipliers + step * dm)))
        dz, ds, dm = system.direction((predicted / mean) ** 3 * mean - products - ds * dm)
        step = min(1.0, _TO_BOUND * system.longest(ds, dm))
        z, slacks, multipliers = z + step * dz, slacks + step * ds, multipliers + step * dm
    return z
