r"""Multiclass hinges: Weston-Watkins and Crammer-Singer.

With a score for each class, label y and :math:`z_j = 1 - s_y + s_j` the losses of an example are

.. math::
    f_{WW}(s) = \sum_{j\ne y} a_{yj} [z_j]_+, \qquad f_{CS}(s) = [\max_{j\ne y} z_j]_+

Both are :math:`\max_\beta \sum_{j\ne y}\beta_j z_j` over :math:`0 \le \beta_j \le a_{yj}` (WW) or
:math:`\beta \ge 0, \sum\beta \le 1` (CS), so the conjugate is :math:`f^*(-\alpha) = -\sum\beta = -\alpha_y` for
:math:`\alpha_j = -\beta_j,\ \alpha_y = \sum\beta` (Wang and Scott, D1 and eq. 3).  :math:`R(s) = \sum c_i f(s_i)` and
:math:`\theta_i = c_i\alpha_i`; the rows of theta add up to zero.

=====================  ==================================================
symbol                 here
=====================  ==================================================
y                      ``classes``, numbers from 0 to k - 1
:math:`a_{yj}`         ``costs``, one for every pair unless given
C of the paper         :math:`c_i/\lambda` for the scale of its beta
=====================  ==================================================
"""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.rounding import absolute_sum, gamma
from fenchel.risks.intercept_steps import stepwise_intercepts
from fenchel.risks.multiclass.base import MulticlassRisk
from fenchel.risks.multiclass.rows import inwards


class _HingeRisk(MulticlassRisk):
    """Base class of both."""

    def best_intercept(self, scores: Array) -> Floats:
        """Intercepts that do not make R larger, by exact steps along one class after the other; they add up to zero.

        The best ones are the solution of a linear program of the size of the data; solvers find them on their way.
        """
        return stepwise_intercepts(scores, self.value, self._kinks)

    #: that of 1 + s_j; the next one, of z, is relative
    score_roundings = 1.0

    @property
    def roundings(self) -> float:
        """Those of z, of a cost and of k terms, of a weight and of the sum."""
        return 2.0 + self.outputs + self._mean_roundings

    def _conjugate(self, theta: Array) -> float:
        return -exact_sum(theta[np.arange(self.examples), self.classes])

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        """An entry at a label stands for the exact sum of the others."""
        return gamma(self.outputs + 1.0) * absolute_sum(theta)

    @abc.abstractmethod
    def _kinks(self, scores: Array, k: int) -> tuple[Array, Array, float]:
        """The kinks of R along the intercept of class k, the jumps of its derivative there, and minus its derivative
        at -infinity.
        """


