r"""Plug-in classifiers for a measure: a cost-weighted mean of losses, then the threshold that is best for the measure.

Where the classes overlap, the convex bound on a measure of the contingency table can be minimized by w = 0: for F1 that
is so if the mean of the positives is a mean of negatives.  The classifier that is best for such a measure is still
:math:`\Pr(y = 1\mid x) > t` with some threshold t [1]_, and some ratio of the costs of both kinds of errors makes it a
cost-weighted classifier [2]_.  A plug-in minimizes

.. math:: \Omega(w) + C\sum_i a_i f(x_i\cdot w + b, y_i), \qquad
          a_i = \alpha\,(n_-/n_+)^e \text{ for positives},\ \alpha \text{ for negatives},\ \sum_i a_i = n

whose certificate is about this objective.  The exponent e of the costs, from 0 (equal) to 1 (balanced), and the
threshold are those with the least loss of the measure on the scores of held-out folds, with the expected numbers of
errors (:mod:`fenchel.estimators.thresholds`).

.. [1] O. Koyejo, N. Natarajan, P. Ravikumar and I. Dhillon. "Consistent binary classification with generalized
       performance metrics." NIPS, 2014.
.. [2] S. Parambath, N. Usunier and Y. Grandvalet. "Optimizing F-measures by cost-sensitive classification." NIPS, 2014.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.estimators.thresholds import Cut, best_cut
from fenchel.risks import Risk

#: exponents e of the costs that are tried: equal costs, their geometric mean with balanced ones, and balanced costs
COST_EXPONENTS = (0.0, 0.5, 1.0)
#: a loss of the measure that is smaller by no more is no reason for less equal costs
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class PlugIn:
    """The plug-in of each problem of a fit; NaN where a problem has the bound of the measure."""

    #: the weight of a positive example relative to a negative one
    positive_weights: Floats
    #: of the scores X w + b; NaN where they are chosen on the training scores
    thresholds: Floats
    #: the loss of the measure on held-out scores
    losses: Floats

    def only(self, columns: Array) -> PlugIn:
        """The plug-in of these columns, and the bound of the others."""
        kept = np.asarray(columns, dtype=bool)
        return PlugIn(*(np.where(kept, own, np.nan) for own in (self.positive_weights, self.thresholds, self.losses)))


def positive_weight(signs: Array, weights: Array | None, exponent: float) -> float:
    """The weight of the positives relative to that of the negatives, ``(n_neg / n_pos) ** exponent``."""
    amounts = np.ones(len(signs)) if weights is None else weights
    positive = math.fsum(amounts[signs > 0.0])
    return float((math.fsum(amounts[signs < 0.0]) / positive) ** exponent) if positive else 1.0


def cost_weights(signs: Array, weights: Array | None, positive_weight: float) -> Floats | None:
    """The weights times the costs, with the sum of the weights unchanged, so that C means the same."""
    if positive_weight == 1.0:
        return weights
    amounts = np.ones(len(signs)) if weights is None else weights
    costs = amounts * np.where(signs > 0.0, positive_weight, 1.0)
    return costs * (math.fsum(amounts) / math.fsum(costs))


def chosen_cost(held_out: Sequence[Floats], risk: Risk) -> tuple[int, Cut]:
    """The index of the costs whose held-out scores have the least loss of the measure, and the best cut of these."""
    cuts = [best_cut(scores, risk, held_out=True) for scores in held_out]
    least = min(cut.loss for cut in cuts)
    best = next(k for k, cut in enumerate(cuts) if cut.loss <= least + _TIE)
    return best, cuts[best]
