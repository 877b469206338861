r"""Mixtures of labellings: upper bounds on the conjugate of a measure of the contingency table.

A dual point of such a measure is a mixture of labellings with weights p, of which the k-th flips fn positives and fp
negatives.  With the probabilities :math:`a_i = n y_i\theta_i` of the flips

.. math:: R^*(-\theta) \le -\sum_k p_k\,\Delta(fn_k, fp_k),

and the counts suffice: labellings with these counts and probabilities exist if and only if, with the positives in order
of falling :math:`a_i`,

.. math:: A_j = \sum_{i\le j} a_i \;\le\; U_j = \sum_k p_k\min(j, fn_k) \quad\text{for all } j,
          \qquad\text{with equality at } j = n_+

(the a are a base of the polymatroid of the symmetric function U), and likewise for the negatives with fp; within a cell
(fn, fp) the flips of both classes are independent.  The weight 1 - t of the labelling without errors makes
:math:`t\theta` from :math:`\theta`, with :math:`\Delta = 0`.

A and U are concave, and so is :math:`\min(A + \delta, U)` with the missing mass :math:`\delta = [U_{n_+} - A_{n_+}]_+`;
its differences are the point of the domain that any theta is mapped to.  After rounding :math:`A \le (1+\epsilon)U`
with :math:`A_{n_+} \ge (1-\epsilon)U_{n_+}`: then :math:`a/(1+\epsilon)` is below a base, which differs from a by at
most :math:`3\epsilon U_{n_+}` in the 1-norm.

With a free intercept the means of fn and fp must be equal.  A labelling with the fewest or the most predicted positives
makes them equal in exact arithmetic; where only rounding is missing, its weight is charged but not added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.limits import DOMAIN_TOLERANCE, EPS
from fenchel.numerics.rounding import absolute_sum, gamma
from fenchel.risks.decomposition import normalized

if TYPE_CHECKING:
    from fenchel.risks.measures.contingency import ContingencyRisk

#: relative violation of A <= U that counts as rounding: a point inside keeps every bit
_TOLERANCE = 4.0 * EPS
#: mean of fp - fn, relative to that of fn + fp, that counts as rounding
_IMBALANCE = 8.0 * EPS
#: roundings of a, of the weights of U and of the tolerance, beside those of the prefix sums; in units of u
_ROUNDINGS = 16.0
#: roundings of a prefix sum for each term: extended precision has 11 more bits
_PER_TERM = 2.0**-11 if np.finfo(np.longdouble).nmant >= 63 else 1.0
#: roundings of t, of a weight and of the products in the mean of Delta
_MEAN_ROUNDINGS = 24.0


class _Class(NamedTuple):
    """The indices of a class, and U at 1, ..., their number."""

    members: NDArray[np.int64]
    caps: NDArray[np.longdouble]


class LabellingMixture:
    """The bound of a mixture of labellings, and of its multiples."""

    def __init__(self, risk: ContingencyRisk, rows: Floats, *, balanced: bool = False) -> None:
        self._labels, self.decomposition = risk.labels, rows
        weights, (fn, fp) = rows[:, 0], rows[:, 1:].T.astype(np.int64)
        delta = risk.delta(fn, fp)
        shares = weights / math.fsum(weights)
        self._delta = math.fsum(shares * delta)
        self._delta_error = gamma(_MEAN_ROUNDINGS) * math.fsum(shares * np.abs(delta)) + math.fsum(
            shares * risk.delta_error(fn, fp)
        )
        self._classes = tuple(
            _Class(members, _caps(shares, counts, len(members)))
            for members, counts in ((risk.positives, fn), (risk.negatives, fp))
        )
        self._flips = sum(float(own.caps[-1]) for own in self._classes)
        self._roundings = _ROUNDINGS + 2.0 * _PER_TERM * (len(weights) + len(self._labels))
        #: the weight of a labelling that makes the sum of theta exactly zero; None if that can't be, or need not be
        self._balancing: float | None = None
        surplus, flips = _surplus(rows)
        ends = [(end.fp - end.fn, end.delta) for end in risk.ends]
        if balanced and len(ends) == 2 and abs(surplus) <= _IMBALANCE * flips:
            self._balancing = (abs(surplus) + gamma(_MEAN_ROUNDINGS) * flips) / min(abs(own) for own, _ in ends)
            self._delta_error += self._balancing * (abs(self._delta) + max(abs(own) for _, own in ends))

    def conjugate(self, theta: Array, *, feasible: bool = False) -> float:
        """-t sum p Delta, an upper bound on R*(-theta); infinite outside the domain (beyond rounding)."""
        theta = np.asarray(theta, dtype=np.float64)
        if not feasible and np.max(np.abs(theta - self.project(theta))) * len(theta) > DOMAIN_TOLERANCE:
            return math.inf
        # 0 - x is never minus zero
        return 0.0 - self._multiple(self._probabilities(theta)) * self._delta

    def project(self, theta: Array) -> Floats:
        """The point of the domain that theta is mapped to; a point inside keeps every bit."""
        a = self._probabilities(theta)
        found, t = self._labels * (a / len(a)), self._multiple(a)
        inside = np.clip(self._labels * theta, 0.0, 1.0 / len(a)) == self._labels * theta
        found[inside] = theta[inside]
        for members, caps in self._classes:
            places, entries = _onto_base(a[members], t * caps)
            changed = members[places]
            found[changed] = self._labels[changed] * entries / len(a)
        return found

    def conjugate_error(self, theta: Array, conjugate: float, *, fine: bool = True) -> float:
        return self._multiple(self._probabilities(theta)) * self._delta_error

    def largest_scale(self, theta: Array) -> float:
        return 1.0

    def domain_distance(self, theta: Array) -> float:
        # the balancing labelling and what it replaces have a 1-norm of at most 1 each
        moved = 2.0 * (self._balancing or 0.0) * self._multiple(self._probabilities(theta))
        return 3.0 * gamma(self._roundings) * absolute_sum(theta) + moved

    def unbalanced(self, theta: Array) -> Floats:
        if self._balancing is not None:
            return np.zeros(1)
        return np.array([abs(exact_sum(theta)) + self.domain_distance(theta)])

    def _probabilities(self, theta: Array) -> Floats:
        """a, clipped to the box."""
        return np.clip(len(theta) * (self._labels * np.asarray(theta, dtype=np.float64)), 0.0, 1.0)

    def _multiple(self, a: Array) -> float:
        """T: the sum of a over that of the mixture."""
        if self._flips == 0.0:
            return 0.0
        return min(float(np.sum(a, dtype=np.longdouble)) / self._flips, 1.0)


def mixture_form(
    risk: ContingencyRisk, theta: Array, decomposition: Array | None, *, balanced: bool
) -> LabellingMixture | None:
    """The bound of rows (weight, fn, fp), or of nested labellings; None for rows that are not a mixture."""
    rows = nested(risk, theta) if decomposition is None else np.asarray(decomposition, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise FenchelError(
            "the decomposition of a witness must have a row (weight, fn, fp) for each labelling, that is, the shape "
            f"(m, 3), got {rows.shape}"
        )
    weights, fn, fp = rows.T
    inside = (weights >= 0.0) & (fn >= 0.0) & (fn <= risk.n_pos) & (fp >= 0.0) & (fp <= risk.n_neg)
    # comparisons with NaN are false
    if (
        not np.all(inside & (fn == np.rint(fn)) & (fp == np.rint(fp)))
        or not 0.0 < np.max(weights, initial=0.0) < np.inf
    ):
        return None
    rows = rows[weights > 0.0]
    rows[:, 0] /= np.max(weights)
    if not np.all(np.isfinite(risk.delta(*rows[:, 1:].T.astype(np.int64)))):
        return None
    return LabellingMixture(risk, _balanced(risk, rows) if balanced else rows, balanced=balanced)


def _surplus(rows: Floats) -> tuple[float, float]:
    """The means of fp - fn and of fn + fp."""
    shares = rows[:, 0] / math.fsum(rows[:, 0])
    return math.fsum(shares * (rows[:, 2] - rows[:, 1])), math.fsum(shares * (rows[:, 1] + rows[:, 2]))


def _balanced(risk: ContingencyRisk, rows: Floats) -> Floats:
    """The rows with one more labelling, so that as many positives as negatives are flipped on average."""
    surplus, flips = _surplus(rows)
    ends = [end for end in risk.ends if (end.fp - end.fn) * surplus < 0.0]
    if abs(surplus) <= _IMBALANCE * flips or not ends:
        return rows
    weight = math.fsum(rows[:, 0]) * surplus / (ends[0].fn - ends[0].fp)
    return np.vstack([rows, [weight, ends[0].fn, ends[0].fp]])


def mixed(weights: Array, mixtures: Sequence[Array]) -> Floats:
    """The mixture of mixtures, with one row for each pair of counts."""
    # the weights of a mixture are normalized by definition
    rows = np.concatenate(
        [
            np.column_stack([weight * normalized(one[:, 0]), one[:, 1:]])
            for weight, one in zip(weights, mixtures, strict=True)
        ]
    )
    cells, at = np.unique(rows[:, 1:], axis=0, return_inverse=True)
    return np.column_stack([np.bincount(at.ravel(), weights=rows[:, 0], minlength=len(cells)), cells])


def nested(risk: ContingencyRisk, theta: Array) -> Floats:
    """The mixture of the labellings that flip the examples with a > u, for u uniform between 0 and 1."""
    n = len(theta)
    a = np.clip(n * (risk.labels * np.asarray(theta, dtype=np.float64)), 0.0, 1.0)
    levels = np.unique(np.concatenate([[0.0, 1.0], a]))
    # between two levels the examples at the upper one, and above it, are flipped
    counts = [
        len(own) - np.searchsorted(np.sort(a[own]), levels[1:], side="left") for own in (risk.positives, risk.negatives)
    ]
    return np.column_stack([np.diff(levels), *counts])


def _caps(shares: Floats, counts: Array, most: int) -> NDArray[np.longdouble]:
    """U at 1, ..., most."""
    falling = np.argsort(-counts, kind="stable")
    at_least = np.searchsorted(-counts[falling], -np.arange(1, most + 1), side="right")
    return _prefix_sums(np.append(np.longdouble(0.0), _prefix_sums(shares[falling]))[at_least])


def _prefix_sums(values: Array) -> NDArray[np.longdouble]:
    """v_1, v_1 + v_2, ...: differences of sums that were rounded to floats would not fall."""
    return np.cumsum(values, dtype=np.longdouble)


def _onto_base(a: Array, caps: Array) -> tuple[NDArray[np.int64], Floats]:
    """The places where min(A + delta, U) has another difference than A, and these differences."""
    falling = np.argsort(-a, kind="stable")
    sums = _prefix_sums(a[falling])
    missing = float(caps[-1] - sums[-1])
    moved = np.zeros(len(a), dtype=bool)
    if missing > _TOLERANCE * float(caps[-1]):
        sums += missing
        moved[0] = True
    over = sums > (1.0 + _TOLERANCE) * caps
    moved |= over
    moved[1:] |= over[:-1]
    if not np.any(moved):
        return falling[:0], np.zeros(0)
    entries = np.diff(np.where(over, caps, sums), prepend=0.0)
    # concave up to rounding
    return falling[moved], np.clip(entries[moved], 0.0, 1.0)
