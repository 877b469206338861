r"""Hinges of pairs of rows with grades in ball arithmetic: sums of ROC areas, for rigorous certificates.

A pair belongs to the highest bit in which the numbers of its two grades differ.  The rows that agree above this bit,
and have the query in common, are a group g; its pairs are those of the ROC area of two classes, so

.. math::
    R(s) = \sum_q c_q \sum_{g\in q} \frac{m_g}{M_q}\,R_g(s), \qquad
    m_g = \sum_{i\text{ upper}}W_i\sum_{j\text{ lower}}W_j, \quad M_q = \sum_{g\in q} m_g

with the risk :math:`R_g` of ``EnclosedRocAUC``.  The rows of a decomposition are the flows of each bit; those of each
group are made exactly feasible by that risk.  A group for which this fails has no flow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.balls import Ball, as_ball, zeros
from fenchel.risks.enclosures import EnclosedDual, multiple_point, zero_point
from fenchel.risks.measures.enclosures import EnclosedRocAUC
from fenchel.stopping import stop_point


class _Group(NamedTuple):
    """The rows of a group, their ROC area, and its share c_q m_g / M_q."""

    bit: int
    rows: NDArray[np.int64]
    area: EnclosedRocAUC
    share: Ball


@dataclass(frozen=True)
class EnclosedGradedPairs:
    """The hinge of all pairs of rows with different grades; ``codes`` are those of ``GradedPairs``."""

    codes: NDArray[np.integer[Any]]
    bits: int
    #: W of the rows, within their query
    weights: Floats
    #: those of the queries
    query_weights: Floats

    def value(self, scores: Ball) -> Ball:
        total = zeros(())
        for group in self._groups:
            stop_point()
            total = total + group.area.value(scores[group.rows]) * group.share
        return total

    def dual_point(self, theta: Floats, *, balanced: bool, decomposition: Floats | None = None) -> EnclosedDual:
        examples = len(self.codes)
        if (decomposition is None and self.bits > 1) or not np.any(theta):
            return zero_point(examples)
        flows = theta[None] if decomposition is None else decomposition
        found, conjugate = zeros((examples,)), zeros(())
        for group in self._groups:
            stop_point()
            share, own = float(group.share.high), flows[group.bit, group.rows]
            point = group.area.dual_point(own / share, balanced=False)
            if np.isfinite(point.conjugate.radius):
                found.put(group.rows, found[group.rows] + point.theta * group.share)
                conjugate = conjugate + point.conjugate * group.share
        return multiple_point(theta, EnclosedDual(found, as_ball(1.0), conjugate))

    @cached_property
    def _groups(self) -> list[_Group]:
        found = list(self._areas())
        masses = [area.pair_weight() for *_, area in found]
        queries = [int(self.codes[rows[0]]) >> self.bits for _, rows, _ in found]
        pairs: dict[int, Ball] = {}
        for query, mass in zip(queries, masses, strict=True):
            pairs[query] = pairs.get(query, zeros(())) + mass
        total = as_ball(self.query_weights[list(pairs)]).sum()
        return [
            _Group(bit, rows, area, mass / pairs[query] * (as_ball(self.query_weights[query]) / total))
            for (bit, rows, area), mass, query in zip(found, masses, queries, strict=True)
        ]

    def _areas(self) -> Iterator[tuple[int, NDArray[np.int64], EnclosedRocAUC]]:
        """The bit, the rows and the area of each group with pairs."""
        counted = np.flatnonzero(self.weights > 0.0)
        codes: Array = self.codes[counted].astype(np.int64)
        for bit in range(self.bits):
            order = np.argsort(codes >> (bit + 1), kind="stable")
            cuts = np.flatnonzero(np.diff(codes[order] >> (bit + 1))) + 1
            for members in np.split(order, cuts):
                signs = np.where((codes[members] >> bit) & 1 == 1, 1.0, -1.0)
                if np.any(signs > 0.0) and np.any(signs < 0.0):
                    rows = counted[members]
                    yield bit, rows, EnclosedRocAUC(signs, self.weights[rows])
