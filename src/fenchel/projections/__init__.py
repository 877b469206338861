"""Projections: the nearest point of a simple convex set."""

from fenchel.projections.box_and_sum import onto_box_and_sum

__all__ = ["onto_box_and_sum"]
