"""Linear classification with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.base import Given, LinearEstimator, input_of
from fenchel.estimators.multiclass import chosen_form, joint_risk
from fenchel.estimators.one_vs_one import pair_columns, stacked, taking_part, votes
from fenchel.estimators.probabilities import Probabilities
from fenchel.estimators.transaction import all_or_nothing
from fenchel.losses import Loss, as_loss
from fenchel.regularizers import Regularizer
from fenchel.risks import MulticlassRisk
from fenchel.solvers import Solver


def classes_with_weight(y: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
    """The classes that have weight, and the number of each example's class (-1 if it has none)."""
    classes, encoded = np.unique(y, return_inverse=True)
    if weights is None:
        return classes, encoded
    counted = np.unique(encoded[weights > 0])
    number = np.full(len(classes), -1)
    number[counted] = np.arange(len(counted))
    return classes[counted], number[encoded]


def class_weights(
    class_weight: Any, y: NDArray, classes: NDArray, encoded: NDArray, weights: NDArray | None
) -> NDArray[np.float64]:
    """The weights of the examples times those of their classes."""
    counted = encoded >= 0
    of_counted = None if weights is None else weights[counted]
    per_class = compute_class_weight(class_weight, classes=classes, y=y[counted], sample_weight=of_counted)
    if not (np.all(np.isfinite(per_class)) and np.all(per_class >= 0) and np.any(per_class > 0)):
        raise FenchelError(f"class_weight must give finite weights >= 0, not all zero, got {class_weight!r}")
    found = np.where(counted, per_class[encoded], 0.0)
    return found if weights is None else found * weights


def one_against_rest(encoded: NDArray, k: int) -> NDArray[np.float64]:
    """1 for the class k, -1 for the others."""
    return np.where(encoded == k, 1.0, -1.0)


class LinearClassifier(Probabilities, ClassifierMixin, LinearEstimator):
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
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    regularizer : str or Regularizer, default=None
        Replaces the elastic net :math:`\Omega`: the name or an object of :mod:`fenchel.regularizers`, such as "q_norm"
        or ``Entropy(mass=10, balanced=True)``.  None uses ``l1_ratio``.  ``FreeDirections.of_features([0, 3],
        n_features)`` leaves two features unregularized.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not regularized.  Where the best intercept is an interval, its midpoint
        is used.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
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
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    n_jobs : int, default=None
        Threads over the classes or pairs of classes, and within a problem where the solver uses them.  The result does
        not depend on it.
    time_limit : float, default=None
        Maximum number of seconds for the whole fit; the best model so far is kept with its certificate.
    verbose : int, default=0
        Whether to report each certificate during the fit.

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

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and labels y.  Ctrl-C stores the best model so far and is raised again."""
        self._check_parameters()
        X, y = validate_data(self, X, y, **input_of(X))
        check_classification_targets(y)
        weights = sample_weight = self._checked_weights(sample_weight, X)
        classes, encoded = self._counted(y, weights)
        if self.class_weight is not None and len(classes) > 1:
            weights = class_weights(self.class_weight, y, classes, encoded, weights)
            classes, encoded = self._counted(y, weights)
            if len(classes) < 2:
                raise FenchelError(f"class_weight={self.class_weight!r} leaves fewer than two classes with weight")
        self._check_classes(classes)
        if not np.array_equal(getattr(self, "classes_", classes), classes) and hasattr(self, "theta_"):
            del self.theta_  # the last fit was for other classes: no warm start from it
        self.classes_: NDArray = classes
        self.multi_class_ = self._form()
        self._fit_columns(X, self._columns(encoded), weights, Given(y, sample_weight))
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Signed scores: (n,) for two classes, else (n, classes); with "ovo" votes and confidences, see ``pairs``."""
        check_is_fitted(self)
        if self._by_pairs():
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

    def _form(self) -> Any:
        """The form of more than two classes."""
        return chosen_form(
            self.multi_class, self._loss(), self._regularizer(), self._solver(), bool(self.fit_intercept)
        )

    def _columns(self, encoded: NDArray) -> list[Callable[[], NDArray]]:
        """The labels of each problem, from the numbers of the examples' classes."""
        if len(self.classes_) == 2:
            return [partial(one_against_rest, encoded, 1)]
        if self._joint() is not None:
            # classes without weight have no number; any will do
            return [partial(np.maximum, encoded, 0)]
        if self._by_pairs():
            return pair_columns(encoded, len(self.classes_))
        return [partial(one_against_rest, encoded, k) for k in range(len(self.classes_))]

    def _joint(self) -> type[MulticlassRisk] | None:
        """The joint risk of more than two classes, if they have one."""
        return joint_risk(self._form(), self._loss())

    def _by_pairs(self) -> bool:
        """Whether there is a problem for each pair of classes."""
        return self.multi_class_ == "ovo" and len(self.classes_) > 2

    def _taking_part(self, labels: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray | None]:
        return taking_part(labels, weights) if self._by_pairs() else super()._taking_part(labels, weights)

    def _stacked(self, thetas: list[Any]) -> Any:
        return stacked(thetas) if self._by_pairs() else super()._stacked(thetas)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_numbers()
        self._joint()

    def _risk(self, labels: NDArray, weights: NDArray | None) -> Any:
        joint = self._joint()
        if joint is None or len(self.classes_) == 2:
            return super()._risk(labels, weights)
        return joint(labels, len(self.classes_), weights)

    def _counted(self, y: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
        return classes_with_weight(y, weights)

    def _check_classes(self, classes: NDArray) -> None:
        if len(classes) < 2:
            raise FenchelError(
                f"y must hold at least two classes with positive weight, got one class only: {classes!r}"
            )
