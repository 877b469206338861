"""The fits of classifiers for a measure: by its convex bound or by a plug-in, and the thresholds afterwards.

``MeasureClassifier`` and ``MultilabelClassifier`` share it.  A problem belongs to one column of signs, a class or a
label, or to all of them (``None``) with one contingency table for all scores (micro averaging).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.certificate import judge
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem
from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.plug_in import COST_EXPONENTS, PlugIn, chosen_cost, cost_weights, positive_weight
from fenchel.estimators.task import Task
from fenchel.estimators.thresholds import UNPROVED, Cut, best_cut, with_thresholds
from fenchel.losses import Loss, as_loss
from fenchel.problem import Problem
from fenchel.progress import warn
from fenchel.risks import MeanRisk, Risk, micro
from fenchel.solvers.base import Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import Solution, Status
from fenchel.validation import check_choice

#: a class or label; None stands for all of them
Column = int | None
#: held-out score of an example whose fold has no model because no positive remains
_NOT_PREDICTED = -1e3


class MeasureFits(BaseLinearClassifier):
    """Fits by the bound of a measure, or by cost-weighted fits whose thresholds are chosen for it."""

    average: str
    surrogate: str
    plug_in_loss: str | Loss
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

    def _plug_in_columns(self, trivial: Array, bound: Floats, plug_in: Floats) -> NDArray[np.bool_]:
        """The columns that get a plug-in, by the losses of the measure on held-out scores."""
        raise NotImplementedError

    # --- the steps of a fit

    def problems(self, task: Task) -> list[LazyProblem]:
        """The problems of all examples, and with ``threshold="cv"`` those of each fold for the bound."""
        found: list[LazyProblem] = [partial(self._of_column, task, column) for column in self._problem_columns(task)]
        if task.plug_in is None:
            columns = self._problem_columns(task)
            found += [partial(self._fold, task, train, columns[at]) for at, train, _ in self._fold_parts(task)]
        return found

    def solved_problems(self, task: Task) -> list[LazyProblem]:
        """The problems that the certificates of the last fit are about, without those of folds."""
        return self.problems(self._as_fitted(task))

    def warm_starts(self, task: Task, problems: Sequence[LazyProblem]) -> Sequence[Warm | None]:
        count = len(self._problem_columns(task))
        last = np.isnan(vars(self).get("positive_weights_", np.full(len(self._columns(task)), np.nan)))
        if not np.array_equal(last, np.isnan(self._positive_weights(task))):
            # the dual variables of another objective
            return [None] * len(problems)
        return [*super().warm_starts(task, problems[:count]), *[None] * (len(problems) - count)]

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        count = len(self._problem_columns(task))
        found = super().attributes(self._named(task), self._described(task, solutions[:count]))
        return with_thresholds(found, self._thresholds(task, found, solutions), solutions[:count])

    def _fit(
        self,
        task: Task,
        deadline: Deadline,
        warm: Sequence[Warm | None] | None = None,
        stop: threading.Event | None = None,
    ) -> Self:
        """Solve the bounds and the plug-ins that ``surrogate`` asks for, and keep what is better on held-out folds."""
        stop, choice = threading.Event() if stop is None else stop, self._choice()
        if self.surrogate == "plug_in":
            plug_in = self._chosen_plug_in(task, deadline, stop)
            return super()._fit(replace(task, plug_in=plug_in, folds=()), deadline, warm, stop)
        problems = self.problems(task)
        warm = self.warm_starts(task, problems) if self.warm_start else [None] * len(problems)
        solutions, count = self.solve_all(problems, warm, deadline, stop), len(self._problem_columns(task))
        if stop.is_set() or choice.weighted:
            return self._finish(task, solutions)
        trivial = [self._is_trivial(*one) for one in zip(problems[:count], solutions[:count], strict=True)]
        if self.surrogate == "bound" or not task.folds:
            self._warn_if_trivial(trivial)
            return self._finish(task, solutions)
        plug_in = self._chosen_plug_in(task, deadline, stop)
        width = len(self._columns(task))
        cuts = self._cuts(task, self._held_out(task, solutions))
        each = np.array(trivial * width if count < width else trivial)
        plugged = self._plug_in_columns(each, np.array([cut.loss for cut in cuts]), plug_in.losses)
        if stop.is_set() or not np.any(plugged):
            return self._finish(task, solutions)
        chosen = replace(task, plug_in=plug_in.only(plugged))
        if np.all(plugged):
            return super()._fit(replace(chosen, folds=()), deadline, None, stop)
        return self._finish(chosen, self._completed(chosen, plugged, solutions, deadline, stop))

    def _completed(
        self, task: Task, plugged: Array, solutions: list[Solution], deadline: Deadline, stop: threading.Event
    ) -> list[Solution]:
        """The solutions of the bounds, and in place of trivial ones those of the plug-ins."""
        problems, places = self.problems(task), np.flatnonzero(plugged)
        new = self.solve_all([problems[k] for k in places], [None] * len(places), deadline, stop)
        found = list(solutions)
        for k, solution in zip(places, new, strict=True):
            found[k] = solution
        return found

    # --- whether the bound is trivial

    def _is_trivial(self, problem: LazyProblem, solution: Solution) -> bool:
        """Whether w = 0 is as good as the certificate can tell: it meets ``tol`` itself, or it was returned."""
        if not np.any(solution.model.weights):
            return True
        made = problem()
        return judge(made, made.zero_model(), solution.witness).certificate.meets(self.tol)

    def _warn_if_trivial(self, trivial: Sequence[bool]) -> None:
        if any(trivial):
            of = f" for {sum(trivial)} of {len(trivial)} problems" if len(trivial) > 1 else ""
            warn(
                f"{type(self).__name__}: the bound of {self._choice()} is trivial{of}: w = 0 has the least objective "
                f"within tol={self.tol:g}, because the classes overlap or C={self.C:g} is small. Such a model predicts "
                "a constant; use surrogate='auto' or 'plug_in', or another C."
            )

    # --- the plug-in

    def _chosen_plug_in(self, task: Task, deadline: Deadline, stop: threading.Event) -> PlugIn:
        """The costs and the thresholds of a plug-in, chosen on folds."""
        columns = self._columns(task)
        folds = task.folds if len(task.folds) == len(columns) else self._folds(task, columns)
        cases = [(at, *fold, e) for at, own in enumerate(folds) for fold in own for e in COST_EXPONENTS]
        # a training part without positives, of a rare label, has no model
        cases = [case for case in cases if self._can_train(task, columns[case[0]], case[1])]
        problems: list[LazyProblem] = [
            partial(self._cost_fold, task, train, columns[at], e) for at, train, _, e in cases
        ]
        solutions = self.solve_all(problems, [None] * len(problems), deadline, stop) if problems else []
        held_out = np.full((len(COST_EXPONENTS), len(task.y), len(columns)), _NOT_PREDICTED)
        for (at, _, test, e), solution in zip(cases, solutions, strict=True):
            scores = as_design(task.X[test]).scores(solution.model.weights) + np.asarray(solution.model.intercept)
            held_out[COST_EXPONENTS.index(e), test, at] = scores
        weights, thresholds, losses = np.full((3, len(columns)), np.nan)
        for places in self._groups(task):
            group = [columns[at] for at in places]
            pooled = [scores[:, places].ravel() for scores in held_out]
            best, cut = chosen_cost(pooled, self._table(task, group))
            signs = [self._signs(task, k) for k in group]
            weights[places] = [positive_weight(own, task.weights, COST_EXPONENTS[best]) for own in signs]
            losses[places] = cut.loss
            # after Ctrl-C the scores are those of models that were cut short
            thresholds[places] = np.nan if stop.is_set() or self.threshold == "train" else cut.threshold
        self._warn_of_folds(solutions, "the plug-in")
        return PlugIn(weights, thresholds, losses)

    def _cost_fold(self, task: Task, train: Array, k: int, exponent: float) -> Problem:
        fold = task.subset(train)
        return self._cost_problem(fold, k, positive_weight(self._signs(fold, k), fold.weights, exponent))

    def _cost_problem(self, task: Task, k: int, weight: float) -> Problem:
        """The cost-weighted mean of the plug-in's loss for column k."""
        signs = self._signs(task, k)
        weights = cost_weights(signs, task.weights, weight)
        loss = as_loss(self.plug_in_loss, "classification")
        return self._problem(replace(task, weights=weights), MeanRisk(loss, signs, weights))

    def _as_fitted(self, task: Task) -> Task:
        """The task with the plug-in of the last fit, and without folds."""
        weights = np.asarray(vars(self).get("positive_weights_", np.nan))
        unknown = np.full(np.shape(weights), np.nan)
        plug_in = None if np.all(np.isnan(weights)) else PlugIn(weights, unknown, unknown)
        return replace(task, plug_in=plug_in, folds=())

    # --- the problems

    def _problem_columns(self, task: Task) -> list[Column]:
        """The column of each problem; None for all columns in one problem."""
        columns = self._columns(task)
        one_table = self.average == "micro" and len(columns) > 1 and task.plug_in is None
        return [None] if one_table else list(columns)

    def _groups(self, task: Task) -> list[list[int]]:
        """The places of the columns that share a contingency table and a threshold."""
        places = list(range(len(self._columns(task))))
        return [places] if self.average == "micro" else [[at] for at in places]

    def _of_column(self, task: Task, column: Column) -> Problem:
        plug_in = task.plug_in
        if plug_in is not None and column is not None:
            weight = plug_in.positive_weights[self._columns(task).index(column)]
            if not np.isnan(weight):
                return self._cost_problem(task, column, float(weight))
        return self._measure(task, column, self._choice())

    def _measure(self, task: Task, column: Column, choice: MeasureChoice) -> Problem:
        """The problem of the bound: of one column, or of all for None."""
        return self._problem(task, self._risk(task, column, choice))

    def _risk(self, task: Task, column: Column, choice: MeasureChoice) -> Risk:
        if column is not None:
            return choice.risk(self._signs(task, column), task.weights)
        columns = self._columns(task)
        return micro(self._table(task, columns, choice), len(columns))

    def _table(self, task: Task, columns: Sequence[int], choice: MeasureChoice | None = None) -> Risk:
        """The measure of the scores of these columns in one contingency table, example by example."""
        signs = np.stack([self._signs(task, k) for k in columns], axis=1)
        each = None if task.weights is None else np.repeat(task.weights, len(columns))
        return (self._choice() if choice is None else choice).risk(signs.ravel(), each)

    def _fold(self, task: Task, train: Array, column: Column) -> Problem:
        fold = task.subset(train)
        columns = self._problem_columns(task)
        positives = [len(fold.y) if k is None else int(np.sum(self._signs(fold, k) > 0.0)) for k in columns]
        return self._measure(fold, column, self._choice().for_part(len(fold.y) / len(task.y), positives))

    # --- folds, thresholds and descriptions

    def _folds(self, task: Task, columns: Sequence[Column]) -> list[list[tuple[Array, Array]]]:
        """The folds of each column, for thresholds and costs: every example is held out once."""
        # imported here, as in selection.py: few fits need folds
        from sklearn.model_selection import check_cv

        strata = [self._strata(task, column) for column in columns]
        splitter = check_cv(self.cv, strata[0], classifier=strata[0] is not None)
        with warnings.catch_warnings():
            # a rare label has fewer examples than there are folds
            warnings.simplefilter("ignore", UserWarning)
            found = [list(splitter.split(task.X, own)) for own in strata]
        for folds in found:
            if np.any(np.bincount(np.concatenate([test for _, test in folds]), minlength=len(task.y)) != 1):
                raise FenchelError("cv must hold every example out exactly once to choose thresholds; use folds")
        return found

    def _folds_of_bounds(self, task: Task) -> list[list[tuple[Array, Array]]]:
        """The folds of the bounds, for their thresholds and for the choice of the surrogate."""
        choice = self._choice()
        chooses = self.surrogate == "auto" and not choice.weighted and choice.scales and self._enough_for_folds(task)
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
        scores = np.full((len(task.y), width), np.nan)
        for (at, _, test), solution in zip(parts, solutions[len(solutions) - len(parts) :], strict=True):
            weights = np.atleast_2d(solution.model.weights)
            own = slice(None) if len(weights) == width else slice(at, at + 1)
            scores[test, own] = as_design(task.X[test]).scores(weights)
        # below all others: the fold of a rare label that has no model
        return np.where(np.isnan(scores), np.nanmin(scores, initial=0.0) - 1.0, scores)

    def _cuts(self, task: Task, scores: Array) -> list[Cut]:
        """The best cut of the scores of each column."""
        found, columns = {}, self._columns(task)
        for places in self._groups(task):
            cut = best_cut(scores[:, places].ravel(), self._table(task, [columns[at] for at in places]))
            found.update(dict.fromkeys(places, cut))
        return [found[at] for at in range(len(columns))]

    def _thresholds(self, task: Task, found: dict[str, Any], solutions: Sequence[Solution]) -> Floats:
        """The best thresholds of X w: of plug-ins those of the folds, of bounds as ``threshold`` says."""
        none = np.full(len(self._columns(task)), np.nan)
        known = (none if task.plug_in is None else task.plug_in.thresholds) - found["intercept_"]
        if not np.any(np.isnan(known)):
            return known
        interrupted = any(solution.status is Status.INTERRUPTED for solution in solutions)
        by_folds = bool(task.folds) and self.threshold != "train" and not interrupted
        scores = self._held_out(task, solutions) if by_folds else task.design.scores(found["coef_"])
        cuts = np.array([cut.threshold for cut in self._cuts(task, scores)])
        return np.where(np.isnan(known), cuts, known)

    def _named(self, task: Task) -> Task:
        """The task with the surrogate of each column among its fitted attributes."""
        weights = self._positive_weights(task)
        kinds = ["bound" if np.isnan(weight) else "plug_in" for weight in weights]
        one = kinds[0] if len(set(kinds)) == 1 else "mixed"
        return replace(task, fitted={**task.fitted, "surrogate_": one, "positive_weights_": weights})

    def _positive_weights(self, task: Task) -> Floats:
        plug_in = task.plug_in
        return np.full(len(self._columns(task)), np.nan) if plug_in is None else plug_in.positive_weights

    def _described(self, task: Task, solutions: Sequence[Solution]) -> list[Solution]:
        """The solutions with certificates that name their objective."""
        plug_in, name = task.plug_in, as_loss(self.plug_in_loss, "classification").name
        of = f"the plug-in for {self._choice()}: {name} loss, positives weighted"
        weights = [np.nan] * len(solutions) if plug_in is None else plug_in.positive_weights
        bound = f"the convex bound of {self._choice()}"
        abouts = [bound if np.isnan(weight) else of for weight in weights]
        return [
            replace(solution, certificate=replace(solution.certificate, about=about))
            for solution, about in zip(solutions, abouts, strict=True)
        ]

    def _why_unproved(self, task: Task) -> str:
        return UNPROVED

    def _check_surrogate(self) -> None:
        """Raise for a wrong parameter of surrogates and thresholds."""
        choice = self._choice()
        check_choice("average", self.average, ("macro", "micro"))
        check_choice("threshold", self.threshold, ("auto", "train", "cv"))
        check_choice("surrogate", self.surrogate, ("auto", "bound", "plug_in"))
        as_loss(self.plug_in_loss, "classification")
        if self.surrogate == "plug_in" and not choice.has_plug_in:
            raise FenchelError(f"surrogate='plug_in' is not for {choice}; use surrogate='auto' or 'bound'")

    def _warn_unless_converged(self, task: Task, solutions: Sequence[Solution]) -> None:
        count = len(self._problem_columns(task))
        super()._warn_unless_converged(task, solutions[:count])
        self._warn_of_folds(solutions[count:], "threshold='cv'")

    def _warn_of_folds(self, solutions: Sequence[Solution], what: str) -> None:
        missed = sum(not solution.converged for solution in solutions)
        if missed:
            warn(
                f"{missed} of {len(solutions)} fits to the folds of {what} did not prove tol={self.tol:g}; raise "
                "max_iter or time_limit, lower C, or use a larger tol"
            )


def _has_both(signs: Array) -> bool:
    return bool(np.any(signs > 0.0) and np.any(signs < 0.0))
