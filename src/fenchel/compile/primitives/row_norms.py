"""Squared row norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.dispatch import row_square
from fenchel.compile.loop import loop


@loop
def squared_norms(rows: Any, result: Any) -> int:
    """|x_i|^2 of every row, and how many rows need care because their columns do not rise."""
    careful = 0
    for i in range(np.uint64(len(result))):
        result[i] = row_square(rows, i)
        if result[i] < 0.0:
            careful += 1
    return careful
