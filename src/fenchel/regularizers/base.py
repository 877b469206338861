"""What every regularizer offers: functions of the weights, for any number of outputs."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fenchel.kernels import KernelDesign
    from fenchel.regularizers.free_directions import FreeDirections
    from fenchel.regularizers.quadratic_form import QuadraticForm


class CompiledRegularizer(Protocol):
    """What a compiled loop asks of a regularizer that acts on each weight alone: a NamedTuple of floats."""

    def linear(self) -> bool:
        """Whether ``weight`` is the identity: a constant, so that loops are compiled for one case."""
        ...

    def weight(self, v: float) -> float:
        """One component of ``transfer``."""
        ...

    def steepness(self, v: float, reach: float) -> float:
        """The largest slope of ``weight`` within ``reach`` of v."""
        ...


class CompiledMirrorMap(Protocol):
    r"""What a compiled loop asks of a conjugate of the form :math:`\Omega^*(v) = G(\sum_j h_j(v_j))`.

    A NamedTuple of floats.  The weights are :math:`w_j = G'(z)\,h_j'(v_j)` with :math:`z = \sum_j h_j(v_j)`, so that
    one number, z, is all that ties features together.  ``frame`` and ``floor`` keep the numbers within the range of
    floats; they are chosen from the extreme components of v.
    """

    def coupled(self) -> bool:
        """Whether z matters at all."""
        ...

    def rescale(self, top: float, bottom: float) -> tuple[float, float]:
        """Frame and floor for components of v between bottom and top."""
        ...

    def grad_and_value(self, v: float, prior: float, frame: float, floor: float) -> tuple[float, float]:
        """h'(v) and h(v) in this frame, for a feature of this prior."""
        ...

    def can_update(self, v: float, shift: float) -> bool:
        """Whether ``update`` is as accurate as ``grad_and_value`` is."""
        ...

    def update(self, grad: float, value: float, v: float, shift: float, frame: float) -> tuple[float, float]:
        """The grad_and_value at v + shift from the one at v, cheaper than ``grad_and_value``."""
        ...

    def outer_grad(self, total: float, frame: float) -> float:
        """G'(z) for a z in this frame; zero where there are no weights."""
        ...


class DiagonalPlusRankOne(NamedTuple):
    """A second derivative, diag(diagonal) + outer vector vector^T."""

    diagonal: NDArray[np.float64]
    outer: float
    vector: NDArray[np.float64]


