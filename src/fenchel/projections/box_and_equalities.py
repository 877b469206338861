r"""Projection onto a box with several linear equalities, by a semismooth Newton method on the dual.

.. math::
    \min_x\; \sum_i \frac{(x_i - m_i)^2}{2d_i} \quad\text{with } l \le x \le u,\ Z^Tx = z, \qquad
    x(y) = \mathrm{clip}(m + d\cdot Zy,\ l,\ u)

The dual :math:`\varphi(y) = \sum_i (x_i - m_i)^2/2d_i - y\cdot(Z^Tx - z)` at x(y) is concave with the gradient
:math:`z - Z^Tx(y)` and, where entries lie inside the box, the curvature :math:`-Z_A^T\,\mathrm{diag}(d_A)\,Z_A`.  An
entry with d = 0 is fixed.  Levenberg-Marquardt damping adds a share of the Hessian of all entries, which bounds that
of the entries inside.  If no point of the box meets the equalities, the point with the smallest residual is returned;
the caller checks the residual.

====================  ==============================================
symbol                here
====================  ==============================================
m, d                  ``point``, ``ease``
Z, z                  ``sides``, ``target``
y                     ``y``, the multipliers
====================  ==============================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import EPS

#: Newton steps at most; about ten suffice
_STEPS = 100
#: steps in which the residual must halve; otherwise the equalities count as infeasible
_PATIENCE = 20
#: ridge relative to the largest diagonal entry, so that directions without curvature are fixed
_RIDGE = 1e-14
#: initial damping, as a share of the Hessian of all entries, and the factor by which it changes
_DAMPING, _FACTOR = 1e-4, 10.0


def onto_box_and_equalities(point: Array, low: Array, high: Array, sides: Array, target: Array, ease: Array) -> Floats:
    """The projection of ``point``, to the accuracy of floats."""
    point = np.clip(point, low, high)
    sizes = np.max(np.abs(sides), axis=0)
    sizes[sizes == 0.0] = 1.0
    sides, target = sides / sizes, target / sizes
    y = np.zeros(len(target))
    x, residual, value = _at(y, point, low, high, sides, target, ease)
    best = x, float(np.max(np.abs(residual)))
    full_hessian = sides.T @ (sides * ease[:, None])
    full_hessian[np.diag_indices_from(full_hessian)] += (
        _RIDGE * float(np.max(np.diag(full_hessian), initial=0.0)) or 1.0
    )
    damping, stalled_steps, mark = _DAMPING, 0, best[1]
    for _ in range(_STEPS):
        allowed = 2.0 * EPS * (np.abs(sides.T) @ np.abs(x) + np.abs(target))
        if np.all(np.abs(residual) <= allowed) or stalled_steps >= _PATIENCE:
            break
        stalled_steps += 1
        free_ease = np.where((x > low) & (x < high), ease, 0.0)
        step = _newton_step((sides * free_ease[:, None]).T @ sides + damping * full_hessian, residual)
        if step is None:
            break
        found = _at(y + step, point, low, high, sides, target, ease)
        smaller = float(np.max(np.abs(found[1]))) <= 0.5 * float(np.max(np.abs(residual)))
        if not (smaller or found[2] > value + 1e-4 * float(step @ residual)):
            if damping >= 1.0:
                # the dual does not change beyond rounding
                break
            damping = min(_FACTOR * max(damping, _DAMPING), 1.0)
            continue
        damping = damping / _FACTOR if damping > _RIDGE else damping
        y, (x, residual, value) = y + step, found
        if float(np.max(np.abs(residual))) < best[1]:
            best = x, float(np.max(np.abs(residual)))
        if best[1] <= 0.5 * mark:
            stalled_steps, mark = 0, best[1]
    return best[0]


def _newton_step(hessian: Array, residual: Array) -> Floats | None:
    """The Newton step, of least norm where the Hessian is singular; None if LAPACK fails."""
    try:
        return np.linalg.solve(hessian, residual)
    except np.linalg.LinAlgError:
        try:
            return np.linalg.lstsq(hessian, residual, rcond=None)[0]
        except np.linalg.LinAlgError:
            return None


def _at(
    y: Array, point: Array, low: Array, high: Array, sides: Array, target: Array, ease: Array
) -> tuple[Floats, Floats, float]:
    """x(y), the gradient of the dual, and its value."""
    x = np.clip(point + ease * (sides @ y), low, high)
    residual = target - sides.T @ x
    moved = np.divide((x - point) ** 2, 2.0 * ease, out=np.zeros_like(x), where=ease > 0.0)
    return x, residual, float(np.sum(moved) + y @ residual)
