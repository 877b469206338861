"""Linear classification of ordered classes: one score, and a threshold between each class and the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem
from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.labels import unknown_labels
from fenchel.estimators.parameters import FitParameters, SolverParameters
from fenchel.estimators.stock_linear import with_scores
from fenchel.estimators.task import Task
from fenchel.estimators.thresholds import (
    UNPROVED,
    below_threshold,
    ordered_thresholds,
    reversed_scores,
    with_thresholds,
)
from fenchel.loading import of_package
from fenchel.progress import warn
from fenchel.risks import OrdinalHinge
from fenchel.solving.solution import Solution

#: labels that a warning lists at most
_FEW = 6


@of_package
@dataclass(eq=False, repr=False)
class OrdinalClassifier(SolverParameters, FitParameters, BaseLinearClassifier):
    r"""Linear classifier of ordered classes with a duality-gap certificate.

    Minimizes :math:`\Omega(w) + C\,n\,R(Xw)`, where R is the mean of :math:`[1 - s_j + s_i]_+` over all pairs of
    examples of which j has the higher class, weighted by the product of the weights of the two.  Afterwards the
    thresholds with the least mean absolute error on the training examples are chosen, in numbers of classes; the
    certificate is about R, which the thresholds do not change.

    Parameters
    ----------
    order : sequence, default=None
        All labels, from the lowest to the highest.  None uses the order of an ordered ``pandas.Categorical`` or a
        ``polars.Enum``, and sorts other labels, words with a warning.  Wrappers that encode the labels before they fit,
        such as ``BaggingClassifier``, need the order of the codes, e.g. [1, 2, 0] for low, medium, high.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the whole fit; the best model so far is kept with its certificate.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply the weights of their examples, in pairs and for the thresholds.
    n_jobs : int, default=None
        Threads within the fit where the solver uses them.  The result does not depend on it.
    checkpoint : path, default=None
        A file for the best model and dual point so far, from which the next fit of the same data and parameters starts,
        as in :class:`LinearClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d)
        Weights, in float64; scores X w are larger for higher classes.
    thresholds_ : ndarray of shape (classes - 1,)
        Increasing thresholds: a class is predicted for scores above the threshold before it, up to its own.
    intercept_ : ndarray of shape (classes - 1,)
        Minus the thresholds.
    classes_ : ndarray
        The class labels, sorted, as scikit-learn expects; columns of ``decision_function`` are in this order.
    order_ : ndarray
        The class labels from the lowest to the highest.
    decompositions_ : list of ndarray
        The ``decomposition`` of the :class:`fenchel.Witness`, which proves a bound on the conjugate.
    certificate_ : Certificate
        The duality gap of the fit, summed over the problems that were solved; print it.
    certificates_ : list of Certificate
        One certificate for each problem that was solved.
    dual_gap_ : float
        The duality gap, ``certificate_.gap``.
    converged_ : bool
        Whether every certificate proves ``tol``.
    n_iter_ : float
        Passes over the data, the maximum over the problems that were solved.
    solver_ : str
        The solver, or the solvers that took part in turn.
    theta_ : ndarray
        The dual variables, the witness from which anybody can recompute the certificate.
    trace_ : list of TracePoint
        The certificates on the way; a list of such lists if several problems were solved.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    LinearClassifier : Classes without an order.
    fenchel.risks.OrdinalHinge : The risk that is minimized.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import OrdinalClassifier
    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> grades = np.array(["low", "medium", "high"])[np.digitize(X[:, 0] - X[:, 1], [-1, 1])]
    >>> model = OrdinalClassifier(["low", "medium", "high"]).fit(X, grades)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    >>> bool(model.score(X, grades) > 0.95)
    True
    """

    order: Any = None
    _: KW_ONLY
    l1_ratio: float = 0.0
    class_weight: Any = None
    n_jobs: int | None = None
    checkpoint: Path | str | None = None

    #: of one pair of examples, whose difference of scores does not see an intercept
    loss = "hinge"
    fit_intercept = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # classes that lie around each other in no order, as in scikit-learn's checks, have no good thresholds
        tags.classifier_tags.poor_score = True
        return tags

    def encode(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Task:
        """As for any classifier; ``targets`` are the places of the classes in their order."""
        task = super().encode(X, y, sample_weight)
        assert task.classes is not None
        # validation makes plain labels of a column whose categories have an order
        order = _declared_order(y) if self.order is None else list(self.order)
        places = np.arange(task.n_classes)
        if order is None and task.n_classes > 2 and task.classes.dtype.kind in "OUST":
            words = ", ".join(map(repr, task.classes.tolist()[:_FEW]))
            warn(
                f"the labels are words, and are taken in alphabetical order, {words}: pass order=[...], from the "
                "lowest to the highest",
                UserWarning,
            )
        if order is not None:
            missing = unknown_labels(task.y, np.array(order, dtype=object))
            if missing:
                raise FenchelError(f"order lacks labels of y: {missing!r}; it has {order!r}{_numbered(order, missing)}")
            position = {label: k for k, label in enumerate(order)}
            places = np.argsort(np.argsort([position[label] for label in task.classes.tolist()]))
        fitted = {**task.fitted, "order_": task.classes[np.argsort(places)]}
        return replace(task, targets=places[task.targets], fitted=fitted)

    def problems(self, task: Task) -> list[LazyProblem]:
        return [lambda: self._problem(task, OrdinalHinge(task.targets, task.weights))]

    def problem_of_outputs(self, task: Task) -> None:
        """None: the risk is no mean of losses."""

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        scores = task.design.scores(found["coef_"])[:, 0]
        thresholds = ordered_thresholds(scores, task.targets, task.n_classes, task.weights)
        return with_thresholds(found, thresholds, solutions)

    def decision_function(self, X: MatrixLike) -> Floats:
        """(n, classes) in the order of ``classes_``: how far the score is inside the thresholds of each class, the
        distance to the nearer one, negative outside.  It is positive for the prediction alone.

        (n,) for two classes: that of the second of ``classes_``, whichever of the two is the higher one.
        """
        above = self._scores(X)
        beyond = np.full((len(above), 1), np.inf)
        inside = np.minimum(np.hstack([beyond, above]), np.hstack([below_threshold(above), beyond]))
        found = inside[:, np.argsort(np.searchsorted(self.classes_, self.order_))]
        return found[:, 1] if found.shape[1] == 2 else found

    def _stock(self) -> Any:
        if len(self.classes_) > 2:
            raise FenchelError(
                "no estimator of scikit-learn has one score and several thresholds: predictions are "
                "order_[np.searchsorted(thresholds_, X @ coef_[0])]"
            )
        if self.order_[0] == self.classes_[0]:
            return with_scores(self, self.coef_.copy(), self.intercept_.copy())
        return with_scores(self, *reversed_scores(self.coef_, self.thresholds_))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.order is not None and not _are_labels(self.order):
            raise FenchelError(f"order must be None or all labels once, from lowest to highest, got {self.order!r}")

    def _why_unproved(self, task: Task) -> str:
        return UNPROVED

    def _fits_constant(self) -> bool:
        return False

    def _declared_form(self) -> str:
        return "ordinal"


def _are_labels(order: Any) -> bool:
    """Whether this is a sequence of different labels."""
    if isinstance(order, (str, bytes, set, frozenset, Mapping)):
        return False
    try:
        labels = list(order)
        return len(set(labels)) == len(labels)
    except TypeError:
        # a number, or labels that are lists
        return False


def _declared_order(y: ArrayLike) -> list[Any] | None:
    """The categories of labels that were declared to be in order, in a data frame's column."""
    dtype: Any = getattr(y, "dtype", None)
    ordered = getattr(dtype, "ordered", type(dtype).__name__ == "Enum")
    return list(dtype.categories) if ordered and hasattr(dtype, "categories") else None


def _numbered(order: list[Any], missing: list[Any]) -> str:
    """What to do if a wrapper has put numbers in place of the labels."""
    if not all(type(label) is int and 0 <= label < len(order) for label in missing):
        return ""
    try:
        numbers = [sorted(order).index(label) for label in order]
    except TypeError:
        return ""
    return f"; within a wrapper that numbers sorted labels, as BaggingClassifier does, use order={numbers!r}"
