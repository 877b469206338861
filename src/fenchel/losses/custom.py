r"""Custom losses: dual steps, sublevel sets and intercepts from the value, the derivative and the conjugate.

A subclass implements ``value``, ``derivative``, ``conjugate`` and ``domain``, and a compiled tuple with ``derivative``.
The conjugate must be exact: a numerical search for the supremum returns too small a number, and the gap would be too
small.  Rounding bounds take it that f >= 0, and that ``value`` and ``conjugate`` are accurate to ``Loss.roundings`` in
the sense of ``Loss.score_offset`` and ``Loss.conjugate_slope``, whose defaults fit a loss of s - y or of y s with a
conjugate that is linear in u; override both for any other.  The rest is found by bisection of increasing functions, to
the accuracy of floats:

- the dual step, eq. (13) of Zhang (2002): the new score r solves :math:`r + c f'(r) = s - c\alpha_0`, whose left side
  has a derivative of at least one (``compile.dispatch.step_by_derivative`` is the same for one example);
- the ends of a sublevel set, rounded outwards, since they are used as bounds;
- the best intercept, the root of the mean derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.losses.base import Loss
from fenchel.losses.intercept import newton_root

#: bisections at most, which exhaust float64, and doublings from 1 to find a bracket
_HALVINGS, _DOUBLINGS = 200, 60


@dataclass(frozen=True)
class CustomLoss(Loss):
    """Base class for custom losses: the rest follows from the derivative.

    A subclass sets ``name``, ``task`` and ``smooth``, implements ``value``, ``derivative``, ``conjugate`` and
    ``domain``, and returns from ``compiled`` a NamedTuple of floats with a method
    ``derivative(label, score)``.  Dual steps,
    sublevel sets and the best intercept are found by bisection.  Certificates assume that ``value`` and ``conjugate``
    lose no more than a few roundings; override ``score_offset`` and ``conjugate_slope`` if the value adds other
    constants than the label to the score, or if the conjugate is not linear.  The page on custom losses has a complete
    example.

    See Also
    --------
    Loss : The base class of losses with closed forms.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from fenchel.losses import CustomLoss
    >>> @dataclass(frozen=True)
    ... class Half(CustomLoss):
    ...     name, task, smooth = "half", "regression", True
    ...     def value(self, score, label): return (score - label) ** 2 / 4
    ...     def derivative(self, score, label): return (score - label) / 2
    ...     def conjugate(self, u, label): return u**2 + u * label
    ...     def domain(self, label): return np.full_like(label, -np.inf), np.full_like(label, np.inf)
    >>> float(Half().best_intercept(np.zeros(2), np.array([1.0, 3.0]), np.array([0.5, 0.5])))
    2.0
    """

    def dual_step(self, label: Floats, alpha: Floats, score: Floats, curvature: Floats) -> Floats:
        at = curvature * (self.derivative(score, label) + alpha)
        target = score - curvature * alpha
        low, high = score - np.maximum(at, 0.0), score + np.maximum(-at, 0.0)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            above = middle + curvature * self.derivative(middle, label) > target
            low, high = np.where(above, low, middle), np.where(above, middle, high)
            if np.all(high - low <= 2.3e-16 * (np.abs(low) + np.abs(high))):
                break
        with np.errstate(divide="ignore", invalid="ignore"):
            new = alpha + (0.5 * (low + high) - score) / curvature
        new = np.minimum(np.maximum(new, -self.derivative(high, label)), -self.derivative(low, label))
        return np.where(curvature > 0.0, np.where(at == 0.0, alpha, new), -self.derivative(score, label))

    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        level, label = np.broadcast_arrays(np.asarray(level, dtype=np.float64), np.asarray(label, dtype=np.float64))
        return self._end(level, label, -1.0), self._end(level, label, 1.0)

    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        return newton_root(lambda b: (float(share @ self.derivative(score + b, label)), 0.0))

    def compiled(self) -> Any:
        raise FenchelError(
            f"{type(self).__name__} must define compiled(), a NamedTuple with a method derivative(label, score)"
        )

    def _end(self, level: Floats, label: Floats, sign: float) -> Floats:
        """The first score on this side where the loss is above the level; infinite if there is none.

        The search starts at zero and not at a minimizer, which may be infinitely far away.
        """

        def beyond(width: Floats) -> Any:
            score = sign * width
            return (self.value(score, label) > level) & (sign * self.derivative(score, label) > 0.0)

        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            inwards = beyond(np.zeros(label.shape))
            way, width = np.where(inwards, -1.0, 1.0), np.ones(label.shape)
            for _ in range(_DOUBLINGS):
                width = np.where(beyond(way * width) == inwards, 2.0 * width, width)
            near, far = np.where(inwards, -width, 0.0), np.where(inwards, 0.0, width)
            for _ in range(_HALVINGS):
                middle = 0.5 * (near + far)
                if np.all((middle == near) | (middle == far)):
                    break
                outside = beyond(middle)
                near, far = np.where(outside, near, middle), np.where(outside, middle, far)
        return np.where(~inwards & (width >= 2.0**_DOUBLINGS), sign * np.inf, sign * far)
