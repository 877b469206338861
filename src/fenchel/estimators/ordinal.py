"""Linear classification of ordered classes: one score, and a threshold between each class and the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.classifier import LinearClassifier, counted_classes
from fenchel.estimators.fitting import Given
from fenchel.estimators.measures import trusted_bounds
from fenchel.estimators.thresholds import ordered_thresholds
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
        All labels, from the lowest to the highest; None sorts them (as text, if they are text).
    C, l1_ratio, tol, max_iter, solver, warm_start, random_state, n_jobs, time_limit, verbose : as in \
``LinearClassifier``
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of a class's examples, in pairs and for the thresholds.

    Attributes
    ----------
    coef_ : (1, d)
    thresholds_ : (classes - 1,), rising: a class is predicted for scores above the one before it, up to its own
    intercept_ : minus the thresholds
    classes_ : the labels in their order
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

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) for two classes: the score above the threshold.  Else (n, classes), the largest for the prediction: how
        far the score is above the thresholds up to each class, added up.
        """
        above = self._scores(X)
        if above.shape[1] == 1:
            return above[:, 0]
        return np.concatenate([np.zeros((len(above), 1)), np.cumsum(above, axis=1)], axis=1)

    def predict(self, X: Any) -> NDArray:
        """The label of each row."""
        above = self._scores(X)
        return self.classes_[np.sum(above > 0.0, axis=1)]

    # --- what is asked for

    def _check_parameters(self) -> None:
        self._regularizer()
        self._check_numbers()
        if self.order is not None and (np.ndim(self.order) != 1 or len(set(self.order)) != len(self.order)):
            raise FenchelError(f"order must be None or all labels once, from lowest to highest, got {self.order!r}")

    def _counted(self, y: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
        """The classes in their order."""
        classes, encoded = counted_classes(y, weights)
        if self.order is None:
            return classes, encoded
        place = {label: k for k, label in enumerate(self.order)}
        missing = [label for label in np.unique(y).tolist() if label not in place]
        if missing:
            raise FenchelError(f"order lacks labels of y: {missing!r}; it has {list(self.order)!r}")
        by_order = np.argsort([place[label] for label in classes.tolist()])
        number = np.empty(len(classes) + 1, dtype=np.int64)
        # the last entry is for examples without weight, whose number is -1
        number[by_order], number[-1] = np.arange(len(classes)), -1
        return classes[by_order], number[encoded]

    # --- the problem

    def _loss(self) -> Loss:
        # of one pair; it has no probabilities
        return as_loss("hinge")

    def _form(self) -> str:
        return "ordinal"

    def _joint(self) -> Any:
        return OrdinalHinge

    def _risk(self, labels: NDArray, weights: NDArray | None) -> OrdinalHinge:
        return OrdinalHinge(labels, weights)

    def _fit_columns(
        self, X: Any, columns: Sequence[Callable[[], NDArray]], weights: NDArray | None, given: Given
    ) -> None:
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
        codes = np.searchsorted(np.unique(labels), labels)
        self.thresholds_ = ordered_thresholds(scores, codes, len(self.classes_), weights)
        self.intercept_ = -self.thresholds_

    def _store(self, solutions: list[Solution]) -> None:
        super()._store(solutions)
        self.risk_intercept_: NDArray[np.float64] = self.intercept_
        self.conjugate_bounds_ = trusted_bounds(solutions)

    def _solved_intercept(self) -> Any:
        return self.risk_intercept_
