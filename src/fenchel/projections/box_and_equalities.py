r"""The nearest point of a box with several linear equalities, by a semismooth Newton method on their multipliers.

.. math::
    \min_x\; \sum_i \frac{(x_i - m_i)^2}{2d_i} \quad\text{with } l \le x \le u,\ Z^Tx = z, \qquad
    x(y) = \mathrm{clip}(m + d\cdot Zy,\ l,\ u)

The dual :math:`\varphi(y) = \sum_i (x_i - m_i)^2/2d_i - y\cdot(Z^Tx - z)` at x(y) is concave with the gradient
:math:`z - Z^Tx(y)` and, where entries lie inside the box, the curvature :math:`-Z_A^T\,\mathrm{diag}(d_A)\,Z_A`.  An
entry with d = 0 stays.  If no point of the box meets the equalities, what comes nearest so far is returned: the caller
looks at what is left.

====================  ==============================================
symbol                here
====================  ==============================================
m, d                  ``point``, ``ease``
Z, z                  ``sides``, ``target``
y                     ``multipliers``
====================  ==============================================
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)
_STEPS, _HALVINGS = 200, 10
#: added to the curvature, relative to its largest entry: directions without any stay where they are
_RIDGE = 1e-14


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
    for _ in range(_STEPS):
        allowed = 2.0 * _EPS * (np.abs(sides.T) @ np.abs(x) + np.abs(target))
        if np.all(np.abs(left) <= allowed):
            break
        moving = (ease > 0.0) & (x > low) & (x < high)
        # where too few move for a step of Newton's method, the curvature as if all did is safe, if slow
        for curvature in (sides[moving].T @ (sides[moving] * ease[moving, None]), everywhere):
            found = _searched(y, left, height, curvature, lambda at: _at(at, point, low, high, sides, target, ease))
            if found is not None:
                break
        if found is None:
            break
        y, (x, left, height) = found
        if float(np.max(np.abs(left))) < best[1]:
            best = x, float(np.max(np.abs(left)))
    return best[0]


_Point = tuple[NDArray[np.float64], NDArray[np.float64], float]


def _searched(
    y: NDArray, left: NDArray, height: float, curvature: NDArray, at: Callable[[NDArray], _Point]
) -> tuple[NDArray[np.float64], _Point] | None:
    """A step that raises the dual enough, or leaves half of the equalities at most; None if there is none."""
    largest = float(np.max(np.diag(curvature)))
    if largest == 0.0:
        return None
    step = np.linalg.solve(curvature + _RIDGE * largest * np.eye(len(y)), left)
    rise, size = float(step @ left), 1.0
    for _ in range(_HALVINGS):
        found = at(y + size * step)
        smaller = float(np.max(np.abs(found[1]))) <= 0.5 * float(np.max(np.abs(left)))
        if smaller or found[2] >= height + 1e-4 * size * rise:
            return y + size * step, found
        size *= 0.5
    return None


def _at(
    y: NDArray, point: NDArray, low: NDArray, high: NDArray, sides: NDArray, target: NDArray, ease: NDArray
) -> _Point:
    """x(y), the gradient of the dual there, and the dual."""
    x = np.clip(point + ease * (sides @ y), low, high)
    left = target - sides.T @ x
    moved = np.divide((x - point) ** 2, 2.0 * ease, out=np.zeros_like(x), where=ease > 0.0)
    return x, left, float(np.sum(moved) + y @ left)
