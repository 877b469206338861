r"""F-beta: the weighted harmonic mean of precision and recall.

.. math::
    \Delta(fn, fp) = 1 - F_\beta = \frac{fp + \beta^2 fn}{(1+\beta^2)\,n_+ + fp - fn}

(Zhang, Saha and Vishwanathan 2010, eq. 14, for beta = 1.)  The denominator depends on the surplus fp - fn alone, so
Delta is linear in fn for each surplus; ``smoothed_diagonals`` has the smoothing.  With beta = 0, which is precision, a
labelling without predicted positives has 0/0: its F is 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import FenchelError
from fenchel.risks.measures.separation import Diagonals
from fenchel.risks.measures.smoothed_diagonals import SmoothedDiagonalRisk
from fenchel.validation import check_number


class FBeta(SmoothedDiagonalRisk):
    """F-beta measure: 1 - F-beta of the worst labelling.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    beta : float, default=1.0
        The weight of recall relative to precision.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    F1 : Beta is 1.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] T. Joachims. "A support vector method for multivariate performance measures." ICML, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import FBeta
    >>> risk = FBeta([1, 1, -1, -1], beta=2.0)
    >>> float(risk.value(np.array([9.0, 9.0, -9.0, -9.0]))), float(risk.value(np.zeros(4)))
    (0.0, 1.0)
    """

    name = "fbeta"

    def __init__(self, labels: ArrayLike, beta: float = 1.0, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, weights)
        check_number("beta", beta, least=0.0)
        self.beta = float(beta)
        square = self.beta * self.beta
        if not math.isfinite(square):
            raise FenchelError(f"beta={beta!r} is too large: its square overflows; use 'recall_at_k' for recall alone")
        surplus = np.arange(-self.n_pos, self.n_neg + 1, dtype=np.float64)
        whole = square * self.n_pos + (self.n_pos + surplus)
        undefined = whole[0] == 0.0
        whole[0] = whole[1] if undefined else whole[0]
        slope, base = (1.0 + square) / whole, surplus / whole
        if undefined:
            # nothing is predicted, which is one labelling: its Delta is 1, whatever the slope
            base[0] = 1.0 - slope[0] * self.n_pos
        self.diagonals = Diagonals(-self.n_pos, base, slope)


class F1(FBeta):
    """F1 measure: 1 - F1 of the worst labelling.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Must be None: the measure counts examples.

    See Also
    --------
    FBeta : Other weights of recall.
    BreakEven : Precision equals recall.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] T. Joachims. "A support vector method for multivariate performance measures." ICML, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import F1
    >>> risk = F1([1, 1, -1, -1])
    >>> float(risk.value(np.array([9.0, 9.0, -9.0, -9.0]))), float(risk.value(np.zeros(4)))
    (0.0, 1.0)
    """

    name = "f1"

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, 1.0, weights)
