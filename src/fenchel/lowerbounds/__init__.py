"""The lower-bound laboratory: problems on which cutting planes are provably slow, and the iterates of solvers.

``python -m fenchel.lowerbounds`` prints measured gaps against the exact formulas and a table of rates.
"""

from __future__ import annotations

from fenchel.lowerbounds.construction import Construction, gaps, weights_of
from fenchel.lowerbounds.every_kink import HingeLoss, RocCurve
from fenchel.lowerbounds.four_points import FourPoints
from fenchel.lowerbounds.hadamard import Hadamard
from fenchel.lowerbounds.one_positive import BreakEvenPoint, F1Score

#: all of them, in the order of the papers
CONSTRUCTIONS: dict[str, type[Construction]] = {
    kind.name: kind for kind in (Hadamard, FourPoints, HingeLoss, F1Score, BreakEvenPoint, RocCurve)
}

__all__ = [
    "CONSTRUCTIONS",
    "BreakEvenPoint",
    "Construction",
    "F1Score",
    "FourPoints",
    "Hadamard",
    "HingeLoss",
    "RocCurve",
    "gaps",
    "weights_of",
]
