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
from fenchel.estimators.sklearn_bases import ClassifierMixin
from fenchel.estimators.task import Task
from fenchel.estimators.threads import in_threads
from fenchel.path import follow
from fenchel.problem import Witness
from fenchel.progress import warn
from fenchel.solvers.base import Start, Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import STOPS, Solution, Status
from fenchel.stopping import interrupts_set
from fenchel.validation import check_integer, is_integer

#: share of a time limit that the folds may use; the rest is for the last fit
_SEARCH_SHARE = 0.75


class _Grid:
    """The fits in the folds: a row for each fold, a column for each C; NaN where a fit was skipped."""

    def __init__(self, Cs: Floats, folds: int) -> None:
        self.Cs, shape = Cs, (folds, len(Cs))
        self.scores, self.gaps = np.full(shape, np.nan), np.full(shape, np.nan)
        #: whether there is a score, whether its fit was not cut short, and whether that missed tol
        self.scored, self.complete, self.missed = np.zeros((3, *shape), dtype=bool)
        #: the solutions of one fold for each C, as starts of the fit to all examples
        self.starts: list[list[Warm | None] | None] = [None] * len(Cs)

    def record(self, fold: int, k: int, score: float, gap: float, missed: bool, *, complete: bool) -> None:
        """Store one fit."""
        place = (fold, k)
        self.scores[place], self.gaps[place], self.missed[place] = score, gap, missed
        self.scored[place], self.complete[place] = True, complete

    def candidates(self) -> NDArray[np.bool_]:
        """The values of C with the most complete folds; without any, with the most folds that have a score."""
        folds = np.sum(self._counted(), axis=0)
        return np.asarray((folds == np.max(folds)) & (folds > 0))

    def best(self) -> int:
        """The candidate with the best mean score, of equally good ones the strongest regularization."""
        counted = self._counted()
        means = np.sum(np.where(counted, self.scores, 0.0), axis=0) / np.maximum(np.sum(counted, axis=0), 1)
        return int(np.argmax(np.where(self.candidates(), means, -np.inf)))

    def _counted(self) -> NDArray[np.bool_]:
        return self.complete if np.any(self.complete) else self.scored


