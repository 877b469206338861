r"""Probabilities of held-out scores: a logistic regression of the labels on a quadratic function of the score.

.. math:: p(s) = \frac{1}{1 + e^{-(a_0 + a_1 u + a_2 u^2)}}, \qquad u = \frac{s - \bar s}{\mathrm{std}(s)}

minimizes the log-loss with the targets of Platt [1]_, :math:`(n_+ + 1)/(n_+ + 2)` for positives and
:math:`1/(n_- + 2)` for negatives, which keep it finite where the scores separate the classes.  Platt's curve is linear
in the score; scores of linear models that miss a curvature of the classes, or with costs, need the quadratic term [2]_.

.. [1] J. Platt. "Probabilities for SV machines." Advances in Large Margin Classifiers, 1999.
.. [2] M. Kull, T. Silva Filho and P. Flach. "Beyond sigmoids." Electronic Journal of Statistics 11, 2017, has three
       parameters for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fenchel.arrays import Array, Floats

#: the ridge penalty that makes the minimizer unique where scores have one or two values
_RIDGE = 1e-6
_MOST_STEPS = 100
#: Newton's decrement, in units of the log-loss of one example, below which no cut changes
_DECREMENT = 1e-12


@dataclass(frozen=True, eq=False)
class Calibration:
    """The probability of a positive as a function of the score."""

    coefficients: Floats
    centre: float
    scale: float

    @classmethod
    def of(cls, scores: Array, positive: Array, amounts: Array | None = None) -> Calibration:
        """The curve of held-out scores, their labels and weights."""
        centre, scale = float(np.mean(scores)), float(np.std(scores))
        empty = cls(np.zeros(3), centre, scale if scale > 0.0 else 1.0)
        own = int(np.count_nonzero(positive))
        targets = np.where(positive, (own + 1.0) / (own + 2.0), 1.0 / (len(scores) - own + 2.0))
        weights = np.ones(len(scores)) if amounts is None else amounts * (len(scores) / np.sum(amounts))
        return cls(_minimizer(empty._powers(scores), targets, weights), empty.centre, empty.scale)

    def probabilities(self, scores: Array) -> Floats:
        """The probability of a positive at each score."""
        return np.asarray(expit(self._powers(scores) @ self.coefficients), dtype=np.float64)

    def _powers(self, scores: Array) -> Floats:
        u = (np.asarray(scores, dtype=np.float64) - self.centre) / self.scale
        return np.stack([np.ones(len(u)), u, u * u], axis=1)


def _minimizer(powers: Floats, targets: Floats, weights: Floats) -> Floats:
    """Newton's method with halved steps for the log-loss of three coefficients."""

    def objective(coefficients: Floats) -> float:
        logits = powers @ coefficients
        losses = np.logaddexp(0.0, logits) - targets * logits
        return float(weights @ losses + 0.5 * _RIDGE * coefficients @ coefficients)

    found = np.zeros(powers.shape[1])
    value = objective(found)
    for _ in range(_MOST_STEPS):
        p = expit(powers @ found)
        gradient = powers.T @ (weights * (p - targets)) + _RIDGE * found
        hessian = (powers * (weights * p * (1.0 - p))[:, None]).T @ powers + _RIDGE * np.eye(len(found))
        step = np.linalg.solve(hessian, gradient)
        decrement, size = float(gradient @ step), 1.0
        if decrement <= _DECREMENT:
            break
        # Armijo's rule; a step that rounding alone decides is the last one
        while (new := objective(found - size * step)) > value - 1e-4 * size * decrement and size > 1e-6:
            size *= 0.5
        if new >= value:
            break
        found, value = found - size * step, new
    return found
