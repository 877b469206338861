"""Linear classification for a measure of its own: F1, break-even, ROC area, precision and recall among the first k."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from fenchel.designs import as_design
from fenchel.errors import FenchelError, GapWarning
from fenchel.estimators.classifier import LinearClassifier
from fenchel.estimators.fitting import Given, level_of_the_user
from fenchel.estimators.thresholds import best_threshold
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
        Of "precision_at_k" (at most the number of positives) and of "recall_at_k" (at least that number).
    linear : bool or None, default=None
        Of a function of one's own: True vouches that it is linear in fn for each fp - fn, as F-beta is, so that not all
        of its (positives + 1)(negatives + 1) values are needed; None finds out.
    average : {"macro", "micro"}, default="macro"
        For more than two classes: a problem with a measure for each class against the rest, or one problem whose
        measure is that of one table with the scores of all classes; that has no intercepts, and one threshold.
    threshold : {"train", "cv"}, default="train"
        Chosen on the scores of the training examples, or on their scores in folds that they were left out of.  For
        the ROC area, which has none of its own, it is that of the largest difference between the rates of true and
        of false positives.  Of equally good ones it is the one with the fewest errors.
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
    coef_ : (1, d) for two classes, else (classes, d)
    intercept_ : minus the thresholds of the scores X w
    thresholds_ : of the scores X w, one for each row of ``coef_``
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

    def __init__(
        self,
        measure: Any = "f1",
        *,
        beta: float = 1.0,
        k: int | None = None,
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

        With two classes the second of ``classes_`` is the positive one.
        """
        return super().fit(X, y, sample_weight)

    # --- what is asked for

    def _check_parameters(self) -> None:
        self._regularizer()
        measure = self.measure
        if isinstance(measure, str) and measure not in MEASURES:
            names = ", ".join(map(repr, MEASURES))
            raise FenchelError(f"measure must be one of {names}, a function or an array, got {measure!r}")
        if not isinstance(measure, str) and not callable(measure) and np.ndim(measure) != 2:
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
        try:
            super()._fit_columns(X, columns, weights, given)
            scores = self._held_out(X, given) if self.threshold == "cv" else design.scores(self._weights())
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

    def _held_out(self, X: Any, given: Given) -> NDArray[np.float64]:
        """Scores X w of every example from a fit to the folds that it is not in."""
        scores, times = np.zeros((len(given.y), len(self.coef_))), np.zeros(len(given.y))
        missed = folds = 0
        for train, test in check_cv(self.cv, given.y, classifier=True).split(X, given.y):
            probe = clone(self).set_params(threshold="train", warm_start=False, verbose=0)
            if self._counts_to_k():
                probe.set_params(k=self._scaled_k(given.y[train], len(train) / len(given.y)))
            weighted = None if given.sample_weight is None else given.sample_weight[train]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GapWarning)
                probe.fit(X[train], given.y[train], weighted)
            if not np.array_equal(probe.classes_, self.classes_):
                raise FenchelError("cv: a fold lacks one of the classes; use fewer folds, or threshold='train'")
            scores[test] = as_design(X[test]).scores(probe._weights())
            times[test] += 1
            missed, folds = missed + (not probe.converged_), folds + 1
        if np.any(times != 1):
            raise FenchelError("cv must leave every example out exactly once, for threshold='cv'; use folds")
        if missed:
            warnings.warn(
                f"{missed} of {folds} fits to the folds of threshold='cv' did not prove tol={self.tol:g}; raise "
                "max_iter or time_limit, lower C, or use a larger tol",
                GapWarning,
                stacklevel=level_of_the_user(),
            )
        return scores

    def _scaled_k(self, y: NDArray, share: float) -> int:
        """K for a part of the examples, within its range there."""
        assert self.k is not None
        sizes = np.array([np.count_nonzero(y == name) for name in self.classes_])
        sizes = sizes[1:] if len(sizes) == 2 else np.array([len(y)]) if self.average == "micro" else sizes
        k = max(1, round(share * self.k))
        return int(min(k, np.min(sizes)) if self.measure == "precision_at_k" else max(k, np.max(sizes)))


def trusted_bounds(solutions: list[Solution]) -> list[float | None]:
    """The bounds on the conjugates that certificates take on trust; None where they are recomputed."""
    return [None if one.certificate.recomputed else one.witness.conjugate_bound for one in solutions]


def _side_by_side(columns: Sequence[Callable[[], NDArray]]) -> NDArray[np.float64]:
    return np.stack([column() for column in columns], axis=1)
