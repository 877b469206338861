"""Linear classification for a measure: F1, break-even, ROC area, precision and recall among the first k."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.errors import FenchelError, GapWarning
from fenchel.estimators.base import LazyProblem, user_stacklevel
from fenchel.estimators.classifier import LinearClassifier
from fenchel.estimators.labels import one_vs_rest
from fenchel.estimators.task import Task
from fenchel.estimators.thresholds import below_threshold, best_threshold
from fenchel.losses import Loss, as_loss
from fenchel.problem import Problem
from fenchel.risks import MEASURES, CustomMeasure, Risk, micro
from fenchel.solvers import Solver
from fenchel.solving.solution import Solution, Status
from fenchel.validation import check_bool, check_choice, is_integer, is_number

#: measures that take weights of examples: they add up losses of examples or of pairs
_WEIGHTED = ("roc_auc", "accuracy")


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

    _fits_constant: ClassVar[bool] = False

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        """As for any classifier.  With two classes the second is the positive one, unless ``pos_label`` says so."""
        task = super().encode(X, y, sample_weight)
        weights = task.sample_weight
        if weights is not None and not self._weighted() and np.any(weights != weights[0]):
            raise FenchelError(
                f"sample_weight has no meaning for {self._called()}, which counts the examples of each class; omit "
                "it (equal weights are accepted), or use measure='accuracy' or 'roc_auc'"
            )
        assert task.classes is not None
        positive = task.classes[self._positive(task)] if task.n_classes == 2 or self.pos_label is not None else None
        fitted = {**task.fitted, "pos_label_": positive}
        return replace(task, fitted=fitted, folds=self._folds(task) if self.threshold == "cv" else ())

    def problems(self, task: Task) -> list[LazyProblem]:
        """The problems of all examples, and with ``threshold="cv"`` those of each fold."""
        found: list[LazyProblem] = [partial(self._measure, task, k) for k in self._columns(task)]
        for train, _ in task.folds:
            found += [partial(self._fold, task, train, k) for k in self._columns(task)]
        return found

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        count = len(self._columns(task))
        found = super().attributes(task, solutions[:count])
        if task.folds and not any(solution.status is Status.INTERRUPTED for solution in solutions):
            scores = np.empty((len(task.y), len(found["coef_"])))
            for (_, test), k in zip(task.folds, range(count, len(solutions), count), strict=True):
                weights = np.vstack([solution.model.weights for solution in solutions[k : k + count]])
                scores[test] = as_design(task.X[test]).scores(weights)
        else:
            scores = task.design.scores(found["coef_"])
        thresholds = self._thresholds(task, scores)
        return {
            **found,
            "thresholds_": thresholds,
            "intercept_": -thresholds,
            "risk_intercept_": found["intercept_"],
            "conjugate_bounds_": trusted_bounds(solutions[:count]),
        }

    def warm_starts(self, task: Task, problems: Sequence[LazyProblem]) -> Sequence[Any]:
        count = len(self._columns(task))
        return [*super().warm_starts(task, problems[:count]), *[None] * (len(problems) - count)]

    def decision_function(self, X: Any) -> Floats:
        """Scores above the thresholds: (n, classes), or (n,) for two, positive for the second of ``classes_`` even if
        the first is the positive label: scikit-learn's rule.
        """
        above = super().decision_function(X)
        reversed_ = above.ndim == 1 and vars(self).get("pos_label_") == self.classes_[0]
        return below_threshold(above) if reversed_ else above

    # --- parameters

    def _check_parameters(self) -> None:
        super()._check_parameters()
        measure = self.measure
        if isinstance(measure, str) and measure not in MEASURES:
            names = ", ".join(map(repr, MEASURES))
            raise FenchelError(f"measure must be one of {names}, a function or an array, got {measure!r}")
        if callable(measure):
            _check_function(measure)
        elif not isinstance(measure, str) and np.ndim(measure) != 2:
            raise FenchelError(f"measure must be a name, a function of (fn, fp) or an array [fn, fp], got {measure!r}")
        check_choice("average", self.average, ("macro", "micro"))
        check_choice("threshold", self.threshold, ("train", "cv"))
        if not (is_number(self.beta) and 0 <= self.beta < np.inf):
            raise FenchelError(f"beta must be a finite number >= 0, got {self.beta!r}")
        check_bool("linear", self.linear, optional=True)
        if self._counts_to_k() and not is_integer(self.k):
            raise FenchelError(f"measure={measure!r} needs k, a whole number of examples, got k={self.k!r}")
        if self.class_weight is not None and not (isinstance(measure, str) and measure == "accuracy"):
            why = "in which it cancels" if self._weighted() else "which counts examples"
            raise FenchelError(
                f"class_weight has no meaning for {self._called()}, {why}; omit it, or use measure='accuracy'"
            )
        if self.threshold == "cv" and not isinstance(measure, str) and not callable(measure):
            raise FenchelError("threshold='cv' needs a measure for any number of examples: a name or a function")

    def _weighted(self) -> bool:
        return isinstance(self.measure, str) and self.measure in _WEIGHTED

    def _counts_to_k(self) -> bool:
        return isinstance(self.measure, str) and self.measure in ("precision_at_k", "recall_at_k")

    def _called(self) -> str:
        return f"measure={self.measure!r}" if isinstance(self.measure, str) else "a custom measure"

    def _loss(self) -> Loss:
        # of the error rate; no measure has probabilities
        return as_loss("hinge")

    def _declared_form(self) -> str:
        return "ovr"

    def _form(self, task: Task) -> str:
        return "ovr"

    # --- the problems

    def _positive(self, task: Task) -> int:
        """The index of the positive one of two classes."""
        assert task.classes is not None
        if self.pos_label is None:
            return 1
        labels = task.classes.tolist()
        if len(labels) > 2:
            raise FenchelError(f"pos_label is for two classes, and y holds {len(labels)}; use pos_label=None")
        if np.ndim(self.pos_label) != 0 or self.pos_label not in labels:
            raise FenchelError(f"pos_label must be one of the labels {labels!r}, got {self.pos_label!r}")
        return labels.index(self.pos_label)

    def _columns(self, task: Task) -> list[int | None]:
        """The class that each problem has as its positive one; None for all classes in one problem."""
        if task.n_classes == 2:
            return [self._positive(task)]
        return [None] if self.average == "micro" else list(range(task.n_classes))

    def _measure(self, task: Task, k: int | None, among: int | None = None) -> Problem:
        """The problem of class k against the rest; ``among`` takes the place of the parameter k of the measure."""
        if k is not None:
            return self._problem(task, self._risk(one_vs_rest(task.targets, k), task.weights, among), task.weights)
        labels = np.stack([one_vs_rest(task.targets, k) for k in range(task.n_classes)], axis=1)
        each = None if task.weights is None else np.repeat(task.weights, task.n_classes)
        return self._problem(task, micro(self._risk(labels.ravel(), each, among), task.n_classes), task.weights)

    def _risk(self, labels: Array, weights: Array | None = None, k: int | None = None) -> Risk:
        """The risk of the measure for labels -1 and 1."""
        if not isinstance(self.measure, str):
            return CustomMeasure(labels, self.measure, self.linear)
        among = self.k if k is None else k
        more = {"fbeta": (self.beta,), "precision_at_k": (among,), "recall_at_k": (among,)}.get(self.measure, ())
        return MEASURES[self.measure](labels, *more, weights=weights if self._weighted() else None)

    # --- folds and thresholds

    def _folds(self, task: Task) -> list[tuple[Array, Array]]:
        """The folds of ``threshold="cv"``: every example is held out once, and no class is missing in training."""
        folds = list(check_cv(self.cv, task.y, classifier=True).split(task.X, task.y))
        if np.any(np.bincount(np.concatenate([test for _, test in folds]), minlength=len(task.y)) != 1):
            raise FenchelError("cv must hold every example out exactly once for threshold='cv'; use folds")
        for train, _ in folds:
            weighted = train if task.weights is None else train[task.weights[train] > 0]
            if len(np.unique(task.targets[weighted])) < task.n_classes:
                raise FenchelError("cv: a fold lacks one of the classes; use fewer folds, or threshold='train'")
        return folds

    def _fold(self, task: Task, train: Array, k: int | None) -> Problem:
        fold = task.subset(train)
        return self._measure(fold, k, self._scaled_k(task, fold) if self._counts_to_k() else None)

    def _scaled_k(self, task: Task, fold: Task) -> int:
        """The k for a part of the examples, within its range there."""
        assert self.k is not None
        sizes = np.bincount(fold.targets, minlength=task.n_classes)
        if task.n_classes == 2:
            sizes = sizes[[self._positive(task)]]
        elif self.average == "micro":
            sizes = np.array([len(fold.y)])
        k = max(1, round(len(fold.y) / len(task.y) * self.k))
        return min(k, int(np.min(sizes))) if self.measure == "precision_at_k" else max(k, int(np.max(sizes)))

    def _thresholds(self, task: Task, scores: Array) -> Floats:
        """The best thresholds of these scores, (n, rows of coef_)."""
        problems = [self._measure(task, k) for k in self._columns(task)]
        if len(problems) == 1 and scores.shape[1] > 1:
            table: Any = problems[0].risk
            return np.full(scores.shape[1], best_threshold(scores.ravel(), table.table))
        found = [best_threshold(column, one.risk) for column, one in zip(scores.T, problems, strict=True)]
        return np.array(found)

    def _warn_unless_converged(self, task: Task, solutions: Sequence[Solution]) -> None:
        count = len(self._columns(task))
        super()._warn_unless_converged(task, solutions[:count])
        fits = [solutions[k : k + count] for k in range(count, len(solutions), count)]
        missed = sum(not all(solution.converged for solution in fit) for fit in fits)
        if missed:
            warnings.warn(
                f"{missed} of {len(fits)} fits to the folds of threshold='cv' did not prove tol={self.tol:g}; raise "
                "max_iter or time_limit, lower C, or use a larger tol",
                GapWarning,
                stacklevel=user_stacklevel(),
            )


def trusted_bounds(solutions: Sequence[Solution]) -> list[float | None]:
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
