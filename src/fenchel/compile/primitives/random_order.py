"""Random numbers and random orders within compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.compile.loop import helper, loop

_ZERO = np.uint64(0)
_LEFT, _RIGHT, _LEFT_AGAIN = np.uint64(13), np.uint64(7), np.uint64(17)


@helper
def next_random(state: Any) -> Any:
    """Marsaglia's xorshift64: one 64-bit number from ``state[0]``, which must not be zero."""
    x = state[0]
    x ^= x << _LEFT
    x ^= x >> _RIGHT
    x ^= x << _LEFT_AGAIN
    state[0] = x
    return x


@helper
def permute(order: Any, count: int, random: Any) -> None:
    """Permute the first ``count`` entries at random (Fisher-Yates)."""
    stop = np.uint64(count)
    for t in range(_ZERO, stop):
        j = t + next_random(random) % (stop - t)
        order[t], order[j] = order[j], order[t]


#: the same, called from Python
shuffle = loop(permute)
