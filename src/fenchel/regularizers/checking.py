r"""Check the formulas of a regularizer against each other, at random weights and dual vectors.

=================================================================  ==============================================
law                                                                a violation means
=================================================================  ==============================================
:math:`\Omega(z) \ge \Omega(w) + g\cdot(z - w) + \frac\sigma2      ``gradient`` is wrong, :math:`\Omega` is not
\|z - w\|^2`                                                       convex, or ``strong_convexity`` is too large
:math:`\Omega(w) + \Omega^*(v) \ge w\cdot v` (Fenchel-Young)       ``conjugate`` is too small: false proofs
equality at :math:`v = \nabla\Omega(w)`,                           ``conjugate`` is too large: weak proofs; or
:math:`w = \nabla\Omega^*(v)`                                      ``grad_conjugate`` is wrong
:math:`\|w\| \le` ``radius``:math:`(\Omega(w))`                    ``radius`` is too small
=================================================================  ==============================================
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.numerics.violation import violated
from fenchel.regularizers.base import Regularizer
from fenchel.validation import described

#: sizes of the random vectors, each with as many draws
_SIZES, _DRAWS = (0.1, 1.0, 5.0), 4
#: a point strictly inside of a bounded domain of the conjugate, as a share of its boundary
_INSIDE = 0.9


def check_regularizer(regularizer: Regularizer, features: int = 3) -> None:
    """Raise an error that shows where the formulas of a regularizer contradict each other.

    The value, the gradient, the conjugate and its gradient, the constant of strong convexity and the radius of level
    sets are compared at random weights, the same in each call.  Passing is no proof, but a wrong sign or factor
    does not pass.

    Parameters
    ----------
    regularizer : Regularizer
        The regularizer to check, one of your own for instance.
    features : int, default=3
        The number of weights.

    Raises
    ------
    FenchelError
        If a law is violated; the message has the weights or the dual vector.

    See Also
    --------
    fenchel.losses.check_loss : The same for losses.
    fenchel.risks.check_risk : The same for risks.

    Examples
    --------
    >>> from fenchel.regularizers import ElasticNet, check_regularizer
    >>> check_regularizer(ElasticNet(0.3))
    """
    if not isinstance(regularizer, Regularizer):
        kind = described(regularizer)
        raise FenchelError(f"regularizer must be a Regularizer object, got {kind}: pass an instance of your class")
    rng = np.random.default_rng(0)
    draws = np.concatenate([size * rng.normal(size=(_DRAWS, features)) for size in _SIZES])
    # a multiple that is inside of the domain of the conjugate
    inside = [v * min(1.0, _INSIDE * regularizer.largest_scale(v)) for v in draws]
    duals = np.array([v for v in inside if math.isfinite(regularizer.conjugate(v))])
    attained = [np.asarray(regularizer.grad_conjugate(v), dtype=np.float64) for v in duals]
    for v, w in zip(duals, attained, strict=True):
        if w.shape != v.shape or not np.all(np.isfinite(w)):
            raise FenchelError(f"{_name(regularizer)}: grad_conjugate({v}) must be finite weights of shape {v.shape}")
    weights = [w for w in [*(draws if regularizer.finite else []), *attained] if math.isfinite(regularizer.value(w))]
    if not weights:
        raise FenchelError(f"{_name(regularizer)}: value and conjugate are infinite at everything that was tried")
    values = np.array([regularizer.value(w) for w in weights])
    _check_gradient(regularizer, np.array(weights), values)
    _check_conjugate(regularizer, np.array(weights), values, duals, attained)
    _check_radius(regularizer, np.array(weights), values)


def _check_gradient(regularizer: Regularizer, weights: Floats, values: Floats) -> None:
    """The first law, for each pair of weights."""
    sigma = regularizer.strong_convexity
    for w, value in zip(weights, values, strict=True):
        gradient = np.asarray(regularizer.gradient(w), dtype=np.float64)
        if not np.all(np.isfinite(gradient)):
            # on the boundary of its domain Omega may have no subgradient
            continue
        linear = (weights - w) @ gradient
        least = value + linear + 0.5 * sigma * np.sum((weights - w) ** 2, axis=1)
        bad = violated(least - values, np.abs(values) + np.abs(linear) + abs(value))
        if bad is not None:
            raise FenchelError(
                f"{_name(regularizer)}: Omega({weights[bad]}) = {values[bad]:.6g} is below its bound {least[bad]:.6g} "
                f"from the gradient {gradient} at {w} with strong_convexity={sigma:g}: the gradient is wrong, Omega is "
                "not convex, or strong_convexity is too large"
            )


def _check_conjugate(
    regularizer: Regularizer, weights: Floats, values: Floats, duals: Floats, attained: list[Floats]
) -> None:
    """Fenchel-Young, with equality at the gradients of Omega and of its conjugate."""
    for v, own in zip(duals, attained, strict=True):
        conjugate = regularizer.conjugate(v)
        products = weights @ v
        bad = violated(products - values - conjugate, np.abs(products) + np.abs(values) + abs(conjugate))
        if bad is not None:
            raise FenchelError(
                f"{_name(regularizer)}: conjugate({v}) = {conjugate:.6g} is too small: v.w - Omega(w) = "
                f"{(products - values)[bad]:.6g} at w = {weights[bad]}. Certificates with it would prove too much"
            )
        value, product = regularizer.value(own), float(own @ v)
        excess = np.array(conjugate - (product - value))
        if violated(excess, np.array(abs(conjugate) + abs(product) + abs(value))) is not None:
            raise FenchelError(
                f"{_name(regularizer)}: conjugate({v}) = {conjugate:.6g}, but v.w - Omega(w) = {product - value:.6g} "
                f"at w = grad_conjugate(v) = {own}, where both are equal: grad_conjugate is wrong, or conjugate is too "
                "large"
            )
        halved = np.array(abs(regularizer.conjugate(v, 0.5) - regularizer.conjugate(0.5 * v)))
        if violated(halved, np.array(conjugate)) is not None:
            raise FenchelError(
                f"{_name(regularizer)}: conjugate(v, scale=0.5) differs from conjugate(0.5 v) at v = {v}"
            )


def _check_radius(regularizer: Regularizer, weights: Floats, values: Floats) -> None:
    """Weights are within the radius of their own level."""
    norms = np.sqrt(np.sum(weights**2, axis=1))
    radii = np.array([regularizer.radius_of_features(value, weights.shape[1]) for value in values])
    bad = violated(norms - radii, norms)
    if bad is not None:
        raise FenchelError(
            f"{_name(regularizer)}: radius({values[bad]:.6g}) = {radii[bad]:.6g}, but Omega has this value at "
            f"{weights[bad]}, of norm {norms[bad]:.6g}"
        )


def _name(regularizer: Regularizer) -> str:
    return type(regularizer).__name__
