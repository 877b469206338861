"""Linear classification of ordered classes: one score, and a threshold between each class and the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.classifier import LinearClassifier, counted_classes
from fenchel.estimators.fitting import Given
from fenchel.estimators.measures import trusted_bounds
from fenchel.estimators.thresholds import ordered_thresholds, seen_from_below
from fenchel.estimators.transaction import all_or_nothing
from fenchel.losses import Loss, as_loss
from fenchel.risks import OrdinalHinge
from fenchel.solution import Solution
from fenchel.solvers import Solver


class OrdinalClassifier(LinearClassifier):
    r"""Linear classifier of ordered classes that proves how close it is to the optimum.

    Minimizes :math:`\Omega(w) + C\,n\,R(Xw)`, where R is the mean of :math:`[1 - s_j + s_i]_+` over all pairs of
    examples of which j has the higher class, each weighed by the product of the weights of the two.  Then those
    thresholds are chosen that have the least absolute error on the training examples, in numbers of classes.  The
    certificate is one for R, which the thresholds do not change.

    Parameters
    ----------
    order : sequence of labels or None, default=None
        All labels, from the lowest to the highest.  None takes the order of an ordered ``pandas.Categorical`` (or a
        ``polars.Enum``), and sorts other labels (as text, if they are text).  Some wrappers number the labels, sorted,
        before they fit, ``BaggingClassifier`` among them: within these it is the order of the numbers, e.g. [1, 2, 0]
        for low, mid, high.
    C, l1_ratio, tol, max_iter, solver, warm_start, random_state, n_jobs, time_limit, verbose : as in \
``LinearClassifier``
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of a class's examples, in pairs and for the thresholds.

    Attributes
    ----------
    coef_ : (1, d), whose scores X w are larger for higher classes
    thresholds_ : (classes - 1,), rising: a class is predicted for scores above the one before it, up to its own
    intercept_ : minus the thresholds
    classes_ : the labels, sorted, as scikit-learn expects them; columns of ``decision_function`` are in this order
    order_ : the same labels from the lowest to the highest
    conjugate_bounds_ : the bound on the conjugate that the certificate takes on trust, in a list
    certificate_, certificates_, dual_gap_, converged_, n_iter_, solver_, theta_, trace_ : as in ``LinearClassifier``

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

    #: differences of scores do not see an intercept
    fit_intercept = False

    #: one class has no order
    _constant = False

    def __init__(
        self,
        order: Any = None,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.order = order
        self.C = C
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # classes that lie around each other in no order, as in scikit-learn's checks, have no good thresholds
        tags.classifier_tags.poor_score = True
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and labels y.  Ctrl-C stores the best model so far and is raised again."""
        # validation makes plain labels of it
        self._declared = _declared_order(y)
        return super().fit(X, y, sample_weight)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n, classes) in the order of ``classes_``: how far the score is inside the thresholds of each class, the
        distance to the nearer one, negative outside.  It is positive for the prediction alone.

        (n,) for two classes: that of the second of ``classes_``, whichever of the two is the higher one.
        """
        above = self._scores(X)
        beyond = np.full((len(above), 1), np.inf)
        inside = np.minimum(np.hstack([beyond, above]), np.hstack([seen_from_below(above), beyond]))
        found = inside[:, np.argsort(np.searchsorted(self.classes_, self.order_))]
        return found[:, 1] if found.shape[1] == 2 else found

    def predict(self, X: Any) -> NDArray:
        """The label of each row."""
        above = self._scores(X)
        return self.order_[np.sum(above > 0.0, axis=1)]

    # --- what is asked for

    def _check_parameters(self) -> None:
        self._regularizer()
        self._check_numbers()
        if self.order is not None and not _are_labels(self.order):
            raise FenchelError(f"order must be None or all labels once, from lowest to highest, got {self.order!r}")

    def _counted(self, y: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
        order = self._told()
        if order is not None:
            known = set(order)
            missing = [label for label in np.unique(y).tolist() if label not in known]
            if missing:
                raise FenchelError(f"order lacks labels of y: {missing!r}; it has {order!r}{_numbered(order, missing)}")
        return counted_classes(y, weights)

    def _told(self) -> list[Any] | None:
        """The labels in the order that was told, if it was."""
        return self._declared if self.order is None else list(self.order)

    def _grades(self) -> NDArray[np.int64]:
        """The place of each class in the order of those that there are."""
        order = self._told()
        if order is None:
            return np.arange(len(self.classes_))
        place = {label: k for k, label in enumerate(order)}
        return np.argsort(np.argsort([place[label] for label in self.classes_.tolist()]))

    # --- the problem

    def _loss(self) -> Loss:
        # of one pair; it has no probabilities
        return as_loss("hinge")

    def _form(self) -> str:
        return "ordinal"

    def _joint(self) -> Any:
        return OrdinalHinge

    def _columns(self, encoded: NDArray) -> list[Callable[[], NDArray]]:
        # classes without weight have no number; any will do
        return [partial(np.take, self._grades(), np.maximum(encoded, 0))]

    def _risk(self, labels: NDArray, weights: NDArray | None) -> OrdinalHinge:
        return OrdinalHinge(labels, weights)

    def _fit_columns(
        self, X: Any, columns: Sequence[Callable[[], NDArray]], weights: NDArray | None, given: Given
    ) -> None:
        order = self.classes_[np.argsort(self._grades())]
        if not np.array_equal(getattr(self, "order_", order), order) and hasattr(self, "theta_"):
            del self.theta_  # the last fit was for another order: no warm start from it
        self.order_: NDArray = order
        try:
            super()._fit_columns(X, columns, weights, given)
        except KeyboardInterrupt:
            # what was stored has thresholds too
            if hasattr(self, "risk_intercept_"):
                self._cut(X, columns[0](), weights)
            raise
        self._cut(X, columns[0](), weights)

    def _cut(self, X: Any, labels: NDArray, weights: NDArray | None) -> None:
        """Choose the thresholds by the scores of the training examples."""
        scores = as_design(X).scores(self._weights())[:, 0]
        self.thresholds_ = ordered_thresholds(scores, labels, len(self.classes_), weights)
        self.intercept_ = -self.thresholds_

    def _store(self, solutions: list[Solution]) -> None:
        super()._store(solutions)
        self.risk_intercept_: NDArray[np.float64] = self.intercept_
        self.conjugate_bounds_ = trusted_bounds(solutions)

    def _solved_intercept(self) -> Any:
        return self.risk_intercept_


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


def _declared_order(y: Any) -> list[Any] | None:
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
