r"""Smooth losses of the pairs of queries in ball arithmetic, for rigorous certificates.

All pairs are listed, in blocks.  A dual point is that of the scores in a decomposition (``gradient_form``): with
:math:`t = u_i - u_j`, which is exact, the flow of a pair is :math:`-f'(t)\,c_q/M_q` and its term of the conjugate
:math:`(t f'(t) - f(t))\,c_q/M_q`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.ball_functions import exp, log1p
from fenchel.numerics.ball_reductions import sums_by_place
from fenchel.numerics.balls import Ball, as_ball, where, zeros
from fenchel.risks.enclosures import EnclosedDual, multiple_point, zero_point
from fenchel.risks.ranking.queries import PairBlock, Queries
from fenchel.stopping import stop_point

#: pairs in a block: temporary arrays stay in the cache
_BLOCK = 1 << 13


class EnclosedPairLoss(Protocol):
    """A loss f of differences of scores in ball arithmetic."""

    def value(self, t: Ball) -> Ball:
        """f(t)."""
        ...

    def flow(self, t: Ball) -> Ball:
        """-f'(t), of exact t."""
        ...


class EnclosedSquaredHinge:
    """The squared hinge of 1 - t."""

    def value(self, t: Ball) -> Ball:
        x = (1.0 - t).maximum(0.0)
        return x * x

    def flow(self, t: Ball) -> Ball:
        return (1.0 - t).maximum(0.0) * 2.0


class EnclosedLogisticPairs:
    """log(1 + e^-t)."""

    def value(self, t: Ball) -> Ball:
        return (-t).maximum(0.0) + log1p(exp(-abs(t)))

    def flow(self, t: Ball) -> Ball:
        small = exp(-abs(t))
        return where(t.centre_sign() > 0.0, small, 1.0) / (small + 1.0)


class EnclosedSmoothPairs(NamedTuple):
    """The mean over queries of the mean loss of the pairs of a query."""

    queries: Queries
    examples: int
    loss: EnclosedPairLoss

    def value(self, scores: Ball) -> Ball:
        s, prices, total = scores[self.queries.order], self._prices(), zeros(())
        for block in self._blocks():
            losses = self.loss.value(s[block.upper] - s[block.lower])
            total = total + (losses * prices[block.upper]).sum()
        return total / self._total()

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        if decomposition is None or not np.any(theta):
            return zero_point(self.examples)
        shares = as_ball(decomposition[:, 0]) / as_ball(decomposition[:, 0]).sum()
        flows, conjugate = zeros((len(self.queries.order),)), zeros(())
        for k, scores in enumerate(decomposition[:, 1:]):
            if decomposition[k, 0] > 0.0:
                own, value = self._at_gradient(scores)
                flows, conjugate = flows + own * shares[k], conjugate + value * shares[k]
        point = zeros((self.examples,))
        point.put(self.queries.order, flows)
        return multiple_point(theta, EnclosedDual(point, 1.0 / self._total(), conjugate / self._total()))

    def _at_gradient(self, scores: Array) -> tuple[Ball, Ball]:
        """Minus the gradient for the rows in order and its conjugate, both times the sum of the weights."""
        s, prices = as_ball(scores[self.queries.order]), self._prices()
        found, conjugate = zeros(s.shape), zeros(())
        for block in self._blocks():
            t = s[block.upper] - s[block.lower]
            flows = self.loss.flow(t) * prices[block.upper]
            conjugate = conjugate - (flows * t + self.loss.value(t) * prices[block.upper]).sum()
            found = found + sums_by_place(flows, block.upper, found.size)
            found = found - sums_by_place(flows, block.lower, found.size)
        return found, conjugate

    def _blocks(self) -> Iterator[PairBlock]:
        for block in self.queries.blocks(entries=_BLOCK):
            stop_point()
            yield block

    def _prices(self) -> Ball:
        """W_q / M_q of the query of each row in order."""
        queries = self.queries
        each = as_ball(queries.weights[queries.informative]) / queries.pairs.astype(np.float64)
        return each.map(lambda values: np.repeat(values, queries.sizes))

    def _total(self) -> Ball:
        return as_ball(self.queries.weights[self.queries.informative]).sum()
