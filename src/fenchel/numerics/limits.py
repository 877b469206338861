"""Limits of double precision that several solvers share."""

from __future__ import annotations

#: largest curvature ||x_i||^2 / lam that solvers accept: beyond it double precision leaves no significant bits for the
#: weights, and products of curvatures overflow
LARGEST_CURVATURE = 1e100
