r"""Joint risks of several classes in ball arithmetic, for rigorous certificates.

A dual point is given by floats :math:`\beta_{ij}` beside the labels, :math:`\theta_{ij} = -c_i\beta_{ij}`, and the
entry at the label is the exact sum of its row.  With free intercepts the columns must add up to zero as well.  Moving
:math:`\beta_{ij}` of an example of class y moves mass between the columns y and j, so that the sums which rounding
leaves are removed along a spanning tree of the classes, from its leaves to its root, by one entry for each edge.  That
entry is a ball: it stands for the real number that makes the sum of its column zero.  The tree has the entries with the
most room; where some edge has too little of it, the point is first mixed with one inside the domain,

.. math:: \beta^0_{ij} \propto 1/\textstyle\sum_{y_k = y_i}W_k,

whose columns add up to zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.ball_functions import exp, log, log1p, xlogx
from fenchel.numerics.balls import Ball, as_ball, unknown, where
from fenchel.risks.enclosures import EnclosedDual, spanning_forest

#: scores in a block: temporary arrays stay in the cache
_BLOCK = 1 << 12
#: shares of the point inside the domain that are tried in turn
_MIXTURES = (0.0, 1e-13, 1e-11, 1e-9)


@dataclass(frozen=True)
class EnclosedMulticlass:
    """A weighted mean of joint losses: hinges over a box or a simplex, or the softmax (``block="entropy"``)."""

    classes: Array
    weights: Floats
    shares: Floats
    #: (k, k): the bound on beta_j of an example of class y, for a box
    costs: Floats
    margin: float
    block: Literal["box", "simplex", "entropy"]

    def value(self, scores: Ball) -> Ball:
        total = as_ball(0.0)
        for rows in self._blocks():
            # an example of weight zero does not count, even if its loss overflows
            losses = where(self.weights[rows] > 0.0, self._losses(scores[rows], self.classes[rows]), 0.0)
            total = total + (losses * self.weights[rows]).sum()
        return total / as_ball(self.weights).sum()

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        beta = self._beta(theta)
        for share in _MIXTURES if balanced else _MIXTURES[:1]:
            mixed = self._inside(beta if share == 0.0 else (1.0 - share) * beta + share * self._interior())
            found = self._balanced(mixed) if balanced else as_ball(mixed)
            if found is not None and self._feasible(found):
                return self._point(found)
        return EnclosedDual(as_ball(np.zeros_like(theta)), as_ball(1.0), unknown())

    def _point(self, beta: Ball) -> EnclosedDual:
        alpha, total = _alpha(beta, self.classes), as_ball(0.0)
        for rows in self._blocks():
            total = total + (self._conjugates(beta[rows]) * self.weights[rows]).sum()
        sum_of_weights = as_ball(self.weights).sum()
        return EnclosedDual(alpha * self.weights[:, None], 1.0 / sum_of_weights, total / sum_of_weights)

    def _blocks(self) -> Iterator[slice]:
        step = max(1, _BLOCK // len(self.costs))
        for begin in range(0, len(self.classes), step):
            yield slice(begin, begin + step)

    def _losses(self, scores: Ball, classes: Array) -> Ball:
        rows, others = np.arange(len(classes)), np.arange(len(self.costs)) != classes[:, None]
        margins = where(others, scores - scores[rows, classes][:, None] + self.margin, 0.0)
        if self.block == "box":
            return (margins.maximum(0.0) * self.costs[classes]).sum(axis=1)
        largest = margins[:, 0]
        for k in range(1, len(self.costs)):
            largest = largest.maximum(margins[:, k])
        if self.block == "simplex":
            # the zero at the label is one of the margins
            return largest
        return largest + log(exp(margins - largest[:, None]).sum(axis=1))

    def _conjugates(self, beta: Ball) -> Ball:
        mass = beta.sum(axis=1)
        if self.block != "entropy":
            return -mass
        rest = 1.0 - mass
        ended = ~rest.positive()
        last = where(ended, xlogx(rest), rest * log1p(where(ended, 0.0, -mass)))
        return xlogx(beta).sum(axis=1) + last

    def _beta(self, theta: Floats) -> Floats:
        """beta in floats, zero at the label, at classes without examples and where the weight is zero."""
        shares = np.broadcast_to(self.shares[:, None], theta.shape)
        beta = np.divide(-theta, shares, out=np.zeros_like(theta), where=shares > 0.0)
        beta[np.arange(len(beta)), self.classes] = 0.0
        return np.maximum(beta, 0.0)

    def _inside(self, beta: Floats) -> Floats:
        """beta below its bounds in exact arithmetic."""
        if self.block == "box":
            return np.minimum(beta, self.costs[self.classes])
        total = as_ball(beta).sum(axis=1)
        above = ~(1.0 - total).nonnegative()
        scale = np.where(above, (1.0 - 2.0**-50) / np.maximum(total.upper(), 1.0), 1.0)
        return np.where(above[:, None], scale[:, None] * beta, beta)

    def _interior(self) -> Floats:
        """beta^0 of every pair of classes with examples."""
        mass = np.bincount(self.classes, self.shares, len(self.costs))
        present, count = mass > 0.0, len(self.costs)
        least = float(np.min(mass[present])) / (2.0 * count)
        smallest = self.costs[self.costs > 0.0]
        least *= min(1.0, float(np.min(smallest))) if self.block == "box" and smallest.size else 1.0
        found = np.where(present, least / np.where(present, mass, 1.0)[self.classes][:, None], 0.0)
        found[np.arange(len(found)), self.classes] = 0.0
        return np.where((self.shares > 0.0)[:, None] & (self.costs[self.classes] > 0.0), found, 0.0)

    def _feasible(self, beta: Ball) -> bool:
        """Whether beta is proved to lie in its domain."""
        if not np.all(beta.nonnegative()):
            return False
        room = self.costs[self.classes] - beta if self.block == "box" else 1.0 - beta.sum(axis=1)
        return bool(np.all(room.nonnegative()))

    def _balanced(self, beta: Floats) -> Ball | None:
        """beta with columns of theta that add up to zero exactly; None without room for it."""
        sums = (_alpha(as_ball(beta), self.classes) * self.weights[:, None]).sum(axis=0)
        if np.all(sums.is_zero()):
            return as_ball(beta)
        tree = self._tree(beta)
        absent = np.bincount(self.classes, self.weights, len(self.costs)) == 0.0
        # the column of a class without examples has one sign: it can't be mended
        if tree is None or not np.all(sums[absent].is_zero()):
            return None
        found = as_ball(beta).map(np.copy)
        parts = [sums[k] for k in range(len(self.costs))]
        for child, parent, row, column in reversed(tree):
            # an entry at the column of the child gives it less by W beta, one of its own examples gives it more
            change = parts[child] / self.weights[row]
            change = change if column == child else -change
            found.put((row, column), found[row, column] + change)
            parts[parent] = parts[parent] + parts[child]
        return found

    def _tree(self, beta: Floats) -> list[tuple[int, int, int, int]] | None:
        """A spanning tree of the classes with examples: (child, parent, row, column) of each edge, from the root on."""
        count = len(self.costs)
        top = self.costs[self.classes] if self.block == "box" else (beta + (1.0 - np.sum(beta, axis=1))[:, None])
        room = self.weights[:, None] * np.minimum(beta, top - beta)
        best, rows = np.full((count, count), 0.0), np.zeros((count, count), dtype=np.int64)
        for k in range(count):
            own = np.flatnonzero((self.classes == k) & (self.weights > 0.0))
            if len(own):
                rows[k] = own[np.argmax(room[own], axis=0)]
                best[k] = np.max(room[own], axis=0)
        np.fill_diagonal(best, 0.0)
        present = np.flatnonzero(np.bincount(self.classes, self.weights, count) > 0.0)
        edges = spanning_forest(np.maximum(best, best.T), present)
        if len(edges) < len(present) - 1:
            return None
        tree = []
        for child, parent in edges:
            own = best[child, parent] >= best[parent, child]
            row, column = (rows[child, parent], parent) if own else (rows[parent, child], child)
            tree.append((child, parent, int(row), int(column)))
        return tree


def _alpha(beta: Ball, classes: Array) -> Ball:
    """alpha = -beta, with the sum of the row at the label."""
    own = np.arange(beta.shape[1]) == classes[:, None]
    return where(own, beta.sum(axis=1)[:, None], -beta)
