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
from fenchel.estimators.fitting import Given, LinearEstimator, input_of
from fenchel.estimators.forms import chosen_form, joint_risk
from fenchel.estimators.pairs import pair_columns, stacked, taking_part, votes
from fenchel.estimators.probabilities import Probabilities
from fenchel.estimators.transaction import all_or_nothing
from fenchel.losses import Loss, as_loss
from fenchel.regularizers import Regularizer
from fenchel.risks import MulticlassRisk
from fenchel.solvers import Solver


def counted_classes(y: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
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

    #: whether one class with weight, among others without, makes a constant model
    _constant: bool = True

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
        if len(classes) == 1 and self._constant:
            # a bootstrap by weights may leave one class alone: the others keep their place in a constant model
            classes, encoded = np.unique(y, return_inverse=True)
        elif self.class_weight is not None and len(classes) > 1:
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
        return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores

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
        return getattr(self, "multi_class_", getattr(self, "multi_class", None)) == "ovo" and len(self.classes_) > 2

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
        return counted_classes(y, weights)

    def _check_classes(self, classes: NDArray) -> None:
        if len(classes) < 2:
            raise FenchelError(
                f"y must hold at least two classes with positive weight, got one class only: {classes!r}"
            )
