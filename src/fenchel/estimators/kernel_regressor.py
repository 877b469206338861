"""Regression with kernels, with a certificate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fenchel.arrays import Floats, MatrixLike
from fenchel.estimators.kernel_base import KernelEstimator
from fenchel.estimators.parameters import SolverParameters
from fenchel.estimators.regressor import BaseRegressor
from fenchel.estimators.stock_kernels import stock_kernel_regressor
from fenchel.loading import of_package
from fenchel.losses import Loss


@of_package
@dataclass(eq=False, repr=False)
class KernelRegressor(SolverParameters, KernelEstimator, BaseRegressor):
    r"""Kernel regression with a duality-gap certificate.

    Minimizes :math:`\tfrac12\|w\|^2 + C \sum_i \text{weight}_i\, f(s_i, y_i)` over weights in the feature space of the
    kernel (RKHS) and an intercept that is not regularized: kernel ridge regression, support vector regression, quantile
    or Poisson regression, according to the loss.  The Gram matrix of the training examples is computed once, in
    float64, or row by row if it exceeds ``memory_limit``.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        The loss, as in :class:`LinearRegressor`; "interpolation" is not supported.
    C : float, default=1.0
        Inverse strength of the regularization; ``C = 1 / alpha`` corresponds to scikit-learn's ``KernelRidge(alpha)``,
        which has no intercept.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        The kernel: ``exp(-gamma |x - z|^2)``, ``x . z`` or ``(gamma x . z + coef0)^degree``.  With "precomputed", X is
        the matrix of kernel values, (n, n) for ``fit`` and against the training examples otherwise.  A function takes
        two matrices and returns the kernel values between their rows.  A matrix or a function must be positive
        semi-definite, which a Cholesky factorization of the training examples checks; values rounded to float32 may
        need a diagonal shift of that size, which is added.  Beyond ``memory_limit`` a sample of up to 1,000 examples is
        checked, and each row for symmetry and size; what this does not show, the certificate takes on trust.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels "rbf" and "poly": "scale" is ``1 / (features * X.var())`` with the weights of the
        examples, "auto" is ``1 / features``.
    degree : int, default=3
        Degree of the kernel "poly".
    coef0 : float, default=0.0
        Constant of the kernel "poly", at least 0: below, the polynomial is not positive semi-definite.
    memory_limit : float, default=4096
        Megabytes of kernel values to keep.  If the Gram matrix is larger, its rows are computed when the dual variables
        of their examples change, and as many rows are cached as fit (two at least; a function may need more memory
        inside).  A precomputed matrix must be given whole.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the solver; the best model so far is kept with its certificate.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not regularized.  Where the best intercept is an interval, its midpoint
        is used.

    Attributes
    ----------
    support_ : ndarray
        Indices of the support vectors in the training data.
    support_vectors_ : ndarray or sparse matrix
        The support vectors; None with ``kernel="precomputed"``.
    dual_coef_ : ndarray of shape (1, n_support) or (targets, n_support)
        Coefficients of the support vectors.
    intercept_ : float or ndarray of shape (targets,)
        Intercept.
    gamma_ : float
        The value of gamma that was used.
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
    theta_ : ndarray of shape (n,) or (n, targets)
        The dual variables, the witness from which anybody can recompute the certificate.
    trace_ : list of TracePoint
        The certificates on the way; a list of such lists if several problems were solved.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    LinearRegressor : Linear regression.
    KernelClassifier : Classification with a kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import KernelRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor("epsilon_insensitive", C=10, random_state=0).fit(X[:100], y[:100])
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    loss: str | Loss = "squared"
    _: KW_ONLY
    fit_intercept: bool = True

    def _stock(self) -> Any:
        return stock_kernel_regressor(self)

    def _scores(self, X: MatrixLike) -> Floats:
        scores = super()._scores(X) + self.intercept_
        return scores[:, 0] if np.ndim(self.intercept_) == 0 else scores
