r"""Regularization paths: a problem solved for many values of lambda, each solution certified.

With strong regularization a problem is easy, so a path begins at the largest :math:`\lambda` and goes down.  Each point
starts from the last one.  Its model and its dual point are judged for the new :math:`\lambda` first, which costs no
product with the data (``certificate.PathCertificate``): if they meet ``tol`` already, no step is made.

Extrapolating the last two points (:math:`\theta/\lambda` is piecewise linear in :math:`1/\lambda` for the hinge) was
tried and dropped: it took more passes on 20news.binary and a9a than starting at the last point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fenchel.certificate import PathCertificate
from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers import Solver
from fenchel.solvers.base import Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.loop import solve
from fenchel.solving.solution import STOPS, Solution, Status

#: the statuses that end a path early
_ENDS = (*STOPS, Status.CALLBACK)
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
    **options: Any,
) -> list[Solution]:
    """Solve a problem for one lam after the other, each from the last.

    ``options`` are those of ``solve``; a ``time_limit`` is for all of them together.  After an interruption the
    solutions so far are returned; the status of the last one is the reason.
    """
    points, found, warm = _Points(problem, solver, time_limit, options), [], None
    for lam in lams:
        warm = points.solve(lam, warm)
        found.append(compress(warm))
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


def compress(solution: Solution) -> Solution:
    """A solution with a compressed path certificate, which is no warm start for a neighbour."""
    return replace(solution, path_certificate=_path_certificate(solution).compress())


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

    def solve(self, lam: float, warm: Warm | None) -> Solution:
        problem, limit = replace(self.problem, lam=lam), self.deadline.remaining()
        solution = solve(problem, self.solver, warm_start=warm, time_limit=limit, **self.options)
        self.ended = solution.status in _ENDS or self.deadline.passed
        return solution
