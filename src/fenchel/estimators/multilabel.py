"""Linear classification with several labels for each example."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.utils.multiclass import type_of_target

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.measure_fits import MeasureFits
from fenchel.estimators.multilabel_labels import LabelFits
from fenchel.estimators.parameters import FitParameters, SolverParameters
from fenchel.estimators.repetition import repeated
from fenchel.estimators.sklearn_bases import available_unless
from fenchel.estimators.stock_linear import stock_multilabel
from fenchel.estimators.task import Task, checked_weights, validated
from fenchel.loading import of_package
from fenchel.losses import Loss
from fenchel.solvers.base import Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import Solution
from fenchel.validation import check_choice

#: score of a label that all training examples have, or none
_CONSTANT_SCORE = 1.0


_INDICATORS = "y must be an indicator matrix (n, labels) of 0 and 1, with at least two columns"


def _matrix(y: ArrayLike) -> Any:
    """Labels as an array, unless they are sparse or a data frame; raise for lists of different lengths."""
    try:
        return np.asarray(y) if isinstance(y, (list, tuple)) else y
    except ValueError as error:
        raise FenchelError(
            f"{_INDICATORS}, got lists of different lengths; use sklearn.preprocessing.MultiLabelBinarizer for lists "
            "of labels"
        ) from error


def _has_no_probabilities(estimator: Any) -> str | None:
    if estimator.measure is not None or estimator.form != "independent" or estimator._loss().name != "logistic":
        return "predict_proba requires loss='logistic', form='independent' and measure=None"
    return None


@of_package
@dataclass(eq=False, repr=False)
class MultilabelClassifier(SolverParameters, FitParameters, LabelFits):
    r"""Linear classifier with several labels for each example, with a duality-gap certificate.

    One weight vector for each label.  By default each label has a problem of its own,
    :math:`\Omega(w) + C\sum_i \text{weight}_i\, f(x_i\cdot w + b, \pm1)`; X is shared.  With ``measure`` the labels are
    trained for it as by :class:`MeasureClassifier`, each label for its own (macro average) or all labels in one
    contingency table (micro average).  With ``form="joint"`` one problem ranks the labels of each example, by the
    hinge of its worst pair of a present and an absent label [1]_.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        The loss f of ``form="independent"`` without ``measure``: a name, or an object of :mod:`fenchel.losses`.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    tol : float, default=1e-3
        The relative duality gap to prove for each problem; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the whole fit, shared by the problems.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    measure : str, default=None
        A measure of the contingency table to train for, such as "f1", or "fbeta"; None trains for ``loss``.
    beta : float, default=1.0
        Parameter of "fbeta".
    average : {"macro", "micro"}, default="macro"
        Whether each label has a contingency table and a threshold of its own, or all labels share them.
    form : {"independent", "joint"}, default="independent"
        One problem for each label, or one for all, :class:`fenchel.risks.MultilabelHinge`.  Its thresholds are those
        with the fewest wrong labels, or the best for ``measure``.
    surrogate : {"auto", "bound", "plug_in"}, default="auto"
        What is minimized for ``measure``, as in :class:`MeasureClassifier`; "auto" chooses for each label.
    plug_in_loss : str or Loss, default="logistic"
        The loss of plug-ins.
    threshold : {"auto", "train", "cv"}, default="auto"
        Whether thresholds are chosen on the training scores or on those of held-out folds; "auto" uses folds for
        plug-ins, and the training scores for bounds, as in :class:`MeasureClassifier`.
    cv : int, splitter or iterable, default=5
        The folds; each label has folds with equal shares of its positives.  The threshold of a label with fewer
        positives than folds is chosen on the training scores.
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    fit_intercept : bool, default=True
        Whether each label has an intercept, which is not regularized; micro-averaged bounds have none, and
        ``form="joint"`` has them for ``l1_ratio=0``.
    n_jobs : int, default=None
        Threads over the labels.  The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (labels, d)
        Weights, in float64; zero for a label that all training examples have, or none.
    intercept_ : ndarray of shape (labels,)
        Intercepts; where thresholds were chosen, minus the thresholds.
    classes_ : ndarray of shape (labels,)
        The numbers 0, 1, ... of the labels.
    varying_ : ndarray of bool, shape (labels,)
        The labels that some training examples have and others lack.
    thresholds_, risk_intercept_ : ndarray of shape (labels,)
        With ``measure`` or ``form="joint"``: thresholds of the scores X w, and the intercepts of the problems.
    surrogate_ : {"bound", "plug_in", "mixed"}
        With ``measure``: what was minimized.
    positive_weights_ : ndarray of shape (labels,)
        With ``measure``: the costs of positives of plug-ins relative to those of negatives; NaN for bounds.
    certificate_ : Certificate
        The duality gap of the whole fit, summed over the problems that were solved; print it.
    certificates_ : list of Certificate
        One certificate for each problem, in the order of the labels that vary.
    dual_gap_ : float
        The duality gap, ``certificate_.gap``.
    converged_ : bool
        Whether every certificate proves ``tol``.
    n_iter_ : float
        Passes over the data, the maximum over the problems that were solved.
    solver_ : str
        The solver, or the solvers that took part in turn.
    theta_ : ndarray of shape (n, labels that vary), or (n,) for one
        The dual variables, the witnesses from which anybody can recompute the certificates.
    trace_ : list
        The certificates on the way.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    MeasureClassifier : One label for each example.
    fenchel.risks.MultilabelHinge : The risk of ``form="joint"``.

    References
    ----------
    .. [1] A. Elisseeff and J. Weston. "A kernel method for multi-labelled classification." NIPS, 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fenchel import MultilabelClassifier
    >>> X, Y = make_multilabel_classification(200, n_classes=4, random_state=0)
    >>> model = MultilabelClassifier(measure="f1", surrogate="bound", random_state=0).fit(X, Y)
    >>> model.predict(X).shape, bool(model.certificate_.relative_gap <= 1e-3)
    ((200, 4), True)
    """

    loss: str | Loss = "hinge"
    _: KW_ONLY
    measure: str | None = None
    beta: float = 1.0
    average: str = "macro"
    form: str = "independent"
    surrogate: str = "auto"
    plug_in_loss: str | Loss = "logistic"
    threshold: str = "auto"
    cv: Any = 5
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    n_jobs: int | None = None

    # every label is a problem of two classes
    multi_class = "ovr"
    class_weight = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        return tags

    # --- the steps of a fit

    def encode(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Task:
        """Check the parameters, the data and the indicator matrix of the labels, which may be sparse."""
        self._check_parameters()
        if self.measure is not None and not self._choice().weighted:
            X, y, sample_weight = repeated(X, y, sample_weight, str(self._choice()))
        X, Y, fitted = validated(self, X, _matrix(y), multi_output=True, **self._input(X))
        if type_of_target(Y) != "multilabel-indicator":
            raise FenchelError(
                f"{_INDICATORS}, got {type_of_target(Y)!r}; use sklearn.preprocessing.MultiLabelBinarizer for lists of "
                "labels"
            )
        values = Y.data if sp.issparse(Y) else Y
        if not np.all((values == 0) | (values == 1)):
            got = np.unique(values).tolist()
            raise FenchelError(f"{_INDICATORS}, got the values {got}; pass y > 0 if 1 marks a label")
        weights = checked_weights(sample_weight, X)
        targets: Any = sp.csc_matrix(Y) != 0 if sp.issparse(Y) else Y != 0
        # an example without weight is as if removed
        counted = targets if weights is None else targets[np.flatnonzero(weights > 0.0)]
        positives = np.asarray(counted.sum(axis=0)).ravel()
        varying = (positives > 0) & (positives < counted.shape[0])
        if not np.any(varying):
            raise FenchelError("y: every label is constant, so there is nothing to learn")
        fitted |= {"classes_": np.arange(targets.shape[1]), "varying_": varying, "multi_class_": self.form}
        fitted["sparse_output_"] = bool(sp.issparse(Y))
        constants = np.where(positives > 0, _CONSTANT_SCORE, -_CONSTANT_SCORE)
        fitted["_constants"] = constants
        given = {"y": Y, "targets": targets, "sample_weight": weights, "classes": fitted["classes_"], "fitted": fitted}
        task = self._task(X, weights, **given)
        by_folds = self.measure is not None or self.threshold == "cv"
        return replace(task, folds=self._folds_of_bounds(task) if by_folds and self._has_thresholds() else ())

    def problems(self, task: Task) -> list[LazyProblem]:
        if self._has_thresholds():
            return super().problems(task)
        return [partial(self._one_label, task, k) for k in self._columns(task)]

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        if self._has_thresholds():
            found = super().attributes(task, solutions)
        else:
            found = LinearEstimator.attributes(self, task, solutions)
        return self._with_constants(task, found)

    def warm_starts(self, task: Task, problems: Sequence[LazyProblem]) -> Sequence[Warm | None]:
        varying = task.fitted["varying_"]
        if not np.array_equal(vars(self).get("varying_", ()), varying):
            return [None] * len(problems)
        # the problems are those of the labels that vary
        own = self._restricted(varying)
        if self._has_thresholds():
            return MeasureFits.warm_starts(own, task, problems)
        return LinearEstimator.warm_starts(own, task, problems)

    def _fit(
        self,
        task: Task,
        deadline: Deadline,
        warm: Sequence[Warm | None] | None = None,
        stop: threading.Event | None = None,
    ) -> Self:
        if self._has_thresholds():
            return super()._fit(task, deadline, warm, stop)
        return LinearEstimator._fit(self, task, deadline, warm, stop)

    # --- predictions

    def decision_function(self, X: MatrixLike) -> Floats:
        """Scores above the thresholds, (n, labels); positive for labels that are predicted."""
        return self._scores(X)

    def predict(self, X: MatrixLike) -> Any:
        """The indicator matrix (n, labels) of 0 and 1; sparse if that of the fit was."""
        found = (self.decision_function(X) > 0.0).astype(np.int64)
        return sp.csr_matrix(found) if self.sparse_output_ else found

    @available_unless(_has_no_probabilities)
    def predict_proba(self, X: MatrixLike) -> Floats:
        """The probability of each label, (n, labels)."""
        return expit(self.decision_function(X))

    @available_unless(_has_no_probabilities)
    def predict_log_proba(self, X: MatrixLike) -> Floats:
        """Logarithms of ``predict_proba``."""
        return -np.logaddexp(0.0, -self.decision_function(X))

    def _stock(self) -> Any:
        return stock_multilabel(self, probabilities=_has_no_probabilities(self) is None)

    # --- parameters

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("form", self.form, ("independent", "joint"))
        self._choice().check()
        self._check_surrogate()
        if self._choice().counts_to_k or (self.measure is not None and self._choice().name is None):
            raise FenchelError(f"measure={self.measure!r} is not for several labels; use 'f1', 'fbeta' or 'prbep'")
        if self.form == "joint" and self.surrogate == "plug_in":
            raise FenchelError("form='joint' has no plug-in: use surrogate='auto', or form='independent'")

    def _choice(self) -> MeasureChoice:
        return MeasureChoice("accuracy" if self.measure is None else self.measure, self.beta, None, None)

    def _has_thresholds(self) -> bool:
        return self.measure is not None or self.form == "joint"

    def _may_plug_in(self) -> bool:
        return super()._may_plug_in() and self.form == "independent"

    def _fits_constant(self) -> bool:
        return False
