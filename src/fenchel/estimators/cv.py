"""Choice of C by cross-validation, along paths with warm starts and certificates."""

from __future__ import annotations

import copy
import inspect
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError, GapWarning
from fenchel.estimators.base import LinearEstimator, user_stacklevel
from fenchel.estimators.classifier import LinearClassifier
from fenchel.estimators.regressor import LinearRegressor
from fenchel.estimators.task import Task
from fenchel.losses import Loss
from fenchel.path import follow
from fenchel.regularizers import Regularizer
from fenchel.solvers import Solver
from fenchel.solving.solution import Solution, Status


@dataclass(frozen=True)
class _Folds:
    """What all folds of a cross-validation share."""

    task: Task
    Cs: Floats
    scorer: Callable[..., float]
    seed: int
    stop: threading.Event


class SelectionOfC(LinearEstimator):
    """Fits every fold along all values of C, and then everything with the best."""

    # a task is encoded before its C is chosen, and a fold starts from the last C, not from the last fit
    C = 1.0
    warm_start = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C by cross-validation and fit all examples.  Ctrl-C in the last fit stores its best model."""
        return self._fit(self._selected(self.encode(X, y, sample_weight)))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._values()
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise FenchelError(f"scoring must be one score, by which C is chosen, got {self.scoring!r}")

    def _selected(self, task: Task) -> Task:
        """The task with the C of the best mean score, and the scores among its fitted attributes."""
        values = self._values()
        splits = list(check_cv(self.cv, task.y, classifier=is_classifier(self)).split(task.X, task.y))
        scorer = check_scoring(self, self.scoring)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds = _Folds(task, values, scorer, seed, threading.Event())
        found = self._in_threads([partial(self._fold, folds, *split) for split in splits], folds.stop)
        scores = np.array([scores for scores, _, _ in found])
        gaps = np.array([gaps for _, gaps, _ in found])
        self._warn_of_folds(values, gaps, np.array([missed for _, _, missed in found]))
        if not np.all(np.isfinite(scores)):
            raise FenchelError(
                f"scoring={self.scoring!r} gave scores that are not finite, as for a fold with one class: "
                "choose other folds with cv"
            )
        # of equally good ones the strongest regularization
        best = float(values[int(np.argmax(np.mean(scores, axis=0)))])
        fitted = {**task.fitted, "C_": best, "Cs_": values, "scores_": scores, "gaps_": gaps}
        return replace(task, C=best, fitted=fitted)

    def _in_threads(self, work: Sequence[Callable[[], Any]], stop: threading.Event) -> list[Any]:
        workers = min(len(work), joblib.effective_n_jobs(self.n_jobs))
        if workers == 1:
            return [fold() for fold in work]
        with ThreadPoolExecutor(workers) as pool:
            try:
                return list(pool.map(lambda fold: fold(), work))
            except BaseException:
                stop.set()
                raise

    def _fold(self, folds: _Folds, train: Array, test: Array) -> tuple[list[float], list[float], list[bool]]:
        """Scores on the held-out examples, the worst certified gap, and whether it misses tol, for each C.

        A held-out example has weight zero, so X is not copied.
        """
        task = folds.task
        training = np.zeros(len(task.y))
        training[train] = 1.0 if task.weights is None else task.weights[train]
        if not np.any(training > 0.0):
            raise FenchelError("sample_weight is zero for all training examples of a fold: choose other folds with cv")
        options = {"tol": self.tol, "max_iter": self.max_iter, "seed": folds.seed, "stop_requested": folds.stop.is_set}
        paths = []
        for lazy in self.problems(replace(task, weights=training, C=float(folds.Cs[0]))):
            problem = lazy()
            lams = [problem.lam * (folds.Cs[0] / C) for C in folds.Cs]
            paths.append(follow(problem, lams, self._solver(), **options))
            if any(solution.status is Status.INTERRUPTED for solution in paths[-1]):
                raise KeyboardInterrupt
        scores, gaps, missed = [], [], []
        weighted = {}
        if task.sample_weight is not None and _takes_weights(folds.scorer):
            weighted = {"sample_weight": task.sample_weight[test]}
        for solutions in zip(*paths, strict=True):
            model = self._with_solutions(task, solutions)
            scores.append(float(folds.scorer(model, task.X[test], task.y[test], **weighted)))
            gaps.append(max(solution.certificate.relative_gap for solution in solutions))
            missed.append(not all(solution.converged for solution in solutions))
        return scores, gaps, missed

    def _with_solutions(self, task: Task, solutions: Sequence[Solution]) -> LinearEstimator:
        """A copy of this estimator that is fitted by these solutions, for a scorer."""
        model = copy.copy(self)
        # the held-out rows are an array without names
        nameless = {name: value for name, value in task.fitted.items() if name != "feature_names_in_"}
        model.store(replace(task, fitted=nameless), solutions)
        return model

    def _warn_of_folds(self, Cs: Array, gaps: Array, missed: NDArray[np.bool_]) -> None:
        if np.any(missed):
            fold, k = np.unravel_index(int(np.argmax(np.where(missed, gaps, -np.inf))), missed.shape)
            warnings.warn(
                f"{np.count_nonzero(missed)} of {missed.size} fits in the folds did not reach tol={self.tol:g}; the "
                f"worst, fold {fold} with C={Cs[k]:.3g}, proved a relative gap of {gaps[fold, k]:.2g} "
                "(gaps_ holds all). Raise max_iter or tol, or try smaller Cs.",
                GapWarning,
                stacklevel=user_stacklevel(),
            )

    def _values(self) -> Floats:
        Cs = self.Cs
        if isinstance(Cs, bool):
            raise FenchelError(f"Cs must be an integer or an array of positive numbers, got {Cs!r}")
        if isinstance(Cs, Integral):
            if Cs < 1:
                raise FenchelError(f"Cs must be at least 1, or an array of values, got {Cs!r}")
            return np.logspace(-4, 4, int(Cs))
        try:
            values = np.unique(np.asarray(Cs, dtype=np.float64).ravel())
        except (TypeError, ValueError) as error:
            raise FenchelError(f"Cs must be an integer or an array of positive numbers, got {Cs!r}") from error
        if not len(values) or not np.all(np.isfinite(values)) or np.any(values <= 0):
            raise FenchelError(f"Cs must be positive and finite, got {Cs!r}")
        return values


def _takes_weights(scorer: Callable[..., float]) -> bool:
    """Whether a scorer can be given sample_weight; scikit-learn's own can."""
    names = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in names)


