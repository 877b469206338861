"""The parameters of kernels: Gram matrices of training examples, and scores of new ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.kernels import GramDesign, KernelDesign
from fenchel.kernels.kernel_rows import KernelRows
from fenchel.kernels.lazy_gram import gram_megabytes, gram_of
from fenchel.kernels.rbf import Radial
from fenchel.risks.decomposition import normalized
from fenchel.validation import check_integer, check_number, did_you_mean, is_positive

KERNELS = ("linear", "poly", "rbf", "precomputed")
#: kernel values that predictions work on at once (32 MB)
AT_ONCE = 1 << 22
#: the inverse of what is smaller overflows
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelParameters:
    """A kernel, and the memory for its Gram matrix."""

    kernel: str | Callable[[Any, Any], Array] | None = "rbf"
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 0.0
    memory_limit: float = 4096

    def _check_kernel(self) -> None:
        if not (isinstance(self.kernel, str) and self.kernel in KERNELS) and not callable(self.kernel):
            names, near = ", ".join(map(repr, KERNELS)), did_you_mean(self.kernel, KERNELS)
            raise FenchelError(f"kernel must be one of {names} or a function, got {self.kernel!r}{near}")
        if self.kernel == "poly":
            check_integer("degree", self.degree, least=1)
            # below zero the polynomial is no kernel
            check_number("coef0", self.coef0, least=0.0)
        if not (isinstance(self.gamma, str) and self.gamma in ("scale", "auto")) and not is_positive(self.gamma):
            raise FenchelError(f"gamma must be 'scale', 'auto' or a positive number, got {self.gamma!r}")
        check_number("memory_limit", self.memory_limit, above=0.0, finite=False)

    def _gram(self, X: Any, gamma: float) -> KernelDesign:
        """The Gram matrix of the rows, cached row by row if it takes more than ``memory_limit``."""
        values, named = partial(self._values, gamma=gamma), self.kernel in KERNELS
        degree = float(self.degree) if self.kernel == "poly" else 1.0
        rows = KernelRows(values, X, gamma if self.kernel == "rbf" else None, degree)
        return gram_of(rows, float(self.memory_limit), named=named)

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

    def _support_scores(self, X: Any) -> Floats:
        """The scores of rows X by the coefficients of the support vectors of the fit, (rows, outputs)."""
        fitted = vars(self)
        coefficients, support, gamma = np.atleast_2d(fitted["dual_coef_"]), fitted["support_"], fitted["gamma_"]
        scores = np.empty((X.shape[0], len(coefficients)))
        step = max(1, AT_ONCE // max(1, len(support)))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, begin + step)
            if gamma is None:
                part = X[rows][:, support]
                part = part.toarray() if sp.issparse(part) else part
            else:
                part = self._values(X[rows], fitted["support_vectors_"], gamma)
            scores[rows] = part @ coefficients.T
        return scores

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


def _variance(X: Any, shares: Array) -> float:
    """The weighted variance of all entries; centred first, since squares would cancel far from the origin."""
    mean = float(np.sum(shares @ X)) / X.shape[1]
    if not sp.issparse(X):
        return float(shares @ np.sum(np.square(X - mean), axis=1)) / X.shape[1]
    stored = np.diff(X.indptr)
    squares = np.square(X.data - mean)
    return float(np.repeat(shares, stored) @ squares + shares @ (X.shape[1] - stored) * mean**2) / X.shape[1]
