r"""Proximal steps over dual points of several classes whose columns add up to zero: free intercepts.

The step of ``dual_sets`` with :math:`\sum_i\theta_i = 0`, k equalities of rank k - 1 (the rows add up to zero anyway).

.. math::
    \varphi(b) = \min_\theta\; R^*(-\theta) + \sum_i (s_i + b)\cdot\theta_i + q\,d(\theta - \bar\theta)

over the product of the examples' blocks is the step of each example for itself with b added to its scores.
:math:`\varphi` is concave with the gradient :math:`\sum_i\theta_i(b)`.  With A the entries of an example that are at no
bound, its step moves by the projection onto what adds up to zero there, for both risks (in eq. (4) of Wang and Scott
the entry of the label is always in A):

.. math::
    -\nabla^2\varphi = \sum_i \frac{c_i}q \Big(\mathrm{diag}(1_A) - \frac{1_A 1_A^T}{|A|}\Big) \preceq
    \frac1q \Big(I - \frac{1 1^T}k\Big)

1. A semismooth Newton step, from the multipliers of the last step of a like curvature; a ridge that falls with the
   gradient keeps it no longer than the scores reach.
2. Along it the slope falls; it is followed to where little of the slope is left.  No value of :math:`\varphi` is
   needed, in which digits would cancel.
3. For a small q, :math:`\varphi` is nearly piecewise linear, and many steps may be needed from far away.  If a few are
   not enough, q falls from the size of the scores on, a tenth at a time, each from the multipliers of the last.

The multipliers are intercepts: at the scores Xw with :math:`q = \mu` those that are best for the smoothed risk.  With
them :math:`J_\mu(w)` is a maximum over the blocks without the equalities, so that the gap of :math:`(w, b)` is at most
:math:`\mu D_2` with the width of the blocks.

==================  ==========================================
symbol              here
==================  ==========================================
:math:`\bar\theta`  ``centre``
q                   ``curvature``
b                   ``multipliers``
A                   ``moving``
==================  ==========================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)
#: what may be left of the sum of a column, relative to the mass of all entries
_LEFT = 1e-13
#: Newton steps from the last multipliers, and for each q where those are too far away; trials along a step
_FEW, _MANY, _TRIALS = 8, 30, 60
#: by which share q falls
_SHARE = 0.1
#: the ridge is at least this share of the largest curvature
_RIDGE = 1e-12
#: the share of the slope along a step that may be left, and the trials by secants before the bracket is halved
_FLAT, _SECANTS = 0.3, 6


class Blocks(Protocol):
    """The dual points of a risk of several classes, without the equalities."""

    risk: Any
    width: float

    def moved(
        self, centre: NDArray, scores: NDArray, curvature: float
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The minimizer, and which of its entries are at no bound."""
        ...

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        """A point of the blocks near theta."""
        ...


