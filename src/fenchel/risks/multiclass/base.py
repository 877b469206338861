r"""Base class of joint risks of several classes.

With a score for each class, label y and margins :math:`z_j = m - s_y + s_j`, every loss here is

.. math:: f(s) = \max_\beta\; \sum_{j\ne y}\beta_j z_j - h(\beta)

over some set of :math:`\beta \ge 0`: its subgradient is :math:`\beta_j` in :math:`s_j`, :math:`-\sum\beta` in
:math:`s_y`.
:math:`R(s) = \sum c_i f(s_i)` and :math:`\theta_i = c_i\alpha_i` with :math:`\alpha_j = -\beta_j` and
:math:`\alpha_y = \sum\beta`; the rows of theta add up to zero, and with free intercepts its columns do as well.
"""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import BLOCK_ENTRIES
from fenchel.numerics.rounding import ELEMENTARY, gamma, tree_depth, tree_sum
from fenchel.projections.zero_sum import column_sums, kept_shares
from fenchel.risks.base import Risk
from fenchel.risks.multiclass.enclosures import EnclosedMulticlass
from fenchel.risks.multiclass.rows import inwards, row_sums
from fenchel.risks.protocols import ClosedForm, Intercepts
from fenchel.validation import is_integer

#: scores in a block of a pass that makes several arrays of their size, so that these stay in the cache (256 kB)
_CACHED_ENTRIES = 1 << 15


