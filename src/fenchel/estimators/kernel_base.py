"""What kernel estimators share: the Gram matrix of the training examples, scores of new ones, support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate import CertifiedPredictions
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.kernel_parameters import AT_ONCE, KernelParameters
from fenchel.estimators.kernel_proved import joined, of_support, proved_rows, self_products
from fenchel.estimators.parameters import FitParameters
from fenchel.estimators.proved import on_scale
from fenchel.estimators.task import Task, summed
from fenchel.kernels import GramNorm
from fenchel.problem import Model, Witness
from fenchel.regularizers import L2, Regularizer
from fenchel.solvers.base import Start, Warm
from fenchel.solving.solution import Solution


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(KernelParameters, FitParameters, LinearEstimator):
    """A linear model in the feature space of a kernel, whose weights are combinations of the training examples."""

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
        self._check_kernel()
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

    def _scores(self, X: Any) -> Floats:
        """(n, outputs), without intercepts."""
        X = summed(self._rows(X))
        return self._support_scores(X)

    def _proved(self, optimum: OptimumOfFit, X: Any) -> CertifiedPredictions:
        if self.gamma_ is None:
            raise FenchelError(
                "kernel='precomputed' has no kernel k(x, x) of new rows, which proved predictions need: pass the "
                "kernel as a function"
            )
        assert self.kernel is not None
        X, values = summed(self._rows(X)), partial(self._values, gamma=self.gamma_)
        coefficients, intercept = np.atleast_2d(self.dual_coef_), vars(self).get("intercept_", 0.0)
        step = max(1, AT_ONCE // max(1, len(self.support_)))
        parts = []
        for part in (X[begin : begin + step] for begin in range(0, X.shape[0], step)):
            squares = self_products(self.kernel, part, values)
            parts.append(proved_rows(optimum, values(part, self.support_vectors_), squares, coefficients, intercept))
        return on_scale(joined(parts), self._loss())