class BalancedClasses:
    """Blocks of several classes with free intercepts."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks, self.risk, self.width = blocks, blocks.risk, blocks.width
        #: two curvatures, those of mu and of L, with the multipliers of their last steps
        self._last: list[tuple[float, NDArray[np.float64]]] = []

    def step(self, centre: NDArray, scores: NDArray, curvature: float) -> NDArray[np.float64]:
        return self._solved(centre, scores, curvature).theta

    def intercepts(self, centre: NDArray, scores: NDArray, mu: float) -> NDArray[np.float64]:
        """Those of the smoothed risk, and from there exact steps along single classes; they add up to zero."""
        found = self._solved(centre, scores, mu).multipliers
        found = found - np.mean(found)
        return found + self.risk.best_intercept(scores + found)

    def feasible(self, theta: NDArray) -> NDArray[np.float64]:
        return self.risk.balance(self.blocks.feasible(theta), overwrite=True)[0]

    def _solved(self, centre: NDArray, scores: NDArray, curvature: float) -> _Look:
        # 1.
        dual, (start, place) = _Dual(self.blocks, centre, scores, curvature), self._start(curvature)
        found = dual.climbed(start, _FEW)
        # 3.
        if not found.done:
            q, start = max(dual.reach, curvature), np.zeros(self.risk.outputs)
            while q > curvature:
                start = replace(dual, curvature=q).climbed(start, _MANY).multipliers
                q = max(_SHARE * q, curvature)
            found = min(found, dual.climbed(start, _MANY), key=lambda look: look.worst)
        self._last[place : place + 1] = [(curvature, found.multipliers)]
        return found

    def _start(self, curvature: float) -> tuple[NDArray[np.float64], int]:
        """The multipliers of the curvature nearest to this one, and the place of what replaces them."""
        if not self._last:
            return np.zeros(self.risk.outputs), 0
        places = range(len(self._last))
        nearest = min(places, key=lambda place: abs(math.log(self._last[place][0] / curvature)))
        return self._last[nearest][1], nearest if len(self._last) == 2 else 1


class _Look(NamedTuple):
    """What multipliers lead to."""

    multipliers: NDArray[np.float64]
    theta: NDArray[np.float64]
    moving: NDArray[np.bool_]
    #: the sums of the columns, and what rounding may leave of them
    left: NDArray[np.float64]
    allowed: NDArray[np.float64]

    @property
    def worst(self) -> float:
        return float(np.max(np.abs(self.left)))

    @property
    def done(self) -> bool:
        return bool(np.all(np.abs(self.left) <= self.allowed))


@dataclass(frozen=True, eq=False)
class _Dual:
    """phi."""

    blocks: Blocks
    centre: NDArray[np.float64]
    scores: NDArray[np.float64]
    curvature: float

    @property
    def reach(self) -> float:
        """The size of the scores and margins."""
        return 1.0 + float(np.max(np.abs(self.scores)))

    def look(self, b: NDArray) -> _Look:
        theta, moving = self.blocks.moved(self.centre, self.scores + b, self.curvature)
        # the spacing of floats at the scores moves what is at no bound
        spacing = _EPS * (self.reach + float(np.max(np.abs(b)))) / self.curvature
        allowed = _LEFT * float(np.sum(np.abs(theta))) + spacing * (self.blocks.risk.shares @ moving)
        return _Look(b, theta, moving, np.sum(theta, axis=0), allowed)

    def climbed(self, start: NDArray, steps: int) -> _Look:
        """The look that leaves least of so many Newton steps, or the first that leaves no more than rounding."""
        here = best = self.look(start)
        for _ in range(steps):
            if here.done:
                break
            here = self._along(here, self._newton(here))
            best = min(best, here, key=lambda look: look.worst)
        return best

    def _newton(self, here: _Look) -> NDArray[np.float64]:
        """1."""
        shares, active = self.blocks.risk.shares, here.moving.astype(np.float64)
        sizes = np.maximum(np.sum(active, axis=1), 1.0)
        bend = np.diag(shares @ active) - active.T @ (active * (shares / sizes)[:, None])
        # along equal intercepts nothing changes: there they stay
        bend += 1.0 / len(bend)
        size = 0.5 * self.curvature * float(np.linalg.norm(here.left)) / self.reach
        bend[np.diag_indices_from(bend)] += min(max(size, _RIDGE), 1.0)
        return self.curvature * np.linalg.solve(bend, here.left)

    def _along(self, here: _Look, step: NDArray) -> _Look:
        """2."""
        first = float(step @ here.left)
        low, at_low, high, at_high, t = 0.0, first, math.inf, -first, 1.0
        for trial in range(_TRIALS):
            found = self.look(here.multipliers + t * step)
            slope = float(step @ found.left)
            if abs(slope) <= _FLAT * first:
                break
            if slope > 0.0:
                low, at_low = t, slope
            else:
                high, at_high = t, slope
            if high == math.inf:
                t *= 4.0
            elif trial < _SECANTS:
                t = low + min(max(at_low / (at_low - at_high), 0.01), 0.99) * (high - low)
            else:
                # the root may be many powers of ten away
                t = math.sqrt(low * high) if low > 0.0 else 0.01 * high
            if not low < t < high:
                break
        return found
