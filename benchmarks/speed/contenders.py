"""Who is compared: one class each, used by the benchopt solvers and by the table alike.

Each run solves from scratch to the contender's own tolerance.  What is timed is ``run`` alone:

==================  ===========================================================================================
contender           inside the timed region
==================  ===========================================================================================
Fenchel             building the Problem (index checks), solving, and every certificate: solving to a tolerance
                    includes proving it
LIBLINEAR           the C function ``train``; the matrix is converted to its own format before
scikit-learn        ``LinearSVC.fit``: input checks, conversion to LIBLINEAR's format, solving
rehline             ``ReHLine_solver``: input checks, solving; its loss parameters are built before
==================  ===========================================================================================

Seeds are fixed, so the same tolerance gives the same weights in every run.
"""

from __future__ import annotations

import ctypes
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

#: stands for "no limit" where a contender wants a number of passes
_MANY_PASSES = 10_000_000
#: a penalized intercept is another problem, which the objective would hold against it
_PENALIZED = "its intercept is regularized, so it solves another problem"


@dataclass(frozen=True)
class Task:
    """What is to be minimized: |w|²/2 + C Σ hinge, with a free intercept or none."""

    matrix: sp.csr_matrix | np.ndarray
    labels: np.ndarray
    C: float
    intercept: bool = False


class Contender:
    """Prepared once for a task, then run to one tolerance after the other."""

    name: ClassVar[str]
    #: the loosest tolerance that makes a difference
    loosest: ClassVar[float] = 1.0
    weights: np.ndarray
    intercept: float = 0.0
    #: why it stopped by itself before its tolerance, if it did
    stopped: str | None = None

    def reason_to_skip(self, task: Task) -> str | None:
        """None, or why it does not take part."""
        return _PENALIZED if task.intercept else None

    def prepare(self, task: Task) -> None:
        """Whatever is not timed."""
        self.task = task

    def warm_up(self) -> None:
        """Compile what must be compiled."""

    def run(self, tolerance: float) -> None:
        """Solve from scratch; this is what is timed."""
        raise NotImplementedError


class Fenchel(Contender):
    """``fenchel.solve`` with the solver dual_coordinate; the tolerance is the proved relative duality gap."""

    name = "Fenchel"

    def reason_to_skip(self, task: Task) -> str | None:
        return None

    def warm_up(self) -> None:
        self._solve(tolerance=1.0, max_iter=1)

    def run(self, tolerance: float) -> None:
        self._solve(tolerance, _MANY_PASSES)

    def _solve(self, tolerance: float, max_iter: int) -> None:
        from fenchel import MeanRisk, Problem, solve

        lam = 1.0 / (self.task.C * len(self.task.labels))
        problem = Problem(self.task.matrix, MeanRisk("hinge", self.task.labels), lam, intercept=self.task.intercept)
        solution = solve(problem, "dual_coordinate", tol=tolerance, max_iter=max_iter, seed=0)
        self.weights, self.intercept = solution.model.weights, float(solution.model.intercept)
        self.stopped = None if solution.converged or max_iter < _MANY_PASSES else solution.status.value


class FenchelIntercept(Fenchel):
    """The same with a free intercept; it is judged on the objective with intercept."""

    name = "Fenchel, intercept"


class Liblinear(Contender):
    """liblinear-official, ``-s 3``.

    Version 2.50 ends after 300 passes and has no parameter for that, neither in C nor in Python: where it needs more
    it does not get there.
    """

    name = "LIBLINEAR"
    loosest = 10.0

    def prepare(self, task: Task) -> None:
        from liblinear import liblinear as library

        super().prepare(task)
        self._library = library
        self._problem = library.problem(task.labels, sp.csr_matrix(task.matrix))
        self._printed: list[bytes] = []
        self._print = library.PRINT_STRING_FUN(self._printed.append)
        self._process = ctypes.CDLL(None)

    def run(self, tolerance: float) -> None:
        library = self._library.liblinear
        parameter = self._library.parameter(f"-s 3 -c {self.task.C} -e {tolerance}")
        library.set_print_string_function(self._print)
        self._printed.clear()
        self._process.srand(1)
        trained = library.train(self._problem, parameter)
        model = self._library.toPyModel(trained)
        self.weights = np.ctypeslib.as_array(model.w, (model.nr_feature,)) * float(model.label[0])
        reached = b"max number of iterations" in b"".join(self._printed)
        self.stopped = "its limit of 300 passes" if reached else None


class ScikitLearn(Contender):
    """scikit-learn's ``LinearSVC(loss="hinge", dual=True)``: an older LIBLINEAR whose limit on passes can be raised."""

    name = "scikit-learn"
    loosest = 10.0

    def run(self, tolerance: float) -> None:
        from sklearn.svm import LinearSVC

        options: dict[str, Any] = {"loss": "hinge", "dual": True, "fit_intercept": False, "random_state": 0}
        model = LinearSVC(C=self.task.C, tol=tolerance, max_iter=_MANY_PASSES, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self.task.matrix, self.task.labels)
        self.weights = model.coef_[0]


class Rehline(Contender):
    """rehline's ``ReHLine_solver`` on the hinge loss written as a ReLU; takes part on dense data."""

    name = "rehline"
    #: version 0.1.4 takes sparse data as well; ``--rehline-on-sparse`` of the table sets this
    on_sparse: ClassVar[bool] = False

    def reason_to_skip(self, task: Task) -> str | None:
        if sp.issparse(task.matrix) and not self.on_sparse:
            return "compared on dense data only"
        return super().reason_to_skip(task)

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        self._slopes = -task.C * task.labels[None, :]
        self._offsets = np.full_like(self._slopes, task.C)

    def run(self, tolerance: float) -> None:
        from rehline import ReHLine_solver

        options: dict[str, Any] = {"max_iter": _MANY_PASSES, "tol": tolerance, "shrink": 1, "verbose": 0}
        result = ReHLine_solver(self.task.matrix, self._slopes, self._offsets, **options)
        self.weights = np.array(result.beta)
        self.stopped = None if result.converged else "not converged by its own account"


CONTENDERS: dict[str, type[Contender]] = {
    contender.name: contender for contender in (Fenchel, FenchelIntercept, Liblinear, ScikitLearn, Rehline)
}
