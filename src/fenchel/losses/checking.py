r"""Check the formulas of a loss against each other, at many scores and labels.

A certificate relies on the conjugate: one that is too small proves too much.  The laws that are checked:

=============================================================  =============================================
law                                                            a violation means
=============================================================  =============================================
:math:`f(t) \ge f(s) + f'(s)(t - s)`                           f is not convex, or ``derivative`` is not its
:math:`f'(s)` lies in ``domain``                               ``domain`` is too small
:math:`f(s) + f^*(u) \ge us` (Fenchel-Young)                   ``conjugate`` is too small: false proofs
:math:`f(s) + f^*(u) = us` for :math:`u = f'(s)`               ``conjugate`` is too large: weak proofs
``compiled()`` agrees                                          its methods differ from those of arrays
=============================================================  =============================================
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.losses.base import Loss
from fenchel.numerics.violation import violated
from fenchel.validation import described

_SCORES = np.concatenate([np.linspace(-6.0, 6.0, 49), [-30.0, -12.5, 12.5, 30.0]])
_REGRESSION_LABELS = np.array([-3.0, -1.0, 0.0, 0.5, 1.0, 4.0])
#: examples of eq. (13): dual variable as a share of the domain, score, curvature
_STEPS = [(share, score, curvature) for share in (0.2, 0.9) for score in (-2.0, 0.3, 4.0) for curvature in (0.1, 3.0)]


def check_loss(loss: Loss) -> None:
    """Raise an error that shows where the formulas of a loss contradict each other.

    The value, the derivative, the conjugate and its domain are compared on a grid of scores from -30 to 30 and of
    labels that the loss allows, and with the methods of ``compiled()``.  Passing is no proof, but a wrong sign or
    factor does not pass.

    Parameters
    ----------
    loss : Loss
        The loss to check, one of your own for instance.

    Raises
    ------
    FenchelError
        If a law is violated; the message has the score and the label.

    See Also
    --------
    CustomLoss : A loss from its value, derivative and conjugate.
    fenchel.regularizers.check_regularizer : The same for regularizers.
    fenchel.risks.check_risk : The same for risks.

    Examples
    --------
    >>> from fenchel.losses import Huber, check_loss
    >>> check_loss(Huber(0.5))
    """
    if not isinstance(loss, Loss):
        raise FenchelError(f"loss must be a Loss object, got {described(loss)}: pass an instance of your class")
    candidates = np.array([-1.0, 1.0]) if loss.task == "classification" else _REGRESSION_LABELS
    allowed = [y for y in candidates if loss.refusal(np.array([y])) is None]
    if not allowed:
        raise FenchelError(f"{_name(loss)}: refusal(labels) refuses every label that was tried, {candidates}")
    for label in allowed:
        with np.errstate(all="ignore"):
            _check_label(loss, float(label))


def _check_label(loss: Loss, label: float) -> None:
    """The laws for one label; rows are the points of tangents, columns the scores they are compared at."""
    values = _evaluated(loss, "value", loss.value(_SCORES, np.full(len(_SCORES), label)))
    finite = np.isfinite(values)
    if not np.any(finite):
        raise FenchelError(f"{_name(loss)}: value is infinite at every score that was tried, with the label {label:g}")
    if np.any(np.isnan(values)):
        raise FenchelError(f"{_name(loss)}: value is NaN at {_at(_SCORES[np.isnan(values)][0], label)}")
    # a constraint has no derivative on its boundary or beyond
    s, f = _SCORES[finite], values[finite]
    u = _evaluated(loss, "derivative", loss.derivative(s, np.full(len(s), label)))
    tangents = f[:, None] + u[:, None] * (_SCORES - s[:, None])
    bad = violated(tangents - values, _size(values[None, :], f[:, None], u[:, None] * _SCORES, u[:, None] * s[:, None]))
    if bad is not None:
        raise FenchelError(
            f"{_name(loss)}: derivative({_at(s[bad[0]], label)}) = {u[bad[0]]:.6g} is not a subgradient: the tangent "
            f"at s = {_SCORES[bad[1]]:g} is {tangents[bad]:.6g}, above f = {values[bad[1]]:.6g}. Either the derivative "
            "is wrong or f is not convex"
        )
    low, high = (float(np.ravel(end)[0]) for end in loss.domain(np.array([label])))
    bad = violated(np.maximum(low - u, u - high), u)
    if bad is not None:
        raise FenchelError(
            f"{_name(loss)}: domain(y={label:g}) is [{low:g}, {high:g}], but the derivative at s = {s[bad[0]]:g} is "
            f"{u[bad[0]]:.6g}; the domain must hold every slope of f"
        )
    _check_conjugate(loss, label, values, s, f, np.clip(u, low, high), low, high)
    _check_compiled(loss, label, s, u, low, high)


def _check_conjugate(
    loss: Loss, label: float, values: Floats, s: Floats, f: Floats, u: Floats, low: float, high: float
) -> None:
    """Fenchel-Young: for slopes in the whole domain, and with equality at the derivatives."""
    ends = [end for end in (low, high) if math.isfinite(end)]
    beyond = [2.0 * float(u.min()) - 1.0, 2.0 * float(u.max()) + 1.0]
    slopes = np.unique(np.clip(np.concatenate([u, ends, beyond, np.linspace(u.min(), u.max(), 17)]), low, high))
    conjugates = _evaluated(loss, "conjugate", loss.conjugate(slopes, np.full(len(slopes), label)))
    below = slopes[:, None] * _SCORES - values - conjugates[:, None]
    bad = violated(below, _size(values[None, :], conjugates[:, None], slopes[:, None] * _SCORES))
    if bad is not None:
        raise FenchelError(
            f"{_name(loss)}: conjugate(u={slopes[bad[0]]:.6g}, y={label:g}) = {conjugates[bad[0]]:.6g} is too small: "
            f"u s - f(s) = {below[bad] + conjugates[bad[0]]:.6g} at s = {_SCORES[bad[1]]:g}. Certificates with it "
            "would prove too much"
        )
    attained = _evaluated(loss, "conjugate", loss.conjugate(u, np.full(len(u), label)))
    bad = violated(attained - (u * s - f), _size(attained, u * s, f))
    if bad is not None:
        at = bad[0]
        raise FenchelError(
            f"{_name(loss)}: conjugate(u={u[at]:.6g}, y={label:g}) = {attained[at]:.6g} is too large: at u = f'(s), "
            f"here s = {s[at]:g}, it is u s - f(s) = {u[at] * s[at] - f[at]:.6g}. Certificates with it would prove too "
            "little"
        )


def _check_compiled(loss: Loss, label: float, s: Floats, u: Floats, low: float, high: float) -> None:
    """The scalar methods that the compiled tuple defines, against the functions of arrays."""
    compiled = loss.compiled()
    methods = vars(type(compiled))
    if "derivative" in methods:
        found = np.array([compiled.derivative(label, float(score)) for score in s])  # type: ignore[attr-defined]
        bad = violated(np.abs(found - u), u)
        if bad is not None:
            raise FenchelError(
                f"{_name(loss)}: derivative of compiled() is {found[bad]:.6g} at {_at(s[bad[0]], label)}, "
                f"derivative of the class {u[bad]:.6g}"
            )
    if "dual_step" not in methods:
        return
    left, right = max(low, float(u.min())), min(high, float(u.max()))

    def objective(alpha: float, start: float, score: float, curvature: float) -> float:
        """Eq. (13) of Zhang (2002), which the dual step minimizes; infinite outside of the domain"""
        if not low <= -alpha <= high:
            return math.inf
        moved = alpha - start
        return float(loss.conjugate(np.array(-alpha), np.array(label))) + score * moved + 0.5 * curvature * moved**2

    for share, score, curvature in _STEPS:
        start = -(left + share * (right - left))
        step = float(compiled.dual_step(label, start, score, curvature))
        found_value = objective(step, start, score, curvature)
        for other in (start, step - 1e-3, step + 1e-3, -left, -right):
            value = objective(other, start, score, curvature)
            if not found_value <= value + 1e-7 * (1.0 + abs(value)):
                raise FenchelError(
                    f"{_name(loss)}: dual_step of compiled() returns alpha = {step:.6g} for label={label:g}, "
                    f"alpha={start:.6g}, score={score:g}, curvature={curvature:g}; alpha = {other:.6g} has a smaller "
                    f"f*(-alpha) + s (alpha - alpha_0) + curvature/2 (alpha - alpha_0)^2, {value:.6g} against "
                    f"{found_value:.6g}"
                )


def _evaluated(loss: Loss, method: str, found: Floats) -> Floats:
    """The result as an array; raise unless it has one entry for each score."""
    array = np.asarray(found, dtype=np.float64)
    if array.ndim != 1:
        raise FenchelError(f"{_name(loss)}: {method} of arrays must return an array of their shape, got {array.shape}")
    return array


def _size(*parts: Floats) -> Floats:
    """The sum of the sizes of what cancels in a law; infinite values do not count."""
    total = np.zeros(np.broadcast_shapes(*(part.shape for part in parts)))
    for part in parts:
        total += np.where(np.isfinite(part), np.abs(part), 0.0)
    return total


def _at(score: float, label: float) -> str:
    return f"s={score:g}, y={label:g}"


def _name(loss: Loss) -> str:
    return type(loss).__name__
