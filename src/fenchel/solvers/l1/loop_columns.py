"""A copy of some columns of X, each stored as a row, in one pass over the rows of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_begin, row_column, row_end, row_entry
from fenchel.compile.loop import loop


@loop
def copy_columns(rows: Any, examples: int, selected: Any, ends: Any, indices: Any, data: Any) -> None:
    """Write the entries of each feature for which ``selected`` is true from ``ends[j]`` on, which is moved past them.

    ``selected`` has a byte for each feature, so that it stays in a cache while the rows are read.
    """
    for i in range(np.uint64(examples)):
        for t in range(row_begin(rows, i), row_end(rows, i)):
            j = row_column(rows, i, t)
            if selected[j]:
                to = ends[j]
                indices[to], data[to] = i, row_entry(rows, i, t)
                ends[j] = to + 1
