r"""The inner problem of a bundle method: the best mixture of planes.

.. math::
    \min_w\; \tfrac\kappa2\|w\|^2 + \tau\|w\|_1 - p\cdot w + \max_j\,(g_j\cdot w + c_j) \;=\;
    \max_{\alpha\in\Delta}\; c\cdot\alpha - \tfrac\kappa2\|w(\alpha)\|^2, \qquad
    w(\alpha) = \tfrac1\kappa S_\tau\bigl(p - \textstyle\sum_j\alpha_j g_j\bigr)

with the soft threshold :math:`S_\tau`.  The square has :math:`\kappa = \lambda, \tau = 0`; the elastic net
:math:`\kappa = \lambda(1-\rho), \tau = \lambda\rho`; a proximal term :math:`\tfrac\mu2\|w - \hat w\|^2` adds
:math:`\mu` to :math:`\kappa` and :math:`\mu\hat w` to p.

The dual is quadratic (piecewise so with a threshold).  Its slopes are the values of the planes,
:math:`e_j = g_j\cdot w + c_j`, computed from the planes themselves and not from their Gram matrix, so that what
cancels in :math:`\sum\alpha_j g_j` does not limit the accuracy.  Each round maximizes a quadratic with these slopes
over the simplex exactly (``loops.simplex``) and searches the way to its maximizer: a semismooth Newton method.
The value never falls, so a start from the last weights never lowers the bound.  :math:`\max e - \alpha\cdot e` is the
gap of the inner problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.solvers.bundle.loop import climb
from fenchel.solvers.bundle.planes import Planes

#: rounds at most, without and with a threshold; a handful is enough, the rest is for degenerate planes
_ROUNDS, _THRESHOLD_ROUNDS = 20, 100
#: the ridge that makes a quadratic strictly concave: relative to the curvature of each plane, and to the inner gap (the
#: latter is raised where rounding is in the way)
_RIDGE, _SLACK_RIDGE, _MOST_SLACK = 1e-12, 1e-6, 1e-2
#: pivots in one round: so many, and so many more for each plane
_PIVOTS, _PIVOTS_PER_PLANE = 100, 4
#: a step of Newton's method is taken whole if the slope has fallen to this share at its end
_WHOLE = 1e-7
#: how much curvature of thresholded weights is added: at first, at least
_DAMPING, _LEAST_DAMPING = 1e-4, 1e-9
#: steps of the search along a line
_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Penalty:
    """kappa, tau and p."""

    curvature: float
    threshold: float
    pull: NDArray[np.float64] | float = 0.0

    def weights(self, dual: NDArray) -> NDArray[np.float64]:
        """w from p - sum alpha g."""
        if self.threshold == 0.0:
            return dual / self.curvature
        return np.copysign(np.maximum(np.abs(dual) - self.threshold, 0.0), dual) / self.curvature


@dataclass(frozen=True, eq=False)
class Optimum:
    """The weights of the planes, w, the value of the dual, and how far below the optimum it may be."""

    mixture: NDArray[np.float64]
    weights: NDArray[np.float64]
    value: float
    gap: float


def best_mixture(planes: Planes, penalty: Penalty, start: NDArray, tolerance: float) -> Optimum:
    """The best mixture of planes, from ``start``, with an inner gap of at most ``tolerance`` (or rounding)."""
    vectors, offsets = planes.vectors, planes.offsets
    best, damping, slack = _judged(planes, penalty, start), _DAMPING, _SLACK_RIDGE
    rounding = 4.0 * float(np.finfo(np.float64).eps) * float(np.max(np.abs(offsets)))
    for _ in range(_THRESHOLD_ROUNDS if penalty.threshold > 0.0 else _ROUNDS):
        if best.gap <= tolerance:
            break
        mixture = best.mixture.copy()
        dual = penalty.pull - mixture @ vectors
        # changes add up to zero, so a constant does not matter; the heaviest plane takes the rest of a change, which
        # may be too small for its weight to show
        heaviest = int(np.argmax(mixture))
        slopes = vectors @ best.weights + offsets
        slopes -= slopes[heaviest]
        _climb(planes, penalty, dual, slopes, mixture, best.gap, damping, slack)
        # the weights of planes that nearly depend on each other lose digits: their sum first
        mixture /= np.sum(mixture)
        change = mixture - best.mixture
        change[heaviest] = 0.0
        change[heaviest] = -np.sum(change)
        size = _step(penalty, dual, best.weights, change @ vectors, float(slopes @ change))
        if size < 1.0:
            mixture = best.mixture + size * change
        found = _judged(planes, penalty, np.maximum(mixture, 0.0))
        noise = rounding
        if tolerance == 0.0:
            # as exactly as floats allow: the value has a second term, which is rounded too
            noise += 4.0 * float(np.finfo(np.float64).eps) * penalty.curvature * float(found.weights @ found.weights)
        closer = found.gap < 0.5 * best.gap and found.value >= best.value - noise
        if not closer and not found.value > best.value + rounding:
            best = found if found.value > best.value else best
            if slack >= _MOST_SLACK:
                # nothing can be won beyond rounding
                break
            # shorter steps, which lose fewer digits
            damping, slack = 1.0, 100.0 * slack
            continue
        damping = min(10.0 * damping, 1.0) if size < 0.3 else max(0.1 * damping, _LEAST_DAMPING)
        best = found
    return best


def _judged(planes: Planes, penalty: Penalty, mixture: NDArray) -> Optimum:
    mixture = mixture / np.sum(mixture)
    weights = penalty.weights(penalty.pull - mixture @ planes.vectors)
    values = planes.vectors @ weights + planes.offsets
    gap = float(np.max(values) - mixture @ values)
    value = float(planes.offsets @ mixture) - 0.5 * penalty.curvature * float(weights @ weights)
    return Optimum(mixture, weights, value, gap)


def _climb(
    planes: Planes,
    penalty: Penalty,
    dual: NDArray,
    slopes: NDArray,
    mixture: NDArray,
    gap: float,
    damping: float,
    slack: float,
) -> None:
    """Move the mixture to the maximizer of the quadratic at hand; all is multiplied by kappa."""
    count = planes.count
    gram = planes.gram
    if penalty.threshold > 0.0:
        moving = planes.vectors[:, np.abs(dual) > penalty.threshold]
        gram = moving @ moving.T + damping * gram[:count, :count]
    scale = penalty.curvature
    ridge = _RIDGE * np.diagonal(gram)[:count] + slack * scale * gap + np.finfo(np.float64).tiny
    most = _PIVOTS + _PIVOTS_PER_PLANE * count
    climb(gram, scale * slopes, ridge, mixture, 1e-3 * scale * gap * _WHOLE, most)


def _step(penalty: Penalty, dual: NDArray, weights: NDArray, change: NDArray, start: float) -> float:
    """How far to go along a change of sum alpha g: where the slope, ``start`` at first, vanishes; at most 1."""

    def slope(size: float) -> float:
        return start + float((penalty.weights(dual - size * change) - weights) @ change)

    if start <= 0.0:
        return 0.0
    end = slope(1.0)
    if end >= -_WHOLE * start:
        return 1.0
    low, high, rising, falling = 0.0, 1.0, start, end
    for _ in range(_HALVINGS):
        middle = low + (high - low) * rising / (rising - falling)
        value = slope(middle)
        if abs(value) <= _WHOLE * start or not low < middle < high:
            return middle
        # the end that stays counts half (Illinois), so that both ends move
        if value > 0.0:
            low, rising, falling = middle, value, 0.5 * falling
        else:
            high, falling, rising = middle, value, 0.5 * rising
    return low
