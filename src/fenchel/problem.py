r"""The optimization problem, its models (primal points) and its witnesses (dual points).

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
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import Design, as_design
from fenchel.errors import FenchelError
from fenchel.records import changed
from fenchel.regularizers import L2, REGULARIZERS, FreeDirections, Regularizer
from fenchel.risks import MeanRisk, Risk
from fenchel.risks.protocols import ClosedForm, Smoothable
from fenchel.validation import check_bool, check_number, did_you_mean

if TYPE_CHECKING:
    from fenchel.kernels import CachedGram, GramDesign
    from fenchel.risks import MulticlassRisk

T = TypeVar("T")

#: |score| / max(1, largest |label|) above which the constraints of a loss count as infeasible
_LARGEST_SCORE = 1e7


@dataclass(frozen=True, eq=False)
class Model:
    """A linear model: weights and an intercept.

    Parameters
    ----------
    weights : ndarray of shape (d,) or (k, d)
        The weights w, one row for each of k outputs.
    intercept : float, ndarray of shape (k,) or None, default=0.0
        The intercept b.  None stands for the intercept that minimizes the risk for these weights; :func:`certify`
        computes it.

    See Also
    --------
    Witness : The dual point that proves how good a model is.
    certify : Prove how far a model is from the optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Model
    >>> Model(np.array([1.0, -2.0]), intercept=0.5).intercept
    0.5
    """

    weights: Floats
    intercept: float | Floats | None = 0.0


@dataclass(frozen=True, eq=False)
class Witness:
    r"""A dual point :math:`\theta`, from which a certificate is recomputed.

    Parameters
    ----------
    theta : ndarray of shape (n,) or (n, k)
        The dual variables, one for each example and output.
    conjugate_bound : float, default=None
        An upper bound on :math:`R^*(-\theta)`, used only where the certificate can't recompute one, that is, for a risk
        of your own with a subgradient alone; the certificate then states that the bound was taken on trust.
    decomposition : ndarray, default=None
        Parts of :math:`\theta` that prove a bound on :math:`R^*(-\theta)` where that has no closed form: for measures
        of the contingency table a row (weight, fn, fp) for each labelling of a mixture, for ordered labels a row for
        each bit of their numbers, which add up to :math:`\theta`, for labelled sequences labellings with weights
        or Markov chains (max-margin) or scores of Gibbs distributions (log-loss).  Multiples of :math:`\theta` have
        the same one.

    See Also
    --------
    Model : A linear model.
    certify : Prove how far a model is from the optimum, from a witness or by a search for one.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, Witness, certify
    >>> from fenchel.risks import MeanRisk
    >>> problem = Problem(np.array([[1.0], [-1.0]]), MeanRisk("hinge", [1, -1]), lam=0.5)
    >>> certify(problem, np.array([1.0]), Witness(np.array([0.25, -0.25]))).gap
    0.0
    """

    theta: Floats
    conjugate_bound: float | None = None
    decomposition: Floats | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Regularized risk minimization with a linear model.

    .. math::
        \min_{w, b}\; P(w, b) = \lambda\,\Omega(w) + R(Xw + b\mathbf 1)

    Its Fenchel dual is :math:`D(\theta) = -\lambda\,\Omega^*(X^T\theta/\lambda) - R^*(-\theta)`, with
    :math:`\sum\theta = 0` if there is an intercept.

    Parameters
    ----------
    design : array-like, sparse matrix or Design
        The matrix X of shape (n, d); rows are examples.  It is neither copied nor changed.
    risk : Risk
        The function R of all scores, such as ``MeanRisk("hinge", y)``.
    lam : float
        The strength :math:`\lambda > 0` of the regularization.  Estimators have ``C`` with
        :math:`\lambda = 1 / (C \sum_i \text{weight}_i)`.  A :class:`fractions.Fraction` is rounded, except in rigorous
        certificates.
    regularizer : Regularizer or str, default=L2()
        The function :math:`\Omega` of the weights, or the name of one with its defaults.
    intercept : bool, default=False
        Whether there is an intercept b, which is not regularized.

    See Also
    --------
    solve : Minimize a problem.
    certify : Prove how far a model is from the optimum.
    fenchel.risks.MeanRisk : The weighted mean of a loss.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.regularizers import ElasticNet
    >>> from fenchel.risks import MeanRisk
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> problem = Problem(X, MeanRisk("squared", X[:, 0]), 0.1, ElasticNet(l1_ratio=0.5), intercept=True)
    >>> problem.weights_shape, problem.theta_shape
    ((3,), (20,))
    """

    design: Design
    risk: Risk
    lam: float
    #: a Regularizer, or the name of one with default parameters
    regularizer: Regularizer = field(default_factory=L2)
    intercept: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", as_design(self.design))
        if not isinstance(self.risk, Risk):
            raise FenchelError(f"risk must be a Risk such as MeanRisk(loss, labels), got {type(self.risk).__name__}")
        if isinstance(self.regularizer, str):
            if self.regularizer not in REGULARIZERS:
                near = did_you_mean(self.regularizer, REGULARIZERS)
                known = ", ".join(map(repr, REGULARIZERS))
                raise FenchelError(f"regularizer={self.regularizer!r} is unknown{near}; choose one of {known}")
            object.__setattr__(self, "regularizer", REGULARIZERS[self.regularizer]())
        if not isinstance(self.regularizer, Regularizer):
            raise FenchelError(f"regularizer must be a name or a Regularizer, got {type(self.regularizer).__name__}")
        if self.regularizer.kernel() is not self.design.kernel():
            # with another norm than that of its Gram matrix, adjoint(theta) = theta would not be the adjoint
            raise FenchelError(
                "a kernel design requires regularizer=GramNorm(design) of the same design, and vice versa"
            )
        free = self.regularizer.free_directions()
        if free is not None:
            free.check_features(self.design.shape[1])
            if self.risk.separable() is None:
                # the certificate projects theta onto a box and the equalities
                joint = self.risk.multiclass() is not None
                advice = "; use a problem for each class, which is multi_class='ovr' of an estimator" if joint else ""
                raise FenchelError(
                    f"FreeDirections requires a mean of losses, MeanRisk(loss, labels), got the risk "
                    f"{self.risk.name!r}{advice}"
                )
        check_number("lam", self.lam, above=0.0)
        if isinstance(self.lam, Fraction):
            vars(self)["exact_lam"] = self.lam
        object.__setattr__(self, "lam", float(self.lam))
        check_bool("intercept", self.intercept)
        object.__setattr__(self, "intercept", bool(self.intercept))
        if self.intercept and self.risk.intercepts() is None:
            raise FenchelError(f"the risk {self.risk.name!r} {self.risk.intercept_refusal}")
        if not np.isfinite(self.design.largest_row_norm):
            raise FenchelError("X holds NaN or infinity, or numbers whose sums overflow: impute, remove or scale them")
        if not self.design.shape[1] and not self.regularizer.finite:
            raise FenchelError(
                f"X has no features; the regularizer {self.regularizer.name!r} requires at least one, for its mass"
            )
        if self.design.shape[0] != self.risk.examples:
            raise FenchelError(
                f"X has {self.design.shape[0]} rows but there are {self.risk.examples} labels; they must agree"
            )

    @cached_property
    def exact_lam(self) -> Fraction:
        """Lam as it was given, which rigorous certificates take."""
        return Fraction(self.lam)

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """Shape of the weights: (d,), or (k, d) for k outputs."""

        outputs = self.risk.outputs
        return (self.design.shape[1],) if outputs is None else (outputs, self.design.shape[1])

    @property
    def theta_shape(self) -> tuple[int, ...]:
        """Shape of scores and dual variables: (n,), or (n, k) for k outputs."""

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
    def gram_in_memory(self) -> GramDesign | None:
        """The Gram matrix if all of it is in memory."""
        kernel = self.design.kernel()
        return None if kernel is None else kernel.in_memory()

    @property
    def level_bound(self) -> float:
        """The objective of a model with scores of 1e7 times the labels; a larger dual bound counts as infeasibility.

        Where Omega is bounded, as for a fixed mass, no model exceeds it, unless the loss grows towards the end of its
        domain: then none with margins of at least 1e-7.
        """
        score = _LARGEST_SCORE * max(1.0, self.risk.largest_label)
        radius = score / (self.design.largest_row_norm or 1.0)
        level, mean = self.lam * self.regularizer.level_bound(radius, self.design.shape[1]), self.risk.separable()
        if mean is not None and not mean.loss.bounded_below:
            level += max(0.0, mean.value(mean.labels / _LARGEST_SCORE))
        return level

    def zero_model(self) -> Model:
        """The minimizer of the regularizer, zero weights for most, with the best intercept."""
        return Model(self.regularizer.centre(self.weights_shape), None if self.intercept else self.no_intercept())

    def best_intercept(self, scores: Array) -> Any:
        """The intercept that minimizes the risk for these scores X w; zero in a problem without intercept."""
        intercepts = self.risk.intercepts() if self.intercept else None
        return self.no_intercept() if intercepts is None else intercepts.best_intercept(scores)

    def no_intercept(self) -> Any:
        """Zero, in the shape of this problem's intercept."""
        return 0.0 if self.risk.outputs is None else np.zeros(self.risk.outputs)

    @property
    def outputs_apart(self) -> list[Problem]:
        """The problem of each of the k outputs of a mean of losses, whose sum this is: regularizers add outputs.

        A joint problem has no parts.
        """
        return [self] if self.risk.outputs is None or self.risk.separable() is None else self._outputs_apart

    @cached_property
    def _outputs_apart(self) -> list[Problem]:
        return [self._changed(risk=risk) for risk in self.mean_risk.outputs_apart()]

    def repeated(self, count: int) -> Problem:
        """The problem of several outputs with the labels of this one, a mean of losses."""
        return self._changed(risk=self.mean_risk.repeated(count))

    def with_lam(self, lam: float) -> Problem:
        """This problem with another lam."""
        check_number("lam", lam, above=0.0)
        return self._changed(lam=float(lam), exact_lam=Fraction(lam))

    def _changed(self, **changes: Any) -> Problem:
        """This problem with attributes that fit the others: nothing is to be checked again."""
        problem = changed(self, **changes)
        # they would be those of this problem
        vars(problem).pop("_outputs_apart", None)
        return problem

    def at_copy(self, design: Design) -> Problem:
        """The same problem with a copy of its design."""
        return self._changed(design=design)

    def fits(self, model: Model) -> bool:
        """Whether a model has this problem's shape."""
        return np.shape(model.weights) == self.weights_shape


def _required(found: T | None, what: str) -> T:
    if found is None:
        raise TypeError(f"the problem does not have {what}")
    return found
