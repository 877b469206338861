"""A fit in four steps: encode -> problems -> solve_all -> store.

The first three change nothing; ``store`` alone changes the estimator, all or nothing.  An estimator overrides
``encode``, ``problems`` and ``predict`` (and ``attributes`` of ``stored_fit`` if it stores more); everything else is
written here once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.certificate import ProvedShare
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.certified_parameters import CertifiedParameters
from fenchel.estimators.proved import ProvedPredictions, Sketches
from fenchel.estimators.regularization import as_regularizer, checked_positive, lam_of
from fenchel.estimators.seeds import seeds_of
from fenchel.estimators.stored_fit import StoredFit
from fenchel.estimators.task import Task
from fenchel.estimators.threads import in_threads
from fenchel.estimators.together import solved_together
from fenchel.estimators.until_proved import checked_rule, rounds, warn_unless_proved
from fenchel.losses import Loss
from fenchel.problem import Problem
from fenchel.progress import report_end, reporter, warn
from fenchel.records import changed
from fenchel.regularizers import Regularizer
from fenchel.risks import Risk
from fenchel.solvers import Solver
from fenchel.solvers.base import Warm
from fenchel.solvers.choose import Choice
from fenchel.solving.checkpoint import checked_targets
from fenchel.solving.deadline import Deadline
from fenchel.solving.loop import solve
from fenchel.solving.solution import Solution, Status
from fenchel.stopping import interrupts_set
from fenchel.validation import check_bool, processors

#: entries of X, and labels of one against the rest, up to which a fit may solve all outputs together (2 MB)
_FEW_ENTRIES = 1 << 18
#: the same for the features, for a loss with kinks
_FEW_FEATURES = 64

#: problems are made when they are solved, so that the labels of many classes need not exist at once
LazyProblem = Callable[[], Problem]


class LinearEstimator(ProvedPredictions, CertifiedParameters, StoredFit):
    """What classifiers and regressors share: the four steps of a fit, and its parameters."""

    #: estimators that have this parameter set it
    regularizer: str | Regularizer | None = None
    stop_when: ProvedShare | None = None
    checkpoint: Path | str | None = None

    # --- the four steps

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X and labels or targets y.

        Ctrl-C stores the best model so far and is raised again; while the data are checked and encoded, and a Gram
        matrix is computed, there is none, and it changes nothing.
        """
        # the time of the validation counts
        deadline = Deadline(self.time_limit)
        return self._fit_and_store(self.encode(X, y, sample_weight), deadline)

    def encode(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Task:
        """Check the parameters and the data, and encode the labels."""
        raise NotImplementedError

    def problems(self, task: Task) -> list[LazyProblem]:
        """The problems that make up the fit, each made when it is called."""
        raise NotImplementedError

    def problem_of_outputs(self, task: Task) -> Problem | None:
        """One problem with an output for each of ``problems``, whose sum it is, or the only one of them.

        None: each is solved by itself.
        """
        return None

    def _is_small(self, task: Task, outputs: int = 1) -> bool:
        """Whether this many outputs may be solved together: few entries and ridge, or one lasso with a smooth loss.

        With a loss with kinks, few features too: with more, descent on the dual begins.
        """
        few = max(task.design.stored_entries, outputs * task.design.shape[0]) <= _FEW_ENTRIES
        if not few or task.design.kernel() is not None:
            return False
        if self._loss().smooth:
            return task.regularizer.is_ridge or (task.regularizer.l1_ratio == 1.0 and outputs == 1)
        return task.regularizer.is_ridge and task.design.shape[1] <= _FEW_FEATURES

    def as_fitted(self, task: Task) -> Task:
        """The task with what the last fit chose: its problems are those of the certificates."""
        return task

    def solve_all(
        self,
        problems: Sequence[LazyProblem],
        warm: Sequence[Warm | None],
        deadline: Deadline | None = None,
        stop: threading.Event | None = None,
        sketches: Sketches | None = None,
        stop_when: ProvedShare | None = None,
        needed: int | None = None,
        later: int = 0,
        kept: int | None = None,
        outputs: Problem | None = None,
    ) -> list[Solution]:
        """Solve side by side in threads; after Ctrl-C, or once ``stop`` is set, every solve ends with its best model.

        Without a ``deadline`` the time limit begins now.  Problems after the first ``needed`` ones are not begun after
        Ctrl-C, and have no solution then.  Of the time, equal shares are left for ``later`` problems of another call.
        Only the first ``kept`` problems have a checkpoint; None is all of them.  ``outputs`` has an output for each of
        the problems: those that can be solved together are.
        """
        stop = threading.Event() if stop is None else stop
        seeds = self._seeds(len(problems))
        deadline = Deadline(self.time_limit) if deadline is None else deadline
        threads = joblib.effective_n_jobs(self.n_jobs)
        workers = min(len(problems), threads)
        kept = len(problems) if kept is None else kept
        files = [*checked_targets(self.checkpoint, kept), *[None] * (len(problems) - kept)]
        together: Sequence[Solution | None] = [None] * len(problems)
        if outputs is not None and stop_when is None and all(start is None for start in warm):
            if sketches is not None:
                sketches.prepare(outputs)
            together = solved_together(self, outputs, seeds, stop)

        def one(k: int) -> Solution | None:
            if needed is not None and k >= needed and stop.is_set():
                return None
            watch, solution = show(k), together[k]
            # its labels exist already where there is one problem of all
            problem = problems[k]() if outputs is None else outputs.outputs_apart[k]
            if sketches is not None:
                sketches.prepare(problem)
            solution = solution or solve(
                problem,
                self._solver_for(problem),
                tol=self._target_gap(),
                max_iter=self._max_passes(),
                time_limit=deadline.share(k, len(problems) + later, workers),
                warm_start=warm[k],
                callback=watch.callback,
                stop_requested=watch.on_each_request(stop.is_set),
                stop_when=stop_when,
                seed=seeds[k],
                n_jobs=max(1, threads // workers),
                checkpoint=files[k],
            )
            if solution.status is Status.INTERRUPTED:
                stop.set()
            # the path_certificate holds on to the problem: labels and weights of every column
            optimum = None if sketches is None else sketches(problem, solution)
            return changed(solution, path_certificate=None, optimum=optimum)

        with reporter(type(self).__name__, len(problems), self.tol, self.verbose) as show:
            found = in_threads([partial(one, k) for k in range(len(problems))], workers, stop)
        solutions = [solution for solution in found if solution is not None]
        report_end(type(self).__name__, solutions, self.verbose)
        if stop.is_set():
            # Ctrl-C may come when every solve has just ended
            solutions[-1] = replace(solutions[-1], status=Status.INTERRUPTED)
        return solutions

    def _fit_and_store(self, task: Task, deadline: Deadline) -> Self:
        """Fit, and raise Ctrl-C after the attributes are stored: until then it ends the solves and nothing else."""
        stop = threading.Event()
        with interrupts_set(stop):
            self._fit(task, deadline, None, stop)
        if stop.is_set():
            raise KeyboardInterrupt
        return self

    def _fit(
        self,
        task: Task,
        deadline: Deadline,
        warm: Sequence[Warm | None] | None = None,
        stop: threading.Event | None = None,
    ) -> Self:
        problems = self.problems(task)
        if warm is None:
            warm = self.warm_starts(task, problems) if self.warm_start else [None] * len(problems)
        rule, sketches = checked_rule(self, task), Sketches(len(problems), task.design.shape[0])
        if rule is not None and len(problems) > 1:
            solutions = rounds(self, task, problems, warm, rule, deadline, stop)
        else:
            kept = None if self._why_unproved(task) else sketches
            outputs = self.problem_of_outputs(task)
            solutions = self.solve_all(problems, warm, deadline, stop, kept, rule, outputs=outputs)
        return self._finish(task, solutions, rule)

    def _finish(self, task: Task, solutions: Sequence[Solution], rule: ProvedShare | None = None) -> Self:
        """Store the solutions, and warn unless they prove what was asked for."""
        if any(solution.status is Status.INFEASIBLE for solution in solutions):
            raise FenchelError(f"{Status.INFEASIBLE.value}; use another loss than {self._loss().name!r}")
        self.store(task, solutions)
        if any(solution.status is Status.INTERRUPTED for solution in solutions):
            raise KeyboardInterrupt
        if rule is None:
            self._warn_unless_converged(task, solutions)
        else:
            warn_unless_proved(type(self).__name__, rule, solutions)
        return self

    # --- what encode and problems are made of

    def _seeds(self, count: int) -> tuple[int, ...]:
        """The seeds of the solvers of ``count`` problems."""
        return seeds_of(self.random_state, count)

    def _target_gap(self) -> float:
        """The relative gap at which the solves stop; ``tol`` is the one that they have to prove."""
        return self.tol

    def _max_passes(self) -> float:
        """The data passes that ``max_iter`` allows."""
        return self.max_iter

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _regularizer(self) -> Regularizer:
        return as_regularizer(self.regularizer, self.l1_ratio)

    def _solver(self) -> str | Solver:
        return self.solver

    def _solver_for(self, problem: Problem) -> Choice:
        """The solver of one of the problems of a fit."""
        return self._solver()

    def _check_parameters(self) -> None:
        """Raise for a parameter that is wrong for any data, before the data are looked at."""
        self._loss()
        self._regularizer()
        self._check_strength()
        self._check_run()

    def _check_strength(self) -> None:
        checked_positive(self.C)

    def _check_run(self) -> None:
        """Raise for a wrong parameter of the solves."""
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("warm_start", self.warm_start)
        processors(self.n_jobs)
        checked_targets(self.checkpoint, 1)
        if not isinstance(self.verbose, (bool, np.bool_, Integral)):
            raise FenchelError(f"verbose must be an integer, 0 for silence, got {self.verbose!r}")

    def _task(self, X: MatrixLike, weights: Floats | None, **fields: Any) -> Task:
        design = as_design(X)
        if design is X:
            # X may have changed in place since an earlier fit
            design.forget()
        return Task(X=X, design=design, C=self.C, regularizer=self._regularizer(), weights=weights, **fields)

    def _problem(self, task: Task, risk: Risk) -> Problem:
        """The problem of a risk of the task's examples."""
        intercept = bool(self.fit_intercept) and risk.intercepts() is not None
        return Problem(task.design, risk, lam_of(task.C, task.total_weight), task.regularizer, intercept)

    def _warn_unless_converged(self, task: Task, solutions: Sequence[Solution]) -> None:
        missed = [solution for solution in solutions if not self._has_converged(solution)]
        contradictory = [solution for solution in missed if solution.certificate.contradictory]
        if contradictory:
            warn(f"{type(self).__name__}: {contradictory[0]}")
        elif missed:
            worst = max(missed, key=lambda s: s.certificate.relative_gap)
            limits = "max_iter or time_limit" if "time_limit" in self.get_params(deep=False) else "max_iter"
            warn(
                f"{type(self).__name__} stopped because {worst.status.value}: it proved a relative gap of "
                f"{worst.certificate.relative_gap:.2g} where tol={self.tol:g} was asked for. The objective is within "
                f"{worst.certificate.gap:.3g} of optimal. Scale the features if their sizes differ, raise {limits}, "
                "lower C, or accept this bound with a larger tol."
            )
