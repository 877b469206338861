"""Linear models whose C is chosen by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.parameters import LinearParameters, SolverParameters
from fenchel.estimators.regressor import BaseRegressor
from fenchel.estimators.screened import Screening
from fenchel.estimators.selection import SelectionOfC
from fenchel.loading import of_package
from fenchel.losses import Loss


@of_package
@dataclass(eq=False, repr=False)
class LinearClassifierCV(Screening, SolverParameters, LinearParameters, SelectionOfC, BaseLinearClassifier):
    r"""Linear classifier with C chosen by cross-validation.

    Every fold is fitted for all values of C, each warm-started from the last and each certified; folds run in threads
    and share X.  Ctrl-C stores the best model so far (in the folds that of the best C so far) and is raised again.

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
    n_jobs : int, default=None
        Threads over the folds, then over the classes.  The result does not depend on it.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the whole fit.  The folds get three quarters of it in equal shares, and the last
        fit gets the rest.  C is chosen among the values that all folds completed (or the most of them, if some folds
        were not reached); a warning states how many fits were skipped.  The last fit then starts from a fold's model.
    verbose : int, default=0
        Whether to report each certificate during the last fit.
    multi_class : {"auto", "ovr", "ovo", "weston_watkins", "crammer_singer", "multinomial"}, default="auto"
        The form for more than two classes, as in :class:`LinearClassifier`.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply the weights of their examples; "balanced" uses weights inversely
        proportional to the sizes of all classes.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; the smallest of equally good ones.
    Cs_ : ndarray
        The values of C that were tried.
    scores_ : ndarray of shape (folds, n_Cs)
        The scores on the held-out examples; NaN for fits that a time limit or Ctrl-C skipped.
    gaps_ : ndarray of shape (folds, n_Cs)
        The relative duality gap that each of these fits proved; NaN for skipped ones.
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
    screened_ : ndarray of bool, or None
        With the lasso and a smooth loss, whether each weight is proved to be zero at every optimum, of the shape of
        ``coef_``; None otherwise.
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

    loss: str | Loss = "hinge"
    _: KW_ONLY
    multi_class: str = "auto"
    class_weight: Any = None


@of_package
@dataclass(eq=False, repr=False)
class LinearRegressorCV(Screening, SolverParameters, LinearParameters, SelectionOfC, BaseRegressor):
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
    n_jobs : int, default=None
        Threads over the folds.  The result does not depend on it.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the whole fit.  The folds get three quarters of it in equal shares, and the last
        fit gets the rest.  C is chosen among the values that all folds completed (or the most of them, if some folds
        were not reached); a warning states how many fits were skipped.  The last fit then starts from a fold's model.
    verbose : int, default=0
        Whether to report each certificate during the last fit.

    Attributes
    ----------
    C_ : float
        The C with the best mean score; the smallest of equally good ones.
    Cs_ : ndarray
        The values of C that were tried.
    scores_ : ndarray of shape (folds, n_Cs)
        The scores on the held-out examples; NaN for fits that a time limit or Ctrl-C skipped.
    gaps_ : ndarray of shape (folds, n_Cs)
        The relative duality gap that each of these fits proved; NaN for skipped ones.
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
    screened_ : ndarray of bool, or None
        With the lasso and a smooth loss, whether each weight is proved to be zero at every optimum, of the shape of
        ``coef_``; None otherwise.
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

    loss: str | Loss = "squared"
