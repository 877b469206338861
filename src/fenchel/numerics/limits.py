"""Limits of float64 arithmetic that several modules share.

====================  =========================================================================================
constant              bounds
====================  =========================================================================================
``EPS``               the relative rounding error of one operation, twice over: the spacing of floats at 1
``DOMAIN_TOLERANCE``  how far outside its domain a dual point may lie through rounding alone, relative to its bounds
``BLOCK_ENTRIES``     numbers in a temporary block of rows
====================  =========================================================================================
"""

from __future__ import annotations

import numpy as np

#: spacing of float64 at 1, 2^-52
EPS = float(np.finfo(np.float64).eps)
#: relative; about 5000 EPS, the rounding of a sum of a few thousand terms
DOMAIN_TOLERANCE = 1e-12
#: float64 numbers (16 MB): temporary arrays stay in this size however large the data are
BLOCK_ENTRIES = 1 << 21
