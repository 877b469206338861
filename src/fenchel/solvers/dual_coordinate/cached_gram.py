"""Epochs of dual coordinate descent with a Gram matrix of which some rows are cached (``kernels.CachedGram``).

Kernel rows are expensive to compute, and a step with a cached row still changes all scores, while the KKT margin of an
example costs next to nothing.  So, once a first epoch has shown how large violations are, and unless
``shrinking=False``:

- a row is computed for violations of at least half of the largest in the last epoch, and a cached row is used for those
  of at least a tenth; smaller ones wait until the largest has come down to them;
- an epoch begins with a few sweeps over the examples whose rows are cached.

On 5,000 rows of covtype with room for a fifth of the matrix (gamma = 1, C = 10, a gap of 1e-3, once each) 48,000 rows
were computed without sweeps and with a tenth for computed rows as well, 29,000 with three sweeps besides, and 16,000
with three sweeps and a half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array
from fenchel.compile.primitives.epoch import Part
from fenchel.compile.primitives.random_order import shuffle
from fenchel.kernels import CachedGram
from fenchel.solvers.dual_coordinate.loop import ALPHA
from fenchel.solvers.dual_coordinate.loop_cached_gram import Cache, LeastViolations, epoch_cached_gram, missing_rows
from fenchel.solvers.dual_coordinate.pairs import free_pairs_among
from fenchel.solvers.dual_coordinate.state import OutputState, State

#: kernel values that one step of the solver may compute: bounds how long Ctrl-C or a time limit waits
_STEP_VALUES = 1 << 23
#: changes of scores that the sweeps before an epoch may make, sweeps at most, and changes in one call of the loop
_SWEEP_ENTRIES, _SWEEPS, _CALL_ENTRIES = 1 << 29, 5, 1 << 26
#: the least violations for which a row is computed, and used, in units of the threshold of shrinking (a tenth of the
#: largest violation of the last epoch); measured as above
_COMPUTED, _USED = 5.0, 1.0


def epoch_on_demand(state: State, output: OutputState, design: CachedGram, part: Part, *, pairs: bool) -> int:
    """Make and record one part of an epoch, computing rows as steps need them; turns of examples."""
    selective = bool(np.isfinite(part.threshold))
    scale = part.threshold if selective else 0.0
    least = LeastViolations(_COMPUTED * scale, _USED * scale)
    swept = _sweeps(state, output, design, selective, least.used, pairs) if part.begin == 0 else 0
    arrays = (state.loss, output.table, output.v, state.intercept(output))
    found: NDArray[np.int64] = np.empty(design.together, dtype=np.int64)
    budget, rest = max(1, _STEP_VALUES // design.shape[0]), part
    while True:
        tally, position = epoch_cached_gram(state.rows, _cache(design), *arrays, rest, least)
        output.active_set.record(tally, position, state.problem.lam)
        if position == part.end or (budget <= 0 and position > part.begin):
            return position - part.begin + swept
        rest = rest._replace(begin=position, remaining=output.active_set.remaining)
        ahead = rest._replace(end=output.active_set.size)
        count = missing_rows(_cache(design), *arrays, ahead, least.computed, found)
        design.bring(found[:count].copy())
        budget -= count


def _sweeps(state: State, output: OutputState, design: CachedGram, selective: bool, used: float, pairs: bool) -> int:
    """Move examples with cached rows to the front of the epoch, and make a few epochs over them; turns of examples."""
    head = output.active_set.order[: output.active_set.size]
    cached = design.slots[head] >= 0
    order = head[cached]
    head[:] = np.concatenate([order, head[~cached]])
    if not selective or not len(order):
        return 0
    rounds = min(_SWEEPS, max(1, _SWEEP_ENTRIES // (len(order) * design.shape[0])))
    together = max(1, _CALL_ENTRIES // design.shape[0])
    if pairs:
        return _sweep_pairs(state, output, design, order, used, rounds * len(order), together)
    for _ in range(rounds):
        shuffle(order, len(order), state.random)
        arrays = (state.loss, output.table, output.v, state.intercept(output))
        for begin in range(0, len(order), together):
            # without a threshold all examples remain
            part = Part(order, begin, min(begin + together, len(order)), begin, np.inf)
            epoch_cached_gram(state.rows, _cache(design), *arrays, part, LeastViolations(0.0, used))
    return rounds * len(order)


def _sweep_pairs(
    state: State, output: OutputState, design: CachedGram, order: Array, used: float, turns: int, together: int
) -> int:
    """Make steps on pairs of examples with cached rows; turns of examples."""
    active, before, made = np.sort(order), output.table[:, ALPHA].copy(), 0
    while made < turns:
        rounds = max(1, min(together, turns - made) // 2)
        steps = free_pairs_among(state, output, active, design.slots, used, rounds)
        made += 2 * steps
        if 2 * steps < together - 1:
            break
    design.stamps[design.slots[active[output.table[active, ALPHA] != before[active]]]] = design.clock
    return made


def _cache(design: CachedGram) -> Cache:
    return Cache(design.slots, design.stamps, design.clock)
