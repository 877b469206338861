"""The threshold for a measure: the best of all cuts of the scores.

A cut predicts the scores above it to be positive, so equal scores stay together.  Its loss is the measure's
Delta(fn, fp); for the ROC area, which has no threshold of its own, it is the share of positives below it and of
negatives above it (1 minus Youden's index).

Ordered classes have a threshold between each class and the next.  The absolute error of a prediction, in numbers of
classes, is the number of thresholds on whose wrong side the score lies, so each threshold has a problem of two classes
to itself.  From one threshold to the next a class changes sides, which makes high cuts cheaper against low ones: the
lowest best cuts are in order, and together they are the best of all.

The best cut of held-out scores follows their noise: the minimizer of an empirical curve of p observations is off by the
order of :math:`p^{-1/3}` of its scale (cube root asymptotics: J. Kim and D. Pollard, Annals of Statistics 18, 1990).
So for these scores a cut has the loss of the expected counts: the positives above it are counted with the probabilities
of a smooth curve of the score (:mod:`fenchel.estimators.calibration`), whose minimizer is off by :math:`p^{-1/2}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.estimators.calibration import Calibration
from fenchel.risks import Risk
from fenchel.solving.solution import Solution

#: losses that differ by no more are the same up to rounding
_ROUNDING = 1e-12
#: the smallest positive number that is not subnormal
_SMALLEST = float(np.finfo(np.float64).tiny)

#: why predictions by thresholds are not proved
UNPROVED = (
    "the thresholds are chosen after the fit from the scores of its own model, so they are not those of an exact "
    "optimum: use LinearClassifier or LinearRegressor for proved predictions"
)


class Cut(NamedTuple):
    """A threshold, and the loss of the measure that it has."""

    threshold: float
    loss: float


def best_threshold(scores: Array, risk: Any) -> float:
    """The middle of the best cut: ``score > threshold`` is the prediction."""
    return best_cut(scores, risk).threshold


def best_cut(scores: Array, risk: Any, *, held_out: bool = False) -> Cut:
    """The middle of the best cut, with its loss; of held-out scores by the expected counts of their probabilities.

    Of equally good cuts the one with the fewest errors, then the one between the scores furthest apart.  Where the
    measure allows none of the cuts, as break-even with equal scores, the one that predicts most nearly as many
    positives as there are.
    """
    scores, cuts, fn, fp, losses = (_expected_losses if held_out else cut_losses)(scores, risk)
    if not np.any(np.isfinite(losses)):
        losses = np.abs(fp - fn).astype(np.float64)
    least = _least(losses, fn + fp)
    good = cuts[least]
    gaps = np.where((good > 0) & (good < len(scores)), scores[good - 1] - scores[good % len(scores)], 0.0)
    best = int(np.argmax(gaps))
    return Cut(_middle(scores, int(good[best])), float(losses[least[best]]))


class CutLosses(NamedTuple):
    """Every cut of some scores: its errors, or those expected, and the loss of the measure, infinite if not allowed."""

    #: falling, of the examples with weight
    scores: Floats
    #: cut m predicts the first m
    cuts: NDArray[np.int64]
    fn: Array
    fp: Array
    losses: Floats

    def thresholds(self) -> Floats:
        """A threshold for each cut: ``score > threshold`` predicts the scores before it."""
        return np.array([_middle(self.scores, int(cut)) for cut in self.cuts])


def cut_losses(scores: Array, risk: Any) -> CutLosses:
    """The loss of the measure for every cut of these scores."""
    if risk.contingency() is not None:
        scores, cuts, tp = _counted(scores, risk.labels > 0.0)
        fn, fp = tp[-1] - tp, cuts - tp
        return CutLosses(scores, cuts, fn, fp, _losses(risk, fn, fp))
    scores, order, cuts = _sorted(scores, risk.shares)
    return _weighted_cuts(scores, cuts, risk, risk.shares[order], risk.labels[order] > 0.0)


def _expected_losses(scores: Array, risk: Any) -> CutLosses:
    """The loss of the measure for every cut of held-out scores, with the expected numbers of errors.

    The positives among the scores above a cut are expected by probabilities whose sum is their number; between the two
    whole numbers next to it the loss of as many predictions is linear, so that any measure of counts has one.
    """
    if risk.contingency() is None:
        falling, order, cuts = _sorted(scores, risk.shares)
        amounts, positive = risk.shares[order], risk.labels[order] > 0.0
        shares = Calibration.of(falling, positive, amounts).probabilities(falling)
        return _weighted_cuts(falling, cuts, risk, amounts, positive, shares)
    positive = risk.labels > 0.0
    falling, cuts, counted = _counted(scores, positive)
    own, many = int(counted[-1]), len(scores)
    tp = _before(Calibration.of(scores, positive).probabilities(falling), cuts)
    tp = np.clip(tp * (own / tp[-1]), np.maximum(0, cuts - (many - own)), np.minimum(cuts, own))
    low = np.floor(tp).astype(np.int64)
    more, part = np.minimum(low + 1, np.minimum(cuts, own)), tp - low
    ends = [_losses(risk, own - count, cuts - count) for count in (low, more)]
    with np.errstate(invalid="ignore"):
        losses = np.where(part > 0.0, ends[0] + part * (ends[1] - ends[0]), ends[0])
    return CutLosses(falling, cuts, own - tp, cuts - tp, np.where(np.isfinite(losses), losses, np.inf))


def _weighted_cuts(
    scores: Floats, cuts: NDArray[np.int64], risk: Any, amounts: Array, positive: Array, shares: Array | None = None
) -> CutLosses:
    """The cuts of a measure of weighted examples, of which these shares are expected to be positive."""
    total = np.sum(amounts[positive])
    own = amounts * (positive if shares is None else shares)
    own = own if shares is None else own * (total / np.sum(own))
    tp = _before(own, cuts)
    fn, fp = total - tp, _before(amounts - own, cuts)
    return CutLosses(scores, cuts, fn, fp, _losses(risk, fn, fp, amounts, positive))


def loss_above(scores: Array, risk: Any, threshold: float) -> float:
    """The loss of the measure for the prediction ``score > threshold``."""
    counted = np.flatnonzero(risk.shares > 0.0)
    above, positive = scores[counted] > threshold, risk.labels[counted] > 0.0
    amounts = np.ones(len(counted), dtype=np.int64) if risk.contingency() is not None else risk.shares[counted]
    fn, fp = (np.sum(amounts[wrong], keepdims=True) for wrong in (positive & ~above, ~positive & above))
    return float(_losses(risk, fn, fp, amounts, positive)[0])


def _counted(scores: Array, positive: Array) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """The scores, falling, the cuts between different ones, and how many positives are above each cut.

    Two sorts of numbers, of all scores and of the positives, take less time than an order of the examples.
    """
    many, own = len(scores), np.count_nonzero(positive)
    if np.min(scores) == np.max(scores):
        # of weights that are zero
        return scores, np.array([0, many]), np.array([0, own])
    rising = np.sort(scores)
    # each positive at the first of the scores that equal its own: no cut is within them
    below = np.bincount(np.searchsorted(rising, np.sort(scores[positive])), minlength=many).cumsum()
    ends = np.flatnonzero(rising[:-1] < rising[1:])[::-1]
    cuts = np.concatenate([[0], many - 1 - ends, [many]])
    return rising[::-1], cuts, np.concatenate([[0], own - below[ends], [own]])


def ordered_thresholds(scores: Array, codes: Array, classes: int, weights: Array | None) -> Floats:
    """The middles of the best cuts between classes 0, ..., k - 1: as many as lie below a score are its class.

    They rise, and no others that do have a smaller sum of weighted absolute errors.
    """
    amounts = np.ones(len(scores)) if weights is None else weights
    scores, order, cuts = _sorted(scores, amounts)
    codes, amounts = codes[order], amounts[order] / np.max(amounts)
    found = np.empty(classes - 1)
    for k in range(classes - 1):
        # above the cut the lower classes are wrong, below it the higher ones: up to a constant
        errors = _before(np.where(codes <= k, amounts, -amounts), cuts)
        # the lowest cut leaves most examples above it
        good = np.flatnonzero(errors <= np.min(errors) + _ROUNDING * len(scores))
        found[k] = _middle(scores, int(cuts[good[-1]]))
    # rounding alone can change their order
    return np.maximum.accumulate(found)


def below_threshold(above: Array) -> Floats:
    """How far scores are below a threshold, from how far they are above it: positive at the threshold itself too, since
    what lies there is not above it.
    """
    return np.where(above > 0.0, -above, np.maximum(-above, _SMALLEST))


def reversed_scores(coef: Any, thresholds: Floats) -> tuple[Any, Floats]:
    """Weights and intercepts of scores that are positive exactly where X w is not above the thresholds."""
    # the next number: a difference of close numbers is exact, so X w at the threshold itself has a positive score
    return -coef, np.nextafter(thresholds, np.inf)


def with_thresholds(found: dict[str, Any], thresholds: Floats, solutions: Sequence[Solution]) -> dict[str, Any]:
    """The attributes of a fit whose intercepts are replaced by minus these thresholds.

    ``decompositions_`` belong to the witnesses; None where theta suffices.
    """
    decompositions = [one.witness.decomposition for one in solutions]
    risk_intercept = found["intercept_"]
    more = {"thresholds_": thresholds, "risk_intercept_": risk_intercept, "decompositions_": decompositions}
    return {**found, **more, "intercept_": -thresholds}


def _sorted(scores: Array, weights: Array) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """The scores with weight, falling, their indices, and the cuts: cut m predicts the first m."""
    counted = np.flatnonzero(weights > 0.0)
    scores = scores[counted]
    if np.min(scores) == np.max(scores):
        # of weights that are zero
        return scores, counted, np.array([0, len(scores)])
    # the order of equal scores does not matter, and no stable sort is as fast
    order = np.argsort(-scores)
    order, scores = counted[order], scores[order]
    # only between different scores
    return scores, order, np.concatenate([[0], np.flatnonzero(scores[:-1] > scores[1:]) + 1, [len(scores)]])


def _losses(risk: Risk, fn: Array, fp: Array, amounts: Array | None = None, positive: Array | None = None) -> Floats:
    """The losses of cuts; of a measure of counts without the amounts and signs of the examples."""
    contingency = risk.contingency()
    if contingency is not None:
        losses = contingency.delta(fn, fp)
        return np.where(np.isfinite(losses), losses, np.inf)
    if risk.roc_auc() is not None:
        assert amounts is not None and positive is not None
        return fn / np.sum(amounts[positive]) + fp / np.sum(amounts[~positive])
    return fn + fp


def _least(losses: Array, errors: Array) -> NDArray[np.int64]:
    """Where the loss is least, and there the errors."""
    good = np.flatnonzero(losses <= np.min(losses) + _ROUNDING)
    return good[errors[good] <= np.min(errors[good]) + _ROUNDING]


def _before(amounts: Array, cuts: Array) -> Array:
    """The sums of the first m amounts, for each cut m."""
    if len(cuts) == 2:
        # of none and of all
        return np.array([0, np.sum(amounts)])
    return _sums(amounts)[cuts]


def _sums(amounts: Array) -> Array:
    """The sums of the first m amounts, for m = 0, 1, ..."""
    return np.concatenate([[0], np.cumsum(amounts)])


def _middle(scores: Array, cut: int) -> float:
    """A number below the first ``cut`` scores and not below the others."""
    if cut == 0:
        return float(scores[0])
    high = float(scores[cut - 1])
    if cut == len(scores):
        return float(min(high - 1.0, np.nextafter(high, -np.inf)))
    low = float(scores[cut])
    middle = low + 0.5 * (high - low)
    return middle if low <= middle < high else low
