"""Linear regression with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.certificate import ProvedShare
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.parameters import FitParameters, LinearParameters, SolverParameters
from fenchel.estimators.screened import Screening
from fenchel.estimators.sklearn_bases import RegressorMixin
from fenchel.estimators.stock_linear import stock_regressor
from fenchel.estimators.task import Task, checked_targets, checked_weights, validated
from fenchel.features import Features
from fenchel.loading import of_package
from fenchel.losses import Loss, as_loss
from fenchel.problem import Problem
from fenchel.risks import MeanRisk
from fenchel.solving.solution import Solution


class BaseRegressor(RegressorMixin, LinearEstimator):
    """What regressors share, with and without a kernel."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def encode(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Task:
        self._check_parameters()
        checked_targets(y)
        several = get_tags(self).target_tags.multi_output
        X, y, fitted = validated(self, X, y, multi_output=several, y_numeric=True, **self._input(X))
        weights = checked_weights(sample_weight, X)
        # a copy: the intercept of an exact optimum is bracketed on demand, after the fit
        targets = np.array(y, dtype=np.float64)
        return self._task(X, weights, y=targets, targets=targets, sample_weight=weights, fitted=fitted)

    def problems(self, task: Task) -> list[LazyProblem]:
        return [partial(self._of_targets, task)]

    def problem_of_outputs(self, task: Task) -> Problem | None:
        # several targets share one certificate
        return self._of_targets(task) if task.targets.ndim == 1 and self._is_small(task) else None

    def _of_targets(self, task: Task) -> Problem:
        return self._problem(task, MeanRisk(self._loss(), task.targets, task.weights))

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        if task.targets.ndim == 1:
            found.update(coef_=found["coef_"][0], intercept_=float(found["intercept_"][0]))
        return found

    def predict(self, X: MatrixLike) -> Floats:
        """The predicted target of each row."""
        return self._loss().prediction(self._scores(X))

    def _stock(self) -> Any:
        return stock_regressor(self)

    def _loss(self) -> Loss:
        return as_loss(self.loss, "regression")


@of_package
@dataclass(eq=False, repr=False)
class LinearRegressor(Screening, SolverParameters, LinearParameters, FitParameters, BaseRegressor):
    r"""Linear regression with a duality-gap certificate.

    Minimizes :math:`\Omega(w) + C \sum_i \text{weight}_i\, f(x_i\cdot w + b, y_i)` with the elastic net
    :math:`\Omega(w) = \tfrac{1-\rho}{2}\|w\|^2 + \rho\|w\|_1` and an intercept b that is not regularized: ridge
    regression, lasso, support vector, quantile, robust or Poisson regression, according to the loss.  Several targets
    are fitted together and share one certificate.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        The loss f: "squared", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "quantile",
        "poisson", or an object of :mod:`fenchel.losses` with parameters, such as ``Quantile(0.9)``.  "squared" is half
        the squared error, so ``C = 1 / alpha`` corresponds to scikit-learn's ``Ridge(alpha)``.  "poisson" is half the
        deviance of counts with the mean ``exp(score)``, which ``predict`` returns; ``C = 1 / (alpha * sum of weights)``
        corresponds to scikit-learn's ``PoissonRegressor(alpha)``.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
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
        Threads within the fit where the solver uses them.  The result does not depend on it.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the whole fit; the best model so far is kept with its certificate.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    stop_when : ProvedShare, default=None
        Fit until a share of the predictions on given rows is proved, or to the rounding floor, whatever ``tol`` is.
    checkpoint : path, default=None
        A file for the best model and dual point so far, from which the next fit of the same data and parameters starts,
        as in :func:`fenchel.solve`; several problems have a file each, numbered before the suffix.  A file of another
        problem is refused, so that it is not for searches such as ``GridSearchCV``, whose fits would share the file.
    features : Features, default=None
        Compute features from raw data, at fit and at predict: :class:`fenchel.features.KmerFeatures` and
        :class:`fenchel.features.HashedTextFeatures` of strings, :class:`fenchel.features.PolynomialFeatures`, or a
        subclass of :class:`fenchel.features.Features`.  X is then what they take, and never stored as a matrix.

    Attributes
    ----------
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
    LinearRegressorCV : The same with C chosen by cross-validation.
    KernelRegressor : Regression with a kernel.
    LinearSVR : Drop-in replacement for scikit-learn's class.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressor(C=10.0, random_state=0).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    loss: str | Loss = "squared"
    _: KW_ONLY
    stop_when: ProvedShare | None = None
    checkpoint: Path | str | None = None
    features: Features | None = None
