"""Classification with kernels, with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem
from fenchel.estimators.kernel_base import KERNEL_INPUT, KernelEstimator, summed
from fenchel.estimators.labels import encode_labels
from fenchel.estimators.probabilities import Probabilities
from fenchel.estimators.task import Task, checked_weights, validated
from fenchel.kernels import GramDesign
from fenchel.losses import Hinge, Loss, as_loss
from fenchel.problem import Problem
from fenchel.risks import CrammerSinger, MeanRisk, MulticlassRisk, WestonWatkins
from fenchel.solvers import Solver

_JOINT: dict[str, type[MulticlassRisk]] = {risk.name: risk for risk in (WestonWatkins, CrammerSinger)}


class KernelClassifier(Probabilities, ClassifierMixin, KernelEstimator):
    r"""Kernel classifier with a duality-gap certificate.

    Minimizes :math:`\tfrac12\sum_j \|w_j\|^2 + C \sum_i \text{weight}_i\, f(s_i, y_i)` over weights in the feature
    space of the kernel (RKHS), without intercepts.  The hinge of more than two classes is a joint loss, see
    ``multi_class``; any other loss is a loss of one score, of the two classes or of each class against the rest.  With
    the logistic loss there are probabilities, ``predict_proba``.  The Gram matrix of the training examples is computed
    once, in float64, or row by row if it exceeds ``memory_limit``.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "huber_hinge", "logistic", "exponential"} or Loss, default="hinge"
        The loss: a name, or an object of :mod:`fenchel.losses` with parameters.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        The kernel: ``exp(-gamma |x - z|^2)``, ``x . z`` or ``(gamma x . z + coef0)^degree``.  With "precomputed", X is
        the matrix of kernel values, (n, n) for ``fit`` and against the training examples otherwise.  A function takes
        two matrices and returns the kernel values between their rows.  A matrix or a function must be positive
        semi-definite, which a Cholesky factorization of the training examples checks; values rounded to float32 may
        need a diagonal shift of that size, which is added.  Beyond ``memory_limit`` a sample of up to 1,000 examples is
        checked, and each row for symmetry and size; what this does not show, the certificate takes on trust.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels "rbf" and "poly": "scale" is ``1 / (features * X.var())`` with the weights of the
        examples, "auto" is ``1 / features``.
    degree : int, default=3
        Degree of the kernel "poly".
    coef0 : float, default=0.0
        Constant of the kernel "poly", at least 0: below, the polynomial is not positive semi-definite.
    multi_class : {"weston_watkins", "crammer_singer", "ovr"}, default="weston_watkins"
        The form of the hinge for more than two classes: :math:`\sum_{j\ne y} [1 - s_y + s_j]_+`, :math:`\max_{j\ne y}
        [1 - s_y + s_j]_+`, or each class against the rest, which other losses always use.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply the weights of their examples; "balanced" uses weights inversely
        proportional to the sizes of all classes.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    memory_limit : float, default=4096
        Megabytes of kernel values to keep.  If the Gram matrix is larger, its rows are computed when the dual variables
        of their examples change, and as many rows are cached as fit (two at least; a function may need more memory
        inside).  Joint risks of several classes and a precomputed matrix need the whole Gram matrix.
    time_limit : float, default=None
        Maximum number of seconds for the solver; the best model so far is kept with its certificate.
    verbose : int, default=0
        Whether to report each certificate during the fit.

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

    #: of the shared way to fit
    fit_intercept = False

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        kernel: str | Callable[[Any, Any], Array] = "rbf",
        C: float = 1.0,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        multi_class: str = "weston_watkins",
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        memory_limit: float = 4096,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.verbose = verbose

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        self._check_parameters()
        X, y, fitted = validated(self, X, y, **KERNEL_INPUT)
        X = summed(X)
        sample_weight = checked_weights(sample_weight, X)
        # scikit-learn's check of one class with weight passes a precomputed matrix that is no Gram matrix
        constant = self.kernel != "precomputed"
        classes, codes, weights = encode_labels(y, sample_weight, self.class_weight, constant=constant)
        form = self.multi_class if self._loss() == Hinge() else "ovr"
        fitted.update(classes_=classes, multi_class_=form)
        given = {"y": y, "targets": codes, "sample_weight": sample_weight}
        return self._kernel_task(X, weights, **given, classes=classes, form=form, fitted=fitted)

    def problems(self, task: Task) -> list[LazyProblem]:
        whole = isinstance(task.design, GramDesign)
        if task.form not in _JOINT or (task.n_classes == 2 and not whole):
            return [partial(self._one_score_each, task)]
        if not whole:
            n = task.design.shape[0]
            raise FenchelError(
                f"multi_class={self.multi_class!r} needs the whole Gram matrix of {n} examples in memory, "
                f"which takes {8 * n**2 / 2**20:,.1f} MB, more than memory_limit={self.memory_limit:g}: "
                "raise memory_limit, or use multi_class='ovr'"
            )
        return [partial(self._joint, task)]

    def decision_function(self, X: Any) -> Floats:
        """Scores: (n,) for two classes, else (n, classes)."""
        scores = self._kernel_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """The label of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        forms = ("ovr", *_JOINT)
        if not isinstance(self.multi_class, str) or self.multi_class not in forms:
            raise FenchelError(f"multi_class must be one of {', '.join(map(repr, forms))}, got {self.multi_class!r}")

    def _loss(self) -> Loss:
        return as_loss(self.loss, "classification")

    def _fitted_form(self) -> str:
        return self.multi_class_

    def _one_score_each(self, task: Task) -> Problem:
        """One problem with a score for each class against the rest, or one score for two classes."""
        signs = np.where(task.targets[:, None] == np.arange(task.n_classes), 1.0, -1.0)
        labels = signs[:, 1] if task.n_classes == 2 else signs
        return self._problem(task, MeanRisk(self._loss(), labels, task.weights), task.weights)

    def _joint(self, task: Task) -> Problem:
        if task.n_classes == 2:
            # s_1 = -s_0 and |w_1 - w_0|^2 = 2 (|w_0|^2 + |w_1|^2): the hinge of two classes has twice the lam
            task = replace(task, C=task.C / 2.0)
        risk = _JOINT[str(task.form)](task.targets, task.n_classes, task.weights)
        return self._problem(task, risk, task.weights)

    def _coefficients(self, task: Task, coefficients: Array) -> Floats:
        two = task.n_classes == 2 and len(coefficients) == 2
        return coefficients[[1]] - coefficients[[0]] if two else coefficients
