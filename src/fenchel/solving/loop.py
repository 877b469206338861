"""The one loop: step, propose, certify, until a certificate says that it is enough.

(The file is not called solve.py because ``fenchel.solve`` is the function.)
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.certificate import Verdict, best_of, judge, judge_moved
from fenchel.errors import FenchelError
from fenchel.problem import Problem, Witness
from fenchel.solvers import STALLED, Hint, Solver, choose
from fenchel.solvers.base import Start, Warm
from fenchel.solvers.choose import Candidate
from fenchel.solving.schedule import ROUNDING, Schedule
from fenchel.solving.solution import Progress, Solution, Status, TracePoint
from fenchel.validation import check_number

#: certificates at a rounding floor that is no small share of the objective before a solve gives up
_UNRESOLVED_ROUNDS = 3
#: passes of the first of several solvers however small max_iter is
_FEW_PASSES = 20.0

_log = logging.getLogger("fenchel")


def solve(
    problem: Problem,
    solver: str | Solver = "auto",
    *,
    tol: float = 1e-3,
    max_iter: float = 1000,
    time_limit: float | None = None,
    warm_start: Warm | None = None,
    callback: Callable[[Progress], Any] | None = None,
    stop_requested: Callable[[], bool] | None = None,
    decay: float | None = None,
    certify_every: float | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Solution:
    r"""Minimize a problem until its relative duality gap is proved to be at most ``tol``.

    Ctrl-C ends a solve like a time limit: the best model so far is returned with its certificate.

    Parameters
    ----------
    problem : Problem
        The problem to minimize.
    solver : str or Solver, default="auto"
        The name of a solver in ``fenchel.solvers.SOLVERS``, a solver object with options, or "auto", which chooses by
        the problem.  A solver that "auto" chose and that stalls, or uses up its share of data passes, is replaced by
        the next one; ``Solution.handovers`` records it.
    tol : float, default=1e-3
        The relative duality gap ``(P - D) / max(|P|, |D|)`` to prove; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data.
    time_limit : float, default=None
        Maximum number of seconds.  The step under way is finished; long steps are cut short.
    warm_start : Solution, default=None
        The solution to start from, or any object with a ``model`` and a ``witness``.
    callback : callable, default=None
        Called with a :class:`Progress` after each certificate; a true return value stops the solve.
    stop_requested : callable, default=None
        Called without arguments between steps; a true return value stops the solve as Ctrl-C does.
    decay : float, default=None
        Stop as well once the gap is less than this share of the gap after the first epoch, the rule
        :math:`DG^t < \delta\,DG^1` of [1]_, Sec. 5.  Set ``tol=0`` to stop by this rule alone.
    certify_every : float, default=None
        Data passes between certificates; None certifies on a schedule whose intervals grow.  A solver with shrinking
        takes all examples back after each certificate.
    seed : int, default=0
        Seed of the solver's random choices.
    n_jobs : int, default=None
        Threads within the solve, used by "newton", "smoothing", "agm" and "bundle".  The result does not depend on it.

    Returns
    -------
    Solution
        The best model, the best dual point, their certificate, and how the solve went.

    See Also
    --------
    certify : Prove how far any model is from the optimum.
    regularization_path : Solve for many values of C, each from the last.
    fenchel.solvers : The solvers and their options.

    References
    ----------
    .. [1] Y. Wang and C. Scott. "An exact solver for the Weston-Watkins SVM subproblem." ICML, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> solution = solve(Problem(X, MeanRisk("hinge", y), lam=0.5), tol=1e-6)
    >>> solution.converged
    True
    >>> bool(solution.certificate.relative_gap <= 1e-6)
    True
    """
    if not isinstance(problem, Problem):
        raise FenchelError(f"problem must be a Problem such as Problem(X, risk, lam), got {type(problem).__name__}")
    check_number("tol", tol, least=0.0, finite=False)
    check_number("max_iter", max_iter, least=0.0, finite=False)
    check_time_limit(time_limit)
    check_number("decay", decay, above=0.0, below=1.0, optional=True)
    check_number("certify_every", certify_every, above=0.0, optional=True)
    if warm_start is not None and not isinstance(warm_start, (Solution, Start)):
        raise FenchelError(f"warm_start must be a Solution or a Start, got {type(warm_start).__name__}")
    if callback is not None and not callable(callback):
        raise FenchelError(f"callback must be a function, got {type(callback).__name__}")
    candidates = choose(problem, solver, tol=tol, seed=seed, n_jobs=n_jobs)
    schedule = Schedule(max_iter, problem.design.stored_entries, callback is not None, certify_every)
    run = _Run(problem, candidates, schedule, tol, time_limit, decay, callback, stop_requested)
    return run.go(warm_start)


def check_time_limit(time_limit: float | None) -> None:
    """Raise unless this is None or a number of seconds."""
    check_number("time_limit", time_limit, least=0.0, finite=False, optional=True)


class _Run:
    """The state of one solve: what is best so far, and the clock."""

    def __init__(
        self,
        problem: Problem,
        candidates: list[Candidate],
        schedule: Schedule,
        tol: float,
        time_limit: float | None,
        decay: float | None,
        callback: Callable[[Progress], Any] | None,
        stop_requested: Callable[[], bool] | None,
    ) -> None:
        self.problem, self.candidates, self.schedule, self.tol = problem, candidates, schedule, tol
        self.solver: Solver = candidates[0].solver
        self.callback = callback
        self.stop_requested = stop_requested or (lambda: False)
        self.begin = time.perf_counter()
        self.deadline = math.inf if time_limit is None else self.begin + time_limit
        self.best: Verdict | None = None
        self.passes = 0.0
        self.certifying = 0.0
        self.rounds_at_floor = self.rounds_unresolved = 0
        self.decay = decay
        #: the gap after the first pass, for ``decay``
        self.first_gap = math.nan
        self.trace: list[TracePoint] = []
        self.handovers: list[str] = []

    def go(self, warm: Warm | None) -> Solution:
        status = None
        if warm is not None:
            status = self._judge_warm(warm)
        if self.best is not None:
            # with its witness scaled to what is best here
            warm = Start(self.best.model, self.best.witness, self.best.path_certificate)
        tried = []
        for candidate, following in zip(self.candidates, [*self.candidates[1:], None], strict=True):
            if status is not None:
                break
            self.solver = candidate.solver
            tried.append(self.solver.name)
            patience = candidate.patience
            if following is not None and math.isfinite(patience):
                # reserve passes for the next solver
                patience = min(patience, max(_FEW_PASSES, 0.5 * self.schedule.most))
            status = self._run(warm, self.passes + patience)
            if following is None or self.passes >= self.schedule.most:
                status = status or Status.MAX_ITER
            elif status in (None, Status.STALLED):
                warm, status = self._hand_over(following, status), None
        if self.best is None or self.best.certificate.primal > self.problem.risk.value_at_zero:
            # nobody should get less than the zero model
            self._record(judge(self.problem, self.problem.zero_model(), Witness(np.zeros(self.problem.theta_shape))))
        assert self.best is not None
        certificate, model, witness, path_certificate = self.best
        converged = certificate.meets(self.tol)
        if converged and status is not Status.INTERRUPTED:
            status = Status.CONVERGED if certificate.relative_gap <= self.tol else Status.FLOOR
        elif (certificate.at_floor or certificate.contradictory) and status in (Status.MAX_ITER, Status.STALLED):
            status = Status.UNRESOLVED
        converged = converged or self._decayed()
        assert status is not None
        solver = ", ".join(tried) or self.solver.name
        return Solution(
            model,
            witness,
            certificate,
            status,
            converged,
            self.passes,
            solver,
            self.trace,
            self.handovers,
            path_certificate,
        )

    def _run(self, warm: Warm | None, limit: float) -> Status | None:
        """One solver from its start to its end; None if it used up its passes."""
        state = None
        try:
            state = self.solver.start(self.problem, warm)
            return self._loop(state, limit)
        except KeyboardInterrupt:
            if state is not None:
                self._certify(state)
            return Status.INTERRUPTED

    def _hand_over(self, following: Candidate, status: Status | None) -> Warm:
        """Tell who goes on and why; the best point so far is where it starts."""
        assert self.best is not None
        why = "stalled" if status is Status.STALLED else "used up its share of data passes"
        self.handovers.append(
            f"{self.solver.name} {why} after {self.passes:.4g} data passes at a relative gap of "
            f"{self.best.certificate.relative_gap:.2g}; {following.solver.name} went on"
        )
        _log.info(self.handovers[-1])
        return Start(self.best.model, self.best.witness, self.best.path_certificate)

    def _loop(self, state: Any, limit: float) -> Status | None:
        """Step until the next certificate is due, certify, and see; None when ``limit`` passes are used up."""
        self.schedule.begin(self.passes, after_one=self._wants_first_gap())
        while True:
            used = self.solver.step(state, self._hint(state)) if self.passes < self.schedule.most else 0.0
            if used != STALLED:
                self.passes += used
            status = self._out_of(used)
            over = self.passes >= limit
            if status is None and not over and self._is_early(state):
                continue
            self._certify(state)
            assert self.best is not None
            if self._enough():
                return Status.CONVERGED
            if self.rounds_unresolved >= _UNRESOLVED_ROUNDS:
                return Status.UNRESOLVED
            if self.best.certificate.primal == math.inf and self.best.certificate.dual >= self.problem.level_bound:
                return Status.INFEASIBLE
            if self._decayed():
                return Status.DECAYED
            if self._told_to_stop():
                return Status.CALLBACK
            if status is not None or over:
                return status
            self.schedule.go_on(self.passes, self.solver.expected_gap(state))

    def _is_early(self, state: Any) -> bool:
        target = self._hint(state).target_gap
        expected = self.solver.expected_gap(state)
        return self.schedule.is_early(self.passes, expected, target, on_time=self._wants_first_gap())

    def _wants_first_gap(self) -> bool:
        """Whether the gap after the first pass is needed and not known yet."""
        return self.decay is not None and math.isnan(self.first_gap)

    def _decayed(self) -> bool:
        """Whether the gap is less than ``decay`` times the one after the first pass."""
        assert self.best is not None
        certificate = self.best.certificate
        small = self.decay is not None and certificate.gap < self.decay * self.first_gap
        return small and not certificate.contradictory

    def _enough(self) -> bool:
        """Whether the certificate proves tol.  tol = 0 asks for one round more once the gap is at the floor.

        The model still improves there, though the gap, which is quadratic in its error, can't show it any more.
        """
        assert self.best is not None
        certificate = self.best.certificate
        # the floor may fall as the model changes, so that the first such round decides nothing
        at_floor = certificate.at_floor or certificate.contradictory
        self.rounds_unresolved += at_floor and not certificate.meets(self.tol)
        if self.tol > 0 or not certificate.optimal:
            return certificate.meets(self.tol)
        self.rounds_at_floor += 1
        return self.rounds_at_floor > 1

    def _hint(self, state: Any) -> Hint:
        decayed = 0.0 if self.decay is None or math.isnan(self.first_gap) else self.decay * self.first_gap
        if self.best is not None:
            certificate = self.best.certificate
            target = max(self.tol * certificate.scale, certificate.rounding_floor, decayed)
            return Hint(certificate, target, self._wants_an_end, len(self.trace))
        # the objective is at most R(0), which is all that is known before the first certificate
        scale = self.problem.risk.value_at_zero
        if self.solver.expected_gap(state) <= self.tol * scale:
            with np.errstate(over="ignore", invalid="ignore"):
                # the first argument if the second is NaN
                scale = min(scale, abs(self.solver.expected_objective(state)))
        return Hint(None, max(self.tol * scale, decayed), self._wants_an_end)

    def _wants_an_end(self) -> bool:
        """For solvers with long steps: whether the user or the clock waits for the present one."""
        return self.stop_requested() or time.perf_counter() >= self.deadline

    def _out_of(self, used: float) -> Status | None:
        if used == STALLED:
            return Status.STALLED
        if self.stop_requested():
            return Status.INTERRUPTED
        if time.perf_counter() >= self.deadline:
            return Status.TIME_LIMIT
        return Status.MAX_ITER if self.passes >= self.schedule.most else None

    def _certify(self, state: Any) -> None:
        begin = time.perf_counter()
        verdict = judge(self.problem, *self.solver.propose(state))
        self.certifying += time.perf_counter() - begin
        self._record(verdict)
        if math.isnan(self.first_gap) and self.passes >= 1.0 - ROUNDING:
            assert self.best is not None
            self.first_gap = self.best.certificate.gap

    def _judge_warm(self, warm: Warm) -> Status | None:
        """A warm start that is good enough already needs no step at all."""
        fits = self.problem.fits(warm.model) and np.shape(warm.witness.theta) == self.problem.theta_shape
        regularizer = self.problem.regularizer
        if fits and not regularizer.finite and not np.isfinite(regularizer.value(warm.model.weights)):
            # weights of another regularizer; the dual variables may still be of use
            fits = False
        if not fits or (
            not self.problem.intercept and warm.model.intercept is not None and np.any(warm.model.intercept)
        ):
            return None
        if warm.path_certificate is not None and warm.path_certificate.fits(self.problem):
            # the same data: nothing of them is needed again
            self._record(judge_moved(self.problem, warm.model, warm.witness, warm.path_certificate))
        else:
            self._record(judge(self.problem, warm.model, warm.witness))
        assert self.best is not None
        return Status.CONVERGED if self.best.certificate.meets(self.tol) else None

    def _record(self, verdict: Verdict) -> None:
        elapsed = time.perf_counter() - self.begin
        certificate = verdict.certificate
        point = TracePoint(
            elapsed - self.certifying, self.certifying, self.passes, certificate.primal, certificate.dual
        )
        self.trace.append(point)
        self.best = best_of(self.best, verdict)
        self.present = verdict.model

    def _told_to_stop(self) -> bool:
        if self.callback is None or self.best is None:
            return False
        now = time.perf_counter()
        told = Progress(self.best.certificate, self.passes, now - self.begin, self.trace[-1], self.present)
        stop = bool(self.callback(told))
        # its time is not the solver's
        self.begin += time.perf_counter() - now
        return stop
