"""The one loop: step, propose, certify, until a certificate says that it is enough.

(The file is not called solve.py because ``fenchel.solve`` is the function.)
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from fenchel.certificate import Span, Verdict, best_of, judge, judge_moved
from fenchel.errors import FenchelError
from fenchel.problem import Problem, Witness
from fenchel.schedule import ROUNDING, Schedule
from fenchel.solution import Progress, Solution, Status, TracePoint
from fenchel.solvers import STALLED, Hint, Solver, choose
from fenchel.solvers.base import Start, Warm
from fenchel.solvers.choose import Candidate

#: certificates at a rounding floor that is no small share of the objective before a solve gives up
_UNRESOLVED_ROUNDS = 3
#: passes that the first of several solvers has even if max_iter is small
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
    """Minimize a problem until its relative duality gap is proved to be at most ``tol``.

    Parameters
    ----------
    problem : what to minimize
    solver : a solver's name, a solver object, or "auto", which looks up ``solvers.choose.TABLE``: a solver that
        stalls there, or uses up its share of passes, hands over to the next, and ``Solution.handovers`` says so
    tol : the relative gap (P - D) / max(abs(P), abs(D)) to prove; 0 runs to the rounding floor
    max_iter : at most so many passes over the data
    time_limit : at most so many seconds (a step that is under way is finished; long ones are cut short)
    warm_start : a Solution (or anything with a model and a witness) to start from
    callback : called with a ``Progress`` after each certificate; a true answer stops the solve
    stop_requested : asked between steps; a true answer stops the solve as Ctrl-C does
    decay : stop as well once the gap is less than this share of the gap after the first pass over the data, the rule
        DG^t < delta DG^1 of Wang and Scott (2021), Sec. 5; ``tol=0`` leaves it alone to decide
    certify_every : certify after the first pass and then after every so many instead of on a schedule that grows; 1
        sees what the paper sees, but a solver that sets examples aside takes all of them back after each certificate
    seed : for the solver's random choices
    n_jobs : threads within the solve where the solver has use for them (newton, smoothing, agm,
        bundle); the result does not depend on it

    Ctrl-C ends the solve like a time limit: the best model so far is returned with its certificate.
    """
    if not isinstance(problem, Problem):
        raise FenchelError(f"problem must be a Problem such as Problem(X, risk, lam), got {type(problem).__name__}")
    _check_limits(tol, max_iter, time_limit)
    _check_shares(decay, certify_every)
    if warm_start is not None and not (hasattr(warm_start, "model") and hasattr(warm_start, "witness")):
        raise FenchelError(f"warm_start must be a Solution, got {type(warm_start).__name__}")
    if callback is not None and not callable(callback):
        raise FenchelError(f"callback must be a function, got {type(callback).__name__}")
    candidates = choose(problem, solver, tol=tol, seed=seed, n_jobs=n_jobs)
    schedule = Schedule(max_iter, problem.design.stored_entries, callback is not None, certify_every)
    run = _Run(problem, candidates, schedule, tol, time_limit, decay, callback, stop_requested)
    return run.go(warm_start)


def check_time_limit(time_limit: float | None) -> None:
    """Raise unless this is None or a number of seconds."""
    _check_limits(0.0, 0.0, time_limit)


def _check_limits(tol: float, max_iter: float, time_limit: float | None) -> None:
    for name, value, low in (("tol", tol, 0.0), ("max_iter", max_iter, 0.0), ("time_limit", time_limit, 0.0)):
        if value is None and name == "time_limit":
            continue
        if isinstance(value, bool) or not isinstance(value, Real) or not value >= low:
            raise FenchelError(f"{name} must be a number >= 0, got {value!r}")


def _check_shares(decay: float | None, certify_every: float | None) -> None:
    for name, value, high in (("decay", decay, 1.0), ("certify_every", certify_every, math.inf)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < value < high):
            less = " and less than 1" if high == 1.0 else ""
            raise FenchelError(f"{name} must be a number greater than 0{less}, or None, got {value!r}")


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
            warm = Start(self.best.model, self.best.witness, self.best.span)
        tried = []
        for candidate, following in zip(self.candidates, [*self.candidates[1:], None], strict=True):
            if status is not None:
                break
            self.solver = candidate.solver
            tried.append(self.solver.name)
            patience = candidate.patience
            if following is not None and math.isfinite(patience):
                # whoever comes next needs passes too
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
        certificate, model, witness, span = self.best
        converged = certificate.meets(self.tol)
        if converged and status is not Status.INTERRUPTED:
            status = Status.CONVERGED if certificate.relative_gap <= self.tol else Status.FLOOR
        elif (certificate.at_floor or certificate.contradictory) and status in (Status.MAX_ITER, Status.STALLED):
            status = Status.UNRESOLVED
        converged = converged or self._decayed()
        assert status is not None
        solver = ", ".join(tried) or self.solver.name
        return Solution(
            model, witness, certificate, status, converged, self.passes, solver, self.trace, self.handovers, span
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
        return Start(self.best.model, self.best.witness, self.best.span)

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
            if self.best.certificate.primal == math.inf and self.best.certificate.dual >= self.problem.farthest:
                return Status.INFEASIBLE
            if self._decayed():
                return Status.DECAYED
            if self._told_to_stop():
                return Status.CALLBACK
            if status is not None or over:
                return status
            self.schedule.go_on(self.passes, self._expected_gap(state))

    def _is_early(self, state: Any) -> bool:
        target = self._hint(state).target_gap
        return self.schedule.is_early(self.passes, self._expected_gap(state), target, on_time=self._wants_first_gap())

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

    def _expected_gap(self, state: Any) -> float:
        """What the solver expects its gap to be; NaN for one that does not say."""
        return self.solver.expected_gap(state) if hasattr(self.solver, "expected_gap") else math.nan

    def _hint(self, state: Any) -> Hint:
        decayed = 0.0 if self.decay is None or math.isnan(self.first_gap) else self.decay * self.first_gap
        if self.best is not None:
            certificate = self.best.certificate
            target = max(self.tol * certificate.scale, certificate.rounding_floor, decayed)
            return Hint(certificate, target, self._wants_an_end)
        # the objective is at most R(0), which is all that is known before the first certificate
        scale = self.problem.risk.value_at_zero
        if hasattr(self.solver, "expected_objective") and self._expected_gap(state) <= self.tol * scale:
            with np.errstate(over="ignore", invalid="ignore"):
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
        span = getattr(warm, "span", None)
        if isinstance(span, Span) and span.fits(self.problem):
            # the same data: nothing of them is needed again
            self._record(judge_moved(self.problem, warm.model, warm.witness, span))
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
