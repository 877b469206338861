r"""Risks and their conjugates in ball arithmetic, for rigorous certificates.

A rigorous lower bound needs a dual point that is feasible in exact arithmetic.  Floats meet neither the bounds
:math:`\theta_i \in c_i[-h, l]`, whose :math:`c_i = W_i/\sum W` are quotients, nor :math:`\sum\theta = 0`.  So the
point is not theta itself but one near it, defined by real numbers that are enclosed:

.. math:: \theta_i = -\frac{W_iu_i}{\sum_k W_k}, \qquad W_ju_j = -\sum_{i\ne j}W_iu_i \quad\text{for one } j,

where :math:`u_i` are floats in the domain of :math:`f^*` and j is an example whose :math:`u_j` is inside its domain by
more than the sum that rounding leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.losses.enclosures import EnclosedLoss
from fenchel.numerics.balls import Ball, as_ball, stack, unknown, where, zeros
from fenchel.numerics.limits import EPS
from fenchel.numerics.rounding import absolute_sum
from fenchel.risks.decomposition import multiple_of

#: examples in a block: temporary arrays stay in the cache
_BLOCK = 1 << 12
#: factors by which u is moved inwards of a bound that it is not proved to keep
_INWARDS = (1.0 - 2.0**-52, 1.0 - 2.0**-48)
#: examples that are moved at most to make the sum of theta zero
_MOVES = 64


class EnclosedDual(NamedTuple):
    """A dual point that is feasible in exact arithmetic, ``factor * theta``, and R* of minus this point."""

    theta: Ball
    factor: Ball
    conjugate: Ball


class EnclosedRisk(Protocol):
    """A risk and its conjugate in ball arithmetic."""

    def value(self, scores: Ball) -> Ball:
        """R(s)."""
        ...

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        """A point near theta in the domain of R*; ``balanced``: with columns that sum to zero.

        Where R* has no closed form, the point is the multiple of that of the ``decomposition`` of a witness.
        """
        ...


def zero_point(examples: int) -> EnclosedDual:
    """Zero, for a risk with R*(0) = 0."""
    return EnclosedDual(zeros((examples,)), as_ball(1.0), zeros(()))


def multiple_point(theta: Floats, found: EnclosedDual) -> EnclosedDual:
    """The multiple t <= 1 of a point with the 1-norm of theta: R*(-t x) <= t R*(-x) where R*(0) = 0."""
    t = multiple_of(theta, absolute_sum(found.theta.high * found.factor.high))
    return EnclosedDual(found.theta, found.factor * t, found.conjugate * t)


@dataclass(frozen=True)
class EnclosedMean:
    """The weighted mean of a loss; labels and scores are (n,) or (n, k)."""

    loss: EnclosedLoss
    labels: Floats
    weights: Floats
    #: the shares W_i / sum W in floats, and floats within a few roundings of the domain of f*
    shares: Floats
    low: Floats
    high: Floats

    def value(self, scores: Ball) -> Ball:
        def losses(rows: slice) -> Ball:
            return self.loss.value(scores[rows], self.labels[rows])

        return self._mean(losses)

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        u = self.inside(theta)
        columns = [self._column(column, low, high, balanced=balanced) for column, low, high in self._columns(u)]
        return self.point(columns[0] if u.ndim == 1 else stack(columns, axis=1))

    def point(self, u: Ball) -> EnclosedDual:
        """The dual point theta = -c u."""

        def conjugates(rows: slice) -> Ball:
            return self.loss.conjugate(u[rows], self.labels[rows])

        return EnclosedDual(-u * self._spread, 1.0 / as_ball(self.weights).sum(), self._mean(conjugates))

    @property
    def _spread(self) -> Floats:
        return self.weights if self.labels.ndim == 1 else self.weights[:, None]

    def _blocks(self) -> Iterator[slice]:
        step = max(1, _BLOCK // max(1, self.labels[:1].size))
        for begin in range(0, len(self.labels), step):
            yield slice(begin, begin + step)

    def _mean(self, terms: Callable[[slice], Ball]) -> Ball:
        """The mean of what is computed of each block; an example of weight zero does not count."""
        total = as_ball(0.0)
        for rows in self._blocks():
            weights = self._spread[rows]
            total = total + (where(weights > 0.0, terms(rows), 0.0) * weights).sum()
        return total / as_ball(self.weights).sum()

    def inside(self, theta: Array) -> Floats:
        """Floats u = -theta/c in the domain of f*, zero where the weight is zero."""
        shares = np.broadcast_to(self.shares if theta.ndim == 1 else self.shares[:, None], theta.shape)
        u = np.divide(-theta, shares, out=np.zeros_like(theta), where=shares > 0.0)
        u = np.clip(u, self.low, self.high)
        # only at a bound can a float be on the wrong side of the exact one
        near = np.zeros(u.shape, dtype=bool)
        for end in (self.low, self.high):
            with np.errstate(invalid="ignore"):
                near |= np.isfinite(end) & (np.abs(u - end) <= 8.0 * EPS * np.abs(end))
        for factor in _INWARDS:
            outside = np.isinf(self.loss.conjugate(as_ball(u[near]), self.labels[near]).radius)
            if not np.any(outside):
                break
            u[near] = np.where(outside, factor * u[near], u[near])
        return u

    def _columns(self, u: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
        low, high = np.broadcast_to(self.low, u.shape), np.broadcast_to(self.high, u.shape)
        if u.ndim == 1:
            yield u, low, high
        else:
            yield from zip(u.T, low.T, high.T, strict=True)

    def _column(self, u: Floats, low: Floats, high: Floats, *, balanced: bool) -> Ball:
        """The u of one output, with sum W u = 0 exactly if ``balanced``."""
        return with_sum(u, low, high, self.weights, 0.0) if balanced else as_ball(u)


def with_sum(values: Floats, low: Floats, high: Floats, weights: Floats, target: float) -> Ball:
    """Numbers near these with sum_i W_i x_i = target exactly: floats, but one, which has room between its bounds.

    That one is enclosed.  Balls that say nothing are returned where no few examples have enough room.
    """
    values = values.copy()
    for _ in range(_MOVES):
        rest = (as_ball(values) * weights).sum() - target
        if bool(rest.is_zero()):
            return as_ball(values)
        room = np.where(weights > 0.0, values - low if rest.high > 0.0 else high - values, 0.0)
        # not more than the size of the number where it is unbounded
        room = np.minimum(room, 1.0 + np.abs(values))
        best = int(np.argmax(weights * room))
        if float(rest.magnitude()) <= 0.5 * float(weights[best] * room[best]):
            chosen = np.arange(len(values)) == best
            return where(chosen, as_ball(values[best]) - rest / weights[best], values)
        values[best] -= np.copysign(0.5 * room[best], rest.high)
    return unknown(values.shape)


def spanning_forest(room: Floats, nodes: Array) -> list[tuple[int, int]]:
    """The edges (child, parent) of a forest over the nodes, from each root on, by the edges with the most room."""
    waiting, reached, edges = {int(k) for k in nodes}, list[int](), list[tuple[int, int]]()
    while waiting:
        most, parent, child = max(((room[a, b], a, b) for a in reached for b in waiting), default=(0.0, 0, 0))
        if most > 0.0:
            edges.append((child, parent))
        else:
            # a tree of its own
            child = min(waiting)
        reached.append(child)
        waiting.remove(child)
    return edges
