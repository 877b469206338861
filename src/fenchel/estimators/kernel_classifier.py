"""Classification with kernels, with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from fenchel.arrays import Floats, MatrixLike
from fenchel.estimators.base import LazyProblem
from fenchel.estimators.classifier import BaseClassifier
from fenchel.estimators.kernel_base import KernelEstimator
from fenchel.estimators.parameters import SolverParameters
from fenchel.estimators.stock_kernels import stock_kernel_classifier
from fenchel.estimators.task import Task
from fenchel.loading import of_package
from fenchel.losses import Hinge, Loss
from fenchel.problem import Problem
from fenchel.risks import CrammerSinger, MeanRisk, MulticlassRisk, WestonWatkins
from fenchel.solving.solution import Solution
from fenchel.validation import check_choice

_JOINT: dict[str, type[MulticlassRisk]] = {risk.name: risk for risk in (WestonWatkins, CrammerSinger)}


@of_package
@dataclass(eq=False, repr=False)
class KernelClassifier(SolverParameters, KernelEstimator, BaseClassifier):
    r"""Kernel classifier with a duality-gap certificate.

    Minimizes :math:`\tfrac12\sum_j \|w_j\|^2 + C \sum_i \text{weight}_i\, f(s_i, y_i)` over weights in the feature
    space of the kernel (RKHS), with ``fit_intercept=True`` also over intercepts that are not regularized.  The hinge of
    more than two classes is a joint loss, see ``multi_class``; any other loss is a loss of one score, of two classes or
    of each class against the rest.  With the logistic loss there are probabilities, ``predict_proba``.  The Gram
    matrix of the training examples is computed once, in float64, or row by row if it exceeds ``memory_limit``.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "huber_hinge", "logistic", "exponential"} or Loss, default="hinge"
        The loss: a name, or an object of :mod:`fenchel.losses` with parameters.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        The kernel: ``exp(-gamma |x - z|^2)``, ``x . z`` or ``(gamma x . z + coef0)^degree``.  With "precomputed", X is
        the matrix of kernel values, (n, n) for ``fit`` and against the training examples otherwise.  A function takes
        two matrices and returns the kernel values between their rows.  A matrix or a function must be positive
        semi-definite, which a Cholesky factorization of the training examples checks; values rounded to float32 may
        need a diagonal shift of that size, which is added.  Beyond ``memory_limit`` a sample of up to 1,000 examples is
        checked, and each row for symmetry and size; what this does not show, the certificate takes on trust.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels "rbf" and "poly": "scale" is ``1 / (features * X.var())`` with the weights of the
        examples, "auto" is ``1 / features``.
    degree : int, default=3
        Degree of the kernel "poly".
    coef0 : float, default=0.0
        Constant of the kernel "poly", at least 0: below, the polynomial is not positive semi-definite.
    memory_limit : float, default=4096
        Megabytes of kernel values to keep.  If the Gram matrix is larger, its rows are computed when the dual variables
        of their examples change, and as many rows are cached as fit (two at least; a function may need more memory
        inside).  A precomputed matrix must be given whole.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the solver; the best model so far is kept with its certificate.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    multi_class : {"weston_watkins", "crammer_singer", "ovr"}, default="weston_watkins"
        The form of the hinge for more than two classes: :math:`\sum_{j\ne y} [1 - s_y + s_j]_+`, :math:`\max_{j\ne y}
        [1 - s_y + s_j]_+`, or each class against the rest, which other losses always use.
    fit_intercept : bool, default=False
        Whether there are intercepts, which are not regularized, as in scikit-learn's ``SVC``.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply the weights of their examples; "balanced" uses weights inversely
        proportional to the sizes of all classes.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    multi_class_ : str
        The form for more than two classes that was used.
    support_ : ndarray
        Indices of the support vectors in the training data.
    support_vectors_ : ndarray or sparse matrix
        The support vectors; None with ``kernel="precomputed"``.
    dual_coef_ : ndarray of shape (1, n_support) or (classes, n_support)
        Coefficients of the support vectors.
    intercept_ : ndarray of shape (1,) or (classes,)
        Intercepts, only with ``fit_intercept=True``.
    gamma_ : float
        The value of gamma that was used.
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
    theta_ : ndarray of shape (n,) or (n, classes)
        The dual variables, the witness from which anybody can recompute the certificate.
    trace_ : list of TracePoint
        The certificates on the way; a list of such lists if several problems were solved.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    LinearClassifier : Linear classification.
    KernelRegressor : Regression with a kernel.
    fenchel.kernels.GramDesign : A Gram matrix as the design of a problem.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier(C=10, random_state=0).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    loss: str | Loss = "hinge"
    _: KW_ONLY
    multi_class: str = "weston_watkins"
    fit_intercept: bool = False
    class_weight: Any = None

    def problems(self, task: Task) -> list[LazyProblem]:
        joint = task.form in _JOINT and task.n_classes > 2
        return [partial(self._joint if joint else self._one_score_each, task)]

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        if not self.fit_intercept:
            del found["intercept_"]
        return found

    def _scores(self, X: MatrixLike) -> Floats:
        return super()._scores(X) + vars(self).get("intercept_", 0.0)

    def _stock(self) -> Any:
        return stock_kernel_classifier(self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("multi_class", self.multi_class, ("ovr", *_JOINT))

    def _fits_constant(self) -> bool:
        # scikit-learn's check of one class with weight passes a precomputed matrix that is no Gram matrix
        return bool(self.kernel != "precomputed")

    def _form(self, task: Task) -> str:
        return self.multi_class if self._loss() == Hinge() else "ovr"

    def _fitted_form(self) -> str:
        return self.multi_class_

    def _one_score_each(self, task: Task) -> Problem:
        """One problem with a score for each class against the rest, or one score for two classes."""
        signs = np.where(task.targets[:, None] == np.arange(task.n_classes), 1.0, -1.0)
        labels = signs[:, 1] if task.n_classes == 2 else signs
        return self._problem(task, MeanRisk(self._loss(), labels, task.weights))

    def _joint(self, task: Task) -> Problem:
        return self._problem(task, _JOINT[str(task.form)](task.targets, task.n_classes, task.weights))
