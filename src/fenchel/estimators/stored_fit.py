"""What a fit stores, the fourth of its steps, and the starts of the next fit that are made from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import Array, Floats
from fenchel.estimators.linear_model import LinearModel
from fenchel.estimators.multiclass import stacked_pairs
from fenchel.estimators.proved import stored_optimum
from fenchel.estimators.task import Task, set_fitted
from fenchel.problem import Model, Witness
from fenchel.solvers.base import Start, Warm
from fenchel.solving.solution import Solution

if TYPE_CHECKING:
    from fenchel.estimators.base import LazyProblem


class StoredFit(LinearModel):
    """A linear model with what its fit found and proved."""

    def store(self, task: Task, solutions: Sequence[Solution]) -> None:
        """Set the fitted attributes: nothing changes unless all of them are known."""
        set_fitted(self, self.attributes(task, solutions))

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        """The fitted attributes of these solutions."""
        certificates = [solution.certificate for solution in solutions]
        passes = max(solution.passes for solution in solutions)
        traces = [solution.trace for solution in solutions]
        intercepts = [np.atleast_1d(np.asarray(solution.model.intercept)) for solution in solutions]
        return {
            **task.fitted,
            "certificates_": certificates,
            "certificate_": reduce(add, certificates),
            "converged_": all(map(self._has_converged, solutions)),
            # the last step may end a little beyond max_iter
            "n_iter_": int(min(self.max_iter, max(1, math.ceil(passes)))),
            "solver_": " | ".join(dict.fromkeys(solution.solver for solution in solutions)),
            "trace_": traces[0] if len(traces) == 1 else traces,
            "coef_": _rows([solution.model.weights for solution in solutions]),
            "intercept_": np.concatenate(intercepts).astype(np.float64),
            "theta_": _stacked([solution.witness.theta for solution in solutions], task.form),
            "_optimum": stored_optimum(task, solutions, self._why_unproved(task)),
        }

    def _has_converged(self, solution: Solution) -> bool:
        return solution.converged or solution.certificate.meets(self.tol)

    def warm_starts(self, task: Task, problems: Sequence[LazyProblem]) -> Sequence[Warm | None]:
        """The last fit as starting points of these problems; None where it has other classes or another shape."""
        fitted, count = vars(self), len(problems)
        same = all(np.array_equal(fitted.get(name, ()), task.fitted.get(name, ())) for name in ("classes_", "order_"))
        cold: list[Warm | None] = [None] * count
        if "theta_" not in fitted or not same or np.shape(self.coef_)[-1] != task.design.shape[1]:
            return cold
        coef, theta = np.atleast_2d(self._weights()), self.theta_
        intercept = np.atleast_1d(fitted.get("risk_intercept_", self.intercept_))
        parts = fitted.get("decompositions_", [None] * count)
        # the dual variables of pairs of classes are no start for one problem
        if count == 1 and not sp.issparse(theta):
            model = Model(coef[0], float(intercept[0])) if len(coef) == 1 else Model(coef, intercept)
            return [Start(model, Witness(theta, decomposition=parts[0]))]
        if count == 1 or len(coef) != count:
            return cold
        thetas = [theta[:, [k]].toarray().ravel() if sp.issparse(theta) else theta[:, k] for k in range(count)]
        witnesses = [Witness(one, decomposition=part) for one, part in zip(thetas, parts, strict=True)]
        return [Start(Model(coef[k], float(intercept[k])), witnesses[k]) for k in range(count)]

    def drop_witness(self) -> Self:
        """Delete ``theta_``, one number for each example (and class), which makes up most of a large model's pickle.

        Predictions and certificates stay; the next fit starts cold, and the certificate can't be recomputed from the
        model.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        for name in ("theta_", "decompositions_"):
            vars(self).pop(name, None)
        return self

    @property
    def dual_gap_(self) -> float:
        """The certified gap, ``certificate_.gap``."""
        return self.certificate_.gap


def _rows(weights: Sequence[Array]) -> Floats:
    """The weights of all problems as rows of one new array."""
    rows = [np.atleast_2d(one) for one in weights]
    found = np.empty((sum(map(len, rows)), rows[0].shape[1]))
    # a single copy, whatever their order in memory
    np.concatenate(rows, out=found)
    return found


def _stacked(thetas: list[Array], form: str | None) -> Any:
    """The dual variables of several problems side by side."""
    if len(thetas) == 1:
        return thetas[0]
    return stacked_pairs(thetas) if form == "ovo" else np.stack(thetas, axis=1)
