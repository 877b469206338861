r"""Performance measures of the contingency table: functions of false negatives and false positives.

.. math::
    R(s) = \max_{z\in\{-1,1\}^n}\; \Delta(fn, fp) + \frac{1}{2n}\sum_i s_i (z_i - y_i)

over labellings z with fn false negatives and fp false positives: half the score term of eq. (3) of Zhang, Saha and
Vishwanathan (2012), so that the error rate is exactly the mean hinge loss and C means the same for every measure.
:math:`\Delta(0, 0) = 0`, hence :math:`R \ge 0`.  The conjugate has no closed form in general: the mixture of labellings
of a solver's cutting planes bounds it (``mixtures``).

====================  ==========================================================
symbol                here
====================  ==========================================================
y                     ``labels``, -1 and +1
fn, fp                false negatives and false positives of z (b and c of the
                      paper, which are counts)
p = fp - fn           the surplus of predicted positives over positives
====================  ==========================================================
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import gamma
from fenchel.projections.zero_sum import zero_sum_columns
from fenchel.risks.base import CuttingPlane, Risk, numeric_labels
from fenchel.risks.decomposition import Decomposable, DecomposedForm
from fenchel.risks.measures.mixtures import mixed, mixture_form
from fenchel.risks.measures.separation import (
    Cells,
    Diagonals,
    Ranked,
    best_cells,
    best_zero_cells,
    ranked,
    zero_ranked,
)
from fenchel.risks.measures.shifts import best_shift, searched_shift
from fenchel.risks.protocols import Intercepts

#: roundings of base and slope, for F-beta seven at most, and of base + slope fn
_DELTA_ROUNDINGS = 16.0


class CountBound(NamedTuple):
    """fp - fn <= surplus, or fp - fn = surplus if ``equality``."""

    surplus: int
    equality: bool


class End(NamedTuple):
    """A labelling with the fewest or the most predicted positives."""

    fn: int
    fp: int
    delta: float


class ContingencyRisk(Risk):
    r"""Base class of performance measures of a contingency table.

    .. math:: R(s) = \max_{z\in\{-1,1\}^n}\; \Delta(fn, fp) + \frac{1}{2n}\sum_i s_i (z_i - y_i)

    over labellings z with fn false negatives and fp false positives [1]_.  A subclass defines :math:`\Delta` with
    :math:`\Delta(0, 0) = 0`.  The score term is half of that of [1]_, so that the error rate is exactly the mean hinge.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    CustomMeasure : A measure from a function or a table.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13, 2012.

    Examples
    --------
    >>> from fenchel.risks import F1, ContingencyRisk
    >>> isinstance(F1([1, -1]), ContingencyRisk)
    True
    """

    is_measure = True
    #: R*(0): minus the infimum of the risk, which scores t y approach with large t
    conjugate_at_zero = 0.0
    #: whether ``_cells`` has the best cell of every surplus; otherwise it has a best one of all, and one with p = 0
    has_every_surplus: bool = True

    def count_bound(self) -> CountBound | None:
        """For Delta = fn/n_pos with one bound on fp - fn: that bound; None for other measures."""
        return None

    def __init__(self, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.labels = two_classes(labels, self.name)
        if weights is not None:
            raise FenchelError(
                f"the measure {self.name!r} counts examples and takes no weights; omit weights, or use 'accuracy' or "
                "'roc_auc'"
            )
        self.examples = len(self.labels)
        self.positives, self.negatives = np.flatnonzero(self.labels > 0), np.flatnonzero(self.labels < 0)

    @property
    def n_pos(self) -> int:
        """The number of positives."""
        return len(self.positives)

    @property
    def n_neg(self) -> int:
        """The number of negatives."""
        return len(self.negatives)

    def label_sizes(self) -> Floats:
        return np.abs(self.labels)

    def contingency(self) -> ContingencyRisk:
        return self

    def decomposable(self) -> Decomposable | None:
        return self

    def intercepts(self) -> Intercepts | None:
        """None if every allowed labelling has n_pos predicted positives, so that an intercept cancels."""
        return self if self.ends else None

    def value(self, scores: Array) -> float:
        """R(s)."""
        if not np.any(scores):
            # of the models that a limit leaves without a step, one for each class
            return self.value_at_zero
        return float(np.max(self._cells(self._ranked(scores)).height))

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s: that of the most violated labelling."""
        return self.cutting_plane(scores)[0]

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The cutting plane of the most violated labelling: subgradient, offset Delta and R(s)."""
        order = self._ranked(scores)
        cells = self._cells(order)
        best = cells.best()
        fn, fp = int(cells.fn[best]), int(cells.fn[best] + cells.surplus[best])
        subgradient = np.zeros(self.examples)
        flipped = _lowest(scores[self.positives], order.positives, fn)
        subgradient[self.positives[flipped]] = -1.0 / self.examples
        flipped = _lowest(-scores[self.negatives], -order.negatives, fp)
        subgradient[self.negatives[flipped]] = 1.0 / self.examples
        return subgradient, float(cells.delta[best]), float(cells.height[best])

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        """The counts of the labelling of a cutting plane."""
        fn, fp = (np.count_nonzero(subgradient[own]) for own in (self.positives, self.negatives))
        return np.array([[1.0, fn, fp]])

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        """The mixture of mixtures of labellings."""
        return mixed(weights, decompositions)

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> DecomposedForm | None:
        """The bound of a mixture of labellings, or of nested ones; None if it is no mixture."""
        return mixture_form(self, theta, decomposition, balanced=balanced)

    def seeds(self) -> list[tuple[Floats, float]]:
        """Cutting planes (subgradient, offset) that bound b in R(s + b): of the labels, and of labellings with the
        fewest and the most predicted positives.
        """
        planes = [(np.zeros(self.examples), 0.0)]
        for fn, fp, delta in self.ends:
            subgradient = np.zeros(self.examples)
            subgradient[self.positives[:fn]] = -1.0 / self.examples
            subgradient[self.negatives[:fp]] = 1.0 / self.examples
            planes.append((subgradient, delta))
        return planes

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of a subgradient at any scores."""
        return 1.0

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        return self.shares

    def balance(self, theta: Array, *, overwrite: bool = False) -> tuple[Floats, Floats]:
        """Theta with its heavier sign scaled back until the sum is zero."""
        return zero_sum_columns(theta)

    def best_intercept(self, scores: Array) -> float:
        """The b that minimizes R(s + b); the midpoint where that is an interval."""
        order = self._ranked(scores)
        if self.has_every_surplus:
            return best_shift(self._cells(order), self.examples)
        return searched_shift(self._cells, order, self.examples)

    def intercept_bound(self, level: float, score_bounds: Array) -> Floats:
        """Bound abs(b) of a best b wherever R(s + b) <= level and abs(s_i) <= score_bounds_i."""
        bounds = [0.0]
        for fn, fp, delta in self.ends:
            # delta + (b p + sum of s z) / n <= level, for the examples with the smallest bounds
            least = _smallest_sum(score_bounds[self.positives], fn) + _smallest_sum(score_bounds[self.negatives], fp)
            bounds.append((self.examples * (level - delta) + least) / abs(fp - fn))
        if len(self.ends) == 1:
            # R is flat far away on one side: the best b nearest to zero is where some h(p) meets h(0)
            bounds.append(self.examples * self.value_at_zero + float(np.sum(score_bounds)))
        return np.array([max(bounds)])

    @property
    def ends(self) -> list[End]:
        """A labelling with the fewest predicted positives and of one with the most, except
        labellings with n_pos predicted positives.
        """
        return self._at_zero[0]

    @property
    def value_at_zero(self) -> float:
        """R(0)."""
        return self._at_zero[1]

    @cached_property
    def _at_zero(self) -> tuple[list[End], float]:
        """The ends, and R(0): both are found among the labellings of zero scores."""
        cells = self._zero_cells()
        return self._ends(cells), float(np.max(cells.height))

    def _ends(self, cells: Cells) -> list[End]:
        """``ends``, from the cells of zero scores."""
        allowed = np.flatnonzero(np.isfinite(cells.height))
        ends = [end for end in dict.fromkeys((int(allowed[0]), int(allowed[-1]))) if cells.surplus[end]]
        return [End(int(cells.fn[at]), int(cells.fn[at] + cells.surplus[at]), float(cells.delta[at])) for at in ends]

    @abc.abstractmethod
    def delta(self, fn: Array, fp: Array) -> Floats:
        """Delta of labellings with these errors; minus infinity for labellings that are not allowed."""

    def delta_error(self, fn: Array, fp: Array) -> Floats:
        """Bounds on the rounding errors of ``delta``."""
        return np.zeros(np.shape(fn))

    @abc.abstractmethod
    def _cells(self, order: Ranked) -> Cells:
        """The best labelling for every surplus, or for some (``has_every_surplus``)."""

    def _zero_cells(self) -> Cells:
        """``_cells`` of scores that are all zero."""
        return self._cells(zero_ranked(self.n_pos, self.n_neg))

    def _ranked(self, scores: Array) -> Ranked:
        return ranked(scores[self.positives], scores[self.negatives], self.examples)


