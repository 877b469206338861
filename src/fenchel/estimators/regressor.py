"""Linear regression with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import get_tags

from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.task import Task, checked_targets, checked_weights, input_of, validated
from fenchel.losses import Loss, as_loss
from fenchel.regularizers import Regularizer
from fenchel.risks import MeanRisk
from fenchel.solvers import Solver
from fenchel.solving.solution import Solution


class LinearRegressor(RegressorMixin, LinearEstimator):
    r"""Linear regression that proves how close it is to the optimum.

    Minimizes :math:`\Omega(w) + C \sum_i \text{weight}_i\, f(x_i\cdot w + b, y_i)` with
    :math:`\Omega(w) = \tfrac{1-\rho}{2}\|w\|^2 + \rho\|w\|_1` and an intercept b that is not regularized.
    Several targets are fitted together and share one certificate.

    Parameters
    ----------
    loss : {"squared", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "quantile", \
            "poisson"} or a Loss
        Default "squared".  Objects take parameters, e.g. ``Quantile(0.9)`` or ``EpsilonInsensitive(power=1.5)``.
        ``squared`` is half the squared error, so ``C = 1 / alpha`` gives scikit-learn's ``Ridge(alpha)``.  ``poisson``
        is half the deviance of counts with the mean ``exp(score)``, which is what ``predict`` returns then;
        ``C = 1 / (alpha * sum of weights)`` gives scikit-learn's ``PoissonRegressor(alpha)``.
    C : float, default=1.0
        Inverse strength of the regularization.
    l1_ratio : float, default=0.0
        The share :math:`\rho` of the absolute values in the regularization, from 0 to 1, which is these alone.
    regularizer : {"l1", "entropy", "unnormalized_entropy", "q_norm", ...} or a Regularizer, default=None
        Takes the place of :math:`\Omega`; None goes by ``l1_ratio``.  Objects have parameters, e.g.
        ``Entropy(mass=10, balanced=True)``.  The entropies allow positive weights only, unless they are balanced.
        ``FreeDirections.of_features([0, 3], n_features)`` does not regularize these features.
    fit_intercept : bool, default=True
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Passes over the data at most.
    solver : str or a solver object, default="auto"
    warm_start : bool, default=False
        Start from the last fit's weights and dual variables.
    random_state : int, RandomState or None, default=None
        Orders the examples.  An integer makes fits reproducible.
    n_jobs : int or None, default=None
        Threads within the fit where the solver has use for them; the result does not depend on it.
    time_limit : float or None, default=None
        Seconds for the fit; the best model so far is kept with its certificate.
    verbose : int, default=0
        Show each certificate while fitting.

    Attributes
    ----------
    coef_, intercept_ : (d,) and a float, or (targets, d) and (targets,); float64
    certificate_, certificates_, dual_gap_, converged_, n_iter_, solver_, theta_, trace_ : as in ``LinearClassifier``

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressor(C=10.0, random_state=0).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        regularizer: str | Regularizer | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.l1_ratio = l1_ratio
        self.regularizer = regularizer
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        self._check_parameters()
        checked_targets(y)
        several = get_tags(self).target_tags.multi_output
        X, y, fitted = validated(self, X, y, multi_output=several, y_numeric=True, **input_of(X))
        weights = checked_weights(sample_weight, X)
        targets = np.asarray(y, dtype=np.float64)
        return self._task(X, y=targets, targets=targets, sample_weight=weights, weights=weights, fitted=fitted)

    def problems(self, task: Task) -> list[LazyProblem]:
        return [lambda: self._problem(task, MeanRisk(self._loss(), task.targets, task.weights), task.weights)]

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        if task.targets.ndim == 1:
            found.update(coef_=found["coef_"][0], intercept_=float(found["intercept_"][0]))
        return found

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted target of each row."""
        return self._loss().prediction(self._scores(X))

    def _loss(self) -> Loss:
        return as_loss(self.loss, "regression")
