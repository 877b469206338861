"""Checks of arguments; an error names the argument, the values allowed and the value given."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError

#: what other libraries call a loss, a measure, a kernel, a regularizer, a solver or a parameter, in lower case
_ELSEWHERE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("log", "log_loss", "cross_entropy", "deviance"), ("logistic",)),
    **dict.fromkeys(("squared_error", "mse", "least_squares"), ("squared",)),
    **dict.fromkeys(("absolute_error", "mae", "median"), ("absolute",)),
    **dict.fromkeys(("pinball", "pinball_loss"), ("quantile",)),
    **dict.fromkeys(("auc", "rocarea", "roc"), ("roc_auc",)),
    **dict.fromkeys(("alpha", "lam", "lambda", "reg_lambda"), ("C",)),
    "c": ("C",),
    "gaussian": ("rbf",),
    **dict.fromkeys(("lbfgs", "liblinear", "newton-cholesky", "sag", "saga", "sgd"), ("auto",)),
    "lasso": ("l1",),
    "penalty": ("regularizer",),
    "ridge": ("l2",),
}


def is_number(value: Any) -> bool:
    """Whether this is a real number; not True or False."""
    # the usual type first: an abstract class takes several times as long to ask
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, (bool, np.bool_)))


def is_integer(value: Any, *, least: float = -math.inf) -> bool:
    """Whether this is an integer of at least ``least``; not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def is_positive(value: Any) -> bool:
    """Whether this is a positive finite number."""
    return is_number(value) and 0.0 < as_float(value) < math.inf


def as_float(value: Any) -> float:
    """A number as a float; infinite if it is larger than any."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def real_numbers(name: str, values: Any) -> Floats:
    """Values as an array of floats; raise unless they are real numbers."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cmM":
            raise TypeError(f"got values of type {given.dtype}")
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise FenchelError(f"{name} must hold real numbers: {error}") from error


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    finite: bool = True,
    optional: bool = False,
) -> None:
    """Raise unless this is a number with above < value < below and least <= value <= most."""
    if optional and value is None:
        return
    inside = is_number(value)
    if inside:
        number = as_float(value)
        inside = (above is None or number > above) and (least is None or number >= least)
        inside = inside and (below is None or number < below) and (most is None or number <= most)
        inside = inside and not math.isnan(number) and not (finite and math.isinf(number))
    if not inside:
        allowed = _range(above, least, below, most, finite)
        raise FenchelError(f"{name} must be {allowed}{_or_none(optional)}, got {value!r}")


def check_limits(tol: Any, max_iter: Any) -> None:
    """Raise unless these are numbers at which a solve may end."""
    check_number("tol", tol, least=0.0, finite=False)
    check_number("max_iter", max_iter, least=0.0, finite=False)


def check_integer(name: str, value: Any, *, least: int, most: int | None = None, optional: bool = False) -> None:
    """Raise unless this is an integer from ``least`` to ``most``."""
    inside = is_integer(value, least=least) and (most is None or int(value) <= most)
    if not (inside or (optional and value is None)):
        allowed = f">= {least}" if most is None else f"from {least} to {most}"
        raise FenchelError(f"{name} must be an integer {allowed}{_or_none(optional)}, got {value!r}")


def check_bool(name: str, value: Any, *, optional: bool = False) -> None:
    """Raise unless this is True or False."""
    if not (isinstance(value, (bool, np.bool_)) or (optional and value is None)):
        raise FenchelError(f"{name} must be True or False{_or_none(optional)}, got {value!r}")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless this is one of these strings; suggest the closest one."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices))
        raise FenchelError(f"{name}={value!r} is unknown{did_you_mean(value, choices)}; choose one of {known}")


def did_you_mean(value: Any, choices: Iterable[str]) -> str:
    """A suggestion of the closest choice, in parentheses; empty if none is close."""
    known = list(choices)
    if not isinstance(value, str):
        return ""
    word = value.lower()
    close = [name for name in _ELSEWHERE.get(word, ()) if name in known] or get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def described(value: Any) -> str:
    """The type of a value for a message; a class is named as one, since an instance may have been meant."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def has_missing(values: Array) -> bool:
    """Whether an array has entries that are NaN, NaT, None or NA."""
    if values.dtype.kind != "O":
        return values.dtype.kind in "fcmM" and bool(np.any(np.isnan(values)))
    return any(one is None or not _equals_itself(one) for one in values.ravel().tolist())


def _equals_itself(one: Any) -> bool:
    try:
        return bool(one == one)
    except (TypeError, ValueError):
        # the NA of pandas is neither equal nor different
        return False


def mixes_words(given: Any, found: Array) -> bool:
    """Whether NumPy made words of numbers or missing values in a list."""
    listed = isinstance(given, (list, tuple)) and found.dtype.kind in "US"
    return listed and not all(isinstance(one, (str, bytes)) for one in given)


def check_seed(seed: Any) -> None:
    """Raise unless this is a seed: None, or an integer of at least 0."""
    check_integer("seed", seed, least=0, optional=True)


def processors(n_jobs: Any) -> int:
    """How many threads ``n_jobs`` means: None is one, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if not is_integer(n_jobs) or n_jobs == 0:
        raise FenchelError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    count = int(n_jobs)
    return count if count > 0 else max(1, _available() + 1 + count)


def _available() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return os.cpu_count() or 1 if affinity is None else len(affinity(0))


def _range(above: float | None, least: float | None, below: float | None, most: float | None, finite: bool) -> str:
    """The numbers that ``check_number`` allows, in words."""
    if least is not None and most is not None:
        return f"a number from {least:g} to {most:g}"
    if below is not None or most is not None:
        finite = False
    if above == 0.0 and below is None and most is None:
        return "a positive finite number" if finite else "a positive number"
    bounds = {">": above, ">=": least, "<": below, "<=": most}
    limits = " and ".join(f"{sign} {bound:g}" for sign, bound in bounds.items() if bound is not None)
    return f"a {'finite ' if finite else ''}number {limits}".rstrip()


def _or_none(allowed: bool) -> str:
    return ", or None" if allowed else ""
