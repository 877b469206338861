r"""Epochs of block coordinate descent with a Gram matrix of which some rows are cached (``kernels.CachedGram``).

As in ``dual_coordinate.cached_gram``, kernel rows are expensive and scores are stored for all examples, so the
Fenchel-Young gap of a block costs k numbers and needs no row:

.. math:: \text{box: } \sum_{j\ne y} B_j[m_j]_+ - \beta_jm_j, \qquad
    \text{simplex: } [\max_j m_j]_+ - \sum_j\beta_jm_j, \qquad m_j = 1 - s_y + s_j,\ \beta = -\alpha

It is quadratic in the KKT violation.  A row is computed for blocks with at least a quarter of the largest gap of the
last epoch, and a cached row is used from a hundredth on; the other blocks wait for a later epoch.  The examples that
were chosen become a small problem, as many at a time as one call of the kernel computes, and a few epochs of
``run_epoch`` over them change their blocks and all scores: a decomposition method (Joachims, 1999).
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.designs.rows import CSRRows, DenseRows
from fenchel.kernels import CachedGram
from fenchel.numerics.limits import EPS
from fenchel.solvers.block_coordinate.loop import CENTRING, SCALE, ClassLists, run_epoch
from fenchel.solvers.block_coordinate.loop_intercepts import INTERCEPT, OFFSET, SUM
from fenchel.solvers.block_coordinate.state import State

#: gaps from which on a row is computed, and a cached one is used, in units of the threshold of shrinking (a tenth of
#: the largest gap of the last epoch)
_COMPUTED, _USED = 2.5, 0.1
#: epochs over the examples whose rows are at hand
_SWEEPS = 3
#: a gap below this many roundings of its terms is zero
_ROUNDINGS = 64.0


def epoch_on_demand(state: State, design: CachedGram, part: Part) -> Tally:
    """Make one part of an epoch, computing rows as steps need them; all its examples remain active."""
    examples = np.asarray(part.order[part.begin : part.end], dtype=np.int64)
    gaps, sizes = _block_gaps(state, examples)
    scale = state.active_set.threshold if np.isfinite(state.active_set.threshold) else 0.0
    open_blocks = gaps > _ROUNDINGS * EPS * sizes
    least = np.where(design.slots[examples] >= 0, _USED * scale, _COMPUTED * scale)
    chosen = examples[open_blocks & (gaps >= least)]
    changes = int(np.count_nonzero(open_blocks)) - len(chosen)
    for begin in range(0, len(chosen), design.together):
        changes += _descend(state, design, chosen[begin : begin + design.together])
    gap = float(state.blocks.table[examples, SCALE] @ gaps)
    return Tally(np.uint64(part.end), float(np.max(gaps, initial=0.0)), changes, gap)


def _block_gaps(state: State, examples: Array) -> tuple[Floats, Floats]:
    """The Fenchel-Young gaps of these blocks, and the sizes of their terms."""
    blocks, intercepts, count = state.blocks, state.intercepts.state, state.alpha.shape[1]
    places, labels = np.arange(len(examples)), blocks.classes[examples]
    scores = blocks.v[examples, :count] + intercepts[INTERCEPT, :count] - intercepts[OFFSET, :count]
    scores += np.outer(blocks.table[examples, CENTRING], intercepts[SUM, :count])
    margins = 1.0 - scores[places, labels][:, None] + scores
    bounds = blocks.bounds[labels, :count]
    margins[bounds == 0.0] = 0.0
    beta = np.where(bounds > 0.0, np.maximum(-blocks.alpha[examples, :count], 0.0), 0.0)
    if np.isinf(blocks.sum_bound):
        risk = np.sum(bounds * np.maximum(margins, 0.0), axis=1)
    else:
        risk = blocks.sum_bound * np.maximum(np.max(margins, axis=1), 0.0)
    found = risk - np.sum(beta * margins, axis=1)
    sizes = risk + np.sum(beta * (np.abs(margins) + 1.0), axis=1) + np.max(np.abs(scores), axis=1)
    return np.maximum(found, 0.0), sizes


def _descend(state: State, design: CachedGram, examples: Array) -> int:
    """Make a few epochs over these examples, at most ``together``; how many blocks changed, at most in one of them."""
    blocks, count = state.blocks, len(examples)
    ones, places = np.ones(count), np.arange(count + 1, dtype=np.uint32)
    own, values = examples.astype(np.uint32), design.cached_rows(examples)
    for array in (ones, places, own, values):
        array.flags.writeable = False
    some = blocks._replace(alpha=blocks.alpha[examples], classes=blocks.classes[examples], table=blocks.table[examples])
    lists = ClassLists(np.zeros((count, 0), np.uint32), np.zeros(count, np.uint32))
    order, most = np.arange(count, dtype=np.uint32), 0
    for _ in range(_SWEEPS):
        part = Part(order, 0, count, 0, np.inf)
        rows, images = CSRRows(ones, own, places), DenseRows(values)
        tally = run_epoch(rows, images, state.inner, some, state.intercepts, lists, False, part)
        most = max(most, tally.changes)
        if tally.changes == 0:
            break
    blocks.alpha[examples] = some.alpha
    return most
