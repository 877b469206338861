r"""Second derivatives of a group's term of the risk, which stay on its worker, and products with the Hessian.

In the scores of an example the Hessian is :math:`c_i f''(s_i)`, for each output of its own, and for the multinomial
risk :math:`c_i(\operatorname{diag}(p_i) - p_ip_i^T)`, where p is the softmax.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.example_sums import smoothed_dual_point
from fenchel.dask.shard import Shard
from fenchel.risks import MeanRisk, Risk
from fenchel.risks.multiclass.multinomial import softmax


class SecondDerivatives(NamedTuple):
    """The Hessian of a group's term in its scores."""

    #: :math:`c_i f''(s_i)`, or :math:`c_i p_{ij}` for the multinomial risk
    hess: Floats
    #: p of the multinomial risk, whose classes are not independent
    probabilities: Floats | None

    def times(self, change: Array) -> Floats:
        """The Hessian times a change of the scores."""
        found = self.hess * change
        if self.probabilities is not None:
            # c p (u - p.u)
            found -= self.hess * np.sum(self.probabilities * change, axis=1, keepdims=True)
        return found

    @property
    def diagonal(self) -> Floats:
        """The diagonal, of the shape of the scores."""
        return self.hess if self.probabilities is None else self.hess * (1.0 - self.probabilities)


class Product(NamedTuple):
    """A product with the Hessian in w and in b."""

    weights: Floats
    intercept: Floats


def second_derivatives(shard: Shard, part: Risk, weights: Array, intercept: Array) -> SecondDerivatives:
    """Return the second derivatives of a group's term at Xw + b."""
    scores = shard.design.scores(weights) + intercept
    mean = part.separable()
    if mean is not None:
        return SecondDerivatives(_of_losses(mean, scores), None)
    found = softmax(scores)
    return SecondDerivatives(part.shares[:, None] * found, found)


def _of_losses(mean: MeanRisk, scores: Floats) -> Floats:
    loss, hess = mean.loss.compiled(), np.empty(scores.shape)
    labels, columns, results = (np.atleast_2d(values.T) for values in (mean.labels, scores, hess))
    for label, column, result in zip(labels, columns, results, strict=True):
        theta, found = np.empty(len(column)), np.empty(len(column))
        own = np.ascontiguousarray(label), mean.shares, np.zeros(len(column)), np.ascontiguousarray(column)
        smoothed_dual_point(loss, *own, 0.0, theta, found, 0, len(column))
        result[:] = found
    return hess


def hess_diagonal(shard: Shard, own: SecondDerivatives) -> Product:
    """Return the diagonal of the Hessian in w, the mean over the outputs, and in the intercept of each output."""
    diagonal = own.diagonal
    mean = diagonal if diagonal.ndim == 1 else np.mean(diagonal, axis=1)
    return Product(shard.design.column_squares(np.ascontiguousarray(mean)), np.sum(diagonal, axis=0))


def hess_product(shard: Shard, own: SecondDerivatives, *, weights: Array, intercept: Array) -> Product:
    """Return the group's term of the Hessian times a direction in (w, b)."""
    image = own.times(shard.design.scores(weights) + intercept)
    return Product(shard.design.adjoint(image), np.sum(image, axis=0))
