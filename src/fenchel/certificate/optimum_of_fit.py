"""What a fit of one or several problems proves about its exact optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate.optimum import OptimumBall, largest_for_all
from fenchel.certificate.optimum_sketch import OptimumSketch
from fenchel.certificate.predictions import CertifiedPredictions, Kind, from_ball
from fenchel.designs import Design


@dataclass(frozen=True, eq=False)
class OptimumOfFit:
    """What a fit proves about its exact optimum: a ball for each problem, without the training data.

    Parameters
    ----------
    sketches : tuple of OptimumSketch
        One ball, or one for each class of a one-vs-rest fit, with the bracket of its intercept computed on demand.
    kind : {"sign", "class", "score"}
        How scores become predictions.
    classes : ndarray or None
        The labels of the classes; None for a regression.

    See Also
    --------
    certified_predictions : Which predictions of one problem are proved.
    """

    sketches: tuple[OptimumSketch, ...]
    kind: Kind
    classes: Array | None

    @property
    def balls(self) -> tuple[OptimumBall, ...]:
        """The balls; raise with the reason if there is none."""
        return tuple(one.ball() for one in self.sketches)

    @property
    def zero_weights(self) -> Array | None:
        """Whether each weight is proved to be zero at every optimum, a row for each problem; None if it is unknown."""
        known = [one.zero_weights for one in self.sketches if one.zero_weights is not None]
        return np.vstack(known) if len(known) == len(self.sketches) else None

    def check(self) -> None:
        """Raise with the reason if a problem has no ball."""
        for one in self.sketches:
            one.ball()

    def predict(self, design: Design, scores: Array, distances: Array | None = None) -> CertifiedPredictions:
        """The predictions of a fit with these scores, and which of them every exact optimum makes."""
        balls = self.balls
        if len(balls) == 1:
            found = from_ball(balls[0], design, scores, self.kind, distances)
        else:
            found = _one_vs_rest(balls, design, scores)
        if self.classes is None:
            return found
        codes = found.predictions if found.kind == "class" else (found.predictions > 0).astype(int)
        return replace(found, predictions=self.classes[codes])


def _one_vs_rest(balls: Sequence[OptimumBall], design: Design, scores: Array) -> CertifiedPredictions:
    ends = [ball.score_intervals(design) for ball in balls]
    lower, upper = (np.stack([end[side] for end in ends], axis=1) for side in (0, 1))
    predictions = np.argmax(scores, axis=1)
    proved = largest_for_all(lower, upper, predictions)
    certificate = reduce(add, (ball.certificate for ball in balls))
    radius = max(ball.radius for ball in balls)
    return CertifiedPredictions(predictions, proved, lower, upper, radius, certificate, "class")
