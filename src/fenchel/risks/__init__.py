"""Risks: convex functions of all scores."""

from fenchel.risks.mean import MeanRisk

__all__ = ["MeanRisk"]
