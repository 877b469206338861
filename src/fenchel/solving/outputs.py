"""Several outputs that share the rows X, each a problem of its own, solved and certified together.

``solve`` does for each of them what can be done once: it chooses solvers, looks at the rows, and certifies.  For small
data this takes longer than the steps.
"""

from __future__ import annotations

from collections.abc import Callable

from fenchel.certificate import Verdict, judge_outputs
from fenchel.compile.stopwatch import stopwatch
from fenchel.problem import Problem
from fenchel.solvers.choose import Choice, first_choice
from fenchel.solving.solution import Solution, Status, Trace, TracePoint
from fenchel.stopping import Stopped, stops_when


def solve_outputs(
    problem: Problem,
    solver: Choice,
    *,
    tol: float,
    max_iter: float,
    seed: int,
    n_jobs: int | None,
    stop_requested: Callable[[], bool],
) -> list[Solution | None]:
    """The solution of each output of a mean of losses, or None where ``solve`` has to find it.

    That is where the first solver for such a problem does not solve outputs together, its answer does not prove
    ``tol``, which must be positive, or a stop was requested.
    """
    begin = stopwatch.clock()
    first = first_choice(problem, solver, tol=tol, seed=seed, n_jobs=n_jobs)
    nothing: list[Solution | None] = [None] * len(problem.outputs_apart)
    try:
        with stops_when(stop_requested):
            found = first.solve_outputs(problem, tol, max_iter)
            if found is None:
                return nothing
            solved = stopwatch.clock()
            verdicts = judge_outputs(problem, found.model, found.witness, tol=tol)
    except Stopped:
        return nothing
    share = 1.0 / len(verdicts)
    seconds = share * (solved - begin), share * (stopwatch.clock() - solved)
    each = zip(problem.outputs_apart, verdicts, found.passes, strict=True)
    return [
        # ``solve`` returns the zero model where that is better
        _solution(verdict, passes, tol, first.name, seconds)
        if verdict.certificate.primal <= one.risk.value_at_zero
        else None
        for one, verdict, passes in each
    ]


def _solution(
    verdict: Verdict, passes: float, tol: float, solver: str, seconds: tuple[float, float]
) -> Solution | None:
    """The solution of a verdict that meets tol; ``seconds`` are those of the steps and of the certificate."""
    certificate, model, witness, known = verdict
    status = Status.CONVERGED
    if not certificate.proves(tol):
        if not certificate.meets(tol):
            return None
        status = Status.FLOOR
    trace = Trace([TracePoint(*seconds, passes, certificate.primal, certificate.dual)])
    return Solution(model, witness, certificate, status, True, passes, solver, trace, [], known)
