r"""Check the formulas of a risk against each other, at random scores.

==============================================================  =================================================
law                                                             a violation means
==============================================================  =================================================
:math:`R(t) \ge R(s) + g\cdot(t - s)`                           ``subgradient`` is wrong, or R is not convex
:math:`R(s) + R^*(-\theta) + \theta\cdot s \ge 0`               ``conjugate`` is too small: false proofs
equality at :math:`-\theta = g`                                 ``conjugate`` is too large: weak proofs
:math:`R_\mu \le R \le R_\mu + \mu D`                           ``smoothed`` or ``smoothing_range`` is wrong
:math:`R(s + b) \le R(s + b')` for other intercepts             ``best_intercept`` is wrong
==============================================================  =================================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.numerics.violation import violated
from fenchel.risks.base import Risk
from fenchel.validation import described

#: sizes of the random scores, each with as many draws
_SIZES, _DRAWS = (0.1, 1.0, 4.0), 4
_WIDTHS = (0.01, 0.5)


def check_risk(risk: Risk) -> None:
    """Raise an error that shows where the formulas of a risk contradict each other.

    The value and the subgradient, and the conjugate, the smoothing and the best intercept where the risk has them, are
    compared at random scores, the same in each call.  Passing is no proof, but a wrong sign or factor does not pass.

    Parameters
    ----------
    risk : Risk
        The risk to check, one of your own for instance, on a few examples.

    Raises
    ------
    FenchelError
        If a law is violated; the message says which one, and by how much.

    See Also
    --------
    fenchel.losses.check_loss : The same for losses.
    fenchel.regularizers.check_regularizer : The same for regularizers.

    Examples
    --------
    >>> from fenchel.risks import F1, check_risk
    >>> check_risk(F1([1, -1, -1, 1, -1]))
    """
    if not isinstance(risk, Risk):
        raise FenchelError(f"risk must be a Risk object, got {described(risk)}: pass an instance of your class")
    rng = np.random.default_rng(0)
    shape = (risk.examples,) if risk.outputs is None else (risk.examples, risk.outputs)
    scores = [np.zeros(shape), *(size * rng.normal(size=shape) for size in _SIZES for _ in range(_DRAWS))]
    with np.errstate(over="ignore"):
        values = np.array([risk.value(s) for s in scores])
        slopes = [np.asarray(risk.subgradient(s), dtype=np.float64) for s in scores]
    for slope in slopes:
        if slope.shape != shape:
            raise FenchelError(f"{risk.name}: subgradient must return an array of shape {shape}, got {slope.shape}")
    _check_subgradients(risk, scores, values, slopes)
    _check_conjugate(risk, scores, values, slopes, rng)
    _check_smoothing(risk, scores, values)
    _check_intercept(risk, scores)


def _check_subgradients(risk: Risk, scores: list[Floats], values: Floats, slopes: list[Floats]) -> None:
    """Tangents are below R."""
    for s, value, slope in zip(scores, values, slopes, strict=True):
        linear = np.array([np.vdot(slope, t - s) for t in scores])
        tangents = value + linear
        bad = violated(tangents - values, np.abs(values) + np.abs(linear) + abs(value))
        if bad is not None:
            raise FenchelError(
                f"{risk.name}: subgradient is not a subgradient: at scores of norm {np.linalg.norm(s):.3g} its plane "
                f"is {tangents[bad]:.6g} where R is {values[bad]:.6g}. Either it is wrong or R is not convex"
            )


def _check_conjugate(
    risk: Risk, scores: list[Floats], values: Floats, slopes: list[Floats], rng: np.random.Generator
) -> None:
    """Fenchel-Young for subgradients and for random points of the domain."""
    form = risk.closed_form()
    if form is None:
        return
    drawn = [form.project(rng.normal(size=slope.shape) * np.mean(np.abs(slope))) for slope in slopes[:_DRAWS]]
    for number, theta in enumerate([*(form.project(-slope) for slope in slopes), *drawn]):
        conjugate = form.conjugate(theta, feasible=True)
        products = np.array([np.vdot(theta, t) for t in scores])
        sizes = np.abs(values) + abs(conjugate) + np.abs(products)
        bad = violated(-(values + conjugate + products), sizes)
        if bad is not None:
            raise FenchelError(
                f"{risk.name}: conjugate(theta) = {conjugate:.6g} is too small: -theta.s - R(s) = "
                f"{-(values + products)[bad]:.6g} at scores of norm {np.linalg.norm(scores[bad[0]]):.3g}. Certificates "
                "with it would prove too much"
            )
        if number >= len(scores):
            continue
        excess = values[number] + conjugate + products[number]
        if violated(np.array(excess), sizes[number]) is not None:
            raise FenchelError(
                f"{risk.name}: conjugate(theta) = {conjugate:.6g} is too large: at theta = -subgradient(s) it is "
                f"-theta.s - R(s) = {conjugate - excess:.6g}. Certificates with it would prove too little"
            )


def _check_smoothing(risk: Risk, scores: list[Floats], values: Floats) -> None:
    """The smoothed risk lies within mu D below R."""
    smoothable = risk.smoothable()
    if smoothable is None:
        return
    for s, value in zip(scores, values, strict=True):
        for mu in _WIDTHS:
            found = smoothable.smoothed(s, mu).value
            outside = np.array(max(found - value, value - found - mu * smoothable.smoothing_range))
            if violated(outside, np.abs(value)) is not None:
                raise FenchelError(
                    f"{risk.name}: smoothed(s, mu={mu:g}) is {found:.6g} where R(s) is {value:.6g}: it must be at most "
                    f"R and at least R - mu D, with D = smoothing_range = {smoothable.smoothing_range:g}"
                )


def _check_intercept(risk: Risk, scores: list[Floats]) -> None:
    """No other intercept is better."""
    intercepts = risk.intercepts()
    if intercepts is None:
        return
    for s in scores:
        best = np.asarray(intercepts.best_intercept(s), dtype=np.float64)
        least = risk.value(s + best)
        for move in (-1.0, -1e-2, 1e-2, 1.0):
            # one output after the other
            for k in range(best.size):
                other = best + move * (np.arange(best.size) == k).reshape(best.shape)
                value = risk.value(s + other)
                if violated(np.array(least - value), np.array(least)) is not None:
                    raise FenchelError(
                        f"{risk.name}: best_intercept is {best}, with R = {least:.6g}; at {other} R is {value:.6g}"
                    )
