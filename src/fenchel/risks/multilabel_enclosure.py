r"""The multilabel hinge in ball arithmetic, for rigorous certificates.

A dual point is given by floats for each example, its masses of labels that it has and of labels that it has not, in
units of :math:`c_i`.  Both sums must be equal and at most one.  The largest mass of the side with the larger sum is a
ball: it stands for the real number that makes the sums equal.  An example for which that fails has the masses zero.

With free intercepts the columns must add up to zero as well.  More mass of a pair of labels (p, q) of an example moves
mass between the columns p and q and keeps both sums of the example equal, so that the sums which rounding leaves are
removed along a spanning forest of the labels, by the pair with the most room for each edge.  Where there is too little
room, all masses are zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Floats
from fenchel.numerics.balls import Ball, as_ball, concatenate, where
from fenchel.risks.enclosures import EnclosedDual, spanning_forest

#: entries of scores in a block: temporary arrays stay in the cache
_BLOCK = 1 << 12
#: of the largest entry of theta: smaller ones are dropped before columns are balanced
_NEGLIGIBLE = 2.0**-50


class EnclosedMultilabel(NamedTuple):
    """The mean hinge of the worst pair of a label that an example has and one that it has not."""

    has: NDArray[np.bool_]
    #: whether an example has such a pair
    paired: NDArray[np.bool_]
    weights: Floats
    shares: Floats

    def value(self, scores: Ball) -> Ball:
        total = as_ball(0.0)
        for rows in self._blocks():
            counted = self.paired[rows] & (self.weights[rows] > 0.0)
            losses = where(counted, self._losses(scores[rows], self.has[rows]), 0.0)
            total = total + (losses * self.weights[rows]).sum()
        return total / as_ball(self.weights).sum()

    def _blocks(self) -> Iterator[slice]:
        step = max(1, _BLOCK // self.has.shape[1])
        for begin in range(0, len(self.has), step):
            yield slice(begin, begin + step)

    @staticmethod
    def _losses(scores: Ball, has: NDArray[np.bool_]) -> Ball:
        each = np.arange(len(has))
        lowest, highest = scores[each, np.argmax(has, axis=1)], scores[each, np.argmin(has, axis=1)]
        for k in range(has.shape[1]):
            lowest = where(has[:, k], lowest.minimum(scores[:, k]), lowest)
            highest = where(has[:, k], highest, highest.maximum(scores[:, k]))
        return (highest - lowest + 1.0).maximum(0.0)

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        if balanced:
            # masses of the size of rounding have no room for the sums of columns, and would link labels all the same
            theta = np.where(np.abs(theta) > _NEGLIGIBLE * np.max(np.abs(theta), initial=0.0), theta, 0.0)
        parts = [self._masses(theta[rows], rows) for rows in self._blocks()]
        masses, total = concatenate(parts), as_ball(self.weights).sum()
        if balanced:
            masses = self._balanced(masses)
        mass = where(self.has, masses, 0.0).sum(axis=1)
        signed = where(self.has, masses, -masses) * self.weights[:, None]
        return EnclosedDual(signed, 1.0 / total, -(mass * self.weights).sum() / total)

    def _masses(self, theta: Floats, rows: slice) -> Ball:
        """The masses of a block of examples, with equal sums of both sides."""
        has, counted = self.has[rows], self.paired[rows] & (self.shares[rows] > 0.0)
        shares = np.where(counted, self.shares[rows], 1.0)[:, None]
        found = np.where(counted[:, None], np.maximum(np.where(has, theta, -theta), 0.0) / shares, 0.0)
        most = np.maximum(np.sum(np.where(has, found, 0.0), axis=1), np.sum(np.where(has, 0.0, found), axis=1))
        # inwards by more roundings than a sum has
        limit = 1.0 - 2.0**-52 * (found.shape[1] + 8.0)
        found *= np.where(most > limit, limit / np.maximum(most, 1.0), 1.0)[:, None]
        present, absent = (where(side, found, 0.0).sum(axis=1) for side in (has, ~has))
        surplus = present - absent
        heavier = np.where((surplus.centre_sign() > 0.0)[:, None], has, ~has)
        largest = np.argmax(np.where(heavier, found, -1.0), axis=1)
        chosen = np.arange(found.shape[1]) == largest[:, None]
        masses = where(chosen, as_ball(found) - abs(surplus)[:, None], found)
        lighter = where(surplus.centre_sign() > 0.0, absent, present)
        feasible = np.all(masses.nonnegative(), axis=1) & (1.0 - lighter).nonnegative()
        return where(feasible[:, None], masses, 0.0)

    def _balanced(self, masses: Ball) -> Ball:
        """The masses with columns that add up to zero exactly, or zero."""
        signs = np.where(self.has, 1.0, -1.0)
        sums = (masses * (signs * self.weights[:, None])).sum(axis=0)
        parts = [sums[k] for k in range(self.has.shape[1])]
        room, rows = self._room(masses)
        linked = (self.has & (masses.high > 0.0)).T.astype(float) @ (~self.has & (masses.high > 0.0))
        labels = np.arange(len(parts))
        edges = spanning_forest(np.maximum(room, room.T), labels)
        if len(edges) < len(spanning_forest(linked + linked.T, labels)):
            return as_ball(np.zeros(self.has.shape))
        found = masses.map(np.copy)
        for child, parent in reversed(edges):
            present, absent = (child, parent) if room[child, parent] >= room[parent, child] else (parent, child)
            row = int(rows[present, absent])
            change = parts[child] / self.weights[row]
            change = -change if present == child else change
            for k in (present, absent):
                found.put((row, k), found[row, k] + change)
            parts[parent] = parts[parent] + parts[child]
            parts[child] = as_ball(0.0)
        mass = where(self.has, found, 0.0).sum(axis=1)
        # the sums of a tree cancel exactly: no example has masses of labels of two trees
        feasible = np.all(found.nonnegative()) and np.all((1.0 - mass).nonnegative())
        return found if feasible else as_ball(np.zeros(self.has.shape))

    def _room(self, masses: Ball) -> tuple[Floats, NDArray[np.int64]]:
        """The largest room of an example for more or less mass of each pair (p, q), and that example."""
        count = self.has.shape[1]
        best, rows = np.zeros((count, count)), np.zeros((count, count), dtype=np.int64)
        centres = masses.high
        rest = 1.0 - np.sum(np.where(self.has, centres, 0.0), axis=1)
        for p in range(count):
            own = np.flatnonzero(self.has[:, p] & (self.weights > 0.0))
            if len(own):
                least = np.minimum(
                    np.minimum(centres[own, p], rest[own])[:, None], np.where(self.has[own], 0.0, centres[own])
                )
                each = self.weights[own][:, None] * least
                rows[p] = own[np.argmax(each, axis=0)]
                best[p] = np.max(each, axis=0)
        return best, rows
