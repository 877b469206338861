"""Visits of dual coordinate descent to a Gram matrix that is not in memory (``designs.cached_gram``).

Rows are dear to compute, and a step with a row that is here still moves all scores, while to look at an example costs
next to nothing.  So, once a first pass has shown how large violations are, and unless ``shrinking=False``:

- a row is computed for violations of at least half of the worst in the last pass, and a row that is here is used for
  those of at least a tenth; the others wait until the worst has come down to them;
- a pass begins with a few sweeps over the examples whose rows are here.

On 5,000 rows of covtype with room for a fifth of the matrix (gamma = 1, C = 10, a gap of 1e-3, once each) 48,000 rows
were computed without sweeps and with a tenth for computed rows as well, 29,000 with three sweeps besides, and 16,000
with three sweeps and a half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.primitives.random_order import shuffle
from fenchel.kernels import CachedGram
from fenchel.problem import Problem
from fenchel.solvers.dual_coordinate.loop_cached_gram import visit_kept, wanted
from fenchel.solvers.dual_coordinate.state import OutputState, State

#: kernel values that one step may compute: bounds how long Ctrl-C or a time limit waits
_STEP_VALUES = 1 << 23
#: scores that the sweeps before a pass may move
_SWEEP_ENTRIES = 1 << 29
_SWEEPS = 5
#: the least violations for which a row is computed, and used, in units of what sets an example aside that rests (which
#: is a tenth of the worst violation of the last pass)
_COMPUTED, _USED = 5.0, 1.0
#: examples whose mean stands for that of all
_SAMPLE = 500

#: sums of both signs that differ by no more, relatively, are equal up to rounding; one shrinking may miss that
_BALANCED, _ROUNDS = 2.0 * float(np.finfo(np.float64).eps), 6

Found = tuple[int, float, int, float]


def near_mean(problem: Problem) -> NDArray[np.float64]:
    """The shares of examples in a point to centre on: their mean, or near it, if that would need every row of K."""
    shares = problem.risk.shares
    if problem.cached_gram is None or np.count_nonzero(shares) <= _SAMPLE:
        return shares
    # each is drawn as often as it counts
    drawn = np.random.default_rng(0).choice(len(shares), _SAMPLE, p=shares / np.sum(shares))
    return np.bincount(drawn, minlength=len(shares)) / _SAMPLE


def balanced(theta: NDArray) -> NDArray[np.float64]:
    """Theta with the heavier sign shrunk until the sum is about zero, as a certificate would.

    A model with these coefficients has the scores that the certificate needs for theta, too, so that rows of K are
    computed once for both.
    """
    theta = theta.copy()
    for column in theta.reshape(len(theta), -1).T:
        for _ in range(_ROUNDS):
            positive, negative = float(np.sum(column[column > 0])), -float(np.sum(column[column < 0]))
            lighter, heavier = sorted((positive, negative))
            if heavier - lighter <= _BALANCED * heavier:
                break
            column[column > 0 if positive > negative else column < 0] *= lighter / heavier
    return theta


def visit_on_demand(
    state: State, output: OutputState, design: CachedGram, begin: int, end: int, threshold: float
) -> tuple[Found, int, int]:
    """Visit examples in their order, computing rows on the way; what was met, where it ended, and visits."""
    descent, selective = output.descent, bool(np.isfinite(threshold))
    least = (_COMPUTED * threshold, _USED * threshold) if selective else (0.0, 0.0)
    swept = _sweeps(state, output, design, selective, least[1]) if begin == 0 else 0
    values = _numbers(state, output)
    kept, worst, changed, gap = descent.kept, 0.0, 0, 0.0
    found: NDArray[np.int64] = np.empty(design.together, dtype=np.int64)
    budget, position = max(1, _STEP_VALUES // design.shape[0]), begin
    while True:
        stored = (state.rows, design.slots, design.stamps, design.clock)
        *met, position = visit_kept(*stored, *values, descent.order, position, end, kept, threshold, *least)
        kept, worst, changed, gap = met[0], max(worst, met[1]), changed + met[2], gap + met[3]
        if position == end or (budget <= 0 and position > begin):
            return (kept, worst, changed, gap), position, position - begin + swept
        count = wanted(design.slots, *values, descent.order, position, descent.active, least[0], found)
        design.bring(found[:count].copy())
        budget -= count


def _sweeps(state: State, output: OutputState, design: CachedGram, selective: bool, used: float) -> int:
    """Order a pass so that it finds the rows that are here, and visit their examples a few times; how many visits."""
    descent = output.descent
    head = descent.order[: descent.active]
    here = design.slots[head] >= 0
    order = head[here]
    head[:] = np.concatenate([order, head[~here]])
    if not selective or not len(order):
        return 0
    rounds = min(_SWEEPS, max(1, _SWEEP_ENTRIES // (len(order) * design.shape[0])))
    for _ in range(rounds):
        shuffle(order, len(order), state.random)
        stored = (state.rows, design.slots, design.stamps, design.clock)
        visit_kept(*stored, *_numbers(state, output), order, 0, len(order), 0, np.inf, 0.0, used)
    return rounds * len(order)


def _numbers(state: State, output: OutputState) -> tuple:
    """What a visit reads and changes."""
    centre = (state.projection, state.centre_square + output.constant)
    return (state.loss, output.book, output.u, output.free, *centre)
