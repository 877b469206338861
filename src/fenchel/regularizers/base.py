r"""Base class of regularizers: convex functions Omega of the weights, with their conjugates.

.. math:: \Omega^*(v) = \sup_w\; v\cdot w - \Omega(w), \qquad v = X^T\theta/\lambda, \qquad w = \nabla\Omega^*(v)

(Zhang 2002, eqs. 8 and 9.)  All functions add the terms of the outputs where weights are (k, d).

=============================  =============================================================
symbol                         here
=============================  =============================================================
:math:`\Omega`, subgradient    ``value``, ``gradient``
:math:`\Omega^*`               ``conjugate``
:math:`\nabla\Omega^*`         ``grad_conjugate``
:math:`\nabla^2\Omega^*`       ``hess_conjugate``
:math:`v`                      ``v``, the weights' dual vector :math:`X^T\theta/\lambda`
=============================  =============================================================
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.numerics.rounding import ELEMENTARY, RATIONAL, UNIT, gamma, tree_depth

if TYPE_CHECKING:
    from fenchel.kernels import KernelDesign
    from fenchel.regularizers.compiled import CompiledMirrorMap, CompiledRegularizer
    from fenchel.regularizers.enclosures import EnclosedRegularizer
    from fenchel.regularizers.free_directions import FreeDirections
    from fenchel.regularizers.quadratic_form import QuadraticForm


class DiagonalPlusRankOne(NamedTuple):
    """A Hessian, diag(diagonal) + outer vector vector^T."""

    diagonal: Floats
    outer: float
    vector: Floats


def completed_separably(regularizer: Regularizer, weights: Array, free: NDArray[np.intp], slopes: Floats) -> Floats:
    """``Regularizer.completed`` where the minimizers do not depend on the other weights."""
    found, v = np.array(weights, dtype=np.float64), np.zeros(np.shape(weights)[-1])
    v[free] = slopes
    found[..., free] = regularizer.grad_conjugate(v)[free]
    return found


@dataclass(frozen=True, eq=False)
class Regularizer(abc.ABC):
    r"""Base class of convex regularizers of the weights, with their conjugates.

    A subclass sets ``name`` and implements ``value`` (:math:`\Omega(w) \ge 0`), ``gradient``, ``conjugate``
    (:math:`\Omega^*(v)`), ``grad_conjugate`` (:math:`\nabla\Omega^*(v)`, the weights of a dual point), ``radius`` and
    ``strong_convexity``.

    Attributes
    ----------
    name : str
        The name that users pass as ``regularizer=``.

    See Also
    --------
    fenchel.Problem : Takes a regularizer.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.regularizers import L2, Regularizer
    >>> isinstance(L2(), Regularizer)
    True
    >>> w = np.array([1.0, -2.0])
    >>> float(L2().value(w) + L2().conjugate(L2().gradient(w)) - w @ L2().gradient(w))  # the Fenchel-Young equality
    0.0
    """

    name: ClassVar[str]
    #: whether Omega is half the squared Euclidean norm of the weights
    is_ridge: ClassVar[bool] = False
    #: roundings of a term of Omega and of its conjugate, beside those of the sums
    roundings: ClassVar[float] = ELEMENTARY + RATIONAL

    @property
    def l1_ratio(self) -> float | None:
        """The mixing parameter of the elastic net: 0 for ridge, 1 for the lasso; None for other regularizers."""
        return None

    @property
    def singular_hess(self) -> bool:
        """Whether the Hessian of the conjugate is unbounded near zero, as for q-norms with q > 2."""
        return False

    @property
    def fixes_mass(self) -> bool:
        """Whether Omega is finite only for weights with a given sum."""
        return False

    def __eq__(self, other: object) -> bool:
        """Whether the other is of the same class with equal fields, which may be arrays."""
        if type(self) is not type(other):
            return False
        return all(np.array_equal(value, vars(other)[name]) for name, value in vars(self).items())

    def __hash__(self) -> int:
        parts = (value.tobytes() if isinstance(value, np.ndarray) else value for value in vars(self).values())
        return hash((type(self), *parts))

    def quadratic_form(self) -> QuadraticForm | None:
        """This regularizer if it is half of w^T K w."""
        return None

    def free_directions(self) -> FreeDirections | None:
        """This regularizer if some directions of the weights are not regularized."""
        return None

    def completed(self, weights: Array, free: NDArray[np.intp], slopes: Floats) -> Floats | None:
        """The weights with those of the features ``free`` replaced by the ones that minimize Omega(w) less slopes . w.

        For ``FreeDirections`` with this regularizer as its base; None where the minimizers are not implemented.
        """
        return None

    def kernel(self) -> KernelDesign | None:
        """The Gram matrix if Omega is the norm of its RKHS: half of a^T K a for coefficients a."""
        return None

    def enclosure(self, features: int) -> EnclosedRegularizer | None:
        """Omega and Omega* of that many features in ball arithmetic, which rigorous certificates require; or None."""
        return None

    def hessian(self, weights: Array, v: Array) -> DiagonalPlusRankOne | None:
        """Approximate the Hessian at the weights of one output, for a Newton step towards ``grad_conjugate(v)``.

        None where its smooth part is ``strong_convexity`` times the identity, or where it is not available.
        """
        return None

    @property
    def finite(self) -> bool:
        """Whether every weight vector has a finite Omega."""
        return True

    def centre(self, shape: tuple[int, ...]) -> Floats:
        """Weights of this shape where Omega is smallest."""
        return np.zeros(shape)

    @abc.abstractmethod
    def value(self, weights: Array) -> float:
        """Return Omega(w)."""

    @abc.abstractmethod
    def gradient(self, weights: Array) -> Floats:
        """Return a subgradient of Omega at w."""

    def value_error(self, weights: Array, value: float) -> float:
        """A bound on the rounding error of Omega at these very weights, which was computed as ``value``.

        The default is for a sum of non-negative terms by ``tree_sum``, each with a few elementary functions.
        """
        return gamma(tree_depth(np.size(weights)) + self.roundings) * abs(value)

    def weights_error(self, weights: Array) -> float:
        """A bound on the relative error of the weights: those that certificates are for are this near the stored ones.

        Zero unless floats meet a constraint on the weights up to rounding only.
        """
        return 0.0

    def conjugate_error(self, v: Array, conjugate: float, largest: float, norm: float) -> float:
        r"""A bound on :math:`\Omega^*(v')` less ``conjugate``, the computed :math:`\Omega^*(v)`.

        v' is any vector that differs from v by at most ``largest`` in each component and by at most ``norm`` in the
        Euclidean norm, apart from relative errors of up to eight roundings of each component.  The default takes a sum
        of non-negative terms and a strongly convex :math:`\Omega`: :math:`\nabla\Omega^*` is then
        :math:`1/\sigma`-Lipschitz.
        """
        if self.strong_convexity <= 0.0:
            return math.inf
        own = gamma(tree_depth(np.size(v)) + self.roundings) * abs(conjugate)
        weights, v = np.ravel(self.grad_conjugate(v)), np.ravel(v)
        largest += 8.0 * UNIT * float(np.max(np.abs(v), initial=0.0))
        norm += 8.0 * UNIT * math.sqrt(float(v @ v))
        first = min(largest * float(np.sum(np.abs(weights))), norm * math.sqrt(float(weights @ weights)))
        return own + (1.0 + 1e-6) * (first + 0.5 * norm * norm / self.strong_convexity)

    @abc.abstractmethod
    def conjugate(self, v: Array, scale: float = 1.0) -> float:
        """Return Omega*(scale v)."""

    def relaxed_conjugate(self, v: Array, scale: float = 1.0) -> float:
        """Omega*(scale v) without its equalities, h-bar of Zhang (2002), App. C: violations are charged separately."""
        return self.conjugate(v, scale)

    @property
    def zero_is_dual_feasible(self) -> bool:
        """Whether Omega*(0) is finite, so that theta = 0 is dual feasible."""
        return True

    def conjugate_derivative(self, v: Array, scale: float) -> float:
        """The derivative of Omega*(scale v) in the scale."""
        return float(np.vdot(self.grad_conjugate(scale * np.asarray(v)), v))

    def largest_scale(self, v: Array, error: float = 0.0) -> float:
        """The largest t with a finite Omega*(t v): infinite unless the conjugate is finite on a bounded set only.

        The same t holds for every vector that differs from v by at most ``error`` in each component.
        """
        return math.inf

    def compress(self, v: Array) -> Floats:
        """Return v, or a shorter vector with the same ``conjugate`` and ``conjugate_derivative`` at every scale."""
        return v

    def compress_roundings(self, count: int) -> float:
        """The roundings of ``compress`` for ``count`` components: its entries are norms, sums of as many terms."""
        return count + ELEMENTARY

    def norm_bound(self, v: Array) -> float:
        """A bound on the Euclidean norm of the v that this array represents, up to its rounding."""
        flat = np.ravel(v)
        return math.sqrt(float(flat @ flat))

    @abc.abstractmethod
    def grad_conjugate(self, v: Array) -> Floats:
        """The gradient of Omega* at v: the weights of a dual point, eq. (9) of Zhang (2002)."""

    def grad_conjugate_error(self, v: Array, norm: float) -> float:
        """A bound on the Euclidean error of the computed ``grad_conjugate(v)`` if v has an error of at most ``norm``.

        Infinite where no bound is known: then nothing can be proved about the optimal weights.
        """
        return math.inf

    def hess_conjugate(self, v: Array) -> DiagonalPlusRankOne | None:
        """The Hessian of Omega* at v, for one output; None unless it is a diagonal plus a matrix of rank one."""
        return None

    def level_bound(self, radius: float, features: int) -> float:
        """Omega of weights of this Euclidean norm, spread evenly: larger values count as unbounded weights."""
        return self.value(np.full(features, radius / math.sqrt(features)))

    @abc.abstractmethod
    def radius(self, level: float) -> float:
        """The largest Euclidean norm of weights with Omega(w) <= level."""

    def radius_of_features(self, level: float, features: int) -> float:
        """The largest Euclidean norm of that many weights with Omega(w) <= level."""
        return self.radius(level)

    def score_bounds(self, level: float, design: Any) -> Floats:
        """Bound the absolute score of each example wherever Omega(w) <= level."""
        return self.radius_of_features(level, design.shape[1]) * np.sqrt(design.squared_row_norms)

    def compiled(self) -> CompiledRegularizer | None:
        """The regularizer as a NamedTuple of floats for compiled loops; None unless it is separable."""
        return None

    def compiled_mirror_map(self, features: int) -> CompiledMirrorMap | None:
        """The conjugate for compiled loops, if it has the form of ``CompiledMirrorMap``."""
        return None

    def priors(self, features: int) -> Floats:
        """The prior of each feature, an argument of ``CompiledMirrorMap.grad_and_value``."""
        return np.ones(features)

    def typical_hess_conjugate(self, features: int) -> float:
        """A typical second derivative of the conjugate in one component: the start of a step size search."""
        return 1.0

    def row_hess_bound(self, squared_norms: Array, largest: Array, features: int) -> Floats:
        """Estimate the largest second derivative of the conjugate along rows.

        The rows are given by their squared norms and their largest absolute entries.
        Its inverse is the learning rate of Zhang (2002), Sec. 6.2.
        """
        return squared_norms * self.typical_hess_conjugate(features)

    @property
    @abc.abstractmethod
    def strong_convexity(self) -> float:
        """The modulus of strong convexity of Omega with respect to the Euclidean norm."""
