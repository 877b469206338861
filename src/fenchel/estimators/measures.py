"""Linear classification for a measure: F1, break-even, ROC area, precision and recall among the first k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, ArrayLike, Floats, MatrixLike
from fenchel.errors import FenchelError
from fenchel.estimators.labels import one_vs_rest
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.measure_fits import MeasureFits
from fenchel.estimators.parameters import FitParameters, SolverParameters
from fenchel.estimators.repetition import repeated
from fenchel.estimators.stock_linear import with_scores
from fenchel.estimators.task import Task
from fenchel.estimators.thresholds import below_threshold, reversed_scores
from fenchel.features import Features
from fenchel.loading import of_package
from fenchel.losses import Loss
from fenchel.progress import warn
from fenchel.validation import is_integer


@of_package
@dataclass(eq=False, repr=False)
class MeasureClassifier(SolverParameters, FitParameters, MeasureFits):
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
        The measure, "f1", "fbeta", "prbep", "roc_auc", "precision_at_k", "recall_at_k" or "accuracy", of quantification
        "ae", "rae", "kld", "nkld" or "q", or a custom
        :math:`\Delta`: a function of fn and fp, or of fn, fp and the numbers of positives and negatives (which folds
        and classes need, if it depends on them), or an array ``delta[fn, fp]`` of shape (positives + 1, negatives + 1),
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
        The positive one of two classes; None is the second of ``classes_``.  If those are words and the second is the
        more frequent one, as "ok" after "fraud", a warning asks for this parameter.
    linear : bool, default=None
        Whether a custom function is linear in fn for each fp - fn, as F-beta is, so that not all of its (positives +
        1)(negatives + 1) values are needed; None tests it.
    average : {"macro", "micro"}, default="macro"
        The form for more than two classes: a problem for each class against the rest, or one problem with one
        contingency table for the scores of all classes, which has no intercepts and one threshold.
    surrogate : {"auto", "bound", "plug_in"}, default="auto"
        What is minimized for the measure.

        - "bound": its convex upper bound R.  Where the classes overlap it may be trivial, with w = 0 as its minimizer;
          then a warning says so.
        - "plug_in" [2]_ [3]_: :math:`\Omega(w) + C\sum_i a_i f(x_i\cdot w + b, y_i)` with ``plug_in_loss`` for f and
          costs a that sum to n.  The ratio of the costs of positives and negatives and the threshold are those that are
          best for the measure on the scores of held-out folds.
        - "auto": the one of both that is better for the measure on held-out folds, the bound with the threshold of its
          training scores and the plug-in with that of the folds; never a trivial bound.  All classes have the same one.
          "accuracy" and "roc_auc" have the bound, which is a mean of hinges; so have fits with a named ``solver`` and
          classes with fewer examples than folds.

        ``surrogate_``, the certificate's sentence and ``positive_weights_`` say what was minimized.
    plug_in_loss : str or Loss, default="logistic"
        The loss of the plug-in.
    threshold : {"auto", "train", "cv"}, default="auto"
        Whether the threshold is chosen on the training scores or on the scores of held-out folds, where each threshold
        has the errors that a logistic curve of these scores expects; "auto" uses the training scores for the bound
        (folds for measures that do not allow every labelling, as "prbep") and folds for plug-ins.  For ROC AUC it
        maximizes the true positive rate minus the false positive rate; for "precision_at_k" the precision among
        thresholds that mark at least k examples; for "recall_at_k" the recall among those that mark at most k.  Ties
        are resolved by the number of errors.
    cv : int, splitter or iterable, default=5
        The folds of ``threshold="cv"`` and of plug-ins.
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    fit_intercept : bool, default=True
        Whether the problem has an intercept, if the measure depends on one (break-even point and ROC AUC do not).
    class_weight : dict or "balanced", default=None
        Weights of the classes, for "accuracy" alone: they cancel in ROC AUC, and the other measures count examples.
        For the same reason other ``sample_weight`` in ``fit`` than for "accuracy" and "roc_auc" must be integers: the
        examples are repeated, and those of weight zero omitted, also in ``theta_``.
    n_jobs : int, default=None
        Threads over the classes, and within a problem where the solver uses them.  The result does not depend on it.
    features : Features, default=None
        Compute features from raw data such as strings, at fit and at predict, as in :class:`LinearClassifier`.
    checkpoint : path, default=None
        A file for the best model and dual point so far, from which the next fit of the same data and parameters starts,
        as in :class:`LinearClassifier`.  Fits to folds have none, nor have bounds that are compared with a plug-in.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights, in float64; for two classes positive for the positive label.
    intercept_ : ndarray of shape (1,) or (classes,)
        Minus the thresholds.
    thresholds_ : ndarray of shape (1,) or (classes,)
        Thresholds of the scores X w, one for each row of ``coef_``.
    surrogate_ : {"bound", "plug_in"}
        What was minimized.
    positive_weights_ : ndarray of shape (1,) or (classes,)
        The costs of positives of a plug-in relative to those of negatives, one for each problem; NaN for the bound.
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

    Notes
    -----
    ``score`` is the accuracy, as of every classifier of scikit-learn; searches take the measure as ``scoring``.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13, 2012.
    .. [2] O. Koyejo, N. Natarajan, P. Ravikumar and I. Dhillon. "Consistent binary classification with generalized
           performance metrics." NIPS, 2014.
    .. [3] S. Parambath, N. Usunier and Y. Grandvalet. "Optimizing F-measures by cost-sensitive classification." NIPS,
           2014.

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
    surrogate: str = "auto"
    plug_in_loss: str | Loss = "logistic"
    threshold: str = "auto"
    cv: Any = 5
    l1_ratio: float = 0.0
    fit_intercept: bool = True
    class_weight: Any = None
    n_jobs: int | None = None
    features: Features | None = None
    checkpoint: Path | str | None = None

    # of the error rate, and of the classes of "macro"
    loss = "hinge"
    multi_class = "ovr"

    def encode(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Task:
        """As for any classifier.  With two classes the second is the positive one, unless ``pos_label`` says so."""
        choice = self._choice()
        if not choice.weighted:
            X, y, sample_weight = repeated(X, y, sample_weight, str(choice))
        task = super().encode(X, y, sample_weight)
        assert task.classes is not None
        positive = task.classes[self._positive(task)] if task.n_classes == 2 or self.pos_label is not None else None
        task = replace(task, fitted={**task.fitted, "pos_label_": positive})
        self._warn_of_majority(task)
        return replace(task, folds=self._folds_of_bounds(task))

    def decision_function(self, X: MatrixLike) -> Floats:
        """Scores above the thresholds: (n, classes), or (n,) for two, positive for the second of ``classes_`` even if
        the first is the positive label: scikit-learn's rule.
        """
        above = super().decision_function(X)
        reversed_ = above.ndim == 1 and vars(self).get("pos_label_") == self.classes_[0]
        return below_threshold(above) if reversed_ else above

    def _stock(self) -> Any:
        if vars(self).get("pos_label_") != self.classes_[0] or len(self.classes_) > 2:
            return with_scores(self, self.coef_.copy(), self.intercept_.copy())
        return with_scores(self, *reversed_scores(self.coef_, self.thresholds_))

    # --- parameters

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choice = self._choice()
        choice.check()
        self._check_surrogate()
        if self.class_weight is not None and choice.name != "accuracy":
            why = "in which it cancels" if choice.weighted else "which counts examples"
            raise FenchelError(f"class_weight does not apply to {choice}, {why}; omit it, or use measure='accuracy'")
        if self.threshold == "cv" and choice.name is None and not callable(self.measure):
            raise FenchelError("threshold='cv' needs a measure for any number of examples: a name or a function")

    def _choice(self) -> MeasureChoice:
        return MeasureChoice(self.measure, self.beta, self.k, self.linear)

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

    def _warn_of_majority(self, task: Task) -> None:
        """Warn if words were sorted, and the positive one is the frequent one, as "ok" after "fraud"."""
        assert task.classes is not None
        words = task.n_classes == 2 and self.pos_label is None and task.classes.dtype.kind in "OUS"
        if not words or self._choice().weighted:
            return
        counts = np.bincount(task.targets, minlength=2)
        if counts[1] > counts[0]:
            rare, frequent = task.classes.tolist()
            warn(
                f"{type(self).__name__}: the positive label is {frequent!r}, the second of the sorted labels, which "
                f"{100.0 * counts[1] / np.sum(counts):.3g}% of the examples have. Set pos_label={rare!r} to train for "
                f"the rare one, or pos_label={frequent!r} to keep it.",
                UserWarning,
            )

    def _columns(self, task: Task) -> list[int]:
        """The class that each weight vector has as its positive one."""
        return [self._positive(task)] if task.n_classes == 2 else list(range(task.n_classes))

    def _signs(self, task: Task, k: int) -> Floats:
        return one_vs_rest(task.targets, k)

    def _plug_in_columns(self, trivial: Array, bound: Floats, plug_in: Floats) -> NDArray[np.bool_]:
        """All or none: classes are compared by their scores, so all scores have one objective."""
        return np.full(len(trivial), bool(np.any(trivial) or np.sum(plug_in) < np.sum(bound)))

    def _strata(self, task: Task, column: int | None) -> Array:
        return task.y

    def _folds(self, task: Task, columns: Sequence[int | None]) -> list[list[tuple[Array, Array]]]:
        found = super()._folds(task, columns)
        for train, _ in (fold for folds in found for fold in folds):
            weighted = train if task.weights is None else train[task.weights[train] > 0]
            if len(np.unique(task.targets[weighted])) < task.n_classes:
                without = "threshold='train'" if self.threshold == "cv" else "surrogate='bound'"
                raise FenchelError(f"cv: a fold lacks one of the classes; use fewer folds, or {without}")
        return found

    def _enough_for_folds(self, task: Task) -> bool:
        counted = task.targets if task.weights is None else task.targets[task.weights > 0.0]
        return bool(np.min(np.bincount(counted)) >= (int(self.cv) if is_integer(self.cv) else 2))
