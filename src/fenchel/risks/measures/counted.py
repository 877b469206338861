r"""Measures with Delta = fn/n+ and one bound on the number of predicted positives: break-even point and recall at k.

A box with one integer constraint on a sum has integer vertices, which are the labellings, so the conjugate and the
smoothing have closed forms.  With the surplus p of predicted positives that the measure allows at most (or exactly)

.. math::
    R^*(-\theta) = -\frac{n}{n_+}\sum_{y_i = 1}\theta_i, \qquad 0 \le y_i\theta_i \le \frac1n, \quad
    \sum\theta \ge -\frac pn \text{ (or equal)}

With x = n theta and the gains :math:`g_i = n/n_+ - s_i` of positives and :math:`g_j = -s_j` of negatives

.. math:: R_\mu(s) = \max_x\; \tfrac1n\,(g\cdot x - \tfrac\mu2\|x\|^2), \qquad
          0 \le yx \le 1,\ \textstyle\sum x \ge -p \text{ (or equal)}

is a projection onto a box with one equality, where Algs. 2 and 3 of Zhang, Saha and Vishwanathan (2012) sort.
"""

from __future__ import annotations

import abc

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.projections import onto_box_and_sum
from fenchel.risks.measures.contingency import CountBound, DiagonalRisk
from fenchel.risks.measures.enclosures import EnclosedCounts
from fenchel.risks.protocols import ClosedForm, Smoothable
from fenchel.risks.smoothing import Smoothed


class CountedRisk(DiagonalRisk):
    """Base class of both; a subclass sets the bound, projects onto the domain and has a smoothing range."""

    bound: CountBound

    def closed_form(self) -> ClosedForm:
        return self

    def decomposable(self) -> None:
        """None: the closed form needs no decomposition."""

    def smoothable(self) -> Smoothable:
        return self

    def enclosure(self) -> EnclosedCounts:
        return EnclosedCounts(self.labels, self.bound.surplus, self.bound.equality)

    def count_bound(self) -> CountBound:
        return self.bound

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta): infinite outside the domain (beyond rounding); ``feasible``: theta came from ``project``."""
        theta = np.asarray(theta, dtype=np.float64)
        if not feasible:
            outside = np.max(np.abs(theta - self._clipped(theta))) * self.examples
            missing = -self.room - exact_sum(theta)
            if max(outside, abs(missing) if self.bound.equality else missing) > DOMAIN_TOLERANCE:
                return np.inf
        return -(self.examples / self.n_pos) * float(np.sum(theta[self.positives], dtype=np.longdouble))

    @abc.abstractmethod
    def project(self, theta: Array) -> Floats:
        """A point of the domain near theta."""

    @property
    @abc.abstractmethod
    def smoothing_range(self) -> float:
        """D: the largest sum of beta^2/2, over n."""

    @property
    def room(self) -> float:
        """Minus the smallest allowed sum of theta."""
        return self.bound.surplus / self.examples

    def _clipped(self, theta: Array) -> Floats:
        """Theta clipped to the box."""
        return self.labels * np.clip(self.labels * np.asarray(theta, dtype=np.float64), 0.0, 1.0 / self.examples)

    def smoothed(self, scores: Array, mu: float) -> Smoothed:
        """R smoothed with mu > 0: Theorem 7 of the paper, by a projection."""
        labels, n, (surplus, exact) = self.labels, self.examples, self.bound
        gains = np.where(labels > 0.0, n / self.n_pos, 0.0) - scores
        low, high, count = np.minimum(labels, 0.0), np.maximum(labels, 0.0), self.n_pos + surplus
        # without mu the best x predicts positive where -g is largest: count times, or as often as it is positive
        by_gain = np.partition(gains, count) if count < n else gains
        best = -by_gain[:count]
        risk = float(np.sum(gains[labels > 0.0])) + float(np.sum(best if exact else np.maximum(best, 0.0)))
        with np.errstate(over="ignore"):
            x = np.clip(gains / mu, low, high)
        if exact or float(np.sum(x)) < -surplus:
            # start the search at the threshold for mu = 0
            x = onto_box_and_sum(gains, low, high, -float(surplus), mu, float(by_gain[min(count, n - 1)]))
        attained, square = float(gains @ x), float(x @ x)
        return Smoothed((attained - 0.5 * mu * square) / n, x / n, risk / n, max(0.0, risk - attained) / n)
