r"""Ordinal hinge: the mean hinge over all pairs of examples with different labels.

.. math::
    R(s) = \frac1M\sum_{y_i<y_j} c_i c_j\,[1 - s_j + s_i]_+, \qquad M = \sum_{y_i<y_j} c_i c_j

One of the piecewise linear risks that Saha, Zhang and Vishwanathan (2009, Sec. 1) name without a formula, in the form
of Joachims (2006) and of Teo et al. (2010): a pair costs 1 at equal scores, and with two labels this is the ROC area.
Only the order of the labels counts.  Pairs at the kink count as wrong.  Everything but M is in ``graded_pairs``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.risks.graded_enclosure import EnclosedGradedPairs
from fenchel.risks.graded_pairs import GradedPairs


class OrdinalHinge(GradedPairs):
    r"""Ordinal hinge: the mean hinge over all pairs of examples with different labels.

    .. math:: R(s) = \frac1M\sum_{y_i<y_j} c_i c_j\,[1 - s_j + s_i]_+, \qquad M = \sum_{y_i<y_j} c_i c_j

    It does not depend on an intercept.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Finite numbers, of which only the order counts.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    RocAUC : Two labels.
    fenchel.OrdinalClassifier : The estimator.

    References
    ----------
    .. [1] T. Joachims. "Training linear SVMs in linear time." KDD, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import OrdinalHinge
    >>> round(float(OrdinalHinge([1, 2, 3]).value(np.array([0.0, 0.0, 2.0]))), 4)
    0.3333
    """

    name = "ordinal_hinge"
    #: products of two weights must not underflow
    weight_range = 1e120

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        found = np.asarray(labels)
        if found.ndim != 1 or not found.size or found.dtype.kind not in "biuf" or not np.all(np.isfinite(found)):
            raise FenchelError("labels must be (n,) finite numbers, not empty; encode ordered classes as 0, 1, 2, ...")
        self.levels, codes = np.unique(found, return_inverse=True)
        # short integers are sorted in linear time
        self._codes = codes.astype(np.uint16 if len(self.levels) <= 1 << 16 else np.int64)
        self.bits = int(len(self.levels) - 1).bit_length()
        self.examples = len(found)
        self._weigh(weights)
        self._whole = weights is None
        if len(np.unique(self._codes[self.shares > 0.0])) < 2:
            raise FenchelError(f"the risk {self.name!r} needs two different labels with positive weight")

    def ordinal(self) -> OrdinalHinge:
        return self

    def enclosure(self) -> EnclosedGradedPairs:
        weights = np.ones(self.examples) if self._weights is None else self._weights
        return EnclosedGradedPairs(self._codes, self.bits, weights, np.ones(1))

    @cached_property
    def amounts(self) -> Floats:
        """The weights up to a factor: one without weights, so that sums are exact."""
        return np.ones(self.examples) if self._weights is None else self.shares

    @cached_property
    def pairs(self) -> float:
        """M, for these amounts."""
        # class by class, so that small classes keep their digits
        sizes = np.bincount(self._codes)
        by_class = self.amounts[np.argsort(self._codes, kind="stable")].astype(np.longdouble)
        sums = np.add.reduceat(by_class, np.cumsum(sizes) - sizes)
        return float(np.sum(sums[1:] * np.cumsum(sums)[:-1]))

    def _total(self, values: Array) -> Any:
        return (self.amounts @ values) / self.pairs
