"""Products of one row of X with an array that holds the k numbers of a feature side by side, (d, k).

Each is added to what is there.  ``places`` are the numbers of some classes, of which the first ``count`` are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import helper


@helper
def add_scores(rows: Any, i: Any, weights: Any, scores: Any) -> None:
    """scores += W x_i."""
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        for j in range(np.uint64(len(scores))):
            scores[j] += value * line[j]


@helper
def add_some_scores(rows: Any, i: Any, weights: Any, places: Any, count: int, scores: Any) -> None:
    """The scores of some classes, in their order."""
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        for place in range(np.uint64(count)):
            scores[place] += value * line[places[place]]


@helper
def add_row(rows: Any, i: Any, change: Any, weights: Any) -> None:
    """W += change x_i^T."""
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        for j in range(np.uint64(len(change))):
            line[j] += value * change[j]


@helper
def add_row_to_some(rows: Any, i: Any, change: Any, places: Any, count: int, weights: Any) -> None:
    """The same for the few classes that change."""
    for k in range(row_begin(rows, i), row_end(rows, i)):
        value, line = row_entry(rows, i, k), weights[row_column(rows, i, k)]
        for place in range(np.uint64(count)):
            line[places[place]] += value * change[place]
