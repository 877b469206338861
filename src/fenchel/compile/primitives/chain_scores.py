"""Scores of the tokens and of the pairs of tokens of a sequence, for weights in the order of features."""

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


@helper
def pair_scores(edges: Any, i: int, T: Array, T_k: Array, found: Array) -> None:
    """Write T + sum_k x_k T_k, the scores of the pair of tokens that ends with token i, to ``found``."""
    m = len(T)
    for a in range(m):
        for b in range(m):
            found[a, b] = T[a, b]
    for e in range(row_begin(edges, i), row_end(edges, i)):
        f, x = row_column(edges, i, e), row_entry(edges, i, e)
        for a in range(m):
            for b in range(m):
                found[a, b] += x * T_k[f, a, b]


@helper
def pair_score(edges: Any, i: int, T: Array, T_k: Array, before: int, after: int) -> float:
    """That of one pair of labels."""
    total = T[before, after]
    for e in range(row_begin(edges, i), row_end(edges, i)):
        total += row_entry(edges, i, e) * T_k[row_column(edges, i, e), before, after]
    return total
