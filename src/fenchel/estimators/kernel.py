"""Classification with kernels, with a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.designs import GramDesign
from fenchel.errors import FenchelError
from fenchel.estimators.classifier import class_weights, counted_classes
from fenchel.estimators.fitting import LinearEstimator
from fenchel.losses import Hinge, as_loss
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import GramNorm
from fenchel.risks import CrammerSinger, MulticlassRisk, WestonWatkins
from fenchel.solution import Solution
from fenchel.solvers import Solver
from fenchel.solvers.base import Start, Warm

_KERNELS = ("linear", "poly", "rbf", "precomputed")
_FORMS: dict[str, type[MulticlassRisk]] = {risk.name: risk for risk in (WestonWatkins, CrammerSinger)}
#: kernel values that predictions work on at once (32 MB)
_AT_ONCE = 1 << 22
_MEGABYTE = 2**20


class KernelClassifier(ClassifierMixin, LinearEstimator):
    r"""Kernel classifier that proves how close it is to the optimum.

    Minimizes :math:`\tfrac12\sum_j \|w_j\|^2 + C \sum_i \text{weight}_i\, f(s_i, y_i)` over weights in the feature
    space of the kernel, without intercepts.  An example of class y costs :math:`\sum_{j\ne y} [1 - s_y + s_j]_+`
    (Weston and Watkins) or :math:`\max_{j\ne y} [1 - s_y + s_j]_+` (Crammer and Singer); two classes are the usual
    hinge of one score.  The Gram matrix of the training examples is computed once, in float64.

    Parameters
    ----------
    loss : "hinge"
    kernel : {"rbf", "linear", "poly", "precomputed"} or a function, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``x . z`` or ``(gamma x . z + coef0)^degree``.  With "precomputed" X is the matrix of
        kernel values, (n, n) for ``fit`` and against the training examples for the rest.  A function takes two matrices
        and returns the matrix of kernel values between their rows.  A matrix or a function must be positive
        semi-definite, which is checked on the training examples (a Cholesky factor; values that were rounded to
        float32 may need that much added to the diagonal of their matrix, which is done).
    C : float, default=1.0
        Inverse strength of the regularization.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is ``1 / (features * X.var())``, with the weights of the examples, "auto" is ``1 / features``.
    degree : int, default=3
    coef0 : float, default=0.0
        At least 0: below, the polynomial is no kernel.
    multi_class : {"weston_watkins", "crammer_singer"}, default="weston_watkins"
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Passes over the examples at most.
    solver : str or a solver object, default="auto"
    class_weight : dict, "balanced" or None, default=None
    warm_start : bool, default=False
        Start from the last fit's dual variables.
    random_state : int, RandomState or None, default=None
        Orders the examples.
    memory_limit : float, default=4096
        Megabytes that the Gram matrix may take; more examples are an error.
    time_limit : float or None, default=None
        Seconds for the descent; the best model so far is kept with its certificate.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : the labels
    support_ : the numbers of the training examples that the model consists of
    support_vectors_ : these examples (None with "precomputed")
    dual_coef_ : their coefficients, (1, support) for two classes, else (classes, support)
    gamma_ : the gamma that was used
    certificate_, certificates_, dual_gap_, converged_, n_iter_, solver_, trace_ : as in ``LinearClassifier``
    theta_ : (n, classes) the dual variables, the witness from which anybody can recompute the certificate

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier(C=10, random_state=0).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    #: of the shared way to fit
    fit_intercept = False
    n_jobs = None

    def __init__(
        self,
        loss: str = "hinge",
        *,
        kernel: str | Callable[[Any, Any], NDArray] = "rbf",
        C: float = 1.0,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        multi_class: str = "weston_watkins",
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        class_weight: Any = None,
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
        self.multi_class = multi_class
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and labels y.  Ctrl-C stores the best model so far and is raised again."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        weights = self._checked_weights(sample_weight, X)
        classes, encoded = counted_classes(y, weights)
        if self.class_weight is not None and len(classes) > 1:
            weights = class_weights(self.class_weight, y, classes, encoded, weights)
            classes, encoded = counted_classes(y, weights)
        if len(classes) < 2:
            raise FenchelError(
                f"y must hold at least two classes with positive weight, got one class only: {classes!r}"
            )
        before = self._last_fit(classes, len(y))
        self.classes_ = classes
        # examples without weight take part in nothing: neither rows nor columns of the Gram matrix are needed
        counted = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
        gram = GramDesign(self._gram(X, counted, weights))
        if self.kernel not in _KERNELS or self.kernel == "precomputed":
            gram = gram.definite()
        shares = None if weights is None else weights[counted]
        problem = self._kernel_problem(gram, encoded[counted], shares)
        warm = None if before is None else _warm(problem, before[counted])
        (solution,), interrupted = self._solve_all([lambda: problem], [warm])
        self._keep(X, solution, counted)
        if interrupted:
            raise KeyboardInterrupt
        self._warn_unless_converged([solution])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: (n,) for two classes, else (n, classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        scores = np.empty((X.shape[0], len(self.dual_coef_)))
        step = max(1, _AT_ONCE // max(1, len(self.support_)))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            if self.kernel == "precomputed":
                part = X[rows][:, self.support_]
                part = part.toarray() if sp.issparse(part) else part
            else:
                part = self._values(X[rows], self.support_vectors_)
            scores[rows] = part @ self.dual_coef_.T
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray:
        """The label of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _check_parameters(self) -> None:
        if not (isinstance(self.kernel, str) and self.kernel in _KERNELS) and not callable(self.kernel):
            raise FenchelError(
                f"kernel must be one of {', '.join(map(repr, _KERNELS))} or a function, got {self.kernel!r}"
            )
        if not isinstance(self.multi_class, str) or self.multi_class not in _FORMS:
            raise FenchelError(f"multi_class must be one of {', '.join(map(repr, _FORMS))}, got {self.multi_class!r}")
        if as_loss(self.loss, "classification") != Hinge():
            raise FenchelError(f"loss must be 'hinge' in KernelClassifier, got {self.loss!r}")
        if self.kernel == "poly":
            if isinstance(self.degree, bool) or not isinstance(self.degree, Integral) or self.degree < 1:
                raise FenchelError(f"degree must be a positive integer, got {self.degree!r}")
            if isinstance(self.coef0, bool) or not isinstance(self.coef0, Real) or not 0 <= self.coef0 < math.inf:
                raise FenchelError(f"coef0 must be a number >= 0, or the polynomial is no kernel, got {self.coef0!r}")
        named = isinstance(self.gamma, str) and self.gamma in ("scale", "auto")
        number = isinstance(self.gamma, Real) and not isinstance(self.gamma, bool) and 0 < float(self.gamma) < math.inf
        if not named and not number:
            raise FenchelError(f"gamma must be 'scale', 'auto' or a positive number, got {self.gamma!r}")
        limit = self.memory_limit
        if isinstance(limit, bool) or not isinstance(limit, Real) or not float(limit) > 0:
            raise FenchelError(f"memory_limit must be a positive number of megabytes, got {limit!r}")

    def _gram(self, X: Any, counted: NDArray, weights: NDArray | None) -> NDArray[np.float64]:
        n = len(counted)
        size = 8 * n * n / _MEGABYTE
        if size > float(self.memory_limit):
            raise FenchelError(
                f"the Gram matrix of {n} examples takes {size:,.0f} MB, more than memory_limit={self.memory_limit:g}: "
                "fit to fewer examples, raise memory_limit, or use LinearClassifier"
            )
        every = n == X.shape[0]
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise FenchelError(
                    f"X must be a square matrix of kernel values for kernel='precomputed', got {X.shape}"
                )
            self.gamma_ = None
            gram = X.toarray() if sp.issparse(X) else X
            return gram if every else gram[np.ix_(counted, counted)]
        X = X if every else X[counted]
        self.gamma_ = self._gamma(X, None if weights is None else weights[counted])
        gram = self._values(X, X)
        if gram.shape != (n, n):
            raise FenchelError(f"kernel must return a matrix of shape {(n, n)} for {n} rows, got {gram.shape}")
        return gram

    def _gamma(self, X: Any, weights: NDArray | None) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        # a weight is a repetition here too
        shares = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / np.sum(weights)
        mean = float(np.sum(shares @ X)) / X.shape[1]
        square = float(np.sum(shares @ (X.multiply(X) if sp.issparse(X) else np.square(X)))) / X.shape[1]
        variance = square - mean**2
        # as scikit-learn does where all entries are equal
        return 1.0 / (X.shape[1] * variance) if variance > 1e-14 * square else 1.0

    def _values(self, X: Any, Z: Any) -> NDArray[np.float64]:
        """The kernel between the rows of two matrices."""
        from sklearn.metrics import pairwise

        if callable(self.kernel):
            return np.asarray(self.kernel(X, Z), dtype=np.float64)
        if self.kernel == "rbf":
            return pairwise.rbf_kernel(X, Z if Z is not X else None, gamma=self.gamma_)
        products = X @ Z.T
        products = np.asarray(products.toarray() if sp.issparse(products) else products, dtype=np.float64)
        return products if self.kernel == "linear" else (self.gamma_ * products + self.coef0) ** self.degree

    def _kernel_problem(self, gram: GramDesign, encoded: NDArray, weights: NDArray | None) -> Problem:
        if isinstance(self.C, bool) or not isinstance(self.C, Real) or not 0 < float(self.C) < math.inf:
            raise FenchelError(f"C must be a positive finite number, got {self.C!r}")
        total = float(gram.shape[0]) if weights is None else float(np.sum(weights))
        # with two classes s_1 = -s_0: |w_1 - w_0|^2 = 2 (|w_0|^2 + |w_1|^2)
        lam = (2.0 if len(self.classes_) == 2 else 1.0) / (float(self.C) * total)
        if not 0 < lam < math.inf:
            raise FenchelError(f"C={self.C!r} is too extreme for the sum of the sample weights, {total:.3g}")
        risk = _FORMS[self.multi_class](encoded, len(self.classes_), weights)
        return Problem(gram, risk, lam, GramNorm(gram))

    def _last_fit(self, classes: NDArray, examples: int) -> NDArray[np.float64] | None:
        """The dual variables to start from."""
        if not self.warm_start or not np.array_equal(getattr(self, "classes_", ()), classes):
            return None
        return self.theta_ if len(self.theta_) == examples else None

    def _keep(self, X: Any, solution: Solution, counted: NDArray) -> None:
        """What users see."""
        self.certificates_ = [solution.certificate]
        self.certificate_ = solution.certificate
        self.converged_ = solution.converged
        self.n_iter_ = int(max(1, min(self.max_iter, math.ceil(solution.passes))))
        self.solver_, self.trace_ = solution.solver, solution.trace
        self.theta_ = np.zeros((X.shape[0], len(self.classes_)))
        self.theta_[counted] = solution.witness.theta
        coefficients = np.asarray(solution.model.weights)
        if len(self.classes_) == 2:
            coefficients = coefficients[[1]] - coefficients[[0]]
        used = np.flatnonzero(np.any(coefficients != 0.0, axis=0))
        self.support_ = counted[used]
        self.dual_coef_ = np.ascontiguousarray(coefficients[:, used])
        self.support_vectors_ = None if self.kernel == "precomputed" else X[self.support_]


def _warm(problem: Problem, theta: NDArray) -> Warm:
    return Start(Model(problem.design.adjoint(theta) / problem.lam, problem.no_intercept()), Witness(theta))