@dataclass(frozen=True)
class Regularizer(abc.ABC):
    r"""Base class of convex regularizers of the weights, with their conjugates.

    A subclass sets ``name`` and implements ``value`` (:math:`\Omega(w) \ge 0`), ``gradient``, ``conjugate``
    (:math:`\Omega^*(v)`), ``conjugate_slope``, ``grad_conjugate`` (:math:`\nabla\Omega^*(v)`, the weights of a dual
    point), ``radius`` and ``strong_convexity``.

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

    @property
    def l1_ratio(self) -> float | None:
        """rho if Omega is (1 - rho)/2 |w|^2 + rho |w|_1: 0 for ridge, 1 for the lasso; None for other regularizers."""
        return None

    @property
    def steep_conjugate(self) -> bool:
        """Whether the Hessian of the conjugate is infinite at zero, as for q-norms with q > 2."""
        return False

    @property
    def fixes_mass(self) -> bool:
        """Whether Omega is finite only for weights with a given sum."""
        return False

    def quadratic_form(self) -> QuadraticForm | None:
        """This regularizer if it is half of w^T K w."""
        return None

    def free_directions(self) -> FreeDirections | None:
        """This regularizer if some directions of the weights are not regularized."""
        return None

    def kernel(self) -> KernelDesign | None:
        """The Gram matrix if Omega is the norm of its RKHS: half of a^T K a for coefficients a."""
        return None

    def hessian(self, weights: NDArray, dual: NDArray) -> DiagonalPlusRankOne | None:
        """About the Hessian at the weights of one output, for a Newton step towards ``grad_conjugate(dual)``.

        None where it is ``strong_convexity`` times the identity, beside absolute values, or not available.
        """
        return None

    @property
    def finite(self) -> bool:
        """Whether every weight vector has a finite Omega."""
        return True

    def centre(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Weights of this shape where Omega is smallest."""
        return np.zeros(shape)

    @abc.abstractmethod
    def value(self, weights: NDArray) -> float:
        """Return Omega(w)."""

    @abc.abstractmethod
    def gradient(self, weights: NDArray) -> NDArray[np.float64]:
        """Return a subgradient of Omega at w."""

    @abc.abstractmethod
    def conjugate(self, dual: NDArray, scale: float = 1.0) -> float:
        """Return Omega*(scale v)."""

    def relaxed_conjugate(self, dual: NDArray, scale: float = 1.0) -> float:
        """Omega*(scale v) without its equalities, h-bar of Zhang (2002), App. C: what they lack is charged apart."""
        return self.conjugate(dual, scale)

    @property
    def zero_is_dual_feasible(self) -> bool:
        """Whether Omega*(0) is finite, so that theta = 0 proves something."""
        return True

    @abc.abstractmethod
    def conjugate_slope(self, dual: NDArray, scale: float) -> float:
        """The derivative of Omega*(scale v) in the scale."""

    def largest_scale(self, dual: NDArray) -> float:
        """The largest t with a finite Omega*(t v): infinite unless the conjugate is finite on a bounded set only."""
        return math.inf

    def compress(self, dual: NDArray) -> NDArray[np.float64]:
        """A shorter vector, if there is one, with the same ``conjugate`` and ``conjugate_slope`` at every scale."""
        return dual

    @abc.abstractmethod
    def grad_conjugate(self, dual: NDArray) -> NDArray[np.float64]:
        """The gradient of Omega* at v: the weights that belong to a dual point, eq. (9) of Zhang (2002)."""

    def hess_conjugate(self, dual: NDArray) -> DiagonalPlusRankOne | None:
        """The second derivative of Omega* at v, for one output; None where it is no diagonal with a product added."""
        return None

    def level_bound(self, reach: float, features: int) -> float:
        """A level of Omega that no reasonable model exceeds: that of weights of this length, spread evenly."""
        return self.value(np.full(features, reach / math.sqrt(features)))

    @abc.abstractmethod
    def radius(self, level: float) -> float:
        """The largest Euclidean norm of weights with Omega(w) <= level."""

    def radius_among(self, level: float, features: int) -> float:
        """The same for that many weights: ``radius``, unless their number matters."""
        return self.radius(level)

    def reach(self, level: float, design: Any) -> NDArray[np.float64]:
        """Bound the absolute score of each example wherever Omega(w) <= level."""
        return self.radius_among(level, design.shape[1]) * np.sqrt(design.squared_row_norms)

    def compiled(self) -> CompiledRegularizer | None:
        """For compiled loops: a NamedTuple of floats, or None if the regularizer does not act on each weight alone."""
        return None

    def compiled_mirror_map(self, features: int) -> CompiledMirrorMap | None:
        """For compiled loops, where the conjugate has the form that ``CompiledMirrorMap`` says."""
        return None

    def priors(self, features: int) -> NDArray[np.float64]:
        """What ``CompiledMirrorMap.node`` is told of each feature."""
        return np.ones(features)

    def typical_hess_conjugate(self, features: int) -> float:
        """About what the second derivative of the conjugate is in one component: where a search for steps starts."""
        return 1.0

    def steepest(self, squared_norms: NDArray, largest: NDArray, features: int) -> NDArray[np.float64]:
        """About the largest second derivative of the conjugate along rows of these squared norms and largest entries.

        One over it is the learning rate that Zhang (2002), Sec. 6.2 advises.
        """
        return squared_norms * self.typical_hess_conjugate(features)

    @property
    @abc.abstractmethod
    def strong_convexity(self) -> float:
        """The modulus with respect to the Euclidean norm."""
