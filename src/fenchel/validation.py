"""Checks of the options that solvers take: an error names the option and says what it may be."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from fenchel.errors import FenchelError


def is_number(value: Any) -> bool:
    """Whether this is a real number, which True and False are not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def is_whole(value: Any, least: int) -> bool:
    """Whether this is a whole number from ``least`` on."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def is_positive(value: Any) -> bool:
    """Whether this is a positive finite number."""
    return is_number(value) and 0.0 < float(value) < math.inf


def check_positive(solver: Any, *names: str, or_none: bool = False) -> None:
    """Raise unless each of these options is a positive finite number."""
    for name in names:
        value = getattr(solver, name)
        if not (is_positive(value) or (or_none and value is None)):
            raise FenchelError(f"{name} must be positive and finite{_or_none(or_none)}, got {value!r}")


def check_switches(solver: Any, *names: str, or_none: bool = False) -> None:
    """Raise unless each of these options is True or False."""
    for name in names:
        value = getattr(solver, name)
        if not (isinstance(value, (bool, np.bool_)) or (or_none and value is None)):
            raise FenchelError(f"{name} must be True or False{_or_none(or_none)}, got {value!r}")


def check_choice(solver: Any, name: str, choices: Sequence[str]) -> None:
    """Raise unless this option is one of these words."""
    value = getattr(solver, name)
    if not isinstance(value, str) or value not in choices:
        raise FenchelError(f"{name}={value!r} is unknown; choose one of {', '.join(map(repr, choices))}")


def check_seed(seed: Any) -> None:
    """Raise unless this can start random choices: None, or a whole number."""
    if seed is not None and not is_whole(seed, 0):
        raise FenchelError(f"seed must be an integer >= 0, got {seed!r}")


def processors(n_jobs: Any) -> int:
    """How many threads ``n_jobs`` means: None is one, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise FenchelError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    count = int(n_jobs)
    return count if count > 0 else max(1, _available() + 1 + count)


def _available() -> int:
    """The processors that this process may use, as far as the platform tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _or_none(allowed: bool) -> str:
    return ", or None" if allowed else ""
