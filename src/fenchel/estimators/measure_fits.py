"""The fits of classifiers for a measure: by its convex bound or by a plug-in, and the thresholds afterwards.

``MeasureClassifier`` and ``MultilabelClassifier`` share it.  A problem belongs to one column of signs, a class or a
label, or to all of them (``None``) with one contingency table for all scores (micro averaging).
"""

from __future__ import annotations

import threading
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
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.measure_folds import Column, MeasureFolds, below_others
from fenchel.estimators.plug_in import COST_EXPONENTS, PlugIn, chosen_cost, cost_weights, positive_weight
from fenchel.estimators.task import Task
from fenchel.estimators.thresholds import UNPROVED, Cut, with_thresholds
from fenchel.losses import Loss, as_loss
from fenchel.problem import Problem
from fenchel.progress import warn
from fenchel.risks import MeanRisk, Risk, micro
from fenchel.solvers.base import Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import Solution
from fenchel.validation import check_choice


class MeasureFits(MeasureFolds):
    """Fits by the bound of a measure, or by cost-weighted fits whose thresholds are chosen for it."""

    plug_in_loss: str | Loss

    # --- what a subclass defines

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

    def problem_of_outputs(self, task: Task) -> None:
        """None: the columns have measures or costs of their own."""

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
        stop = threading.Event() if stop is None else stop
        if self.surrogate == "plug_in":
            plug_in = self._chosen_plug_in(task, deadline, stop)
            return super()._fit(replace(task, plug_in=plug_in, folds=()), deadline, warm, stop)
        if self.surrogate == "auto" and self._may_plug_in() and task.folds:
            return self._fit_better(task, deadline, stop)
        problems = self.problems(task)
        count = len(self._problem_columns(task))
        solutions = self.solve_all(problems, self._starts(task, problems), deadline, stop, needed=count, kept=count)
        if self._may_plug_in() and not stop.is_set():
            self._warn_if_trivial(self._trivial(problems[:count], solutions[:count]))
        return self._finish(task, solutions)

    def _fit_better(self, task: Task, deadline: Deadline, stop: threading.Event) -> Self:
        """Solve the bounds and the plug-ins, and keep what is better on held-out folds."""
        problems = self.problems(task)
        count, width = len(self._problem_columns(task)), len(self._columns(task))
        # a fit that is cut short has thresholds of the training scores
        cut_short = partial(self._finish, replace(task, folds=()))
        starts = self._starts(task, problems)[:count]
        solutions = self.solve_all(problems[:count], starts, deadline, stop, later=len(problems) - count, kept=0)
        if stop.is_set():
            return cut_short(solutions)
        trivial = self._trivial(problems[:count], solutions)
        each = np.array(trivial * width if count < width else trivial)
        compared = self._to_compare(task, each)
        folds = self.problems(compared)[count:]
        if folds:
            solutions += self.solve_all(folds, [None] * len(folds), deadline, stop, needed=1, kept=0)
        if stop.is_set():
            return cut_short(solutions[:count])
        plug_in = self._chosen_plug_in(task, deadline, stop)
        if stop.is_set():
            return cut_short(solutions[:count])
        losses = self._losses_of_bounds(compared, solutions)
        if self.threshold == "cv" or not np.all(np.isfinite(losses)):
            held = np.ones(width, dtype=bool)
            losses = np.array([cut.loss for cut in self._cuts(compared, self._held_out(compared, solutions), held)])
        else:
            # bounds keep the thresholds of their training scores
            compared, solutions = replace(compared, folds=()), solutions[:count]
        plugged = self._plug_in_columns(each, losses, plug_in.losses)
        if not np.any(plugged):
            return self._finish(compared, solutions)
        chosen = replace(compared, plug_in=plug_in.only(plugged))
        if np.all(plugged):
            return super()._fit(replace(chosen, folds=()), deadline, None, stop)
        return self._finish(chosen, self._completed(chosen, plugged, solutions, deadline, stop))

    def _starts(self, task: Task, problems: Sequence[LazyProblem]) -> Sequence[Warm | None]:
        return self.warm_starts(task, problems) if self.warm_start else [None] * len(problems)

    def _to_compare(self, task: Task, trivial: NDArray[np.bool_]) -> Task:
        """The task without the folds of bounds that lose against the plug-in whatever is held out."""
        worst = np.full(len(trivial), np.inf)
        settled = self._plug_in_columns(trivial, -worst, worst)
        if len(task.folds) < len(settled):
            settled = np.array([np.all(settled)])
        return replace(task, folds=[[] if known else own for known, own in zip(settled, task.folds, strict=True)])

    def _completed(
        self, task: Task, plugged: Array, solutions: list[Solution], deadline: Deadline, stop: threading.Event
    ) -> list[Solution]:
        """The solutions of the bounds, and in place of trivial ones those of the plug-ins."""
        problems, places = self.problems(task), np.flatnonzero(plugged)
        new = self.solve_all([problems[k] for k in places], [None] * len(places), deadline, stop, kept=0)
        found = list(solutions)
        for k, solution in zip(places, new, strict=True):
            found[k] = solution
        return found

    # --- whether the bound is trivial

    def _trivial(self, problems: Sequence[LazyProblem], solutions: Sequence[Solution]) -> list[bool]:
        return [self._is_trivial(*one) for one in zip(problems, solutions, strict=True)]

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
        solutions = self.solve_all(problems, [None] * len(problems), deadline, stop, kept=0) if problems else []
        held_out = np.full((len(COST_EXPONENTS), task.design.shape[0], len(columns)), np.nan)
        for (at, _, test, e), solution in zip(cases, solutions, strict=True):
            scores = as_design(task.X[test]).scores(solution.model.weights) + np.asarray(solution.model.intercept)
            held_out[COST_EXPONENTS.index(e), test, at] = scores
        held_out = below_others(held_out)
        weights, thresholds, losses = np.full((3, len(columns)), np.nan)
        for places in self._groups(task):
            group = [columns[at] for at in places]
            pooled = [scores[:, places].ravel() for scores in held_out]
            best, cut = chosen_cost(pooled, self._table(task, group))
            if self._is_rare(task, group):
                # held-out scores of a few positives choose no threshold: equal costs, and the training scores
                best, cut = 0, Cut(np.nan, np.inf)
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

    def as_fitted(self, task: Task) -> Task:
        """The task with the plug-in of the last fit, and without folds."""
        weights = np.asarray(vars(self).get("positive_weights_", np.nan))
        unknown = np.full(np.shape(weights), np.nan)
        plug_in = None if np.all(np.isnan(weights)) else PlugIn(weights, unknown, unknown)
        return replace(task, plug_in=plug_in, folds=())

    # --- the problems

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

    def _fold(self, task: Task, train: Array, column: Column) -> Problem:
        fold = task.subset(train)
        return self._measure(fold, column, self._choice_of_fold(task, fold))

    # --- descriptions and warnings

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
        abouts = [self._bound_in_words() if np.isnan(weight) else of for weight in weights]
        return [
            replace(solution, certificate=replace(solution.certificate, about=about))
            for solution, about in zip(solutions, abouts, strict=True)
        ]

    def _bound_in_words(self) -> str:
        return f"the convex bound of {self._choice()}"

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
