r"""Quadratic form (generalized ridge) with an operator K: Zhang (2002), eq. (12).

.. math:: \Omega(w) = \tfrac12 w^T K w, \qquad \Omega^*(v) = \tfrac12 v^T K^{-1} v, \qquad \nabla\Omega^*(v) = K^{-1}v

K is a diagonal (positive numbers, one for each feature), a dense symmetric positive definite matrix, or an object
with ``solve(v)`` = :math:`K^{-1}v`.  With a diagonal a step of dual coordinate descent costs the non-zeros of its row.
With the others :math:`K^{-1}x_i` is dense, so X is whitened once instead: with :math:`K^{-1} = RR^T` and
:math:`w = R\,\tilde w` the problem has the ridge regularizer and the dense design XR (n times d numbers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import UNIT, gamma
from fenchel.regularizers.base import DiagonalPlusRankOne, Regularizer
from fenchel.regularizers.enclosures import EnclosedQuadraticForm, smallest_eigenvalue


class CompiledDiagonal(NamedTuple):
    """A diagonal operator for compiled loops.  One field, since a compiled tuple can't be empty."""

    scale: float

    def coupled(self) -> bool:
        """False: the conjugate is separable."""
        return False

    def rescale(self, top: float, bottom: float) -> tuple[float, float]:
        """No scaling is needed."""
        return 0.0, 0.0

    def grad_and_value(self, v: float, prior: float, frame: float, floor: float) -> tuple[float, float]:
        """v/K_jj, with 1/K_jj as prior; the sum over features is not used."""
        return v * prior, 0.0

    def can_update(self, v: float, shift: float) -> bool:
        """False: ``grad_and_value`` is cheap."""
        return False

    def update(self, grad: float, value: float, v: float, shift: float, frame: float) -> tuple[float, float]:
        """Not used: ``can_update`` is false."""
        return grad, value

    def outer_grad(self, total: float, frame: float) -> float:
        """G' = 1."""
        return self.scale


