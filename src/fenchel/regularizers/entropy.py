r"""Entropy of weights that add up to a mass A: Zhang (2002), Sec. 5.1 and Appendix E.4.

.. math::
    \Omega(w) = \sum_j w_j\ln\frac{w_j}{\mu_j}\quad\Bigl(w \ge 0,\ \sum_j w_j = A = \sum_j\mu_j\Bigr), \qquad
    \Omega^*(v) = A\ln\sum_j\frac{\mu_j}{A}e^{v_j}, \qquad
    \nabla\Omega^*(v)_j = A\,\frac{\mu_j e^{v_j}}{\sum_k\mu_k e^{v_k}}

Everything is computed in logarithms, so that a small lam, that is a long v, can't overflow.  Balanced, for weights of
both signs: :math:`w = w^+ - w^-`, as if every row were :math:`[x, -x]`, where both parts share the mass
:math:`A = 2\sum_j\mu_j`, so that :math:`\|w\|_1 \le A`:

.. math::
    \Omega^*(v) = A\ln\sum_j\frac{2\mu_j}{A}\cosh v_j, \qquad
    \Omega(w) = \max_\kappa\; A(1+\kappa) + \sum_j w_j\operatorname{asinh}\frac{w_j}{2e^\kappa\mu_j}
    - \sqrt{w_j^2 + 4e^{2\kappa}\mu_j^2}

The parts are :math:`w^\pm_j = e^\kappa\mu_j e^{\pm v_j}`, and the best :math:`\kappa` gives them the mass A.
With several outputs each has a mass of its own.

Stored weights have the mass A up to rounding only.  The model that a certificate is for is their multiple of mass A
exactly (``weights_error``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax, xlogy

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.error_free import exact_sum
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.numerics.rounding import FUNCTION, RATIONAL, gamma
from fenchel.regularizers.base import DiagonalPlusRankOne, Regularizer, completed_separably
from fenchel.regularizers.enclosures import EnclosedEntropy
from fenchel.regularizers.prior import checked_prior, relative_entropy, relative_entropy_error, spread_prior
from fenchel.regularizers.unnormalized_entropy import CompiledEntropy
from fenchel.validation import check_number

#: the multiplier kappa is found up to the rounding of a sum, which moves Omega by at most |kappa| times as much; where
#: e^kappa is below that rounding, kappa counts no longer
_MULTIPLIERS = 40.0


@dataclass(frozen=True, eq=False)
class Entropy(Regularizer):
    r"""Relative entropy to a prior, of weights that sum to a fixed mass.

    .. math:: \Omega(w) = \sum_j w_j\ln\frac{w_j}{\mu_j}, \qquad w \ge 0, \quad \sum_j w_j = \sum_j \mu_j

    Parameters
    ----------
    mass : float, default=None
        The sum of the weights; None is 1, or the sum of the prior.  If a prior is given as well, both must agree.
    prior : float or array-like of shape (d,), default=None
        The prior :math:`\mu`, positive; None is the same for all features.
    balanced : bool, default=False
        Whether weights have both signs, :math:`w = w^+ - w^-`, as if every row were [x, -x].

    See Also
    --------
    UnnormalizedEntropy : Without a fixed mass.
    fenchel.WinnowClassifier : The estimator with these regularizers.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.  Sec. 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import Entropy
    >>> bool(abs(Entropy(mass=1.0).value(np.array([0.5, 0.5]))) < 1e-12)
    True
    """

    name: ClassVar[str] = "entropy"
    mass: float | None = None
    prior: float | Floats | None = None
    balanced: bool = False

    @property
    def fixes_mass(self) -> bool:
        return True

    def __post_init__(self) -> None:
        mass = self.mass
        if mass is not None:
            check_number("mass", mass, above=0.0)
            object.__setattr__(self, "mass", float(mass))
        object.__setattr__(self, "balanced", bool(self.balanced))
        if self.prior is None:
            return
        prior = checked_prior(self.prior)
        object.__setattr__(self, "prior", prior)
        if mass is None:
            return
        if np.ndim(prior) == 0:
            raise FenchelError("a number as prior implies mass = prior * n_features; set only one of prior and mass")
        total = float(np.sum(prior)) * self._signs
        if not math.isclose(total, mass, rel_tol=1e-9):
            raise FenchelError(
                f"prior has the sum {total:g}, but mass={mass:g}; set only one of prior and mass, or make them agree"
            )

    @property
    def _signs(self) -> float:
        return 2.0 if self.balanced else 1.0

    def priors(self, features: int) -> Floats:
        if self.prior is None:
            return np.full(features, (1.0 if self.mass is None else self.mass) / (self._signs * features))
        return spread_prior(self.prior, features)

    def completed(self, weights: Array, free: NDArray[np.intp], slopes: Floats) -> Floats | None:
        """Zero weights, balanced and without slopes; otherwise free weights would share the mass with the others."""
        if not self.balanced or np.any(slopes):
            return None
        return completed_separably(self, weights, free, slopes)

    def total(self, features: int) -> float:
        """The mass A."""
        return self._signs * float(np.sum(self.priors(features)))

    @property
    def finite(self) -> bool:
        return False

    def centre(self, shape: tuple[int, ...]) -> Floats:
        return np.zeros(shape) if self.balanced else np.broadcast_to(self.priors(shape[-1]), shape).copy()

    def value(self, weights: Array) -> float:
        rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        prior, mass = self.priors(rows.shape[-1]), self.total(rows.shape[-1])
        if self.balanced:
            if np.any(np.sum(np.abs(rows), axis=-1) > mass * (1.0 + DOMAIN_TOLERANCE)):
                return math.inf
            return sum(_balanced_value(row, prior, mass, self._multiplier(row, prior, mass)) for row in rows)
        if np.any(np.abs(np.sum(rows, axis=-1) - mass) > mass * DOMAIN_TOLERANCE):
            return math.inf
        # - w + mu adds up to zero, and makes the rounding of the sum of the weights a second-order effect
        return float(np.sum(relative_entropy(rows, prior)))

    def gradient(self, weights: Array) -> Floats:
        """A subgradient whose ``grad_conjugate`` is w; unless balanced, any constant may be added to it."""
        rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        prior, mass = self.priors(rows.shape[-1]), self.total(rows.shape[-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            if not self.balanced:
                return np.log(weights / prior)
            found = [np.arcsinh(row / (2.0 * math.exp(self._multiplier(row, prior, mass)) * prior)) for row in rows]
        return np.stack(found).reshape(np.shape(weights))

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        v = scale * np.atleast_2d(np.asarray(v, dtype=np.float64))
        prior, mass = self.priors(v.shape[-1]), self.total(v.shape[-1])
        both = np.concatenate([v, -v], axis=-1) if self.balanced else v
        shares = np.concatenate([prior, prior]) / mass if self.balanced else prior / mass
        if np.max(np.abs(v), initial=0.0) < 1.0:
            # log1p and expm1 are accurate near zero
            return mass * float(np.sum(np.log1p(np.expm1(both) @ shares)))
        return mass * float(np.sum(logsumexp(both, b=shares, axis=-1)))

    def value_error(self, weights: Array, value: float) -> float:
        """The terms w ln(w/mu), w and mu, and the change of Omega from the stored weights to those of mass A."""
        rows = np.atleast_2d(np.abs(np.asarray(weights, dtype=np.float64)))
        prior, error = self.priors(rows.shape[-1]), self.weights_error(weights)
        if not self.balanced:
            # along multiples of the weights Omega moves by sum w ln(w/mu)
            logarithms = (1.0 + 1e-6) * float(np.sum(np.abs(xlogy(rows, rows / prior))))
            return relative_entropy_error(rows, prior, value) + error * (logarithms + float(np.sum(rows)) * error)
        terms = float(np.sum(np.abs(xlogy(rows, rows / prior)) + _MULTIPLIERS * (rows + prior)))
        return (gamma(2.0 * rows.shape[-1] + FUNCTION + RATIONAL) + error) * terms

    def weights_error(self, weights: Array) -> float:
        """The model is the multiple of the stored weights with the mass A exactly; balanced, with at most A."""
        rows = np.atleast_2d(np.abs(np.asarray(weights, dtype=np.float64)))
        # sums that are rounded once, of the prior and of the weights, their quotient, and each entry of the prior
        mass, rounded = self._signs * exact_sum(self.priors(rows.shape[-1])), gamma(5.0)
        sums = np.array([exact_sum(row) for row in rows])
        missed = sums / mass - 1.0
        if self.balanced:
            missed = np.maximum(missed, 0.0)
            return float(np.max(np.where(sums < mass * (1.0 - rounded), 0.0, missed + rounded)))
        return float(np.max(np.abs(missed))) + rounded

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        """Omega* is the mass times a logarithmic mean of exponentials, which moves by no more than v does."""
        v = np.atleast_2d(np.asarray(v, dtype=np.float64))
        mass, size = self.total(v.shape[-1]), float(np.max(np.abs(v), initial=0.0))
        own = gamma(2.0 * v.shape[-1] + 2.0 * FUNCTION + RATIONAL) * (1.0 + size)
        return (1.0 + 1e-6) * mass * len(v) * (largest + own)

    def grad_conjugate(self, v: Array) -> Floats:
        v = np.asarray(v, dtype=np.float64)
        prior, mass = self.priors(v.shape[-1]), self.total(v.shape[-1])
        if not self.balanced:
            return mass * softmax(v + np.log(prior), axis=-1)
        # 2 mu sinh v over the sum of 2 mu cosh v, relative to the largest, and accurate near zero
        size = np.abs(v)
        large = prior * np.exp(size - np.max(size, axis=-1, keepdims=True, initial=0.0))
        difference, total = -large * np.expm1(-2.0 * size), large * (1.0 + np.exp(-2.0 * size))
        return mass * np.copysign(difference, v) / np.sum(total, axis=-1, keepdims=True)

    def hess_conjugate(self, v: Array) -> DiagonalPlusRankOne:
        weights = self.grad_conjugate(v)
        mass, parts = self.total(len(weights)), weights
        if self.balanced:
            # the sum of both parts of each weight
            size = np.abs(np.asarray(v, dtype=np.float64))
            large = self.priors(len(size)) * np.exp(size - np.max(size, initial=0.0))
            both = large * (1.0 + np.exp(-2.0 * size))
            parts = mass * both / np.sum(both)
        return DiagonalPlusRankOne(parts, -1.0 / mass, weights)

    def level_bound(self, radius: float, features: int) -> float:
        """A bound on Omega: its maximum has all mass on the feature with the smallest prior."""
        mass = self.total(features)
        return mass * (1.0 + math.log(mass / float(np.min(self.priors(features)))))

    def radius(self, level: float) -> float:
        return self.radius_of_features(level, np.size(self.prior) if self.prior is not None else 1)

    def radius_of_features(self, level: float, features: int) -> float:
        """The mass, since the Euclidean norm is at most the sum of the absolute values."""
        return self.total(features) * (1.0 + DOMAIN_TOLERANCE)

    @property
    def strong_convexity(self) -> float:
        """1/A: the conjugate's second derivative along x is A times a variance of entries of x and zeros."""
        if isinstance(self.prior, float):
            return 0.0  # the mass grows with the number of features
        return 1.0 / self.total(np.size(self.prior) if self.prior is not None else 1)

    def enclosure(self, features: int) -> EnclosedEntropy:
        return EnclosedEntropy(self.priors(features), self.balanced, self._multiplier)

    def compiled_mirror_map(self, features: int) -> CompiledEntropy:
        return CompiledEntropy(self.total(features), float(self.balanced))

    def typical_hess_conjugate(self, features: int) -> float:
        return self.total(features) / features

    def row_hess_bound(self, squared_norms: Array, largest: Array, features: int) -> Floats:
        return largest**2 * self.total(features)

    def _multiplier(self, weights: Array, prior: Array, mass: float) -> float:
        """The kappa that gives the two parts of the weights the mass A; -inf if |w|_1 is A already."""
        absolute = np.abs(weights)

        def missing(kappa: float) -> float:
            return float(np.sum(np.hypot(absolute, 2.0 * math.exp(kappa) * prior))) - mass

        # at kappa = 0 the parts have at least the mass of the prior, A
        low, high = -700.0, 0.0
        if missing(low) >= 0.0:
            return -math.inf
        for _ in range(200):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if missing(middle) < 0.0 else (low, middle)
        return high


def _balanced_value(weights: Array, prior: Array, mass: float, kappa: float) -> float:
    absolute = np.abs(weights)
    if kappa == -math.inf:
        # one part of every weight is zero
        return float(np.sum(xlogy(absolute, absolute / prior)))
    # with sqrt(w^2 + p^2) = p + w^2/(p + sqrt(w^2 + p^2)) and sum p = e^kappa A nothing cancels for small weights
    parts = 2.0 * math.exp(kappa) * prior
    terms = np.arcsinh(absolute / parts) - absolute / (parts + np.hypot(absolute, parts))
    return float(np.sum(absolute * terms)) - mass * (math.expm1(kappa) - kappa)
