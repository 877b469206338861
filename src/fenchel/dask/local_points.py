r"""A group's part of a Newton step (``newton``): its scores, its dual point and its second derivatives.

All of them stay on the worker of the group; sums over its examples travel.  A loss with kinks is smoothed around a
centre :math:`\bar\alpha`, as in ``solvers.newton``.  In the scores of an example the Hessian is :math:`c_i h_i`, the
second derivative of the smoothed loss, for each output of its own, and for the multinomial risk
:math:`c_i(\operatorname{diag}(p_i) - p_ip_i^T)`, where p is the softmax.

Every function is pure: what a worker holds follows from the centre and the weights, and is computed again elsewhere
when it dies; a centre follows from the one before and the weights there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.example_sums import (
    add_squares,
    directional_derivatives,
    mean_hess,
    smoothed_dual_point,
)
from fenchel.compile.primitives.example_sums import hess_product as active_hess_product
from fenchel.dask.shard import Shard
from fenchel.risks import MeanRisk, Risk
from fenchel.risks.multiclass.multinomial import softmax
from fenchel.solvers.threads import Parts, weighted_gram

#: its multiples are spread evenly modulo 1 (Weyl), as uniform random numbers are on average
_GOLDEN_RATIO = 0.5 * (math.sqrt(5.0) - 1.0)


class LocalPoint(NamedTuple):
    """The scores of a group, with theta and the second derivatives there."""

    scores: Floats
    theta: Floats
    #: :math:`c_i h_i`, or :math:`c_i p_{ij}` for the multinomial risk
    hess: Floats
    #: p of the multinomial risk, whose classes are not independent
    probabilities: Floats | None
    #: the Fenchel-Young gap of the risk, which is due to smoothing
    gap: float

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


class Sums(NamedTuple):
    """What a group adds to R, to its Fenchel-Young gap, to X^T theta, sum theta and the number of active rows."""

    risk: float
    gap: float
    x_theta: Floats
    balance: Floats
    active: int


class Product(NamedTuple):
    """A product with the Hessian in w and in b."""

    weights: Floats
    intercept: Floats


class SampledHess(NamedTuple):
    """The Hessian in w, and in w and b, both estimated from some rows, and in b."""

    gram: Floats
    border: Floats
    total: float


class Slopes(NamedTuple):
    """The first and the second derivatives at steps along a change of the scores, and its squared norm."""

    first: Floats
    second: Floats
    square: float


def local_point(
    shard: Shard, part: Risk, centre: Array | None, *, weights: Array, intercept: Array, mu: float
) -> LocalPoint:
    """Return the point of a group at Xw + b."""
    scores = shard.design.scores(weights)
    scores += intercept
    return _at_scores(part, centre, scores, mu)


def recentred(shard: Shard, part: Risk, centre: Array, point: LocalPoint, *, mu: float) -> LocalPoint:
    """Return the point at the same scores with another centre and mu."""
    return _at_scores(part, centre, point.scores, mu)


def _at_scores(part: Risk, centre: Array | None, scores: Floats, mu: float) -> LocalPoint:
    mean = part.separable()
    if mean is None:
        return _of_softmax(part, scores)
    theta, hess, gap = np.empty(scores.shape), np.empty(scores.shape), 0.0
    for k, example in enumerate(_outputs(mean, centre, scores)):
        of_output = np.empty(len(scores)), np.empty(len(scores))
        gap += smoothed_dual_point(*example, mu, *of_output, 0, len(scores))[0]
        theta.T.reshape(-1, len(scores))[k], hess.T.reshape(-1, len(scores))[k] = of_output
    return LocalPoint(scores, theta, hess, None, gap)


def _of_softmax(part: Risk, scores: Floats) -> LocalPoint:
    """The point of the multinomial risk, which needs no smoothing."""
    found = softmax(scores)
    return LocalPoint(scores, -part.subgradient(scores), part.shares[:, None] * found, found, 0.0)


def _outputs(mean: MeanRisk, centre: Array | None, scores: Array) -> Iterator[tuple[Any, ...]]:
    """The smoothed losses of each output at its scores, as compiled loops take them."""
    centre = np.zeros(scores.shape) if centre is None else centre
    columns = (np.atleast_2d(values.T) for values in (mean.labels, centre, scores))
    for labels, middle, column in zip(*columns, strict=True):
        own = (np.ascontiguousarray(values) for values in (labels, middle, column))
        label, middle, column = own
        yield mean.loss.compiled(), label, mean.shares, middle, column


def sums(shard: Shard, part: Risk, point: LocalPoint) -> Sums:
    """Return the sums over a group at a point."""
    risk, rows = part.value(point.scores), point.hess.reshape(len(point.hess), -1)
    active = int(np.count_nonzero(np.any(rows, axis=1)))
    return Sums(risk, point.gap, shard.design.adjoint(point.theta), np.sum(point.theta, axis=0), active)


def averaged(
    shard: Shard, part: Risk, centre: Array | None, point: LocalPoint, *, mu: float, radius: float
) -> LocalPoint:
    """Return a point whose second derivatives are averages over scores up to ``radius`` away; itself for radius 0."""
    if radius == 0.0:
        return point
    mean, rows = part.separable(), len(point.scores)
    assert mean is not None
    hess = np.empty(point.scores.shape)
    for k, example in enumerate(_outputs(mean, centre, point.scores)):
        # those of large scores stay as they are
        found = np.array(np.atleast_2d(point.hess.T)[k])
        mean_hess(*example, mu, radius, found, 0, rows)
        hess.T.reshape(-1, rows)[k] = found
    return point._replace(hess=hess)


def alpha(shard: Shard, part: Risk, point: LocalPoint) -> Floats:
    """Return theta_i / c_i of a point, the next centre."""
    return per_share(part, point.theta)


def centre(shard: Shard, part: Risk, theta: Floats | None) -> Floats | None:
    """Return theta_i / c_i of a dual point beside the group; None if that was lost."""
    return None if theta is None else per_share(part, theta)


def per_share(risk: Risk, theta: Array) -> Floats:
    """Return theta_i / c_i; zero for examples without weight."""
    shares = risk.shares.reshape(-1, *(1,) * (theta.ndim - 1))
    return np.divide(theta, shares, out=np.zeros_like(theta), where=shares > 0)


def theta_of(shard: Shard, point: LocalPoint) -> Floats:
    """Return theta of a point."""
    return point.theta


def hess_diagonal(shard: Shard, point: LocalPoint) -> Product:
    """Return the diagonal of the Hessian in w, the mean over the outputs, and in the intercept of each output."""
    diagonal = point.diagonal
    mean = diagonal if diagonal.ndim == 1 else np.mean(diagonal, axis=1)
    active, found = np.flatnonzero(mean), np.zeros(shard.design.shape[1])
    add_squares(shard.design.rows(), active, mean[active], found, 0, len(active))
    return Product(found, np.sum(diagonal, axis=0))


def hess_product(shard: Shard, point: LocalPoint, *, weights: Array, intercept: Array) -> Product:
    """Return the group's term of the Hessian times a direction in (w, b)."""
    if point.scores.ndim > 1:
        image = point.times(shard.design.scores(weights) + intercept)
        return Product(shard.design.adjoint(image), np.sum(image, axis=0))
    # rows of which the second derivative is zero are not read, and others once
    active, found = np.flatnonzero(point.hess), np.zeros(weights.shape)
    own = active, point.hess[active], weights, float(intercept), found
    total = active_hess_product(shard.design.rows(), *own, 0, len(active))
    return Product(found, np.array(total))