class LinearClassifierCV(SelectionOfC, LinearClassifier):
    r"""Linear classifier with C chosen by cross-validation.

    Every fold is fitted for all values of C, each warm-started from the last and each certified; folds run in threads
    and share X.  Ctrl-C during the last fit stores its best model, before that nothing, and is raised again.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "huber_hinge", "logistic", "exponential"} or Loss, default="hinge"
        The loss: a name, or an object of :mod:`fenchel.losses` with parameters.
    Cs : int or array-like, default=10
        The values of C to try; an integer is the number of values on a logarithmic scale from 1e-4 to 1e4.
    cv : int, splitter or iterable, default=None
        The folds, as in scikit-learn; None is 5 folds, stratified for a classifier.
    scoring : str or callable, default=None
        The score of a held-out fold, as in scikit-learn; None is the estimator's ``score``.
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
        The form for more than two classes, as in :class:`LinearClassifier`.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply the weights of their examples; "balanced" uses weights inversely
        proportional to the sizes of all classes.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    n_jobs : int, default=None
        Threads over the folds, then over the classes.  The result does not depend on it.
    time_limit : float, default=None
        Maximum number of seconds for the last fit, to all examples.
    verbose : int, default=0
        Whether to report each certificate during the last fit.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; the smallest of equally good ones.
    Cs_ : ndarray
        The values of C that were tried.
    scores_ : ndarray of shape (folds, n_Cs)
        The scores on the held-out examples.
    gaps_ : ndarray of shape (folds, n_Cs)
        The relative duality gap that each of these fits proved.
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights, in float64; one row for two classes.
    intercept_ : ndarray of shape (1,) or (classes,)
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
    theta_ : ndarray
        The dual variables, the witness from which anybody can recompute the certificate.
    trace_ : list of TracePoint
        The certificates on the way; a list of such lists if several problems were solved.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    LinearClassifier : The classifier for one value of C.
    regularization_path : Models for many values of C.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import LinearClassifierCV
    >>> X, y = make_classification(random_state=0)
    >>> model = LinearClassifierCV(Cs=[0.01, 0.1, 1.0], random_state=0).fit(X, y)
    >>> model.scores_.shape
    (5, 3)
    >>> bool(model.gaps_.max() <= 1e-3)
    True
    """

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        Cs: Any = 10,
        cv: Any = None,
        scoring: Any = None,
        l1_ratio: float = 0.0,
        regularizer: str | Regularizer | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        multi_class: str = "auto",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.l1_ratio = l1_ratio
        self.regularizer = regularizer
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose


class LinearRegressorCV(SelectionOfC, LinearRegressor):
    r"""Linear regression with C chosen by cross-validation.

    Every fold is fitted for all values of C, each warm-started from the last and each certified; folds run in threads
    and share X.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        The loss, as in :class:`LinearRegressor`.
    Cs : int or array-like, default=10
        The values of C to try; an integer is the number of values on a logarithmic scale from 1e-4 to 1e4.
    cv : int, splitter or iterable, default=None
        The folds, as in scikit-learn; None is 5 folds, stratified for a classifier.
    scoring : str or callable, default=None
        The score of a held-out fold, as in scikit-learn; None is the estimator's ``score``.
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
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    n_jobs : int, default=None
        Threads over the folds.  The result does not depend on it.
    time_limit : float, default=None
        Maximum number of seconds for the last fit, to all examples.
    verbose : int, default=0
        Whether to report each certificate during the last fit.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; the smallest of equally good ones.
    Cs_ : ndarray
        The values of C that were tried.
    scores_ : ndarray of shape (folds, n_Cs)
        The scores on the held-out examples.
    gaps_ : ndarray of shape (folds, n_Cs)
        The relative duality gap that each of these fits proved.
    coef_ : ndarray of shape (d,) or (targets, d)
        Weights, in float64.
    intercept_ : float or ndarray of shape (targets,)
        Intercept, in float64.
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
    LinearRegressor : The regression for one value of C.
    regularization_path : Models for many values of C.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import LinearRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressorCV("absolute", Cs=[0.1, 1.0, 10.0], random_state=0).fit(X, y)
    >>> model.C_
    10.0
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        Cs: Any = 10,
        cv: Any = None,
        scoring: Any = None,
        l1_ratio: float = 0.0,
        regularizer: str | Regularizer | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.l1_ratio = l1_ratio
        self.regularizer = regularizer
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose
