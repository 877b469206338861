"""Unregularized intercepts in epochs of block coordinate descent: their part of the scores, and their steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.loop import helper, loop

#: rows of ``Intercepts.state``
SUM, INTERCEPT, OFFSET = range(3)


class Intercepts(NamedTuple):
    """Unregularized intercepts as in ``dual_coordinate``: a constant feature B, and rows that are centred on m."""

    #: SUM, INTERCEPT and OFFSET of each class, (3, k), which the loops change
    state: Any
    #: B^2
    constant: float
    #: |m|^2
    square: float


@helper
def intercept_scores(state: Any, centring: float, scores: Any) -> None:
    """The part of the scores that intercepts and centring make: b - m.v + (|m|^2 - x_i.m) S."""
    for j in range(np.uint64(len(scores))):
        scores[j] = state[INTERCEPT, j] - state[OFFSET, j] + centring * state[SUM, j]


@helper
def move_intercepts(state: Any, constant: float, projection: float, change: Any) -> None:
    """Update S, b and m.v after v has changed by change x_i^T, where ``projection`` is m.x_i."""
    if constant > 0.0:
        for j in range(np.uint64(len(change))):
            state[SUM, j] += change[j]
            state[INTERCEPT, j] += constant * change[j]
            state[OFFSET, j] += projection * change[j]


@helper
def recentre(state: Any, constant: float) -> bool:
    """Move the proximal centre to the present intercepts, which adds B^2 S to them; whether any moved."""
    moved = False
    if constant > 0.0:
        for j in range(np.uint64(state.shape[1])):
            before = state[INTERCEPT, j]
            state[INTERCEPT, j] = before + constant * state[SUM, j]
            moved = moved or state[INTERCEPT, j] != before
    return moved


#: the same, called from Python
recentred = loop(recentre)
