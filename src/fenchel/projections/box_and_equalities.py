r"""The nearest point of a box with several linear equalities, by a semismooth Newton method on their multipliers.

.. math::
    \min_x\; \sum_i \frac{(x_i - m_i)^2}{2d_i} \quad\text{with } l \le x \le u,\ Z^Tx = z, \qquad
    x(y) = \mathrm{clip}(m + d\cdot Zy,\ l,\ u)

The dual :math:`\varphi(y) = \sum_i (x_i - m_i)^2/2d_i - y\cdot(Z^Tx - z)` at x(y) is concave with the gradient
:math:`z - Z^Tx(y)` and, where entries lie inside the box, the curvature :math:`-Z_A^T\,\mathrm{diag}(d_A)\,Z_A`.  An
entry with d = 0 stays.  A share of the curvature as if all entries were inside, which is certain to be enough, damps
the steps where too few of them are.  If no point of the box meets the equalities, what comes nearest so far is
returned: the caller looks at what is left.

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
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)
_STEPS = 100
#: steps without half of what is left being met: no point meets it
_PATIENCE = 20
#: added to the curvature, relative to its largest entry: directions without any stay where they are
_RIDGE = 1e-14
#: the share of the damping to begin with, and the factor by which it falls and rises
_DAMPING, _FACTOR = 1e-4, 10.0


def onto_box_and_equalities(
    point: NDArray, low: NDArray, high: NDArray, sides: NDArray, target: NDArray, ease: NDArray
) -> NDArray[np.float64]:
    """The nearest point, as far as floats go."""
    point = np.clip(point, low, high)
    sizes = np.max(np.abs(sides), axis=0)
    sizes[sizes == 0.0] = 1.0
    sides, target = sides / sizes, target / sizes
    y = np.zeros(len(target))
    x, left, height = _at(y, point, low, high, sides, target, ease)
    best = x, float(np.max(np.abs(left)))
    everywhere = sides.T @ (sides * ease[:, None])
    everywhere[np.diag_indices_from(everywhere)] += _RIDGE * float(np.max(np.diag(everywhere), initial=0.0)) or 1.0
    damping, waiting, mark = _DAMPING, 0, best[1]
    for _ in range(_STEPS):
        allowed = 2.0 * _EPS * (np.abs(sides.T) @ np.abs(x) + np.abs(target))
        if np.all(np.abs(left) <= allowed) or waiting >= _PATIENCE:
            break
        waiting += 1
        moving = np.where((x > low) & (x < high), ease, 0.0)
        step = _solved((sides * moving[:, None]).T @ sides + damping * everywhere, left)
        if step is None:
            break
        found = _at(y + step, point, low, high, sides, target, ease)
        smaller = float(np.max(np.abs(found[1]))) <= 0.5 * float(np.max(np.abs(left)))
        if not (smaller or found[2] > height + 1e-4 * float(step @ left)):
            if damping >= 1.0:
                # the dual can't be told from what it was: this is all that floats can do
                break
            damping = min(_FACTOR * max(damping, _DAMPING), 1.0)
            continue
        damping = damping / _FACTOR if damping > _RIDGE else damping
        y, (x, left, height) = y + step, found
        if float(np.max(np.abs(left))) < best[1]:
            best = x, float(np.max(np.abs(left)))
        if best[1] <= 0.5 * mark:
            waiting, mark = 0, best[1]
    return best[0]


def _solved(curvature: NDArray, left: NDArray) -> NDArray[np.float64] | None:
    """Newton's step, the shortest one where fewer entries can move than there are equalities; None if there is none."""
    try:
        return np.linalg.solve(curvature, left)
    except np.linalg.LinAlgError:
        try:
            return np.linalg.lstsq(curvature, left, rcond=None)[0]
        except np.linalg.LinAlgError:
            return None


def _at(
    y: NDArray, point: NDArray, low: NDArray, high: NDArray, sides: NDArray, target: NDArray, ease: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """x(y), the gradient of the dual there, and the dual."""
    x = np.clip(point + ease * (sides @ y), low, high)
    left = target - sides.T @ x
    moved = np.divide((x - point) ** 2, 2.0 * ease, out=np.zeros_like(x), where=ease > 0.0)
    return x, left, float(np.sum(moved) + y @ left)
