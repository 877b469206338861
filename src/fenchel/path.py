r"""Regularization paths: a problem solved for many values of lambda, each solution certified.

With strong regularization a problem is easy, so a path begins at the largest :math:`\lambda` and goes down.  Each point
starts from the last one.  Its model and its dual point are judged for the new :math:`\lambda` first, which costs no
product with the data (``certificate.PathCertificate``): if they meet ``tol`` already, no step is made.  A solver that
shares work between many values of :math:`\lambda` proposes points for all of them (``Solver.propose_path``); they are
certified a block at a time, and a point that does not meet ``tol`` is solved from there.

Extrapolating the last two points (:math:`\theta/\lambda` is piecewise linear in :math:`1/\lambda` for the hinge) was
tried and dropped: it took more passes on 20news.binary and a9a than starting at the last point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

from fenchel.arrays import Floats
from fenchel.certificate import PathCertificate, Verdict, forget_changed_moments, judge_all
from fenchel.compile.stopwatch import stopwatch
from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem
from fenchel.records import changed
from fenchel.solvers import Solver, choose
from fenchel.solvers.base import Start, Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.loop import solve
from fenchel.solving.solution import STOPS, Solution, Status, Trace, TracePoint
from fenchel.stopping import Stopped, stops_when

#: the statuses that end a path early
_ENDS = (*STOPS, Status.CALLBACK)
#: the options of ``solve`` with which points are proposed for many lam at once, and the data passes that this may take
_PLAIN, _FEWEST_PASSES = frozenset({"tol", "max_iter", "seed", "n_jobs", "stop_requested"}), 3.0
#: tol of the points of a covering path, as a share of the accuracy; the rest is for the values between
_POINT = 0.1
#: stride in log lam, as a multiple of the certified radius: the next point's radius covers the rest
_STRIDE = 1.8
#: largest ratio of consecutive lam, for a point that did not converge and certifies no interval
_SHORTEST = 0.99


def follow(
    problem: Problem,
    lams: Sequence[float],
    solver: str | Solver = "auto",
    *,
    time_limit: float | None = None,
    coefs: Floats | None = None,
    **options: Any,
) -> list[Solution]:
    """Solve a problem for one lam after the other, each from the last.

    ``options`` are those of ``solve``; a ``time_limit`` is for all of them together.  After an interruption the
    solutions so far are returned; the status of the last one is the reason.  With ``coefs``, an array with a row for
    each lam, the weights of the solutions are its rows.
    """
    points, found = _Points(problem, solver, time_limit, options), list[Solution]()
    last: Solution | None = None
    for lam, proposal in zip(lams, points.proposals(lams), strict=False):
        last = points.accepted(proposal) or points.solve(lam, last if proposal is None else Start(*proposal[1:]))
        found.append(compress(last, None if coefs is None else coefs[len(found)]))
        if points.ended:
            break
    return found


def cover(
    problem: Problem, low: float, high: float, accuracy: float, solver: str | Solver = "auto", **options: Any
) -> list[Solution]:
    """Solutions for falling values of lam from ``high`` to ``low`` that certify every lam between to ``accuracy``.

    Each is solved to a tenth of that.  The ``PathCertificate`` of a point proves the accuracy on an interval; the next
    point is placed beyond it, such that their intervals should meet, and if they do not, another point between them.
    """
    if not problem.regularizer.zero_is_dual_feasible:
        raise FenchelError(
            f"regularizer={problem.regularizer.name!r} with prices does not support a path over an interval, since a "
            "certificate holds for one lam or C only. Pass a list of values"
        )
    points = _Points(problem, solver, options.pop("time_limit", None), {**options, "tol": _POINT * accuracy})

    def certified_end(solution: Solution, factor: float) -> float:
        """The end of the interval of lam that a solution certifies: below it for a factor < 1, above it for > 1."""
        # compressed: the search tries dozens of lam, each of which would read all of v
        return _path_certificate(solution).compress().farthest_lam(solved_lam(solution), accuracy, factor)

    def between(left: Solution, right: Solution) -> list[Solution]:
        """The points needed between two neighbours, each started from the left one."""
        if points.ended or not (left.converged and right.converged):
            return []
        gap = (certified_end(left, 0.9), certified_end(right, 1.1))
        # a point at the rounding floor may not prove this accuracy even for its own lam
        alone = gap[0] == solved_lam(left) or gap[1] == solved_lam(right)
        if gap[0] <= gap[1] or alone:
            return []
        middle = points.solve(math.sqrt(gap[0] * gap[1]), left)
        return [*between(left, middle), middle, *between(middle, right)]

    last = points.solve(high, None)
    found = [last]
    while solved_lam(last) > low and not points.ended:
        stride = min((certified_end(last, 0.9) / solved_lam(last)) ** _STRIDE, _SHORTEST)
        following = points.solve(max(low, solved_lam(last) * stride), last)
        found += [*between(last, following), following]
        found[-3:-1] = [compress(solution) for solution in found[-3:-1]]
        last = following
    return [compress(solution) for solution in found]


def solved_lam(solution: Solution) -> float:
    """The lam of a solution."""
    return _path_certificate(solution).problem.lam


def compress(solution: Solution, row: Floats | None = None) -> Solution:
    """A solution with a compressed path certificate, which is no warm start for a neighbour; its weights in ``row``."""
    model = solution.model
    if row is not None:
        row[...] = model.weights
        model = Model(row, model.intercept)
    return changed(solution, model=model, path_certificate=_path_certificate(solution).compress())


def _path_certificate(solution: Solution) -> PathCertificate:
    assert solution.path_certificate is not None
    return solution.path_certificate


class _Points:
    """Solves a problem for one lam at a time, until the time of all together is over or something else ends it."""

    def __init__(
        self, problem: Problem, solver: str | Solver, time_limit: float | None, options: dict[str, Any]
    ) -> None:
        self.problem, self.solver, self.options = problem, solver, options
        self.deadline, self.ended = Deadline(time_limit), False
        #: the name of the solver that proposes many points at once, its data passes and seconds for each
        self.proposer, self.passes, self.seconds = "", 0.0, (0.0, 0.0)

    def solve(self, lam: float, warm: Warm | None) -> Solution:
        problem, limit = self.problem.with_lam(lam), self.deadline.remaining()
        solution = solve(problem, self.solver, warm_start=warm, time_limit=limit, **self.options)
        self.ended = solution.status in _ENDS or self.deadline.passed
        return solution

    def proposals(self, lams: Sequence[float]) -> Iterator[Verdict | None]:
        """The verdicts on points that the solver proposes for many values of lam at once, or None where it does not."""
        blocks, done = self._blocks(lams), 0
        if blocks is not None:
            forget_changed_moments(self.problem)
        # the Gram matrix takes a pass, and so do the dual points of a block
        self.passes = 2.0
        while blocks is not None:
            try:
                begin = stopwatch.clock()
                with stops_when(self._must_stop, self.deadline.remaining):
                    block = next(blocks)
                middle = stopwatch.clock()
                problems = [self.problem.with_lam(lam) for lam in lams[done : done + len(block)]]
                verdicts = judge_all(problems, block, tol=self.options["tol"])
            except KeyboardInterrupt:
                # the next point ends at once, with this reason
                self.options = {**self.options, "stop_requested": lambda: True}
                break
            except (StopIteration, Stopped):
                break
            self.seconds = (middle - begin) / len(block), (stopwatch.clock() - middle) / len(block)
            for verdict in verdicts:
                yield verdict
                self.passes = 1.0
            done += len(block)
        yield from repeat(None)

    def accepted(self, proposal: Verdict | None) -> Solution | None:
        """The solution of a proposal that meets the tolerance."""
        if proposal is None or self._must_stop():
            return None
        certificate, model, witness, known = proposal
        status = Status.CONVERGED if certificate.proves(self.options["tol"]) else Status.FLOOR
        if status is Status.FLOOR and not certificate.meets(self.options["tol"]):
            return None
        point = TracePoint(*self.seconds, self.passes, certificate.primal, certificate.dual)
        return Solution(
            model,
            witness,
            certificate,
            status,
            True,
            self.passes,
            self.proposer,
            Trace([point]),
            path_certificate=known,
        )

    def _blocks(self, lams: Sequence[float]) -> Iterator[list[Model]] | None:
        """The proposals of the first solver that ``solve`` would try, unless its other arguments forbid them."""
        options = self.options
        plain = "tol" in options and options.keys() <= _PLAIN
        if not len(lams) or not plain or options.get("max_iter", math.inf) < _FEWEST_PASSES:
            return None
        chosen = {name: options[name] for name in ("seed", "n_jobs") if name in options}
        first = choose(self.problem.with_lam(lams[0]), self.solver, tol=options["tol"], **chosen)[0].solver
        self.proposer = first.name
        return first.propose_path(self.problem, lams, options["tol"])

    def _must_stop(self) -> bool:
        requested = self.options.get("stop_requested")
        return self.deadline.passed or (requested is not None and requested())
