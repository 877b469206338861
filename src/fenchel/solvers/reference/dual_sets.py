r"""The feasible sets of the dual for excessive gap methods, with their proximal steps.

For :math:`\theta \in Q`, the domain of :math:`R^*(-\theta)` with :math:`\sum_i\theta_i = 0` where intercepts are free,

.. math::
    \text{step}(\bar\theta, s, q) = \arg\min_{\theta\in Q}\; R^*(-\theta) + s\cdot\theta + q\,d(\theta - \bar\theta),
    \qquad d(\theta) = \tfrac12\sum_i \|\theta_i\|^2/c_i

is the map (23) of Saha, Zhang and Vishwanathan (2009) with :math:`q = \mu` from the centre, and (25) with
:math:`q = L`. The metric d weights dual variables by the shares of their examples, so that :math:`D_2 = \max d` does
not depend on n and :math:`L = \sigma_{\max}(C^{1/2}X)^2/\lambda \le \sum_i c_i\|x_i\|^2/\lambda`.  For equal weights
the paper's L is n times as large, and its :math:`D_2` is 1/n times as large.

- Mean of losses without intercept: an exact dual step of the loss for every example.
- Mean of losses with an intercept, for :math:`f^*(-a) = -ya + \epsilon|a| + \tfrac\kappa2a^2`: a projection onto a box
  with one equality; if :math:`\epsilon > 0` an example has two entries, one for each sign.
- Crammer-Singer: :math:`\theta_i = c_i(e_y - \beta)` with :math:`\beta` in a simplex.
- Weston-Watkins: eq. (4) of Wang and Scott, a box with one more entry, which is minus the sum of the others.
- Free intercepts of several classes: the multipliers of the equalities are computed first (``class_intercepts``).
- Several labels: sign constraints and one equality; a simplex for either sign if the mass of an example exceeds one.
- Labelled sequences: marginals of cliques that agree with each other (``chain_sets``).

==================  ==========================================
symbol              here
==================  ==========================================
:math:`\bar\theta`  ``centre``
q                   ``curvature``
:math:`D_2`         ``d_range``
==================  ==========================================
"""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.dual_steps import dual_steps
from fenchel.compile.primitives.projection import project_rows
from fenchel.designs import Design
from fenchel.errors import FenchelError
from fenchel.problem import Witness
from fenchel.projections import checked_parts
from fenchel.projections.zero_sum import zero_sum
from fenchel.risks import ChainHinge, MeanRisk, MulticlassRisk, MultilabelHinge, Risk

#: entries that are projected in one call of the loop, a tenth of a second: a limit waits for it
_CALL_ENTRIES = 1 << 19


class DualSet(abc.ABC):
    """The set Q with its proximal step.

    Points are stored as theta itself, or in other coordinates of which theta is the image.
    """

    risk: MeanRisk | MulticlassRisk | MultilabelHinge | ChainHinge
    #: D_2 for the centre zero: the maximum of d over Q
    d_range: float

    def __init__(self, risk: MeanRisk | MulticlassRisk | MultilabelHinge | ChainHinge, d_range: float) -> None:
        self.risk, self.d_range = risk, d_range
        self._shares = risk.shares if risk.outputs is None else risk.shares[:, None]

    @abc.abstractmethod
    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        """Return the minimizer."""

    def zero(self) -> Floats:
        """Return the point of theta = 0."""
        return np.zeros(self.risk.examples if self.risk.outputs is None else (self.risk.examples, self.risk.outputs))

    def start(self, witness: Witness) -> Floats:
        """Return a point of Q near the theta of a warm start, or zero."""
        theta, zero = np.array(witness.theta, dtype=np.float64), self.zero()
        return self.feasible(theta) if theta.shape == zero.shape else zero

    def feasible(self, theta: Array) -> Floats:
        """Return a point of Q near theta."""
        form = self.risk.closed_form()
        assert form is not None
        return form.project(theta)

    def image(self, point: Array) -> Floats:
        """Return theta."""
        return np.asarray(point)

    def squared_length(self, move: Array) -> float:
        """Return 2 d(move)."""
        return squared_length(self.risk, move)

    def conjugate(self, point: Array) -> float:
        """Return R*(-theta)."""
        form = self.risk.closed_form()
        assert form is not None
        return form.conjugate(self.image(point), feasible=True)

    def squared_norm(self, design: Design) -> float:
        """Return an upper bound on lam L, from the norms of the rows."""
        return float(self.risk.shares @ design.squared_row_norms)

    def witness(self, point: Array) -> Witness:
        """Return a copy of theta as a witness."""
        return Witness(self.image(point).copy())

    def _alpha(self, theta: Array) -> Floats:
        """Return theta_i / c_i, or zero for examples of weight zero."""
        return np.divide(theta, self._shares, out=np.zeros_like(theta), where=self._shares > 0.0)


