r"""Base class of losses: convex functions f(s, y) of one score, with their conjugates.

Conventions
-----------
A loss is a convex function :math:`f(s, y)` of a score ``s`` for a fixed label ``y``.  Its conjugate is

.. math:: f^*(u, y) = \sup_s \; u s - f(s, y),

finite for ``u`` in the interval ``domain(y)``.  The dual variable of an example is
:math:`\alpha = -u` as in Zhang (2002), eqs. (3) and (10): at the optimum
:math:`-\alpha \in \partial f(s, y)`.

=========  ==========================================================
symbol     meaning
=========  ==========================================================
s, y       score and label of one example
u          a subgradient of f(., y), a point in the domain of the conjugate
alpha      dual variable of one example, ``-u``
curvature  :math:`c_1` of Zhang (2002), eq. (14): the change of the
           example's own score per unit of ``alpha``
=========  ==========================================================

Every function here works on NumPy arrays (with broadcasting).  ``compiled()`` returns the loss for compiled loops: a
NamedTuple of floats whose methods are plain Python on scalars.  Only loops take dual steps, so these are written there
alone; certificates use nothing of ``compiled()``.
"""

from __future__ import annotations

import abc
import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from fenchel.arrays import Floats
from fenchel.losses.enclosures import EnclosedLoss
from fenchel.numerics.rounding import ELEMENTARY


class CompiledLoss(Protocol):
    """A loss for compiled loops: scalar methods of a NamedTuple of floats.

    The methods are compiled by numba, so they may use floats and ``math`` only and call no other Python function.
    """

    def dual_step(self, label: float, alpha: float, score: float, curvature: float) -> float:
        """The exact minimizer of eq. (13), see ``Loss.dual_step``."""
        ...

    def kkt_margin(self, label: float, alpha: float, score: float) -> float:
        """Minus the KKT violation of alpha; positive on a bound where the condition holds strictly."""
        ...

    def fenchel_young_gap(self, label: float, alpha: float, score: float) -> float:
        """f(s) + f*(-alpha) + alpha s >= 0: the example's term of the duality gap of (w(alpha), alpha)."""
        ...

    def hess_conjugate(self, label: float, alpha: float) -> float:
        """The second derivative of f* at -alpha; infinite on a bound or at a kink, where alpha does not depend on s."""
        ...


class PiecewiseQuadratic(NamedTuple):
    r"""A conjugate :math:`f^*(-\alpha, y) = -y\alpha + \epsilon|\alpha| + \tfrac\kappa2\alpha^2` on its domain."""

    kappa: float
    epsilon: float