class MulticlassRisk(Risk):
    """Base class of joint losses of several classes: one score for each class.

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
    WestonWatkins : The sum of hinges.
    CrammerSinger : The largest hinge.
    Multinomial : The softmax.

    Examples
    --------
    >>> from fenchel.risks import MulticlassRisk, Multinomial
    >>> isinstance(Multinomial([0, 1, 2]), MulticlassRisk)
    True
    """

    outputs: int
    conjugate_at_zero = 0.0
    #: the margin m in z_j = margin - s_y + s_j
    margin: float = 1.0
    #: where beta of an example lies: "box" (beta_j <= costs), "simplex" (sum beta <= 1), both with h = 0, or "entropy"
    #: (the simplex with its negative entropy as h); None for other risks
    dual_block: Literal["box", "simplex", "entropy"] | None = None
    #: whether all pairs of classes cost the same
    uniform: bool = True

    def __init__(self, classes: ArrayLike, count: int | None = None, weights: ArrayLike | None = None) -> None:
        found = np.asarray(classes)
        if found.ndim != 1 or not found.size or found.dtype.kind not in "iu" or np.any(found < 0):
            raise FenchelError("classes must be an integer from 0 to k - 1 for each example; encode the labels first")
        self.classes = np.ascontiguousarray(found, dtype=np.int64)
        largest = int(self.classes.max()) + 1
        self.outputs = largest if count is None else count
        if not is_integer(self.outputs, least=max(2, largest)):
            raise FenchelError(
                f"count must be at least 2 and more than the largest class, {largest - 1}, got {count!r}"
            )
        self.outputs = int(self.outputs)
        self.examples = len(self.classes)
        self._weigh(weights)

    def closed_form(self) -> ClosedForm:
        return self

    def multiclass(self) -> MulticlassRisk:
        return self

    def intercepts(self) -> Intercepts:
        return self

    def enclosure(self) -> EnclosedMulticlass | None:
        if self.dual_block is None:
            return None
        weights = np.ones(self.examples) if self._weights is None else self._weights
        return EnclosedMulticlass(self.classes, weights, self.shares, self.costs, self.margin, self.dual_block)

    @cached_property
    def costs(self) -> Floats:
        """(k, k): the cost of a violated margin of class j for an example of class y; zero on the diagonal."""
        return 1.0 - np.eye(self.outputs)

    def value(self, scores: Array) -> float:
        """R(s)."""
        parts = ((part, part._losses(part._margins(scores[rows]))) for rows, part in self.parts(_CACHED_ENTRIES))
        return math.fsum(tree_sum(part.shares * losses) for part, losses in parts)

    @property
    def roundings(self) -> float:
        """Those of a loss with k terms, of a weight and of the sum."""
        return ELEMENTARY + self.outputs + self._mean_roundings

    @property
    def _mean_roundings(self) -> float:
        """Those of c_i, of its product with a term, and of the sums of blocks and of all."""
        return self.share_roundings + 2.0 + tree_depth(self.examples)

    def parts(self, entries: int | None = None) -> Iterator[tuple[slice, Self]]:
        """The risk as a sum over blocks of rows: the rows, and their term of the risk.

        One block unless n k is larger than ``entries`` (default: ``BLOCK_ENTRIES``), which bounds the size of temporary
        arrays.
        """
        step = max(1, min(BLOCK_ENTRIES, entries or BLOCK_ENTRIES) // self.outputs)
        if self.examples <= step:
            yield slice(0, self.examples), self
            return
        for begin in range(0, self.examples, step):
            rows = slice(begin, min(self.examples, begin + step))
            yield rows, self.part(rows)

    def part(self, rows: slice) -> Self:
        found = copy.copy(self)
        found.classes, found.examples = self.classes[rows], rows.stop - rows.start
        found.__dict__["shares"] = self.shares[rows]
        return found

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s."""
        found = np.empty(scores.shape)
        for rows, part in self.parts():
            found[rows] = -part._theta(part._best_beta(part._margins(scores[rows])))
        return found

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta): infinite outside the domain (beyond rounding); ``feasible``: theta came from ``project``."""
        if not feasible:
            for rows, part in self.parts():
                inside = part.project(theta[rows])
                if np.any(np.abs(theta[rows] - inside) > 1e-12 * (np.abs(inside) + part.shares[:, None])):
                    return np.inf
        return self._conjugate(theta)

    @cached_property
    def value_at_zero(self) -> float:
        """R(0): the natural scale of the objective."""
        if self.examples <= self.outputs:
            return self.value(np.broadcast_to(0.0, (self.examples, self.outputs)))
        # the loss of a class at zero is the same for all of its examples
        each = copy.copy(self)
        each.classes, each.examples = np.arange(self.outputs), self.outputs
        losses = each._losses(each._margins(np.zeros((self.outputs, self.outputs))))
        return tree_sum(self.shares * losses[self.classes])

    def project(self, theta: Array) -> Floats:
        """A point of the domain near theta; entries inside it keep every bit, except at the label."""
        found = np.empty(np.shape(theta))
        for rows, part in self.parts(_CACHED_ENTRIES):
            beta = np.negative(theta[rows], dtype=np.float64)
            beta[np.arange(part.examples), part.classes] = 0.0
            beta = part._into(np.maximum(beta, 0.0, out=beta))
            found[rows] = _completed(np.negative(beta, out=beta), part.classes)
        return found

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 2.0 * self._largest_mass

    def intercept_bound(self, level: float, score_bounds: Array) -> Floats:
        """Bound the spread of the intercepts, for each, wherever R <= level and abs(x_i . w_j) <= score_bounds_i."""
        # steps[y, j] bounds b_j - b_y: z_j <= level / (c_i a), so s_y - s_j >= 1 - level / (c_i a)
        present = np.flatnonzero(np.bincount(self.classes, self.shares, self.outputs) > 0)
        steps = np.full((len(present), len(present)), np.inf)
        for row, k in enumerate(present.tolist()):
            own = (self.classes == k) & (self.shares > 0)
            # f >= a (s_j - s_y) also for the softmax
            costs = self.costs[k, present]
            for cost in np.unique(costs[costs > 0.0]):
                bound = float(np.min(level / (self.shares[own] * cost) + 2.0 * score_bounds[own]))
                steps[row, costs == cost] = bound
        np.fill_diagonal(steps, 0.0)
        if not np.all(np.isfinite(steps)):
            for middle in range(len(present)):
                steps = np.minimum(steps, steps[:, [middle]] + steps[[middle]])
        return np.full(self.outputs, float(np.max(steps)) + 1.0)

    @abc.abstractmethod
    def best_intercept(self, scores: Array) -> Floats:
        """Intercepts that do not make R larger and add up to zero."""

    def balance(self, theta: Array, *, overwrite: bool = False) -> tuple[Floats, Floats]:
        """Theta with columns that add up to zero as far as possible, and bounds on the sums that remain.

        Scaling down the entries of a pair (y, j) moves mass from column y to column j; columns with positive sums give
        to columns with negative ones.  ``overwrite`` allows theta to be used for the result.
        """
        surplus, error = self._column_sums(theta)
        if not np.any(surplus):
            return theta, error
        theta = theta if overwrite else theta.copy()
        absent = np.bincount(self.classes, self.shares, self.outputs) == 0
        if np.any(absent):
            # the column of a class without examples has one sign: it must be zero
            theta[:, absent] = 0.0
            theta = _completed(theta, self.classes)
            surplus, _ = self._column_sums(theta)
        mass = np.zeros((self.outputs, self.outputs))
        for rows, part in self.parts():
            for j, column in enumerate(theta[rows].T):
                mass[:, j] -= np.bincount(part.classes, column, self.outputs)
        np.fill_diagonal(mass, 0.0)
        keep = kept_shares(mass, surplus)
        for rows, part in self.parts():
            theta[rows] = _completed(theta[rows] * keep[part.classes], part.classes)
        left, error = self._column_sums(theta)
        return theta, np.abs(left) + error

    def _column_sums(self, theta: Array) -> tuple[Floats, Floats]:
        """The sums of the columns, and bounds on their errors if the entries at the labels stand for exact sums."""
        total, error = column_sums(theta)
        own = np.bincount(self.classes, np.abs(theta[np.arange(len(theta)), self.classes]), self.outputs)
        return total, error + 1.01 * gamma(self.outputs) * own

    def _margins(self, scores: Array) -> Floats:
        """z, with zero at the label."""
        rows = np.arange(self.examples)
        margins = self.margin + scores - scores[rows, self.classes][:, None]
        margins[rows, self.classes] = 0.0
        return margins

    def _theta(self, beta: Array) -> Floats:
        """theta of a beta that is zero at the label."""
        return _completed(-self.shares[:, None] * beta, self.classes)

    @abc.abstractmethod
    def _losses(self, margins: Array) -> Floats:
        """f of each example, from z."""

    @abc.abstractmethod
    def _best_beta(self, margins: Array) -> Floats:
        """A maximizing beta for each example."""

    def _into(self, mass: Array) -> Floats:
        """Map non-negative c beta into the domain: the simplex, unless a subclass has another one."""
        total, most = row_sums(mass), inwards(self.shares, self.outputs)
        large = np.flatnonzero(total > most)
        if not large.size:
            return mass
        found = mass.copy()
        # a sum that is scaled ends below the limit, so that it is scaled once
        found[large] *= ((1.0 - gamma(self.outputs + 8)) * most[large] / total[large])[:, None]
        return found

    @abc.abstractmethod
    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""

    @property
    def _largest_mass(self) -> float:
        """The largest sum of beta of an example."""
        return 1.0

    @abc.abstractmethod
    def _conjugate(self, theta: Array) -> float:
        """R*(-theta) for theta in the domain."""


def _completed(theta: Array, classes: Array) -> Floats:
    """Theta with the entry at the label such that each row adds up to zero."""
    rows = np.arange(len(classes))
    theta[rows, classes] = 0.0
    theta[rows, classes] = -row_sums(theta)
    return theta