class Separate(DualSet):
    """The mean of a loss, without an intercept."""

    risk: MeanRisk

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        steps = dual_steps(self.risk.loss, self.risk.labels, self._alpha(centre), scores, curvature)
        return self._shares * steps


class Balanced(DualSet):
    """The mean of a piecewise linear or quadratic loss, with an intercept."""

    risk: MeanRisk

    def __init__(self, risk: MeanRisk) -> None:
        super().__init__(risk, risk.smoothing_range)
        pieces = risk.loss.piecewise_quadratic()
        assert pieces is not None
        self._kappa, self._tube = pieces
        self._weighted = np.flatnonzero(risk.shares > 0.0)
        self._shares, self._labels = risk.shares[self._weighted], risk.labels[self._weighted]
        low, high = risk.loss.domain(self._labels)
        self._low, self._high = -high * self._shares, -low * self._shares

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        total, shares = self._kappa + curvature, self._shares
        numerator = curvature * centre[self._weighted] - shares * (scores[self._weighted] - self._labels)
        target, low, high = numerator / total, self._low, self._high
        scales = np.sqrt(total / shares)
        if self._tube > 0.0:
            tube = shares * (self._tube / total)
            target, scales = np.concatenate([target - tube, target + tube]), np.concatenate([scales, scales])
            low, high = np.append(np.zeros_like(low), low), np.append(high, np.zeros_like(high))
        found = project_blocks(target, low, high, 0.0, scales=scales)
        theta = np.zeros_like(centre)
        theta[self._weighted] = found if self._tube == 0.0 else found[: len(shares)] + found[len(shares) :]
        return theta

    def feasible(self, theta: Array) -> Floats:
        return zero_sum(self.risk.project(theta))[0]


