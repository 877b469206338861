"""Linear classification with a certificate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.certificate import ProvedShare
from fenchel.designs import as_design
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.labels import encode_labels, one_vs_rest
from fenchel.estimators.multiclass import active_examples, declared_form, supports, votes
from fenchel.estimators.parameters import FitParameters, LinearParameters, SolverParameters
from fenchel.estimators.predictions import Probabilities
from fenchel.estimators.screened import Screening
from fenchel.estimators.stock_linear import stock_classifier
from fenchel.estimators.task import Task, checked_weights, validated
from fenchel.features import Features
from fenchel.loading import of_package
from fenchel.losses import Loss, as_loss
from fenchel.problem import Problem
from fenchel.risks import MULTICLASS, MeanRisk


class BaseClassifier(Probabilities, LinearEstimator):
    """What classifiers share, with and without a kernel."""

    def encode(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Task:
        self._check_parameters()
        X, y, fitted = validated(self, X, y, **self._input(X))
        sample_weight = checked_weights(sample_weight, X)
        classes, codes, weights = encode_labels(y, sample_weight, self.class_weight, constant=self._fits_constant())
        given = {"y": y, "targets": codes, "sample_weight": sample_weight, "classes": classes, "fitted": fitted}
        task = self._task(X, weights, **given)
        form = self._form(task)
        return replace(task, form=form, fitted={**task.fitted, "classes_": classes, "multi_class_": form})

    def _fits_constant(self) -> bool:
        """Whether examples of one class alone, the others having no weight, can be fitted."""
        return True

    def _form(self, task: Task) -> str:
        """How more than two classes become problems in this fit."""
        raise NotImplementedError

    def _loss(self) -> Loss:
        return as_loss(self.loss, "classification")


class BaseLinearClassifier(BaseClassifier):
    """What classifiers with a weight for each feature share."""

    def problems(self, task: Task) -> list[LazyProblem]:
        classes = range(task.n_classes)
        if len(classes) == 2:
            return [partial(self._one_vs_rest, task, 1)]
        if task.form in MULTICLASS:
            return [partial(self._joint, task)]
        if task.form == "ovo":
            return [partial(self._pair, task, a, b) for a, b in combinations(classes, 2)]
        return [partial(self._one_vs_rest, task, k) for k in classes]

    def problem_of_outputs(self, task: Task) -> Problem | None:
        binary = task.n_classes == 2
        if (task.form == "ovo" and not binary) or not self._is_small(task, task.n_classes):
            return None
        if binary:
            return self._one_vs_rest(task, 1)
        if task.form in MULTICLASS:
            # no solver of hinges of several classes solves them without ``solve``
            return self._joint(task) if self._loss().smooth else None
        labels = one_vs_rest(task.targets[:, None], np.arange(task.n_classes))
        return self._problem(task, MeanRisk(self._loss(), labels, task.weights))

    def decision_function(self, X: MatrixLike) -> Floats:
        """Signed scores: (n,) for two classes, else (n, classes); with "ovo" votes plus confidences below one vote."""
        check_is_fitted(self)
        if self._fitted_form() == "ovo" and len(self.classes_) > 2:
            return votes(as_design(self._rows(X)), self._weights(), self.intercept_, len(self.classes_))
        return super().decision_function(X)

    def _stock(self) -> Any:
        return stock_classifier(self)

    # scikit-learn's mixin for these two lies in sklearn.linear_model, whose import takes longer than most fits
    def sparsify(self) -> Self:
        """Keep ``coef_`` as a sparse matrix, which saves memory if most weights are zero."""
        check_is_fitted(self)
        self.coef_: Any = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array again."""
        check_is_fitted(self)
        self.coef_ = self._weights()
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._declared_form()

    def _declared_form(self) -> str:
        """The form as far as parameters decide it."""
        return declared_form(self.multi_class, self._loss(), self._regularizer())

    def _fitted_form(self) -> str:
        """The form of ``coef_``; weights that were set by hand have that of the parameters."""
        return vars(self).get("multi_class_") or self._declared_form()

    def _form(self, task: Task) -> str:
        """The form of this fit: what "auto" stands for depends on the solver that the user has chosen too."""
        form = self._declared_form()
        if form not in MULTICLASS or self.multi_class != "auto" or task.n_classes == 2:
            return form
        return form if supports(self._joint(replace(task, form=form)), self._solver()) else "ovr"

    def _one_vs_rest(self, task: Task, k: int) -> Problem:
        return self._problem(task, MeanRisk(self._loss(), one_vs_rest(task.targets, k), task.weights))

    def _pair(self, task: Task, a: int, b: int) -> Problem:
        labels, weights = active_examples(task.targets, task.weights, a, b)
        return self._problem(replace(task, weights=weights), MeanRisk(self._loss(), labels, weights))

    def _joint(self, task: Task) -> Problem:
        return self._problem(task, MULTICLASS[str(task.form)](task.targets, task.n_classes, task.weights))


