r"""What the floats of a mean of losses are off by.

.. math:: R(s) = \sum_i c_i f(s_i, y_i), \qquad R^*(-\theta) = \sum_i c_i f^*(-\theta_i / c_i, y_i)

The terms are those of ``MeanRisk``; their sums are trees (``numerics.rounding``).  A loss bounds its own errors.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.losses import Loss
from fenchel.numerics.rounding import SMALLEST_SIZE, gamma, tree_depth, tree_sum
from fenchel.risks.base import Risk

#: covers roundings of sums of non-negative terms
_UPWARDS = 1.0 + 1e-6


class RoundedMean(Risk):
    """The terms of a mean of losses, and bounds on subgradients and on rounding errors; ``MeanRisk`` is complete."""

    loss: Loss
    labels: Floats

    def subgradient_norm_bound(self) -> float:
        """From the domain of the conjugate, where that is bounded."""
        return self._largest_subgradient * (self.outputs or 1)

    def subgradient_norm_bound_near(self, value: float, radius: float) -> float:
        r"""The sum of :math:`c_i|f'_i|` is at most :math:`\sqrt{2LR}`, since :math:`f'^2 \le 2Lf` if :math:`f \ge 0`.

        L bounds f''.  Scores that move by a radius r add Lr to a slope; the computed R is that of scores that have
        moved by r, whose :math:`\sqrt{2LR}` exceeds the exact one by at most :math:`2.8\,Lr`.
        """
        curvature, largest = self.loss.largest_curvature, self.subgradient_norm_bound()
        if not self.loss.bounded_below or not 0.0 <= value < math.inf or math.isinf(curvature):
            return largest
        total = curvature * (self.outputs or 1)
        return min(largest, _UPWARDS * (math.sqrt(2.0 * total * value) + 4.0 * total * radius))

    @cached_property
    def _largest_subgradient(self) -> float:
        # numbers where a custom loss has one interval for all labels; methods take less time than functions of NumPy
        low, high = map(np.asarray, self.loss.domain(self.labels))
        return max(-float(low.min()), float(low.max()), -float(high.min()), float(high.max()))

    def label_sizes(self) -> Floats:
        return self.loss.score_offset(self.labels)

    @cached_property
    def largest_label(self) -> float:
        return float(np.max(self.label_sizes()))

    @property
    def roundings(self) -> float:
        """Those of a loss, of c_i, of their product, and of the sum of the losses."""
        return self.loss.roundings + self.mean_roundings

    @property
    def score_roundings(self) -> float:
        """Those of a loss; only losses >= 0 are known to be bounded by their mean."""
        return self.loss.score_roundings if self.loss.bounded_below else self.roundings

    @property
    def mean_roundings(self) -> float:
        """Those of c_i, of its product with a term, and of the sum."""
        return self.share_roundings + 1.0 + tree_depth(self.labels.size)

    def _conjugate_roundings(self, of_mean: float) -> tuple[float, float]:
        """Those of R*, and of theta_i / c_i in it; ``of_mean`` are ``mean_roundings``."""
        own, of_u = self.loss.conjugate_roundings
        # c f*(-theta / c) moves by no more than both sizes for each rounding of c; the quotient is rounded too
        return own + of_mean, of_u + self.share_roundings + 1.0

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        slope = self.loss.largest_conjugate_slope
        if not fine and (math.isfinite(slope) or self.loss.piecewise_quadratic() is not None):
            return self.rough_conjugate_error(float(np.sum(np.abs(theta))), conjugate)
        return tree_sum(self.conjugate_error_terms(theta, self.mean_roundings))

    def rough_conjugate_error(self, size: float, conjugate: float) -> float:
        """``conjugate_error`` from the 1-norm of theta, for a loss whose f* is piecewise quadratic or Lipschitz."""
        slope = self.loss.largest_conjugate_slope
        linear = self.largest_label * (size + SMALLEST_SIZE * self.labels.size)
        if math.isfinite(slope):
            total = abs(conjugate) + abs(self.conjugate_at_zero) + 2.0 * slope * linear
        else:
            # |f*| + |u| slope <= 2 |u| l + 3/2 kappa u^2, and kappa u^2/2 <= f* + |u| l, with l the label's size
            total = _UPWARDS * (2.0 * linear + 3.0 * max(conjugate + linear, 0.0))
        return gamma(max(self._conjugate_roundings(self.mean_roundings))) * total

    def conjugate_error_terms(self, theta: Array, of_mean: float) -> Floats:
        """Bounds on the errors of the terms of R*(-theta) and of their sum, if that has ``of_mean`` roundings."""
        (own, of_u), u = self._conjugate_roundings(of_mean), -self._per_share(theta)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sizes = gamma(own) * self._shares * np.abs(self.loss.conjugate(u, self.labels))
            # theta_i / c_i may underflow
            slopes = (np.abs(theta) + SMALLEST_SIZE) * self.loss.conjugate_slope(u, self.labels)
            sizes += np.where(u == 0.0, 0.0, gamma(of_u) * slopes)
        return sizes

    @property
    def _shares(self) -> Floats:
        return self.shares if self.outputs is None else self.shares[:, None]

    def _shared(self, losses: Array) -> Floats:
        """The losses times c_i."""
        if self.loss.overflows:
            # an infinite loss times a zero weight is zero
            losses = np.where(self._shares > 0, losses, 0.0)
        return self._times_shares(losses)

    def _times_shares(self, values: Array) -> Floats:
        # one number for all rows takes a quarter of the time of a column of them
        return values * (float(self.shares[0]) if self._weights is None else self._shares)

    def _per_share(self, theta: Array) -> Floats:
        theta = np.asarray(theta, dtype=np.float64)
        if self._weights is None:
            return theta * float(self.examples)
        shares = np.broadcast_to(self._shares, theta.shape)
        return np.divide(theta, shares, out=np.zeros_like(theta), where=shares > 0)
