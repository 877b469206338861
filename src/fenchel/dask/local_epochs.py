r"""The local part of CoCoA+ on a worker: epochs of dual coordinate descent on the dual variables of one group.

Group k maximizes the dual over its own variables with the others fixed, the quadratic term magnified by
:math:`\sigma'` (``cocoa``).  That is dual coordinate descent with :math:`c_i/\lambda` replaced by
:math:`\sigma'c_i/\lambda`, from the common v: its loop (``solvers.dual_coordinate.loop``) then moves a copy of v by
:math:`\sigma'X_k^T\Delta\theta/\lambda`, and S and m·v likewise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.row_norms import squared_norms
from fenchel.dask.shard import Shard
from fenchel.losses import Loss
from fenchel.regularizers import L2
from fenchel.solvers.curvature import squared_distances
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVATURE, LABEL, SCALE, Intercept, epoch
from fenchel.solvers.shrinking import ActiveSet, random_state


class Coordinates(NamedTuple):
    """What the steps on the dual variables of a group need, beside its rows."""

    loss: Loss
    labels: Floats
    #: c_i
    shares: Floats
    #: |x_i - m|^2
    norms: Floats
    #: m . x_i; empty without an intercept
    projection: Floats


class Moved(NamedTuple):
    """What the local epochs of a group changed."""

    alpha: Floats
    #: the change of X^T theta / lam
    v: Floats
    #: the change of sum theta / lam
    total: float
    #: sum of the Fenchel-Young gaps of its examples, each at the time of its last turn
    gap: float
    changes: int


def coordinates(shard: Shard, labels: Array, shares: Array, loss: Loss, mean: Array) -> Coordinates:
    """Return the curvatures of a group; ``mean`` is empty without an intercept."""
    design = shard.design
    norms = np.empty(design.shape[0])
    if squared_norms(design.rows(), norms):
        # rows with unsorted or repeated entries
        norms = design.squared_row_norms
    projection = np.zeros(0)
    if len(mean):
        projection = design.scores(mean)
        norms = squared_distances(norms + float(mean @ mean), projection)
    return Coordinates(loss, labels, shares, norms, projection)


def mean_of(shard: Shard, shares: Array) -> Floats:
    """Return the group's term of m, the weighted mean of the rows."""
    return shard.design.adjoint(shares)


def local_epochs(
    shard: Shard,
    own: Coordinates,
    alpha: Array,
    seed: int,
    *,
    v: Array,
    state: Array,
    spread: float,
    constant: float,
    sigma: float,
    lam: float,
    epochs: int,
) -> Moved:
    """Descend on the dual variables of a group; ``state`` holds S, m.v and s, ``spread`` is |m|^2 + B^2."""
    rows, loss, regularizer = shard.design.rows(), own.loss.compiled(), L2().compiled()
    table = np.empty((len(alpha), 4))
    table[:, LABEL], table[:, ALPHA], table[:, SCALE] = own.labels, alpha, (sigma / lam) * own.shares
    table[:, CURVATURE] = table[:, SCALE] * (own.norms + constant)
    moved, local = np.array(v), Intercept(np.array(state), own.projection, spread)
    active_set, random = ActiveSet(np.flatnonzero(own.shares > 0), len(alpha)), random_state(seed)
    changes = 0
    for _ in range(epochs):
        part = active_set.next_part(len(alpha), random, True)
        active_set.record(epoch(rows, loss, regularizer, table, moved, local, part), part.end, lam / sigma)
        changes += active_set.changes
        active_set.end_epoch()
    total = float(local.state[0] - state[0]) / sigma
    return Moved(table[:, ALPHA].copy(), (moved - v) / sigma, total, active_set.expected_gap, changes)
