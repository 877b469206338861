"""Projections onto boxes with one linear equality each, by a compiled search.

``fenchel.projections`` contains the same projections in NumPy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Floats
from fenchel.compile.primitives.projection import project_rows
from fenchel.errors import FenchelError
from fenchel.projections import checked_parts


def project_blocks(
    target: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    totals: ArrayLike,
    *,
    weights: ArrayLike = 1.0,
    scales: ArrayLike = 1.0,
) -> Floats:
    """Project the rows of ``target`` onto the points between ``low`` and ``high`` with weighted sums ``totals``.

    A single row may be a vector, with one total.  The other arguments are broadcast to the shape of the target.
    """
    m, low, high, sigma, d = checked_parts(target, low, high, weights, scales)
    if m.ndim not in (1, 2):
        raise FenchelError(f"target must be one row or a matrix of rows, got shape {m.shape}")
    rows = np.atleast_2d(m)
    z = np.broadcast_to(np.asarray(totals, dtype=np.float64), len(rows))
    found = np.empty(rows.shape)
    # read-only and with reversed columns: a single memory layout, and so one numba signature, for all broadcasts
    parts = [np.broadcast_to(part, rows.shape)[:, ::-1] for part in (rows, sigma, d * d, low, high)]
    row = project_rows(*parts, z, found[:, ::-1])
    if row >= 0:
        where = "" if m.ndim == 1 else f" (row {row})"
        raise FenchelError(f"no point of the box has the sum {z[row]}{where}: check the bounds and the weights")
    return found.reshape(m.shape)
