"""A set of models that contains every optimum, and what it says about the scores of new rows.

``confinement`` computes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.certificate import Certificate
from fenchel.designs import Design
from fenchel.numerics.rounding import UNIT, gamma, output_norms, tree_depth, tree_sum

#: covers roundings of a bound by sums of non-negative terms
_UPWARDS = 1.0 + 1e-9
#: entries of (x - z)^T A^T that are held at a time (32 MB)
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class OptimumBall:
    """A set of models that contains every optimum of a problem: arrays and floats, without the training data.

    Parameters
    ----------
    centre : ndarray of shape (d,) or (k, d)
        The centre c of the ball of weights.
    radius : float
        Its radius, rounded upwards.
    reference : ndarray of shape (d,)
        The point z: the scores of an optimum at x are within ``radius`` times the norm of x - z of x . c + beta.
    intercept_lower, intercept_upper : ndarray of shape (1,) or (k,)
        Bounds on beta = b + z . (w - c) of every optimum w, b.  For a joint risk, of the one whose scores at z add up
        to zero: a shift of all intercepts changes nothing else.
    intercept_spread : float or None
        For a joint risk a bound on the differences of beta between two classes from those of the midpoints; None for
        outputs that do not depend on each other.
    root : ndarray of shape (d, d) or None
        The matrix A of the norm of A (x - z); None for the Euclidean norm.
    certificate : Certificate
        The certificate from which the radius was computed.

    See Also
    --------
    certified_predictions : The predictions that every optimum agrees with.
    """

    centre: Floats
    radius: float
    reference: Floats
    intercept_lower: Floats
    intercept_upper: Floats
    intercept_spread: float | None
    root: Floats | None
    certificate: Certificate

    def score_intervals(self, design: Design, distances: Array | None = None) -> tuple[Floats, Floats]:
        """Bounds on the scores of every optimum, of shape (n,) or (n, k).

        For a kernel model ``distances`` holds the norms of the features, and the design the kernel between new rows
        and training rows.
        """
        scores, rounding = _scores_and_rounding(design, self.centre)
        distances = self._distances(design) if distances is None else distances
        half = _columns(self.radius * distances, scores) + rounding
        low, high = self.intercept_lower, self.intercept_upper
        if self.centre.ndim == 1:
            low, high = low[0], high[0]
        with np.errstate(invalid="ignore"):
            lower, upper = scores + low - half, scores + high + half
            rounded = 4.0 * UNIT * (np.abs(scores) + half)
            return lower - rounded - 4.0 * UNIT * np.abs(low), upper + rounded + 4.0 * UNIT * np.abs(high)

    def proved_classes(self, design: Design, predicted: Array, distances: Array | None = None) -> Array:
        """Whether the score of the predicted class is the largest one at every optimum, for each row."""
        if self.intercept_spread is None:
            return largest_for_all(*self.score_intervals(design, distances), predicted)
        scores, rounding = _scores_and_rounding(design, self.centre)
        scores = scores + 0.5 * (self.intercept_lower + self.intercept_upper)
        rows = np.arange(len(scores))
        margins = scores[rows, predicted][:, None] - scores
        # the weights of two classes are at most sqrt(2) r from their difference at the centre
        distances = self._distances(design) if distances is None else distances
        half = math.sqrt(2.0) * _UPWARDS * self.radius * distances + self.intercept_spread
        half = half + 2.0 * np.max(rounding, axis=1) + 16.0 * UNIT * np.max(np.abs(scores), axis=1)
        margins[rows, predicted] = np.inf
        with np.errstate(invalid="ignore"):
            return np.min(margins, axis=1) > half

    def _distances(self, design: Design) -> Floats:
        """Upper bounds on the norms of x - z, or of A (x - z)."""
        if self.root is None:
            return distances_from(design, self.reference)
        found = np.empty(design.shape[0])
        own, size = self.root @ self.reference, math.sqrt(float(np.sum(self.root**2)))
        away = math.sqrt(tree_sum(self.reference, np.square))
        for rows, part in parts(design, len(self.root)):
            products = part.scores(self.root) - own
            rounding = gamma(2.0 * len(self.root) + 8) * size * (part.row_magnitudes + away)
            found[rows] = _UPWARDS * (np.sqrt(np.einsum("ij,ij->i", products, products)) + rounding)
        return found


def largest_for_all(lower: Array, upper: Array, predicted: Array) -> Array:
    """Whether the lower bound of the predicted column is above the upper bounds of all others, for each row."""
    rows = np.arange(len(lower))
    others = upper.copy()
    others[rows, predicted] = -np.inf
    return np.asarray(lower[rows, predicted] > np.max(others, axis=1))


def _scores_and_rounding(design: Design, centre: Array) -> tuple[Floats, Floats]:
    """x . c, and a bound on its rounding error."""
    scores = design.scores(centre)
    return scores, _columns(product_rounding(design), scores) * output_norms(centre)


def product_rounding(design: Design) -> Floats:
    """A bound on the rounding error of x . c for weights of norm 1, for each row."""
    rounded = np.asarray(design.score_roundings, dtype=np.float64) * UNIT
    return _UPWARDS * np.broadcast_to(rounded / (1.0 - rounded), design.shape[:1]) * design.row_magnitudes


def distances_from(design: Design, reference: Array) -> Floats:
    """Upper bounds on the Euclidean norms of x - z."""
    squares = design.squared_row_norms
    if not np.any(reference):
        return design.row_magnitudes
    away = tree_sum(reference, np.square)
    total = squares - 2.0 * design.scores(reference) + away
    rounded = np.asarray(design.score_roundings, dtype=np.float64) + (16.0 + tree_depth(len(reference)))
    error = _UPWARDS * rounded * UNIT * (design.row_magnitudes + math.sqrt(away)) ** 2
    return _UPWARDS * np.sqrt(np.maximum(total, 0.0) + error)


def parts(design: Design, width: int) -> Iterator[tuple[slice, Design]]:
    """Blocks of rows for products with ``width`` columns."""
    step = max(1, _BLOCK_ENTRIES // max(1, width))
    for begin in range(0, design.shape[0], step):
        end = min(design.shape[0], begin + step)
        yield slice(begin, end), design.part(begin, end)


def _columns(values: Array, scores: Array) -> Floats:
    """Values of the rows, broadcast over the outputs."""
    return values if scores.ndim == 1 else values[:, None]
