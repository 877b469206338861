"""Sums of the columns of a dual point, and how they are moved between classes until they are zero."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)


def along_paths(left: NDArray, surplus: NDArray) -> None:
    """Move what classes have too much through others, along the shortest paths of pairs that have something left."""
    small = 1e-16 * float(np.sum(left))
    for _ in range(4 * len(surplus)):
        givers = np.flatnonzero(surplus > small)
        if not len(givers):
            return
        giver = int(givers[0])
        before = np.full(len(surplus), -1)
        before[giver] = giver
        front = [giver]
        while front and not np.any((before >= 0) & (surplus < 0)):
            following: list[int] = []
            for k in front:
                new = np.flatnonzero((left[k] > small) & (before < 0))
                before[new] = k
                following.extend(new.tolist())
            front = following
        ends = np.flatnonzero((before >= 0) & (surplus < 0))
        if not len(ends):
            return
        k = int(ends[0])
        path = []
        while k != giver:
            path.append((before[k], k))
            k = int(before[k])
        end = path[0][1]
        amount = min(surplus[giver], -surplus[end], *(left[pair] for pair in path))
        for pair in path:
            left[pair] -= amount
        surplus[giver] -= amount
        surplus[end] += amount


def column_sums(theta: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of each column, and bounds on its error, far below the roundings of an ordinary sum.

    Entries are cut in two where the upper parts are multiples of one number so large that their sum is exact.
    """
    count, largest = len(theta), np.max(np.abs(theta), axis=0)
    unit = np.exp2(np.ceil(np.log2(np.maximum(largest, 1e-290))) + math.ceil(math.log2(count)) + 1.0)
    cut = 1.5 * unit
    upper = (theta + cut) - cut
    lower = np.sum(theta - upper, axis=0)
    total = np.sum(upper, axis=0) + lower
    # a lower part is at most eps unit / 2; the last sum is rounded once
    error = np.where(largest > 0.0, count**2 * _EPS**2 * unit + _EPS * np.abs(total), 0.0)
    return np.where(largest > 0.0, total, 0.0), error
