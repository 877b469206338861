"""Copies of arrays in compiled code, in a loop: numba takes more than a second to compile ``target[:] = source``."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop


@helper
def copy(source: Any, target: Any) -> None:
    """Write the entries of one vector into another of the same length."""
    for j in range(np.uint64(len(source))):
        target[j] = source[j]


@loop
def gather(source: Any, selected: Any, target: Any) -> None:
    """Write the selected numbers, or the selected rows, into another array; unlike NumPy's, beside other threads."""
    for t in range(np.uint64(len(selected))):
        if source.ndim == 1:
            target[t] = source[selected[t]]
        else:
            copy(source[selected[t]], target[t])
