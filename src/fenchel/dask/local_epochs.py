r"""The local part of CoCoA+ on a worker: epochs of dual coordinate descent on the dual variables of one group.

Group k maximizes the dual over its own variables with the others fixed, the quadratic term magnified by
:math:`\sigma'` (``cocoa``).  That is dual coordinate descent with :math:`c_i/\lambda` replaced by
:math:`\sigma'c_i/\lambda`, from the common v: its loop (``solvers.dual_coordinate.loop``) then moves a copy of v by
:math:`\sigma'X_k^T\Delta\theta/\lambda`, and S and m·v likewise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.epoch import Part
from fenchel.compile.primitives.row_norms import squared_norms
from fenchel.dask.resident import Resident, Turn
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

    #: the change of X^T theta / lam
    v: Floats
    #: the change of sum theta / lam
    total: float
    #: sum of the Fenchel-Young gaps of its examples, each at the time of its last turn
    gap: float
    changes: int
    #: the dual variables, if they were asked for
    alpha: Floats | None = None


def row_geometry(shard: Shard, mean: Array) -> tuple[Floats, Floats]:
    """Return |x_i - m|^2 and m . x_i of a group; |x_i|^2 and nothing if ``mean`` is empty, without an intercept."""
    design = shard.design
    norms = np.empty(design.shape[0])
    if squared_norms(design.rows(), norms):
        # rows with unsorted or repeated entries
        norms = design.squared_row_norms
    if not len(mean):
        return norms, np.zeros(0)
    projection = design.scores(mean)
    return squared_distances(norms + float(mean @ mean), projection), projection


def coordinates(shard: Shard, labels: Array, shares: Array, loss: Loss, mean: Array) -> Resident[Coordinates]:
    """Return the curvatures of a group; ``mean`` is empty without an intercept."""
    return Resident(Coordinates(loss, labels, shares, *row_geometry(shard, mean)))


def descend(
    active_set: ActiveSet, seed: int, epochs: float, run: Callable[[Part], tuple[Any, float, int, float]], lam: float
) -> tuple[float, int]:
    """Run epochs, the last of which may be a part of one; return the gap of the examples and the changes.

    ``run`` calls a loop for a part of an epoch and returns the fields of its ``Tally``.  The gap is that of the last
    epoch, extrapolated if it is a part of one.
    """
    random, examples = random_state(seed), len(active_set.order)
    turns, gap, changes = math.ceil(epochs * examples), 0.0, 0
    while turns > 0:
        part = active_set.next_part(turns, random, True)
        turns -= part.end - part.begin
        ended = active_set.record(run(part), part.end, lam)
        gap = active_set.gap * (active_set.size / part.end)
        if ended or turns <= 0:
            changes += active_set.changes
        if ended:
            active_set.end_epoch()
    return gap, changes


def local_epochs(
    shard: Shard,
    resident: Resident[Coordinates],
    turn: Turn,
    seed: int,
    *,
    v: Array,
    state: Array,
    spread: float,
    constant: float,
    sigma: float,
    lam: float,
    epochs: float,
    returns: bool,
) -> Moved | None:
    """Descend on the dual variables of a group; ``state`` holds S, m.v and s, ``spread`` is |m|^2 + B^2.

    None if the worker does not have the dual variables; the new ones are returned if ``returns``.
    """
    alpha, own = resident.begin(turn), resident.kept
    if alpha is None:
        return None
    rows, loss, regularizer = shard.design.rows(), own.loss.compiled(), L2().compiled()
    table = np.empty((len(alpha), 4))
    table[:, LABEL], table[:, ALPHA], table[:, SCALE] = own.labels, alpha, (sigma / lam) * own.shares
    table[:, CURVATURE] = table[:, SCALE] * (own.norms + constant)
    moved, local = np.array(v), Intercept(np.array(state), own.projection, spread)
    active_set = ActiveSet(np.flatnonzero(own.shares > 0), len(alpha))
    gap, changes = descend(
        active_set,
        seed,
        epochs,
        lambda part: epoch(rows, loss, regularizer, table, moved, local, part),
        lam / sigma,
    )
    total = float(local.state[0] - state[0]) / sigma
    after = table[:, ALPHA].copy()
    resident.end(turn, alpha, after)
    return Moved((moved - v) / sigma, total, gap, changes, after if returns else None)