@of_package
@dataclass(eq=False, repr=False)
class LinearClassifier(Screening, SolverParameters, LinearParameters, FitParameters, BaseLinearClassifier):
    r"""Linear classifier with a duality-gap certificate.

    Minimizes :math:`\Omega(w) + C \sum_i \text{weight}_i\, f(x_i\cdot w + b, y_i)` with the elastic net
    :math:`\Omega(w) = \tfrac{1-\rho}{2}\|w\|^2 + \rho\|w\|_1` and an intercept b that is not regularized.
    With more than two classes ``multi_class`` determines what replaces the sum.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "huber_hinge", "logistic", "exponential"} or Loss, default="hinge"
        The loss f: a name, or an object of :mod:`fenchel.losses` with parameters.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    regularizer : str or Regularizer, default=None
        Replaces the elastic net :math:`\Omega`: the name or an object of :mod:`fenchel.regularizers`, such as "q_norm"
        or ``Entropy(mass=10, balanced=True)``.  None uses ``l1_ratio``.  ``FreeDirections.of_features([0, 3],
        n_features)`` leaves two features unregularized.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not regularized.  Where the best intercept is an interval, its midpoint
        is used.
    n_jobs : int, default=None
        Threads over the classes or pairs of classes, and within a problem where the solver uses them.  The result does
        not depend on it.
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
    multi_class : {"auto", "ovr", "ovo", "weston_watkins", "crammer_singer", "multinomial"}, default="auto"
        The form for more than two classes.

        - "ovr": one problem for each class against the rest.
        - "ovo": one problem for each pair of classes, over their examples alone.
        - "weston_watkins" [2]_: one problem, :math:`\sum_{j\ne y} [1 - s_y + s_j]_+`; requires loss="hinge".
        - "crammer_singer" [3]_: one problem, :math:`\max_{j\ne y} [1 - s_y + s_j]_+`; requires loss="hinge".
        - "multinomial": one problem, :math:`\log\sum_j e^{s_j} - s_y`; requires loss="logistic".
        - "auto": "weston_watkins" for the hinge and "multinomial" for the logistic loss, which predict better than
          "ovr" on average (``python benchmarks/forms.py``); "ovr" for other losses, for ``l1_ratio`` above zero, and if
          ``solver`` does not support the joint problem.

        The intercepts of a joint problem sum to zero.  Two classes are always one two-class problem.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply the weights of their examples; "balanced" uses weights inversely
        proportional to the sizes of all classes.
    stop_when : ProvedShare, default=None
        Fit until a share of the predictions on given rows is proved, or to the rounding floor, whatever ``tol`` is.
    checkpoint : path, default=None
        A file for the best model and dual point so far, from which the next fit of the same data and parameters starts,
        as in :func:`fenchel.solve`; several problems have a file each, numbered before the suffix.  A file of another
        problem is refused, so that it is not for searches such as ``GridSearchCV``, whose fits would share the file.
    features : Features, default=None
        Compute features from raw data, at fit and at predict: :class:`fenchel.features.KmerFeatures` and
        :class:`fenchel.features.HashedTextFeatures` of strings, :class:`fenchel.features.PolynomialFeatures`, or a
        subclass of :class:`fenchel.features.Features`.  X is then what they take, and never stored as a matrix.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d), (classes, d) or (pairs, d)
        Weights, in float64; one row for two classes.  With "ovo" there is a row for each pair of classes in the order
        of ``itertools.combinations(classes_, 2)``, positive for the second one.
    intercept_ : ndarray of shape (1,), (classes,) or (pairs,)
        Intercepts, in float64.
    classes_ : ndarray
        The class labels.
    multi_class_ : str
        The form for more than two classes that was used.
    certificate_ : Certificate
        The duality gap of the fit, summed over the problems that were solved; print it.
    certificates_ : list of Certificate
        One certificate for each problem that was solved.
    dual_gap_ : float
        The duality gap, ``certificate_.gap``.
    converged_ : bool
        Whether every certificate proves ``tol``.
    screened_ : ndarray of bool, or None
        With the lasso and a smooth loss, whether each weight is proved to be zero at every optimum, of the shape of
        ``coef_``; None otherwise.
    n_iter_ : float
        Passes over the data, the maximum over the problems that were solved.
    solver_ : str
        The solver, or the solvers that took part in turn.
    theta_ : ndarray or sparse array
        The dual variables, the witness from which anybody can recompute the certificate; with "ovo" a sparse (n, pairs)
        array.
    trace_ : list of TracePoint
        The certificates on the way; a list of such lists if several problems were solved.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    LinearClassifierCV : The same with C chosen by cross-validation.
    KernelClassifier : Classification with a kernel.
    MeasureClassifier : Training for F1, ROC AUC and other measures.
    LinearSVC : Drop-in replacement for scikit-learn's class.
    LogisticRegression : Drop-in replacement for scikit-learn's class.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.
    .. [2] J. Weston and C. Watkins. "Support vector machines for multi-class pattern recognition." ESANN, 1999.
    .. [3] K. Crammer and Y. Singer. "On the algorithmic implementation of multiclass kernel-based vector machines."
           JMLR 2, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fenchel import LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearClassifier(random_state=0)).fit(X, y)
    >>> bool(model[-1].certificate_.relative_gap <= 1e-3)
    True
    """

    loss: str | Loss = "hinge"
    _: KW_ONLY
    multi_class: str = "auto"
    class_weight: Any = None
    stop_when: ProvedShare | None = None
    checkpoint: Path | str | None = None
    features: Features | None = None
