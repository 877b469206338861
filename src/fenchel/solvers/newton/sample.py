r"""A sample of the examples with all sums that Newton's method needs over it, shared among threads (``parts``).

==========================  =======================================================================
symbol                      here
==========================  =======================================================================
:math:`c_i` (sum to one)    ``shares``, of the sample
:math:`s_i`                 ``scores``, with the intercept
:math:`\bar\alpha_i`        ``centre`` of the smoothing
:math:`\theta_i = c_i a_i`  ``theta``, the dual point of the smoothed loss at the scores
:math:`c_i h_i`             ``bend``, the curvature of the smoothed loss there
==========================  =======================================================================
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.primitives.example_sums import bend_along, mean_bend, multiply, pull, slope_along, slopes
from fenchel.problem import Problem
from fenchel.solvers.threads import Parts, weighted_gram


class Sample:
    """Some rows of a problem (one output), and sums over them."""

    def __init__(self, problem: Problem, labels: NDArray, selected: NDArray, pool: ThreadPoolExecutor | None) -> None:
        self.design, self.loss, self.rows = problem.design, problem.mean_risk.loss.compiled(), problem.design.rows()
        self.selected = selected
        self.labels = np.ascontiguousarray(labels[selected])
        shares = problem.risk.shares[selected]
        self.shares = shares / np.sum(shares)
        count, self.features = len(selected), self.design.shape[1]
        self.scores, self.change = np.zeros(count), np.zeros(count)
        self.centre, self.theta, self.bend = np.zeros(count), np.zeros(count), np.zeros(count)
        self.parts = Parts(self.design, pool, count)

    def multiply(self, weights: NDArray, intercept: float, result: NDArray) -> None:
        """X w + b into ``result``."""
        self.parts.each(lambda begin, end: multiply(self.rows, self.selected, weights, result, begin, end))
        result += intercept

    def slopes(self, mu: float) -> tuple[float, float]:
        """Dual point and curvature at the present scores; the gap that smoothing leaves, and the sum of theta."""
        found = self.parts.each(
            lambda begin, end: slopes(
                self.loss, self.labels, self.shares, self.centre, self.scores, mu, self.theta, self.bend, begin, end
            )
        )
        return sum(gap for gap, _ in found), sum(total for _, total in found)

    def mean_bend(self, mu: float, radius: float) -> None:
        """The curvature averaged over scores up to ``radius`` away, instead of the one at the scores."""
        self.parts.each(
            lambda begin, end: mean_bend(
                self.loss, self.labels, self.shares, self.centre, self.scores, mu, radius, self.bend, begin, end
            )
        )

    def slope_along(self, step: float, mu: float) -> tuple[float, float]:
        """First and second derivative of the smoothed risk along ``change``."""
        found = self.parts.each(
            lambda begin, end: slope_along(
                self.loss, self.labels, self.shares, self.centre, self.scores, self.change, step, mu, begin, end
            )
        )
        return sum(first for first, _ in found), sum(second for _, second in found)

    def pull(self) -> NDArray[np.float64]:
        """X^T theta."""

        def part(begin: int, end: int) -> NDArray:
            result = np.zeros(self.features)
            pull(self.rows, self.selected, self.theta, result, begin, end)
            return result

        return sum(self.parts.each(part))

    def bend_along(self, band: NDArray, weights: NDArray, intercept: float) -> tuple[NDArray[np.float64], float]:
        """X^T diag(bend) (X w + b) over the positions in ``band``, and the sum of bend (X w + b)."""
        selected, bend = self.selected[band], self.bend[band]

        def part(begin: int, end: int) -> tuple[NDArray, float]:
            result = np.zeros(self.features)
            return result, bend_along(self.rows, selected, bend, weights, intercept, result, begin, end)

        found = self.parts.each(part, len(band))
        return sum(product for product, _ in found), sum(total for _, total in found)

    def gram(self, band: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """X^T diag(bend) X and X^T bend over the positions in ``band``."""
        return weighted_gram(self.design, self.selected[band], self.bend[band], self.parts)
