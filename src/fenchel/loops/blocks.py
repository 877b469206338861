r"""Exact steps of one example's block of dual variables, for risks of several classes.

A block is :math:`\alpha \in R^k` with :math:`\alpha_j = -\beta_j \le 0` for every class j but the label y, and
:math:`\alpha_y = \sum\beta`.  A step minimizes

.. math:: f^*(-\alpha) + s\cdot(\alpha - \alpha_0) + \tfrac q2\|\alpha - \alpha_0\|^2

over the block.  With :math:`v_j = (1 - s_y + s_j)/q + \beta_{0j} + \sum\beta_0` that is Wang and Scott's eq. (4),

.. math:: \min_\beta\; \tfrac12\beta^T(I + 1 1^T)\beta - v^T\beta, \qquad \beta_j = \operatorname{clip}(v_j - t, 0, a_j)

where for Weston-Watkins :math:`t = \sum\beta`, and for Crammer-Singer, where :math:`\sum\beta \le 1`,
:math:`\min(t, 1) = \sum\beta`.  Three ways to solve it:

- ``RootBlock``: the monotone equation in t by Newton steps on its linear pieces inside a bracket, from the t of the
  last visit; no sort, any bounds, both risks;
- ``SortedBlock``: Walrus, Algorithm 2 with Subroutines 3 to 5 (with the slip of Subroutine 4 corrected; the least
  violation is kept where rounding defeats the exact test), one bound for all;
- ``GreedyBlock``: greedy descent along single variables, as in Shark.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.loops.dispatch import dispatch
from fenchel.loops.kernel import helper, kernel


@helper
def clipped_root(v: Any, bounds: Any, most: float, start: float) -> float:
    """The root t of sum_j clip(v_j - t, 0, bounds_j) = min(t, most); entries with bound zero do not count.

    The left side falls in t and the right side rises, both piecewise linear.
    """
    low, high = 0.0, 0.0
    for j in range(np.uint64(len(v))):
        if bounds[j] > 0.0:
            high = max(high, v[j])
    t = min(max(start, low), high)
    while low < high:
        # the linear piece at t: what is at its bound, and what lies between
        full, between, total = 0.0, 0, 0.0
        for j in range(np.uint64(len(v))):
            rest = v[j] - t
            if rest >= bounds[j]:
                full += bounds[j]
            elif rest > 0.0:
                between += 1
                total += v[j]
        surplus = full + (total - between * t) - min(t, most)
        if surplus > 0.0:
            low = t
        elif surplus < 0.0:
            high = t
        else:
            break
        following = 0.5 * (low + high)
        if t < most:
            newton = (full + total) / (between + 1)
        else:
            newton = (full + total - most) / between if between > 0 else following
        if low < newton < high:
            following = newton
        if following <= low or following >= high or abs(following - t) <= 1e-16 * abs(t):
            t = following
            break
        t = following
    return t


@helper
def sorted_root(v: Any, bound: float, order: Any) -> float:
    """t by Algorithm 2 (Walrus); ``order`` are the positions of v that count, from the largest value down."""
    count = len(order)
    # line 3
    if count == 0 or v[order[0]] <= 0.0:
        return 0.0
    # line 4: n_u, n_m and S
    upper, middle, total = 0, 0, 0.0
    entering, leaving = 0, 0
    best, least = 0.0, np.inf
    while True:
        # lines 5 and 7 (Subroutines 3 and 4): the next of the values v_j (enter) and v_j - C (leave), leave first
        enter = v[order[entering]] if entering < count and v[order[entering]] > 0.0 else -np.inf
        leave = v[order[leaving]] - bound if leaving < entering and v[order[leaving]] > bound else -np.inf
        if enter == -np.inf and leave == -np.inf:
            return best
        if leave >= enter:
            upper, middle = upper + 1, middle - 1
            total -= v[order[leaving]]
            leaving += 1
        else:
            middle += 1
            total += v[order[entering]]
            entering += 1
        # line 8
        t = (bound * upper + total) / (middle + 1)
        # line 9 (Subroutine 5): how much the conditions are violated
        violation = 0.0
        if upper > 0:
            violation = max(violation, bound + t - v[order[upper - 1]])
        if middle > 0:
            violation = max(violation, v[order[upper]] - bound - t, t - v[order[upper + middle - 1]])
        if upper + middle < count:
            violation = max(violation, v[order[upper + middle]] - t)
        if violation < least:
            best, least = t, violation
        if violation <= 0.0:
            return t


@helper
def settle(v: Any, bounds: Any, most: float, t: float, b: Any) -> None:
    """b = clip(v - t, 0, bounds), with what rounding left of the equation spread over the entries between.

    t may be off by k roundings of itself, which adds up over k entries to k squared of them in the sum.
    """
    total, between = 0.0, 0
    if t > 1e15 * most:
        # the numbers are too large to tell entries apart that differ by the bound on their sum
        largest = np.argmax(np.where(bounds > 0.0, v, -np.inf))
        b[:] = 0.0
        b[largest] = most
        return
    for j in range(np.uint64(len(b))):
        b[j] = min(max(v[j] - t, 0.0), bounds[j])
        total += b[j]
        if 0.0 < b[j] < bounds[j]:
            between += 1
    if between == 0:
        return
    step = (t - total) / (between + 1) if t < most else (most - total) / between
    for j in range(np.uint64(len(b))):
        if 0.0 < b[j] < bounds[j]:
            b[j] = min(max(b[j] + step, 0.0), bounds[j])


class RootBlock(NamedTuple):
    """The root of a monotone equation; ``most`` is 1 for Crammer-Singer and infinite for Weston-Watkins."""

    most: float

    def block(self, v: Any, bounds: Any, b: Any, label: int) -> None:
        """Minimize (4): from b to the new b."""
        start = 0.0
        for j in range(np.uint64(len(b))):
            start += b[j]
        settle(v, bounds, self.most, clipped_root(v, bounds, self.most, start), b)


class SortedBlock(NamedTuple):
    """Walrus."""

    bound: float

    def block(self, v: Any, bounds: Any, b: Any, label: int) -> None:
        """Minimize (4): from b to the new b."""
        # line 2
        order = np.argsort(-v)
        order = order[order != label]
        settle(v, bounds, np.inf, sorted_root(v, self.bound, order), b)


class GreedyBlock(NamedTuple):
    """Exact steps along the variable that violates its condition most, until that is small or so many are made."""

    accuracy: float
    rounds: float

    def block(self, v: Any, bounds: Any, b: Any, label: int) -> None:
        """Descend on (4) from b."""
        total = 0.0
        for j in range(np.uint64(len(b))):
            total += b[j]
        for _ in range(int(self.rounds) * len(b)):
            worst, place, new = self.accuracy, -1, 0.0
            for j in range(len(b)):
                # the gradient is b_j + total - v_j; along one variable the curvature is 2
                slope = v[j] - b[j] - total
                target = min(max(b[j] + 0.5 * slope, 0.0), bounds[j])
                gain = abs(target - b[j])
                if gain > worst:
                    worst, place, new = gain, j, target
            if place < 0:
                break
            total += new - b[place]
            b[place] = new


@dispatch
def block(inner: Any, v: Any, bounds: Any, b: Any, label: int) -> None:
    """Minimize eq. (4) over one block, by the inner solver."""
    inner.block(v, bounds, b, label)


@kernel
def solve_block(inner: Any, v: Any, bounds: Any, b: Any, label: int) -> None:
    """One subproblem on its own."""
    block(inner, v, bounds, b, label)
