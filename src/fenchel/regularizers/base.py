"""What every regularizer offers: functions of the weights, for any number of outputs."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray


class RegularizerKernel(Protocol):
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


@dataclass(frozen=True)
class Regularizer(abc.ABC):
    r"""A convex function :math:`\Omega(w) \ge 0` with its conjugate :math:`\Omega^*(v)`.

    A new regularizer is one file with a subclass and one line in the registry.
    """

    name: ClassVar[str]

    @abc.abstractmethod
    def value(self, weights: NDArray) -> float:
        """Omega(w)."""

    @abc.abstractmethod
    def gradient(self, weights: NDArray) -> NDArray[np.float64]:
        """A subgradient of Omega at w."""

    @abc.abstractmethod
    def conjugate(self, dual: NDArray, scale: float = 1.0) -> float:
        """Omega*(scale v)."""

    @abc.abstractmethod
    def conjugate_slope(self, dual: NDArray, scale: float) -> float:
        """The derivative of Omega*(scale v) in the scale."""

    def condensed(self, dual: NDArray) -> NDArray[np.float64]:
        """A shorter vector, if there is one, with the same ``conjugate`` and ``conjugate_slope`` at every scale."""
        return dual

    @abc.abstractmethod
    def transfer(self, dual: NDArray) -> NDArray[np.float64]:
        """The gradient of Omega* at v: the weights that belong to a dual point, eq. (9) of Zhang (2002)."""

    @abc.abstractmethod
    def radius(self, level: float) -> float:
        """The largest Euclidean norm of weights with Omega(w) <= level."""

    def reach(self, level: float, design: Any) -> NDArray[np.float64]:
        """A bound on |x_i . w| of each example wherever Omega(w) <= level."""
        return self.radius(level) * np.sqrt(design.squared_row_norms)

    def kernel(self) -> RegularizerKernel | None:
        """For compiled loops: a NamedTuple of floats, or None if the regularizer does not act on each weight alone."""
        return None

    @property
    @abc.abstractmethod
    def strong_convexity(self) -> float:
        """The modulus with respect to the Euclidean norm."""
