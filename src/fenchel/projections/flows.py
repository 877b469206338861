r"""Net flows between the two sides of groups of examples, with bounded flows of pairs.

In each group an upper example i and a lower one j exchange a flow :math:`0\le\beta_{ij}\le c_i c_j/M`.  Non-negative
numbers x are the net flows of some such :math:`\beta`, by the theorem of Gale and Ryser (maximal flow = minimal cut),
if and only if both sides of each group have the same sum and, with the upper ones in order of falling
:math:`x_i/c_i`,

.. math::
    P_k = \sum_{i\le k} x_i \;\le\; U(\textstyle\sum_{i\le k} c_i), \qquad
    U(t) = \sum_j \min(x_j, c_j t/M) \qquad \text{for every } k.

P and U are concave, hence so is their minimum, whose differences are the net flows that x is mapped to.  If the
inequalities and the equality hold up to :math:`\epsilon` in a group, the maximal flow is smaller than x by at most
:math:`3\epsilon` in the 1-norm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.group_sums import group_sums, order_in_groups, separate_group_sums
from fenchel.numerics.limits import EPS

#: running sums of values within groups of these sizes
SumsInGroups = Callable[[Array, Array], Array]
#: relative violation of the inequalities and of the equality that counts as rounding
_TOLERANCE = 4.0 * EPS
#: sides in all, and examples of a side in the mean, for which a loop over groups is faster than one sort of all
_FEW_SIDES, _LARGE_SIDE = 16, 256
#: multiples that are tried
_ROUNDS = 4
#: spacing of extended precision at 1
_EXTENDED_EPS = float(np.finfo(np.longdouble).eps)


def onto_net_flows(x: Array, amounts: Array, upper: Array, groups: Array, pairs: float | Array) -> Floats:
    """Net flows near x; entries of amount zero become zero.

    ``upper`` says which examples are on the upper side, and ``pairs`` is M, which may differ between groups: a number
    for each example then.
    """
    sides, found = Sides(amounts, upper, groups, pairs), np.zeros(len(x))
    found[sides.rows] = sides.net_flows(np.asarray(x, dtype=np.float64)[sides.rows])
    return found


class Sides:
    """The examples of positive amount, side after side: what net flows of any x have in common."""

    def __init__(self, amounts: Array, upper: Array, groups: Array, pairs: float | Array) -> None:
        counted = np.flatnonzero(amounts > 0.0)
        # side 2g is the lower one of group g, side 2g + 1 the upper one
        count = 2 * int(np.max(groups, initial=0)) + 2
        # short integers are sorted in linear time
        short = np.uint16 if count <= 1 << 16 else np.int64
        side: NDArray[np.integer[Any]] = (2 * np.asarray(groups, dtype=np.int64)[counted] + upper[counted]).astype(
            short
        )
        order = np.argsort(side, kind="stable")
        #: the examples in this order
        self.rows: NDArray[np.integer[Any]] = counted[order].astype(np.int32 if len(amounts) < 1 << 31 else np.int64)
        self._side, self._sizes = side[order], np.bincount(side, minlength=count)
        one = bool(np.all(amounts[counted] == 1.0))
        self._c = np.broadcast_to(np.float64(1.0), self.rows.shape) if one else amounts[self.rows]
        M = np.asarray(pairs, dtype=np.float64)
        self._M = np.broadcast_to(M, self.rows.shape) if M.ndim == 0 else M[self.rows]
        # sums of whole numbers are exact in float64
        self._whole = one or bool(np.all(self._c == np.rint(self._c)))
        self._slack = 0.0 if self._whole else 2.0 * (len(order) + 4.0) * _EXTENDED_EPS * float(np.sum(self._c))
        self._totals = _less(_totals(self._c, self._sizes), self._slack)
        #: whether amounts are one and groups large: sorted values then show whether x is a net flow
        self._sorts_values = one and count <= max(_FEW_SIDES, len(order) // _LARGE_SIDE)

    @property
    def upper(self) -> NDArray[np.bool_]:
        """Whether each of the examples is on the upper side."""
        return self._side & 1 == 1

    def net_flows(self, x: Array) -> Floats:
        """Net flows near x, both in the order of ``rows``."""
        side, sizes, c, M = self._side, self._sizes, self._c, self._M
        # 1. no more than all pairs of an example allow, and equal sums
        largest = self._totals[np.arange(len(sizes)) ^ 1]
        y = np.clip(x, 0.0, c * np.repeat(largest, sizes) / M)
        y = _balanced(y, sizes)
        if self._sorts_values and self._are_net_flows(y):
            return y
        # 2. the differences of min(P, U), wherever one of the two ends changed
        order, sums, caps = self._cuts(y)
        over = sums > (1.0 + _TOLERANCE) * caps
        if np.any(over):
            first = np.concatenate([[True], side[order][1:] != side[order][:-1]])
            ends = np.where(over, caps, sums)
            moved = over | (np.concatenate([[False], over[:-1]]) & ~first)
            entries = ends - np.where(first, 0.0, np.concatenate([[0.0], ends[:-1]]))
            y[order[moved]] = np.maximum(entries[moved], 0.0)
            y = _balanced(y, sizes)
            y = self._multiple_inside(y)
        return y

    def _multiple_inside(self, y: Array) -> Floats:
        """A multiple of y that meets all bounds: less their slack these are not concave where amounts differ widely."""
        for _ in range(_ROUNDS):
            # sums of each group alone: those of all have a rounding that is not small beside a small group
            _, sums, caps = self._cuts(y, separate_group_sums)
            violated = sums > (1.0 + _TOLERANCE) * caps
            if not np.any(violated):
                return y
            y = y * float(np.min(caps[violated] / sums[violated]))
        # no flow at all is always one
        return np.zeros_like(y)

    def _cuts(self, y: Array, sums_of: SumsInGroups = group_sums) -> tuple[NDArray[np.integer[Any]], Floats, Floats]:
        """The upper examples in order of falling x/c, with P and U at each."""
        side, sizes, c, slack = self._side, self._sizes, self._c, self._slack
        top = np.flatnonzero(side & 1)
        order = top[order_in_groups(-y[top] / c[top], side[top])]
        sums = sums_of(y[order], sizes[1::2]).astype(np.float64)
        running = group_sums(c[order], sizes[1::2], precision=np.float64 if self._whole else np.longdouble)
        reached = _less(running, slack)
        return order, sums, _caps(y, c, side, order, reached, self._M, slack, sums_of)

    def _are_net_flows(self, y: Array) -> bool:
        """Whether P_k <= U(k) for amounts of one, in each group by its sorted values: those are sorted faster."""
        ends = np.cumsum(self._sizes)
        for g in range(0, len(self._sizes), 2):
            begin, middle, end = ends[g] - self._sizes[g], ends[g], ends[g + 1]
            if begin == middle or middle == end:
                continue
            low, high, M = np.sort(y[begin:middle]), np.sort(y[middle:end])[::-1], self._M[begin]
            sums = np.cumsum(high, dtype=np.longdouble).astype(np.float64)
            given = np.concatenate([[0.0], np.cumsum(low, dtype=np.longdouble).astype(np.float64)])
            # the lower ones with x_j M <= k give all of x_j
            reached = np.arange(1.0, len(high) + 1.0)
            before = np.searchsorted(low * M, reached, side="right")
            caps = given[before] + reached / M * (len(low) - before)
            if np.any(sums > (1.0 + _TOLERANCE) * caps):
                return False
        return True


def _less(sums: Array, slack: float) -> Floats:
    """Lower bounds on sums of amounts, whose rounding ``slack`` bounds: with less to exchange, net flows remain so.

    Rounding would not be small beside the flows where these are far below their bounds.
    """
    return (
        np.maximum(sums - slack, 0.0).astype(np.float64, copy=False) if slack else sums.astype(np.float64, copy=False)
    )


def _totals(values: Array, sizes: NDArray[np.int64]) -> Array:
    """The sum of each side."""
    sums, full = np.zeros(len(sizes), dtype=np.longdouble), np.flatnonzero(sizes)
    sums[full] = np.add.reduceat(values, (np.cumsum(sizes) - sizes)[full], dtype=np.longdouble)
    return sums


def _balanced(y: Array, sizes: NDArray[np.int64]) -> Floats:
    """Scale down the side of each group with the larger sum."""
    sums = _totals(y, sizes).astype(np.float64)
    other = sums.reshape(-1, 2)[:, ::-1].ravel()
    factors = np.ones(len(sizes))
    larger = sums > (1.0 + _TOLERANCE) * other
    factors[larger] = other[larger] / sums[larger]
    return y * np.repeat(factors, sizes) if np.any(larger) else y


def _caps(
    y: Array, c: Array, side: Array, order: Array, reached: Array, M: Array, slack: float, sums_of: SumsInGroups
) -> Floats:
    """U at each upper example in order: the lower ones of its group with x_j M / c_j <= t give all of x_j."""
    low = np.flatnonzero(side & 1 == 0)
    group = np.concatenate([side[low], side[order]]) >> 1
    # where keys are equal, both orders mean the same U
    merged = order_in_groups(np.concatenate([y[low] * M[low] / c[low], reached]), group)
    is_low = merged < len(low)
    in_order = low[merged[is_low]]
    counts = np.bincount(side[low] >> 1, minlength=int(np.max(group, initial=0)) + 1)
    given = np.concatenate([[0.0], sums_of(y[in_order], counts)])
    amounts = np.concatenate([[0.0], np.cumsum(c[in_order], dtype=np.longdouble if slack else np.float64)])
    # of all lower ones those of the groups before, those up to each upper one, and those up to the end of its group
    ends = np.cumsum(counts)
    own, before = side[order] >> 1, np.cumsum(is_low)[~is_low]
    begin = np.concatenate([[0], ends])[own]
    full = np.where(before > begin, given[before], 0.0).astype(np.float64)
    return full + reached / M[order] * _less(amounts[ends[own]] - amounts[before], slack)
