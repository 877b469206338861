"""Scores of the tokens of a sequence, for weights in the order of features."""

from __future__ import annotations

from typing import Any

from fenchel.arrays import Array
from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import helper


@helper
def token_scores(rows: Any, begin: int, length: int, W: Array, u: Array) -> None:
    """u_t = x_t W for all tokens of a sequence."""
    m = W.shape[1]
    for t in range(length):
        for j in range(m):
            u[t, j] = 0.0
        i = begin + t
        for k in range(row_begin(rows, i), row_end(rows, i)):
            f, x = row_column(rows, i, k), row_entry(rows, i, k)
            for j in range(m):
                u[t, j] += x * W[f, j]
