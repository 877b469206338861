"""The solvers that are tried in turn for a problem: by name, as objects, or by the rules of ``solver="auto"``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.risks import MeanRisk
from fenchel.solvers.base import Solver
from fenchel.solvers.facts import facts_of
from fenchel.solvers.named import SOLVERS
from fenchel.solvers.rules import TABLE, NextCost, Row
from fenchel.validation import check_seed, did_you_mean, processors


class Candidate(NamedTuple):
    """A solver, and the number of data passes after which the next one is tried."""

    solver: Solver
    patience: float = np.inf
    #: data passes of this solver that take as long as the next one: it goes on while fewer of them would be enough;
    #: None does not look at its pace
    next_cost: NextCost | None = None


#: how a solver is chosen: its name or "auto", a solver, or solvers to try in turn
Choice = str | Solver | Sequence[Candidate]


def choose(
    problem: Problem, solver: Choice, *, tol: float = 1e-3, seed: int = 0, n_jobs: int | None = None
) -> list[Candidate]:
    """Return the solvers to try in turn for a problem.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    solver : str, Solver or sequence of Candidate
        The name of a solver, a solver, "auto", or solvers to try in turn.
    tol : float, default=1e-3
        The target of the relative duality gap, on which "auto" depends.
    seed : int, default=0
        The seed for solvers without one.
    n_jobs : int, default=None
        The number of threads for solvers without one.

    Returns
    -------
    list of Candidate
        Solvers that support the problem, each with the data passes before the next one is tried.

    See Also
    --------
    fenchel.solve : Calls this function.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem
    >>> from fenchel.risks import F1
    >>> from fenchel.solvers import choose
    >>> [candidate.solver.name for candidate in choose(Problem(np.eye(2), F1([1, -1]), 1.0), "auto")]
    ['bundle']
    """
    if not isinstance(problem, Problem):
        raise FenchelError(f"problem must be a Problem, got {type(problem).__name__}")
    candidates = _candidates(problem, solver, tol)
    reasons = {candidate.solver.name: candidate.solver.supports(problem) for candidate in candidates}
    able = [candidate for candidate in candidates if reasons[candidate.solver.name] is None]
    if not able:
        raise FenchelError(_refusal(problem, solver, tol, reasons))
    # a solver does not hand over to itself if the solver between does not support the problem
    following = [candidate.solver.name for candidate in able[1:]] + [""]
    able = [one for one, after in zip(able, following, strict=True) if one.solver.name != after]
    # the last solver has no limit of its own
    able[-1] = able[-1]._replace(patience=np.inf)
    check_seed(seed)
    threads = processors(n_jobs)
    return [candidate._replace(solver=_completed(candidate.solver, seed, threads)) for candidate in able]


def first_choice(problem: Problem, solver: Choice, *, tol: float, seed: int, n_jobs: int | None) -> Solver:
    """The first solver that ``choose`` returns; the others are not imported unless it refuses the problem."""
    if isinstance(solver, str) and solver == "auto":
        first = _default(_row(problem, tol).solvers[0])
        if first.supports(problem) is None:
            # of a seed that stays, since every other one is another object: solvers of small data draw nothing
            return _completed(first, 0, processors(n_jobs))
    return choose(problem, solver, tol=tol, seed=seed, n_jobs=n_jobs)[0].solver


@cache
def _default(name: str) -> Solver:
    """The solver of this name with its default options; solvers never change."""
    return SOLVERS[name]()


def _completed(solver: Solver, seed: int, threads: int) -> Solver:
    """The solver with a seed and a number of threads, the same object for the same default solver."""
    if solver.name in SOLVERS and solver is _default(solver.name):
        return _completed_default(solver.name, seed, threads)
    return solver.with_defaults(seed, threads)


@lru_cache
def _completed_default(name: str, seed: int, threads: int) -> Solver:
    return _default(name).with_defaults(seed, threads)


def _refusal(problem: Problem, solver: Choice, tol: float, reasons: dict[str, str | None]) -> str:
    """Return the error message: why no solver supports the problem, and what to do."""
    if isinstance(solver, (str, Solver)) and solver != "auto":
        ((name, reason),) = reasons.items()
        advice = "; use solver='auto'" if _has_solver(problem, tol) else _one_against_rest(problem, tol)
        return f"solver={name!r} does not support this problem: {reason}{advice}"
    why = "; ".join(reason for reason in reasons.values() if reason is not None)
    return f"no solver supports this problem ({why}){_one_against_rest(problem, tol)}"


def _has_solver(problem: Problem, tol: float) -> bool:
    return any(candidate.solver.supports(problem) is None for candidate in _candidates(problem, "auto", tol))


def _one_against_rest(problem: Problem, tol: float) -> str:
    """Return the advice to use a problem for each class, where a solver supports that."""
    joint = problem.risk.multiclass()
    if joint is None:
        return ""
    labels = np.where(joint.classes == joint.classes[0], 1.0, -1.0)
    risk = MeanRisk("logistic" if joint.smooth else "hinge", labels, joint.shares)
    alone = Problem(problem.design, risk, problem.lam, problem.regularizer, problem.intercept)
    advice = "; use a problem for each class, which is multi_class='ovr' of an estimator"
    return advice if _has_solver(alone, tol) else ""


def _row(problem: Problem, tol: float) -> Row:
    """The rule of the table for a problem."""
    facts = facts_of(problem, tol)
    return next(row for row in TABLE if row.applies(facts))


def _candidates(problem: Problem, solver: Choice, tol: float) -> list[Candidate]:
    if isinstance(solver, str):
        if solver == "auto":
            row = _row(problem, tol)
            first, *others = row.solvers
            passes = row.patience if row.patience_of is None else row.patience_of(problem)
            leading = Candidate(_default(first), passes, row.next_cost)
            return [leading, *(Candidate(_default(other)) for other in others)]
        if solver in SOLVERS:
            return [Candidate(_default(solver))]
        known = ("auto", *SOLVERS)
        names, near = ", ".join(map(repr, known)), did_you_mean(solver, known)
        raise FenchelError(f"solver={solver!r} is unknown{near}; choose one of {names} or pass a solver object")
    if isinstance(solver, Solver):
        return [Candidate(solver)]
    listed = [one for one in solver if isinstance(one, Candidate)] if isinstance(solver, Sequence) else []
    if listed and len(listed) == len(solver):
        return listed
    raise FenchelError(f"solver must be a name or a solver object, got {type(solver).__name__}")
