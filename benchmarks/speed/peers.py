"""The peers: LIBLINEAR, scikit-learn and rehline.  Nobody has an intercept, so that all solve the same problem."""

from __future__ import annotations

import ctypes
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from benchmarks.speed.contenders import MANY_PASSES, Contender
from benchmarks.speed.tasks import EPSILON, LOSSES, Task


class Liblinear(Contender):
    """liblinear-official, dual coordinate descent: ``-s 3``, ``-s 1``, ``-s 7`` and ``-s 13``.

    Version 2.50 ends after 300 passes and has no parameter for that, neither in C nor in Python: where the hinge or
    the epsilon-insensitive loss needs more it does not get there; with the smooth losses it goes on by Newton steps.
    """

    name = "LIBLINEAR"
    kinds: ClassVar[dict[str, int]] = {"hinge": 3, "squared_hinge": 1, "logistic": 7, "epsilon_insensitive": 13}
    losses = tuple(kinds)
    module = "liblinear"
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
        options = f"-s {self.kinds[self.task.loss]} -c {self.task.C} -e {tolerance} -p {EPSILON}"
        parameter = self._library.parameter(options)  # this sets its own print function
        library.set_print_string_function(self._print)
        self._printed.clear()
        self._process.srand(1)
        model = self._library.toPyModel(library.train(self._problem, parameter))
        sign = 1.0 if LOSSES[self.task.loss].regression else float(model.label[0])
        self.weights = np.ctypeslib.as_array(model.w, (model.nr_feature,)) * sign
        self.stopped = self._limit(b"".join(self._printed))

    @property
    def passes(self) -> int:
        """The passes over the data of the last run, as it printed them."""
        return int(b"".join(self._printed).partition(b"#iter = ")[2].split()[0])

    @staticmethod
    def _limit(printed: bytes) -> str | None:
        """The limit that it says it ran into, unless it went on with another method."""
        if b"max number of Newton iterations" in printed:
            return "its limit of Newton steps"
        passes = b"max number of iterations" in printed and b"Switching to use" not in printed
        return "its limit of 300 passes" if passes else None


class LiblinearPrimal(Liblinear):
    """liblinear-official, Newton's method in the primal: ``-s 2`` and ``-s 0``."""

    name = "LIBLINEAR primal"
    kinds: ClassVar[dict[str, int]] = {"squared_hinge": 2, "logistic": 0}
    losses = tuple(kinds)
    loosest = 1.0


class _ScikitLearn(Contender):
    """A scikit-learn estimator, fitted without intercept and without a limit on passes."""

    module = "sklearn"
    #: of the last run
    passes: int

    def estimator(self) -> Any:
        """The estimator with everything but the common options."""
        raise NotImplementedError

    def run(self, tolerance: float) -> None:
        model = self.estimator().set_params(C=self.task.C, tol=tolerance, max_iter=MANY_PASSES, fit_intercept=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self.task.matrix, self.task.labels)
        self.weights, self.passes = np.ravel(model.coef_), int(np.max(model.n_iter_))


class ScikitLearn(_ScikitLearn):
    """``LinearSVC`` and ``LinearSVR`` with ``dual=True``: an older LIBLINEAR whose limit on passes can be raised."""

    name = "scikit-learn"
    losses = ("hinge", "squared_hinge", "epsilon_insensitive")
    loosest = 10.0
    dual: ClassVar[bool] = True

    def estimator(self) -> Any:
        from sklearn.svm import LinearSVC, LinearSVR

        if LOSSES[self.task.loss].regression:
            return LinearSVR(loss=self.task.loss, epsilon=EPSILON, dual=self.dual, random_state=0)
        return LinearSVC(loss=self.task.loss, dual=self.dual, random_state=0)


class ScikitLearnPrimal(ScikitLearn):
    """``LinearSVC(loss="squared_hinge", dual=False)``."""

    name = "scikit-learn primal"
    losses = ("squared_hinge",)
    loosest = 1.0
    dual = False


class LogisticLbfgs(_ScikitLearn):
    """``LogisticRegression(solver="lbfgs")``."""

    name = "scikit-learn lbfgs"
    losses = ("logistic",)

    def estimator(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(solver=self.name.removeprefix("scikit-learn "))


class LogisticNewtonCg(LogisticLbfgs):
    """``LogisticRegression(solver="newton-cg")``."""

    name = "scikit-learn newton-cg"


class LogisticNewtonCholesky(LogisticLbfgs):
    """``LogisticRegression(solver="newton-cholesky")``: needs the Hessian in memory."""

    name = "scikit-learn newton-cholesky"
    most_columns: ClassVar[int] = 5000

    def reason_to_skip(self, task: Task) -> str | None:
        if task.matrix.shape[1] > self.most_columns:
            return f"its Hessian has the square of the number of columns, which is above {self.most_columns:,}"
        return super().reason_to_skip(task)


class Rehline(Contender):
    """rehline's ``ReHLine_solver`` with the loss written as ReLUs or a ReHU; takes part on dense data."""

    name = "rehline"
    losses = ("hinge", "squared_hinge", "epsilon_insensitive")
    module = "rehline"
    #: version 0.1.4 takes sparse data as well; ``--rehline-on-sparse`` of the table sets this
    on_sparse: ClassVar[bool] = False

    def reason_to_skip(self, task: Task) -> str | None:
        if sp.issparse(task.matrix) and not self.on_sparse:
            return "compared on dense data only"
        return super().reason_to_skip(task)

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        self._parts = self._quadratic(task) if task.loss == "squared_hinge" else self._piecewise_linear(task)

    def move_to(self, C: float) -> None:
        self.prepare(replace(self.task, C=C))

    def run(self, tolerance: float) -> None:
        from rehline import ReHLine_solver

        options: dict[str, Any] = {"max_iter": MANY_PASSES, "tol": tolerance, "shrink": 1, "verbose": 0}
        result = ReHLine_solver(self.task.matrix, **self._parts, **options)
        self.weights = np.array(result.beta)
        self.stopped = None if result.converged else "not converged by its own account"

    @staticmethod
    def _piecewise_linear(task: Task) -> dict[str, np.ndarray]:
        """Σ max(0, U s + V)."""
        lines = LOSSES[task.loss].lines
        assert lines is not None
        slopes, offsets = zip(*lines(task.labels), strict=True)
        return {"U": task.C * np.stack(slopes), "V": task.C * np.stack(offsets)}

    @staticmethod
    def _quadratic(task: Task) -> dict[str, np.ndarray]:
        """Σ max(0, S s + T)² / 2: a ReHU that never becomes linear."""
        scale = np.sqrt(2.0 * task.C)
        slopes, nothing = -scale * task.labels[None, :], np.empty((0, len(task.labels)))
        offsets, ends = np.full_like(slopes, scale), np.full_like(slopes, np.inf)
        return {"U": nothing, "V": nothing, "S": slopes, "T": offsets, "Tau": ends}


PEERS: tuple[type[Contender], ...] = (
    Liblinear,
    LiblinearPrimal,
    ScikitLearn,
    ScikitLearnPrimal,
    LogisticLbfgs,
    LogisticNewtonCg,
    LogisticNewtonCholesky,
    Rehline,
)
