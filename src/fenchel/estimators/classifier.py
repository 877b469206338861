"""Linear classification with a certificate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.designs import as_design
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.labels import encode_labels, one_vs_rest
from fenchel.estimators.multiclass import declared_form, supports
from fenchel.estimators.one_vs_one import active_examples, votes
from fenchel.estimators.probabilities import Probabilities
from fenchel.estimators.task import Task, checked_weights, input_of, validated
from fenchel.losses import Loss, as_loss
from fenchel.problem import Problem
from fenchel.regularizers import Regularizer
from fenchel.risks import MULTICLASS, MeanRisk
from fenchel.solvers import Solver


class LinearClassifier(Probabilities, ClassifierMixin, LinearEstimator):
    r"""Linear classifier that proves how close it is to the optimum.

    Minimizes :math:`\Omega(w) + C \sum_i \text{weight}_i\, f(x_i\cdot w + b, y_i)` with
    :math:`\Omega(w) = \tfrac{1-\rho}{2}\|w\|^2 + \rho\|w\|_1` and an intercept b that is not regularized.
    With more than two classes ``multi_class`` says what takes the place of the sum.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "huber_hinge", "logistic", "exponential"} or a Loss, default="hinge"
    C : float, default=1.0
        Inverse strength of the regularization.
    l1_ratio : float, default=0.0
        The share :math:`\rho` of the absolute values in the regularization, from 0 to 1, which is these alone.
    regularizer : {"l1", "entropy", "unnormalized_entropy", "q_norm", ...} or a Regularizer, default=None
        Takes the place of :math:`\Omega`; None goes by ``l1_ratio``.  Objects have parameters, e.g.
        ``Entropy(mass=10, balanced=True)``.  The entropies allow positive weights only, unless they are balanced.
        ``FreeDirections.of_features([0, 3], n_features)`` does not regularize these features.
    fit_intercept : bool, default=True
        Where the best intercept is an interval, its midpoint is taken.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Passes over the data at most.
    solver : str or a solver object, default="auto"
    multi_class : {"auto", "ovr", "ovo", "weston_watkins", "crammer_singer", "multinomial"}, default="auto"
        For more than two classes: a problem for each class against the rest, a problem for each pair of classes over
        their examples alone, or one problem for all of them, whose intercepts add up to zero.  An example of class y
        then costs :math:`\sum_{j\ne y} [1 - s_y + s_j]_+` (Weston and Watkins) or
        :math:`\max_{j\ne y} [1 - s_y + s_j]_+` (Crammer and Singer), both with loss "hinge", or
        :math:`\log\sum_j e^{s_j} - s_y` (multinomial, with loss "logistic").  Two classes are the two-class problem in
        any case.
        "auto" is "weston_watkins" with loss "hinge" and "multinomial" with loss "logistic", which predict better than
        "ovr" on average (``python benchmarks/forms.py``).  It is "ovr" with any other loss, with ``l1_ratio`` above
        zero, and with a ``solver`` that does not take the joint problem.  ``multi_class_`` says which it was.
        With many features of very different sizes the joint hinges are fitted by descent alone: scale them, or use
        "ovr", which has Newton's method besides.  With few, an interior-point method goes on where descent is slow.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of a class's examples, the same in every problem that they take part in; "balanced" goes
        by the sizes of all classes.
    warm_start : bool, default=False
        Start from the last fit's weights and dual variables.
    random_state : int, RandomState or None, default=None
        Orders the examples.  An integer makes fits reproducible.
    n_jobs : int or None, default=None
        Threads over the classes or pairs, and within one where the solver has use for them; the result does not
        depend on it.
    time_limit : float or None, default=None
        Seconds for the whole fit; the best model so far is kept with its certificate.
    verbose : int, default=0
        Show each certificate while fitting.

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,) for two classes, else (classes, d) and (classes,); float64.  With "ovo" there is
        a row for each pair (a, b), a < b, in the order of ``itertools.combinations(classes_, 2)``, positive for b
    classes_ : the labels
    multi_class_ : the form of more than two classes, what "auto" stands for
    certificate_ : Certificate of the fit (summed over the problems that were solved); print it
    certificates_ : one Certificate for each problem that was solved
    dual_gap_ : ``certificate_.gap``
    converged_ : whether every certificate proves ``tol``
    n_iter_ : data passes, the most that any problem took; visits of all rows of X count as one, also with "ovo"
    solver_ : the solver that was used, or those that took part in turn
    theta_ : the dual variables, the witness from which anybody can recompute the certificate; with "ovo" a sparse
        (n, pairs) array, since a pair's variables of other classes are zero
    trace_ : certificates on the way (a list of them for each problem if there are several)

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

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        regularizer: str | Regularizer | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        multi_class: str = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.l1_ratio = l1_ratio
        self.regularizer = regularizer
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    #: whether examples of one class alone, the others having no weight, can be fitted
    _fits_constant: ClassVar[bool] = True

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        self._check_parameters()
        X, y, fitted = validated(self, X, y, **input_of(X))
        sample_weight = checked_weights(sample_weight, X)
        classes, codes, weights = encode_labels(y, sample_weight, self.class_weight, constant=self._fits_constant)
        task = self._task(X, y=y, targets=codes, sample_weight=sample_weight, weights=weights, classes=classes)
        form = self._form(task)
        return replace(task, form=form, fitted={**fitted, "classes_": classes, "multi_class_": form})

    def problems(self, task: Task) -> list[LazyProblem]:
        classes = range(task.n_classes)
        if len(classes) == 2:
            return [partial(self._one_vs_rest, task, 1)]
        if task.form in MULTICLASS:
            return [partial(self._joint, task)]
        if task.form == "ovo":
            return [partial(self._pair, task, a, b) for a, b in combinations(classes, 2)]
        return [partial(self._one_vs_rest, task, k) for k in classes]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Signed scores: (n,) for two classes, else (n, classes); with "ovo" votes plus confidences below one vote."""
        check_is_fitted(self)
        if self._fitted_form() == "ovo" and len(self.classes_) > 2:
            X = validate_data(self, X, reset=False, **input_of(X))
            return votes(as_design(X), self._weights(), self.intercept_, len(self.classes_))
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray:
        """The label of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

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

    def _loss(self) -> Loss:
        return as_loss(self.loss, "classification")

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
        if self.multi_class != "auto" or form not in MULTICLASS or task.n_classes == 2:
            return form
        return form if supports(self._joint(replace(task, form=form)), self._solver()) else "ovr"

    def _one_vs_rest(self, task: Task, k: int) -> Problem:
        risk = MeanRisk(self._loss(), one_vs_rest(task.targets, k), task.weights)
        return self._problem(task, risk, task.weights)

    def _pair(self, task: Task, a: int, b: int) -> Problem:
        labels, weights = active_examples(task.targets, task.weights, a, b)
        return self._problem(task, MeanRisk(self._loss(), labels, weights), weights)

    def _joint(self, task: Task) -> Problem:
        risk = MULTICLASS[str(task.form)](task.targets, task.n_classes, task.weights)
        return self._problem(task, risk, task.weights)
