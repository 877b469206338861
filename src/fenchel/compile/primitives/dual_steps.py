"""Dual steps of all examples at once, for methods that step in all dual variables together."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.compile.dispatch import dual_step
from fenchel.compile.loop import loop
from fenchel.losses import Loss


def dual_steps(loss: Loss, labels: Array, alpha: Array, scores: Array, curvature: float) -> Floats:
    """``loss.dual_step`` of arrays of one shape, compiled."""
    found = np.empty(scores.shape)
    flat = (np.ascontiguousarray(part, dtype=np.float64).ravel() for part in (labels, alpha, scores))
    _dual_steps(loss.compiled(), *flat, curvature, found.reshape(-1))
    return found


@loop
def _dual_steps(loss: Any, labels: Any, alpha: Any, scores: Any, curvature: float, result: Any) -> None:
    for i in range(np.uint64(len(result))):
        result[i] = dual_step(loss, labels[i], alpha[i], scores[i], curvature)
