"""Dual points made to satisfy sum(theta) = 0, the dual constraint of a free intercept."""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.limits import EPS

#: sums of columns up to this size are computed
_LARGEST_SUM = 1e300

#: largest entries above this have a last digit that does not underflow
_SMALLEST_ON_GRID = 2.0**-960
#: entries up to which sums are computed again until theta sums to zero exactly, and how often at most
_FEW_ENTRIES, _ROUNDS = 1 << 10, 2
#: entries of which one is fine enough to absorb a sum, unless none of them can (32 kB)
_ENOUGH_ENTRIES = 1 << 12


def zero_sum(theta: Array) -> tuple[Floats, float]:
    """Scale down the sign of theta with the larger sum until they cancel; return theta and a bound on its sum.

    Entries only move towards zero, so theta stays in every box that contains zero.  If theta sums to zero up to
    rounding, at most two entries change, or each by a rounding of the largest if no entry is as fine as the sum.  (The
    nearest such point is a projection, which takes several times as long: benchmarks/README.md, Projections.)
    """
    if abs(float(theta.sum())) > 2.0 * EPS * float(np.abs(theta).sum()):
        up, down = float(np.maximum(theta, 0.0).sum()), -float(np.minimum(theta, 0.0).sum())
        heavier = theta > 0.0 if up > down else theta < 0.0
        theta = np.where(heavier, theta * (min(up, down) / max(up, down)), theta)
    # rounded once: zero only if theta sums to zero exactly
    rest = exact_sum(theta)
    if len(theta) > _FEW_ENTRIES:
        return absorbed(theta, rest)
    for _ in range(_ROUNDS):
        if rest == 0.0:
            break
        theta, _ = absorbed(theta, rest)
        rest = exact_sum(theta)
    if rest != 0.0:
        theta, rest = _on_grid(theta, rest)
    return theta, abs(rest) * (1.0 + EPS)


def _on_grid(theta: Array, rest: float) -> tuple[Floats, float]:
    """Theta of sum ``rest`` rounded towards zero to multiples of a power of two, which sum to zero; and the sum.

    There are at most 2^53 multiples up to the largest entry, so that sums and differences of entries are exact.
    """
    largest = max(float(theta.max()), -float(theta.min()))
    if not _SMALLEST_ON_GRID < largest < _LARGEST_SUM:
        return theta, rest
    step = math.ldexp(1.0, math.frexp(largest)[1] - 53)
    found = np.trunc(theta / step) * step
    found, _ = absorbed(found, exact_sum(found))
    left = exact_sum(found)
    return (found, left) if abs(left) < abs(rest) else (theta, rest)


def absorbed(theta: Array, rest: float) -> tuple[Floats, float]:
    """Theta of sum ``rest``, up to its rounding, with one entry moved towards zero; and a bound on its new sum."""
    if rest == 0.0 or not theta.size:
        return theta, abs(rest)
    for part in (theta[:_ENOUGH_ENTRIES], theta):
        # entries of the sign of the residual that are no smaller than it can absorb it
        sizes = np.where(part >= rest, part, np.inf) if rest > 0.0 else np.where(part <= rest, -part, np.inf)
        # the smallest of them has the finest spacing of floats
        smallest = int(np.argmin(sizes))
        if math.isfinite(sizes[smallest]):
            break
    else:
        return theta, abs(rest)
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


def kept_shares(mass: Array, surplus: Array) -> Floats:
    """The shares of masses of pairs (giver, taker) that remain when columns with these sums are made to cancel.

    Scaling down the mass of a pair moves it from the column of the giver to that of the taker, directly or along a path
    of pairs.  The diagonal does not count.
    """
    left, surplus = np.maximum(mass, 0.0), surplus.copy()
    for giver in np.flatnonzero(surplus > 0):
        takers = np.flatnonzero(surplus < 0)
        room = np.minimum(left[giver, takers], -surplus[takers])
        total = float(np.sum(room))
        if total > 0.0:
            moved = room * min(1.0, surplus[giver] / total)
            left[giver, takers] -= moved
            surplus[giver] -= np.sum(moved)
            surplus[takers] += moved
    cancel_along_paths(left, surplus)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mass > 0.0, np.clip(left / mass, 0.0, 1.0), 1.0)


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
    """The sum of each column, rounded once, and bounds on its error; infinite ones where sums might overflow."""
    if theta.size and not max(float(np.max(theta)), -float(np.min(theta))) < _LARGEST_SUM / len(theta):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.sum(theta, axis=0), np.full(theta.shape[1], np.inf)
    total = np.array([exact_sum(column) for column in theta.T])
    return total, EPS * np.abs(total)