class _HeldOut:
    """The held-out examples of a fold, and the score of models on them."""

    def __init__(self, task: Task, test: Array, scorer: Callable[..., float]) -> None:
        self.X, self.y, self.scorer, self.options = task.X[test], task.y[test], scorer, {}
        if task.sample_weight is not None and _takes_weights(scorer):
            self.options = {"sample_weight": task.sample_weight[test]}

    def score(self, model: SelectionOfC) -> float:
        """The score of a fitted model."""
        return float(self.scorer(model, self.X, self.y, **self.options))


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
        """Choose C by cross-validation and fit all examples.

        Ctrl-C stores the best model so far and is raised again: that of the last fit, or in the folds that of the best
        C so far, with its certificate for all examples; before any fold has a model it stores nothing.
        """
        deadline, stop = Deadline(self.time_limit), threading.Event()
        task = self.encode(X, y, sample_weight)
        with interrupts_set(stop):
            self._choose_and_fit(task, deadline, stop)
        if stop.is_set():
            raise KeyboardInterrupt
        return self

    def _choose_and_fit(self, task: Task, deadline: Deadline, stop: threading.Event) -> None:
        remaining = deadline.remaining()
        found = self._search(task, Deadline(None if remaining is None else _SEARCH_SHARE * remaining), stop)
        if stop.is_set() and not np.any(found.scored) and found.starts[0] is None:
            raise KeyboardInterrupt
        self._check_scores(found)
        if not stop.is_set():
            self._warn_of_folds(found)
        k = found.best()
        fitted = {"C_": float(found.Cs[k]), "Cs_": found.Cs, "scores_": found.scores, "gaps_": found.gaps}
        # with all folds complete the result does not depend on the order in which they ended
        warm = None if np.all(found.complete) else found.starts[k]
        chosen = replace(task, C=float(found.Cs[k]), fitted={**task.fitted, **fitted})
        self._fit(chosen, deadline, warm, stop)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._values()
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise FenchelError(f"scoring must be one score, by which C is chosen, got {self.scoring!r}")

    def _search(self, task: Task, deadline: Deadline, stop: threading.Event) -> _Grid:
        """Fit all folds along all values of C, until the deadline, or Ctrl-C, which sets ``stop``."""
        # imported here: no other estimator needs them, and sklearn.metrics takes as long as the rest of fenchel
        from sklearn.metrics import check_scoring
        from sklearn.model_selection import check_cv

        splits = list(check_cv(self.cv, task.y, classifier=is_classifier(self)).split(task.X, task.y))
        _check_splits(splits)
        grid, scorer = _Grid(self._values(), len(splits)), check_scoring(self, self.scoring)
        plain = self.scoring is None and task.sample_weight is None
        if plain and isinstance(self, ClassifierMixin) and type(self).score is ClassifierMixin.score:
            scorer = _accuracy
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        options = {"tol": self.tol, "max_iter": self.max_iter, "seed": seed}
        workers = min(len(splits), joblib.effective_n_jobs(self.n_jobs))

        def fold(k: int, train: Array, test: Array) -> None:
            if stop.is_set() or deadline.passed:
                return
            own = Deadline(deadline.share(k, len(splits), workers))
            paths = self._paths(task, train, grid.Cs, own, stop, options)
            share = float(np.sum(_training(task, train))) / task.total_weight
            held_out = _HeldOut(task, test, scorer)
            for place, solutions in enumerate(zip(*paths, strict=False)):
                cut = any(solution.status in STOPS for solution in solutions)
                if cut and stop.is_set():
                    # nobody waits for the score of a fit that Ctrl-C cut short: it is a start, if there is no other
                    if grid.starts[place] is None:
                        grid.starts[place] = [_start(solution, share) for solution in solutions]
                    continue
                # a fit that was cut short counts only if its fold has no other
                if not cut or place == 0:
                    grid.record(k, place, *self._judged(task, held_out, solutions), complete=not cut)
                    grid.starts[place] = [_start(solution, share) for solution in solutions]

        try:
            in_threads([partial(fold, k, *split) for k, split in enumerate(splits)], workers, stop)
        except KeyboardInterrupt:
            stop.set()
        return grid

    def _paths(
        self,
        task: Task,
        train: Array,
        Cs: Floats,
        deadline: Deadline,
        stop: threading.Event,
        options: dict[str, Any],
    ) -> list[list[Solution]]:
        """The solutions of each problem for all C, or for the first ones, until the deadline.

        A held-out example has weight zero, so X is not copied.
        """
        training, paths = _training(task, train), []
        if not np.any(training > 0.0):
            raise FenchelError("sample_weight is zero for all training examples of a fold: choose other folds with cv")
        problems = self.problems(replace(task, weights=training, C=float(Cs[0])))
        for k, lazy in enumerate(problems):
            if stop.is_set() or deadline.passed:
                # without one of its problems a fold has no model
                return []
            problem, limit = lazy(), deadline.share(k, len(problems))
            lams = [problem.lam * (Cs[0] / C) for C in Cs]
            paths.append(follow(problem, lams, self._solver(), time_limit=limit, stop_requested=stop.is_set, **options))
            if paths[-1][-1].status is Status.INTERRUPTED:
                # Ctrl-C came in this solve; the other folds end soon
                stop.set()
        return paths

    def _judged(self, task: Task, held_out: _HeldOut, solutions: Sequence[Solution]) -> tuple[float, float, bool]:
        """The score on the held-out examples, the worst certified gap, and whether it misses tol."""
        model = copy.copy(self)
        # the held-out rows are an array without names
        nameless = {name: value for name, value in task.fitted.items() if name != "feature_names_in_"}
        model.store(replace(task, fitted=nameless), solutions)
        gap = max(solution.certificate.relative_gap for solution in solutions)
        return held_out.score(model), gap, not all(solution.converged for solution in solutions)

    def _check_scores(self, found: _Grid) -> None:
        if not np.all(np.isfinite(found.scores[found.scored])):
            raise FenchelError(
                f"scoring={self.scoring!r} gave scores that are not finite, as for a fold with one class: "
                "choose other folds with cv"
            )

    def _warn_of_folds(self, found: _Grid) -> None:
        missed, gaps, count = found.missed & found.complete, found.gaps, found.missed.size
        if np.any(missed):
            fold, k = np.unravel_index(int(np.argmax(np.where(missed, gaps, -np.inf))), missed.shape)
            warn(
                f"{np.count_nonzero(missed)} of {count} fits in the folds did not reach tol={self.tol:g}; the "
                f"worst, fold {fold} with C={found.Cs[k]:.3g}, proved a relative gap of {gaps[fold, k]:.2g} "
                "(gaps_ holds all). Raise max_iter or tol, or try smaller Cs."
            )
        skipped = count - np.count_nonzero(found.complete)
        if skipped:
            tried = np.count_nonzero(found.candidates())
            warn(
                f"{skipped} of {count} fits in the folds were skipped or cut short by the time limit: C "
                f"was chosen among {tried} of {len(found.Cs)} values (scores_ is NaN for skipped "
                "fits). Raise time_limit, or try fewer Cs or folds."
            )

    def _values(self) -> Floats:
        if not is_integer(self.Cs):
            return checked_values(self.Cs)
        check_integer("Cs", self.Cs, least=1)
        return np.logspace(-4, 4, int(self.Cs))


def _check_splits(splits: Sequence[tuple[Any, Any]]) -> None:
    """Raise unless every fold is two arrays of row numbers or masks: scikit-learn takes any pairs."""
    for part in (np.asarray(part) for split in splits for part in split):
        if part.ndim != 1 or part.dtype.kind not in "iub":
            raise FenchelError(
                f"cv must yield pairs of arrays of row numbers, got an array of {part.dtype} {part.shape}"
            )


def _training(task: Task, train: Array) -> Floats:
    """The weights of all examples, zero for those that are held out."""
    training = np.zeros(len(task.y))
    training[train] = 1.0 if task.weights is None else task.weights[train]
    return training


def _start(solution: Solution, share: float) -> Start:
    """A fold's solution as a start of the fit to all examples, of whose weight the fold has this share.

    Each example counts less there, and so do its dual variables; the model that they imply is the same.
    """
    witness = solution.witness
    return Start(solution.model, Witness(share * witness.theta, witness.conjugate_bound, witness.decomposition))


def _accuracy(model: Any, X: Any, y: Array) -> float:
    """The score of scikit-learn's classifiers; their function takes longer than the predictions of a small fold."""
    return float(np.average(model.predict(X) == y))


def _takes_weights(scorer: Callable[..., float]) -> bool:
    """Whether a scorer can be given sample_weight; scikit-learn's own can."""
    names = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in names)
