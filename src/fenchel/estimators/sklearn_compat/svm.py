"""Support vector machines with scikit-learn's names and parameters, and a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from fenchel.arrays import ArrayLike, MatrixLike
from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.regressor import BaseRegressor
from fenchel.estimators.regularization import elastic_net
from fenchel.estimators.screened import Screening
from fenchel.estimators.sklearn_compat.base import DropIn
from fenchel.estimators.stock_linear import namesake
from fenchel.estimators.task import Task
from fenchel.loading import of_package
from fenchel.losses import EpsilonInsensitive, Loss, SquaredEpsilonInsensitive, as_loss
from fenchel.regularizers import Regularizer
from fenchel.solving.solution import Solution


@of_package
@dataclass(eq=False, repr=False)
class LinearSVC(Screening, DropIn, BaseLinearClassifier):
    r"""``sklearn.svm.LinearSVC`` with a certificate.

    Minimizes :math:`\tfrac12\|w\|^2 + C \sum_i \text{weight}_i\, f(x_i\cdot w + b, y_i)`; more than two classes are
    handled one-vs-rest.  It differs from scikit-learn's in that the intercept b is not regularized, and in that ``tol``
    is the relative duality gap, which the fit proves: see ``certificate_``.  docs/drop-ins.md has the whole list.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        ``"l1"`` regularizes by :math:`\|w\|_1` instead, with either loss; "crammer_singer" ignores it, as in
        scikit-learn.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    dual : bool or "auto", default="auto"
        Has no effect: every fit has a primal and a dual solution.
    tol : float, default=1e-4
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    C : float, default=1.0
        Inverse strength of the regularization.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        For more than two classes: one against the rest, or one problem for all of them, which ignores ``loss`` as
        scikit-learn's does.
    fit_intercept : bool, default=True
        Where the best intercept is an interval, its midpoint is taken.
    intercept_scaling : float, default=1
        Has no effect: the intercept is not regularized.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for the examples of each class.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    random_state : int, RandomState or None, default=None
        Determines the order of the examples.  None is a fixed order, so that two fits are the same.
    max_iter : int, default=1000
        Passes over the data at most.

    Attributes
    ----------
    coef_ : (1, d) for two classes, else (classes, d); float64
    intercept_ : (1,) or (classes,); the number 0.0 without an intercept
    classes_ : the labels
    n_iter_ : data passes, the most that any class took
    certificate_, certificates_, dual_gap_, converged_, screened_, theta_, trace_ : as in ``LinearClassifier``

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import LinearSVC
    >>> X, y = make_classification(n_features=4, random_state=0)
    >>> model = LinearSVC(random_state=0).fit(X, y)
    >>> model.predict([[0, 0, 0, 0]])
    array([1])
    >>> bool(model.certificate_.relative_gap <= 1e-4)
    True
    """

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    dual: str | bool = "auto"
    tol: float = 1e-4
    C: float = 1.0
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Any = None
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000

    def _check_parameters(self) -> None:
        self._one_of("penalty", ("l2", "l1"), "LinearClassifier mixes both by its l1_ratio")
        self._one_of("multi_class", ("ovr", "crammer_singer"), "LinearClassifier has more forms")
        super()._check_parameters()

    def _regularizer(self) -> Regularizer:
        # "crammer_singer" ignores the penalty, as scikit-learn's does
        return elastic_net(float(self.penalty == "l1" and self.multi_class != "crammer_singer"))

    def encode(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Task:
        """As for any classifier; Crammer and Singer's risk of two classes is the hinge with twice the C."""
        task = super().encode(X, y, sample_weight)
        return replace(task, C=2.0 * task.C) if task.form == "crammer_singer" and task.n_classes == 2 else task

    def _may_be_logistic(self) -> bool:
        return False

    def _loss(self) -> Loss:
        name = self._one_of("loss", ("hinge", "squared_hinge"), "LinearClassifier has more losses")
        # as in scikit-learn's class
        return as_loss("hinge" if self.multi_class == "crammer_singer" else name, "classification")

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        return found if self.fit_intercept else {**found, "intercept_": 0.0}

    def _stock(self) -> Any:
        from sklearn.svm import LinearSVC

        return namesake(self, LinearSVC, classes=True)


@of_package
@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVR(Screening, DropIn, BaseRegressor):
    r"""``sklearn.svm.LinearSVR`` with a certificate.

    Minimizes :math:`\tfrac12\|w\|^2 + C \sum_i \text{weight}_i\, f(x_i\cdot w + b, y_i)`.  It differs from
    scikit-learn's in that the intercept b is not regularized, and in that ``tol`` is the relative duality gap, which
    the fit proves: see ``certificate_``.  docs/drop-ins.md has the whole list.

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to this size cost nothing.
    tol : float, default=1e-4
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    C : float, default=1.0
        Inverse strength of the regularization.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        Has no effect: the intercept is not regularized.
    dual : bool or "auto", default="auto"
        Has no effect: every fit has a primal and a dual solution.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    random_state : int, RandomState or None, default=None
        Determines the order of the examples.  None is a fixed order, so that two fits are the same.
    max_iter : int, default=1000
        Passes over the data at most.

    Attributes
    ----------
    coef_ : (d,); float64
    intercept_ : (1,); the number 0.0 without an intercept
    n_iter_ : data passes
    certificate_, certificates_, dual_gap_, converged_, screened_, theta_, trace_ : as in ``LinearClassifier``

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from fenchel import LinearSVR
    >>> X, y = make_regression(n_features=4, noise=1.0, random_state=0)
    >>> model = LinearSVR(epsilon=0.5, random_state=0).fit(X, y)
    >>> model.coef_.shape, model.intercept_.shape
    ((4,), (1,))
    >>> bool(model.certificate_.relative_gap <= 1e-4)
    True
    """

    epsilon: float = 0.0
    tol: float = 1e-4
    C: float = 1.0
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    dual: str | bool = "auto"
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _loss(self) -> Loss:
        losses: dict[str, type[EpsilonInsensitive | SquaredEpsilonInsensitive]] = {
            loss.name: loss for loss in (EpsilonInsensitive, SquaredEpsilonInsensitive)
        }
        return losses[self._one_of("loss", tuple(losses), "LinearRegressor has more losses")](self.epsilon)

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        return {**found, "intercept_": np.array([found["intercept_"]]) if self.fit_intercept else 0.0}

    def _stock(self) -> Any:
        from sklearn.svm import LinearSVR

        return namesake(self, LinearSVR, classes=False)
