"""Sums, largest numbers and logarithms of sums of exponentials of groups of balls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.numerics.ball_functions import exp, log
from fenchel.numerics.balls import Ball, concatenate, where, zeros


def segment_sums(values: Ball, counts: NDArray[np.integer[Any]]) -> Ball:
    """The sums of consecutive segments of these lengths, by a tree of additions in each."""
    starts = np.cumsum(counts) - counts
    place = np.arange(values.size) - np.repeat(starts, counts)
    while np.any(place):
        left = np.flatnonzero(place % 2 == 0)
        right = np.minimum(left + 1, len(place) - 1)
        paired = place[right] == place[left] + 1
        values = values[left] + where(paired, values[right], 0.0)
        place = place[left] // 2
    result = zeros((len(counts),))
    result.put(np.asarray(counts) > 0, values)
    return result


def sums_by_place(values: Ball, places: NDArray[np.integer[Any]], size: int) -> Ball:
    """The sums of the numbers of each place 0, 1, ..., ``size`` - 1."""
    return segment_sums(values[np.argsort(places, kind="stable")], np.bincount(places, minlength=size))


def prefix_sums(values: Ball) -> Ball:
    """The sums of the first one, two, ... numbers, by doubling."""
    step = 1
    while step < values.size:
        values = concatenate([values[:step], values[step:] + values[:-step]])
        step *= 2
    return values


def largest(values: Ball, axis: int) -> Ball:
    """The largest number along an axis, which is within the largest radius of the largest centre."""
    high = np.max(values.high, axis=axis, keepdims=True)
    low = np.max(np.where(values.high == high, values.low, -np.inf), axis=axis)
    return Ball(np.squeeze(high, axis=axis), low, np.max(values.radius, axis=axis))


def log_sum_exp(values: Ball, axis: int) -> Ball:
    """log sum e^x along an axis."""
    top = np.max(values.high, axis=axis, keepdims=True)
    return log(exp(values - top).sum(axis=axis)) + np.squeeze(top, axis=axis)
