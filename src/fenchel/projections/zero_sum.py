"""Dual points made to satisfy sum(theta) = 0, the dual constraint of a free intercept."""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.limits import BLOCK_ENTRIES, EPS

#: entries up to which sums are computed again until theta sums to zero exactly, and how often at most
_FEW_ENTRIES, _ROUNDS = 1 << 10, 2


def zero_sum(theta: Array) -> tuple[Floats, float]:
    """Scale down the sign of theta with the larger sum until they cancel; return theta and a bound on its sum.

    Entries only move towards zero, so theta stays in every box that contains zero.  If theta sums to zero
    already, at most one entry changes.  (The nearest such point is a projection, which takes several times as long:
    benchmarks/README.md, Projections.)
    """
    positive, negative = theta > 0.0, theta < 0.0
    up, down = float(theta[positive].sum()), -float(theta[negative].sum())
    if abs(up - down) > 4.0 * EPS * max(up, down):
        theta = np.where(positive if up > down else negative, theta * (min(up, down) / max(up, down)), theta)
    if len(theta) > _FEW_ENTRIES:
        return _absorbed(theta, math.fsum(theta[theta != 0.0]))
    # an exact sum, rounded once: zero only if theta sums to zero exactly
    rest = math.fsum(theta.tolist())
    for _ in range(_ROUNDS):
        if rest == 0.0:
            break
        theta, _ = _absorbed(theta, rest)
        rest = math.fsum(theta.tolist())
    return theta, abs(rest) * (1.0 + EPS)


def _absorbed(theta: Array, rest: float) -> tuple[Floats, float]:
    """Theta of sum ``rest``, up to its rounding, with one entry moved towards zero; and a bound on its new sum."""
    sizes = np.abs(theta)
    movable = np.flatnonzero((sizes >= abs(rest)) & ((theta > 0.0) if rest > 0.0 else (theta < 0.0)))
    if rest == 0.0 or not movable.size:
        return theta, abs(rest)
    # the smallest entry that can absorb the residual has the finest spacing of floats
    smallest = movable[np.argmin(sizes[movable])]
    before = float(theta[smallest])
    theta = theta.copy()
    theta[smallest] = before - rest
    return theta, abs(math.fsum((rest, float(theta[smallest]), -before))) + EPS * abs(rest)


def zero_sum_columns(theta: Array) -> tuple[Floats, Floats]:
    """``zero_sum`` of theta (n,), or of each column of theta (n, k)."""
    if theta.ndim == 1:
        theta, left = zero_sum(theta)
        return theta, np.array([left])
    found = [zero_sum(column) for column in theta.T]
    return np.stack([column for column, _ in found], axis=1), np.array([left for _, left in found])


def cancel_along_paths(left: Array, surplus: Array) -> None:
    """Cancel positive against negative ``surplus`` along shortest paths of pairs with mass left, as in max-flow."""
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


def column_sums(theta: Array) -> tuple[Floats, Floats]:
    """The sum of each column in about twice the precision, and bounds on its error."""
    step = max(1, BLOCK_ENTRIES // len(theta))
    found = [_sums(theta[:, begin : begin + step]) for begin in range(0, theta.shape[1], step)]
    return np.concatenate([total for total, _ in found]), np.concatenate([error for _, error in found])


def _sums(theta: Array) -> tuple[Floats, Floats]:
    """Split entries into upper parts, multiples of one power of two whose sum is exact, and lower parts."""
    count, largest = len(theta), np.max(np.abs(theta), axis=0)
    unit = np.exp2(np.ceil(np.log2(np.maximum(largest, 1e-290))) + math.ceil(math.log2(count)) + 1.0)
    cut = 1.5 * unit
    upper = (theta + cut) - cut
    lower = np.sum(theta - upper, axis=0)
    total = np.sum(upper, axis=0) + lower
    # a lower part is at most eps unit / 2; the last sum is rounded once
    error = np.where(largest > 0.0, count**2 * EPS**2 * unit + EPS * np.abs(total), 0.0)
    return np.where(largest > 0.0, total, 0.0), error
