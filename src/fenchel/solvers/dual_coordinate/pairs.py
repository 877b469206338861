"""Steps on pairs of dual variables with a Gram matrix in memory, and the intercept that follows from their slopes."""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Floats
from fenchel.compile.primitives.epoch import Part
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, LABEL, OFFSET, SCALE, SUM
from fenchel.solvers.dual_coordinate.loop_pairs import optimize_free_pairs, optimize_pairs
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
    form, problem = state.problem.mean_risk.loss.piecewise_quadratic(), state.problem
    assert form is not None
    rounds = max(1, min(most, problem.risk.examples) // 2)
    # rows of K are read in the order in which they are stored
    active, bounds = np.sort(part.order[: part.end]), alpha_bounds(state, output)
    if not len(state.projection):
        return 2 * int(optimize_free_pairs(state.rows, output.table, output.v, active, bounds, form, rounds))
    arrays = (output.table, output.v, state.intercept(output), active, bounds)
    steps, least, greatest = optimize_pairs(state.rows, *arrays, form, rounds)
    if np.isfinite(least) and np.isfinite(greatest):
        output.intercept[CENTRE] = output.intercept[OFFSET] - 0.5 * (least + greatest)
    return 2 * int(steps)
