r"""Intervals that contain every optimal intercept, from a ball that contains the optimal weights.

With the centre c and the radius r of the ball and a reference point z, the scores of an optimum are

.. math:: x\cdot w^* + b^* = x\cdot c + (x - z)\cdot(w^* - c) + \beta, \qquad \beta = b^* + z\cdot(w^* - c),

so that :math:`x_i\cdot c \pm r\|x_i - z\|` brackets them up to :math:`\beta`.  Derivatives of convex functions are
monotone: for a mean of losses

.. math::
    \inf\{\beta : \textstyle\sum_i c_i f'(s_i^+ + \beta) \ge 0\} \le \beta^* \le
    \sup\{\beta : \textstyle\sum_i c_i f'(s_i^- + \beta) \le 0\}.

For a joint risk of k classes let T be the classes whose :math:`\beta_l - \hat\beta_l` exceed those of all others by
:math:`\tau` or more.  Where the derivative of R along :math:`1_T` is then positive for every T, there is no such gap at
an optimum, and the :math:`\beta_l - \hat\beta_l` are within :math:`(k - 1)\tau` of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import ELEMENTARY, UNIT, gamma, tree_depth, tree_sum
from fenchel.risks import MeanRisk, Risk

if TYPE_CHECKING:
    from fenchel.risks import MulticlassRisk

#: classes of a Weston-Watkins risk at most: all 2^k sets of classes are tried
MOST_CLASSES = 12
#: the first step as a share of the mean radius, which the bracket can't be narrower than
_FIRST_STEP = 0.01
#: doublings of the first step, and bisections of the last one
_DOUBLINGS, _HALVINGS = 1100, 6
#: covers roundings of a bound by sums of non-negative terms
_UPWARDS = 1.0 + 1e-6


def check_bracketed(risk: Risk) -> None:
    """Raise for risks without an interval, with the reason: known before anything is solved."""
    mean, joint = risk.separable(), risk.multiclass()
    without = "use intercept=False (in an estimator fit_intercept=False)"
    if mean is not None:
        if mean.loss.constraint is not None:
            raise FenchelError(
                f"loss={mean.loss.name!r} is a constraint, so its derivative does not bracket an optimal intercept: "
                "use intercept=False, or another loss"
            )
    elif joint is None or joint.dual_block not in ("box", "entropy"):
        other = "" if joint is None else ", or multi_class='ovr'"
        raise FenchelError(f"the optimal intercepts of the risk {risk.name!r} can't be bracketed: {without}{other}")
    elif joint.dual_block == "box" and joint.outputs > MOST_CLASSES:
        raise FenchelError(
            f"the optimal intercepts of {joint.outputs} classes can't be bracketed for the risk {risk.name!r}, only up "
            f"to {MOST_CLASSES}: {without}, or multi_class='ovr'"
        )


def mean_interval(risk: MeanRisk, scores: Array, radii: Array) -> tuple[Floats, Floats]:
    """Bounds on every optimal intercept of each output, for scores within ``radii`` (n,) of ``scores``."""
    columns = [(scores, risk.labels)] if risk.outputs is None else zip(scores.T, risk.labels.T, strict=True)
    counted = risk.shares > 0
    shares, radii = risk.shares[counted], radii[counted]
    ends = [_loss_interval(risk, s[counted], y[counted], shares, radii) for s, y in columns]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _loss_interval(risk: MeanRisk, scores: Array, labels: Array, shares: Array, radii: Array) -> tuple[float, float]:
    loss, offset = risk.loss, risk.loss.score_offset(labels)
    relative = gamma(risk.roundings + ELEMENTARY)
    least = max(_FIRST_STEP * float(shares @ radii), 4.0 * UNIT * float(np.max(np.abs(scores) + offset)))

    def derivative(sign: float, b: float) -> float:
        """The least derivative times ``sign`` that scores within the radii can have at b, less its rounding."""
        shifted = scores - sign * radii + b
        # a subgradient strictly before a kink is at most one at the kink
        shifted -= sign * 4.0 * gamma(ELEMENTARY) * (np.abs(scores) + radii + abs(b) + offset)
        terms = shares * loss.derivative(shifted, labels)
        return tree_sum(sign * terms) - relative * tree_sum(np.abs(terms))

    with np.errstate(over="ignore", invalid="ignore"):
        ends = [
            _first_positive(sign, loss.best_intercept(scores - sign * radii, labels, shares), least, derivative)
            for sign in (-1.0, 1.0)
        ]
    return ends[0], ends[1]


def _first_positive(sign: float, start: float, least: float, derivative: Callable[[float, float], float]) -> float:
    """A b in the direction of ``sign`` where the derivative is proved to be positive, near the first one.

    ``least`` is a distance from the first one that is good enough.
    """
    if not math.isfinite(start):
        return sign * math.inf
    step = max(least, 4.0 * UNIT * abs(start), 1e-300)
    if derivative(sign, start + sign * step) > 0.0:
        return start + sign * step
    for _ in range(_DOUBLINGS):
        step *= 2.0
        if not math.isfinite(start + sign * step):
            return sign * math.inf
        if derivative(sign, start + sign * step) > 0.0:
            break
    else:
        return sign * math.inf
    near, far = 0.5 * step, step
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if derivative(sign, start + sign * middle) > 0.0 else (middle, far)
    return start + sign * far


def quadratic_interval(risk: MeanRisk, reference: Array, centre: Array, means: Array) -> tuple[Floats, Floats]:
    r"""The same for the squared loss, whose intercept is :math:`\bar y - \bar x\cdot w^*`, with z = :math:`\bar x`.

    ``means`` bounds the difference between z and the mean of the rows times the norm of w*.
    """
    labels = risk.labels.reshape(risk.examples, -1)
    mean = np.array([tree_sum(risk.shares * column) for column in labels.T])
    sizes = np.array([tree_sum(risk.shares * np.abs(column)) for column in labels.T])
    centre = np.atleast_2d(centre)
    found = mean - centre @ reference
    error = gamma(tree_depth(risk.examples) + ELEMENTARY) * sizes + 4.0 * UNIT * np.abs(found)
    error += _UPWARDS * (gamma(len(reference) + 2) * (np.abs(centre) @ np.abs(reference)) + means)
    return found - error, found + error


def joint_interval(risk: MulticlassRisk, scores: Array, radii: Array) -> tuple[Floats, float]:
    """Intercepts b (k,), and a bound on the differences of b* - b over all pairs of classes, for every optimal b*.

    ``radii`` (n,) bounds the differences of two scores of an example from those given here.
    """
    intercept = np.asarray(risk.best_intercept(scores), dtype=np.float64)
    rounding = gamma(risk.roundings) * (2.0 * np.max(np.abs(scores + intercept), axis=1) + 2.0)
    radii = _UPWARDS * (radii + 4.0 * rounding)
    counted = risk.shares > 0
    bounds = _softmax_gap if risk.dual_block == "entropy" else _hinge_gap
    gap = bounds(risk, scores[counted] + intercept, counted, radii[counted])
    return intercept, _UPWARDS * (risk.outputs - 1) * gap


def _softmax_gap(risk: MulticlassRisk, scores: Array, counted: Array, radii: Array) -> float:
    r"""With P the probabilities of T, :math:`\sigma(\mathrm{logit} P + x) - P \ge P(1 - P)(1 - e^{-x})` for x >= 0.

    So a gap of max radius + x has a derivative of at least :math:`\sum_i c_i P_i(1 - P_i)(1 - e^{-x})` less that of the
    intercepts given.  The sum is a cut of the graph of the classes with weights :math:`\sum_i c_i p_{il}p_{im}`, and
    every cut contains an edge of the maximum spanning tree.
    """
    shares = risk.shares[counted]
    probabilities = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    probabilities /= np.sum(probabilities, axis=1, keepdims=True)
    weighted = shares[:, None] * probabilities
    targets = np.bincount(risk.classes[counted], shares, risk.outputs)
    surplus = np.sum(weighted, axis=0) - targets
    error = float(np.sum(np.abs(surplus))) + 4.0 * gamma(len(shares) + risk.roundings)
    cut = (1.0 - 1e-9) * _smallest_tree_edge(weighted.T @ probabilities)
    if not error < cut:
        return math.inf
    return float(np.max(radii)) - _UPWARDS * math.log1p(-error / cut)


def _smallest_tree_edge(weights: Array) -> float:
    """The smallest edge of the maximum spanning tree, by Prim's algorithm."""
    best, inside, smallest = weights[0].copy(), np.zeros(len(weights), dtype=bool), math.inf
    inside[0] = True
    for _ in range(len(weights) - 1):
        following = int(np.argmax(np.where(inside, -1.0, best)))
        smallest = min(smallest, float(best[following]))
        inside[following] = True
        best = np.maximum(best, weights[following])
    return smallest


