"""Limits of float64 arithmetic that several modules share."""

from __future__ import annotations

import numpy as np

#: spacing of float64 at 1, 2^-52: twice the relative rounding error of one operation
EPS = float(np.finfo(np.float64).eps)
#: relative rounding error of an objective, a sum in which most errors cancel: a smaller relative gap is rounding error
OBJECTIVE_ROUNDING = 4.0 * EPS
#: how far outside its domain a dual point may lie through rounding alone, relative to its bounds: about 5000 EPS, the
#: rounding of a sum of a few thousand terms
DOMAIN_TOLERANCE = 1e-12
#: float64 numbers (16 MB) in a temporary block of rows: temporary arrays stay in this size however large the data are
BLOCK_ENTRIES = 1 << 21
#: largest curvature ||x_i||^2 / lam that solvers accept.  Its square and its products with scores stay below the
#: overflow threshold 1.8e308; beyond it weights underflow.
LARGEST_CURVATURE = 1e100
#: labels of a chain at most: the scores of their pairs are an array of 32 GiB
MOST_LABELS = 1 << 16
