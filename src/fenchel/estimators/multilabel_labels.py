"""The labels of a multilabel fit: their signs, problems and folds, and those that do not vary."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.measure_fits import MeasureFits
from fenchel.estimators.measure_folds import Column
from fenchel.estimators.task import Task
from fenchel.problem import Problem
from fenchel.risks import MeanRisk, MultilabelHinge
from fenchel.validation import is_integer

#: fitted attributes with an entry for each label that varies, and what a constant label has there
_PER_LABEL = ("coef_", "risk_intercept_", "thresholds_", "intercept_", "positive_weights_")


class LabelFits(MeasureFits):
    """Fits with a column of signs for each label that some training examples have and others lack."""

    form: str

    # --- the problems

    def _columns(self, task: Task) -> list[int]:
        return np.flatnonzero(task.fitted["varying_"]).tolist()

    def _problem_columns(self, task: Task) -> list[Column]:
        return [None] if self.form == "joint" else super()._problem_columns(task)

    def _signs(self, task: Task, k: int) -> Floats:
        column: Any = task.targets[:, [k]]
        column = column.toarray() if sp.issparse(column) else column
        return np.where(column.ravel(), 1.0, -1.0)

    def _strata(self, task: Task, column: Column) -> Array | None:
        return None if column is None else self._signs(task, column)

    def _enough_for_folds(self, task: Task) -> bool:
        """A fold of a rare label without positives has no model, which counts as a prediction of none."""
        return not is_integer(self.cv) or task.design.shape[0] >= 2 * int(self.cv)

    def _is_rare(self, task: Task, columns: Sequence[int]) -> bool:
        if len(columns) > 1:
            return False
        positives = int(np.sum(self._signs(task, columns[0]) > 0.0))
        fewest = int(self.cv) if is_integer(self.cv) else 2
        return min(positives, task.design.shape[0] - positives) < fewest

    def _plug_in_columns(self, trivial: Array, bound: Floats, plug_in: Floats) -> NDArray[np.bool_]:
        """Each label has its own; in one contingency table all have the same.  A rare label keeps its bound."""
        return np.asarray(trivial | (plug_in < bound))

    def _why_unproved(self, task: Task) -> str:
        if self._has_thresholds():
            return super()._why_unproved(task)
        return "predictions of several labels are not proved together: fit a LinearClassifier to each label"

    def _bound_in_words(self) -> str:
        return "the hinge of pairs of labels" if self.form == "joint" else super()._bound_in_words()

    def _one_label(self, task: Task, k: int) -> Problem:
        return self._problem(task, MeanRisk(self._loss(), self._signs(task, k), task.weights))

    def _measure(self, task: Task, column: Column, choice: MeasureChoice) -> Problem:
        if self.form == "independent":
            return super()._measure(task, column, choice)
        columns = self._columns(task)
        signs = np.stack([self._signs(task, k) for k in columns], axis=1)
        problem = self._problem(task, MultilabelHinge(signs, task.weights))
        # free intercepts of a joint risk need a ridge penalty
        return problem if problem.regularizer.is_ridge else replace(problem, intercept=False)

    # --- labels that all training examples have, or none

    def _with_constants(self, task: Task, found: dict[str, Any]) -> dict[str, Any]:
        """The attributes with an entry for each label: constant ones have zero weights and a score of their own."""
        varying, constants = task.fitted["varying_"], found.pop("_constants")
        if np.all(varying):
            return found
        for name in _PER_LABEL:
            if name in found:
                values = np.asarray(found[name])
                wide = np.zeros((len(varying), *values.shape[1:]))
                wide[varying] = values
                found[name] = wide
        found["intercept_"][~varying] = constants[~varying]
        if "thresholds_" in found:
            found["thresholds_"][~varying] = -constants[~varying]
            found["positive_weights_"][~varying] = np.nan
        return found

    def _restricted(self, varying: Array) -> Any:
        """A copy whose attributes are those of the labels that vary."""
        own = copy.copy(self)
        for name in _PER_LABEL:
            if name in vars(own):
                vars(own)[name] = vars(own)[name][varying]
        return own
