"""Products of one row of X with weights that hold the k numbers of a feature side by side, eight classes at a time.

Weights are (d, K) in float32 or float64, with K a multiple of ``LANES``.  Sums over a row stay in registers, in the
kind of the weights; four of them at a time hide the time that an addition takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.lanes import LANES, add, any_nonzero, load, multiply_add, store, widen, zeros
from fenchel.compile.loop import helper

_ONE, _STEP = np.uint64(1), np.uint64(LANES)
_TWICE, _THRICE, _FOUR_TIMES = np.uint64(2 * LANES), np.uint64(3 * LANES), np.uint64(4 * LANES)


@helper
def add_class_scores(rows: Any, i: Any, weights: Any, scores: Any) -> None:
    """scores += W x_i."""
    p, end = np.uint64(0), np.uint64(len(scores))
    while p + _FOUR_TIMES <= end:
        _four(rows, i, weights, scores, p)
        p += _FOUR_TIMES
    if p + _TWICE <= end:
        _two(rows, i, weights, scores, p)
        p += _TWICE
    if p < end:
        _one(rows, i, weights, scores, p)


@helper
def _put(scores: Any, p: Any, sums: Any) -> None:
    store(scores, p, add(load(scores, p), widen(sums)))


@helper
def _four(rows: Any, i: Any, weights: Any, scores: Any, p: Any) -> None:
    """The classes from p on, 32 of them."""
    a, b, c, d = zeros(weights), zeros(weights), zeros(weights), zeros(weights)
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        a = multiply_add(a, value, load(line, p))
        b = multiply_add(b, value, load(line, p + _STEP))
        c = multiply_add(c, value, load(line, p + _TWICE))
        d = multiply_add(d, value, load(line, p + _THRICE))
    _put(scores, p, a)
    _put(scores, p + _STEP, b)
    _put(scores, p + _TWICE, c)
    _put(scores, p + _THRICE, d)


@helper
def _two(rows: Any, i: Any, weights: Any, scores: Any, p: Any) -> None:
    """The classes from p on, 16 of them."""
    a, b = zeros(weights), zeros(weights)
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        a = multiply_add(a, value, load(line, p))
        b = multiply_add(b, value, load(line, p + _STEP))
    _put(scores, p, a)
    _put(scores, p + _STEP, b)


@helper
def _one(rows: Any, i: Any, weights: Any, scores: Any, p: Any) -> None:
    """The classes from p on, 8 of them: entries in turns with three others, in registers of their own."""
    a, b, c, d = zeros(weights), zeros(weights), zeros(weights), zeros(weights)
    k, end = row_begin(rows, i), row_end(rows, i)
    while k + np.uint64(4) <= end:
        second, third, fourth = k + _ONE, k + np.uint64(2), k + np.uint64(3)
        a = multiply_add(a, row_entry(rows, i, k), load(weights[row_column(rows, i, k)], p))
        b = multiply_add(b, row_entry(rows, i, second), load(weights[row_column(rows, i, second)], p))
        c = multiply_add(c, row_entry(rows, i, third), load(weights[row_column(rows, i, third)], p))
        d = multiply_add(d, row_entry(rows, i, fourth), load(weights[row_column(rows, i, fourth)], p))
        k += np.uint64(4)
    while k < end:
        a = multiply_add(a, row_entry(rows, i, k), load(weights[row_column(rows, i, k)], p))
        k += _ONE
    _put(scores, p, add(add(a, b), add(c, d)))


@helper
def add_class_row(rows: Any, i: Any, change: Any, weights: Any) -> None:
    """W += change x_i^T, for the lanes of ``change`` that are not zero."""
    waiting, first = False, np.uint64(0)
    for place in range(np.uint64(len(change)) // _STEP):
        p = place * _STEP
        lanes = load(change, p)
        if any_nonzero(lanes):
            if waiting:
                _change_two(rows, i, load(change, first), lanes, first, p, weights)
            first, waiting = p, not waiting
    if waiting:
        _change_one(rows, i, load(change, first), first, weights)


@helper
def _change_one(rows: Any, i: Any, change: Any, p: Any, weights: Any) -> None:
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        store(line, p, multiply_add(load(line, p), value, change))


@helper
def _change_two(rows: Any, i: Any, change: Any, other: Any, p: Any, q: Any, weights: Any) -> None:
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        store(line, p, multiply_add(load(line, p), value, change))
        store(line, q, multiply_add(load(line, q), value, other))
