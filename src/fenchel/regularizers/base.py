"""What every regularizer offers: functions of the weights, for any number of outputs."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


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
    def conjugate(self, dual: NDArray) -> float:
        """Omega*(v)."""

    @abc.abstractmethod
    def transfer(self, dual: NDArray) -> NDArray[np.float64]:
        """The gradient of Omega* at v: the weights that belong to a dual point, eq. (9) of Zhang (2002)."""

    @abc.abstractmethod
    def radius(self, level: float) -> float:
        """The largest Euclidean norm of weights with Omega(w) <= level."""

    @property
    @abc.abstractmethod
    def strong_convexity(self) -> float:
        """The modulus with respect to the Euclidean norm."""
