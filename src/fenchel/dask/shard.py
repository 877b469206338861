"""What runs on the workers: a group of rows, products with it, and its terms of a risk.

Every function is pure: of its arguments alone, so that a task of a worker that died can be run again on another one.
The dual variables of CoCoA+ (``resident``) are the exception.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs import Design
from fenchel.risks import Risk

T = TypeVar("T")


class Shard:
    """The rows of a group of partitions, with the labels and weights that came with them.

    Parameters
    ----------
    design : Design
        The rows.
    labels : ndarray or None
        Their labels, where the source of the rows has them.
    weights : ndarray or None
        Their weights, likewise.
    numbering : frozenset of bool
        Of the svmlight files that were read: whether their features are numbered from 0.
    names : frozenset of tuple of str
        Of the tables that were read: the names of their features, in order.
    checksums : tuple of int
        Of the blocks that the rows consist of; empty for one block.
    """

    def __init__(
        self,
        design: Design,
        labels: Array | None = None,
        weights: Array | None = None,
        numbering: frozenset[bool] = frozenset(),
        names: frozenset[tuple[str, ...]] = frozenset(),
        checksums: tuple[int, ...] = (),
    ) -> None:
        self.design, self.labels, self.weights = design, labels, weights
        self.numbering, self.names = numbering, names
        self.checksums = checksums or (design.checksum(),)

    def __sizeof__(self) -> int:
        # the scheduler places tasks, and workers spill, by the size of their data
        entries = self.design.stored_entries
        return object.__sizeof__(self) + 12 * entries + 8 * self.design.shape[0]


class Facts(NamedTuple):
    """What the driver knows of a group."""

    rows: int
    features: int
    stored_entries: int
    largest_row_norm: float
    largest_entry: float
    score_roundings: float
    #: sum of the squared norms of the rows, estimated
    squares: float
    #: (sum q)^2 / (d sum q^2) of the sums of squares q of its columns: 1 if they are equal, 1/d if one has all
    evenness: float
    adjoint_roundings: int
    #: of its blocks, which do not depend on how they were put together to groups
    checksums: tuple[int, ...]


def facts(shard: Shard) -> Facts:
    """Return the properties of a group that cost a pass over it."""
    design = shard.design
    with np.errstate(over="ignore", invalid="ignore"):
        return Facts(
            *design.shape,
            design.stored_entries,
            design.largest_row_norm,
            design.largest_entry,
            design.most_score_roundings,
            design.mean_square * design.shape[0],
            _evenness(design),
            design.adjoint_roundings,
            shard.checksums,
        )


def _evenness(design: Design) -> float:
    rows, features = design.shape
    columns = design.column_squares(np.full(rows, 1.0 / max(1, rows)))
    total, squares = float(np.sum(columns)), features * float(columns @ columns)
    # a product overflows to infinity, where a power would raise
    found = total * total / squares if squares > 0.0 else 1.0
    return found if np.isfinite(found) else 1.0


class Given(NamedTuple):
    """What came with the rows of a group."""

    labels: Array | None
    weights: Array | None
    numbering: frozenset[bool]
    names: frozenset[tuple[str, ...]]


def labels(shard: Shard) -> Given:
    """Return the labels and weights of a group."""
    return Given(shard.labels, shard.weights, shard.numbering, shard.names)


def beside(shard: Shard, value: T) -> T:
    """Return a value, which is then kept where its group is."""
    return value


def scores(shard: Shard, weights: Array) -> Floats:
    """Return X w of a group."""
    return shard.design.scores(weights)


def adjoint(shard: Shard, theta: Array) -> Floats:
    """Return X^T theta of a group."""
    return shard.design.adjoint(theta)


def column_squares(shard: Shard, shares: Array) -> Floats:
    """Return the group's terms of the weighted sums of squares of the columns."""
    return shard.design.column_squares(shares)


def squared_row_norms(shard: Shard) -> Floats:
    """Return the squared norms of the rows of a group."""
    return shard.design.squared_row_norms


def row_magnitudes(shard: Shard) -> Floats:
    """Return ``Design.row_magnitudes`` of a group."""
    return shard.design.row_magnitudes


def score_roundings(shard: Shard) -> Floats:
    """Return the roundings of each score of a group."""
    return np.broadcast_to(np.asarray(shard.design.score_roundings, dtype=np.float64), shard.design.shape[:1]).copy()


def rows_between(shard: Shard, begin: int, end: int) -> sp.csr_array:
    """Return a copy of some rows of a group."""
    return shard.design.part(begin, end).sparse()


class Term(NamedTuple):
    """The term of a group in an evaluation of the risk."""

    value: float
    #: X^T theta and sum theta, with theta = -grad R
    x_theta: Floats
    balance: Floats


def evaluate(shard: Shard, part: Risk, weights: Array, intercept: Array | float) -> Term:
    r"""Return the group's terms of :math:`R(Xw + b)`, :math:`X^T\theta` and :math:`\sum\theta`."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = shard.design.scores(weights)
        found += intercept
        theta = -part.subgradient(found)
        return Term(part.value(found), shard.design.adjoint(theta), np.sum(theta, axis=0))
