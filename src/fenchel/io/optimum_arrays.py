"""What a fit proves about its optimum, as the arrays of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate import Certificate, OptimumBall, OptimumSketch
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.errors import FenchelError

PREFIX = "optimum_"
#: of a file of an older version
NOTHING_KNOWN = "the model file holds nothing about the optimum: train the model again"
_NAMES = ("centre", "radius", "reference", "lower", "upper", "spread")


def optimum_arrays(estimator: Any) -> tuple[dict[str, Array], str]:
    """The balls of a fit side by side, or no arrays and the reason."""
    optimum: OptimumOfFit | None = vars(estimator).get("_optimum")
    try:
        balls = () if optimum is None else optimum.balls
    except FenchelError as refusal:
        return {}, str(refusal)
    if not balls:
        return {}, NOTHING_KNOWN
    found = {
        "centre": np.stack([ball.centre for ball in balls]),
        "radius": np.array([ball.radius for ball in balls]),
        "reference": balls[0].reference,
        "lower": np.stack([ball.intercept_lower for ball in balls]),
        "upper": np.stack([ball.intercept_upper for ball in balls]),
        "spread": np.array([np.nan if ball.intercept_spread is None else ball.intercept_spread for ball in balls]),
    }
    if balls[0].root is not None:
        found["root"] = balls[0].root
    return {PREFIX + name: array for name, array in found.items()}, ""


def restored_optimum(
    arrays: Mapping[str, Array],
    unproved: str,
    certificates: Sequence[Certificate],
    classes: Array | None,
    features: int,
) -> OptimumOfFit:
    """The inverse; raise ValueError if the arrays do not belong together."""
    kind: Any = "score" if classes is None else "class" if len(classes) > 2 else "sign"
    if unproved:
        return OptimumOfFit((OptimumSketch.refused(unproved),), kind, classes)
    centre, radius, reference, lower, upper, spread = (arrays[PREFIX + name] for name in _NAMES)
    root, count = arrays.get(PREFIX + "root"), len(certificates)
    shapes = centre.shape[-1:] == reference.shape == (features,)
    if root is not None:
        shapes = shapes and root.shape == (features, features) and root.dtype == np.float64
    numbers = centre, radius, lower, upper, spread
    same = all(len(array) == count and array.dtype == np.float64 for array in numbers)
    if not shapes or not same or reference.dtype != np.float64 or not np.all(radius >= 0.0):
        raise ValueError("what is proved about the optimum is damaged")
    balls = [
        OptimumBall(
            centre[k],
            float(radius[k]),
            reference,
            lower[k],
            upper[k],
            None if np.isnan(spread[k]) else float(spread[k]),
            root,
            certificates[k],
        )
        for k in range(count)
    ]
    return OptimumOfFit(tuple(map(OptimumSketch, balls)), kind, classes)
