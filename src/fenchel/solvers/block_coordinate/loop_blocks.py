r"""Exact steps of one example's block of dual variables, for risks of several classes.

A block is :math:`\alpha \in R^k` with :math:`\alpha_j = -\beta_j \le 0` for every class j but the label y, and
:math:`\alpha_y = \sum\beta`.  A step minimizes

.. math:: f^*(-\alpha) + s\cdot(\alpha - \alpha_0) + \tfrac q2\|\alpha - \alpha_0\|^2

over the block.  With :math:`v_j = (1 - s_y + s_j)/q + \beta_{0j} + \sum\beta_0` (``linear``) that is eq. (4) of Wang
and Scott,

.. math:: \min_\beta\; \tfrac12\beta^T(I + 1 1^T)\beta - v^T\beta, \qquad \beta_j = \operatorname{clip}(v_j - t, 0, a_j)

where for Weston-Watkins :math:`t = \sum\beta`, and for Crammer-Singer, where :math:`\sum\beta \le 1`,
:math:`\min(t, 1) = \sum\beta`.  Three ways to solve it:

- ``RootBlock``: the monotone equation in t by Newton steps on its linear pieces inside a bracket, from the piece of the
  last step; no sort, no branches, any bounds, both risks (the general search of ``primitives.projection``, with one
  more entry for -t, takes four times as long and more: benchmarks/README.md, Projections);
- ``SortedBlock``: Walrus, Algorithm 2 with Subroutines 3 to 5 (with the slip of Subroutine 4 corrected; the least
  violation is kept where rounding defeats the exact test), one bound for all;
- ``GreedyBlock``: greedy descent along single variables, as in Shark.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import dispatched
from fenchel.compile.loop import helper, loop, summing_helper

#: relative error of the root's equation; ``clip_exactly`` removes it
_ROOT_ACCURACY = 1e-14


@summing_helper
def _piece(linear: Any, bounds: Any, t: float) -> tuple[float, float, float]:
    """sum_j clip(v_j - t, 0, bounds_j), how many entries are above zero, and how many are above their bounds.

    Without a branch, for the entries are in no order that a processor could foresee.
    """
    total, above, beyond = 0.0, 0.0, 0.0
    for j in range(np.uint64(len(linear))):
        rest = linear[j] - t
        total += min(max(rest, 0.0), bounds[j])
        above += 1.0 if rest > 0.0 else 0.0
        beyond += 1.0 if rest > bounds[j] else 0.0
    return total, above, beyond


@summing_helper
def _first_guess(linear: Any, bounds: Any, beta: Any, sum_bound: float) -> float:
    """The root if the entries of beta that lie between their bounds do so again, and the others stay where they are."""
    total, between, mass = 0.0, 0.0, 0.0
    for j in range(np.uint64(len(linear))):
        inside = (beta[j] > 0.0) & (beta[j] < bounds[j])
        total += linear[j] if inside else beta[j]
        between += 1.0 if inside else 0.0
        mass += beta[j]
    if mass < sum_bound * (1.0 - 1e-12):
        return total / (between + 1.0)
    return (total - sum_bound) / between if between > 0.0 else mass


@helper
def clipped_root(linear: Any, bounds: Any, sum_bound: float, start: float) -> float:
    """The root t of sum_j clip(v_j - t, 0, bounds_j) = min(t, sum_bound); entries with bound zero do not count.

    The left side falls in t and the right side rises, both piecewise linear.  Newton steps on the pieces; one that
    would leave the bracket is replaced by bisection.  Two points with as many entries above zero and above their bounds
    lie on the same piece, where a Newton step is exact.
    """
    low, high = -np.inf, np.inf
    if not np.isinf(sum_bound):
        # with a bound on the sum the equation may be flat
        low, high = -1.0, 0.0
        for j in range(np.uint64(len(linear))):
            high = max(high, linear[j] if bounds[j] > 0.0 else 0.0)
    t, were_above, were_beyond, was_below = min(max(start, 0.0), high), -1.0, -1.0, False
    while low < high:
        total, above, beyond = _piece(linear, bounds, t)
        right, below = min(t, sum_bound), t < sum_bound
        surplus = total - right
        if abs(surplus) <= _ROOT_ACCURACY * right or (
            above == were_above and beyond == were_beyond and below == was_below
        ):
            break
        were_above, were_beyond, was_below = above, beyond, below
        # without a bound on the sum the slope is at most -1, so that the root is not farther away than the surplus
        if surplus > 0.0:
            low = t
            high = min(high, t + 2.0 * surplus) if np.isinf(sum_bound) else high
        else:
            high = t
            low = max(low, t + 2.0 * surplus) if np.isinf(sum_bound) else low
        slope = above - beyond + (1.0 if below else 0.0)
        following = t + surplus / slope if slope > 0.0 else np.inf
        if not low < following < high:
            following, were_above = 0.5 * (low + high), -1.0
        if following <= low or following >= high or abs(following - t) <= 1e-16 * abs(t):
            t = following
            break
        t = following
    return max(t, 0.0)


@helper
def sorted_root(linear: Any, bound: float, order: Any) -> float:
    """t by Algorithm 2 (Walrus); ``order`` are the positions of linear that count, from the largest value down."""
    count = len(order)
    # line 3
    if count == 0 or linear[order[0]] <= 0.0:
        return 0.0
    # line 4: n_u, n_m and S
    upper, middle, total = 0, 0, 0.0
    entering, leaving = 0, 0
    best, least = 0.0, np.inf
    while True:
        # lines 5 and 7 (Subroutines 3 and 4): the next of the values v_j (enter) and v_j - C (leave), leave first
        enter = linear[order[entering]] if entering < count and linear[order[entering]] > 0.0 else -np.inf
        leave = linear[order[leaving]] - bound if leaving < entering and linear[order[leaving]] > bound else -np.inf
        if enter == -np.inf and leave == -np.inf:
            return best
        if leave >= enter:
            upper, middle = upper + 1, middle - 1
            total -= linear[order[leaving]]
            leaving += 1
        else:
            middle += 1
            total += linear[order[entering]]
            entering += 1
        # line 8
        t = (bound * upper + total) / (middle + 1)
        # line 9 (Subroutine 5): how much the conditions are violated
        violation = 0.0
        if upper > 0:
            violation = max(violation, bound + t - linear[order[upper - 1]])
        if middle > 0:
            violation = max(violation, linear[order[upper]] - bound - t, t - linear[order[upper + middle - 1]])
        if upper + middle < count:
            violation = max(violation, linear[order[upper + middle]] - t)
        if violation < least:
            best, least = t, violation
        if violation <= 0.0:
            return t


@helper
def clip_exactly(linear: Any, bounds: Any, sum_bound: float, t: float, beta: Any) -> None:
    """beta = clip(linear - t, 0, bounds), with the rounding error of the equation spread over the entries between.

    t may be off by k roundings of itself, which adds up over k entries to k squared of them in the sum.
    """
    if t > 1e15 * sum_bound:
        # the numbers are too large to tell entries apart that differ by the bound on their sum
        largest = 0
        for j in range(len(beta)):
            beta[j] = 0.0
            if bounds[j] > 0.0 and not (bounds[largest] > 0.0 and linear[largest] >= linear[j]):
                largest = j
        beta[largest] = sum_bound
        return
    total, between = _clip(linear, bounds, t, beta)
    if between > 0.0:
        _shift_between(bounds, (t - total) / (between + 1.0) if t < sum_bound else (sum_bound - total) / between, beta)


@summing_helper
def _clip(linear: Any, bounds: Any, t: float, beta: Any) -> tuple[float, float]:
    """beta = clip(linear - t, 0, bounds); its sum, and how many entries lie between."""
    total, between = 0.0, 0.0
    for j in range(np.uint64(len(beta))):
        clipped = min(max(linear[j] - t, 0.0), bounds[j])
        beta[j] = clipped
        total += clipped
        between += 1.0 if (clipped > 0.0) & (clipped < bounds[j]) else 0.0
    return total, between


@helper
def _shift_between(bounds: Any, step: float, beta: Any) -> None:
    """Add the step to the entries between."""
    for j in range(np.uint64(len(beta))):
        shifted = min(max(beta[j] + step, 0.0), bounds[j])
        beta[j] = shifted if (beta[j] > 0.0) & (beta[j] < bounds[j]) else beta[j]


class RootBlock(NamedTuple):
    """The root of a monotone equation; ``sum_bound`` is 1 for Crammer-Singer and infinite for Weston-Watkins."""

    sum_bound: float

    def block(self, linear: Any, bounds: Any, beta: Any, label: int) -> None:
        """Minimize (4): from beta to the new beta."""
        start = _first_guess(linear, bounds, beta, self.sum_bound)
        clip_exactly(linear, bounds, self.sum_bound, clipped_root(linear, bounds, self.sum_bound, start), beta)


class SortedBlock(NamedTuple):
    """Walrus."""

    bound: float

    def block(self, linear: Any, bounds: Any, beta: Any, label: int) -> None:
        """Minimize (4): from beta to the new beta."""
        # line 2
        order = np.argsort(-linear)
        order = order[order != label]
        clip_exactly(linear, bounds, np.inf, sorted_root(linear, self.bound, order), beta)


class GreedyBlock(NamedTuple):
    """Exact steps along the variable with the largest violation, until it is small or ``rounds`` steps per class."""

    accuracy: float
    rounds: float

    def block(self, linear: Any, bounds: Any, beta: Any, label: int) -> None:
        """Descend on (4) from beta."""
        total = 0.0
        for j in range(np.uint64(len(beta))):
            total += beta[j]
        for _ in range(int(self.rounds) * len(beta)):
            worst, place, new = self.accuracy, -1, 0.0
            for j in range(len(beta)):
                # the gradient is b_j + total - v_j; along one variable the curvature is 2
                slope = linear[j] - beta[j] - total
                target = min(max(beta[j] + 0.5 * slope, 0.0), bounds[j])
                gain = abs(target - beta[j])
                if gain > worst:
                    worst, place, new = gain, j, target
            if place < 0:
                break
            total += new - beta[place]
            beta[place] = new


#: (inner, linear, bounds, beta, label): minimize eq. (4) over one block, by the inner solver
block = dispatched("block")


@loop
def solve_block(inner: Any, linear: Any, bounds: Any, beta: Any, label: int) -> None:
    """One subproblem on its own."""
    block(inner, linear, bounds, beta, label)
