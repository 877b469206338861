"""skglm and snapml: reported beside the peers, not counted when the fastest peer is looked for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.speed.contenders import MANY_PASSES, Contender
from benchmarks.speed.tasks import Task


class Skglm(Contender):
    """skglm: ``LinearSVC`` (working sets in the dual) for the hinge, ``LBFGS`` with an L2 penalty for the logistic."""

    name = "skglm"
    losses = ("hinge", "logistic")
    module = "skglm"
    counted = False

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        self._matrix = sp.csc_matrix(task.matrix) if sp.issparse(task.matrix) else task.matrix

    def warm_up(self) -> None:
        """Compile on a few examples of both classes."""
        whole, matrix = self.task, self._matrix
        few = np.concatenate([np.flatnonzero(whole.labels == label)[:10] for label in (-1.0, 1.0)])
        self.prepare(Task(whole.matrix[few], whole.labels[few], whole.C, loss=whole.loss))
        self.run(1e-3)
        self.task, self._matrix = whole, matrix

    def run(self, tolerance: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.weights = np.ravel(self._hinge(tolerance) if self.task.loss == "hinge" else self._logistic(tolerance))

    def _hinge(self, tolerance: float) -> np.ndarray:
        from skglm import LinearSVC

        model = LinearSVC(C=self.task.C, tol=tolerance, max_iter=MANY_PASSES, fit_intercept=False)
        return model.fit(self.task.matrix, self.task.labels).coef_

    def _logistic(self, tolerance: float) -> np.ndarray:
        # its estimator for a penalty of one's choice (0.5) can't take this solver, so the solver is called
        from skglm.datafits import Logistic
        from skglm.penalties import L2
        from skglm.solvers import LBFGS

        solver = LBFGS(max_iter=MANY_PASSES, tol=tolerance)
        return solver.solve(self._matrix, self.task.labels, Logistic(), L2(self.task.lam))[0]


class Snapml(Contender):
    """snapml's ``SupportVectorMachine`` and ``LogisticRegression(dual=True)`` on one thread."""

    name = "snapml"
    losses = ("hinge", "squared_hinge", "logistic")
    module = "snapml"
    counted = False

    def run(self, tolerance: float) -> None:
        import snapml

        options: dict[str, Any] = {
            "regularizer": 1.0 / self.task.C,
            "max_iter": MANY_PASSES,
            "tol": tolerance,
            "fit_intercept": False,
            "n_jobs": 1,
            "random_state": 0,
        }
        if self.task.loss == "logistic":
            model = snapml.LogisticRegression(dual=True, **options)
        else:
            model = snapml.SupportVectorMachine(loss=self.task.loss, **options)
        model.fit(self.task.matrix, self.task.labels)
        self.weights = np.ravel(np.asarray(model.coef_, dtype=np.float64))


EXTRAS: tuple[type[Contender], ...] = (Skglm, Snapml)
