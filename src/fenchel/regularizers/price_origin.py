r"""The shortest vector that meets the prices of free directions, with a bound on its error.

:math:`v_0 = C^T\sigma` with :math:`CC^T\sigma = b` is computed up to an error that grows with the condition of C.  For
any :math:`\sigma`, with :math:`N = \Lambda^{-1}CC^T\Lambda^{-1}` and the lengths :math:`\Lambda` of the rows,

.. math::
    \|C^T\sigma - v_0\|^2 = r^T(CC^T)^{-1}r \le \|\Lambda^{-1}r\|^2/\lambda_{\min}(N), \qquad r = CC^T\sigma - b.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import gamma

#: covers the roundings of sums of non-negative terms
_UPWARDS = 1.0 + 1e-6
#: errors of an eigenvalue of a symmetric matrix of size m with a diagonal of ones, in units of m u
_EIGENVALUE = 64.0


class Origin(NamedTuple):
    """The computed v_0, and a bound on the norm of its error."""

    vector: Floats
    error: float


def origin_of(directions: Any, multipliers: Array, prices: Array, lengths: Array, least: float) -> Origin:
    """v_0 of computed multipliers sigma; ``least`` is the computed smallest eigenvalue of N."""
    (count, features), sizes = directions.shape, np.abs(directions)
    vector: Floats = directions.T @ multipliers
    rounded = gamma(count + 4.0) * (sizes.T @ np.abs(multipliers))
    residual = np.abs(directions @ vector - prices) + sizes @ rounded
    residual += gamma(features + 4.0) * (sizes @ np.abs(vector) + np.abs(prices))
    # entries of N are off by the roundings of a sum over the features
    least -= count * (gamma(features + 8.0) + gamma(_EIGENVALUE * count))
    far = float(np.linalg.norm(residual / lengths)) / math.sqrt(least) if least > 0.0 else math.inf
    return Origin(vector, _UPWARDS * (far + float(np.linalg.norm(rounded))))
