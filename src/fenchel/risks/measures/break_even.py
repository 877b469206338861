r"""Precision/recall break-even point: as many predicted positives as positives.

.. math::
    R(s) = \max_k\; \frac{k}{n_+} - \frac1n\sum_{i\le k} s^+_{(i)} + \frac1n\sum_{j\le k} s^-_{(j)}

over labellings with fn = fp = k, which flip the k lowest positives and the k highest negatives (Zhang, Saha and
Vishwanathan 2012, eqs. 3 and 4, with half the score term).  Conjugate and smoothing are in ``counted``, for p = 0.
The risk does not depend on an intercept: the flipped scores cancel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.projections.zero_sum import zero_sum
from fenchel.risks.measures.contingency import CountBound
from fenchel.risks.measures.counted import CountedRisk
from fenchel.risks.measures.separation import Diagonals


class BreakEven(CountedRisk):
    """Precision/recall break-even point: as many predicted positives as positives.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    F1 : The F-measure.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import BreakEven
    >>> risk = BreakEven([1, 1, -1, -1])
    >>> float(risk.value(np.array([9.0, 9.0, -9.0, -9.0]))), float(risk.value(np.zeros(4)))
    (0.0, 1.0)
    """

    name = "prbep"

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, weights)
        self.bound = CountBound(0, equality=True)
        self.diagonals = Diagonals(0, np.zeros(1), np.full(1, 1.0 / self.n_pos))

    def project(self, theta: Array) -> Floats:
        """Theta clipped to the box, with the class of the larger sum scaled down."""
        return zero_sum(self._clipped(theta))[0]

    def subgradient_norm_bound(self, scores: Array) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 2.0 * min(self.n_pos, self.n_neg) / self.examples

    @property
    def smoothing_range(self) -> float:
        """D: beta^2/2 adds up to at most min(n+, n-)."""
        return min(self.n_pos, self.n_neg) / self.examples
