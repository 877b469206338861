r"""Squared hinges of all pairs of one query in :math:`O(n\log n)`, without cancellation.

The rows are in order of falling grades.  They are halved between two grades; the pairs of the two halves are summed in
order of the scores, and the pairs within each half likewise, until few are left.  For a lower row with score b,
:math:`F_k = \sum_{a\le b} (b - a)^k` over the keys :math:`a = s - 1` of the upper rows.  When b grows by :math:`\delta`
and passes no key,

.. math:: F_2 \mathrel{+}= 2\delta F_1 + \delta^2 F_0, \qquad F_1 \mathrel{+}= \delta F_0,

so all of them are running sums of terms >= 0, each with a relative error of at most about three roundings for each row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats

#: rows of a part at most whose pairs are listed as a matrix
_FEW_ROWS = 128


class SquaredHinges(NamedTuple):
    """The sum of x^2 over the wrong pairs, x = 1 - s_i + s_j, and the sums of x over the pairs of each row."""

    squares: float
    into: Floats
    out: Floats


def squared_hinges(upper: Array, lower: Array, first: NDArray[np.int64]) -> SquaredHinges:
    """The sums of a query with rows in order of falling grades.

    ``first`` is for each row the place of the first one with a lower grade; ``upper`` are the scores for the upper row
    of a pair, ``lower`` for the lower one.
    """
    into, out = np.zeros(len(upper)), np.zeros(len(upper))
    squares, parts = 0.0, [(0, len(upper))]
    while parts:
        begin, end = parts.pop()
        if first[begin] >= end:
            # one grade only
            continue
        if end - begin <= _FEW_ROWS:
            pairs = np.arange(begin, end)[None, :] >= first[begin:end, None]
            x = np.where(pairs, np.maximum(1.0 - upper[begin:end, None] + lower[None, begin:end], 0.0), 0.0)
            squares += float(np.sum(x * x))
            into[begin:end] += np.sum(x, axis=1)
            out[begin:end] += np.sum(x, axis=0)
            continue
        # the end of the grade in the middle, or its beginning if it is the last one
        middle = int(first[(begin + end) // 2])
        if middle >= end:
            middle = begin + int(np.searchsorted(first[begin:end], middle))
        found = _across(upper[begin:middle] - 1.0, lower[middle:end])
        squares += found.squares
        into[begin:middle] += found.into
        out[middle:end] += found.out
        parts += [(begin, middle), (middle, end)]
    return SquaredHinges(squares, into, out)


def _across(keys: Array, scores: Array) -> SquaredHinges:
    """The sums of b - a and of its squares over all pairs of a key a <= b of an upper row and a score b."""
    merged = np.concatenate([keys, scores])
    # a stable sort puts keys before equal scores
    order = np.argsort(merged, kind="stable")
    is_key = order < len(keys)
    steps = np.diff(merged[order], prepend=merged[order[0]]).astype(np.longdouble)
    # 1. upwards: keys below each score
    count: NDArray[np.int64] = np.cumsum(is_key) - is_key
    first = np.cumsum(steps * count)
    before = np.concatenate([[0.0], first[:-1]])
    second = np.cumsum(steps * (2.0 * before + steps * count))
    # 2. downwards: scores above each key
    above = len(scores) - np.cumsum(~is_key)
    following = np.append(steps[1:], 0.0)
    down = np.cumsum((following * above)[::-1])[::-1]
    into, out = np.empty(len(keys)), np.empty(len(scores))
    into[order[is_key]] = down[is_key]
    out[order[~is_key] - len(keys)] = first[~is_key]
    return SquaredHinges(float(np.sum(second[~is_key])), into, out)
