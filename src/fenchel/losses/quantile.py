"""Losses of median and quantile regression, which are linear on both sides of the label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from fenchel.losses.enclosures import EnclosedResidual
from fenchel.losses.residual import CompiledResidual, ResidualLoss
from fenchel.numerics.balls import as_ball
from fenchel.validation import check_number


@dataclass(frozen=True)
class Absolute(ResidualLoss):
    """Absolute error, abs(s - y), of median regression.

    See Also
    --------
    Quantile : Other quantiles than the median.
    EpsilonInsensitive : Zero for small errors.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Absolute
    >>> Absolute().value(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    array([0., 2.])
    """

    name: ClassVar[str] = "absolute"

    @cached_property
    def shape(self) -> CompiledResidual:
        return CompiledResidual(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Quantile(ResidualLoss):
    """Quantile (pinball) loss: q (y - s) below the label, (1 - q) (s - y) above it.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile q to estimate, strictly between 0 and 1.

    See Also
    --------
    Absolute : Twice the loss of the median.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Quantile
    >>> Quantile(0.75).value(np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    array([0.75, 0.25])
    """

    name: ClassVar[str] = "quantile"
    quantile: float = 0.5

    def __post_init__(self) -> None:
        check_number("quantile", self.quantile, above=0.0, below=1.0)

    @cached_property
    def shape(self) -> CompiledResidual:
        return CompiledResidual(0.0, 0.0, self.quantile, 1.0 - self.quantile)

    def enclosure(self) -> EnclosedResidual:
        # 1 - q is rounded in ``shape``
        return EnclosedResidual(0.0, 0.0, as_ball(self.quantile), 1.0 - as_ball(self.quantile))
