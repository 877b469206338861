r"""The best multiple of a dual point, for regularizers whose conjugate is finite on a bounded set only.

The conjugate of the lasso (L1) is the indicator of the unit ball, so :math:`\theta` is feasible only if
:math:`\max_j |X^T\theta|_j \le \lambda`, which the dual point of a solver never satisfies exactly.  Its multiples do:

.. math::
    \max_{0\le t\le T}\; D(t\theta) = - R^*(-t\theta), \qquad T = \max\,\{t : \Omega^*(t v) = 0\}, \quad
    v = X^T\theta/\lambda

with the regularizer's ``largest_scale`` T, or the risk's, if that is smaller.  D is concave in t.  Near the optimum it
still increases at T, with the derivative :math:`\theta\cdot s \approx \lambda\,\Omega(w)`, so T is taken unless D is
larger a little before it; for T < 1 it is not if D is no less at 1, as D is concave.  Every multiple is a valid bound,
so the search need not be accurate.  :math:`\sum\theta = 0` holds for all of them.

Where :math:`R^*` has no closed form, :math:`R^*(-t\theta) \le t R^*(-\theta) + (1-t) R^*(0)` for t up to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.rounding import adjoint_spread
from fenchel.numerics.rounding import tree_depth
from fenchel.problem import Problem
from fenchel.risks.decomposition import DecomposedForm
from fenchel.risks.protocols import ClosedForm

#: distance of the second evaluation from T, relative to T
_BEFORE = 1e-3
#: the accuracy of the search, relative to the interval, and its evaluations at most
_ACCURACY, _STEPS = 1e-4, 40
#: doublings of t at most
_DOUBLINGS = 40
#: roundings of theta, beside those of a sum, by which a multiple may be moved when it is mapped into the domain
_MOVED = 32.0
_LARGEST = float(np.finfo(np.float64).max)


def largest_multiple(
    problem: Problem, theta: Array, v: Array, decomposed: DecomposedForm | None = None, sums: Floats | None = None
) -> float:
    """T, whatever the error of v and of a multiple; infinite if every multiple is feasible.

    ``sums`` are the ``absolute_sums`` of theta, where they are known.
    """
    # by an error of one: v itself may have rounded to zero, of which every multiple is feasible
    most = problem.regularizer.largest_scale(v, 1.0)
    if math.isinf(most):
        return most
    # the multiple is rounded, and mapped into the domain once more
    moved = tree_depth(len(theta)) + _MOVED
    known = None if sums is None else (sums, None)
    spread = adjoint_spread(problem, theta, fine=False, moved=moved, decomposed=decomposed, known=known)
    return problem.regularizer.largest_scale(v, spread.largest)


def best_multiple(
    problem: Problem,
    theta: Array,
    v: Array,
    conjugate: float,
    closed_form: ClosedForm | None,
    decomposed: DecomposedForm | None = None,
) -> tuple[float, float]:
    """The t of the best bound, 1 if every multiple is feasible, and R*(-t theta), or the bound on it.

    ``conjugate`` is R*(-theta).  Where it was taken on trust, only scales t <= 1 are tried.
    """
    most = largest_multiple(problem, theta, v, decomposed)
    if math.isinf(most) or not math.isfinite(conjugate):
        return 1.0, conjugate
    if closed_form is None:
        return min(most, 1.0), conjugate
    # t <= 1 keeps theta in the domain of R*; the risk bounds larger t
    if most > 1.0:
        most = min(most, closed_form.largest_scale(theta))

    conjugates: dict[float, float] = {}

    def bound(t: float) -> float:
        found = conjugates[t] = conjugate if t == 1.0 else closed_form.conjugate(t * theta, feasible=True)
        return -found if math.isfinite(found) else -_LARGEST

    end = min(most, 1.0)
    tried = {end: bound(end)}
    if end < 1.0 and tried[end] > -_LARGEST and -conjugate >= tried[end]:
        # D is concave: it rises up to the end if it is not less at 1
        return end, conjugates[end]
    for _ in range(_DOUBLINGS):
        if end >= most or tried[end] < max(tried.values()):
            break
        end = min(2.0 * end, most)
        tried[end] = bound(end)
    before = (1.0 - _BEFORE) * end
    tried[before] = bound(before)
    if tried[before] > tried[end]:
        tried[0.0] = bound(0.0)
        _climb(bound, tried, _ACCURACY * end)
    best = max(tried, key=lambda t: tried[t])
    return best, conjugates[best]


def _climb(bound: Callable[[float], float], tried: dict[float, float], accuracy: float) -> None:
    """Evaluate a concave function where parabolas through its best point and the next ones on both sides are largest.

    The first parabola is D itself for squared losses.  Every third evaluation bisects the longer side, since those of
    parabolas may all be on one side of the maximum.
    """
    for step in range(_STEPS):
        points = sorted(tried)
        k = max(range(len(points)), key=lambda j: tried[points[j]])
        low, best, high = points[max(k - 1, 0)], points[k], points[k + 1]
        found = math.nan
        if low < best:
            rise, fall = (tried[best] - tried[low]) / (best - low), (tried[best] - tried[high]) / (high - best)
            # the slopes in the middle of both sides, between which that of a parabola is linear
            found = 0.5 * (low + best) + 0.5 * (high - low) * (rise / (rise + fall) if rise + fall > 0.0 else math.nan)
        if abs(found - best) <= accuracy or high - low <= accuracy:
            return
        if step % 3 == 2 or not low < found < high:
            found = 0.5 * (low + best) if best - low > high - best else 0.5 * (best + high)
        tried[found] = bound(found)
