r"""Precision and recall among the first k, with the constraint sets of SVM-perf (Joachims 2005).

==============  ======================================  =====================================================
measure         labellings z                            Delta(fn, fp)
==============  ======================================  =====================================================
precision@k     at least k predicted positive, k <= n+  1 - precision = fp / (n+ + fp - fn)
recall@k        at most k predicted positive, k >= n+   1 - recall = fn / n+
==============  ======================================  =====================================================

The true labelling has n+ predicted positives, so with these k it is always among them and the risk is never negative.
A labelling has n+ + fp - fn predicted positives: the constraint is one on the surplus alone, and for each surplus
Delta is linear in fn.

Recall@k has the slope 1/n+ for every surplus: conjugate and smoothing are in ``counted``, for p = k - n+.

The slopes of precision@k differ: Delta is not concave in (fn, fp), and neither the conjugate nor the smoothing has
this form; ``smoothed_diagonals`` smooths each surplus and their maximum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.rounding import UNIT
from fenchel.risks.measures.contingency import CountBound
from fenchel.risks.measures.counted import CountedRisk
from fenchel.risks.measures.separation import Diagonals
from fenchel.risks.measures.smoothed_diagonals import SmoothedDiagonalRisk
from fenchel.validation import is_integer

#: roundings of a sum of theta on its bound that are not mended
_ROUNDINGS = 64.0


class PrecisionAtK(SmoothedDiagonalRisk):
    """Precision at k: 1 - precision of the worst labelling with at least k predicted positives.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    k : int
        The number of predicted positives, at most the number of positives.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    RecallAtK : At most k predicted positives.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] T. Joachims. "A support vector method for multivariate performance measures." ICML, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import PrecisionAtK
    >>> risk = PrecisionAtK([1, 1, -1, -1], k=1)
    >>> float(risk.value(np.array([9.0, 9.0, -9.0, -9.0]))), float(risk.value(np.zeros(4)))
    (0.0, 1.0)
    """

    name = "precision_at_k"

    def __init__(self, labels: ArrayLike, k: int, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, weights)
        self.k = whole_k(k)
        if not 1 <= self.k <= self.n_pos:
            raise FenchelError(
                f"k must be between 1 and the number of positives, {self.n_pos}, for 'precision_at_k', got {k}; "
                "otherwise the true labelling is not allowed"
            )
        surplus = np.arange(self.k - self.n_pos, self.n_neg + 1, dtype=np.float64)
        predicted = self.n_pos + surplus
        self.diagonals = Diagonals(self.k - self.n_pos, surplus / predicted, 1.0 / predicted)


class RecallAtK(CountedRisk):
    """Recall at k: 1 - recall of the worst labelling with at most k predicted positives.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    k : int
        The number of predicted positives, at least the number of positives.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    PrecisionAtK : At least k predicted positives.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] T. Joachims. "A support vector method for multivariate performance measures." ICML, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import RecallAtK
    >>> risk = RecallAtK([1, 1, -1, -1], k=2)
    >>> float(risk.value(np.array([9.0, 9.0, -9.0, -9.0]))), float(risk.value(np.zeros(4)))
    (0.0, 1.0)
    """

    name = "recall_at_k"

    def __init__(self, labels: ArrayLike, k: int, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, weights)
        self.k = whole_k(k)
        if not self.n_pos <= self.k <= self.examples:
            raise FenchelError(
                f"k must be between the number of positives, {self.n_pos}, and that of examples, {self.examples}, "
                f"for 'recall_at_k', got {k}; otherwise the bound would leave out the true labelling"
            )
        self.bound = CountBound(self.k - self.n_pos, equality=False)
        count = self.k + 1
        self.diagonals = Diagonals(-self.n_pos, np.zeros(count), np.full(count, 1.0 / self.n_pos))

    def project(self, theta: Array) -> Floats:
        """Theta clipped to the box, with the negatives scaled down if the sum is too small."""
        theta = self._clipped(theta)
        up, down = exact_sum(theta[self.positives]), -exact_sum(theta[self.negatives])
        # a sum that is off by rounding alone is left as it is, so that a point of the domain keeps every bit
        if down - up > self.room + _ROUNDINGS * UNIT * down:
            theta[self.negatives] *= (up + self.room) / down
        return theta

    @property
    def dual_roundings(self) -> float:
        """Those of 1/n, of the two sums, of the factor and of a sum that is left as it is."""
        return _ROUNDINGS + 16.0

    @property
    def smoothing_range(self) -> float:
        """D: all positives and as many negatives as may be predicted positive are flipped."""
        return (self.n_pos + min(self.n_neg, self.k)) / (2.0 * self.examples)


def whole_k(k: int) -> int:
    """K as an integer; raise unless it is one."""
    if not is_integer(k):
        raise FenchelError(f"k must be an integer, the number of examples, got {k!r}")
    return int(k)