@dataclass(frozen=True)
class Loss(abc.ABC):
    """Base class of convex losses f(s, y) of one score.

    Subclass it for a loss with closed forms, or :class:`CustomLoss` to give the value, the derivative and the conjugate
    alone.  A subclass sets ``name`` and ``task`` and implements the abstract methods, on NumPy arrays; ``compiled``
    returns the same functions of one example for compiled loops.

    Attributes
    ----------
    name : str
        The name that users pass as ``loss=``.
    task : {"classification", "regression"}
        Whether labels are -1 and +1, or any finite numbers.
    constraint : bool
        Whether f is a constraint: zero or infinite.
    overflows : bool
        Whether f may be infinite, or too large for floats, at scores of moderate size.

    See Also
    --------
    CustomLoss : A loss from its value, derivative and conjugate.
    fenchel.risks.MeanRisk : The weighted mean of a loss.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.losses import Hinge, Loss
    >>> isinstance(Hinge(), Loss)
    True
    >>> s, y = np.array([0.25]), np.array([1.0])
    >>> u = Hinge().derivative(s, y)
    >>> (Hinge().value(s, y) + Hinge().conjugate(u, y) - u * s).item()  # the Fenchel-Young equality
    0.0
    """

    name: ClassVar[str]
    #: "classification" (labels are -1 and +1) or "regression" (any finite label)
    task: ClassVar[str]
    #: whether f is zero or infinite, a constraint on "margin" (y s >= 1) or "residual" (abs(s - y) <= tolerance)
    constraint: ClassVar[Literal["margin", "residual"] | None] = None
    #: whether the infimum of f over the scores is finite
    bounded_below: ClassVar[bool] = True
    #: whether that infimum is zero for every label, so that f*(0) = 0
    least_is_zero: ClassVar[bool] = False
    #: whether ``compiled()`` has the method hess_conjugate, which Newton's methods require
    has_hess_conjugate: ClassVar[bool] = False
    #: whether ``derivatives`` is there, by which Newton's method fits tiny data
    has_second_derivative: ClassVar[bool] = False
    #: whether f may be infinite, or overflow, at scores of moderate size
    overflows: ClassVar[bool] = False
    #: whether f is infinite for some scores
    infinite: ClassVar[bool] = False
    #: K, the roundings of ``value`` relative to itself; see ``score_offset``
    roundings: ClassVar[float] = ELEMENTARY

    @property
    @abc.abstractmethod
    def smooth(self) -> bool:
        """Whether f is differentiable with a bounded second derivative; may be a class attribute."""

    @property
    def score_roundings(self) -> float:
        """The roundings of the score in ``value``, see ``score_offset``; may be a class attribute."""
        return self.roundings

    @property
    def conjugate_roundings(self) -> tuple[float, float]:
        """The roundings of ``conjugate``, of itself and of u, see ``conjugate_slope``; may be a class attribute."""
        return self.roundings, self.roundings

    @abc.abstractmethod
    def value(self, score: Floats, label: Floats) -> Floats:
        """Return f(s, y)."""

    @abc.abstractmethod
    def derivative(self, score: Floats, label: Floats) -> Floats:
        """Return a subgradient of f(., y) at s."""

    def derivatives(self, score: Floats, label: Floats) -> tuple[Floats, Floats]:
        """Return new arrays of the first two derivatives of f in s, for losses with ``has_second_derivative``.

        Solvers use it, and certificates do not.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def conjugate(self, u: Floats, label: Floats) -> Floats:
        """Return f*(u, y) for u in ``domain(label)``."""

    def score_offset(self, label: Floats) -> Floats:
        r"""A bound on the constants that ``value`` adds to a score.

        The computed value is that of a score :math:`s + \delta` up to a relative error of K roundings, with
        :math:`|\delta| \le K'u(|s| + \text{offset})`; K is ``roundings`` and K' is ``score_roundings``.
        """
        return np.abs(label)

    def conjugate_slope(self, u: Floats, label: Floats) -> Floats:
        r"""A bound B such that the computed conjugate has an error of at most :math:`u(K|f^*| + K'|u|B)`.

        K and K' are ``conjugate_roundings``.  A relative error of k roundings of u adds :math:`ku|u|B`, hence B is at
        least :math:`|(f^*)'(u)|`.  The default is right where :math:`f^*` is linear.
        """
        return np.abs(label)

    @property
    def largest_conjugate_slope(self) -> float:
        """A bound on ``conjugate_slope`` and on the slopes of f* from zero, over the largest label; or infinity."""
        return math.inf

    @abc.abstractmethod
    def domain(self, label: Floats) -> tuple[Floats, Floats]:
        """The closed interval of u where f*(u, y) is finite."""

    def dual_step(self, label: Floats, alpha: Floats, score: Floats, curvature: Floats) -> Floats:
        """The exact minimizer over a of f*(-a, y) + s (a - alpha) + curvature/2 (a - alpha)^2.

        This is eq. (13) of Zhang (2002); the new dual variable is returned, not the difference.  It is that of
        ``compiled()``, one example after the other; solvers call ``compile.primitives.dual_steps``, which is fast.
        """
        step = np.vectorize(self.compiled().dual_step, otypes=[np.float64])
        return np.asarray(step(label, alpha, score, curvature))

    @abc.abstractmethod
    def sublevel(self, level: Floats, label: Floats) -> tuple[Floats, Floats]:
        """The interval of scores s with f(s, y) <= level (its ends may be infinite)."""

    @abc.abstractmethod
    def best_intercept(self, score: Floats, label: Floats, share: Floats) -> float:
        """The b that minimizes sum_i share_i f(s_i + b, y_i); the midpoint where that is an interval."""

    def constant_intercept(self, mixture: float) -> float | None:
        """The b that minimizes p f(b, 1) + q f(b, -1), with p + q = 1 and p - q = mixture; None if not in closed form.

        The mixture is between -1 and 1, without its ends.
        """
        return None

    @abc.abstractmethod
    def compiled(self) -> CompiledLoss:
        """The loss as a NamedTuple of floats for compiled loops."""

    def enclosure(self) -> EnclosedLoss | None:
        """f and f* in ball arithmetic, which rigorous certificates require; None if there is none."""
        return None

    def refusal(self, labels: Floats) -> str | None:
        """The reason why these (finite) labels are not allowed, as the end of a sentence; or None."""
        if self.task == "classification" and not np.all(np.abs(labels) == 1.0):
            return "requires the labels -1 and +1; encode the classes first"
        return None

    @property
    def tolerance(self) -> float:
        """The largest absolute residual that a constraint on residuals allows."""
        return 0.0

    def piecewise_quadratic(self) -> PiecewiseQuadratic | None:
        """The coefficients of the conjugate if it is piecewise quadratic; None for other losses."""
        return None

    def prediction(self, score: Floats) -> Floats:
        """The prediction of a regression: the score, or its inverse link."""
        return score

    def smoothed(self, score: Floats, label: Floats, mu: float, alpha: Floats | None = None) -> tuple[Floats, Floats]:
        r"""Value and derivative of :math:`f_\mu(s) = \max_\alpha -f^*(-\alpha) - \alpha s - \mu\alpha^2/2`.

        The maximizer is a dual step from zero with curvature mu, so every loss with an exact step has its
        smoothing; :math:`f_\mu \le f \le f_\mu + \mu\,` ``smoothing_width``.  ``alpha`` is the maximizer, if known.
        """
        if alpha is None:
            alpha = self.dual_step(label, np.zeros_like(score), score, np.full_like(score, mu))
        with np.errstate(over="ignore", invalid="ignore"):
            value = -self.conjugate(-alpha, label) - alpha * score - 0.5 * mu * alpha**2
        return value, -alpha

    @property
    def smoothing_width(self) -> float:
        """The largest alpha^2/2 in the domain: a bound on (f - f_mu)/mu."""
        low, high = self.domain(np.array([-1.0, 1.0]))
        return float(0.5 * np.max(np.maximum(low**2, high**2)))

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in the score; infinite if it is unbounded."""
        return math.inf

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor; scikit-learn's ``clone`` uses them."""
        return asdict(self)


def never_below(conjugate: Floats) -> Floats:
    """A conjugate whose terms overflow is unknown: infinite, since a lower bound may use a larger conjugate only."""
    return np.where(conjugate > -np.inf, conjugate, np.inf)


def margin_domain(size: float, label: Floats) -> tuple[Floats, Floats]:
    """The derivatives in the score s that belong to the derivatives [-size, 0] in the margin y s."""
    edge = -label * size
    return np.minimum(edge, 0.0), np.maximum(edge, 0.0)


def margin_sublevel(margin: Floats | float, label: Floats) -> tuple[Floats, Floats]:
    """The scores s whose margin y s is at least this."""
    edge = label * margin
    return np.where(label > 0, edge, -np.inf), np.where(label > 0, np.inf, edge)
