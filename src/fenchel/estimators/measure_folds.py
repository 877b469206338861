"""The columns of signs of a fit for a measure, their contingency tables, folds and thresholds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.task import Task
from fenchel.estimators.thresholds import Cut, best_cut, loss_above
from fenchel.risks import Risk
from fenchel.solving.solution import Solution, Status

#: a class or label; None stands for all of them
Column = int | None


class MeasureFolds(BaseLinearClassifier):
    """Columns, the folds in which their examples are held out, and thresholds from the scores there."""

    average: str
    surrogate: str
    threshold: str
    cv: Any

    # --- what a subclass defines

    def _choice(self) -> MeasureChoice:
        raise NotImplementedError

    def _columns(self, task: Task) -> list[int]:
        """The classes or labels that have a weight vector each."""
        raise NotImplementedError

    def _signs(self, task: Task, k: int) -> Floats:
        """1 for the examples of class k, or with label k, and -1 for the others."""
        raise NotImplementedError

    def _strata(self, task: Task, column: Column) -> Array | None:
        """The classes of which every fold of a column should have the same share; None for any folds."""
        raise NotImplementedError

    def _may_plug_in(self) -> bool:
        """Whether the bound may be trivial, so that "auto" has a choice: that of a mean of hinges is not."""
        return not self._choice().weighted

    # --- columns and tables

    def _problem_columns(self, task: Task) -> list[Column]:
        """The column of each problem; None for all columns in one problem."""
        columns = self._columns(task)
        one_table = self.average == "micro" and len(columns) > 1 and task.plug_in is None
        return [None] if one_table else list(columns)

    def _groups(self, task: Task) -> list[list[int]]:
        """The places of the columns that share a contingency table and a threshold."""
        places = list(range(len(self._columns(task))))
        return [places] if self.average == "micro" else [[at] for at in places]

    def _table(self, task: Task, columns: Sequence[int], choice: MeasureChoice | None = None) -> Risk:
        """The measure of the scores of these columns in one contingency table, example by example."""
        signs = np.stack([self._signs(task, k) for k in columns], axis=1)
        each = None if task.weights is None else np.repeat(task.weights, len(columns))
        return (self._choice() if choice is None else choice).risk(signs.ravel(), each)

    # --- folds and thresholds

    def _folds(self, task: Task, columns: Sequence[Column]) -> list[list[tuple[Array, Array]]]:
        """The folds of each column, for thresholds and costs: every example is held out once."""
        # imported here, as in selection.py: few fits need folds
        from sklearn.model_selection import check_cv

        strata = [self._strata(task, column) for column in columns]
        splitter = check_cv(self.cv, strata[0], classifier=strata[0] is not None)
        with warnings.catch_warnings():
            # a rare label has fewer examples than there are folds
            warnings.simplefilter("ignore", UserWarning)
            try:
                found = [list(splitter.split(task.X, own)) for own in strata]
            except ValueError as error:
                raise FenchelError(
                    f"cv={self.cv!r} can't divide the examples of every class: {error} Use fewer folds, or "
                    "surrogate='bound' with threshold='train'"
                ) from error
        for folds in found:
            if not folds or np.any(
                np.bincount(np.concatenate([test for _, test in folds]), minlength=task.design.shape[0]) != 1
            ):
                raise FenchelError("cv must hold every example out exactly once to choose thresholds; use folds")
        return found

    def _is_rare(self, task: Task, columns: Sequence[int]) -> bool:
        """Whether a column of its own has too few examples of one sign to be held out."""
        return False

    def _rare_columns(self, task: Task) -> NDArray[np.bool_]:
        """The columns for whose thresholds nothing can be held out."""
        columns, found = self._columns(task), np.zeros(len(self._columns(task)), dtype=bool)
        for places in self._groups(task):
            found[places] = self._is_rare(task, [columns[at] for at in places])
        return found

    def _folds_of_bounds(self, task: Task) -> list[list[tuple[Array, Array]]]:
        """The folds of the bounds, for their thresholds and for the choice of the surrogate."""
        choice = self._choice()
        chooses = self.surrogate == "auto" and self._may_plug_in() and choice.scales
        # a solver that the user names is one for the bound
        chooses = chooses and self.solver == "auto" and self._enough_for_folds(task)
        needed = chooses or (self.threshold == "cv" and self.surrogate != "plug_in")
        return self._folds(task, self._problem_columns(task)) if needed else []

    def _enough_for_folds(self, task: Task) -> bool:
        """Whether every class has at least two examples for each fold; otherwise "auto" is the bound."""
        raise NotImplementedError

    def _fold_parts(self, task: Task) -> list[tuple[int, Array, Array]]:
        """The place of the problem and the rows of each fold of the bounds that has positives and negatives."""
        columns = self._problem_columns(replace(task, plug_in=None))
        parts = [(at, train, test) for at, folds in enumerate(task.folds) for train, test in folds]
        return [part for part in parts if self._can_train(task, columns[part[0]], part[1])]

    def _can_train(self, task: Task, column: Column, train: Array) -> bool:
        return column is None or _has_both(self._signs(task, column)[train])

    def _held_out(self, task: Task, solutions: Sequence[Solution]) -> Floats:
        """The scores X w of the bounds on their folds, (n, columns)."""
        parts, width = self._fold_parts(task), len(self._columns(task))
        scores = np.full((task.design.shape[0], width), np.nan)
        for (at, _, test), solution in zip(parts, solutions[len(solutions) - len(parts) :], strict=True):
            weights = np.atleast_2d(solution.model.weights)
            own = slice(None) if len(weights) == width else slice(at, at + 1)
            scores[test, own] = as_design(task.X[test]).scores(weights)
        return below_others(scores)

    def _choice_of_fold(self, task: Task, fold: Task) -> MeasureChoice:
        """The measure for the training part of a fold."""
        columns, rows = self._problem_columns(task), fold.design.shape[0]
        positives = [rows if k is None else int(np.sum(self._signs(fold, k) > 0.0)) for k in columns]
        return self._choice().for_part(rows / task.design.shape[0], positives)

    def _losses_of_bounds(self, task: Task, solutions: Sequence[Solution]) -> Floats:
        """The loss of the measure of each column where each fold has the threshold of its own training scores.

        Infinite where the measure does not allow the predictions, as break-even and those of the first k.
        """
        parts, columns = self._fold_parts(task), self._columns(task)
        above = np.full((task.design.shape[0], len(columns)), -1.0)
        for (at, train, test), solution in zip(parts, solutions[len(solutions) - len(parts) :], strict=True):
            weights, fold = np.atleast_2d(solution.model.weights), task.subset(train)
            places = list(range(len(columns))) if len(weights) == len(columns) else [at]
            table = self._table(fold, [columns[place] for place in places], self._choice_of_fold(task, fold))
            threshold = best_cut(fold.design.scores(weights).ravel(), table).threshold
            above[test[:, None], places] = as_design(task.X[test]).scores(weights) - threshold
        found = np.full(len(columns), np.inf)
        for places in self._groups(task):
            table = self._table(task, [columns[at] for at in places])
            found[places] = loss_above(above[:, places].ravel(), table, 0.0)
        return found

    def _cuts(self, task: Task, scores: Array, held_out: Array | None = None) -> list[Cut]:
        """The best cut of the scores of each column, of which some may be held-out scores."""
        found, columns = {}, self._columns(task)
        for places in self._groups(task):
            own, table = scores[:, places].ravel(), self._table(task, [columns[at] for at in places])
            cut = best_cut(own, table, held_out=held_out is not None and bool(held_out[places[0]]))
            found.update(dict.fromkeys(places, cut))
        return [found[at] for at in range(len(columns))]

    def _thresholds(self, task: Task, found: dict[str, Any], solutions: Sequence[Solution]) -> Floats:
        """The best thresholds of X w: of plug-ins those of the folds, of bounds as ``threshold`` says."""
        none = np.full(len(self._columns(task)), np.nan)
        known = (none if task.plug_in is None else task.plug_in.thresholds) - found["intercept_"]
        if not np.any(np.isnan(known)):
            return known
        interrupted = any(solution.status is Status.INTERRUPTED for solution in solutions)
        coef, columns = found["coef_"], self._columns(task)
        # a limit that comes early leaves zero models, which need no product with the data
        scores, begun = np.zeros((task.design.shape[0], len(coef))), np.any(coef, axis=1)
        if np.any(begun):
            scores[:, begun] = task.design.scores(coef[begun])
        held = np.zeros(len(columns), dtype=bool)
        if task.folds and self.threshold != "train" and not interrupted:
            bounds = np.ones(len(columns), bool) if task.plug_in is None else np.isnan(task.plug_in.positive_weights)
            held = bounds & ~self._rare_columns(task)
            scores[:, held] = self._held_out(task, solutions)[:, held]
        cuts = np.array([cut.threshold for cut in self._cuts(task, scores, held)])
        return np.where(np.isnan(known), cuts, known)


def below_others(scores: Floats) -> Floats:
    """Held-out scores, and below all of them those of a rare label whose fold has no model (NaN)."""
    return np.where(np.isnan(scores), np.nanmin(scores, initial=0.0) - 1.0, scores)


def _has_both(signs: Array) -> bool:
    return bool(np.any(signs > 0.0) and np.any(signs < 0.0))
