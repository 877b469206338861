"""Regression with kernels, with a certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from fenchel.estimators.base import LazyProblem
from fenchel.estimators.kernel_base import KERNEL_INPUT, KernelEstimator, summed
from fenchel.estimators.task import Task, checked_targets, checked_weights, validated
from fenchel.losses import Loss, as_loss
from fenchel.risks import MeanRisk
from fenchel.solvers import Solver
from fenchel.solving.solution import Solution


class KernelRegressor(RegressorMixin, KernelEstimator):
    r"""Kernel regression that proves how close it is to the optimum.

    Minimizes :math:`\tfrac12\|w\|^2 + C \sum_i \text{weight}_i\, f(s_i, y_i)` over weights in the feature space of the
    kernel and an intercept that is not regularized: kernel ridge regression, support vector regression, quantiles,
    counts, by the loss.  The Gram matrix of the training examples is computed once, in float64, or row by row when it
    is needed, if it takes more than ``memory_limit``.

    Parameters
    ----------
    loss : as in ``LinearRegressor``, but "interpolation", default="squared"
    kernel : {"rbf", "linear", "poly", "precomputed"} or a function, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``x . z`` or ``(gamma x . z + coef0)^degree``.  With "precomputed" X is the matrix of
        kernel values, (n, n) for ``fit`` and against the training examples for the rest.  A function takes two matrices
        and returns the matrix of kernel values between their rows.  A matrix or a function must be positive
        semi-definite, which is checked on the training examples (a Cholesky factor; values that were rounded to
        float32 may need that much added to the diagonal of their matrix, which is done).  Of a matrix beyond
        ``memory_limit`` a sample of up to 1,000 examples is checked so, and of each row that its entries are symmetric
        and no larger than the diagonal allows: what these do not show, the certificate takes on trust.
    C : float, default=1.0
        Inverse strength of the regularization; ``C = 1 / alpha`` for scikit-learn's ``KernelRidge(alpha)``, which has
        no intercept.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is ``1 / (features * X.var())``, with the weights of the examples, "auto" is ``1 / features``.
    degree : int, default=3
    coef0 : float, default=0.0
        At least 0: below, the polynomial is no kernel.
    fit_intercept : bool, default=True
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Passes over the examples at most.
    solver : str or a solver object, default="auto"
    warm_start : bool, default=False
        Start from the last fit's dual variables.
    random_state : int, RandomState or None, default=None
        Orders the examples.
    memory_limit : float, default=4096
        Megabytes of kernel values that are kept.  If the Gram matrix takes more, its rows are computed when the
        variables of their examples move, and as many of them are kept as there is room for (two rows at least; a
        function may take more memory inside).  A precomputed matrix needs all of it.
    time_limit : float or None, default=None
        Seconds for the descent; the best model so far is kept with its certificate.
    verbose : int, default=0

    Attributes
    ----------
    support_ : the numbers of the training examples that the model consists of
    support_vectors_ : these examples (None with "precomputed")
    dual_coef_ : their coefficients, (1, support), or (targets, support)
    intercept_ : a float, or (targets,)
    gamma_ : the gamma that was used
    certificate_, certificates_, dual_gap_, converged_, n_iter_, solver_, trace_ : as in ``LinearRegressor``
    theta_ : (n,) or (n, targets) the dual variables, the witness from which anybody can recompute the certificate

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import KernelRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor("epsilon_insensitive", C=10, random_state=0).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        kernel: str | Callable[[Any, Any], NDArray] = "rbf",
        C: float = 1.0,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        memory_limit: float = 4096,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        self._check_parameters()
        checked_targets(y)
        X, y, fitted = validated(self, X, y, multi_output=True, y_numeric=True, **KERNEL_INPUT)
        X, targets = summed(X), np.asarray(y, dtype=np.float64)
        weights = checked_weights(sample_weight, X)
        return self._kernel_task(X, weights, y=targets, targets=targets, sample_weight=weights, fitted=fitted)

    def problems(self, task: Task) -> list[LazyProblem]:
        return [lambda: self._problem(task, MeanRisk(self._loss(), task.targets, task.weights), task.weights)]

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        intercept: Any = solutions[0].model.intercept
        kept = float(intercept) if np.ndim(intercept) == 0 else np.asarray(intercept, dtype=np.float64)
        return {**super().attributes(task, solutions), "intercept_": kept}

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted target of each row."""
        scores = self._kernel_scores(X) + self.intercept_
        return self._loss().prediction(scores[:, 0] if np.ndim(self.intercept_) == 0 else scores)

    def _loss(self) -> Loss:
        return as_loss(self.loss, "regression")
