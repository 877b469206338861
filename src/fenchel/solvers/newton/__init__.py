"""Semismooth Newton methods on the primal."""