class ClassBlocks(DualSet):
    """Dual points of a risk of several classes; without intercepts unless in ``BalancedClasses``."""

    risk: MulticlassRisk

    def __init__(self, risk: MulticlassRisk, d_range: float) -> None:
        super().__init__(risk, d_range)
        #: the entries of the labels
        self._own = (np.arange(risk.examples), risk.classes)

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        return self.step_and_free(centre, scores, curvature)[0]

    @abc.abstractmethod
    def step_and_free(self, centre: Array, scores: Array, curvature: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the minimizer, and whether its entries are strictly between their bounds."""


class Simplices(ClassBlocks):
    """Crammer-Singer."""

    def __init__(self, risk: MulticlassRisk) -> None:
        # half of the squared length of an edge of the simplex
        super().__init__(risk, 1.0)

    def step_and_free(self, centre: Array, scores: Array, curvature: float) -> tuple[Floats, NDArray[np.bool_]]:
        # 1 - beta at the label, -beta elsewhere; f* is minus the sum of beta elsewhere
        beta, own = -self._alpha(centre), self._own
        beta[own] += 1.0
        target = beta + (scores + 1.0) / curvature
        target[own] -= 1.0 / curvature
        beta = project_blocks(target, 0.0, np.inf, 1.0)
        alpha = -beta
        alpha[own] += 1.0
        return self._shares * alpha, beta > 0.0


class BoxesOfClasses(ClassBlocks):
    """Weston-Watkins."""

    def __init__(self, risk: MulticlassRisk) -> None:
        self._high = risk.costs[risk.classes]
        sums = np.sum(self._high, axis=1)
        super().__init__(risk, 0.5 * float(risk.shares @ (np.sum(self._high**2, axis=1) + sums**2)))
        # the entry of the label, minus the sum of the others, is unbounded
        self._low = np.zeros(self._high.shape)
        self._low[self._own] = -np.inf
        self._high[self._own] = np.inf

    def step_and_free(self, centre: Array, scores: Array, curvature: float) -> tuple[Floats, NDArray[np.bool_]]:
        alpha, own = self._alpha(centre), self._own
        target = (1.0 - scores[own][:, None] + scores) / curvature - alpha + alpha[own][:, None]
        target[own] = 0.0
        beta = project_blocks(target, self._low, self._high, 0.0)
        free = (beta > self._low) & (beta < self._high)
        beta[own] = 0.0
        alpha = -beta
        alpha[own] = np.sum(beta, axis=1)
        return self._shares * alpha, free


class SidesOfLabels(DualSet):
    """Several labels for an example, without intercepts."""

    risk: MultilabelHinge

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        has = self.risk.labels > 0.0
        target = self._alpha(centre) + (has - scores) / curvature
        alpha = project_blocks(target, np.where(has, 0.0, -np.inf), np.where(has, np.inf, 0.0), 0.0)
        # a mass that would exceed one is one
        heavy = np.sum(np.maximum(alpha, 0.0), axis=1) > 1.0
        if np.any(heavy):
            target, has = target[heavy], has[heavy]
            up = project_blocks(target, 0.0, np.where(has, np.inf, 0.0), 1.0)
            alpha[heavy] = up + project_blocks(target, np.where(has, 0.0, -np.inf), 0.0, -1.0)
        return self._shares * alpha


def project_blocks(
    target: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    totals: ArrayLike,
    *,
    weights: ArrayLike = 1.0,
    scales: ArrayLike = 1.0,
) -> Floats:
    """Project the rows of ``target`` onto the points between ``low`` and ``high`` with weighted sums ``totals``.

    The search is compiled; ``fenchel.projections`` contains the same projections in NumPy.
    A single row may be a vector, with one total.  The other arguments are broadcast to the shape of the target.
    """
    m, low, high, sigma, d = checked_parts(target, low, high, weights, scales)
    if m.ndim not in (1, 2):
        raise FenchelError(f"target must be one row or a matrix of rows, got shape {m.shape}")
    rows = np.atleast_2d(m)
    z = np.broadcast_to(np.asarray(totals, dtype=np.float64), len(rows))
    found = np.empty(rows.shape)
    parts = [*(np.broadcast_to(part, rows.shape) for part in (rows, sigma, d * d, low, high)), z]
    together = max(1, _CALL_ENTRIES // max(1, rows.shape[1]))
    for begin in range(0, len(rows), together):
        some = slice(begin, begin + together)
        # copies: a single memory layout, and so one signature of the loop, for all broadcasts
        row = project_rows(*(np.array(part[some], order="C") for part in parts), found[some])
        if row >= 0:
            where = "" if m.ndim == 1 else f" (row {begin + row})"
            raise FenchelError(
                f"no point of the box has the sum {z[begin + row]}{where}: check the bounds and the weights"
            )
    return found.reshape(m.shape)


def squared_length(risk: Risk, theta: Array) -> float:
    """Return 2 d(theta)."""
    squares = theta * theta if theta.ndim == 1 else np.sum(theta * theta, axis=1)
    weighted = risk.shares > 0.0
    return float(np.sum(squares[weighted] / risk.shares[weighted]))
