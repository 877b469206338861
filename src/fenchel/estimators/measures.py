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
from fenchel.estimators.classifier import LinearClassifier, one_against_rest
from fenchel.estimators.fitting import Given
from fenchel.estimators.held_out import held_out_scores
from fenchel.estimators.thresholds import best_threshold, seen_from_below
from fenchel.losses import Loss, as_loss
from fenchel.risks import MEASURES, OwnMeasure, micro
from fenchel.solution import Solution
from fenchel.solvers import Solver

#: measures of which examples can have weights: they add up losses of examples or of pairs
_WEIGHED = ("roc_auc", "accuracy")


class MeasureClassifier(LinearClassifier):
    r"""Linear classifier that is trained for a measure, and proves how close it is to the optimum.

    Minimizes :math:`\Omega(w) + C\,n\,R(Xw + b)`, where R is a convex bound on what the measure loses,

    .. math:: R(s) = \max_z\; \Delta(fn, fp) + \frac{1}{2n}\sum_i s_i (z_i - y_i)

    over all labellings z with fn false negatives and fp false positives (for the ROC area: the mean hinge loss over
    pairs of a positive and a negative).  With :math:`\Delta` the error rate it is the hinge loss, so C means the same
    for every measure.  Then the threshold is chosen that is best for the measure itself.  The certificate is one for
    R, which the threshold does not change.

    Parameters
    ----------
    measure : {"f1", "fbeta", "prbep", "roc_auc", "precision_at_k", "recall_at_k", "accuracy"}, function or array, \
default="f1"
        Or one's own :math:`\Delta`: a function of fn and fp, or an array ``delta[fn, fp]`` of shape
        (positives + 1, negatives + 1), with ``delta(0, 0) = 0``; minus infinity forbids a labelling.
    beta : float, default=1.0
        Of "fbeta": recall counts beta times as much as precision.
    k : int or None, default=None
        Of "precision_at_k" (at most the number of positives) and of "recall_at_k" (at least that number).  The first k
        are those with the largest scores for the positive label; what ``predict`` marks is another question, see
        ``threshold``.
    pos_label : label or None, default=None
        The positive one of two classes; None is the second of ``classes_``.
    linear : bool or None, default=None
        Of a function of one's own: True vouches that it is linear in fn for each fp - fn, as F-beta is, so that not all
        of its (positives + 1)(negatives + 1) values are needed; None finds out.
    average : {"macro", "micro"}, default="macro"
        For more than two classes: a problem with a measure for each class against the rest, or one problem whose
        measure is that of one table with the scores of all classes; that has no intercepts, and one threshold.
    threshold : {"train", "cv"}, default="train"
        Chosen on the scores of the training examples, or on their scores in folds that they were left out of.  For
        the ROC area, which has none of its own, it is that of the largest difference between the rates of true and
        of false positives.  For "precision_at_k" it is the one of the best precision among those that mark at least k
        examples, for "recall_at_k" of the best recall among those that mark at most k: seldom k of them exactly.  Of
        equally good ones it is the one with the fewest errors.
    cv : int, splitter or iterable, default=5
        The folds of ``threshold="cv"``.
    C, l1_ratio, tol, max_iter, solver, warm_start, random_state, n_jobs, verbose : as in ``LinearClassifier``
    fit_intercept : bool, default=True
        Whether the problem has a free intercept, if the measure sees one (break-even and ROC area do not).
    class_weight : dict, "balanced" or None, default=None
        For "accuracy" alone: in the ROC area it cancels, and the other measures count examples.  For the same reason
        ``sample_weight`` in ``fit`` is for "accuracy" and "roc_auc".
    time_limit : float or None, default=None
        Seconds for each fit: the one to all examples, and those to the folds of ``threshold="cv"``.

    Attributes
    ----------
    coef_ : (1, d) for two classes, positive for the positive label, else (classes, d)
    intercept_ : minus the thresholds of the scores X w
    thresholds_ : of the scores X w, one for each row of ``coef_``
    pos_label_ : the positive one of two classes, else None
    risk_intercept_ : the intercept b of the problem that was solved, of which the certificate speaks
    conjugate_bounds_ : for each problem the bound on the conjugate that its certificate takes on trust; None where it
        is recomputed
    classes_, certificate_, certificates_, dual_gap_, converged_, n_iter_, solver_, theta_, trace_ : as in
        ``LinearClassifier``

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

    #: one class has no measure
    _constant = False

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
            return OwnMeasure(labels, self.measure, self.linear)
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