class WestonWatkins(_HingeRisk):
    r"""Weston-Watkins hinge: the sum over all wrong classes of the hinge of their margin.

    .. math:: f(s) = \sum_{j\ne y} a_{yj}\,[1 - s_y + s_j]_+

    Parameters
    ----------
    classes : array-like of shape (n,)
        The classes, integers from 0 to k - 1.
    count : int, default=None
        The number k of classes; None is the largest class plus 1.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.
    costs : array-like of shape (k, k), default=None
        The costs :math:`a_{yj}` of a violated margin of class j for an example of class y; None is 1 for all pairs.

    See Also
    --------
    CrammerSinger : The largest hinge instead of the sum.
    fenchel.solvers.BlockCoordinate : The block coordinate solver.

    References
    ----------
    .. [1] J. Weston and C. Watkins. "Support vector machines for multi-class pattern recognition." ESANN, 1999.
    .. [2] Y. Wang and C. Scott. "An exact solver for the Weston-Watkins SVM subproblem." ICML, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import WestonWatkins
    >>> float(WestonWatkins([0, 1, 2]).value(np.zeros((3, 3))))
    2.0
    """

    name = "weston_watkins"
    dual_block = "box"

    def __init__(
        self,
        classes: ArrayLike,
        count: int | None = None,
        weights: ArrayLike | None = None,
        costs: ArrayLike | None = None,
    ) -> None:
        super().__init__(classes, count, weights)
        self.uniform = costs is None
        found = np.ones((self.outputs, self.outputs)) if costs is None else np.asarray(costs, dtype=np.float64).copy()
        if found.shape != (self.outputs, self.outputs) or not np.all(np.isfinite(found)) or np.any(found < 0):
            raise FenchelError(f"costs must be a ({self.outputs}, {self.outputs}) array of finite numbers >= 0")
        np.fill_diagonal(found, 0.0)
        self.costs = found

    def _losses(self, margins: Array) -> Floats:
        if self.uniform:
            # the margin at the label is zero
            return np.sum(np.maximum(margins, 0.0), axis=1)
        return np.einsum("ij,ij->i", self.costs[self.classes], np.maximum(margins, 0.0))

    def _best_beta(self, margins: Array) -> Floats:
        return np.where(margins > 0.0, self.costs[self.classes], 0.0)

    def _into(self, mass: Array) -> Floats:
        most = inwards(self.shares, 1)[:, None]
        # the mass at the label is zero
        return np.minimum(mass, most if self.uniform else most * self.costs[self.classes])

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        rows = np.arange(self.examples)
        margins = self._margins(scores) + radius + radius[rows, self.classes][:, None]
        margins[rows, self.classes] = 0.0
        return np.abs(self._theta(self._best_beta(margins)))

    @property
    def _largest_mass(self) -> float:
        return float(np.max(np.sum(self.costs, axis=1)))

    def _kinks(self, scores: Array, k: int) -> tuple[Array, Array, float]:
        own = self.classes == k
        rows = np.arange(self.examples)
        # other examples: z_k = 1 - s_y + s_k + b rises; own examples: every z_j falls with b
        others = ~own
        gain = self.shares * self.costs[self.classes, k]
        rising = scores[rows, self.classes] - scores[:, k] - 1.0
        falling = 1.0 - scores[own, k][:, None] + scores[own]
        keep = np.arange(self.outputs) != k
        weights = self.shares[own][:, None] * self.costs[k][None, :]
        kinks = np.concatenate([rising[others], falling[:, keep].ravel()])
        jumps = np.concatenate([gain[others], weights[:, keep].ravel()])
        return kinks, jumps, float(np.sum(weights[:, keep]))


class CrammerSinger(_HingeRisk):
    r"""Crammer-Singer hinge: the hinge of the worst margin.

    .. math:: f(s) = [\max_{j\ne y} 1 - s_y + s_j]_+

    Parameters
    ----------
    classes : array-like of shape (n,)
        The classes, integers from 0 to k - 1.
    count : int, default=None
        The number k of classes; None is the largest class plus 1.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    WestonWatkins : The sum of hinges instead of the largest.
    MultilabelHinge : Several labels for an example.

    References
    ----------
    .. [1] K. Crammer and Y. Singer. "On the algorithmic implementation of multiclass kernel-based vector machines."
           JMLR 2, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import CrammerSinger
    >>> float(CrammerSinger([0, 1, 2]).value(np.zeros((3, 3))))
    1.0
    """

    name = "crammer_singer"
    dual_block = "simplex"

    def _losses(self, margins: Array) -> Floats:
        return np.maximum(np.max(margins, axis=1), 0.0)

    def _best_beta(self, margins: Array) -> Floats:
        rows, worst = np.arange(self.examples), np.argmax(margins, axis=1)
        beta = np.zeros_like(margins)
        beta[rows, worst] = margins[rows, worst] > 0.0
        return beta

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        rows = np.arange(self.examples)
        width = radius + radius[rows, self.classes][:, None]
        margins = self._margins(scores)
        margins[rows, self.classes] = -np.inf
        worst = np.maximum(np.max(margins - width, axis=1), 0.0)
        slopes = np.where(margins + width >= worst[:, None], self.shares[:, None], 0.0)
        slopes[rows, self.classes] = np.max(slopes, axis=1)
        return slopes

    def _kinks(self, scores: Array, k: int) -> tuple[Array, Array, float]:
        own, margins = self.classes == k, self._margins(scores)
        # the worst of the other margins; at the label there is a zero
        rest = np.max(np.where(np.arange(self.outputs) == k, -np.inf, margins), axis=1)
        # own examples: all margins fall with b, until the worst is zero; others: z_k rises above the rest
        worst = np.max(np.where(np.arange(self.outputs) == k, -np.inf, 1.0 + scores - scores[:, [k]]), axis=1)
        kinks = np.where(own, worst, np.maximum(rest, 0.0) - margins[:, k])
        return kinks, self.shares, float(np.sum(self.shares[own]))
