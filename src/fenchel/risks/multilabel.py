r"""Multilabel hinge: the hinge of the worst pair of a present and an absent label of an example.

.. math::
    R(s) = \sum_i c_i\,\Big[\max_{p\in Y_i,\;q\notin Y_i} 1 - s_{ip} + s_{iq}\Big]_+

(Elisseeff and Weston 2001, with the largest instead of the mean over pairs; one of the piecewise linear risks that
Saha, Zhang and Vishwanathan (2009, Sec. 1) name without a formula.)  With one label for each example it is the risk of
Crammer and Singer.  An example with all labels or none has no pair and costs nothing.  The worst pair is the lowest
score of a label that it has with the highest of one that it has not: :math:`O(nk)`.

The domain of the conjugate is, for each example, :math:`\theta_{ip}\ge 0` for the labels that it has,
:math:`\theta_{iq}\le 0` for the others, :math:`\sum_p\theta_{ip} = -\sum_q\theta_{iq} \le c_i`: such numbers are the
row and column sums of some masses of pairs :math:`\beta\ge 0` that add up to at most :math:`c_i`.  There
:math:`R^*(-\theta) = -\sum_i\sum_{p\in Y_i}\theta_{ip}`.

With free intercepts the columns of theta add up to zero as well.  A dual point is a mixture of pairs, with masses
:math:`\beta_{ipq} = \theta_{ip}|\theta_{iq}|/\sum_p\theta_{ip}` for example, and scaling down the masses of a pair
(p, q) of labels moves mass from column p to column q.  Some best intercepts lie in a range of (k - 1)(1 + 2S), where
:math:`|s_{ip}| \le S`: if two neighbours in the order of b are further apart than 1 + 2S, moving all labels above them
down until they are not keeps the hinges of pairs in this order at zero and makes those of other pairs smaller.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.numerics.rounding import absolute_sum, gamma, tree_depth, tree_sum
from fenchel.projections.zero_sum import column_sums, kept_shares
from fenchel.risks.base import Risk
from fenchel.risks.intercept_steps import stepwise_intercepts
from fenchel.risks.multilabel_enclosure import EnclosedMultilabel
from fenchel.risks.protocols import ClosedForm, Intercepts


class MultilabelHinge(Risk):
    r"""Multilabel hinge: the worst pair of a label that an example has and one that it has not.

    .. math:: R(s) = \sum_i c_i\,\Big[\max_{p\in Y_i,\;q\notin Y_i} 1 - s_{ip} + s_{iq}\Big]_+

    An example with all labels or none costs nothing.

    Parameters
    ----------
    labels : array-like of shape (n, k)
        The labels of each example, -1 and +1, or 0 and 1.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    CrammerSinger : One label for each example.

    References
    ----------
    .. [1] A. Elisseeff and J. Weston. "A kernel method for multi-labelled classification." NIPS, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import MultilabelHinge
    >>> float(MultilabelHinge([[1, 1, 0], [0, 0, 1]]).value(np.zeros((2, 3))))
    1.0
    """

    name = "multilabel_hinge"
    #: R*(0): minus the infimum of the risk
    conjugate_at_zero = 0.0
    outputs: int

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        found = np.asarray(labels)
        if found.ndim != 2 or not found.size or found.dtype.kind not in "biuf":
            raise FenchelError(f"labels must be (n, k) numbers, not empty, got shape {found.shape}")
        if not (np.all((found == 0) | (found == 1)) or np.all((found == -1) | (found == 1))):
            raise FenchelError(f"the risk {self.name!r} requires the labels -1 and +1, or 0 and 1")
        self._has = found > 0
        self.examples, self.outputs = found.shape
        self._weigh(weights)
        paired = np.any(self._has, axis=1) & ~np.all(self._has, axis=1)
        #: c_i where example i has a pair of labels, else 0
        self._masses = np.where(paired, self.shares, 0.0)
        if not np.any(self._masses):
            raise FenchelError(f"the risk {self.name!r} needs an example of positive weight with some labels, not all")

    def closed_form(self) -> ClosedForm:
        return self

    def multilabel(self) -> MultilabelHinge:
        return self

    def intercepts(self) -> Intercepts:
        return self

    def enclosure(self) -> EnclosedMultilabel:
        paired = np.any(self._has, axis=1) & ~np.all(self._has, axis=1)
        weights = np.ones(self.examples) if self._weights is None else self._weights
        return EnclosedMultilabel(self._has, paired, weights, self.shares)

    @property
    def labels(self) -> Floats:
        """-1 and +1, (n, k)."""
        return np.where(self._has, 1.0, -1.0)

    @property
    def paired(self) -> NDArray[np.int64]:
        """The examples of positive weight with some labels, not all: the others cost nothing."""
        return np.flatnonzero(self._masses)

    @cached_property
    def value_at_zero(self) -> float:
        """R(0): the natural scale of the objective."""
        return exact_sum(self._masses)

    def value(self, scores: Array) -> float:
        """R(s)."""
        low, high = self._worst(scores)
        rows = np.flatnonzero(self._masses)
        losses = np.maximum(1.0 - scores[rows, low[rows]] + scores[rows, high[rows]], 0.0)
        return tree_sum(self._masses[rows] * losses)

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s: ties go to the first labels."""
        low, high = self._worst(scores)
        rows = np.flatnonzero(self._masses)
        rows = rows[1.0 - scores[rows, low[rows]] + scores[rows, high[rows]] > 0.0]
        subgradient = np.zeros((self.examples, self.outputs))
        subgradient[rows, low[rows]], subgradient[rows, high[rows]] = -self._masses[rows], self._masses[rows]
        return subgradient

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta): infinite outside the domain (beyond rounding); ``feasible``: theta came from ``project``."""
        theta = np.asarray(theta, dtype=np.float64)
        if not feasible and np.any(np.abs(theta - self.project(theta)) > DOMAIN_TOLERANCE * self._masses[:, None]):
            return np.inf
        return -exact_sum(theta[self._has])

    def project(self, theta: Array) -> Floats:
        """A point of the domain near theta: of each example the side with the larger sum is scaled down."""
        theta = np.asarray(theta, dtype=np.float64)
        have, lack = np.where(self._has, np.maximum(theta, 0.0), 0.0), np.where(self._has, 0.0, np.minimum(theta, 0.0))
        # extended precision, where available, decides whether the two sums are equal
        up, down = (np.sum(side, axis=1, dtype=np.longdouble).astype(np.float64) for side in (have, -lack))
        goal = np.minimum(np.minimum(up, down), self._masses)
        for side, total in ((have, up), (lack, down)):
            side *= np.divide(goal, total, out=np.zeros(self.examples), where=total > 0.0)[:, None]
        return have + lack

    def balance(self, theta: Array, *, overwrite: bool = False) -> tuple[Floats, Floats]:
        """A point of the domain near theta with columns that add up to zero, and bounds on the sums that remain."""
        surplus, _ = column_sums(theta)
        if np.any(surplus):
            have, lack = np.where(self._has, theta, 0.0), np.where(self._has, 0.0, -theta)
            mass = np.sum(have, axis=1, keepdims=True)
            parts = np.divide(lack, mass, out=np.zeros_like(lack), where=mass > 0.0)
            keep = kept_shares(have.T @ parts, surplus)
            # rounding leaves the two sums of an example apart
            theta = self.project(have * (parts @ keep.T) - parts * (have @ keep))
        left, error = column_sums(theta)
        return theta, np.abs(left) + error + gamma(self.dual_roundings) * float(np.sum(np.abs(theta)))

    def best_intercept(self, scores: Array) -> Floats:
        """Intercepts that do not make R larger, by exact steps along one label after the other; they add up to zero.

        The best ones are the solution of a linear program of the size of the data; solvers find them on their way.
        """
        return stepwise_intercepts(scores, self.value, self._kinks)

    def intercept_bound(self, level: float, score_bounds: Array) -> Floats:
        """Bound abs(b) of some best b where abs(x_i . w_j) <= score_bounds_i: the range of all labels."""
        largest = float(np.max(score_bounds[self._masses > 0.0]))
        return np.full(self.outputs, (self.outputs - 1.0) * (1.0 + 2.0 * largest))

    @property
    def roundings(self) -> float:
        """Those of a margin, of a weight, of their product and of the sum."""
        return 2.0 + self.share_roundings + tree_depth(self.examples)

    #: that of 1 - s; the next one, of the margin, is relative
    score_roundings = 1.0

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        """Theta stands for a point near it, whose entries at labels are added up."""
        return gamma(self.dual_roundings + 1.0) * absolute_sum(theta)

    @property
    def dual_roundings(self) -> float:
        """Those of c_i, of the two sums of an example and of their factors."""
        return self.outputs + tree_depth(self.examples) + 16.0

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 2.0

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        radius = np.broadcast_to(radius, scores.shape)
        # a label may be the worst of its side if its interval of scores overlaps the extreme one
        lowest = np.min(np.where(self._has, scores + radius, np.inf), axis=1, keepdims=True)
        highest = np.max(np.where(self._has, -np.inf, scores - radius), axis=1, keepdims=True)
        worst = np.where(self._has, scores - radius <= lowest, scores + radius >= highest)
        least = np.min(np.where(self._has, scores - radius, np.inf), axis=1)
        most = np.max(np.where(self._has, -np.inf, scores + radius), axis=1)
        return np.where(worst, np.where(1.0 - least + most >= 0.0, self._masses, 0.0)[:, None], 0.0)

    def _kinks(self, scores: Array, k: int) -> tuple[Array, Array, float]:
        """The kinks of R along the intercept of label k, the jumps of its derivative there, and minus its derivative at
        -infinity.
        """
        rows = np.flatnonzero(self._masses)
        has, scores, masses = self._has[rows], scores[rows], self._masses[rows]
        other = np.arange(self.outputs) != k
        lowest = np.min(np.where(has & other, scores, np.inf), axis=1)
        highest = np.max(np.where(has | ~other, -np.inf, scores), axis=1)
        # without label k the hinge is this; its own pairs have 1 + highest - s_k - b, or 1 + s_k + b - lowest
        rest, own = np.maximum(1.0 + highest - lowest, 0.0), has[:, k]
        kinks = np.where(own, 1.0 + highest - rest, rest - 1.0 + lowest) - scores[:, k]
        return kinks, masses, float(np.sum(masses[own]))

    def _worst(self, scores: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The present label with the lowest score and the absent one with the highest, of each example."""
        low = np.argmin(np.where(self._has, scores, np.inf), axis=1)
        return low, np.argmax(np.where(self._has, -np.inf, scores), axis=1)
