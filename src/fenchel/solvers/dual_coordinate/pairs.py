"""Steps on pairs of dual variables with a Gram matrix in memory, and the intercept that follows from their slopes."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.epoch import Part
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, LABEL, OFFSET, SCALE, SUM
from fenchel.solvers.dual_coordinate.loop_pairs import Among, optimize_free_pairs, optimize_pairs
from fenchel.solvers.dual_coordinate.state import OutputState, State

#: the sum of theta that counts as zero, as a share of the sum of absolute values
_BALANCED = 1e-9


def is_balanced(state: State, output: OutputState) -> bool:
    """Whether there is no intercept, or the sum of theta is zero, which pairs keep."""
    size = float(output.table[:, SCALE] @ np.abs(output.table[:, ALPHA]))
    return not len(state.projection) or abs(float(output.intercept[SUM])) <= _BALANCED * size


def alpha_bounds(state: State, output: OutputState) -> Floats:
    """The least and the largest value of each alpha."""
    low, high = state.problem.mean_risk.loss.domain(output.table[:, LABEL])
    return np.stack(np.broadcast_arrays(-high, -low), axis=1)


def descend_on_pairs(state: State, output: OutputState, part: Part, most: int) -> int:
    """Make steps on pairs of active examples, and move the intercept to where their slopes agree; turns of examples."""
    # rows of K are read in the order in which they are stored
    active, rounds = np.sort(part.order[: part.end]), max(1, min(most, state.problem.risk.examples) // 2)
    steps, middle = pairs_among(state, output, active, np.arange(len(output.table)), 0.0, rounds)
    if np.isfinite(middle):
        output.intercept[CENTRE] = output.intercept[OFFSET] - middle
    return 2 * steps


def pairs_among(
    state: State, output: OutputState, active: Array, places: Array, violation: float, rounds: int
) -> tuple[int, float]:
    """Make steps on pairs of these examples; how many, and the middle of their slopes, NaN without an intercept."""
    form = state.problem.mean_risk.loss.piecewise_quadratic()
    assert form is not None
    among = Among(active, places, alpha_bounds(state, output))
    if not len(state.projection):
        return int(optimize_free_pairs(state.rows, output.table, output.v, among, form, violation, rounds)), np.nan
    arrays = (output.table, output.v, state.intercept(output), among)
    steps, least, greatest = optimize_pairs(state.rows, *arrays, form, violation, rounds)
    return int(steps), 0.5 * (least + greatest)
