"""Fits with ``stop_when``: several problems are solved in rounds, until their predictions together are proved."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.certificate import ProvedShare
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.proved import Sketches, kind_of_task, stored_optimum
from fenchel.progress import warn
from fenchel.solvers.base import Start, Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import Solution, Status

if TYPE_CHECKING:
    from fenchel.estimators.base import LazyProblem, LinearEstimator
    from fenchel.estimators.task import Task

#: the relative gap of the first round, and the ratio of those of consecutive rounds
_FIRST_TOL, _RATIO = 1e-2, 0.1
#: a smaller tol is the rounding floor
_LEAST_TOL = 1e-15
#: statuses of a round after which there is another one
_GOES_ON = (Status.CONVERGED, Status.FLOOR)


def checked_rule(estimator: LinearEstimator, task: Task) -> ProvedShare | None:
    """The rule of the estimator with validated rows, or None; raise if it can't be met."""
    rule = estimator.stop_when
    if rule is None:
        return None
    if not isinstance(rule, ProvedShare):
        raise FenchelError(f"stop_when must be None or a ProvedShare, got {type(rule).__name__}")
    rule.check(kind_of_task(task))
    why = estimator._why_unproved(task)
    if why:
        raise FenchelError(f"stop_when={type(rule).__name__}: {why}")
    unchanged = copy.copy(estimator)
    vars(unchanged).update(task.fitted)
    return replace(rule, X=unchanged._rows(rule.X))


def rounds(
    estimator: Any,
    task: Task,
    problems: Sequence[LazyProblem],
    warm: Sequence[Warm | None],
    rule: ProvedShare,
    deadline: Deadline,
    stop: threading.Event | None = None,
) -> list[Solution]:
    """Solve all problems to a gap that falls from round to round, each from the last, until the rule is met."""
    one, design = copy.copy(estimator), as_design(rule.X)
    found: list[Solution] = []
    one.tol = _FIRST_TOL
    while True:
        sketches = Sketches(len(problems), task.design.shape[0])
        latest = one.solve_all(problems, warm, deadline, stop, sketches)
        # the tol of a round is not the one that the user asked for
        latest = [replace(each, converged=each.certificate.meets(estimator.tol)) for each in latest]
        found = latest if not found else [_joined(*pair) for pair in zip(found, latest, strict=True)]
        optimum = stored_optimum(task, found, "")
        assert optimum is not None
        models = [each.model for each in found]
        scores = [design.scores(model.weights) + np.asarray(model.intercept) for model in models]
        if rule.met_by(optimum.predict(design, np.stack(scores, axis=1))):
            return [replace(each, status=Status.PREDICTIONS_PROVED) for each in found]
        passes = max(solution.passes for solution in found)
        if one.tol == 0.0 or passes >= estimator.max_iter or any(each.status not in _GOES_ON for each in latest):
            return found
        warm = [Start(solution.model, solution.witness) for solution in found]
        one.tol = one.tol * _RATIO if one.tol * _RATIO >= _LEAST_TOL else 0.0
        one.max_iter = estimator.max_iter - passes


def _joined(before: Solution, after: Solution) -> Solution:
    return replace(after, passes=before.passes + after.passes, trace=before.trace.then(after.trace))


def warn_unless_proved(name: str, rule: ProvedShare, solutions: Sequence[Solution]) -> None:
    """Warn if the fit ended before the rule was met."""
    missed = [solution for solution in solutions if solution.status is not Status.PREDICTIONS_PROVED]
    if missed:
        worst = max(missed, key=lambda solution: solution.certificate.relative_gap)
        warn(
            f"{name} stopped because {worst.status.value}, before share={rule.share:g} of the predictions of stop_when "
            f"were proved, at a relative gap of {worst.certificate.relative_gap:.2g}. Raise max_iter or time_limit, "
            "lower C, or ask for a smaller share."
        )
