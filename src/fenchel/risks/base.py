r"""Base class of risks: convex functions :math:`R(s)` of all scores.

Every risk has a value and a subgradient.  Other capabilities have an accessor, which returns the risk under a narrower
type, or None:

======================  =============================================================================
Conventions: scores and :math:`\theta` are (n,), or (n, k) for k outputs; :math:`-\theta\in\partial R(s)` at the
optimum; a risk never changes its arguments.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import ELEMENTARY, absolute_sum, gamma, tree_depth, tree_sum
from fenchel.validation import real_numbers

if TYPE_CHECKING:
    from fenchel.risks.chains.base import ChainRisk
    from fenchel.risks.decomposition import Decomposable
    from fenchel.risks.enclosures import EnclosedRisk
    from fenchel.risks.mean import MeanRisk
    from fenchel.risks.measures.contingency import ContingencyRisk
    from fenchel.risks.measures.roc_auc import RocAUC
    from fenchel.risks.multiclass.base import MulticlassRisk
    from fenchel.risks.multilabel import MultilabelHinge
    from fenchel.risks.ordinal import OrdinalHinge
    from fenchel.risks.protocols import ClosedForm, Intercepts, PairwiseRanking, Smoothable
    from fenchel.risks.ranking.ndcg import NDCG

#: subgradient a, offset c and value: R(t) >= a.t + c for every t, with equality at the scores of the plane
CuttingPlane = tuple[Floats, float, float]


def numeric_labels(labels: ArrayLike) -> Floats:
    """Labels as an array of floats; raise unless they are numbers."""
    try:
        return np.ascontiguousarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FenchelError("labels must be numbers; encode the classes as -1 and +1 first") from error


class Risk(abc.ABC):
    """Base class of convex risks R(s), functions of all scores.

    A subclass sets ``examples`` and ``name`` and implements ``value`` and ``subgradient``; this is enough for the
    cutting plane solver :class:`fenchel.solvers.Bundle`.  It overrides the accessors ``closed_form``, ``separable``,
    ``multiclass``, ``smoothable`` and ``intercepts`` if it has a conjugate in closed form, is a mean of losses, and so
    on; each returns the risk under a narrower type, or None.

    Attributes
    ----------
    name : str
        The name in errors and tables.
    examples : int
        The number n of examples.
    outputs : int or None
        The number k of scores of an example; None if scores have the shape (n,).
    smooth : bool
        Whether R is differentiable.

    See Also
    --------
    MeanRisk : The weighted mean of a loss.
    CustomMeasure : A risk from a function of the contingency table.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import Risk
    >>> class LargestError(Risk):
    ...     name = "largest_error"
    ...     def __init__(self, labels):
    ...         self.labels, self.examples = np.asarray(labels, dtype=float), len(labels)
    ...     def value(self, scores):
    ...         return float(np.max(np.abs(scores - self.labels)))
    ...     def subgradient(self, scores):
    ...         worst = np.argmax(np.abs(scores - self.labels))
    ...         found = np.zeros(self.examples)
    ...         found[worst] = np.sign(scores[worst] - self.labels[worst])
    ...         return found
    >>> solve(Problem(np.eye(2), LargestError([1.0, 2.0]), lam=0.1), "bundle").converged
    True
    """

    name: str = "risk"
    #: whether R is differentiable
    smooth: bool = False
    #: whether the risk is a performance measure that users can name
    is_measure: bool = False
    #: k, or None if scores are one-dimensional
    outputs: int | None = None
    #: n, the number of examples
    examples: int
    #: the weights of the examples; None if they are equal
    _weights: Floats | None = None
    #: the largest quotient of two positive weights: the shares of others, and sums with them, would underflow
    weight_range: float = 1e250
    #: what has a weight, in errors
    terms_name: str = "examples"
    #: the reason why this risk has no intercept, as the end of a sentence that begins with its name
    intercept_refusal: str = (
        "does not depend on an intercept: use intercept=False (in an estimator fit_intercept=False) and choose the "
        "threshold afterwards"
    )

    @abc.abstractmethod
    def value(self, scores: Array) -> float:
        """Return R(s)."""

    @abc.abstractmethod
    def subgradient(self, scores: Array) -> Floats:
        """Return one element of the subdifferential of R at s."""

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        """The supporting hyperplane at s: subgradient, offset and R(s)."""
        slope, value, form = self.subgradient(scores), self.value(scores), self.closed_form()
        if form is not None:
            # R(s) - a . s cancels at large scores, and the plane would not be below R
            return slope, -form.conjugate(-slope, feasible=True), value
        return slope, value - float(np.vdot(slope, scores)), value

    @cached_property
    def largest_label(self) -> float:
        """The largest constant that is added to a score, a label or a margin; rounding bounds use it."""
        return 1.0

    @cached_property
    def conjugate_at_zero(self) -> float:
        """R*(0), minus the infimum of R; infinite if unknown."""
        return math.inf

    def label_sizes(self) -> Floats:
        """The sizes of the constants that are added to scores, broadcast over them; rounding bounds use them."""
        return np.full((1,) if self.outputs is None else (1, 1), self.largest_label)

    @property
    def terms(self) -> int:
        """The number of terms of the mean, each with a weight: the examples, or the sequences of chains."""
        return self.examples

    def _weigh(self, weights: ArrayLike | None) -> None:
        """Set the weights of the examples; raise unless they are finite, not negative and comparable."""
        if weights is None:
            return
        found = real_numbers("weights", weights)
        if found.shape != (self.terms,):
            raise FenchelError(
                f"weights must have one entry for each of the {self.terms} {self.terms_name}, got shape {found.shape}"
            )
        if not np.all(np.isfinite(found)) or np.any(found < 0):
            raise FenchelError("weights must be finite and not negative; use 0 to ignore an example")
        if not np.any(found > 0):
            raise FenchelError("weights are all zero; at least one must be positive")
        least, most = float(np.min(found, where=found > 0.0, initial=math.inf)), float(np.max(found))
        if least / most < 1.0 / self.weight_range:
            raise FenchelError(
                f"weights from {least:.3g} to {most:.3g} differ by a factor of more than {self.weight_range:g}, so "
                "that no certificate would be valid; use 0 to ignore an example"
            )
        self._weights = found

    @cached_property
    def shares(self) -> Floats:
        """c_i: the weight of each example divided by the sum of the weights."""
        if self._weights is None:
            return np.full(self.terms, 1.0 / self.terms)
        # divided by the largest first, so that the sum neither overflows nor underflows
        scaled = self._weights / self._weights.max()
        return scaled / tree_sum(scaled)

    @cached_property
    def share_depth(self) -> int:
        """The roundings of the sum of all weights, of which a part of the examples knows from the whole."""
        return tree_depth(self.terms)

    @cached_property
    def share_roundings(self) -> float:
        """Those of ``shares``: of a quotient; with weights of two, of the sum of the first ones and of its terms."""
        return 1.0 if self._weights is None else 3.0 + self.share_depth

    @cached_property
    def total_weight(self) -> Fraction:
        """The sum of the weights, exactly; the number of examples without weights."""
        if self._weights is None:
            return Fraction(self.terms)
        return sum((Fraction(weight) for weight in self._weights.tolist()), Fraction(0))

    @cached_property
    def value_at_zero(self) -> float:
        """R(0), the scale of the objective."""
        return self.value(self._zero_scores())

    @cached_property
    def constant_intercept(self) -> float | Floats:
        """The b that minimizes R(b 1), for risks that depend on an intercept."""
        intercepts = self.intercepts()
        assert intercepts is not None
        return intercepts.best_intercept(self._zero_scores())

    @cached_property
    def constant_value(self) -> float:
        """The least R(b 1), the risk of the best model without weights."""
        return self.value(self._zero_scores() + self.constant_intercept)

    def _zero_scores(self) -> Floats:
        return np.zeros(self.examples if self.outputs is None else (self.examples, self.outputs))

    def largest_scale(self, theta: Array) -> float:
        """A t >= 1 such that t theta is in the domain of the conjugate if theta is; larger ones need not be found."""
        return 1.0

    def subgradient_norm_bound(self) -> float:
        """A bound on the 1-norm of every subgradient; infinite if there is none, or none is known."""
        return math.inf

    def subgradient_norm_bound_near(self, value: float, radius: float) -> float:
        """The same for subgradients at scores that differ by at most ``radius`` from some whose risk is ``value``.

        ``value`` is computed, with an error as if its scores had moved by as much.
        """
        return self.subgradient_norm_bound()

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        """Bounds on the absolute entries of subgradients at any scores within ``radius`` of these."""
        below, above = self.subgradient(scores - radius), self.subgradient(scores + radius)
        return np.maximum(np.abs(below), np.abs(above))

    @property
    def roundings(self) -> float:
        r"""The roundings on the way of each term into R(s) and R*, beside those of the scores.

        With :math:`\gamma` of this number, the error of R is at most :math:`\gamma(|R| + \sum_i|g_i|(|s_i| + \ell_i))`,
        where g bounds the subgradients near s and :math:`\ell` are the ``label_sizes``.  The default takes any order of
        summation.
        """
        return 4.0 * self.examples * (self.outputs or 1) + ELEMENTARY + 2.0 * self.dual_roundings

    @property
    def score_roundings(self) -> float:
        """Those of ``roundings`` that the scores have to be charged with: not those of a sum of terms >= 0."""
        return self.roundings

    def cancellation_error(self, size: float) -> float:
        """A bound on the error of R(s) that ``roundings`` do not cover, for scores of at most this size."""
        return 0.0

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        """A bound on the rounding error of R*(-theta), which was computed as ``conjugate``, for this very theta.

        Without ``fine`` a larger bound may be returned that takes less time.
        """
        return gamma(self.roundings) * (abs(conjugate) + self.largest_label * absolute_sum(theta))

    @property
    def dual_roundings(self) -> float:
        r"""Roundings K such that a theta of ``project`` stands for a point of the domain near it.

        The domain of some conjugates has an interior in a subspace only, which floats miss: some point that is in it
        exactly differs from theta by at most :math:`\gamma_K\sum_i|\theta_i|` in the 1-norm.  Zero where theta itself
        is in the domain, if an entry at a label stands for the exact sum of the others.
        """
        return 0.0

    def parts(self) -> Iterator[tuple[slice, Self]]:
        """The risk as a sum over blocks of rows: the rows, and their term of the risk."""
        yield slice(0, self.examples), self

    def part(self, rows: slice) -> Risk | None:
        """The term of some rows, if the risk is a sum over examples: its value and its subgradients."""
        return None

    def closed_form(self) -> ClosedForm | None:
        """This risk if its conjugate is known in closed form."""
        return None

    def decomposable(self) -> Decomposable | None:
        """This risk if a decomposition of theta bounds its conjugate."""
        return None

    def enclosure(self) -> EnclosedRisk | None:
        """This risk and its conjugate in ball arithmetic, which rigorous certificates require; None if unknown."""
        return None

    def separable(self) -> MeanRisk | None:
        """This risk if it is a weighted mean of one loss."""
        return None

    def multiclass(self) -> MulticlassRisk | None:
        """This risk if it is a weighted mean of joint losses of several classes."""
        return None

    def smoothable(self) -> Smoothable | None:
        """This risk if it has a smoothing."""
        return None

    def contingency(self) -> ContingencyRisk | None:
        """This risk if it is a measure of the contingency table."""
        return None

    def roc_auc(self) -> RocAUC | None:
        """This risk if it is one minus the area under the ROC curve."""
        return None

    def ordinal(self) -> OrdinalHinge | None:
        """This risk if it is the mean hinge of all pairs of ordered labels."""
        return None

    def multilabel(self) -> MultilabelHinge | None:
        """This risk if it is the mean hinge of the worst pair of labels of an example."""
        return None

    def pairwise_ranking(self) -> PairwiseRanking | None:
        """This risk if it is the mean over queries of a loss of pairs."""
        return None

    def ndcg(self) -> NDCG | None:
        """This risk if it is the mean over queries of a bound on one minus the NDCG."""
        return None

    def chains(self) -> ChainRisk | None:
        """This risk if it is a weighted mean of losses of labelled sequences."""
        return None

    def intercepts(self) -> Intercepts | None:
        """This risk if it depends on an intercept."""
        return None
