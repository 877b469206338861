r"""Ridge with unregularized directions: Zhang (2002), App. C and D, eq. (36).

The rows of C are directions in which weights are not regularized, or have a linear price b:

.. math::
    \Omega(w) = \inf_\sigma\; \tfrac12\|w - C^T\sigma\|^2 + b\cdot\sigma
    = \tfrac12\|\Pi w\|^2 + v_0\cdot w - \tfrac12\|v_0\|^2, \qquad
    \Omega^*(v) = \begin{cases}\tfrac12\|v\|^2 & Cv = b\\ \infty & \text{else}\end{cases}

with :math:`\Pi = I - C^T(CC^T)^{-1}C` and :math:`v_0 = C^T(CC^T)^{-1}b`.  Unregularized features are
unit vectors as rows of C with b = 0 (``FreeDirections.of_features``); a free intercept is the same for a constant
feature.  With a price :math:`\Omega` is not bounded below, and a problem has a minimum only if some dual point meets
:math:`CX^T\theta = \lambda b`.

A dual point does not determine the weights: ``grad_conjugate`` returns those whose part in the free directions is
:math:`v_0`, and the multipliers of :math:`Cv = b` give the rest, eq. (38).

With another base the directions are features (``free_features``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import gamma
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.direction_checks import check_lengths, checked_directions, checked_prices
from fenchel.regularizers.enclosures import EnclosedFreeDirections
from fenchel.regularizers.free_features import EnclosedFreeFeatures, FreeFeatures
from fenchel.regularizers.l2 import L2
from fenchel.regularizers.price_origin import Origin, origin_of
from fenchel.validation import check_integer

#: smallest eigenvalue of the Gram matrix of the normalized directions below which they count as linearly dependent
_SMALLEST_EIGENVALUE = 1e-10
#: distance of Cv from b that counts as rounding, relative to the sizes of the terms of both
_EQUALITY_TOLERANCE = 1e-9


def _of_squares(error: float, vectors: Array) -> float:
    """The error of half the squared norm of vectors that are off by ``error``."""
    size = math.sqrt(float(np.sum(np.square(vectors))))
    return error * (size + 0.5 * error) + gamma(np.size(vectors) + 8) * size**2


@dataclass(frozen=True, eq=False)
class FreeDirections(Regularizer):
    r"""Ridge, or another regularizer, with directions of the weights that are not regularized, or have a linear price.

    .. math:: \Omega(w) = \inf_\sigma\; \Omega_0(w - C^T\sigma) + b\cdot\sigma

    where :math:`\Omega_0`, the base, is half the squared norm unless another one is given.

    Parameters
    ----------
    directions : array-like or sparse matrix of shape (m, d)
        The matrix C, whose rows are the free directions.
    prices : float or array-like of shape (m,), default=0.0
        The prices b of the directions.
    base : Regularizer, default=L2()
        The regularizer of the other directions.  With a base other than ridge every row of C must have one nonzero
        entry, a free feature: ``ElasticNet``, ``QuadraticForm``, ``UnnormalizedEntropy``, and without prices ``QNorm``
        and ``Entropy(balanced=True)``.

    See Also
    --------
    L2 : Ridge, which regularizes all directions.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.  App. C and D.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import FreeDirections
    >>> free = FreeDirections.of_features([0], 2)
    >>> round(float(free.value(np.array([100.0, 2.0]))), 9)
    2.0
    """

    directions: Any
    prices: Any = 0.0
    #: the regularizer of the other directions
    base: Regularizer = field(default_factory=L2)
    name: ClassVar[str] = "free_directions"

    def __post_init__(self) -> None:
        if not isinstance(self.base, Regularizer):
            raise FenchelError(f"base must be a Regularizer such as L2() or ElasticNet(), got {self.base!r}")
        directions = checked_directions(self.directions)
        object.__setattr__(self, "directions", directions)
        object.__setattr__(self, "prices", checked_prices(self.prices, directions.shape[0]))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            gram = directions @ directions.T
        gram = gram.toarray() if sp.issparse(gram) else gram
        check_lengths(directions, gram)
        lengths = np.sqrt(np.diag(gram))
        least = float(np.linalg.eigvalsh(gram / np.outer(lengths, lengths))[0])
        if least < _SMALLEST_EIGENVALUE:
            raise FenchelError("directions has linearly dependent rows; remove rows that the others span")
        factor = cho_factor(gram)
        object.__setattr__(self, "_factor", factor)
        origin = origin_of(directions, cho_solve(factor, self.prices), self.prices, lengths, least)
        object.__setattr__(self, "_origin", origin)
        features = None if self.base.is_ridge else FreeFeatures.of(directions, self.prices, self.base)
        object.__setattr__(self, "_features", features)

    @classmethod
    def of_features(cls, indices: Iterable[int], n_features: int, base: Regularizer | None = None) -> FreeDirections:
        """The features with these indices (negative ones count from the end) are not regularized.

        All others have the regularizer ``base``, ridge if that is None.
        """
        try:
            given = np.array(list(indices))
        except TypeError as error:
            raise FenchelError(f"indices must be a list of feature indices, got {indices!r}") from error
        if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
            raise FenchelError("indices must be a list of at least one integer: the features that are not regularized")
        check_integer("n_features", n_features, least=1)
        if np.any(given < -n_features) or np.any(given >= n_features):
            raise FenchelError(f"indices must lie in 0..{n_features - 1}, got {given.tolist()}")
        chosen = np.unique(given % n_features)
        if len(chosen) < len(given):
            raise FenchelError(f"indices names a feature twice: {given.tolist()}")
        ones = (np.ones(len(chosen)), (np.arange(len(chosen)), chosen))
        return cls(sp.csr_array(ones, shape=(len(chosen), n_features)), base=L2() if base is None else base)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FreeDirections) or self.directions.shape != other.directions.shape:
            return False
        difference = self.directions - other.directions
        same = not np.any(difference.data if sp.issparse(difference) else difference)
        return same and np.array_equal(self.prices, other.prices) and self.base == other.base

    def __hash__(self) -> int:
        return hash((self.directions.shape, self.prices.tobytes(), self.base))

    def free_directions(self) -> FreeDirections:
        return self

    @property
    def free_features(self) -> FreeFeatures | None:
        """The free features, with a base other than ridge."""
        found: FreeFeatures | None = vars(self)["_features"]
        return found

    @property
    def finite(self) -> bool:
        return self.base.finite

    def centre(self, shape: tuple[int, ...]) -> Floats:
        return self.base.centre(shape)

    @property
    def priced(self) -> bool:
        """Whether b is not zero."""
        return bool(np.any(self.prices))

    @property
    def zero_is_dual_feasible(self) -> bool:
        return not self.priced

    @property
    def origin(self) -> Floats:
        """v_0: the shortest v with Cv = b."""
        found: Origin = vars(self)["_origin"]
        return found.vector

    def check_features(self, features: int) -> None:
        """Raise unless C has a column for each feature."""
        if self.directions.shape[1] != features:
            raise FenchelError(f"directions has {self.directions.shape[1]} columns; X has {features} features")

    def multipliers(self, weights: Array) -> Floats:
        """The sigma of the infimum but for the price: C^T sigma is the part of w in the free directions."""
        if self.free_features is not None:
            weights = np.asarray(weights, dtype=np.float64) - self.free_features.complete(weights)
        return cho_solve(vars(self)["_factor"], self.directions @ np.asarray(weights, dtype=np.float64).T).T

    def rest(self, weights: Array) -> Floats:
        """Pi w, projected twice, so that a large part in the free directions cancels to rounding."""
        rest = np.asarray(weights, dtype=np.float64)
        for _ in range(2):
            rest = rest - (self.directions.T @ self.multipliers(rest).T).T
        return rest

    def value(self, weights: Array) -> float:
        if self.free_features is not None:
            return self.free_features.value(weights)
        if not self.priced:
            rows = np.atleast_2d(self.rest(weights))
            return 0.5 * float(np.vdot(rows, rows))
        rest, sigma = self._paid(weights)
        return 0.5 * float(np.vdot(rest, rest)) + float(np.sum(sigma @ self.prices))

    def _paid(self, weights: Array) -> tuple[Floats, Floats]:
        """w - C^T sigma and sigma of the infimum: by any other sigma, as rounding makes it, the value is above it."""
        weights = np.asarray(weights, dtype=np.float64)
        sigma = self.multipliers(weights - self.origin)
        sigma = sigma + self.multipliers(weights - self.origin - (self.directions.T @ sigma.T).T)
        return weights - (self.directions.T @ sigma.T).T, sigma

    def gradient(self, weights: Array) -> Floats:
        if self.free_features is not None:
            return self.free_features.fixed(self.base.gradient(self.free_features.complete(weights)))
        return self.rest(weights) + self.origin if self.priced else self.rest(weights)

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        v = scale * np.asarray(v, dtype=np.float64)
        residual = np.abs((self.directions @ v.T).T - self.prices)
        sizes = np.abs(self.directions) @ np.abs(v).T
        met = np.all(residual <= _EQUALITY_TOLERANCE * (sizes.T + np.abs(self.prices)))
        return self.base.conjugate(v) if met else math.inf

    def relaxed_conjugate(self, v: Array, scale: float = 1.0) -> float:
        """Half the squared norms of Pi v and v_0, or the conjugate of the base; the conjugate wherever Cv = b."""
        if not self.priced:
            return self.base.conjugate(self._projected(v), scale)
        # a multiple of a feasible v is infeasible
        if scale != 1.0:
            return math.inf
        if self.free_features is not None:
            return self.base.conjugate(self._projected(v))
        outputs = np.size(v) // self.directions.shape[1]
        return self.base.conjugate(self._projected(v)) + 0.5 * outputs * float(self.origin @ self.origin)

    def value_error(self, weights: Array, value: float) -> float:
        """Any multipliers give an upper bound of the infimum, so only the rounding of w - C^T sigma counts."""
        if self.free_features is not None:
            return self.free_features.value_error(weights)
        if not self.priced:
            return self._square_error(weights, 0.0)
        rest, sigma = self._paid(weights)
        sizes = np.abs(weights) + (np.abs(self.directions).T @ np.abs(sigma).T).T
        error = gamma(self.directions.shape[0] + 4.0) * math.sqrt(float(np.sum(sizes**2)))
        paid = gamma(np.size(sigma) + 8.0) * float(np.sum(np.abs(sigma) @ np.abs(self.prices)))
        return (1.0 + 1e-6) * (_of_squares(error, rest) + paid)

    def weights_error(self, weights: Array) -> float:
        features = self.free_features
        return 0.0 if features is None else self.base.weights_error(features.complete(weights))

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        if self.free_features is not None or np.shape(v)[-1] != self.directions.shape[1]:
            # of free features, or compressed
            return self.base.conjugate_error(self._projected(v), conjugate, largest, norm)
        origin: Origin = vars(self)["_origin"]
        outputs = np.size(v) // self.directions.shape[1]
        return self._square_error(v, norm) + outputs * _of_squares(origin.error, origin.vector)

    def _square_error(self, vectors: Array, norm: float) -> float:
        rest = self.rest(vectors)
        removed = np.abs(self.directions).T @ np.abs(self.multipliers(np.asarray(vectors) - rest)).T
        sizes = 2.0 * np.abs(vectors) + np.asarray(removed).T
        error = norm + gamma(4.0 * (self.directions.shape[0] + 4)) * math.sqrt(float(np.sum(sizes**2)))
        return (1.0 + 1e-6) * _of_squares(error, rest)

    def conjugate_derivative(self, v: Array, scale: float) -> float:
        return self.base.conjugate_derivative(self._projected(v), scale)

    def enclosure(self, features: int) -> EnclosedFreeDirections | EnclosedFreeFeatures | None:
        if self.free_features is not None:
            return self.free_features.enclosure(features)
        directions = self.directions.toarray() if sp.issparse(self.directions) else self.directions
        return EnclosedFreeDirections(directions, self.prices, lambda row: self.multipliers(row - self.origin))

    def compress(self, v: Array) -> Floats:
        return np.asarray(v) if self.priced else self.base.compress(self._projected(v))

    def _projected(self, v: Array) -> Floats:
        """Pi v, or v with the components of free features fixed; a compressed v has no part in the free directions."""
        if np.shape(v)[-1] != self.directions.shape[1]:
            return np.asarray(v)
        return self.rest(v) if self.free_features is None else self.free_features.fixed(v)

    def grad_conjugate(self, v: Array) -> Floats:
        """Weights whose gradient is v; for ridge v itself, whose part in the free directions is v_0."""
        return self.base.grad_conjugate(v if self.free_features is None else self.free_features.fixed(v))

    def level_bound(self, radius: float, features: int) -> float:
        """That of the base, since free weights cost nothing."""
        return self.base.level_bound(radius, features)

    def radius(self, level: float) -> float:
        """Infinite: the free directions are not bounded."""
        return math.inf

    @property
    def strong_convexity(self) -> float:
        return 0.0
