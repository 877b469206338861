r"""Powers of q-norms: Zhang (2002), Sec. 5.1 and Appendix E.2 (exponents q' and p' outside the norms).

.. math::
    \Omega(w) = \tfrac{1}{q'}\|w\|_q^{q'}, \qquad \Omega^*(v) = \tfrac{1}{p'}\|v\|_p^{p'}, \qquad
    \nabla\Omega^*(v)_j = \operatorname{sign}(v_j)|v_j|^{p-1}\|v\|_p^{p'-p}, \qquad
    \tfrac1p + \tfrac1q = \tfrac{1}{p'} + \tfrac{1}{q'} = 1

With q' = 2 this is the regularizer of the p-norm algorithms; q = q' = 2 is ridge (L2).  With several outputs the
terms of the outputs are added.

With q > 2 the Hessian of the conjugate is infinite where components of v are zero, so that dual coordinate descent is
slow, the more so the larger q is.  But :math:`\Omega` itself is twice differentiable: with N the norm of w and
:math:`a_j = \operatorname{sign}(w_j)|w_j|^{q-1}`,

.. math:: \nabla^2\Omega(w) = (q-1)N^{q'-q}\operatorname{diag}|w|^{q-2} + (q'-q)N^{q'-2q}\,aa^T

and Newton's method uses it (``hessian``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import FUNCTION, gamma
from fenchel.regularizers.base import DiagonalPlusRankOne, Regularizer, completed_separably
from fenchel.regularizers.enclosures import EnclosedQNorm
from fenchel.validation import check_number

#: smallest |v_j| / norm where a Hessian that is infinite at zero is evaluated
_SMALLEST_COMPONENT = 1e-8
#: relative distance of two weights below which a secant cancels and the tangent is used
_SECANT_DISTANCE = 1e-6
#: entries of a diagonal, relative to the largest, are raised to this: the condition number it allows is 1e12
_SMALLEST_DIAGONAL = 1e-12
#: guards a quotient against 0/0
_TINY = float(np.finfo(np.float64).tiny)


class CompiledQNorm(NamedTuple):
    """The norm for compiled loops: p - 1, p'/p - 1 and p' - 1."""

    exponent: float
    outer: float
    scaling: float

    def coupled(self) -> bool:
        """True: through the norm."""
        return True

    def rescale(self, top: float, bottom: float) -> tuple[float, float]:
        """One over the largest component."""
        largest = max(top, -bottom)
        return (1.0 / largest if largest > 0.0 else 1.0), 0.0

    def grad_and_value(self, v: float, prior: float, frame: float, floor: float) -> tuple[float, float]:
        """|v|^(p-1) with the sign of v, and |v|^p, of v times the frame."""
        size = abs(v) * frame
        if self.exponent == 2.0:
            power = size * size
        elif self.exponent == 0.5:
            power = math.sqrt(size)
        elif self.exponent == 1.0:
            power = size
        else:
            power = size**self.exponent
        return math.copysign(power, v), power * size

    def can_update(self, v: float, shift: float) -> bool:
        """Where the binomial series is as accurate as floats, unless the power is cheap itself."""
        e, size, far = self.exponent, abs(v), abs(shift)
        return far < 0.02 * size and e * far < 0.1 * size and e != 2.0 and e != 0.5 and e != 1.0

    def update(self, grad: float, value: float, v: float, shift: float, frame: float) -> tuple[float, float]:
        """By the binomial series of (1 + shift/v)^(p-1)."""
        e, r = self.exponent, shift / v
        power = 1.0 + (e - 5) * r * (1 / 6) * (1.0 + (e - 6) * r * (1 / 7) * (1.0 + (e - 7) * r * (1 / 8)))
        power = 1.0 + (e - 2) * r * (1 / 3) * (1.0 + (e - 3) * r * (1 / 4) * (1.0 + (e - 4) * r * (1 / 5) * power))
        grad *= 1.0 + e * r * (1.0 + (e - 1) * r * (1 / 2) * power)
        return grad, grad * (v + shift) * frame

    def outer_grad(self, total: float, frame: float) -> float:
        """|v|_p^(p' - p) in this frame."""
        if total <= 0.0:
            return 0.0
        return total**self.outer / (frame if self.scaling == 1.0 else frame**self.scaling)


@dataclass(frozen=True)
class QNorm(Regularizer):
    r"""Power of a q-norm, :math:`\|w\|_q^{q'} / q'`.

    With q > 2 and up to 4000 features the default solver is Newton's method.  With more features only dual coordinate
    descent is available, which takes very many epochs for q > 2.

    Parameters
    ----------
    q : float, default=1.5
        The norm q, above 1.
    power : float, default=2.0
        The power :math:`q'`, above 1.

    See Also
    --------
    L2 : ``QNorm(q=2, power=2)``.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.  Sec. 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import QNorm
    >>> round(float(QNorm(q=2.0).value(np.array([3.0, -4.0]))), 9)
    12.5
    """

    name: ClassVar[str] = "q_norm"
    q: float = 1.5
    power: float = 2.0

    def __post_init__(self) -> None:
        for name in ("q", "power"):
            value = getattr(self, name)
            check_number(name, value, above=1.0)
            object.__setattr__(self, name, float(value))

    @property
    def dual_exponents(self) -> tuple[float, float]:
        """p and p'."""
        return self.q / (self.q - 1.0), self.power / (self.power - 1.0)

    def value(self, weights: Array) -> float:
        return float(np.sum(_norms(weights, self.q) ** self.power)) / self.power

    def gradient(self, weights: Array) -> Floats:
        return _gradient(weights, self.q, self.power)

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        p, power = self.dual_exponents
        return float(np.sum((abs(scale) * _norms(v, p)) ** power)) / power

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        p, power = self.dual_exponents
        features = np.shape(v)[-1]
        norms = _norms(v, p)
        # the p-norm of the error; q-norms and powers amplify relative errors by their exponents
        size = norm * float(features) ** max(0.0, 1.0 / p - 0.5)
        relative = gamma((features + 2.0 * FUNCTION) * (1.0 + 1.0 / p) * power + 2.0 * FUNCTION)
        with np.errstate(over="ignore", divide="ignore"):
            # p' is rounded, which the logarithm of the norm multiplies
            logarithms = np.where(norms > 0.0, np.abs(np.log(norms + size)), 0.0)
            relative += gamma(4.0 * power * float(np.max(logarithms)))
            upper = float(np.sum((norms * (1.0 + 1e-15) + size) ** power)) / power
        return relative * upper + (upper - conjugate)

    def value_error(self, weights: Array, value: float) -> float:
        features = np.shape(weights)[-1]
        return gamma((features + 2.0 * FUNCTION) * (1.0 + 1.0 / self.q) * self.power + 2.0 * FUNCTION) * value

    def compress(self, v: Array) -> Floats:
        return _norms(v, self.dual_exponents[0])

    def grad_conjugate(self, v: Array) -> Floats:
        return _gradient(v, *self.dual_exponents)

    def grad_conjugate_error(self, v: Array, norm: float) -> float:
        """The gradient is 1/(q - 1)-Lipschitz; its powers amplify relative errors by their exponents."""
        if self.strong_convexity <= 0.0:
            return math.inf
        p, features = self.dual_exponents[0], np.shape(v)[-1]
        size = math.sqrt(np.size(v)) * float(np.sum(_norms(v, p)))
        return (1.0 + 1e-6) * (norm / self.strong_convexity + gamma(4.0 * p * (features + 2.0 * FUNCTION)) * size)

    def hess_conjugate(self, v: Array) -> DiagonalPlusRankOne:
        p, power = self.dual_exponents
        v = np.asarray(v, dtype=np.float64)
        norm = float(_norms(v, p)[0])
        if not norm > 0.0:
            return DiagonalPlusRankOne(np.zeros(len(v)), 0.0, v)
        # of v over its norm; below p = 2 the Hessian is infinite at zero, hence the bound
        share = np.abs(v) / norm
        diagonal = (p - 1.0) * norm ** (power - 2.0) * np.maximum(share, _SMALLEST_COMPONENT) ** (p - 2.0)
        return DiagonalPlusRankOne(diagonal, (power - p) * norm ** (power - 2.0), np.copysign(share ** (p - 1.0), v))

    def radius(self, level: float) -> float:
        return self.radius_of_features(level, 1)

    def radius_of_features(self, level: float, features: int) -> float:
        return (self.power * level) ** (1.0 / self.power) * float(features) ** max(0.0, 0.5 - 1.0 / self.q)

    @property
    def strong_convexity(self) -> float:
        """q - 1 for the square of a norm with q <= 2; else 0."""
        return self.q - 1.0 if self.power == 2.0 and self.q <= 2.0 else 0.0

    def row_hess_bound(self, squared_norms: Array, largest: Array, features: int) -> Floats:
        return squared_norms * max(self.dual_exponents[0] - 1.0, 1.0)

    @property
    def singular_hess(self) -> bool:
        return self.q > 2.0

    def hessian(self, weights: Array, v: Array) -> DiagonalPlusRankOne | None:
        """For q > 2; positive semi-definite.

        Where it changes much between w and ``grad_conjugate(v)``, as it does near zero, the diagonal holds secants
        instead of tangents.  The last factor preserves the second derivative along w.
        """
        if not self.singular_hess:
            return None
        q, power = self.q, self.power
        norm = float(_norms(weights, q)[0]) or float(_norms(self.grad_conjugate(v), q)[0])
        if norm == 0.0:
            return DiagonalPlusRankOne(np.ones(len(weights)), 0.0, np.zeros(len(weights)))
        share, slope = weights / norm, v / norm ** (power - 1.0)
        here = np.copysign(np.abs(share) ** (q - 1.0), share)
        goal = np.copysign(np.abs(slope) ** (1.0 / (q - 1.0)), slope)
        far = np.abs(goal - share) > _SECANT_DISTANCE * (np.abs(goal) + np.abs(share))
        secant = (slope - here) / np.where(far, goal - share, 1.0)
        diagonal = np.where(far, secant, (q - 1.0) * np.abs(share) ** (q - 2.0))
        diagonal = np.maximum(diagonal, _SMALLEST_DIAGONAL * np.max(diagonal))
        factor = power - q
        if factor < 0.0:
            factor = max(factor, factor / (q - 1.0) / max(float(here @ (here / diagonal)), _TINY))
        scale = norm ** (power - 2.0)
        return DiagonalPlusRankOne(scale * diagonal, scale * factor, here)

    def enclosure(self, features: int) -> EnclosedQNorm:
        return EnclosedQNorm(self.q, self.power)

    def completed(self, weights: Array, free: NDArray[np.intp], slopes: Floats) -> Floats | None:
        """Zero weights without slopes; with slopes they would depend on the norm of the others."""
        return None if np.any(slopes) else completed_separably(self, weights, free, slopes)

    def compiled_mirror_map(self, features: int) -> CompiledQNorm:
        p, power = self.dual_exponents
        # exact where the exponents are, as for q = 1.5
        p = float(round(p)) if abs(p - round(p)) < 1e-12 else p
        return CompiledQNorm(p - 1.0, power / p - 1.0, power - 1.0)


def _norms(values: Array, q: float) -> Floats:
    """The q-norm of each row, as a column, whatever the size of its entries."""
    absolute = np.abs(np.asarray(values, dtype=np.float64))
    largest = np.max(absolute, axis=-1, keepdims=True, initial=0.0)
    safe = np.where(largest > 0.0, largest, 1.0)
    return largest * np.sum((absolute / safe) ** q, axis=-1, keepdims=True) ** (1.0 / q)


def _gradient(values: Array, q: float, power: float) -> Floats:
    """The gradient of the power of the q-norm over ``power``."""
    values, norms = np.asarray(values, dtype=np.float64), _norms(values, q)
    share = np.abs(values) / np.where(norms > 0.0, norms, 1.0)
    return np.copysign(share ** (q - 1.0) * norms ** (power - 1.0), values)
