"""What kernel estimators share: the Gram matrix of the training examples, scores of new ones, what is kept of a fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.errors import FenchelError
from fenchel.estimators.base import LinearEstimator
from fenchel.kernels import GramDesign, GramNorm, KernelDesign
from fenchel.kernels.gram_rows import KernelRows, cached_gram
from fenchel.kernels.rbf import Radial
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import Start, Warm
from fenchel.solving.solution import Solution

KERNELS = ("linear", "poly", "rbf", "precomputed")
#: kernel values that predictions work on at once (32 MB)
_AT_ONCE = 1 << 22
_MEGABYTE = 2**20
#: the inverse of what is smaller overflows
_TINY = float(np.finfo(np.float64).tiny)


class KernelEstimator(LinearEstimator):
    """A linear model in the feature space of a kernel, whose weights are combinations of the training examples."""

    kernel: str | Callable[[Any, Any], NDArray]
    degree: Any
    coef0: Any
    gamma: Any
    memory_limit: Any
    n_jobs = None
    #: None for a matrix that is given
    gamma_: float | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_kernel(self) -> None:
        if not (isinstance(self.kernel, str) and self.kernel in KERNELS) and not callable(self.kernel):
            raise FenchelError(
                f"kernel must be one of {', '.join(map(repr, KERNELS))} or a function, got {self.kernel!r}"
            )
        if self.kernel == "poly":
            if isinstance(self.degree, bool) or not isinstance(self.degree, Integral) or self.degree < 1:
                raise FenchelError(f"degree must be a positive integer, got {self.degree!r}")
            coef0 = self.coef0
            if isinstance(coef0, bool) or not isinstance(coef0, Real) or not 0 <= float(coef0) < math.inf:
                raise FenchelError(f"coef0 must be a number >= 0, or the polynomial is no kernel, got {self.coef0!r}")
        named = isinstance(self.gamma, str) and self.gamma in ("scale", "auto")
        number = isinstance(self.gamma, Real) and not isinstance(self.gamma, bool) and 0 < float(self.gamma) < math.inf
        if not named and not number:
            raise FenchelError(f"gamma must be 'scale', 'auto' or a positive number, got {self.gamma!r}")
        self._check_strength()
        limit = self.memory_limit
        if isinstance(limit, bool) or not isinstance(limit, Real) or not float(limit) > 0:
            raise FenchelError(f"memory_limit must be a positive number of megabytes, got {limit!r}")

    def _design(self, X: Any, weights: NDArray | None) -> tuple[KernelDesign, NDArray]:
        """The Gram matrix of the examples that count, and which these are.

        Examples without weight take part in nothing: neither their rows nor their columns are needed.
        """
        counted = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        given, named = self.kernel == "precomputed", self.kernel in KERNELS
        if 8 * len(counted) ** 2 / _MEGABYTE > float(self.memory_limit) and not given:
            X = self._examples(X, counted, weights)
            rows = KernelRows(self._values, X, self.gamma_ if self.kernel == "rbf" else None)
            return cached_gram(rows, float(self.memory_limit), named=named), counted
        gram = GramDesign(self._gram(X, counted, weights))
        return (gram.definite() if given or not named else gram), counted

    def _kernel_scores(self, X: Any) -> NDArray[np.float64]:
        """(n, outputs), without intercepts."""
        check_is_fitted(self)
        X = summed(validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64))
        coefficients = np.atleast_2d(self.dual_coef_)
        scores = np.empty((X.shape[0], len(coefficients)))
        step = max(1, _AT_ONCE // max(1, len(self.support_)))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            if self.kernel == "precomputed":
                part = X[rows][:, self.support_]
                part = part.toarray() if sp.issparse(part) else part
            else:
                part = self._values(X[rows], self.support_vectors_)
            scores[rows] = part @ coefficients.T
        return scores

    def _problem_of(self, gram: KernelDesign, risk: Any, weights: NDArray | None, factor: float = 1.0) -> Problem:
        """The problem whose lam is ``factor`` / (C sum of weights)."""
        total = float(gram.shape[0]) if weights is None else float(np.sum(weights))
        lam = factor / (float(self.C) * total)
        if not 0 < lam < math.inf:
            raise FenchelError(f"C={self.C!r} is too extreme for the sum of the sample weights, {total:.3g}")
        return Problem(gram, risk, lam, GramNorm(gram), bool(self.fit_intercept))

    def _check_strength(self) -> None:
        if isinstance(self.C, bool) or not isinstance(self.C, Real) or not 0 < float(self.C) < math.inf:
            raise FenchelError(f"C must be a positive finite number, got {self.C!r}")

    def _gram(self, X: Any, counted: NDArray, weights: NDArray | None) -> NDArray[np.float64]:
        n = len(counted)
        if self.kernel == "precomputed":
            size = 8 * n * n / _MEGABYTE
            if size > float(self.memory_limit):
                raise FenchelError(
                    f"the Gram matrix of {n} examples takes {size:,.1f} MB, more than memory_limit="
                    f"{self.memory_limit:g}: raise memory_limit, fit to fewer examples, or give the kernel as a "
                    "function, whose rows are computed when they are needed"
                )
            if X.shape[0] != X.shape[1]:
                raise FenchelError(
                    f"X must be a square matrix of kernel values for kernel='precomputed', got {X.shape}"
                )
            self.gamma_ = None
            gram = X.toarray() if sp.issparse(X) else X
            return gram if n == X.shape[0] else gram[np.ix_(counted, counted)]
        X = self._examples(X, counted, weights)
        return self._values(X, X)

    def _examples(self, X: Any, counted: NDArray, weights: NDArray | None) -> Any:
        """The examples that count; gamma is settled on them."""
        X = X if len(counted) == X.shape[0] else X[counted]
        self.gamma_ = self._gamma(X, None if weights is None else weights[counted])
        return X

    def _gamma(self, X: Any, weights: NDArray | None) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        # a weight is a repetition here too
        shares = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / np.sum(weights)
        with np.errstate(over="ignore", invalid="ignore"):
            total = X.shape[1] * _variance(X, shares)
        if not math.isfinite(total):
            raise FenchelError("the variance of X, which gamma='scale' is made of, overflows: scale X, or give gamma")
        # as scikit-learn does where all entries are equal
        return 1.0 / total if X.max() > X.min() and total >= _TINY else 1.0

    def _values(self, X: Any, Z: Any) -> NDArray[np.float64]:
        """The kernel between the rows of two matrices."""
        if callable(self.kernel):
            found, shape = np.asarray(self.kernel(X, Z), dtype=np.float64), (X.shape[0], Z.shape[0])
            if found.shape != shape:
                raise FenchelError(
                    f"kernel must return a matrix of shape {shape} for {shape[0]} and {shape[1]} rows, "
                    f"got {found.shape}"
                )
            return found
        if self.kernel == "rbf":
            radial = Radial(Z, float(self.gamma_ or 0.0))
            return radial.gram() if Z is X else radial(X)
        products = X @ Z.T
        products = np.asarray(products.toarray() if sp.issparse(products) else products, dtype=np.float64)
        return products if self.kernel == "linear" else (self.gamma_ * products + self.coef0) ** self.degree

    def _solve_kernel(self, X: Any, problem: Problem, counted: NDArray, before: NDArray | None) -> Solution:
        """Solve from the dual variables of the last fit, if there are any, and keep what users see."""
        self._check_numbers()
        warm = None if before is None else _warm(problem, before[counted])
        (solution,), interrupted = self._solve_all([lambda: problem], [warm])
        self.certificates_ = [solution.certificate]
        self.certificate_ = solution.certificate
        self.converged_ = solution.converged
        self.n_iter_ = int(max(1, min(self.max_iter, math.ceil(solution.passes))))
        self.solver_, self.trace_ = solution.solver, solution.trace
        self.theta_ = np.zeros((X.shape[0], *problem.theta_shape[1:]))
        self.theta_[counted] = solution.witness.theta
        coefficients = self._coefficients(np.atleast_2d(solution.model.weights))
        used = np.flatnonzero(np.any(coefficients != 0.0, axis=0))
        self.support_ = counted[used]
        self.dual_coef_ = np.ascontiguousarray(coefficients[:, used])
        self.support_vectors_ = None if self.kernel == "precomputed" else X[self.support_]
        self._keep(solution)
        if interrupted:
            raise KeyboardInterrupt
        self._warn_unless_converged([solution])
        return solution

    def _coefficients(self, coefficients: NDArray) -> NDArray[np.float64]:
        """What scores are computed from, (outputs, n)."""
        return coefficients

    def _keep(self, solution: Solution) -> None:
        """What only some estimators have."""


def summed(X: Any) -> Any:
    """X, or a copy in which repeated entries of a sparse matrix are added up: not every kernel does that."""
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _variance(X: Any, shares: NDArray) -> float:
    """Of all entries, in rows that count so much, from their mean: squares would hide it far from the origin."""
    mean = float(np.sum(shares @ X)) / X.shape[1]
    if not sp.issparse(X):
        return float(shares @ np.sum(np.square(X - mean), axis=1)) / X.shape[1]
    stored = np.diff(X.indptr)
    squares = np.square(X.data - mean)
    return float(np.repeat(shares, stored) @ squares + shares @ (X.shape[1] - stored) * mean**2) / X.shape[1]


def _warm(problem: Problem, theta: NDArray) -> Warm:
    return Start(Model(problem.design.adjoint(theta) / problem.lam, problem.no_intercept()), Witness(theta))
