"""The table behind ``solver="auto"``: the first solver that supports the problem."""

from __future__ import annotations

import copy

from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers.base import Solver
from fenchel.solvers.dual_coordinate import DualCoordinate

#: the solvers that users can name, the preferred ones first
SOLVERS: dict[str, type[DualCoordinate]] = {solver.name: solver for solver in (DualCoordinate,)}


def choose(problem: Problem, solver: str | Solver, seed: int = 0) -> Solver:
    """The solver of that name (seeded), or the solver itself, checked to support the problem."""
    if isinstance(solver, str) and solver != "auto" and solver not in SOLVERS:
        names = ", ".join(repr(name) for name in ("auto", *SOLVERS))
        raise FenchelError(f"solver={solver!r} is unknown; choose one of {names} or pass a solver object")
    if isinstance(solver, str):
        candidates: list[Solver] = [SOLVERS[name](seed=seed) for name in SOLVERS if solver in ("auto", name)]
    elif hasattr(solver, "supports") and not isinstance(solver, type):
        if isinstance(solver, DualCoordinate) and solver.seed is None:
            solver = copy.copy(solver)
            object.__setattr__(solver, "seed", seed)
        candidates = [solver]
    else:
        raise FenchelError(f"solver must be a name or a solver object, got {type(solver).__name__}")
    reasons = []
    for candidate in candidates:
        reason = candidate.supports(problem)
        if reason is None:
            return candidate
        reasons.append(f"{candidate.name}: {reason}")
    raise FenchelError("no solver supports this problem (" + "; ".join(reasons) + ")")
