"""Limits of double precision that several solvers share."""

from __future__ import annotations

#: largest curvature ||x_i||^2 / lam that solvers accept.  Its square and its products with scores stay below the
#: overflow threshold 1.8e308; beyond it weights underflow.
LARGEST_CURVATURE = 1e100