def _hinge_gap(risk: MulticlassRisk, scores: Array, counted: Array, radii: Array) -> float:
    """The smallest gap at which the derivative along every set of classes is proved to be positive."""
    k = risk.outputs
    classes, shares = risk.classes[counted], risk.shares[counted]
    members = (np.arange(1, 2**k - 1)[:, None] >> np.arange(k) & 1).astype(np.float64)
    error = 4.0 * gamma(len(shares) + risk.roundings + 2 * k) * float(np.max(risk.costs)) * k

    def positive(gap: float) -> bool:
        slopes = np.zeros((k, k))
        for y in range(k):
            own = classes == y
            margins, room = 1.0 - scores[own, y][:, None] + scores[own], (gap - radii[own])[:, None]
            # the intercepts of y fall behind those of l, or get ahead of them
            slopes[:, y] += risk.costs[y] * (shares[own] @ (margins + room > 0.0))
            slopes[y] -= risk.costs[y] * (shares[own] @ (margins - room > 0.0))
        cuts = np.einsum("tl,lm,tm->t", members, slopes, 1.0 - members, optimize=True)
        return bool(np.min(cuts) > error)

    least = _FIRST_STEP * float(shares @ radii)
    return _first_positive(1.0, 0.0, least, lambda _, gap: 1.0 if positive(gap) else -1.0)
