"""The loop around every solver: step, propose, certify, until a certificate or a limit stops it.

A solver has ``start``, ``step`` (returns data passes, or STALLED) and ``propose`` (a model and a witness); see
``solvers.base.Solver``.  Only ``certificate.judge`` decides whether the gap is small enough.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fenchel.certificate import ProvedShare, ProvedShareWatch, Verdict, best_of, gathered, judge
from fenchel.certificate.trivial import zero_objective
from fenchel.compile.stopwatch import stopwatch
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import STALLED, Hint, Solver
from fenchel.solvers.base import Start, Warm
from fenchel.solvers.choose import Candidate
from fenchel.solvers.rules import NextCost
from fenchel.solving.checkpoint import Checkpoint
from fenchel.solving.deadline import Deadline
from fenchel.solving.floor import RoundsAtFloor
from fenchel.solving.handover import STEP_SHARE, Pace
from fenchel.solving.schedule import PASS_ROUNDING, Schedule
from fenchel.solving.solution import STOPS, Estimate, Progress, Solution, Status, Trace, TracePoint
from fenchel.solving.warm_verdict import verdict_on
from fenchel.stopping import Stopped, stop_point, stops_when

#: factor of the gap between certificates of a solve with ``stop_when``
_GAP_BETWEEN_PROOFS = 0.2

#: data passes of the first of several solvers, however small max_iter is
_FEWEST_PASSES = 20.0

_log = logging.getLogger("fenchel")


class Stopping(NamedTuple):
    """When to stop besides ``max_iter``; the arguments of ``solve``."""

    tol: float
    time_limit: float | None
    decay: float | None
    callback: Callable[[Progress], Any] | None
    stop_requested: Callable[[], bool] | None
    stop_when: ProvedShare | None = None


class Run:
    """The state of one solve: the best verdict so far, the passes used, and the clock."""

    def __init__(
        self,
        problem: Problem,
        candidates: list[Candidate],
        schedule: Schedule,
        stopping: Stopping,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.problem, self.candidates, self.schedule = problem, candidates, schedule
        self.checkpoint = checkpoint
        rule = stopping.stop_when
        self.proving = None if rule is None else ProvedShareWatch(rule, problem)
        #: the gap that ``converged`` is about, and the one that ends the solve
        self.asked, self.tol = stopping.tol, stopping.tol if rule is None else 0.0
        self.solver: Solver = candidates[0].solver
        self.callback = stopping.callback
        self.stop_requested = stopping.stop_requested or (lambda: False)
        self.begin, self.deadline = stopwatch.clock(), Deadline(stopping.time_limit)
        self.best: Verdict | None = None
        self.passes = 0.0
        self.certifying = 0.0
        self.at_floor = RoundsAtFloor(self.tol)
        self.decay = stopping.decay
        #: the gap after the first pass, for ``decay``
        self.first_gap = math.nan
        #: an estimate of the objective, and the gap that was expected when it was made
        self.objective, self.expected_then = math.inf, math.inf
        #: data passes of one step at most, while the pace of the solver is watched
        self.longest_step = math.inf
        self.trace = Trace()
        self.handovers: list[str] = []

    def solution(self, warm: Warm | None) -> Solution:
        """Run the candidates in turn, each from the best point so far."""
        status = None
        if warm is not None:
            status = self._judge_warm(warm)
        if self.best is not None:
            # the witness is scaled to the best multiple for this problem
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
                patience = min(patience, max(_FEWEST_PASSES, 0.5 * self.schedule.most))
            status = self._run(warm, self.passes + patience, None if following is None else candidate.next_cost)
            if following is None or self.passes >= self.schedule.most:
                status = status or Status.MAX_ITER
            elif status in (None, Status.STALLED):
                warm, status = self._hand_over(following, status), None
        if self.best is None or self.best.certificate.primal > self.problem.risk.value_at_zero:
            # the result is never worse than the zero model
            self._record(judge(self.problem, self._zero(status), Witness(np.zeros(self.problem.theta_shape))))
        assert status is not None
        return self._finished(status, ", ".join(tried) or self.solver.name)

    def _zero(self, status: Status | None) -> Model:
        """The zero model with the best intercept, or after a stop with a zero one: the search takes several passes."""
        zero = self.problem.zero_model()
        return replace(zero, intercept=self.problem.no_intercept()) if status in STOPS else zero

    def _finished(self, status: Status, solver: str) -> Solution:
        assert self.best is not None
        self.best = gathered(self.best)
        if self.checkpoint is not None:
            self.checkpoint.write(self.best)
        certificate, model, witness, path_certificate = self.best
        converged = certificate.meets(self.asked)
        if certificate.meets(self.tol) and status not in (Status.INTERRUPTED, Status.PREDICTIONS_PROVED):
            status = Status.CONVERGED if certificate.proves(self.tol) else Status.FLOOR
        elif (certificate.at_floor or certificate.contradictory) and status in (Status.MAX_ITER, Status.STALLED):
            status = Status.UNRESOLVED
        return Solution(
            model,
            witness,
            certificate,
            status,
            converged or self._decayed(),
            self.passes,
            solver,
            self.trace,
            self.handovers,
            path_certificate,
        )

    def _run(self, warm: Warm | None, limit: float, next_cost: NextCost | None) -> Status | None:
        """Run one solver; None if it used up its passes, and would need more than ``next_cost`` more of them."""
        state = None
        self.at_floor.begin()
        try:
            with stops_when(self._must_stop, self.deadline.remaining):
                # the problems that follow Ctrl-C or a limit are not begun
                stop_point()
                state = self.solver.start(self.problem, warm)
            return self._loop(state, limit, next_cost)
        except (KeyboardInterrupt, Stopped) as stop:
            if state is not None:
                self._certify(state, self.solver.propose_after_stop)
            by_user = isinstance(stop, KeyboardInterrupt)
            # without a reason of this solve the one around it ends
            return Status.INTERRUPTED if by_user else self._stop_status() or Status.INTERRUPTED

    def _hand_over(self, following: Candidate, status: Status | None) -> Warm:
        """Record the reason for the next solver, which starts from the best point so far."""
        assert self.best is not None
        why = "stalled" if status is Status.STALLED else "used up its share of data passes"
        self.handovers.append(
            f"{self.solver.name} {why} after {self.passes:.4g} data passes at a relative gap of "
            f"{self.best.certificate.relative_gap:.2g}; {following.solver.name} continued"
        )
        _log.info(self.handovers[-1])
        return Start(self.best.model, self.best.witness, self.best.path_certificate)

    def _loop(self, state: Any, limit: float, next_cost: NextCost | None) -> Status | None:
        """Step until a certificate is due, certify, and repeat; None when ``limit`` passes are used up."""
        computed = self.solver.computes_gap_of(self.problem)
        self.schedule.begin(self.passes, after_one=self._wants_first_gap(), computed=computed)
        begin, pace = self.passes, Pace()
        # the pace is that of the second half of the passes
        self.longest_step = math.inf if next_cost is None else 0.5 * (limit - begin)
        hint = self._hint(state)
        while True:
            used = self._step(state, hint) if self.passes < self.schedule.most else 0.0
            if used != STALLED:
                self.passes += used
            status = self._limit_reached(used)
            over = self.passes >= limit
            if next_cost is not None:
                pace.record(self.passes - begin, self.solver.expected_gap(state))
                self.longest_step = STEP_SHARE * (self.passes - begin)
            if over and next_cost is not None:
                target = self._hint(state).target_gap
                over = pace.is_slow(target, min(next_cost(self.problem, target), self.schedule.most - self.passes))
            if status is None and not over:
                hint = self._hint(state)
                if self._is_early(state, hint.target_gap):
                    continue
            self._certify(state, self.solver.propose_after_stop if status in STOPS else None)
            assert self.best is not None
            if self._predictions_proved():
                return Status.PREDICTIONS_PROVED
            # a solver that stalls at the floor has done what can be done
            certificate = self.best.certificate
            if self.at_floor.enough(certificate) or (status is Status.STALLED and certificate.meets(self.tol)):
                return Status.CONVERGED
            if self.at_floor.stalled:
                return Status.STALLED
            if self.at_floor.unresolved:
                return Status.UNRESOLVED
            # risks overflow, too: the zero model has a finite one then, and meets the constraints if there are any
            infinite = certificate.primal == math.inf and zero_objective(self.problem) == math.inf
            if infinite and certificate.dual >= self.problem.level_bound:
                return Status.INFEASIBLE
            if self._decayed():
                return Status.DECAYED
            if self._callback_stops():
                return Status.CALLBACK
            # a certificate may take longer than the rest of the time: no second one follows
            status = status or self._stop_status()
            if status is not None or over:
                return status
            self.schedule.postpone(self.passes, self.solver.expected_gap(state))
            hint = self._hint(state)

    def _step(self, state: Any, hint: Hint) -> float:
        """One step of the solver, which a limit may end at any of its stop points."""
        with stops_when(self._must_stop, self.deadline.remaining):
            return self.solver.step(state, hint)

    def _is_early(self, state: Any, target: float) -> bool:
        """Whether the next certificate is not due yet."""
        expected = self.solver.expected_gap(state)
        if math.isfinite(expected):
            self.trace.expect(Estimate(stopwatch.clock() - self.begin, self.passes, expected))
        if expected <= OBJECTIVE_ROUNDING * self.problem.risk.value_at_zero:
            # no smaller gap can be expected
            expected = min(expected, target)
        return self.schedule.is_early(self.passes, expected, target, on_time=self._wants_first_gap())

    def _wants_first_gap(self) -> bool:
        """Whether the gap after the first pass is needed and not known yet."""
        return self.decay is not None and math.isnan(self.first_gap)

    def _predictions_proved(self) -> bool:
        """Whether the rule ``stop_when`` is met."""
        return self.proving is not None and self.best is not None and self.proving.met(self.best)

    def _decayed(self) -> bool:
        """Whether the gap is less than ``decay`` times the one after the first pass."""
        assert self.best is not None
        certificate = self.best.certificate
        small = self.decay is not None and certificate.gap < self.decay * self.first_gap
        return small and not certificate.contradictory

    def _hint(self, state: Any) -> Hint:
        """The last certificate and the gap to reach, for the solver."""
        left = self.schedule.passes_left(self.passes, on_time=self._wants_first_gap())
        left = min(left, max(1.0, self.longest_step))
        early = min(left, self.schedule.passes_early(self.passes))
        decayed = 0.0 if self.decay is None or math.isnan(self.first_gap) else self.decay * self.first_gap
        if self.best is not None:
            certificate = self.best.certificate
            floor = certificate.rounding_floor
            # predictions are tried again when the gap has fallen by this factor
            step = 0.0 if self.proving is None else _GAP_BETWEEN_PROOFS * certificate.gap
            target = max(self.tol * certificate.scale - floor, floor, decayed, step)
            return Hint(certificate, target, self._must_stop, len(self.trace), left, early)
        # before the first certificate only P* <= R(0) is known
        scale = self.problem.risk.value_at_zero
        expected = self.solver.expected_gap(state)
        if expected <= self.tol * scale:
            # an estimate reads all dual variables and labels, and is as far from the optimum as the gap
            if expected <= 0.5 * self.expected_then:
                with np.errstate(over="ignore", invalid="ignore"):
                    self.objective, self.expected_then = abs(self.solver.expected_objective(state)), expected
            # min returns the first argument if the second is NaN
            scale = min(scale, self.objective)
        target = max(self.tol * scale, decayed)
        return Hint(None, target, self._must_stop, passes=left, early=early)

    def _must_stop(self) -> bool:
        """Whether a stop is requested or the time limit is reached; solvers with long steps ask for it."""
        return self.stop_requested() or self.deadline.passed

    def _stop_status(self) -> Status | None:
        """The reason to stop now, or None."""
        if self.stop_requested():
            return Status.INTERRUPTED
        return Status.TIME_LIMIT if self.deadline.passed else None

    def _limit_reached(self, used: float) -> Status | None:
        """The limit that ends the solver after this step, or None."""
        if used == STALLED:
            return Status.STALLED
        return self._stop_status() or (Status.MAX_ITER if self.passes >= self.schedule.most else None)

    def _certify(self, state: Any, propose: Callable[[Any], tuple[Model, Witness]] | None = None) -> None:
        """Certify the point that the solver proposes."""
        begin = stopwatch.clock()
        if propose is None:
            # the best intercept of many examples takes several passes: a limit ends it, and the next proposal has none
            with stops_when(self._must_stop, self.deadline.remaining):
                proposed = self.solver.propose(state)
        else:
            proposed = propose(state)
        verdict = judge(self.problem, *proposed)
        self.certifying += stopwatch.clock() - begin
        self._record(verdict)
        if math.isnan(self.first_gap) and self.passes >= 1.0 - PASS_ROUNDING:
            assert self.best is not None
            self.first_gap = self.best.certificate.gap

    def _judge_warm(self, warm: Warm) -> Status | None:
        """Certify a warm start: CONVERGED if it meets tol, else None."""
        verdict = verdict_on(self.problem, warm)
        if verdict is None:
            return None
        self._record(verdict)
        assert self.best is not None
        if self._predictions_proved():
            return Status.PREDICTIONS_PROVED
        return Status.CONVERGED if self.best.certificate.meets(self.tol) else None

    def _record(self, verdict: Verdict) -> None:
        """Append a trace point and update the best verdict."""
        elapsed = stopwatch.clock() - self.begin
        certificate = verdict.certificate
        point = TracePoint(
            elapsed - self.certifying, self.certifying, self.passes, certificate.primal, certificate.dual
        )
        self.trace.append(point)
        self.best = best_of(self.best, verdict)
        self.present = verdict.model
        if self.checkpoint is not None:
            self.checkpoint.offer(self.best)

    def _callback_stops(self) -> bool:
        """Call the callback; its time does not count as the solver's."""
        if self.callback is None or self.best is None:
            return False
        now = stopwatch.clock()
        progress = Progress(self.best.certificate, self.passes, now - self.begin, self.trace[-1], self.present)
        stop = bool(self.callback(progress))
        self.begin += stopwatch.clock() - now
        return stop
