"""Linear classification for a measure: F1, break-even, ROC area, precision and recall among the first k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem
from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.labels import one_vs_rest
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.parameters import FitParameters, SolverParameters
from fenchel.estimators.task import Task
from fenchel.estimators.thresholds import UNPROVED, below_threshold, best_threshold, with_thresholds
from fenchel.loading import of_package
from fenchel.problem import Problem
from fenchel.progress import warn
from fenchel.risks import Risk, micro
from fenchel.solving.solution import Solution, Status
from fenchel.validation import check_choice


@of_package
@dataclass(eq=False, repr=False)
class MeasureClassifier(SolverParameters, FitParameters, BaseLinearClassifier):
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
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for each fit: the one to all examples, and those to the folds of ``threshold="cv"``.
    verbose : int, default=0
        Whether to report each certificate during the fit.
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
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    fit_intercept : bool, default=True
        Whether the problem has an intercept, if the measure depends on one (break-even point and ROC AUC do not).
    class_weight : dict or "balanced", default=None
        Weights of the classes, for "accuracy" alone: they cancel in ROC AUC, and the other measures count examples.
        For the same reason ``sample_weight`` in ``fit`` is for "accuracy" and "roc_auc".
    n_jobs : int, default=None
        Threads over the classes, and within a problem where the solver uses them.  The result does not depend on it.

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
    decompositions_ : list of ndarray or None
        For each problem the ``decomposition`` of its :class:`fenchel.Witness`, which proves a bound on the conjugate
        where that has no closed form; None where ``theta_`` suffices.
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

    measure: Any = "f1"
    _: KW_ONLY
    beta: float = 1.0
    k: int | None = None
    pos_label: Any = None
    linear: bool | None = None
    average: str = "macro"
    threshold: str = "train"
    cv: Any = 5
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    class_weight: Any = None
    n_jobs: int | None = None

    # of the error rate, and of the classes of "macro"
    loss = "hinge"
    multi_class = "ovr"

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        """As for any classifier.  With two classes the second is the positive one, unless ``pos_label`` says so."""
        task = super().encode(X, y, sample_weight)
        weights = task.sample_weight
        if weights is not None and not self._choice().weighted and np.any(weights != weights[0]):
            raise FenchelError(
                f"sample_weight has no meaning for {self._choice()}, which counts the examples of each class; omit "
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
        return with_thresholds(found, self._thresholds(task, scores), solutions[:count])

    def _needed(self, task: Task) -> int:
        return len(self._columns(task))

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
        choice = self._choice()
        choice.check()
        check_choice("average", self.average, ("macro", "micro"))
        check_choice("threshold", self.threshold, ("train", "cv"))
        if self.class_weight is not None and choice.name != "accuracy":
            why = "in which it cancels" if choice.weighted else "which counts examples"
            raise FenchelError(f"class_weight has no meaning for {choice}, {why}; omit it, or use measure='accuracy'")
        if self.threshold == "cv" and choice.name is None and not callable(self.measure):
            raise FenchelError("threshold='cv' needs a measure for any number of examples: a name or a function")

    def _choice(self) -> MeasureChoice:
        return MeasureChoice(self.measure, self.beta, self.k, self.linear)

    def _why_unproved(self, task: Task) -> str:
        return UNPROVED

    def _fits_constant(self) -> bool:
        return False

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

    def _measure(self, task: Task, k: int | None, choice: MeasureChoice | None = None) -> Problem:
        """The problem of class k against the rest, or of all classes for None."""
        return self._problem(task, self._risk(task, k, self._choice() if choice is None else choice))

    def _risk(self, task: Task, k: int | None, choice: MeasureChoice) -> Risk:
        if k is not None:
            return choice.risk(one_vs_rest(task.targets, k), task.weights)
        labels = np.stack([one_vs_rest(task.targets, k) for k in range(task.n_classes)], axis=1)
        each = None if task.weights is None else np.repeat(task.weights, task.n_classes)
        return micro(choice.risk(labels.ravel(), each), task.n_classes)

    # --- folds and thresholds

    def _folds(self, task: Task) -> list[tuple[Array, Array]]:
        """The folds of ``threshold="cv"``: every example is held out once, and no class is missing in training."""
        # imported here, as in selection.py: few fits choose thresholds by cross-validation
        from sklearn.model_selection import check_cv

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
        positives = [len(fold.y) if one is None else int(np.sum(fold.targets == one)) for one in self._columns(task)]
        return self._measure(fold, k, self._choice().for_part(len(fold.y) / len(task.y), positives))

    def _thresholds(self, task: Task, scores: Array) -> Floats:
        """The best thresholds of these scores, (n, rows of coef_)."""
        columns, choice = self._columns(task), self._choice()
        if len(columns) == 1 and scores.shape[1] > 1:
            table: Any = self._risk(task, columns[0], choice)
            return np.full(scores.shape[1], best_threshold(scores.ravel(), table.table))
        pairs = zip(scores.T, columns, strict=True)
        return np.array([best_threshold(column, self._risk(task, k, choice)) for column, k in pairs])

    def _warn_unless_converged(self, task: Task, solutions: Sequence[Solution]) -> None:
        count = len(self._columns(task))
        super()._warn_unless_converged(task, solutions[:count])
        fits = [solutions[k : k + count] for k in range(count, len(solutions), count)]
        missed = sum(not all(solution.converged for solution in fit) for fit in fits)
        if missed:
            warn(
                f"{missed} of {len(fits)} fits to the folds of threshold='cv' did not prove tol={self.tol:g}; raise "
                "max_iter or time_limit, lower C, or use a larger tol"
            )
