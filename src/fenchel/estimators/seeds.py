"""The seeds of solvers, from the parameter ``random_state`` of an estimator."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sklearn.utils import check_random_state

from fenchel.validation import is_integer

#: seeds are smaller than this
_LARGEST_SEED = 2**31 - 1


def seeds_of(random_state: Any, count: int) -> tuple[int, ...]:
    """``count`` seeds, drawn from what scikit-learn's ``check_random_state`` takes."""
    # a new generator takes longer than many a solve, and that of an integer draws the same seeds every time
    return _of_integer(int(random_state), count) if is_integer(random_state) else _drawn(random_state, count)


def _drawn(random_state: Any, count: int) -> tuple[int, ...]:
    return tuple(check_random_state(random_state).randint(_LARGEST_SEED, size=count).tolist())


_of_integer = lru_cache(_drawn)
