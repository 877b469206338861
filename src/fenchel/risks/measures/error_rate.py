r"""The error rate as a measure: exactly the mean hinge loss.

With :math:`\Delta = (fn + fp)/n` the worst labelling is chosen example by example,

.. math:: \max_z\; \frac1n\sum_i [z_i\ne y_i] + \frac{1}{2n}\sum_i s_i(z_i - y_i) = \frac1n\sum_i [1 - y_i s_i]_+,

which is why measures here have half the score term of Zhang, Saha and Vishwanathan (2012), eq. (3).  Weights are
allowed, and every solver for means of a loss supports this risk.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.risks.base import CuttingPlane
from fenchel.risks.mean import MeanRisk
from fenchel.risks.measures.contingency import two_classes


class ErrorRate(MeanRisk):
    """Error rate as a performance measure: exactly the mean hinge.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    MeanRisk : The mean of any loss.
    fenchel.MeasureClassifier : The estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import ErrorRate
    >>> risk = ErrorRate([1, 1, -1, -1])
    >>> float(risk.value(np.array([9.0, 9.0, -9.0, -9.0]))), float(risk.value(np.zeros(4)))
    (0.0, 1.0)
    """

    name = "accuracy"
    is_measure = True

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        super().__init__("hinge", two_classes(labels, self.name), weights)

    def subgradient(self, scores: Array) -> Floats:
        """The subgradient of the most violated labelling; an example at the kink counts as an error."""
        return np.where(self.labels * scores <= 1.0, -self.shares * self.labels, 0.0)

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The cutting plane of the most violated labelling: subgradient, offset Delta and R(s)."""
        subgradient = self.subgradient(scores)
        return subgradient, float(np.sum(np.abs(subgradient))), self.value(scores)

    def seeds(self) -> list[tuple[Floats, float]]:
        """Cutting planes (subgradient, offset) that bound b in R(s + b): of the labels, and of all in one class."""
        planes = [(np.zeros(self.examples), 0.0)]
        for label in (1.0, -1.0):
            subgradient = np.where(self.labels == label, -label * self.shares, 0.0)
            planes.append((subgradient, float(np.sum(np.abs(subgradient)))))
        return planes
