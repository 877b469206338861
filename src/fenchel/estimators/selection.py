"""Choice of C by cross-validation, along paths with warm starts and certificates."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.regularization import checked_values
from fenchel.estimators.task import Task
from fenchel.estimators.threads import in_threads
from fenchel.path import follow
from fenchel.progress import warn
from fenchel.solving.solution import Solution, Status
from fenchel.validation import check_integer, is_integer


@dataclass(eq=False, repr=False, kw_only=True)
class SelectionOfC(LinearEstimator):
    """Fits every fold along all values of C, and then everything with the best."""

    Cs: Any = 10
    cv: Any = None
    scoring: Any = None

    # a task is encoded before its C is chosen, and a fold starts from the last C, not from the last fit
    C = 1.0
    warm_start = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C by cross-validation and fit all examples.  Ctrl-C in the last fit stores its best model."""
        return self._fit(self._selected(self.encode(X, y, sample_weight)))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._values()
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise FenchelError(f"scoring must be one score, by which C is chosen, got {self.scoring!r}")

    def _selected(self, task: Task) -> Task:
        """The task with the C of the best mean score, and the scores among its fitted attributes."""
        values, stop = self._values(), threading.Event()
        # imported here: no other estimator needs them, and sklearn.metrics takes as long as the rest of fenchel
        from sklearn.metrics import check_scoring
        from sklearn.model_selection import check_cv

        splits = list(check_cv(self.cv, task.y, classifier=is_classifier(self)).split(task.X, task.y))
        scorer = check_scoring(self, self.scoring)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        options = {"tol": self.tol, "max_iter": self.max_iter, "seed": seed, "stop_requested": stop.is_set}

        def fold(train: Array, test: Array) -> list[tuple[float, float, bool]]:
            paths = self._paths(task, train, values, options)
            return [self._judged(task, test, scorer, solutions) for solutions in zip(*paths, strict=True)]

        workers = min(len(splits), joblib.effective_n_jobs(self.n_jobs))
        found = in_threads([partial(fold, *split) for split in splits], workers, stop)
        scores, gaps, missed = np.moveaxis(np.array(found), -1, 0)
        self._warn_of_folds(values, gaps, missed.astype(bool))
        if not np.all(np.isfinite(scores)):
            raise FenchelError(
                f"scoring={self.scoring!r} gave scores that are not finite, as for a fold with one class: "
                "choose other folds with cv"
            )
        # of equally good ones the strongest regularization
        best = float(values[int(np.argmax(np.mean(scores, axis=0)))])
        fitted = {**task.fitted, "C_": best, "Cs_": values, "scores_": scores, "gaps_": gaps}
        return replace(task, C=best, fitted=fitted)

    def _paths(self, task: Task, train: Array, Cs: Floats, options: dict[str, Any]) -> list[list[Solution]]:
        """The solutions for all C of each problem.  A held-out example has weight zero, so X is not copied."""
        training = np.zeros(len(task.y))
        training[train] = 1.0 if task.weights is None else task.weights[train]
        if not np.any(training > 0.0):
            raise FenchelError("sample_weight is zero for all training examples of a fold: choose other folds with cv")
        paths = []
        for lazy in self.problems(replace(task, weights=training, C=float(Cs[0]))):
            problem = lazy()
            lams = [problem.lam * (Cs[0] / C) for C in Cs]
            paths.append(follow(problem, lams, self._solver(), **options))
            if any(solution.status is Status.INTERRUPTED for solution in paths[-1]):
                raise KeyboardInterrupt
        return paths

    def _judged(
        self, task: Task, test: Array, scorer: Callable[..., float], solutions: Sequence[Solution]
    ) -> tuple[float, float, bool]:
        """The score on the held-out examples, the worst certified gap, and whether it misses tol."""
        weighted = {}
        if task.sample_weight is not None and _takes_weights(scorer):
            weighted = {"sample_weight": task.sample_weight[test]}
        model = copy.copy(self)
        # the held-out rows are an array without names
        nameless = {name: value for name, value in task.fitted.items() if name != "feature_names_in_"}
        model.store(replace(task, fitted=nameless), solutions)
        score = float(scorer(model, task.X[test], task.y[test], **weighted))
        gap = max(solution.certificate.relative_gap for solution in solutions)
        return score, gap, not all(solution.converged for solution in solutions)

    def _warn_of_folds(self, Cs: Array, gaps: Array, missed: NDArray[np.bool_]) -> None:
        if np.any(missed):
            fold, k = np.unravel_index(int(np.argmax(np.where(missed, gaps, -np.inf))), missed.shape)
            warn(
                f"{np.count_nonzero(missed)} of {missed.size} fits in the folds did not reach tol={self.tol:g}; the "
                f"worst, fold {fold} with C={Cs[k]:.3g}, proved a relative gap of {gaps[fold, k]:.2g} "
                "(gaps_ holds all). Raise max_iter or tol, or try smaller Cs."
            )

    def _values(self) -> Floats:
        if not is_integer(self.Cs):
            return checked_values(self.Cs)
        check_integer("Cs", self.Cs, least=1)
        return np.logspace(-4, 4, int(self.Cs))


def _takes_weights(scorer: Callable[..., float]) -> bool:
    """Whether a scorer can be given sample_weight; scikit-learn's own can."""
    names = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in names)
