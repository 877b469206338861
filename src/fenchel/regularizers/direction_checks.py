"""Checks of the directions C and the prices b of ``FreeDirections``."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError


def checked_directions(given: Any) -> Any:
    """C as a read-only array or a CSR array of floats."""
    try:
        if np.iscomplexobj(given if sp.issparse(given) else np.asarray(given)):
            raise TypeError("complex numbers")
        found = sp.csr_array(given, dtype=np.float64) if sp.issparse(given) else np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FenchelError("directions must be an array of numbers, one row for each free direction") from error
    if found.ndim != 2 or 0 in found.shape:
        raise FenchelError(f"directions must be (m, d), a row for each free direction, got shape {found.shape}")
    if not np.all(np.isfinite(found.data if sp.issparse(found) else found)):
        raise FenchelError("directions contains NaN or infinity")
    if not sp.issparse(found):
        found.flags.writeable = False
    return found


def check_lengths(directions: Any, gram: Array) -> None:
    """Raise unless the squared norm of every direction is a normal float."""
    largest = abs(directions).max(axis=1)
    largest = np.ravel(largest.toarray() if sp.issparse(largest) else largest)
    if not np.all(largest > 0):
        raise FenchelError(f"directions has a row of zeros, row {int(np.argmin(largest))}; remove it")
    if not np.all(np.isfinite(gram)) or np.any(np.diag(gram) < np.finfo(np.float64).tiny):
        raise FenchelError("directions has rows whose squared norms overflow or underflow; scale the rows")


def checked_prices(given: Any, count: int) -> Floats:
    """B as a read-only array, one price for each direction."""
    try:
        if np.iscomplexobj(np.asarray(given)):
            raise TypeError("complex numbers")
        prices = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FenchelError("prices must be zero or a number for each free direction") from error
    if prices.shape not in ((), (count,)) or not np.all(np.isfinite(prices)):
        raise FenchelError(f"prices must be a finite number for each of the {count} directions, got {given!r}")
    prices = np.broadcast_to(prices, (count,)).copy()
    prices.flags.writeable = False
    return prices
