"""The solvers for data on workers, and which of them ``solver="auto"`` takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fenchel.dask.cocoa import CoCoA
from fenchel.dask.design import sharded
from fenchel.dask.lbfgs import LBFGS
from fenchel.dask.newton import NewtonCG
from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers import SOLVERS, Solver

#: solvers that need products with X alone
_PRODUCTS = ("smoothing", "proximal_gradient", "bundle", "agm")
#: by name
_MAKERS: dict[str, Callable[[], Solver]] = {
    "lbfgs": LBFGS,
    "newton_cg": NewtonCG,
    "cocoa": CoCoA,
    **{name: partial(lambda name: SOLVERS[name](), name) for name in _PRODUCTS},
}
#: features above which the cutting planes of a bundle, a vector of weights each, take too much memory on the driver
_MOST_PLANE_FEATURES = 200_000
#: groups, and mean squared norm of a row over lam n, up to which CoCoA+ needs fewer exchanges (benchmarks/exchanges.py)
_FEW_GROUPS, _SMALL_CURVATURE = 4, 1.0


def _in_order(problem: Problem) -> tuple[str, ...]:
    """The solvers that "auto" tries in turn, until one supports the problem.

    Few groups of short rows hardly disturb each other, so that CoCoA+ takes few rounds.  Exchanges of L-BFGS and of
    bundles do not depend on the number of groups.
    """
    design, joint = problem.design, problem.risk.separable() is None
    own = sharded(problem)
    if joint:
        return ("lbfgs", "cocoa", "smoothing", "proximal_gradient", "bundle")
    curvature = design.mean_square / (problem.lam * design.shape[0])
    few = own is not None and len(own.facts) <= _FEW_GROUPS and curvature <= _SMALL_CURVATURE
    first = ("cocoa",) if few else ()
    if problem.risk.smooth:
        return (*first, "lbfgs", "proximal_gradient", "bundle")
    if design.shape[1] > _MOST_PLANE_FEATURES:
        return ("cocoa", "bundle")
    return (*first, "bundle", "cocoa")


def choose_solver(problem: Problem, solver: str | Solver) -> Solver:
    """Return the solver for a problem on workers; raise if none supports it."""
    if isinstance(solver, Solver):
        return solver
    if solver != "auto":
        if solver not in _MAKERS:
            names = ", ".join(map(repr, ("auto", *_MAKERS)))
            raise FenchelError(f"solver={solver!r} is not for data on workers; choose one of {names}")
        return _MAKERS[solver]()
    refusals = []
    for name in _in_order(problem):
        found = _MAKERS[name]()
        why = found.supports(problem)
        if why is None:
            return found
        refusals.append(why)
    raise FenchelError(f"no solver for data on workers supports this problem ({'; '.join(refusals)})")