class DiagonalRisk(ContingencyRisk):
    """A measure that is linear in fn for each surplus: most violated labellings in O(n log n)."""

    #: base + slope fn for each surplus; set by the constructors of the measures
    diagonals: Diagonals

    def delta(self, fn: Array, fp: Array) -> Floats:
        return on_diagonals(self.diagonals, fn, fp)

    def delta_error(self, fn: Array, fp: Array) -> Floats:
        return diagonals_error(self.diagonals, fn, fp)

    def _cells(self, order: Ranked) -> Cells:
        return best_cells(order, self.diagonals)

    def _zero_cells(self) -> Cells:
        return best_zero_cells(self.diagonals, self.n_pos, self.n_neg)


def on_diagonals(diagonals: Diagonals, fn: Array, fp: Array) -> Floats:
    """Delta(fn, fp) of a measure that is linear in fn for each surplus."""
    place = np.asarray(fp) - np.asarray(fn) - diagonals.first
    inside = (place >= 0) & (place < len(diagonals.base))
    place = np.where(inside, place, 0)
    return np.where(inside, diagonals.base[place] + diagonals.slope[place] * fn, -np.inf)


def diagonals_error(diagonals: Diagonals, fn: Array, fp: Array) -> Floats:
    """Bounds on the rounding errors of ``on_diagonals``, for labellings that are allowed."""
    place = np.asarray(fp) - np.asarray(fn) - diagonals.first
    return gamma(_DELTA_ROUNDINGS) * (np.abs(diagonals.base[place]) + np.abs(diagonals.slope[place] * fn))


def two_classes(labels: ArrayLike, name: str) -> Floats:
    """Labels as an array; raise unless they are -1 and +1 and both occur."""
    found = numeric_labels(labels)
    if found.ndim != 1 or not found.size:
        raise FenchelError(f"labels must be (n,) and not empty, got shape {found.shape}")
    if not np.all(np.abs(found) == 1.0):
        raise FenchelError(f"the measure {name!r} requires the labels -1 and +1; encode the classes first")
    if np.all(found == found[0]):
        raise FenchelError(f"the measure {name!r} needs both classes, but all labels are {found[0]:+.0f}")
    return found


def _smallest_sum(values: Array, count: int) -> float:
    return float(np.sum(np.partition(values, count - 1)[:count])) if count else 0.0


def _lowest(values: Array, in_order: Array, count: int) -> NDArray[np.int64]:
    """The indices of the ``count`` smallest values; ties go to the first ones."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    threshold = in_order[count - 1]
    below = np.flatnonzero(values < threshold)
    equal = np.flatnonzero(values == threshold)
    return np.concatenate([below, equal[: count - len(below)]])
