"""Losses of support vector regression: zero for errors up to epsilon.

Zhang (2002), eq. (18) with p = 1 is the epsilon-insensitive loss, and twice (18) with p = 2 its square.
``EpsilonInsensitive(power=p)`` is (18) itself, with its 1/p: p = 2 has kappa = 1, other powers are in ``losses.power``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from fenchel.losses.base import Loss
from fenchel.losses.power import OfPower, PowerLoss
from fenchel.losses.residual import CompiledResidual, ResidualLoss
from fenchel.validation import check_number


@dataclass(frozen=True)
class _Tube(ResidualLoss):
    """The epsilon-insensitive loss, or half its square."""

    name: ClassVar[str] = "epsilon_insensitive"
    epsilon: float
    squared: bool

    @cached_property
    def shape(self) -> CompiledResidual:
        kappa, bound = (1.0, math.inf) if self.squared else (0.0, 1.0)
        return CompiledResidual(self.epsilon, kappa, bound, bound)


@dataclass(frozen=True)
class EpsilonInsensitive(OfPower):
    """Epsilon-insensitive loss, max(0, abs(s - y) - epsilon), of support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this size cost nothing; at least 0.
    power : float, default=1.0
        The exponent p >= 1 of ``max(0, abs(s - y) - epsilon)^p / p``.

    See Also
    --------
    SquaredEpsilonInsensitive : Twice ``EpsilonInsensitive(power=2)``.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value(np.array([1.25, 3.0]), np.array([1.0, 1.0]))
    array([0. , 1.5])
    """

    name: ClassVar[str] = "epsilon_insensitive"
    task: ClassVar[str] = "regression"
    epsilon: float = 0.1
    power: float = 1.0

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, least=0.0)
        check_number("power", self.power, least=1.0)

    @cached_property
    def form(self) -> Loss:
        if self.power in (1.0, 2.0):
            return _Tube(self.epsilon, self.power == 2.0)
        return PowerLoss(self.task, float(self.epsilon), float(self.power))


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(ResidualLoss):
    """Squared epsilon-insensitive loss, max(0, abs(s - y) - epsilon)^2.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this size cost nothing; at least 0.

    See Also
    --------
    EpsilonInsensitive : Other powers.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=0.5).value(np.array([1.25, 3.0]), np.array([1.0, 1.0]))
    array([0.  , 2.25])
    """

    name: ClassVar[str] = "squared_epsilon_insensitive"
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, least=0.0)

    @cached_property
    def shape(self) -> CompiledResidual:
        return CompiledResidual(self.epsilon, 0.5, math.inf, math.inf)
