"""Linear programs, solved by HiGHS."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array
from fenchel.stopping import interruptible, seconds_left

#: feasibility tolerances of HiGHS: the smallest that it accepts
_TOLERANCE = 1e-10


def solve_linear_program(cost: Array, bounds: Any, **constraints: Any) -> Any:
    """Return the result of ``scipy.optimize.linprog``, or None if HiGHS finds no solution or coefficients overflow.

    HiGHS cannot be interrupted: it is told the time limit, and after another stop its thread goes on until it is done.
    """
    # here, since scipy.optimize takes longer to import than most fits
    from scipy.optimize import linprog

    matrices = (values.data if sp.issparse(values) else values for values in (cost, *constraints.values()))
    if not all(np.all(np.isfinite(np.asarray(values, dtype=np.float64))) for values in matrices if values is not None):
        return None
    left = seconds_left()
    options = {
        "primal_feasibility_tolerance": _TOLERANCE,
        "dual_feasibility_tolerance": _TOLERANCE,
        "time_limit": None if math.isinf(left) else left,
    }
    found = interruptible(lambda: linprog(cost, bounds=bounds, method="highs", options=options, **constraints))
    return found if found.status == 0 else None
