"""The solvers for data on workers, and which of them ``solver="auto"`` takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from fenchel.dask.cocoa import CoCoA
from fenchel.dask.design import sharded
from fenchel.dask.lbfgs import LBFGS
from fenchel.dask.newton import NewtonCG
from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers import SOLVERS, Solver
from fenchel.solvers.choose import Candidate, Choice

#: solvers that need products with X alone
_PRODUCTS = ("smoothing", "proximal_gradient", "bundle", "agm")
#: by name
_MAKERS: dict[str, Callable[[], Solver]] = {
    "lbfgs": LBFGS,
    "newton_cg": NewtonCG,
    "cocoa": CoCoA,
    **{name: partial(lambda name: SOLVERS[name](), name) for name in _PRODUCTS},
}
#: groups, and mean squared norm of a row over lam n, up to which CoCoA+ needs fewer exchanges (benchmarks/exchanges.py)
_FEW_GROUPS, _SMALL_CURVATURE = 4, 1.0
#: the same for losses with kinks, up to which CoCoA+ and Newton-CG in turn read X less often than Newton-CG alone:
#: measured up to C = 10 with rows of mean squared norm 1.2
_MODERATE_CURVATURE = 12.5
#: rounds of CoCoA+ after which the next solver continues, for smooth losses and for those with kinks: with the hinge
#: they prove about 1e-2 on sparse rows, and its further gaps fall slowly.  Of 10, 15 and 20 rounds 15 needed the fewest
#: passes and exchanges to 1e-3 at 1 GB; with a larger C more would be better, and on less data fewer
_ROUNDS, _ROUNDS_WITH_KINKS = 10.0, 15.0
#: evenness of the columns up to which Newton-CG, which is preconditioned, reads X less often than L-BFGS: on made data
#: half as often or less at 0.03 and 0.25, about as often at 0.5, and more often above unless columns are correlated
_UNEVEN = 0.5
#: passes of L-BFGS after which Newton-CG continues: it takes 8 to 17 where columns are even and hardly correlated, half
#: of those of Newton-CG, and 24 to 186 where they are correlated, up to ten times those of Newton-CG
_PASSES_OF_LBFGS = 20.0


def _in_order(problem: Problem) -> tuple[str, ...]:
    """The solvers that "auto" tries in turn, of those that support the problem.

    Few groups of short rows hardly disturb each other, so that CoCoA+ takes few rounds to a moderate gap.  Exchanges of
    L-BFGS and of Newton-CG do not depend on the number of groups.
    """
    design, joint = problem.design, problem.risk.separable() is None
    own = sharded(problem)
    smooth = ("newton_cg", "lbfgs") if own is not None and own.evenness <= _UNEVEN else ("lbfgs", "newton_cg")
    if joint:
        return (*smooth, "cocoa", "smoothing", "proximal_gradient", "bundle")
    curvature = design.mean_square / (problem.lam * design.shape[0])
    largest = _SMALL_CURVATURE if problem.risk.smooth else _MODERATE_CURVATURE
    few = own is not None and len(own.facts) <= _FEW_GROUPS and curvature <= largest
    first = ("cocoa",) if few else ()
    if problem.risk.smooth:
        return (*first, *smooth, "proximal_gradient", "bundle")
    return (*first, "newton_cg", "bundle")


def choose_solver(problem: Problem, solver: str | Solver) -> Choice:
    """Return the solver for a problem on workers, or those that are tried in turn; raise if none supports it."""
    if isinstance(solver, Solver):
        return solver
    if solver != "auto":
        if solver not in _MAKERS:
            names = ", ".join(map(repr, ("auto", *_MAKERS)))
            raise FenchelError(f"solver={solver!r} is not for data on workers; choose one of {names}")
        return _MAKERS[solver]()
    found = [_MAKERS[name]() for name in _in_order(problem)]
    refusals = [one.supports(problem) for one in found]
    able = [one for one, why in zip(found, refusals, strict=True) if why is None]
    if not able:
        why = "; ".join(why for why in refusals if why is not None)
        raise FenchelError(f"no solver for data on workers supports this problem ({why})")
    if problem.risk.separable() is None:
        return list(map(Candidate, able))
    following = [*(one.name for one in able[1:]), ""]
    smooth = problem.risk.smooth
    return [Candidate(one, _patience(one.name, after, smooth)) for one, after in zip(able, following, strict=True)]


def _patience(name: str, following: str, smooth: bool) -> float:
    """The data passes after which the next solver continues."""
    if name == "lbfgs" and following == "newton_cg":
        return _PASSES_OF_LBFGS
    if name == "cocoa":
        return _ROUNDS if smooth else _ROUNDS_WITH_KINKS
    return math.inf
