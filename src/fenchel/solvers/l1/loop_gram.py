r"""The lasso for one lambda after the other, by coordinate descent with the Gram matrix.

.. math:: \min_w\; \tfrac12 w^T G w - q\cdot w + \lambda\|w\|_1, \qquad G = X^T C X,\quad q = X^T C y

with the residuals :math:`r = y - Xw` and :math:`C = \mathrm{diag}(c)`, both of which are centred beside an intercept.
The covariance updates of Friedman, Hastie and Tibshirani (Journal of Statistical Software 33, 2010, Sec. 2.2) never
read X.  Neither does an estimate of the duality gap of :math:`\theta = t\,C r`, since :math:`X^T C r = q - Gw`,

.. math:: r^T C r = y^T C y - 2 q\cdot w + w^T G w, \qquad D(t\,C r) = t\,r^T C y - \tfrac12 t^2\,r^T C r

for the best t from 0 to :math:`\lambda/\max_j|q - Gw|_j`.  It cancels near a perfect fit, so it decides about the end
of the sweeps only.

==================  ============================================
symbol              argument
==================  ============================================
G, q                ``gram``, ``correlations``
:math:`y^T C y`     ``square``
:math:`Gw - q`      ``gradient``
==================  ============================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop
from fenchel.compile.primitives.anderson import ANDERSON_DEPTH
from fenchel.compile.primitives.coordinate_descent import extrapolate, sweep

#: soft thresholds over lam: above it by more than the rounding of q, so that the weights at the largest lam of a path
#: are zero, and by less than a thousandth of the tolerances that this estimate is used for
_THRESHOLD = 1.0 + 2.0**-40


@loop
def descend_path(
    gram: Any, correlations: Any, square: float, lams: Any, start: Any, tol: float, max_sweeps: int, weights: Any
) -> float:
    """Write the weights for each lam into a row of ``weights``, each from the last.

    A point ends after a sweep when its estimated relative gap is at most ``tol``, or after ``max_sweeps``.  Returns the
    largest of the relative gaps.
    """
    point, gradient = start.copy(), gram @ start - correlations
    iterates, gradients = np.empty((ANDERSON_DEPTH + 1, len(point))), np.empty((ANDERSON_DEPTH + 1, len(point)))
    largest = 0.0
    for k in range(len(lams)):
        thresholds, stored, gap = np.full(len(point), _THRESHOLD * lams[k]), 0, np.inf
        for _ in range(max_sweeps):
            if stored == 0:
                iterates[0], gradients[0], stored = point, gradient, 1
            sweep(gram, thresholds, point, gradient)
            gap = _relative_gap(correlations, square, lams[k], point, gradient)
            if gap <= tol:
                break
            iterates[stored], gradients[stored], stored = point, gradient, stored + 1
            # a sweep follows, which sets weights to zero that the extrapolation moved across it
            if stored > ANDERSON_DEPTH:
                extrapolate(iterates, gradients, thresholds, point, gradient)
                stored = 0
        weights[k], largest = point, max(largest, gap)
    return largest


@helper
def _relative_gap(correlations: Any, square: float, lam: float, point: Any, gradient: Any) -> float:
    """The estimate of the gap, relative to P; infinite for a perfect fit."""
    norm, explained, product, largest = 0.0, 0.0, 0.0, 0.0
    for j in range(len(point)):
        norm += abs(point[j])
        explained += correlations[j] * point[j]
        product += gradient[j] * point[j]
        largest = max(largest, abs(gradient[j]))
    residual, along = square - explained + product, square - explained
    primal = 0.5 * residual + lam * norm
    if not residual > 0.0 or not primal > 0.0:
        return np.inf
    # r points away from y where the weights are much too large: a negative t would have a bound of its own
    scale = max(0.0, min(along / residual, lam / largest if largest > 0.0 else np.inf))
    return (primal - scale * (along - 0.5 * scale * residual)) / primal
