r"""The one problem that everything here solves, and the two things that prove an answer to it.

.. math::
    \min_{w, b}\; P(w, b) = \lambda\,\Omega(w) + R(s), \qquad s = Xw + b\mathbf 1

    \max_\theta\; D(\theta) = -\lambda\,\Omega^*(X^T\theta/\lambda) - R^*(-\theta), \qquad
    \textstyle\sum\theta = 0 \text{ when } b \text{ is free}

====================  =============================================================
symbol                here
====================  =============================================================
X                     ``problem.design``, rows are examples
R                     ``problem.risk``
:math:`\Omega`        ``problem.regularizer``
:math:`\lambda`       ``problem.lam``
w, b                  ``Model.weights``, ``Model.intercept``
:math:`\theta`        ``Witness.theta``
====================  =============================================================

With k outputs w is (k, d), b is (k,), and scores and theta are (n, k).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fenchel.designs import Design, as_design
from fenchel.errors import FenchelError
from fenchel.kernels import CachedGram
from fenchel.regularizers import L2, REGULARIZERS, FreeDirections, Regularizer
from fenchel.risks import MeanRisk, MulticlassRisk, Risk
from fenchel.risks.base import ClosedForm, Smoothable
from fenchel.validation import check_bool, check_number

T = TypeVar("T")

_FARTHEST_SCORE = 1e7


@dataclass(frozen=True, eq=False)
class Model:
    """A linear model.  ``intercept=None`` asks whoever judges it for the best intercept for these weights."""

    weights: NDArray[np.float64]
    intercept: float | NDArray[np.float64] | None = 0.0


@dataclass(frozen=True, eq=False)
class Witness:
    r"""A dual point :math:`\theta`, from which a certificate is recomputed.

    ``conjugate_bound`` is an upper bound on :math:`R^*(-\theta)`, used only where the risk has no conjugate in
    closed form; the certificate then says that it was taken on trust.
    """

    theta: NDArray[np.float64]
    conjugate_bound: float | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """Regularized risk minimization: design + risk + regularizer + lam (+ a free intercept)."""

    design: Design
    risk: Risk
    lam: float
    #: an object, or the name of one with its defaults
    regularizer: Regularizer = field(default_factory=L2)
    intercept: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", as_design(self.design))
        if not isinstance(self.risk, Risk):
            raise FenchelError(f"risk must be a Risk such as MeanRisk(loss, labels), got {type(self.risk).__name__}")
        if isinstance(self.regularizer, str):
            if self.regularizer not in REGULARIZERS:
                raise FenchelError(f"regularizer={self.regularizer!r} is unknown; choose one of {list(REGULARIZERS)}")
            object.__setattr__(self, "regularizer", REGULARIZERS[self.regularizer]())
        if not isinstance(self.regularizer, Regularizer):
            raise FenchelError(f"regularizer must be a name or a Regularizer, got {type(self.regularizer).__name__}")
        if self.regularizer.kernel() is not self.design.kernel():
            # coefficients are measured by their own Gram matrix: with any other norm the dual would be no dual
            raise FenchelError("a GramDesign comes together with its GramNorm, and a GramNorm with its GramDesign")
        free = self.regularizer.free_directions()
        if free is not None:
            free.check_features(self.design.shape[1])
            if self.risk.separable() is None:
                # a certificate needs dual points of a box that meet the equalities
                shown = self.risk.name
                raise FenchelError(f"free_directions needs a mean of losses, MeanRisk(loss, labels), got {shown!r}")
        check_number("lam", self.lam, above=0.0)
        object.__setattr__(self, "lam", float(self.lam))
        check_bool("intercept", self.intercept)
        object.__setattr__(self, "intercept", bool(self.intercept))
        if self.intercept and self.risk.intercepts() is None:
            raise FenchelError(f"the risk {self.risk.name!r} {self.risk.intercept_refusal}")
        if self.design.shape[0] != self.risk.examples:
            raise FenchelError(
                f"X has {self.design.shape[0]} rows but there are {self.risk.examples} labels; they must agree"
            )

    @property
    def weights_shape(self) -> tuple[int, ...]:
        outputs = self.risk.outputs
        return (self.design.shape[1],) if outputs is None else (outputs, self.design.shape[1])

    @property
    def theta_shape(self) -> tuple[int, ...]:
        outputs = self.risk.outputs
        return (self.design.shape[0],) if outputs is None else (self.design.shape[0], outputs)

    @property
    def mean_risk(self) -> MeanRisk:
        """The risk, for solvers that require a mean of losses."""
        return _required(self.risk.separable(), "a mean of losses")

    @property
    def multiclass_risk(self) -> MulticlassRisk:
        """The risk, for solvers that require a joint risk of several classes."""
        return _required(self.risk.multiclass(), "a joint risk of several classes")

    @property
    def smoothable_risk(self) -> Smoothable:
        """The risk, for solvers that require a smoothing."""
        return _required(self.risk.smoothable(), "a risk with a smoothing")

    @property
    def closed_form(self) -> ClosedForm:
        """The risk, for solvers that require its conjugate."""
        return _required(self.risk.closed_form(), "a risk with a conjugate in closed form")

    @property
    def free_directions(self) -> FreeDirections:
        """The regularizer, for solvers that require free directions."""
        return _required(self.regularizer.free_directions(), "free directions")

    @property
    def cached_gram(self) -> CachedGram | None:
        """The Gram matrix if only some of its rows are kept in memory."""
        kernel = self.design.kernel()
        return None if kernel is None else kernel.cached()

    @property
    def level_bound(self) -> float:
        """An objective beyond which a model of a constraint counts as none: scores would have to be 1e7 times labels.

        Where all weights that the regularizer allows have a smaller one, as for a fixed mass, it excludes no model.
        """
        score = _FARTHEST_SCORE * max(1.0, self.risk.largest_label)
        reach = score / (self.design.largest_row_norm or 1.0)
        return self.lam * self.regularizer.level_bound(reach, self.design.shape[1])

    def zero_model(self) -> Model:
        """The weights where the regularizer is smallest, zero for most, with the best intercept for them."""
        return Model(self.regularizer.centre(self.weights_shape), None if self.intercept else self.no_intercept())

    def best_intercept(self, scores: NDArray) -> Any:
        """The intercept that minimizes the risk for these scores X w; zero in a problem without one."""
        intercepts = self.risk.intercepts() if self.intercept else None
        return self.no_intercept() if intercepts is None else intercepts.best_intercept(scores)

    def no_intercept(self) -> Any:
        """Zero, in the shape of this problem's intercept."""
        return 0.0 if self.risk.outputs is None else np.zeros(self.risk.outputs)

    def fits(self, model: Model) -> bool:
        """Whether a model has this problem's shape."""
        return np.shape(model.weights) == self.weights_shape


def _required(found: T | None, what: str) -> T:
    if found is None:
        raise TypeError(f"the problem does not have {what}")
    return found
