r"""The local part of CoCoA+ for joint hinges of several classes: epochs of block coordinate descent on one group.

As ``local_epochs``, with a block of dual variables for each example and the loop of ``solvers.block_coordinate``, whose
parts of an epoch have the :math:`\sigma'` of the subproblem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.lanes import padded
from fenchel.dask.local_epochs import descend, row_geometry
from fenchel.dask.resident import Resident, Turn
from fenchel.dask.shard import Shard
from fenchel.risks.multiclass.base import MulticlassRisk
from fenchel.solvers.block_coordinate.loop import CENTRING, CURVATURE, SCALE, Blocks, ClassLists, run_epoch
from fenchel.solvers.block_coordinate.loop_blocks import RootBlock
from fenchel.solvers.block_coordinate.loop_intercepts import INTERCEPT, OFFSET, SUM, Intercepts
from fenchel.solvers.shrinking import ActiveSet


class BlockCoordinates(NamedTuple):
    """What the steps on the dual blocks of a group need, beside its rows."""

    classes: Array
    shares: Floats
    #: CURVATURE, SCALE and CENTRING of ``block_coordinate.loop``
    table: Floats
    bounds: Floats
    sum_bound: float


class MovedBlocks(NamedTuple):
    """What the local epochs of a group changed."""

    #: the change of X^T theta / lam, (d, k)
    v: Floats
    #: the change of sum theta / lam, (k,)
    total: Floats
    #: sum of the Fenchel-Young gaps of its examples, each at the time of its last turn
    gap: float
    changes: int
    #: the dual variables, (n, k), if they were asked for
    alpha: Floats | None = None


def block_coordinates(
    shard: Shard, part: MulticlassRisk, *, mean: Array, lam: float, constant: float
) -> Resident[BlockCoordinates]:
    """Return the curvatures of a group; ``mean`` is empty without intercepts."""
    norms, projection = row_geometry(shard, mean)
    table = np.zeros((part.examples, 3))
    table[:, CENTRING] = float(mean @ mean) - projection if len(mean) else 0.0
    table[:, SCALE] = part.shares / lam
    table[:, CURVATURE] = table[:, SCALE] * (norms + constant)
    box = part.dual_block == "box"
    bounds = np.zeros((part.outputs, padded(part.outputs)))
    # with a bound on the sum no bounds on its terms are needed
    bounds[:, : part.outputs] = part.costs if box else np.where(np.eye(part.outputs) > 0, 0.0, np.inf)
    return Resident(BlockCoordinates(part.classes, part.shares, table, bounds, np.inf if box else 1.0))


def local_block_epochs(
    shard: Shard,
    resident: Resident[BlockCoordinates],
    turn: Turn,
    seed: int,
    *,
    v: Array,
    total: Array,
    intercept: Array,
    offset: Array,
    constant: float,
    square: float,
    sigma: float,
    lam: float,
    epochs: float,
    returns: bool,
) -> MovedBlocks | None:
    """Descend on the dual blocks of a group; ``total`` is S, ``intercept`` b, ``offset`` m.v and ``square`` |m|^2.

    None if the worker does not have the dual variables; the new ones are returned if ``returns``.
    """
    alpha, own = resident.begin(turn), resident.kept
    if alpha is None:
        return None
    (rows, count), width = alpha.shape, own.bounds.shape[1]
    blocks = Blocks(
        np.zeros((rows, width)), np.zeros((len(v), width)), own.classes, own.table, own.bounds, own.sum_bound
    )
    blocks.alpha[:, :count], blocks.v[:, :count] = alpha, v
    state = np.zeros((3, width))
    state[SUM, :count], state[INTERCEPT, :count], state[OFFSET, :count] = total, intercept, offset
    # lists of classes are for many epochs
    lists = ClassLists(np.zeros((rows, 0), np.uint32), np.zeros(rows, np.uint32))
    fixed = (
        shard.design.rows(),
        shard.design.rows(),
        RootBlock(own.sum_bound),
        blocks,
        Intercepts(state, constant, square),
    )
    active_set = ActiveSet(np.flatnonzero(own.shares > 0), rows)
    gap, changes = descend(
        active_set, seed, epochs, lambda part: run_epoch(*fixed, lists, False, part._replace(sigma=sigma)), lam
    )
    moved = (blocks.v[:, :count] - v) / sigma, (state[SUM, :count] - total) / sigma
    after = blocks.alpha[:, :count].copy()
    resident.end(turn, alpha, after)
    return MovedBlocks(*moved, gap, changes, after if returns else None)
