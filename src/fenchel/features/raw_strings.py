"""Raw strings as one array of bytes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError


def checked_strings(X: Any, name: str = "X") -> list[Any]:
    """The strings of a list, an array, a series or any other iterable; FenchelError unless all are strings."""
    if isinstance(X, (str, bytes)):
        raise FenchelError(f"{name} must be a sequence of strings, got one {type(X).__name__}; use [{name}]")
    if isinstance(X, np.ndarray) and X.ndim != 1:
        raise FenchelError(f"{name} must be a sequence of strings, got an array of shape {X.shape}")
    if not isinstance(X, Iterable):
        raise FenchelError(f"{name} must be a sequence of strings, got {type(X).__name__}")
    strings = list(X)
    for place, string in enumerate(strings):
        if not isinstance(string, (str, bytes)):
            raise FenchelError(f"{name}[{place}] must be a string, got {type(string).__name__}")
    return strings


def as_bytes(X: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All strings in one array, text in UTF-8, and where each begins and the last one ends."""
    # lone surrogates, as of names of files, are no error
    encoded = [one if isinstance(one, bytes) else one.encode("utf-8", "surrogatepass") for one in checked_strings(X)]
    starts = np.fromiter(accumulate(map(len, encoded), initial=0), dtype=np.int64, count=len(encoded) + 1)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), starts