@dataclass(frozen=True, eq=False)
class QuadraticForm(Regularizer):
    """Quadratic form, half of :math:`w^T K w` (generalized ridge, Tikhonov).

    Parameters
    ----------
    operator : array-like of shape (d,) or (d, d), or object with ``solve``
        The positive definite K: its diagonal, a symmetric matrix, or an object whose ``solve(v)`` returns
        :math:`K^{-1}v`.

    See Also
    --------
    L2 : K is the identity.
    FreeDirections : Directions that are not regularized.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import QuadraticForm
    >>> QuadraticForm(np.array([1.0, 10.0])).value(np.array([1.0, 1.0]))
    5.5
    """

    operator: Any
    name: ClassVar[str] = "quadratic_form"

    def __post_init__(self) -> None:
        if callable(getattr(self.operator, "solve", None)):
            return
        try:
            found = np.array(self.operator, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise FenchelError("operator must be a diagonal, a matrix, or an object with solve") from error
        found.flags.writeable = False
        object.__setattr__(self, "operator", found)
        square = found.ndim == 1 or (found.ndim == 2 and found.shape[0] == found.shape[1])
        if not square or found.size == 0 or not np.all(np.isfinite(found)):
            raise FenchelError(f"operator must be (d,) or (d, d) and finite, got shape {found.shape}")
        if found.ndim == 1 and not np.all(found > 0):
            raise FenchelError("operator has entries that are not positive; K must be positive definite")
        if found.ndim == 2 and not np.allclose(found, found.T, rtol=1e-10, atol=1e-12 * np.max(np.abs(found))):
            raise FenchelError("operator is not symmetric: K must be symmetric positive definite")
        if found.ndim == 2:
            # half the sum with the transpose has the same quadratic form
            found = 0.5 * (found + found.T)
            found.flags.writeable = False
            object.__setattr__(self, "operator", found)
            _factor(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuadraticForm):
            return False
        if isinstance(self.operator, np.ndarray) and isinstance(other.operator, np.ndarray):
            return np.array_equal(self.operator, other.operator)
        return self.operator is other.operator

    def __hash__(self) -> int:
        return hash(self.operator.tobytes() if isinstance(self.operator, np.ndarray) else id(self.operator))

    def quadratic_form(self) -> QuadraticForm:
        return self

    @property
    def diagonal(self) -> bool:
        """Whether K is given by its diagonal."""
        return isinstance(self.operator, np.ndarray) and self.operator.ndim == 1

    def value(self, weights: Array) -> float:
        weights = np.asarray(weights, dtype=np.float64)
        return 0.5 * float(np.vdot(weights, self.gradient(weights)))

    def gradient(self, weights: Array) -> Floats:
        weights = np.asarray(weights, dtype=np.float64)
        if self.diagonal:
            return weights * self.operator
        if isinstance(self.operator, np.ndarray):
            return weights @ self.operator
        # K = R^-T R^-1
        root = self.root(weights.shape[-1])
        inner = solve_triangular(root, weights.T, lower=True)
        return np.asarray(solve_triangular(root, inner, lower=True, trans="T").T)

    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        return 0.5 * scale**2 * float(np.vdot(v, self.grad_conjugate(v)))

    def value_error(self, weights: Array, value: float) -> float:
        weights = np.abs(np.asarray(weights, dtype=np.float64))
        if not isinstance(self.operator, np.ndarray):
            return gamma(4.0 * weights.shape[-1] + 8) * value
        product = weights * self.operator if self.diagonal else weights @ np.abs(self.operator)
        return gamma(2.0 * weights.size + 8) * 0.5 * float(np.vdot(weights, product))

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        r"""With :math:`r = v - Kw` the conjugate is :math:`(v + r)\cdot w/2 + r^TK^{-1}r/2` for every w."""
        v = np.asarray(v, dtype=np.float64)
        weights, size = self.grad_conjugate(v), math.sqrt(float(np.sum(v**2)))
        residual = self._residual(v, weights, norm)
        if not self.strong_convexity > 0.0:
            return math.inf
        length = math.sqrt(float(np.sum(weights**2)))
        own = gamma(v.size + 8) * (size + residual) * length
        return (1.0 + 1e-6) * (own + residual * length + residual**2 / self.strong_convexity)

    def grad_conjugate_error(self, v: Array, norm: float) -> float:
        r"""The distance of w from :math:`K^{-1}v` is :math:`\|K^{-1}(v - Kw)\|`."""
        v = np.asarray(v, dtype=np.float64)
        weights = self.grad_conjugate(v)
        modulus = self.strong_convexity
        return (1.0 + 1e-6) * self._residual(v, weights, norm) / modulus if modulus > 0.0 else math.inf

    def _residual(self, v: Array, weights: Array, norm: float) -> float:
        """A bound on the norm of v - K w, if v has an error of at most ``norm`` and eight roundings."""
        residual = norm + 8.0 * UNIT * math.sqrt(float(np.sum(v**2)))
        if self.diagonal:
            return residual
        removed = v - self.gradient(weights)
        magnitudes = np.abs(v) + (
            np.abs(weights) @ np.abs(self.operator) if isinstance(self.operator, np.ndarray) else np.abs(v)
        )
        return residual + math.sqrt(float(np.sum((np.abs(removed) + gamma(v.shape[-1] + 4) * magnitudes) ** 2)))

    def grad_conjugate(self, v: Array) -> Floats:
        v = np.asarray(v, dtype=np.float64)
        if self.diagonal:
            return v / self.operator
        root = self.root(v.shape[-1])
        return (v @ root) @ root.T

    def completed(self, weights: Array, free: NDArray[np.intp], slopes: Floats) -> Floats:
        """With F the free features, the solution of K_FF w_F = slopes - K_FR w_R."""
        found = np.array(weights, dtype=np.float64)
        rows = np.zeros((len(free), found.shape[-1]))
        rows[np.arange(len(free)), free] = 1.0
        rows, found[..., free] = self.gradient(rows), 0.0
        wanted = slopes - found @ rows.T
        found[..., free] = np.linalg.solve(rows[:, free], np.atleast_2d(wanted).T).T.reshape(wanted.shape)
        return found

    def hess_conjugate(self, v: Array) -> DiagonalPlusRankOne | None:
        return DiagonalPlusRankOne(self.priors(len(v)), 0.0, v) if self.diagonal else None

    def radius(self, level: float) -> float:
        modulus = self.strong_convexity
        return math.sqrt(2.0 * level / modulus) if modulus > 0.0 else math.inf

    def radius_of_features(self, level: float, features: int) -> float:
        if not self.diagonal:
            self.root(features)
        return self.radius(level)

    @property
    def strong_convexity(self) -> float:
        """A proved lower bound on the eigenvalues of K, or 0; an estimate for an object with ``solve``."""
        if self.diagonal:
            return float(np.min(self.operator))
        if isinstance(self.operator, np.ndarray):
            return self._smallest_eigenvalue
        root = vars(self).get("_root")
        return 0.0 if root is None else (1.0 - 1e-10) / float(np.linalg.norm(root, 2)) ** 2

    @cached_property
    def _smallest_eigenvalue(self) -> float:
        return max(0.0, smallest_eigenvalue(self.operator))

    def root(self, features: int) -> Floats:
        """Lower triangular R with R R^T = K^-1, computed once."""
        if "_root" not in vars(self):
            given = isinstance(self.operator, np.ndarray)
            inverse = np.linalg.inv(self.operator) if given else self.operator.solve(np.eye(features))
            object.__setattr__(self, "_root", _factor(0.5 * (inverse + np.transpose(inverse))))
        root: Floats = vars(self)["_root"]
        if len(root) != features:
            raise FenchelError(f"operator is for {len(root)} features; X has {features}")
        return root

    def enclosure(self, features: int) -> EnclosedQuadraticForm | None:
        """None for an object with ``solve``, whose K is not known."""
        return (
            EnclosedQuadraticForm(self.operator, self.grad_conjugate) if isinstance(self.operator, np.ndarray) else None
        )

    def compiled_mirror_map(self, features: int) -> CompiledDiagonal | None:
        return CompiledDiagonal(1.0) if self.diagonal else None

    def priors(self, features: int) -> Floats:
        if not self.diagonal:
            return np.ones(features)
        if len(self.operator) != features:
            raise FenchelError(f"operator has {len(self.operator)} entries for {features} features; they must agree")
        return 1.0 / self.operator

    def typical_hess_conjugate(self, features: int) -> float:
        return float(np.mean(self.priors(features)))


def _factor(matrix: Array) -> Floats:
    try:
        return np.asarray(cholesky(matrix, lower=True))
    except np.linalg.LinAlgError as error:
        raise FenchelError("operator is not positive definite: K must be symmetric positive definite") from error