def hess_of_sample(
    shard: Shard,
    part: Risk,
    centre: Array | None,
    point: LocalPoint,
    begin: int,
    *,
    mu: float,
    radius: float,
    share: float,
    offset: float,
) -> SampledHess:
    """Return the group's term of the ``averaged`` Hessian, estimated from a share of the active rows.

    Which rows these are depends on their numbers in all data, which begin at ``begin`` here, and not on the groups.
    """
    point = averaged(shard, part, centre, point, mu=mu, radius=radius)
    active = np.flatnonzero(point.hess)
    rows = active if share >= 1.0 else active[((begin + active) * _GOLDEN_RATIO + offset) % 1.0 < share]
    gram, border = weighted_gram(shard.design, rows, point.hess[rows] / share, Parts(shard.design, None, len(rows)))
    return SampledHess(gram, border, float(np.sum(point.hess)))


def score_change(shard: Shard, *, weights: Array, intercept: Array) -> Floats:
    """Return X p + r of a direction (p, r)."""
    found = shard.design.scores(weights)
    found += intercept
    return found


def slopes_at(shard: Shard, part: Risk, scores: Floats, *, intercepts: Array) -> Floats:
    """Return the derivatives of the group's term of R in an intercept, at several of them."""
    return np.array([float(np.sum(part.subgradient(scores + b))) for b in intercepts.tolist()])


def slopes(
    shard: Shard, part: Risk, centre: Array | None, point: LocalPoint, change: Array, *, steps: Array, mu: float
) -> Slopes:
    """Return the derivatives of the group's term of the smoothed risk at steps along a change of its scores."""
    mean, square, found = part.separable(), float(np.vdot(change, change)), np.zeros((len(steps), 2))
    if mean is None:
        for at, step in zip(found, steps, strict=True):
            there = _of_softmax(part, point.scores + step * change)
            at[:] = -np.vdot(there.theta, change), np.vdot(change, there.times(change))
        return Slopes(found[:, 0], found[:, 1], square)
    for example, own in zip(_outputs(mean, centre, point.scores), np.atleast_2d(change.T), strict=True):
        along = np.ascontiguousarray(own)
        for at, step in zip(found, steps, strict=True):
            at += directional_derivatives(*example, along, float(step), mu, 0, len(along))
    return Slopes(found[:, 0], found[:, 1], square)
