r"""The best multiple of a dual point, for regularizers whose conjugate is finite on a bounded set only.

The conjugate of the absolute values is the indicator of the unit ball, so :math:`\theta` proves something only if
:math:`\max_j |X^T\theta|_j \le \lambda`, which the dual point of a solver never reaches exactly.  Its multiples do:

.. math::
    \max_{0\le t\le T}\; D(t\theta) = - R^*(-t\theta), \qquad T = \max\,\{t : \Omega^*(t v) = 0\}, \quad
    v = X^T\theta/\lambda

with the regularizer's ``largest_scale`` T, or the risk's, if that is smaller.  D is concave in t.  Near the optimum it
still rises at T: its slope there is :math:`\theta\cdot s \approx \lambda\,\Omega(w)`, so T itself is taken unless a
look a little before it says otherwise.  Every multiple proves something, so the search need not be accurate.
:math:`\sum\theta = 0` holds for all of them.

Where :math:`R^*` has no closed form, :math:`R^*(-t\theta) \le t R^*(-\theta) + (1-t) R^*(0)` for t up to 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from fenchel.problem import Problem
from fenchel.risks.base import ClosedForm

#: how far before the end of the interval the other look is
_BEFORE = 1e-3
#: the accuracy of the search, relative to the interval
_ACCURACY = 1e-4
#: doublings of a multiple that is too short
_DOUBLINGS = 40
_LARGEST = float(np.finfo(np.float64).max)


def best_multiple(
    problem: Problem, theta: NDArray, dual: NDArray, conjugate: float, closed_form: ClosedForm | None
) -> float:
    """The t of the best bound; 1 if the regularizer leaves the choice to the solver.

    ``conjugate`` is R*(-theta).  Where that was taken on trust, only what is convex combination with zero is tried.
    """
    most = problem.regularizer.largest_scale(dual)
    if math.isinf(most) or not math.isfinite(conjugate):
        return 1.0
    if closed_form is None:
        return min(most, 1.0)
    # a theta in the domain of R* may be shortened, and lengthened if the risk tells how far
    most = min(most, closed_form.largest_scale(theta))

    def bound(t: float) -> float:
        found = conjugate if t == 1.0 else closed_form.conjugate(t * theta, feasible=True)
        return -found if math.isfinite(found) else -_LARGEST

    end = min(most, 1.0)
    tried = {end: bound(end)}
    for _ in range(_DOUBLINGS):
        if end >= most or tried[end] < max(tried.values()):
            break
        end = min(2.0 * end, most)
        tried[end] = bound(end)
    before = (1.0 - _BEFORE) * end
    tried[before] = bound(before)
    if tried[before] > tried[end]:
        options = {"xatol": _ACCURACY * end}
        found = minimize_scalar(lambda t: -bound(t), bounds=(0.0, end), method="bounded", options=options)
        tried[float(found.x)] = -float(found.fun)
    return max(tried, key=lambda t: tried[t])
