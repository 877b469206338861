"""What kernel estimators share: the Gram matrix of the training examples, scores of new ones, support vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.certificate import CertifiedPredictions
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.kernel_proved import joined, of_support, proved_rows, self_products
from fenchel.estimators.parameters import FitParameters
from fenchel.estimators.proved import on_scale
from fenchel.estimators.task import Task, summed
from fenchel.kernels import GramDesign, GramNorm, KernelDesign
from fenchel.kernels.cached_gram import KernelRows, cached_gram
from fenchel.kernels.rbf import Radial
from fenchel.problem import Model, Witness
from fenchel.regularizers import L2, Regularizer
from fenchel.risks.decomposition import normalized
from fenchel.solvers.base import Start, Warm
from fenchel.solving.solution import Solution
from fenchel.validation import check_integer, check_number, is_positive

KERNELS = ("linear", "poly", "rbf", "precomputed")
#: kernel values that predictions work on at once (32 MB)
_AT_ONCE = 1 << 22
#: the inverse of what is smaller overflows
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(FitParameters, LinearEstimator):
    """A linear model in the feature space of a kernel, whose weights are combinations of the training examples."""

    kernel: str | Callable[[Any, Any], Array] = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 0.0
    memory_limit: float = 4096

    n_jobs = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        assert task.active is not None
        theta = np.zeros((task.X.shape[0], *found["theta_"].shape[1:]))
        theta[task.active] = found["theta_"]
        coefficients = self._coefficients(task, np.atleast_2d(found.pop("coef_")))
        used = np.flatnonzero(np.any(coefficients != 0.0, axis=0))
        if found["_optimum"] is not None:
            found["_optimum"] = of_support(found["_optimum"], used)
        support = task.active[used]
        return {
            **found,
            "theta_": theta,
            "support_": support,
            "dual_coef_": np.ascontiguousarray(coefficients[:, used]),
            "support_vectors_": None if self.kernel == "precomputed" else task.X[support],
        }

    def warm_starts(self, task: Task, problems: Sequence[LazyProblem]) -> Sequence[Warm | None]:
        """The dual variables of the last fit, if it had as many examples and the same classes."""
        problem, fitted = problems[0](), vars(self)
        shape = (task.X.shape[0], *problem.theta_shape[1:])
        same = np.array_equal(fitted.get("classes_", ()), task.fitted.get("classes_", ()))
        if not same or np.shape(fitted.get("theta_", ())) != shape:
            return [None]
        start = self.theta_[task.active]
        # the certificate chooses the intercept
        intercept = None if problem.intercept else problem.no_intercept()
        return [Start(Model(problem.design.adjoint(start) / problem.lam, intercept), Witness(start))]

    def _regularizer(self) -> Regularizer:
        """Ridge, which in the feature space is the norm of the Gram matrix of the task."""
        return L2()

    def _input(self, X: Any) -> dict[str, Any]:
        return {**super()._input(X), "accept_sparse": "csr", "dtype": np.float64}

    def _coefficients(self, task: Task, coefficients: Array) -> Floats:
        """The coefficients that scores are computed from, (outputs, n)."""
        return coefficients

    def _check_parameters(self) -> None:
        if not (isinstance(self.kernel, str) and self.kernel in KERNELS) and not callable(self.kernel):
            raise FenchelError(
                f"kernel must be one of {', '.join(map(repr, KERNELS))} or a function, got {self.kernel!r}"
            )
        if self.kernel == "poly":
            check_integer("degree", self.degree, least=1)
            # below zero the polynomial is no kernel
            check_number("coef0", self.coef0, least=0.0)
        if not (isinstance(self.gamma, str) and self.gamma in ("scale", "auto")) and not is_positive(self.gamma):
            raise FenchelError(f"gamma must be 'scale', 'auto' or a positive number, got {self.gamma!r}")
        check_number("memory_limit", self.memory_limit, above=0.0, finite=False)
        super()._check_parameters()

    def _task(self, X: Any, weights: Floats | None, **fields: Any) -> Task:
        """The task of the examples with weight: the others need neither rows nor columns of the Gram matrix."""
        X = summed(X)
        active = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        weights = None if weights is None else weights[active]
        rows = X if len(active) == X.shape[0] else X[active]
        gamma = None if self.kernel == "precomputed" else self._gamma(rows, weights)
        gram = self._precomputed(X, active) if gamma is None else self._gram(rows, gamma)
        fields["targets"] = fields["targets"][active]
        fields["fitted"] = {**fields["fitted"], "gamma_": gamma}
        return Task(X=X, design=gram, regularizer=GramNorm(gram), C=self.C, weights=weights, active=active, **fields)

    def _gram(self, X: Any, gamma: float) -> KernelDesign:
        """The Gram matrix of the rows, cached row by row if it takes more than ``memory_limit``."""
        values, named = partial(self._values, gamma=gamma), self.kernel in KERNELS
        if gram_megabytes(X.shape[0]) > float(self.memory_limit):
            degree = float(self.degree) if self.kernel == "poly" else 1.0
            rows = KernelRows(values, X, gamma if self.kernel == "rbf" else None, degree)
            return cached_gram(rows, float(self.memory_limit), named=named)
        gram = GramDesign(values(X, X))
        return gram if named else gram.definite()

    def _precomputed(self, X: Any, active: Array) -> KernelDesign:
        n = len(active)
        if gram_megabytes(n) > float(self.memory_limit):
            raise FenchelError(
                f"the Gram matrix of {n} examples takes {gram_megabytes(n):,.1f} MB, more than memory_limit="
                f"{self.memory_limit:g}: raise memory_limit, fit to fewer examples, or pass the kernel as a "
                "function, whose rows are computed when they are needed"
            )
        if X.shape[0] != X.shape[1]:
            raise FenchelError(f"X must be a square matrix of kernel values for kernel='precomputed', got {X.shape}")
        gram = X.toarray() if sp.issparse(X) else X
        return GramDesign(gram if n == X.shape[0] else gram[np.ix_(active, active)]).definite()

    def _scores(self, X: Any) -> Floats:
        """(n, outputs), without intercepts."""
        X = summed(self._rows(X))
        coefficients = np.atleast_2d(self.dual_coef_)
        scores = np.empty((X.shape[0], len(coefficients)))
        step = max(1, _AT_ONCE // max(1, len(self.support_)))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            if self.gamma_ is None:
                part = X[rows][:, self.support_]
                part = part.toarray() if sp.issparse(part) else part
            else:
                part = self._values(X[rows], self.support_vectors_, self.gamma_)
            scores[rows] = part @ coefficients.T
        return scores

    def _proved(self, optimum: OptimumOfFit, X: Any) -> CertifiedPredictions:
        if self.gamma_ is None:
            raise FenchelError(
                "kernel='precomputed' has no kernel k(x, x) of new rows, which proved predictions need: pass the "
                "kernel as a function"
            )
        X, values = summed(self._rows(X)), partial(self._values, gamma=self.gamma_)
        coefficients, intercept = np.atleast_2d(self.dual_coef_), vars(self).get("intercept_", 0.0)
        step = max(1, _AT_ONCE // max(1, len(self.support_)))
        parts = []
        for part in (X[begin : begin + step] for begin in range(0, X.shape[0], step)):
            squares = self_products(self.kernel, part, values)
            parts.append(proved_rows(optimum, values(part, self.support_vectors_), squares, coefficients, intercept))
        return on_scale(joined(parts), self._loss())

    def _gamma(self, X: Any, weights: Array | None) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        # a weight is a repetition here too
        shares = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else normalized(weights)
        with np.errstate(over="ignore", invalid="ignore"):
            total = X.shape[1] * _variance(X, shares)
        if not math.isfinite(total):
            raise FenchelError("gamma='scale': the variance of X overflows; scale X, or set gamma to a number")
        # as scikit-learn does where all entries are equal
        return 1.0 / total if X.max() > X.min() and total >= _TINY else 1.0

    def _values(self, X: Any, Z: Any, gamma: float) -> Floats:
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
            radial = Radial(Z, gamma)
            return radial.gram() if Z is X else radial(X)
        products = X @ Z.T
        products = np.asarray(products.toarray() if sp.issparse(products) else products, dtype=np.float64)
        return products if self.kernel == "linear" else (gamma * products + self.coef0) ** self.degree


def gram_megabytes(n: int) -> float:
    """The size of the Gram matrix of n examples in float64."""
    return 8 * n**2 / 2**20


def _variance(X: Any, shares: Array) -> float:
    """The weighted variance of all entries; centred first, since squares would cancel far from the origin."""
    mean = float(np.sum(shares @ X)) / X.shape[1]
    if not sp.issparse(X):
        return float(shares @ np.sum(np.square(X - mean), axis=1)) / X.shape[1]
    stored = np.diff(X.indptr)
    squares = np.square(X.data - mean)
    return float(np.repeat(shares, stored) @ squares + shares @ (X.shape[1] - stored) * mean**2) / X.shape[1]
