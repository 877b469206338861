r"""Regularization paths: a problem solved for many values of lambda, each solution certified.

With strong regularization a problem is easy, so a path begins at the largest :math:`\lambda` and goes down.  Each point
starts from the last one.  Its model and its dual point are judged for the new :math:`\lambda` first, which costs no
product with the data (``certificate.PathCertificate``): if they meet ``tol`` already, no step is made.

Extrapolating the last two points (:math:`\theta/\lambda` is piecewise linear in :math:`1/\lambda` for the hinge) was
tried and dropped: it took more passes on 20news.binary and a9a than starting at the last point.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers import Solver
from fenchel.solvers.base import Warm
from fenchel.solving.loop import check_time_limit, solve
from fenchel.solving.solution import Solution, Status

#: the statuses that end a path early
_ENDS = (Status.INTERRUPTED, Status.CALLBACK, Status.TIME_LIMIT)
#: tol of the points of a covering path, as a share of the accuracy; the rest is for the values between
_POINT = 0.1
#: stride in log lam, as a multiple of the certified radius: the next point's radius covers the rest
_STRIDE = 1.8
#: largest ratio of consecutive lam, for a point that did not converge and certifies no interval
_SHORTEST = 0.99


def follow(problem: Problem, lams: Sequence[float], solver: str | Solver = "auto", **options: Any) -> list[Solution]:
    """Solve a problem for every lam, each from its neighbour; in the order of ``lams``.

    ``options`` are those of ``solve``; a ``time_limit`` is for all of them together.  After an interruption the
    solutions so far are returned; the status of the last one is the reason.
    """
    lams = [float(lam) for lam in lams]
    if not lams:
        raise FenchelError("lams must hold at least one value")
    order = sorted(range(len(lams)), key=lambda k: -lams[k])
    found = dict(zip(order, walk(problem, [lams[k] for k in order], solver, **options), strict=False))
    return [found[k] for k in range(len(lams)) if k in found]


def walk(
    problem: Problem,
    lams: Sequence[float],
    solver: str | Solver = "auto",
    *,
    time_limit: float | None = None,
    warm_start: Warm | None = None,
    **options: Any,
) -> Iterator[Solution]:
    """The solutions for one lam after the other, each from the last; ends after an interruption."""
    check_time_limit(time_limit)
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    for lam in lams:
        left = None if deadline is None else max(0.0, deadline - time.perf_counter())
        solution = solve(replace(problem, lam=lam), solver, warm_start=warm_start, time_limit=left, **options)
        yield compress(solution)
        if solution.status in _ENDS or (deadline is not None and time.perf_counter() >= deadline):
            return
        warm_start = solution


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
    time_limit = options.pop("time_limit", None)
    check_time_limit(time_limit)
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    interval = _CertifiedInterval(accuracy)
    ended = False

    def at(lam: float, warm: Solution | None) -> Solution:
        left = None if math.isinf(deadline) else max(0.0, deadline - time.perf_counter())
        options_here = {**options, "tol": _POINT * accuracy, "time_limit": left, "warm_start": warm}
        solution = solve(replace(problem, lam=lam), solver, **options_here)
        nonlocal ended
        ended = ended or solution.status in _ENDS or time.perf_counter() >= deadline
        return solution

    def between(left: Solution, right: Solution) -> list[Solution]:
        """The points needed between two neighbours, each started from the left one."""
        gap = (interval.down(left), interval.up(right))
        # a point at the rounding floor may not prove this accuracy even for its own lam
        alone = gap[0] == solved_lam(left) or gap[1] == solved_lam(right)
        if ended or gap[0] <= gap[1] or alone or not (left.converged and right.converged):
            return []
        middle = at(math.sqrt(gap[0] * gap[1]), left)
        return [*between(left, middle), middle, *between(middle, right)]

    last = at(high, None)
    found = [last]
    while solved_lam(last) > low and not ended:
        stride = min((interval.down(last) / solved_lam(last)) ** _STRIDE, _SHORTEST)
        following = at(max(low, solved_lam(last) * stride), last)
        found += [*between(last, following), following]
        found[-3:-1] = [compress(solution) for solution in found[-3:-1]]
        last = following
    return [compress(solution) for solution in found]


def solved_lam(solution: Solution) -> float:
    """The lam of a solution."""
    assert solution.path_certificate is not None
    return solution.path_certificate.problem.lam


def compress(solution: Solution) -> Solution:
    """A solution with a compressed path certificate, which is no warm start for a neighbour."""
    assert solution.path_certificate is not None
    return replace(solution, path_certificate=solution.path_certificate.compress())


class _CertifiedInterval:
    """The intervals of lam that solutions certify: their lower and upper ends."""

    def __init__(self, accuracy: float) -> None:
        self.accuracy = accuracy

    def down(self, solution: Solution) -> float:
        assert solution.path_certificate is not None
        return solution.path_certificate.farthest_lam(solved_lam(solution), self.accuracy, 0.9)

    def up(self, solution: Solution) -> float:
        assert solution.path_certificate is not None
        return solution.path_certificate.farthest_lam(solved_lam(solution), self.accuracy, 1.1)
