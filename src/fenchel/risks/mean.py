r"""The weighted mean of a loss.

.. math::
    R(s) = \sum_i c_i f(s_i, y_i), \qquad R^*(-\theta) = \sum_i c_i f^*(-\theta_i / c_i, y_i), \qquad
    c_i = \text{weight}_i / \textstyle\sum \text{weight}

With k outputs the labels are (n, k) and the losses of an example's outputs are added.  An example of weight zero is
the same as a removed one: its theta is zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.losses import Loss, as_loss
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.numerics.rounding import gamma, tree_sum, tree_sums
from fenchel.projections.zero_sum import zero_sum_columns
from fenchel.risks.base import numeric_labels
from fenchel.risks.enclosures import EnclosedMean
from fenchel.risks.mean_rounding import RoundedMean
from fenchel.risks.protocols import ClosedForm, Intercepts, Smoothable
from fenchel.risks.smoothing import Smoothed

#: difference of the shares of two classes up to which its rounding, relative to what it lacks to 1, is small
_MIXED = 0.999
#: scores of all outputs together, of which several arrays fit into a cache (512 kB each)
_SCORES_IN_CACHE = 1 << 16


class MeanRisk(RoundedMean):
    r"""Weighted mean of a loss over the examples.

    .. math:: R(s) = \sum_i c_i f(s_i, y_i), \qquad c_i = \text{weight}_i / \textstyle\sum \text{weight}

    Parameters
    ----------
    loss : str or Loss
        The loss f: a name such as "hinge", or an object of :mod:`fenchel.losses`.
    labels : array-like of shape (n,) or (n, k)
        The labels: -1 and +1 for classification, finite numbers for regression; with k columns the losses of the k
        outputs of an example are added.
    weights : array-like of shape (n,), default=None
        Non-negative weights of the examples; None is the same weight for all.

    See Also
    --------
    fenchel.losses : The losses.
    ErrorRate : The mean hinge as a performance measure.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import MeanRisk
    >>> MeanRisk("hinge", [1, -1], weights=[3, 1]).value(np.array([0.0, 2.0]))
    1.5
    """

    name = "mean"

    def __init__(self, loss: str | Loss, labels: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.loss = as_loss(loss)
        self.labels = numeric_labels(labels)
        if self.labels.ndim not in (1, 2) or self.labels.size == 0:
            raise FenchelError(f"labels must be (n,) or (n, k) and not empty, got shape {self.labels.shape}")
        if not np.all(np.isfinite(self.labels)):
            raise FenchelError("labels contain NaN or infinity; remove or repair those examples")
        refusal = self.loss.refusal(self.labels)
        if refusal is not None:
            raise FenchelError(f"loss={self.loss.name!r} {refusal}")
        self.examples = int(self.labels.shape[0])
        self.outputs = None if self.labels.ndim == 1 else int(self.labels.shape[1])
        self.smooth = self.loss.smooth
        self._weigh(weights)

    def part(self, rows: slice) -> MeanRisk:
        found = MeanRisk(self.loss, self.labels[rows])
        found._weights = found.__dict__["shares"] = self.shares[rows]
        vars(found).update(share_depth=self.share_depth, share_roundings=self.share_roundings)
        return found

    def outputs_apart(self) -> list[MeanRisk]:
        """The risk of each of k outputs, whose sum this is; its labels need no checks."""
        zeros, found = np.zeros(self.labels.shape), []
        known = {"value_at_zero": tree_sums(self.value_terms(zeros)).tolist()}
        if self.loss.bounded_below and not self.loss.least_is_zero:
            known["conjugate_at_zero"] = tree_sums(self.conjugate_terms(zeros)).tolist()
        shared = self._apart
        for k, labels in enumerate(np.ascontiguousarray(self.labels.T)):
            risk = object.__new__(MeanRisk)
            vars(risk).update(shared, labels=labels, outputs=None, **{name: at[k] for name, at in known.items()})
            found.append(risk)
        return found

    def repeated(self, count: int) -> MeanRisk:
        """The sum of this risk of one output over ``count`` outputs with the same labels, which are not copied."""
        return self._with_outputs(np.broadcast_to(self.labels[:, None], (self.examples, count)))

    def blocks_of_outputs(self) -> Iterator[tuple[slice, MeanRisk]]:
        """The k outputs in blocks whose scores fit into a cache, each with its risk."""
        outputs = self.outputs or 1
        step = max(1, _SCORES_IN_CACHE // self.examples)
        for part in (slice(begin, begin + step) for begin in range(0, outputs, step)):
            yield part, self if step >= outputs else self._with_outputs(self.labels[:, part])

    def _with_outputs(self, labels: Array) -> MeanRisk:
        """This risk with other columns of labels, whose kind is that of its own."""
        risk = object.__new__(MeanRisk)
        vars(risk).update(self._apart, labels=labels, outputs=labels.shape[1])
        return risk

    @property
    def _apart(self) -> dict[str, object]:
        """What a risk of the same examples with some of these labels, or others of their kind, has in common."""
        return {
            "loss": self.loss,
            "examples": self.examples,
            "smooth": self.smooth,
            "_weights": self._weights,
            "shares": self.shares,
            "_everywhere": self._everywhere,
        }

    def closed_form(self) -> ClosedForm:
        return self

    def separable(self) -> MeanRisk:
        return self

    def enclosure(self) -> EnclosedMean | None:
        loss = self.loss.enclosure()
        if loss is None:
            return None
        weights = np.ones(self.examples) if self._weights is None else self._weights
        return EnclosedMean(loss, self.labels, weights, self.shares, *self.loss.domain(self.labels))

    def smoothable(self) -> Smoothable:
        return self

    def intercepts(self) -> Intercepts:
        return self

    def value(self, scores: Array) -> float:
        """R(s)."""
        return tree_sum(self.value_terms(scores))

    def value_terms(self, scores: Array) -> Floats:
        """c_i f(s_i), whose sum is R(s)."""
        return self._shared(self.loss.value(scores, self.labels))

    def subgradient(self, scores: Array) -> Floats:
        """One element of the subdifferential of R at s."""
        subgradients = self.loss.derivative(scores, self.labels)
        if self.loss.overflows:
            subgradients = np.where(self._shares > 0, subgradients, 0.0)
        return self._times_shares(subgradients)

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """R*(-theta): infinite outside the domain (beyond rounding); ``feasible``: theta came from ``project``."""
        if not feasible and not self._everywhere:
            subgradients = -self._per_share(theta)
            inside = np.clip(subgradients, *self.loss.domain(self.labels))
            if np.any(np.abs(subgradients - inside) > DOMAIN_TOLERANCE * (1.0 + np.abs(inside))):
                return np.inf
        return tree_sum(self.conjugate_terms(theta))

    def conjugate_terms(self, theta: Array) -> Floats:
        """c_i f*(-theta_i / c_i), whose sum is R*(-theta), for a theta in the domain up to rounding."""
        subgradients = -self._per_share(theta)
        if not self._everywhere:
            subgradients = np.clip(subgradients, *self.loss.domain(self.labels))
        return self._shared(self.loss.conjugate(subgradients, self.labels))

    def conjugate_along(self, theta: Array) -> tuple[Floats, Floats] | None:
        """L and Q of each column of theta, with R*(-t theta) = t L + t^2 Q, if f* is one quadratic; None otherwise.

        Both are sums by ``tree_sum``, so that what they are off by is covered by ``rough_conjugate_error`` of more than
        ``VERY_FEW_SCORES`` examples, for a t that is rounded and a t theta that is: with depth m of the tree and k of
        ``share_roundings``, m + 3 roundings of L and m + 6 + 2k of Q, where it has twice and three times m + 1 + k.
        """
        kappa = self.conjugate_curvature
        if kappa is None:
            return None
        squares = self._per_share(theta)
        squares *= theta
        return -tree_sums(theta * self.labels), 0.5 * kappa * tree_sums(squares)

    @cached_property
    def conjugate_curvature(self) -> float | None:
        """The second derivative of f* if that is one quadratic: f = (s - y)^2 / 2 over this number; else None."""
        form = self.loss.piecewise_quadratic()
        return form.kappa if form is not None and form.epsilon == 0.0 and self._everywhere else None

    @cached_property
    def _everywhere(self) -> bool:
        """Whether the conjugate is finite everywhere."""
        # the first label suffices for most losses
        return _is_everywhere(*self.loss.domain(self.labels[:1])) and _is_everywhere(*self.loss.domain(self.labels))

    @cached_property
    def conjugate_at_zero(self) -> float:
        """R*(0): minus the infimum of the risk."""
        if self.loss.least_is_zero:
            return 0.0
        zeros = np.zeros(self.labels.shape)
        if not self.loss.bounded_below:
            return self.conjugate(zeros)
        # zero is in the domain of the conjugate
        return tree_sum(self._shared(self.loss.conjugate(zeros, self.labels)))

    @cached_property
    def constant_intercept(self) -> float | Floats:
        """The b that minimizes R(b 1): for labels -1 and +1 it depends on the sums of their shares alone."""
        if self.loss.task != "classification" or self.outputs is not None:
            return super().constant_intercept
        mixture = float(self.shares @ self.labels)
        if abs(mixture) < _MIXED:
            known = self.loss.constant_intercept(mixture)
            if known is not None:
                return known
        labels = np.array([-1.0, 1.0])
        shares = np.array([float(np.sum(self.shares[self.labels == label])) for label in labels.tolist()])
        return self.loss.best_intercept(np.zeros(2), labels, shares)

    def project(self, theta: Array) -> Floats:
        """The nearest dual point in the domain of the conjugate, a few roundings of c_i inwards of its bounds."""
        if self._everywhere:
            found = np.array(theta, dtype=np.float64)
            return found if self._weights is None else np.where(self._shares > 0, found, 0.0)
        low, high = self.loss.domain(self.labels)
        shares = self._shares * (1.0 - gamma(self.share_depth + 8))
        if self._weights is not None:
            # a zero weight forces theta_i = 0
            low, high = (np.where(self._shares > 0, bound, 0.0) for bound in (low, high))
        # clip keeps entries inside bit by bit
        lowest, highest = -high * shares, -low * shares
        return np.clip(np.asarray(theta, dtype=np.float64), lowest, highest)

    def largest_scale(self, theta: Array) -> float:
        """The largest t with t theta in the domain of the conjugate, for a theta that is in it."""
        if self._everywhere:
            return np.inf
        low, high = self.loss.domain(self.labels)
        subgradients = -self._per_share(theta)
        low, high = (np.broadcast_to(bound, subgradients.shape) for bound in (low, high))
        with np.errstate(over="ignore"):
            above = np.min(high[subgradients > 0] / subgradients[subgradients > 0], initial=np.inf)
            below = np.min(low[subgradients < 0] / subgradients[subgradients < 0], initial=np.inf)
        return float(min(above, below))

    def smoothed(self, scores: Array, mu: float, alpha: Array | None = None) -> Smoothed:
        """R_mu; R itself for mu = 0, which smooth losses allow.  ``alpha`` is the maximizer, if known."""
        risk = self.value(scores)
        if mu == 0.0:
            return Smoothed(risk, -self.subgradient(scores), risk, 0.0)
        values, subgradients = self.loss.smoothed(scores, self.labels, mu, alpha)
        value = tree_sum(self._shared(values))
        excess = max(0.0, risk - value - 0.5 * mu * tree_sum(self._shared(subgradients**2)))
        return Smoothed(value, -self._shares * subgradients, risk, excess)

    @property
    def smoothing_range(self) -> float:
        """D; infinite if subgradients are not bounded."""
        return self.loss.smoothing_width * (self.outputs or 1)

    def best_intercept(self, scores: Array) -> float | Floats:
        """The b (one for each output) that minimizes R(s + b)."""
        if self.outputs is None:
            return self.loss.best_intercept(scores, self.labels, self.shares)
        columns = zip(scores.T, self.labels.T, strict=True)
        return np.array([self.loss.best_intercept(s, y, self.shares) for s, y in columns])

    def intercept_bound(self, level: float, score_bounds: Array) -> Floats:
        """Bound abs(b) of each output wherever R(s + b) <= level and abs(s_i) <= score_bounds_i."""
        lowest, highest = self.intercept_interval(level, score_bounds)
        return np.maximum(np.abs(lowest), np.abs(highest))

    def intercept_interval(self, level: float, score_bounds: Array) -> tuple[Floats, Floats]:
        """The interval of b of each output that ``intercept_bound`` is about; of a part it holds for the whole."""
        # without weights one share is that of all
        shares, labels = self.shares[:1], self.labels
        if self._weights is not None:
            counted = self.shares > 0
            shares, score_bounds, labels = self.shares[counted], score_bounds[counted], labels[counted]
        if self.outputs is not None:
            shares, score_bounds = shares[:, None], score_bounds[:, None]
        low, high = self.loss.sublevel(level / shares, labels)
        lowest, highest = low - score_bounds, high + score_bounds
        # a part may have no example with a weight
        ends = np.max(lowest, axis=0, initial=-np.inf), np.min(highest, axis=0, initial=np.inf)
        return np.atleast_1d(ends[0]), np.atleast_1d(ends[1])

    def balance(self, theta: Array, *, overwrite: bool = False) -> tuple[Floats, Floats]:
        """Theta with its heavier sign scaled back in each column until the column sums to zero."""
        return zero_sum_columns(theta)


def _is_everywhere(low: Array, high: Array) -> bool:
    """Whether no end of these intervals is finite."""
    return float(np.asarray(low).max()) == -math.inf and float(np.asarray(high).min()) == math.inf
