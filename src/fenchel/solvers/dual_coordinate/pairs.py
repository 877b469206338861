"""Steps on pairs of dual variables with rows of a Gram matrix, and the intercept that follows from their slopes.

Rows of a matrix that is not in memory as a whole are computed for the examples with the largest violations, some at a
time, when steps with the rows that are there have made the violations of their examples small beside those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.epoch import Part
from fenchel.kernels import CachedGram
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, LABEL, OFFSET, SCALE, SUM
from fenchel.solvers.dual_coordinate.loop_balanced_pairs import Among, Ends, optimize_pairs
from fenchel.solvers.dual_coordinate.loop_pairs import FreeAmong, optimize_free_pairs
from fenchel.solvers.dual_coordinate.state import OutputState, State

#: the sum of theta that counts as zero, as a share of the sum of absolute values
_BALANCED = 1e-9
#: rows are computed when the largest violation of examples with rows is at most this share of that of all
_SHARE = 0.6
#: times that rows may be computed without a step: those of the worst pair may come one after the other
_IDLE = 4


def is_balanced(state: State, output: OutputState) -> bool:
    """Whether there is no intercept, or the sum of theta is zero, which pairs keep."""
    size = float(output.table[:, SCALE] @ np.abs(output.table[:, ALPHA]))
    return not len(state.projection) or abs(float(output.intercept[SUM])) <= _BALANCED * size


def has_room_for_pairs(state: State) -> bool:
    """Whether two rows can be computed at once, and stay until both have had a step."""
    return state.on_demand is None or state.on_demand.together >= 2


def alpha_bounds(state: State, output: OutputState) -> Floats:
    """The least and the largest value of each alpha."""
    low, high = state.problem.mean_risk.loss.domain(output.table[:, LABEL])
    return np.stack(np.broadcast_arrays(-high, -low), axis=1)


def descend_on_pairs(state: State, output: OutputState, part: Part, most: int) -> int:
    """Make steps on pairs of active examples, and move the intercept to where their slopes agree; turns of examples."""
    # rows of K are read in the order in which they are stored
    active, rounds = np.sort(part.order[: part.end]), max(1, min(most, state.problem.risk.examples) // 2)
    if not len(state.projection):
        return 2 * free_pairs_among(state, output, active, np.arange(len(output.table)), 0.0, rounds)
    found = _balanced_pairs(state, output, active, rounds)
    middle = 0.5 * (found.least + found.greatest)
    if np.isfinite(middle):
        output.intercept[CENTRE] = output.intercept[OFFSET] - middle
    return 2 * found.steps


def free_pairs_among(
    state: State, output: OutputState, active: Array, places: Array, violation: float, rounds: int
) -> int:
    """Make steps on pairs of these examples, without an intercept; how many."""
    form = state.problem.mean_risk.loss.piecewise_quadratic()
    assert form is not None
    among = FreeAmong(active, places, alpha_bounds(state, output))
    return int(optimize_free_pairs(state.rows, output.table, output.v, among, form, violation, rounds))


class _Found(NamedTuple):
    """Steps that were made, and the smallest u and the largest l of all active examples."""

    steps: int
    least: float
    greatest: float


def _balanced_pairs(state: State, output: OutputState, active: Array, rounds: int) -> _Found:
    """Make steps on pairs that keep the sum of theta, computing rows where they are needed."""
    form, kernel = state.problem.mean_risk.loss.piecewise_quadratic(), state.problem.design.kernel()
    assert form is not None
    assert kernel is not None
    cached, bounds, made, idle = state.on_demand, alpha_bounds(state, output), 0, 0
    while True:
        if cached is None:
            where = (np.arange(len(output.table)), bounds, kernel.diagonal, np.zeros(len(output.table), np.int64), 0)
        else:
            where = (cached.slots, bounds, kernel.diagonal, cached.stamps, cached.clock)
        arrays = (output.table, output.v, state.intercept(output), Among(active, *where))
        steps, least, greatest, missing = optimize_pairs(state.rows, *arrays, form, Ends(0.0, _SHARE, rounds - made))
        made, idle = made + int(steps), 0 if steps else idle + 1
        if not missing or cached is None or made >= rounds or idle > _IDLE:
            return _Found(made, least, greatest)
        cached.bring(_worst(state, output, cached, active, bounds))


def _worst(state: State, output: OutputState, cached: CachedGram, active: Array, bounds: Floats) -> Array:
    """The active examples without rows with the smallest u and the largest l, half of each."""
    form = state.problem.mean_risk.loss.piecewise_quadratic()
    assert form is not None
    some = active[cached.slots[active] < 0].astype(np.int64)
    table, half = output.table[some], cached.together // 2
    alpha, (low, high) = table[:, ALPHA], bounds[some].T
    slope = output.v[some] + form.kappa * alpha - table[:, LABEL]
    upper = np.where(alpha < high, slope + np.where(alpha >= 0.0, form.epsilon, -form.epsilon), np.inf)
    lower = np.where(alpha > low, slope + np.where(alpha > 0.0, form.epsilon, -form.epsilon), -np.inf)
    if len(some) <= 2 * half:
        return some
    return np.union1d(some[np.argpartition(upper, half)[:half]], some[np.argpartition(-lower, half)[:half]])
