"""Linear classification for a measure of its own: F1, break-even, ROC area, precision and recall among the first k."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.base import Given
from fenchel.estimators.classifier import LinearClassifier, one_against_rest
from fenchel.estimators.held_out import held_out_scores
from fenchel.estimators.thresholds import best_threshold, seen_from_below
from fenchel.losses import Loss, as_loss
from fenchel.risks import MEASURES, CustomMeasure, micro
from fenchel.solvers import Solver
from fenchel.solving.solution import Solution

#: measures of which examples can have weights: they add up losses of examples or of pairs
_WEIGHED = ("roc_auc", "accuracy")


class MeasureClassifier(LinearClassifier):
    r"""Linear classifier trained for a performance measure, with a duality-gap certificate.

    Minimizes :math:`\Omega(w) + C\,n\,R(Xw + b)`, where R is a convex upper bound on the loss of the measure [1]_,

    .. math:: R(s) = \max_z\; \Delta(fn, fp) + \frac{1}{2n}\sum_i s_i (z_i - y_i)

    over all labellings z with fn false negatives and fp false positives (for ROC AUC: the mean hinge over pairs of a
    positive and a negative).  With the error rate for :math:`\Delta` it is the hinge loss, so C means the same for
    every measure.  Afterwards the threshold that is best for the measure itself is chosen; the certificate is about R,
    which the threshold does not change.

    Parameters
    ----------
    measure : str, callable or array-like, default="f1"
        The measure, "f1", "fbeta", "prbep", "roc_auc", "precision_at_k", "recall_at_k" or "accuracy", or a custom
        :math:`\Delta`: a function of fn and fp, or an array ``delta[fn, fp]`` of shape (positives + 1, negatives + 1),
        with ``delta(0, 0) = 0``; minus infinity forbids a labelling.
    beta : float, default=1.0
        Parameter of "fbeta": recall has beta times the weight of precision.
    k : int, default=None
        Parameter of "precision_at_k" (at most the number of positives) and of "recall_at_k" (at least that number).
        The top k examples are those with the largest scores for the positive label.
    pos_label : object, default=None
        The positive one of two classes; None is the second of ``classes_``.
    linear : bool, default=None
        Whether a custom function is linear in fn for each fp - fn, as F-beta is, so that not all of its (positives +
        1)(negatives + 1) values are needed; None tests it.
    average : {"macro", "micro"}, default="macro"
        The form for more than two classes: a problem for each class against the rest, or one problem with one
        contingency table for the scores of all classes, which has no intercepts and one threshold.
    threshold : {"train", "cv"}, default="train"
        Whether the threshold is chosen on the training scores or on the scores of held-out folds.  For ROC AUC it
        maximizes the true positive rate minus the false positive rate; for "precision_at_k" the precision among
        thresholds that mark at least k examples; for "recall_at_k" the recall among those that mark at most k.  Ties
        are resolved by the number of errors.
    cv : int, splitter or iterable, default=5
        The folds of ``threshold="cv"``.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    fit_intercept : bool, default=True
        Whether the problem has an intercept, if the measure depends on one (break-even point and ROC AUC do not).
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    class_weight : dict or "balanced", default=None
        Weights of the classes, for "accuracy" alone: they cancel in ROC AUC, and the other measures count examples.
        For the same reason ``sample_weight`` in ``fit`` is for "accuracy" and "roc_auc".
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    n_jobs : int, default=None
        Threads over the classes, and within a problem where the solver uses them.  The result does not depend on it.
    time_limit : float, default=None
        Maximum number of seconds for each fit: the one to all examples, and those to the folds of ``threshold="cv"``.
    verbose : int, default=0
        Whether to report each certificate during the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights, in float64; for two classes positive for the positive label.
    intercept_ : ndarray of shape (1,) or (classes,)
        Minus the thresholds.
    thresholds_ : ndarray of shape (1,) or (classes,)
        Thresholds of the scores X w, one for each row of ``coef_``.
    pos_label_ : object
        The positive one of two classes, else None.
    risk_intercept_ : float or ndarray
        The intercept b of the problem that was solved, to which the certificate refers.
    conjugate_bounds_ : list of float or None
        For each problem the bound on the conjugate that its certificate takes on trust; None where it is recomputed.
    classes_ : ndarray
        The class labels.
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
    LinearClassifier : Training for the mean of a loss.
    OrdinalClassifier : Ordered classes.
    fenchel.risks.CustomMeasure : The risk of a custom measure.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13, 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import MeasureClassifier
    >>> X, y = make_classification(500, weights=[0.9], random_state=0)
    >>> model = MeasureClassifier("f1").fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    >>> sorted(set(model.predict(X).tolist()))
    [0, 1]
    """

    def __init__(
        self,
        measure: Any = "f1",
        *,
        beta: float = 1.0,
        k: int | None = None,
        pos_label: Any = None,
        linear: bool | None = None,
        average: str = "macro",
        threshold: str = "train",
        cv: Any = 5,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
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
        self.measure = measure
        self.beta = beta
        self.k = k
        self.pos_label = pos_label
        self.linear = linear
        self.average = average
        self.threshold = threshold
        self.cv = cv
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and labels y.  Ctrl-C stores the best model so far and is raised again.

        With two classes the second of ``classes_`` is the positive one, unless ``pos_label`` says otherwise.
        """
        return super().fit(X, y, sample_weight)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores above the thresholds: (n, classes), or (n,) for two, positive for the second of ``classes_`` even if
        the first is the positive label: scikit-learn's rule.
        """
        above = super().decision_function(X)
        turned = above.ndim == 1 and getattr(self, "pos_label_", None) == self.classes_[0]
        return seen_from_below(above) if turned else above

    # --- what is asked for

    def _check_parameters(self) -> None:
        self._regularizer()
        measure = self.measure
        if isinstance(measure, str) and measure not in MEASURES:
            names = ", ".join(map(repr, MEASURES))
            raise FenchelError(f"measure must be one of {names}, a function or an array, got {measure!r}")
        if callable(measure):
            _check_function(measure)
        elif not isinstance(measure, str) and np.ndim(measure) != 2:
            raise FenchelError(f"measure must be a name, a function of (fn, fp) or an array [fn, fp], got {measure!r}")
        for name, allowed in (("average", ("macro", "micro")), ("threshold", ("train", "cv"))):
            if getattr(self, name) not in allowed:
                raise FenchelError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        beta = self.beta
        if isinstance(beta, bool) or not isinstance(beta, Real) or not (math.isfinite(beta) and beta >= 0):
            raise FenchelError(f"beta must be a finite number >= 0, got {beta!r}")
        if self.linear is not None and not isinstance(self.linear, (bool, np.bool_)):
            raise FenchelError(f"linear must be True, False or None, got {self.linear!r}")
        if self._counts_to_k() and (isinstance(self.k, bool) or not isinstance(self.k, Integral)):
            raise FenchelError(f"measure={measure!r} needs k, a whole number of examples, got k={self.k!r}")
        if self.class_weight is not None and not (isinstance(measure, str) and measure == "accuracy"):
            why = "in which it cancels" if self._weighs() else "which counts examples"
            raise FenchelError(
                f"class_weight has no meaning for {self._called()}, {why}; leave it out, or use measure='accuracy'"
            )
        if self.threshold == "cv" and not isinstance(measure, str) and not callable(measure):
            raise FenchelError("threshold='cv' needs a measure for any number of examples: a name or a function")

    def _check_classes(self, classes: NDArray) -> None:
        super()._check_classes(classes)
        if self.pos_label is None:
            return
        if len(classes) > 2:
            raise FenchelError(f"pos_label is for two classes, and y holds {len(classes)}: leave it None")
        if np.ndim(self.pos_label) != 0 or self.pos_label not in classes.tolist():
            raise FenchelError(f"pos_label must be one of the labels {classes.tolist()!r}, got {self.pos_label!r}")

    def _turned(self) -> bool:
        """Whether the first of two classes is to be the positive one."""
        return self.pos_label is not None and len(self.classes_) == 2 and self.classes_.tolist()[0] == self.pos_label

    def _checked_weights(self, sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
        weights = super()._checked_weights(sample_weight, X)
        if weights is not None and not self._weighs() and np.any(weights != weights[0]):
            raise FenchelError(
                f"sample_weight has no meaning for {self._called()}, which counts the examples of each class; leave "
                "it out (equal weights are accepted), or use measure='accuracy' or 'roc_auc'"
            )
        return weights

    def _weighs(self) -> bool:
        return isinstance(self.measure, str) and self.measure in _WEIGHED

    def _counts_to_k(self) -> bool:
        return isinstance(self.measure, str) and self.measure in ("precision_at_k", "recall_at_k")

    def _called(self) -> str:
        return f"measure={self.measure!r}" if isinstance(self.measure, str) else "a measure of one's own"

    # --- the problems

    def _loss(self) -> Loss:
        # of the error rate; no measure has probabilities
        return as_loss("hinge")

    def _form(self) -> str:
        return "ovr"

    def _columns(self, encoded: NDArray) -> list[Callable[[], NDArray]]:
        return [partial(one_against_rest, encoded, 0)] if self._turned() else super()._columns(encoded)

    def _risk(self, labels: NDArray, weights: NDArray | None) -> Any:
        if labels.ndim == 2:
            each = None if weights is None else np.repeat(weights, labels.shape[1])
            return micro(self._risk(labels.ravel(), each), labels.shape[1])
        if not isinstance(self.measure, str):
            return CustomMeasure(labels, self.measure, self.linear)
        more = {"fbeta": (self.beta,), "precision_at_k": (self.k,), "recall_at_k": (self.k,)}
        return MEASURES[self.measure](labels, *more.get(self.measure, ()), weights=weights if self._weighs() else None)

    def _fit_columns(
        self, X: Any, columns: Sequence[Callable[[], NDArray]], weights: NDArray | None, given: Given
    ) -> None:
        if self.average == "micro" and len(columns) > 1:
            columns = [partial(_side_by_side, columns)]
        design = as_design(X)
        self.pos_label_ = self.classes_[0 if self._turned() else 1] if len(self.classes_) == 2 else None
        try:
            super()._fit_columns(X, columns, weights, given)
            scores = held_out_scores(self, X, given) if self.threshold == "cv" else design.scores(self._weights())
        except KeyboardInterrupt:
            # what was stored has a threshold too
            if hasattr(self, "risk_intercept_"):
                self._cut(design.scores(self._weights()), columns, weights)
            raise
        self._cut(scores, columns, weights)

    def _store(self, solutions: list[Solution]) -> None:
        super()._store(solutions)
        self.risk_intercept_: NDArray[np.float64] = self.intercept_
        self.conjugate_bounds_ = trusted_bounds(solutions)

    def _solved_intercept(self) -> Any:
        return self.risk_intercept_

    # --- thresholds

    def _cut(self, scores: NDArray, columns: Sequence[Callable[[], NDArray]], weights: NDArray | None) -> None:
        """Choose the thresholds by these scores, (n, rows of coef_)."""
        risks = [self._risk(column(), weights) for column in columns]
        if len(risks) == 1 and scores.shape[1] > 1:
            self.thresholds_ = np.full(scores.shape[1], best_threshold(scores.ravel(), risks[0].table))
        else:
            found = [best_threshold(column, risk) for column, risk in zip(scores.T, risks, strict=True)]
            self.thresholds_ = np.array(found)
        self.intercept_ = -self.thresholds_


def trusted_bounds(solutions: list[Solution]) -> list[float | None]:
    """The bounds on the conjugates that certificates take on trust; None where they are recomputed."""
    return [None if one.certificate.recomputed else one.witness.conjugate_bound for one in solutions]


def _check_function(measure: Callable[[Any, Any], Any]) -> None:
    try:
        float(measure(0, 0))
    except Exception as error:
        raise FenchelError(
            f"measure must be a function of (fn, fp) that returns a number, but measure(0, 0) gives "
            f"{type(error).__name__}: {error}"
        ) from error


def _side_by_side(columns: Sequence[Callable[[], NDArray]]) -> NDArray[np.float64]:
    return np.stack([column() for column in columns], axis=1)
